//! What one claimed task needs, done: a look at the job, answers and cancels handed over.

use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{AdapterError, ErrorKind, Observation, Operation, Retry};

use super::core::{ChangeError, Core, Runtime, asked, fault, for_good, has_live_job, strike};
use super::gate::{Pass, Turn};
use crate::domain::{
    CancelOutcome, Category, Cause, JobRef, JobState, NoCancelPolicy, Task, TaskError, TaskEvent, TaskState, Timestamp,
    schedule::{self, Pace, Work},
};

/// The pause after a failure of our own: the store, or a decision that did not fit.
const OWN_TROUBLE: Duration = Duration::from_secs(5);
/// How long tasks wait for a tool or provider that the configuration no longer has: long enough to put a mistake right.
const CONFIGURATION_GRACE: Duration = Duration::from_secs(10 * 60);
/// Over how much time the tasks of a provider that was left alone come back.
const COMEBACK: Duration = Duration::from_secs(1);

/// What becomes of the claim on a task after some work.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    /// A commit has settled when the task is due, ours or someone else's.
    Committed,
    /// Nothing was written; the task is looked at again then.
    Later(Timestamp),
}

impl Core {
    /// Does what a claimed task needs. `pass` is `None` where no provider is there to be called.
    pub(super) async fn work(self: &Arc<Self>, runtime: Option<&Arc<Runtime>>, task: Arc<Task>, pass: Option<Pass>) {
        let id = task.id;
        let Some(busy) = self.busy(id) else { return };
        let then = self.work_on(runtime, &task, pass).await.unwrap_or_else(|error| {
            tracing::error!(task = ?id, %error, "work on a task failed; it is tried again");
            Then::Later(self.clock.now().plus(OWN_TROUBLE))
        });
        let again = busy.end();
        let settled = match then {
            Then::Later(at) if !again => self.store.snooze(&id, at).await,
            Then::Later(_) | Then::Committed => self.store.release(&[id]).await,
        };
        if let Err(error) = settled {
            tracing::warn!(task = ?id, %error, "the claim could not be given back; it ends by itself");
        }
        if let Some(runtime) = runtime {
            runtime.wake.notify_one();
        }
    }

    async fn work_on(
        self: &Arc<Self>,
        runtime: Option<&Arc<Runtime>>,
        task: &Arc<Task>,
        pass: Option<Pass>,
    ) -> Result<Then, ChangeError> {
        let work = Work::of(task);
        if let Some(why) = schedule::keeping_over(task, self.policy(task), self.clock.now()) {
            return self.at(task, vec![(TaskEvent::KeepGivenUp(why), Cause::Limit)]).await;
        }
        if let Some(error) = schedule::limit_reached(task, self.policy(task), self.clock.now()) {
            return self.at(task, vec![(strike(error), Cause::Limit)]).await;
        }
        let (Some(runtime), Some(mut pass), true) = (runtime, pass, self.tools.contains_key(task.tool.as_str())) else {
            return self.unconfigured(task).await;
        };
        if work == Work::Nothing {
            return Ok(Then::Later(self.clock.now().plus(CONFIGURATION_GRACE)));
        }
        if has_live_job(task) && task.escalates_at().is_some_and(|at| at <= self.clock.now()) {
            return self.at(task, vec![(TaskEvent::CancelEscalated, Cause::Limit)]).await;
        }
        if work == Work::Keep {
            return self.keep(runtime, task, pass).await;
        }
        if work == Work::Poll && self.pace(task) == Pace::Never {
            return self.cannot_look(task).await;
        }
        let turn = match runtime.gate.turn(&mut pass).await {
            Ok(turn) => turn,
            Err(until) => return Ok(Then::Later(self.paused(task, until))),
        };
        match (work, task.job()) {
            (Work::Submit, _) => self.submit(runtime, task, turn).await,
            (Work::Settle, _) => self.settle(runtime, task, turn, &mut pass).await,
            (Work::Provide, Some(job)) => self.provide(runtime, task, job, turn, &mut pass).await,
            (Work::Cancel, Some(job)) => self.tell_cancel(runtime, task, job, turn, &mut pass).await,
            (Work::Poll, Some(job)) => self.poll(runtime, task, job, turn).await,
            (Work::Escalate, Some(job)) => self.escalate(runtime, task, job, turn).await,
            (Work::Provide | Work::Cancel | Work::Poll | Work::Escalate | Work::Keep | Work::Nothing, _) => {
                Ok(Then::Later(self.clock.now().plus(OWN_TROUBLE)))
            }
        }
    }

