//! The submit of a job: intent, act, outcome; and the settling of what a crash or a cut connection left open.

use std::sync::Arc;

use jobgate_adapter_api::{AdapterError, ErrorKind, Operation, Retry, SubmitRequest, Submitted};

use super::core::{ChangeError, Core, Runtime, asked, fault, for_good};
use super::gate::{Pass, Turn};
use super::work::Then;
use crate::domain::{CancelOutcome, Category, Cause, Fault, JobFailure, JobRef, Task, TaskError, TaskEvent, TaskState, schedule};
use crate::store::StoreError;

/// How often the record of an accepted job is tried again when the disk refuses it; after that a restart has to settle it.
const RECORD_TRIES: u32 = 8;

impl Core {
    /// A submit where nothing was started so far.
    pub(super) async fn submit(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        turn: Turn,
    ) -> Result<Then, ChangeError> {
        self.begin(runtime, task, turn, false, Cause::Submit).await
    }

    /// Records that a submit is about to be sent, and sends it.
    async fn begin(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        turn: Turn,
        repeat: bool,
        cause: Cause,
    ) -> Result<Then, ChangeError> {
        let seen = task.revision;
        let mut first = true;
        let decide = |now: &Task| {
            first = now.revision == seen;
            if first { vec![(TaskEvent::SubmitBegan, cause.clone())] } else { Vec::new() }
        };
        let begun = self.change(task.clone(), None, decide).await?;
        // Someone else changed it first: nothing is sent, and it is looked at anew.
        if !first {
            return Ok(Then::Committed);
        }
        self.send(runtime, &begun, turn, repeat).await
    }

    /// Sends a submit whose beginning is durable, and records what came of it. `repeat`: an earlier one may have started the job.
    pub(super) async fn send(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        turn: Turn,
        repeat: bool,
    ) -> Result<Then, ChangeError> {
        let adapter = &runtime.provider.adapter;
        let request = SubmitRequest { key: task.submit_key.clone(), arguments: task.arguments.as_ref().clone() };
        let context = self.context(runtime, task);
        match turn.run(Operation::Submit, adapter.submit(&context, request)).await {
            Ok(Submitted { job, observation }) => {
                let mut events = vec![(TaskEvent::Accepted(job.clone()), Cause::Submit)];
                let waiting = observation.as_ref().and_then(|seen| seen.next_poll);
                events.extend(observation.map(|seen| (TaskEvent::Observed(self.taken(task.tool.as_str(), seen)), Cause::Submit)));
                self.record(runtime, task, waiting, |now| accepted(now, &events)).await
            }
            Err(error) => {
                let capabilities = adapter.capabilities(task.tool.as_str());
                let can_settle = capabilities.find || capabilities.idempotent_submit || self.has_callback(runtime, task);
                self.record(runtime, task, asked(&error), |now| not_accepted(now, &error, repeat, can_settle)).await
            }
        }
    }

