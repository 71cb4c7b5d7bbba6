//! What all parts of the engine share, and the one way in which a task is changed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jobgate_adapter_api::{AdapterError, CallContext, Retry};
use tokio::sync::{Notify, Semaphore};

use super::callback::Callbacks;
use super::gate::Gate;
use super::health::Health;
use super::kept::Links;
use super::notify::Hub;
use super::outputs::Outputs;
use super::{EngineLimits, Observer, Provider, Supervisor, keep};
use crate::artifacts::Artifacts;
use crate::domain::{
    Category, Cause, Clock, Fault, IllegalTransition, JobState, Note, Principal, ProviderName, Random, Task, TaskError,
    TaskEvent, TaskId, TaskState, Timestamp, Tool, ToolPolicy,
    schedule::{self, Pace, Work},
};
use crate::store::{Commit, StoreError, TaskStore};

/// How often a change is decided anew when others were quicker.
const RACES: usize = 16;

#[derive(Debug)]
pub(super) struct Core {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) tools: BTreeMap<String, Arc<Tool>>,
    pub(super) providers: BTreeMap<ProviderName, Arc<Runtime>>,
    pub(super) limits: EngineLimits,
    pub(super) outputs: Outputs,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) callbacks: Callbacks,
    pub(super) links: Links,
    pub(super) artifacts: Option<Artifacts>,
    pub(super) hub: Arc<Hub>,
    pub(super) supervisor: Supervisor,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) started_at: Timestamp,
    pub(super) fallback: ToolPolicy,
    /// The tasks that are being worked on; `true` where someone else has asked for another look since.
    busy: Mutex<HashMap<TaskId, bool>>,
    /// Whether deliveries may be parked for jobs that are known by now.
    pub(super) parked_left: AtomicBool,
    /// Tasks being created, by owner: they count as live before the store knows them.
    pub(super) arriving: Mutex<HashMap<Principal, usize>>,
}

/// A provider at work.
#[derive(Debug)]
pub(super) struct Runtime {
    pub(super) provider: Provider,
    pub(super) gate: Arc<Gate>,
    /// Wakes the poller: something may be due earlier than it thinks.
    pub(super) wake: Notify,
    pub(super) health: Health,
    /// Places for downloads.
    pub(super) downloads: Semaphore,
    strange: Mutex<HashSet<String>>,
}

impl Runtime {
    pub(super) fn new(provider: Provider, clock: Arc<dyn Clock>, random: Arc<dyn Random>, observer: Arc<dyn Observer>) -> Self {
        let gate = Arc::new(Gate::new(provider.name.clone(), provider.limits, clock, random, observer));
        Self {
            provider,
            gate,
            wake: Notify::new(),
            health: Health::default(),
            downloads: Semaphore::new(keep::AT_ONCE),
            strange: Mutex::default(),
        }
    }

    /// How long a claim holds: longer than the most that is done under one.
    pub(super) fn lease(&self) -> Duration {
        self.provider.limits.call_timeout * 5 + Duration::from_secs(60)
    }

    /// Notes a status word that nobody mapped; each is logged once.
    pub(super) fn note_strange(&self, tool: &str, word: &str) {
        let mut strange = lock(&self.strange);
        if strange.len() < 256 && strange.insert(format!("{tool} {word}")) {
            tracing::warn!(provider = %self.provider.name, tool, word, "the provider uses a status word that nobody mapped");
        }
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
}

impl ChangeError {
    /// The store's error; an event that does not fit was decided wrongly here, which only the log can tell.
    pub(super) fn into_store(self, id: TaskId) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Illegal(error) => {
                tracing::error!(task = ?id, %error, "refused a change");
                StoreError::Stale(id)
            }
        }
    }
}

/// Keeps a task from being worked on twice at a time in this process; what others claim meanwhile is handed back at the end.
#[derive(Debug)]
pub(super) struct Busy {
    core: Arc<Core>,
    id: TaskId,
}

impl Busy {
    /// Ends the work. Says whether someone asked for another look meanwhile.
    pub(super) fn end(self) -> bool {
        lock(&self.core.busy).remove(&self.id).unwrap_or_default()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        lock(&self.core.busy).remove(&self.id);
    }
}