    /// A task whose job cannot be looked at: its limits of time are all that there is to do.
    async fn cannot_look(self: &Arc<Self>, task: &Arc<Task>) -> Result<Then, ChangeError> {
        let (policy, now) = (self.policy(task), self.clock.now());
        match schedule::gone(task, policy, now) {
            Some(error) => self.at(task, vec![(strike(error), Cause::Limit)]).await,
            None => Ok(Then::Later(schedule::first_limit(task, policy, now).unwrap_or(task.deadline_at))),
        }
    }

    /// When a task is looked at again whose provider is left alone until `until`: its limits of time hold all the same.
    pub(super) fn paused(&self, task: &Task, until: Timestamp) -> Timestamp {
        let spread = until.plus(COMEBACK.mul_f64(self.random.unit()));
        let limit = schedule::first_limit(task, self.policy(task), self.clock.now());
        limit.map_or(spread, |limit| spread.min(limit))
    }

    /// Changes the task if nobody else has since.
    pub(super) async fn at(&self, task: &Arc<Task>, events: Vec<(TaskEvent, Cause)>) -> Result<Then, ChangeError> {
        self.at_after(task, None, events).await
    }

    pub(super) async fn at_after(
        &self,
        task: &Arc<Task>,
        asked: Option<Duration>,
        events: Vec<(TaskEvent, Cause)>,
    ) -> Result<Then, ChangeError> {
        let seen = task.revision;
        self.change(task.clone(), asked, |now| if now.revision == seen { events.clone() } else { Vec::new() }).await?;
        Ok(Then::Committed)
    }

    /// A task whose tool or provider the configuration no longer has.
    async fn unconfigured(&self, task: &Arc<Task>) -> Result<Then, ChangeError> {
        let until = self.started_at.plus(CONFIGURATION_GRACE);
        if self.clock.now() < until {
            return Ok(Then::Later(self.paused(task, until)));
        }
        if task.is_ended() {
            return Ok(Then::Later(self.clock.now().plus(CONFIGURATION_GRACE)));
        }
        let message = "the gateway's configuration no longer has this tool or its provider".to_owned();
        if matches!(task.state, TaskState::Keeping { .. }) {
            return self.at(task, vec![(TaskEvent::KeepGivenUp(message), Cause::Limit)]).await;
        }
        let error = TaskError {
            category: Category::Configuration,
            message,
            retryable: false,
            attempts: task.troubles.count,
            provider_status: None,
        };
        self.at(task, vec![(TaskEvent::Faulted(error), Cause::Limit)]).await
    }

    async fn look(&self, runtime: &Runtime, task: &Task, job: &JobRef, turn: Turn) -> Result<Observation, AdapterError> {
        let context = self.context(runtime, task);
        let seen = turn.run(Operation::Poll, runtime.provider.adapter.poll(&context, job)).await?;
        if let JobState::Unrecognized(word) = &seen.state {
            runtime.note_strange(task.tool.as_str(), word);
        }
        Ok(self.taken(task.tool.as_str(), seen))
    }

    async fn poll(&self, runtime: &Runtime, task: &Arc<Task>, job: &JobRef, turn: Turn) -> Result<Then, ChangeError> {
        let told = runtime.health.look(task.id);
        let (event, asked) = match self.look(runtime, task, job, turn).await {
            Ok(seen) => {
                let asked = seen.next_poll;
                (TaskEvent::Observed(seen), asked)
            }
            Err(error) => match (error.kind(), error.retry()) {
                // How busy the provider is says nothing about the job.
                (ErrorKind::RateLimited, _) => return Ok(Then::Later(self.paused(task, self.after(&error)))),
                (ErrorKind::NotFound, _) => (TaskEvent::Missing(fault(&error)), asked(&error)),
                (ErrorKind::Rejected | ErrorKind::Unsupported, Retry::Never) => {
                    let message = format!("the provider refuses to tell about the job: {}", error.message());
                    (TaskEvent::Faulted(for_good(&error, task, message)), None)
                }
                // Credentials can be put right while the job runs on; the limit on silence bounds that.
                (_, _) => (TaskEvent::PollFailed(fault(&error)), asked(&error)),
            },
        };
        let events = self.with_limit(task, vec![(event, Cause::Poll)]);
        if let Some(at) = self.unchanged(task, &events, asked) {
            return Ok(Then::Later(at));
        }
        self.judge(runtime, task, &events, told);
        // Deliveries may hint faster than the provider answers: none of them makes this look worthless.
        let decide = |now: &Task| if now.is_but_for_notes(task) { events.clone() } else { Vec::new() };
        self.change(task.clone(), asked, decide).await?;
        Ok(Then::Committed)
    }