    /// Records the outcome of a submit, whatever else has happened to the task, and though the disk may refuse it for a while.
    async fn record(
        &self,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        waiting: Option<std::time::Duration>,
        decide: impl Fn(&Task) -> Vec<(TaskEvent, Cause)>,
    ) -> Result<Then, ChangeError> {
        let mut tries = 0;
        loop {
            match self.change(task.clone(), waiting, &decide).await {
                Err(ChangeError::Store(StoreError::Unavailable(why))) if tries < RECORD_TRIES => {
                    tracing::error!(task = ?task.id, why, "the outcome of a submit cannot be recorded yet");
                    tries += 1;
                    self.clock.sleep(std::time::Duration::from_millis(100 << tries)).await;
                }
                Ok(now) => {
                    if now.job().is_some() {
                        self.use_parked(runtime, &now).await;
                    }
                    return Ok(Then::Committed);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// A submit may have taken effect: finds the job by its key, or repeats the submit where that is harmless, or says so. Never
    /// a blind second submit (requirement C4).
    pub(super) async fn settle(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        turn: Turn,
        pass: &mut Pass,
    ) -> Result<Then, ChangeError> {
        let adapter = &runtime.provider.adapter;
        let capabilities = adapter.capabilities(task.tool.as_str());
        if let Some(job) = self.told_job(runtime, task).await? {
            drop(turn);
            return self.found(runtime, task, job).await;
        }
        if capabilities.find {
            let context = self.context(runtime, task);
            return match turn.run(Operation::Find, adapter.find(&context, &task.submit_key)).await {
                Ok(Some(job)) => self.found(runtime, task, job).await,
                Ok(None) => self.not_found(runtime, task, pass).await,
                // The provider may have forgotten the job, and will not remember it later.
                Err(error) if error.kind() == ErrorKind::OutcomeUnknown && !task.is_ended() => {
                    self.at(task, vec![(TaskEvent::Faulted(unknown_outcome(task, Some(&error))), Cause::Recovery)]).await
                }
                Err(error) if error.kind() == ErrorKind::RateLimited => Ok(Then::Later(self.paused(task, self.after(&error)))),
                Err(error) if task.is_ended() => {
                    self.owed(task, asked(&error), vec![(TaskEvent::CancelFailed(fault(&error)), Cause::Recovery)]).await
                }
                Err(error) => {
                    self.at_after(task, asked(&error), vec![(TaskEvent::PollFailed(fault(&error)), Cause::Recovery)]).await
                }
            };
        }
        let begun_lately = self.clock.now().since(task.created_at) < self.policy(task).submit_budget;
        if task.is_ended() && capabilities.idempotent_submit && begun_lately {
            // The same key gives the job that is to be stopped; long after, a provider may have forgotten the key.
            return self.send(runtime, task, turn, true).await;
        }
        if begun_lately && !capabilities.idempotent_submit && self.has_callback(runtime, task) {
            // Nobody can be asked, but whatever runs will tell of itself, and that settles it.
            drop(turn);
            let now = self.clock.now();
            let budget = task.created_at.plus(self.policy(task).submit_budget);
            return Ok(Then::Later(
                schedule::first_limit(task, self.policy(task), now).map_or(budget, |limit| limit.min(budget)),
            ));
        }
        if task.is_ended() {
            drop(turn);
            let event = TaskEvent::CancelUnsupported { abandon: true };
            return self.owed(task, None, vec![(event, Cause::Recovery)]).await;
        }
        if capabilities.idempotent_submit {
            return self.begin(runtime, task, turn, true, Cause::Recovery).await;
        }
        drop(turn);
        self.at(task, vec![(TaskEvent::Faulted(unknown_outcome(task, None)), Cause::Recovery)]).await
    }

    async fn found(&self, runtime: &Arc<Runtime>, task: &Arc<Task>, job: JobRef) -> Result<Then, ChangeError> {
        let events = vec![(TaskEvent::Accepted(job), Cause::Recovery)];
        self.record(runtime, task, None, |now| accepted(now, &events)).await
    }

    /// The provider knows no job with our key. That is believed once the grace has passed: what was just written may not be
    /// readable everywhere yet.
    async fn not_found(self: &Arc<Self>, runtime: &Arc<Runtime>, task: &Arc<Task>, pass: &mut Pass) -> Result<Then, ChangeError> {
        let missing =
            Fault { kind: ErrorKind::NotFound, message: "the provider does not know the job yet".to_owned(), status: None };
        let since = if task.is_ended() { task.cancellation.as_ref().map(|wish| wish.requested_at) } else { task.missing_since };
        let believed = since.is_some_and(|since| self.clock.now().since(since) >= self.policy(task).gone_grace);
        tracing::debug!(task = ?task.id, provider = %runtime.provider.name, believed, "no job with this key");
        match (task.is_ended(), believed) {
            (true, true) => {
                let none = TaskEvent::CancelAnswered { outcome: CancelOutcome::AlreadyEnded, escalate_after: None };
                self.owed(task, None, vec![(none, Cause::Recovery)]).await
            }
            (true, false) => self.owed(task, None, vec![(TaskEvent::CancelFailed(missing), Cause::Recovery)]).await,
            (false, false) => self.at(task, vec![(TaskEvent::Missing(missing), Cause::Recovery)]).await,
            (false, true) if !task.is_stopping() => match runtime.gate.turn(pass).await {
                Ok(turn) => self.begin(runtime, task, turn, false, Cause::Recovery).await,
                Err(until) => Ok(Then::Later(self.paused(task, until))),
            },
            (false, true) => {
                let message = "the earlier submit did not reach the provider".to_owned();
                let lost = Fault { kind: ErrorKind::Unavailable, message, status: None };
                self.at(task, vec![(TaskEvent::SubmitDelayed(lost), Cause::Recovery)]).await
            }
        }
    }
}

/// The events of a provider that runs a job for the task.
fn accepted(now: &Task, events: &[(TaskEvent, Cause)]) -> Vec<(TaskEvent, Cause)> {
    match &now.state {
        TaskState::Submitting { .. } => events.to_vec(),
        TaskState::Ended { job: None, .. } if now.owes_cancel() => events.iter().take(1).cloned().collect(),
        TaskState::Running { .. } | TaskState::InputRequired { .. } | TaskState::Keeping { .. } | TaskState::Ended { .. } => {
            tracing::error!(task = ?now.id, "the provider started a job that this task no longer waits for");
            Vec::new()
        }
    }
}

/// The events of a submit that came to nothing, as far as one knows.
fn not_accepted(now: &Task, error: &AdapterError, repeat: bool, can_settle: bool) -> Vec<(TaskEvent, Cause)> {
    let unknown = matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Protocol);
    let event = match &now.state {
        TaskState::Submitting { .. } => match (error.kind(), error.retry()) {
            (ErrorKind::OutcomeUnknown | ErrorKind::Protocol, _) if !can_settle => {
                TaskEvent::Faulted(unknown_outcome(now, Some(error)))
            }
            (ErrorKind::Rejected | ErrorKind::NotFound, Retry::Never) => {
                let failure = JobFailure { code: error.status().map(|s| s.to_string()), ..JobFailure::new(error.message()) };
                TaskEvent::SubmitRejected(failure)
            }
            (ErrorKind::Unauthorized, _) if !repeat => {
                let message = format!("the provider does not accept the gateway's credentials: {}", error.message());
                TaskEvent::Faulted(for_good(error, now, message))
            }
            (ErrorKind::Unsupported, Retry::Never) => TaskEvent::Faulted(for_good(error, now, error.message().to_owned())),
            // That this one had no effect says nothing about an earlier one.
            (_, _) if repeat && !unknown => TaskEvent::PollFailed(fault(error)),
            (_, _) => TaskEvent::SubmitDelayed(fault(error)),
        },
        TaskState::Ended { job: None, .. } if now.owes_cancel() => {
            if unknown || repeat {
                TaskEvent::CancelFailed(fault(error))
            } else {
                TaskEvent::CancelAnswered { outcome: CancelOutcome::AlreadyEnded, escalate_after: None }
            }
        }
        TaskState::Running { .. } | TaskState::InputRequired { .. } | TaskState::Keeping { .. } | TaskState::Ended { .. } => {
            return Vec::new();
        }
    };
    vec![(event, Cause::Submit)]
}

fn unknown_outcome(task: &Task, error: Option<&AdapterError>) -> TaskError {
    let why = error.map(|error| format!(" ({})", error.message())).unwrap_or_default();
    TaskError {
        category: Category::UnknownOutcome,
        message: format!(
            "a job may have been started, but the provider never confirmed it{why} and offers no way to find out; look there \
             before you try again"
        ),
        retryable: false,
        attempts: task.troubles.count + 1,
        provider_status: error.and_then(AdapterError::status),
    }
}
