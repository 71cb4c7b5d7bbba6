//! The engine: turns calls into durable tasks and keeps each in step with its job, through every crash.
//!
//! `call` creates and submits; one `poller` a provider claims what is due and has `work` done under the provider's `gate`;
//! `submit` also settles what a crash left open; `ingest` takes deliveries, `parked` those that came early; `keep` fetches what is to be kept, `kept` gives it out; `wishes` takes answers and cancels; `sweep` ends lives; `recover` starts it all
//! again. Every change of a task is an event through `Task::apply` and one compare-and-set in `core`; `observe` is for those who
//! count what happens.

mod call;
mod callback;
mod cap;
mod core;
mod delivery;
mod gate;
mod health;
mod ingest;
mod keep;
mod kept;
mod names;
mod notify;
mod observe;
mod outputs;
mod parked;
mod parts;
mod plain;
mod poller;
mod recover;
mod submit;
mod supervise;
mod sweep;
mod wishes;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

pub use delivery::{Delivery, IngestError, Ingested, RedriveError};
pub use health::WebhookHealth;
pub use kept::{ArtifactAddress, ReadError, artifact_of, artifact_uri};
pub use notify::Watch;
pub use observe::{Observer, Unobserved};
pub use parts::{
    AccessError, Call, CallError, CallNames, Called, DeleteError, EngineError, EngineLimits, EngineParts, Provider,
    ProviderLimits, ProviderWebhook, Rate, Trust, Update,
};
pub use supervise::Supervisor;

use jobgate_webhooks::AtAddress;

use self::callback::Callbacks;
use self::core::{Core, CoreParts, Runtime};
use self::kept::Links;
use crate::domain::{
    InputAnswers, KeptArtifact, Principal, ProviderName, RequestName, Scope, Task, TaskId, Timestamp, Tool, ToolResult, schedule,
};
use crate::store::{AuditEntry, DeadLetter, DeliveryId, ListQuery, StoreError};

/// The engine.
#[derive(Debug)]
pub struct Engine {
    core: Arc<Core>,
}

impl Engine {
    /// Takes over what the store holds and starts to work.
    ///
    /// # Errors
    /// When a tool names a provider that is not there, or the store does not answer.
    pub async fn start(parts: EngineParts) -> Result<Arc<Self>, EngineError> {
        Self::start_observed(parts, Arc::new(Unobserved)).await
    }