    /// Deliveries that keep silent about what a look shows are not relied upon any more.
    fn judge(&self, runtime: &Runtime, task: &Task, events: &[(TaskEvent, Cause)], told: bool) {
        let now = self.clock.now();
        let seen = events.iter().filter(|(event, _)| matches!(event, TaskEvent::Observed(_)));
        let next = seen.map(|(event, _)| event).try_fold(task.clone(), |task, event| task.apply(event, now));
        if next.is_ok_and(|next| task.looks_different(&next)) && runtime.health.saw_news(task.id, told, now) {
            tracing::warn!(
                provider = %runtime.provider.name,
                "a look at a job showed what no delivery had told of; jobs are polled as often as without a webhook"
            );
        }
    }

    /// When `events` leave the task as it is but for its revision: the moment of the next look. Nothing has to be written then.
    fn unchanged(&self, task: &Task, events: &[(TaskEvent, Cause)], asked: Option<Duration>) -> Option<Timestamp> {
        let now = self.clock.now();
        let mut next = events.iter().try_fold(task.clone(), |task, (event, _)| task.apply(event, now)).ok()?;
        next.revision = task.revision;
        if next != *task {
            return None;
        }
        schedule::next_due(task, self.policy(task), self.pace(task), now, self.random.unit(), asked)
    }

    /// The moment before which the provider wants no call, or a short while from now.
    pub(super) fn after(&self, error: &AdapterError) -> Timestamp {
        self.clock.now().plus(asked(error).unwrap_or(COMEBACK))
    }

    async fn provide(
        &self,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        job: &JobRef,
        turn: Turn,
        pass: &mut Pass,
    ) -> Result<Then, ChangeError> {
        let answers = task.unprovided_answers();
        let context = self.context(runtime, task);
        let given = turn.run(Operation::Provide, runtime.provider.adapter.provide(&context, job, &answers)).await;
        let error = match given {
            Ok(()) => {
                // Recorded whatever else has happened meanwhile, so that this process never hands them over again.
                let event = TaskEvent::Provided(answers.into_keys().collect());
                let decide = |now: &Task| if has_live_job(now) { vec![(event.clone(), Cause::Delivery)] } else { Vec::new() };
                self.change(task.clone(), None, decide).await?;
                return Ok(Then::Committed);
            }
            Err(error) => error,
        };
        match (error.kind(), error.retry()) {
            (ErrorKind::RateLimited, _) => Ok(Then::Later(self.paused(task, self.after(&error)))),
            (ErrorKind::Rejected | ErrorKind::NotFound | ErrorKind::Unsupported, Retry::Never) => {
                self.refused_answer(runtime, task, job, &error, pass).await
            }
            (_, _) => self.at_after(task, asked(&error), vec![(TaskEvent::ProvideFailed(fault(&error)), Cause::Delivery)]).await,
        }
    }

    /// The provider takes no such answer: perhaps someone answered there, and the job has gone on; else the task ends.
    async fn refused_answer(
        &self,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        job: &JobRef,
        refusal: &AdapterError,
        pass: &mut Pass,
    ) -> Result<Then, ChangeError> {
        let failed = vec![(TaskEvent::ProvideFailed(fault(refusal)), Cause::Delivery)];
        let Ok(turn) = runtime.gate.turn(pass).await else { return self.at(task, failed).await };
        let Ok(seen) = self.look(runtime, task, job, turn).await else { return self.at(task, failed).await };
        let mut events = vec![(TaskEvent::Observed(seen), Cause::Poll)];
        let still_asked = match task.apply(&events[0].0, self.clock.now()) {
            Ok(next) => has_live_job(&next) && !next.unprovided_answers().is_empty(),
            Err(_) => false,
        };
        if still_asked {
            let message = format!("the provider refused the answer: {}", refusal.message());
            events.push((TaskEvent::Faulted(for_good(refusal, task, message)), Cause::Delivery));
        }
        self.at(task, events).await
    }