pub(super) struct CoreParts {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) tools: BTreeMap<String, Arc<Tool>>,
    pub(super) providers: BTreeMap<ProviderName, Arc<Runtime>>,
    pub(super) limits: EngineLimits,
    pub(super) outputs: Outputs,
    pub(super) callbacks: Callbacks,
    pub(super) links: Links,
    pub(super) artifacts: Option<Artifacts>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) supervisor: Supervisor,
    pub(super) observer: Arc<dyn Observer>,
}

impl Core {
    pub(super) fn new(parts: CoreParts) -> Self {
        Self {
            store: parts.store,
            tools: parts.tools,
            providers: parts.providers,
            limits: parts.limits,
            outputs: parts.outputs,
            callbacks: parts.callbacks,
            links: parts.links,
            artifacts: parts.artifacts,
            hub: Arc::new(Hub::new(parts.supervisor.stopping().clone())),
            supervisor: parts.supervisor,
            observer: parts.observer,
            started_at: parts.clock.now(),
            clock: parts.clock,
            random: parts.random,
            fallback: ToolPolicy::default(),
            busy: Mutex::default(),
            parked_left: AtomicBool::new(true),
            arriving: Mutex::default(),
        }
    }

    /// The policy of a task: its tool's, or the usual one when the configuration no longer has the tool.
    pub(super) fn policy(&self, task: &Task) -> &ToolPolicy {
        self.tools.get(task.tool.as_str()).map_or(&self.fallback, |tool| &tool.policy)
    }

    /// Takes a task for work; `None` when it is being worked on, and then that work is told to look again.
    pub(super) fn busy(self: &Arc<Self>, id: TaskId) -> Option<Busy> {
        let mut busy = lock(&self.busy);
        if let Some(again) = busy.get_mut(&id) {
            *again = true;
            return None;
        }
        busy.insert(id, false);
        Some(Busy { core: self.clone(), id })
    }

    pub(super) fn context(&self, runtime: &Runtime, task: &Task) -> CallContext {
        CallContext {
            tool: task.tool.as_str().to_owned(),
            key: task.submit_key.clone(),
            timeout: runtime.provider.limits.call_timeout,
            arguments: Arc::clone(&task.arguments),
            started_at: task.created_at,
            callback_url: runtime.provider.webhook.and_then(|_| self.callbacks.url(&runtime.provider.name, task.id)),
            cancel: task.cancel_wish(),
        }
    }

    /// How often the job of a task is looked at.
    pub(super) fn pace(&self, task: &Task) -> Pace {
        let Some(runtime) = self.providers.get(&task.provider) else { return Pace::Usual };
        if runtime.provider.adapter.capabilities(task.tool.as_str()).pushed_only {
            return Pace::Never;
        }
        match runtime.provider.webhook {
            Some(webhook) if runtime.health.is_healthy() => Pace::Safety(webhook.safety_poll),
            Some(_) | None => Pace::Usual,
        }
    }

    /// The next state of a task after `events`, to be committed, with the moment at which it is due. A hint, and a
    /// delivery that may settle a submit, make it due now; other notes of deliveries leave that as it was.
    pub(super) fn commit_of(
        &self,
        task: &Task,
        events: &[(TaskEvent, Cause)],
        asked: Option<Duration>,
    ) -> Result<Commit, IllegalTransition> {
        let now = self.clock.now();
        let mut commit = Commit::of(task, events, now)?;
        let pace = self.pace(task);
        let work = Work::of(&commit.next);
        let can_act = work != Work::Nothing && (work != Work::Poll || pace != Pace::Never);
        let hinted = events.iter().any(|(event, _)| matches!(event, TaskEvent::Delivered(Note::Hint | Note::Early)));
        let noted = events.iter().all(|(event, _)| matches!(event, TaskEvent::Delivered(_)));
        commit.next.due_at = if hinted && can_act {
            Some(now)
        } else if noted {
            task.due_at
        } else {
            schedule::next_due(&commit.next, self.policy(task), pace, now, self.random.unit(), asked)
        };
        Ok(commit)
    }