    /// The same, and `observer` is told of what is done.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_observed(parts: EngineParts, observer: Arc<dyn Observer>) -> Result<Arc<Self>, EngineError> {
        let EngineParts { store, providers, tools, limits, clock, random, supervisor, public_url, artifacts } = parts;
        let providers: BTreeMap<_, _> = providers
            .into_iter()
            .map(|provider| {
                (provider.name.clone(), Arc::new(Runtime::new(provider, clock.clone(), random.clone(), observer.clone())))
            })
            .collect();
        if let Some(tool) = tools.iter().find(|tool| !providers.contains_key(&tool.provider)) {
            return Err(EngineError::UnknownProvider { tool: tool.name.clone(), provider: tool.provider.clone() });
        }
        let tools: BTreeMap<_, _> = tools.into_iter().map(|tool| (tool.name.as_str().to_owned(), Arc::new(tool))).collect();
        let supervisor = supervisor.part();
        let outputs = outputs::Outputs::compile(tools.values())?;
        let mut fresh = [0; 32];
        random.fill(&mut fresh);
        let callbacks = Callbacks::new(&store.seed(callback::SEED, fresh).await?, public_url.clone());
        random.fill(&mut fresh);
        let links = Links::new(&store.seed(kept::SEED, fresh).await?, public_url, limits.artifact_url_ttl);
        let core = CoreParts {
            store,
            tools,
            providers,
            limits,
            outputs,
            callbacks,
            links,
            artifacts,
            clock,
            random,
            supervisor,
            observer,
        };
        let core = Arc::new(Core::new(core));
        for runtime in core.providers.values() {
            let taken_up = recover::spread(&core, runtime).await?;
            if taken_up > 0 {
                tracing::info!(provider = %runtime.provider.name, tasks = taken_up, "took up tasks that had come due");
            }
            let (core, runtime) = (core.clone(), runtime.clone());
            core.supervisor.clone().spawn_loop("poller", move || poller::run(core.clone(), runtime.clone()));
        }
        for name in core.store.providers().await? {
            if !core.providers.contains_key(&name) {
                tracing::warn!(provider = %name, "unfinished tasks belong to a provider that is not configured");
                let core = core.clone();
                core.supervisor.clone().spawn_loop("poller", move || poller::run_without(core.clone(), name.clone()));
            }
        }
        core.supervisor.spawn("artifacts", core.clone().tidy_all());
        let sweeper = core.clone();
        core.supervisor.spawn_loop("sweeper", move || sweep::run(sweeper.clone()));
        Ok(Arc::new(Self { core }))
    }

    /// A tool by its name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.core.tools.get(name)
    }

    /// All tools, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.core.tools.values()
    }

    /// Creates the task (durable), submits its job and waits for the provider's first answer, at most `submit_wait`.
    ///
    /// Goes on when the future is dropped: a connection that is cut cancels nothing.
    ///
    /// # Errors
    /// See [`CallError`]; never [`CallError::Fault`].
    pub async fn call(&self, call: Call) -> Result<Called, CallError> {
        Ok(call::called(&self.core.call(call).await?))
    }

    /// The same for a caller that takes nothing but a task: where the provider refused the job, it has ended.
    ///
    /// # Errors
    /// See [`CallError`]; never [`CallError::Fault`].
    pub async fn call_for_task(&self, call: Call) -> Result<Arc<Task>, CallError> {
        self.core.call(call).await
    }

    /// A call of a tool that never makes tasks: submitted and watched in the caller's time, at most for the tool's `wait`; nothing
    /// is stored. News go to `updates` as far as there is room.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn run_plain(&self, call: Call, updates: mpsc::Sender<Update>) -> Result<Arc<ToolResult>, CallError> {
        Box::pin(self.core.run_plain(call, updates)).await
    }

    /// The task as it is known. Asks nobody but the store (requirement D1).
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn get(&self, who: impl Into<Scope>, id: &TaskId) -> Result<Arc<Task>, AccessError> {
        self.core.get(&who.into(), id).await
    }

    /// The task that callers see under `shown`: an id of ours, or the id that its client chose (requirement H8). An admin finds
    /// others' tasks by our ids alone.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn find(&self, who: impl Into<Scope>, shown: &str) -> Result<Arc<Task>, AccessError> {
        self.core.find(&who.into(), shown).await
    }

    /// The task that a request made; the newest, should its name have come again.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find_request(&self, owner: &Principal, name: &RequestName) -> Result<Option<Arc<Task>>, StoreError> {
        self.core.find_request(owner, name).await
    }

    /// Removes a task that has ended, with all that belongs to it (requirement G3).
    ///
    /// # Errors
    /// See [`DeleteError`].
    pub async fn delete(&self, who: impl Into<Scope>, id: &TaskId) -> Result<(), DeleteError> {
        self.core.delete(&who.into(), id).await
    }

    /// The most bytes that a call's arguments may have (requirement G4).
    #[must_use]
    pub fn max_argument_bytes(&self) -> usize {
        self.core.limits.max_argument_bytes
    }

    /// How long a caller should wait before it looks again.
    #[must_use]
    pub fn caller_interval(&self, task: &Task) -> Duration {
        schedule::caller_interval(task, self.core.policy(task), self.core.clock.now())
    }

    /// Takes answers to the job's questions; those to unknown or settled questions change nothing (requirement E2). The answers fit
    /// their forms.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn answer(&self, who: impl Into<Scope>, id: &TaskId, answers: InputAnswers) -> Result<Arc<Task>, AccessError> {
        self.core.answer(&who.into(), id, answers).await
    }

    /// Records the wish to cancel; the provider is told until it answers (requirement F1). With `at_once` the task itself is
    /// cancelled before this returns. A task that has ended stays as it is.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn cancel(&self, who: impl Into<Scope>, id: &TaskId, at_once: bool) -> Result<Arc<Task>, AccessError> {
        self.core.cancel(&who.into(), id, at_once).await
    }

    /// Waits until the task has ended, or `until`, and gives it back as it is then. Visible changes go to `updates` as far as there
    /// is room. Also returns when the engine stops.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn wait(
        &self,
        who: impl Into<Scope>,
        id: &TaskId,
        until: Timestamp,
        updates: Option<mpsc::Sender<Arc<Task>>>,
    ) -> Result<Arc<Task>, AccessError> {
        self.core.wait(&who.into(), id, until, updates).await
    }

    /// Watches those of `ids` that the caller may see ([`Watch::ids`]): the present state of each, then every visible change.
    ///
    /// # Errors
    /// When the store fails; unknown ids are left out, not refused.
    pub async fn watch(&self, who: impl Into<Scope>, ids: &[TaskId]) -> Result<Watch, StoreError> {
        self.core.watch(&who.into(), ids).await
    }

    /// A page of tasks, newest first; it is full unless there are no more. Those whose life is over are not in it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, query: ListQuery) -> Result<Vec<Arc<Task>>, StoreError> {
        self.core.list(query).await
    }

    /// A task's result as callers see it: its kept artifacts are links behind the content, each with the address that it has now. `None`
    /// where it has none.
    #[must_use]
    pub fn shown_result(&self, task: &Task) -> Option<Arc<ToolResult>> {
        self.core.shown_result(task)
    }

    /// A kept artifact of a task, by its number from 1, and its bytes, if they are at most `most`.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub async fn read_artifact(
        &self,
        who: impl Into<Scope>,
        id: &TaskId,
        number: usize,
        most: u64,
    ) -> Result<(KeptArtifact, Vec<u8>), ReadError> {
        self.core.read_artifact(&who.into(), id, number, most).await
    }

    /// The kept artifact that a signed address stands for; `None` for one that is not ours, has ended, or whose task is gone.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn addressed_artifact(&self, address: &ArtifactAddress) -> Result<Option<KeptArtifact>, StoreError> {
        self.core.addressed_artifact(address).await
    }

    /// What happened to a task, oldest first.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn audit(&self, who: impl Into<Scope>, id: &TaskId) -> Result<Vec<AuditEntry>, AccessError> {
        self.core.get(&who.into(), id).await?;
        Ok(self.core.store.audit(id).await?)
    }

    /// The key that seals what callers carry for us between two requests; the same over the store's whole life.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn seal_key(&self) -> Result<[u8; 32], StoreError> {
        let mut fresh = [0; 32];
        self.core.random.fill(&mut fresh);
        self.core.store.seed("request_state", fresh).await
    }

    /// What a token at the end of a callback address was made for: [`AtAddress::subject`] is a task's id. Nothing for a token that is not ours.
    #[must_use]
    pub fn open_callback(&self, token: &str) -> Option<AtAddress> {
        self.core.callbacks.open(token)
    }

    /// Records a delivery together with what it does, in one step. Goes on when the future is dropped.
    ///
    /// # Errors
    /// See [`IngestError`].
    pub async fn ingest(&self, delivery: Delivery<'_>) -> Result<Ingested, IngestError> {
        self.core.ingest(delivery, None).await
    }

    /// The deliveries that could not be used, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
        self.core.store.dead_letters(limit).await
    }

    /// Uses a dead letter after all: it is read anew, with the configuration of now.
    ///
    /// # Errors
    /// See [`RedriveError`]; then the letter stays.
    pub async fn redrive(&self, id: &DeliveryId) -> Result<Ingested, RedriveError> {
        self.core.redrive(id).await
    }

    /// Removes dead letters; says how many there were.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn drop_dead(&self, ids: &[DeliveryId]) -> Result<usize, StoreError> {
        self.core.store.drop_dead(ids).await
    }

    /// How the webhooks of the providers do that have one.
    #[must_use]
    pub fn webhook_health(&self) -> BTreeMap<ProviderName, WebhookHealth> {
        let with = self.core.providers.values().filter(|runtime| runtime.provider.webhook.is_some());
        with.map(|runtime| (runtime.provider.name.clone(), runtime.health.shown())).collect()
    }

    /// Takes no more calls, lets running ones end within the grace, leaves the rest to the next start, and closes the store.
    pub async fn shutdown(&self) {
        if !self.core.supervisor.shutdown(self.core.limits.shutdown_grace).await {
            tracing::warn!("some work did not end within the grace; the next start takes it up");
        }
        if let Err(error) = self.core.store.close().await {
            tracing::error!(%error, "the store did not close cleanly");
        }
    }
}