    async fn tell_cancel(
        &self,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        job: &JobRef,
        turn: Turn,
        pass: &mut Pass,
    ) -> Result<Then, ChangeError> {
        let adapter = &runtime.provider.adapter;
        let unsupported = || TaskEvent::CancelUnsupported { abandon: self.policy(task).on_no_cancel == NoCancelPolicy::Abandon };
        let capabilities = adapter.capabilities(task.tool.as_str());
        let answered = |outcome| TaskEvent::CancelAnswered { outcome, escalate_after: capabilities.escalates_after };
        let mut waiting = None;
        let event = if capabilities.cancel {
            let context = self.context(runtime, task);
            match turn.run(Operation::Cancel, adapter.cancel(&context, job)).await {
                Ok(outcome) => answered(outcome),
                Err(error) => match (error.kind(), error.retry()) {
                    (ErrorKind::NotFound, _) => answered(CancelOutcome::AlreadyEnded),
                    (ErrorKind::Unsupported, _) => unsupported(),
                    (ErrorKind::Rejected, Retry::Never) => answered(CancelOutcome::Refused),
                    (ErrorKind::RateLimited, _) => return Ok(Then::Later(self.paused(task, self.after(&error)))),
                    (_, _) => {
                        waiting = asked(&error);
                        TaskEvent::CancelFailed(fault(&error))
                    }
                },
            }
        } else {
            drop(turn);
            unsupported()
        };
        let mut events = vec![(event, Cause::Delivery)];
        // A job that took the cancel has often stopped at once; one that has not been told may end by itself.
        let look = match &events[0].0 {
            TaskEvent::CancelAnswered { outcome, .. } => *outcome != CancelOutcome::Refused,
            other => matches!(other, TaskEvent::CancelFailed(_)),
        };
        if look
            && has_live_job(task)
            && self.pace(task) != Pace::Never
            && let Ok(told) = task.apply(&events[0].0, self.clock.now())
            && let Ok(turn) = runtime.gate.turn(pass).await
            && let Ok(seen) = self.look(runtime, &told, job, turn).await
        {
            events.push((TaskEvent::Observed(seen), Cause::Poll));
        }
        self.owed(task, waiting, events).await
    }

    /// The job of a task that has ended was told to stop a while ago: where a look does not show that it did, it is told in a harder way.
    async fn escalate(&self, runtime: &Runtime, task: &Arc<Task>, job: &JobRef, turn: Turn) -> Result<Then, ChangeError> {
        let event = match self.look(runtime, task, job, turn).await {
            Ok(seen) if seen.state.is_terminal() => TaskEvent::CancelHeeded,
            Err(error) if error.kind() == ErrorKind::NotFound => TaskEvent::CancelHeeded,
            Err(error) if error.kind() == ErrorKind::RateLimited => {
                return Ok(Then::Later(self.paused(task, self.after(&error))));
            }
            // A job that cannot be looked at is told: on one that has ended a cancel is harmless (clause C5).
            Ok(_) | Err(_) => TaskEvent::CancelEscalated,
        };
        self.at(task, vec![(event, Cause::Limit)]).await
    }

    /// Changes the task as far as it still owes a cancel, whatever else has happened meanwhile.
    pub(super) async fn owed(
        &self,
        task: &Arc<Task>,
        waiting: Option<Duration>,
        events: Vec<(TaskEvent, Cause)>,
    ) -> Result<Then, ChangeError> {
        let seen = task.revision;
        self.change(task.clone(), waiting, |now| match &now.state {
            _ if !now.owes_cancel() => Vec::new(),
            _ if now.revision == seen => events.clone(),
            TaskState::Submitting { .. } => Vec::new(),
            TaskState::Running { .. } | TaskState::InputRequired { .. } | TaskState::Keeping { .. } | TaskState::Ended { .. } => {
                events.iter().take(1).cloned().collect()
            }
        })
        .await?;
        Ok(Then::Committed)
    }
}