    /// Changes a task by the events that `decide` wants for it, and gives it back as it is then. When someone else was quicker,
    /// `decide` is asked anew. No events: no change.
    pub(super) async fn change(
        &self,
        mut task: Arc<Task>,
        asked: Option<Duration>,
        mut decide: impl FnMut(&Task) -> Vec<(TaskEvent, Cause)>,
    ) -> Result<Arc<Task>, ChangeError> {
        for race in 0..RACES {
            let events = decide(&task);
            if events.is_empty() {
                return Ok(task);
            }
            let mut commit = self.commit_of(&task, &events, asked)?;
            if race > 0 {
                // Whoever was quicker may have hinted at what we have not seen.
                commit.next.due_at = commit.next.due_at.map(|due| task.due_at.map_or(due, |before| due.min(before)));
            }
            match self.timed(self.store.commit(commit)).await {
                Ok(next) => {
                    self.committed(&task, &next, &events);
                    return Ok(next);
                }
                Err(StoreError::Stale(id)) => task = self.store.get(&id).await?.ok_or(StoreError::Stale(id))?,
                Err(other) => return Err(other.into()),
            }
        }
        Err(StoreError::Stale(task.id).into())
    }

    /// Waits for a write of the store, and tells how long it took.
    pub(super) async fn timed<T>(&self, write: impl Future<Output = T>) -> T {
        let since = self.clock.now();
        let written = write.await;
        self.observer.stored(self.clock.now().since(since));
        written
    }

    pub(super) fn committed(&self, before: &Task, next: &Arc<Task>, happened: &[(TaskEvent, Cause)]) {
        self.observer.changed(before, next, happened);
        self.hub.publish(next, before.looks_different(next));
        let runtime = self.providers.get(&next.provider);
        if let Some(runtime) = runtime {
            runtime.wake.notify_one();
        }
        if next.is_ended() && !before.is_ended() {
            if let Some(runtime) = runtime {
                runtime.health.ended(next.id);
            }
            self.tidy_ended(next);
            tracing::info!(task = ?next.id, tool = %next.tool, status = next.status().as_str(), "task ended");
        }
    }

    /// `events` of a look, and the end of the task where they make it run into a limit.
    pub(super) fn with_limit(&self, task: &Task, events: Vec<(TaskEvent, Cause)>) -> Vec<(TaskEvent, Cause)> {
        let now = self.clock.now();
        let Ok(commit) = Commit::of(task, &events, now) else { return events };
        let policy = self.policy(task);
        let unknown = events.iter().any(|(event, _)| match event {
            TaskEvent::Missing(_) => true,
            TaskEvent::Observed(seen) => seen.state == JobState::Gone,
            _ => false,
        });
        let gone = if unknown { schedule::gone(&commit.next, policy, now) } else { None };
        let limit = gone.or_else(|| schedule::limit_reached(&commit.next, policy, now));
        events.into_iter().chain(limit.map(|error| (strike(error), Cause::Limit))).collect()
    }
}

/// The event that ends a task at a limit. Where the operator's patience ended, the job is stopped, too; where the provider lost
/// its way, the job is left alone.
pub(super) fn strike(error: TaskError) -> TaskEvent {
    match error.category {
        Category::Deadline | Category::InputTimeout | Category::Expired | Category::UnknownOutcome => {
            TaskEvent::LimitStruck(error)
        }
        Category::Provider(_) | Category::Stuck | Category::Gone | Category::Configuration => TaskEvent::Faulted(error),
    }
}

/// What a task remembers of a failed call.
pub(super) fn fault(error: &AdapterError) -> Fault {
    Fault { kind: error.kind(), message: error.message().to_owned(), status: error.status() }
}

/// How long the provider asks to be left alone.
pub(super) const fn asked(error: &AdapterError) -> Option<Duration> {
    match error.retry() {
        Retry::After(pause) => Some(pause),
        Retry::Never | Retry::Backoff => None,
    }
}

/// The end of a task by an error of its provider that will not pass.
pub(super) fn for_good(error: &AdapterError, task: &Task, message: String) -> TaskError {
    TaskError {
        category: Category::Provider(error.kind()),
        message,
        retryable: false,
        attempts: task.troubles.count + 1,
        provider_status: error.status(),
    }
}

/// Whether the task has not ended and its provider runs a job for it.
pub(super) const fn has_live_job(task: &Task) -> bool {
    matches!(task.state, TaskState::Running { .. } | TaskState::InputRequired { .. })
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
