//! The one place where a task changes: a pure function of the task, the event and the moment.

use std::sync::Arc;

use jobgate_adapter_api::{ErrorKind, JobFailure, JobOutput, JobRef, Part, Timestamp};

use super::{CancelProgress, Fault, InputProgress, Outcome, Task, TaskError, TaskEvent, TaskState, ToolResult, Troubles};

const UNWATCHED: &str = "cancelled; this provider has no cancel, so the job runs on unwatched";

const UNFINDABLE: &str = "cancelled; a job may have been started, and this provider offers no way to find it";

/// The event does not fit the state; nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {state} takes no `{event}`")]
pub struct IllegalTransition {
    /// Where the task stands.
    pub state: &'static str,
    /// What was refused.
    pub event: &'static str,
}

impl Task {
    /// What the task is after `event`. The revision is the next one; `updated_at` moves when something visible changed.
    ///
    /// # Errors
    /// [`IllegalTransition`] when the state takes no such event; an ended task takes none but what is still owed to its job.
    pub fn apply(&self, event: &TaskEvent, at: Timestamp) -> Result<Self, IllegalTransition> {
        use TaskEvent as E;
        use TaskState as S;
        let mut next = self.clone();
        match (&self.state, event) {
            (S::Submitting { attempt, .. }, E::SubmitBegan) => {
                next.missing_since = None;
                next.state = S::Submitting { attempt: attempt.saturating_add(1), unsettled: true };
            }
            (S::Submitting { attempt, .. }, E::SubmitDelayed(fault)) => next.submit_delayed(*attempt, fault, at),
            (S::Submitting { .. }, E::SubmitRejected(failure)) => {
                next.too_late_to_cancel();
                next.end(None, failed(failure), at);
            }
            (S::Submitting { .. }, E::Accepted(job)) => {
                next.troubles = Troubles::default();
                next.missing_since = None;
                next.message = self.is_stopping().then(|| "cancel requested".to_owned());
                next.state = S::Running { job: job.clone() };
            }
            (S::Submitting { unsettled: true, .. }, E::Missing(fault)) => {
                next.missing_since = self.missing_since.or(Some(at));
                next.trouble(fault, at);
            }
            (S::Submitting { unsettled: true, .. }, E::PollFailed(fault)) => next.trouble(fault, at),
            (S::Submitting { unsettled, .. }, E::CancelRequested { at_once }) => {
                next.want_cancel(at);
                if !unsettled {
                    next.cancellation_is(CancelProgress::TooLate);
                    next.end_with_message(None, Outcome::Cancelled, "cancelled before a job was started", at);
                } else if *at_once {
                    next.end_with_message(None, Outcome::Cancelled, "cancelled", at);
                } else {
                    next.message = Some("cancel requested; waiting for the provider to confirm the submit".to_owned());
                }
            }
            (S::Running { job } | S::InputRequired { job }, E::Observed(seen)) => next.observe(job, seen, at),
            (S::Running { .. } | S::InputRequired { .. }, E::PollFailed(fault)) => next.trouble(fault, at),
            (S::Running { .. } | S::InputRequired { .. }, E::Missing(fault)) => {
                next.missing_since = self.missing_since.or(Some(at));
                next.trouble(fault, at);
            }
            (S::InputRequired { job }, E::Answered(answers)) => next.answer(job, answers),
            (S::Running { .. } | S::InputRequired { .. }, E::Provided(keys)) => {
                // Only what was handed over: a further answer may have come in meanwhile.
                for key in keys {
                    if let Some(slot) = next.inputs.get_mut(key)
                        && matches!(slot.progress, InputProgress::Answered(_))
                    {
                        slot.progress = InputProgress::Provided;
                    }
                }
                next.troubles = Troubles::default();
            }
            (S::Running { .. } | S::InputRequired { .. }, E::ProvideFailed(fault)) => next.trouble(fault, at),
            (S::Running { job } | S::InputRequired { job }, E::CancelRequested { at_once }) => {
                next.want_cancel(at);
                if *at_once {
                    let message = match next.cancellation.as_ref().map(|wish| wish.progress) {
                        Some(CancelProgress::Owed) => "cancelled; the job is being told",
                        Some(CancelProgress::Unsupported) => UNWATCHED,
                        Some(CancelProgress::Taken | CancelProgress::TooLate | CancelProgress::Refused) | None => "cancelled",
                    };
                    next.end_with_message(Some(job.clone()), Outcome::Cancelled, message, at);
                } else if next.owes_cancel() {
                    next.message = Some("cancel requested".to_owned());
                }
            }
            (S::Running { .. } | S::InputRequired { .. }, E::CancelAnswered { outcome, escalate_after })
                if self.owes_cancel() =>
            {
                next.message = Some(next.cancel_answered(*outcome, *escalate_after, at).to_owned());
            }
            (S::Running { .. } | S::InputRequired { .. }, E::CancelEscalated) if self.escalates_at().is_some() => {
                next.escalate();
                next.message = Some("the job has not stopped; the provider is asked to stop it in a harder way".to_owned());
            }
            (S::Ended { .. }, E::CancelEscalated) if self.escalates_at().is_some() => next.escalate(),
            (S::Ended { .. }, E::CancelHeeded) if self.escalates_at().is_some() => next.heeded(),
            (S::Running { job } | S::InputRequired { job }, E::CancelUnsupported { abandon }) if self.owes_cancel() => {
                next.cancellation_is(CancelProgress::Unsupported);
                if *abandon {
                    next.end_with_message(Some(job.clone()), Outcome::Cancelled, UNWATCHED, at);
                } else {
                    next.message = Some("cancel asked for, but this provider has none: the job runs on".to_owned());
                }
            }
            (S::Running { .. } | S::InputRequired { .. }, E::CancelFailed(fault)) if self.owes_cancel() => {
                next.cancel_failed();
                next.message = Some(format!("cancel requested, not yet answered by the provider: {}", fault.message));
            }
            (S::Submitting { .. }, E::Faulted(error)) => next.end(None, Outcome::Error(error.clone()), at),
            (S::Running { job } | S::InputRequired { job }, E::Faulted(error)) => {
                next.end(Some(job.clone()), Outcome::Error(error.clone()), at);
            }
            (S::Submitting { unsettled, .. }, E::LimitStruck(error)) => {
                if *unsettled {
                    next.want_cancel(at);
                }
                next.end(None, Outcome::Error(error.clone()), at);
            }
            (S::Running { job } | S::InputRequired { job }, E::LimitStruck(error)) => {
                next.want_cancel(at);
                next.end(Some(job.clone()), Outcome::Error(error.clone()), at);
            }
            (S::Ended { outcome, at: ended, job: None }, E::Accepted(job)) if self.owes_cancel() => {
                next.state = S::Ended { job: Some(job.clone()), outcome: outcome.clone(), at: *ended };
            }
            (S::Ended { outcome, .. }, E::CancelAnswered { outcome: answer, escalate_after }) if self.owes_cancel() => {
                let told = self.told(*answer);
                next.cancel_answered(*answer, *escalate_after, at);
                if *outcome == Outcome::Cancelled {
                    next.message = Some(told.to_owned());
                }
            }
            (S::Ended { outcome, job, .. }, E::CancelUnsupported { .. }) if self.owes_cancel() => {
                next.cancellation_is(CancelProgress::Unsupported);
                if *outcome == Outcome::Cancelled {
                    next.message = Some(if job.is_some() { UNWATCHED } else { UNFINDABLE }.to_owned());
                }
            }
            (S::Ended { .. }, E::CancelFailed(_)) if self.owes_cancel() => next.cancel_failed(),
            (S::Keeping { job, keeping }, E::ArtifactSettled(settled)) => next.settle(job, keeping, settled, at),
            (S::Keeping { .. }, E::KeepFailed(fault)) => {
                next.trouble(fault, at);
                let attempt = next.troubles.count;
                let message = format!("the job has ended; an artifact cannot be kept yet (attempt {attempt}): {}", fault.message);
                next.message = Some(message);
            }
            (S::Keeping { job, keeping }, E::KeepGivenUp(why)) => next.kept(job, keeping, why, at),
            (S::Keeping { job, .. }, E::CancelRequested { at_once }) => {
                next.want_cancel(at);
                next.too_late_to_cancel();
                if *at_once {
                    next.end_with_message(Some(job.clone()), Outcome::Cancelled, "cancelled; the job had ended before", at);
                } else {
                    let message = "cancel came too late: the job has ended, and its artifacts are being kept";
                    next.message = Some(message.to_owned());
                }
            }
            (
                S::Submitting { .. } | S::Running { .. } | S::InputRequired { .. } | S::Keeping { .. } | S::Ended { .. },
                E::LifeExtended(ttl),
            ) => next.ttl = Some(*ttl),
            (
                S::Submitting { .. } | S::Running { .. } | S::InputRequired { .. } | S::Keeping { .. } | S::Ended { .. },
                E::Delivered(_),
            ) => {}
            (S::Submitting { unsettled: false, .. }, E::Missing(_) | E::PollFailed(_))
            | (
                S::Submitting { .. },
                E::Observed(_)
                | E::ArtifactSettled(_)
                | E::KeepFailed(_)
                | E::KeepGivenUp(_)
                | E::Answered(_)
                | E::Provided(_)
                | E::ProvideFailed(_)
                | E::CancelAnswered { .. }
                | E::CancelEscalated
                | E::CancelHeeded
                | E::CancelUnsupported { .. }
                | E::CancelFailed(_),
            )
            | (
                S::Running { .. } | S::InputRequired { .. },
                E::SubmitBegan
                | E::SubmitDelayed(_)
                | E::SubmitRejected(_)
                | E::Accepted(_)
                | E::CancelAnswered { .. }
                | E::CancelEscalated
                | E::CancelHeeded
                | E::ArtifactSettled(_)
                | E::KeepFailed(_)
                | E::KeepGivenUp(_)
                | E::CancelUnsupported { .. }
                | E::CancelFailed(_),
            )
            | (S::Running { .. }, E::Answered(_))
            | (
                S::Keeping { .. },
                E::SubmitBegan
                | E::SubmitDelayed(_)
                | E::SubmitRejected(_)
                | E::Accepted(_)
                | E::Observed(_)
                | E::PollFailed(_)
                | E::Missing(_)
                | E::Answered(_)
                | E::Provided(_)
                | E::ProvideFailed(_)
                | E::CancelAnswered { .. }
                | E::CancelEscalated
                | E::CancelHeeded
                | E::CancelUnsupported { .. }
                | E::CancelFailed(_)
                | E::Faulted(_)
                | E::LimitStruck(_),
            )
            | (
                S::Ended { .. },
                E::SubmitBegan
                | E::SubmitDelayed(_)
                | E::SubmitRejected(_)
                | E::Accepted(_)
                | E::Observed(_)
                | E::PollFailed(_)
                | E::Missing(_)
                | E::ArtifactSettled(_)
                | E::KeepFailed(_)
                | E::KeepGivenUp(_)
                | E::Answered(_)
                | E::Provided(_)
                | E::ProvideFailed(_)
                | E::CancelRequested { .. }
                | E::CancelAnswered { .. }
                | E::CancelEscalated
                | E::CancelHeeded
                | E::CancelUnsupported { .. }
                | E::CancelFailed(_)
                | E::Faulted(_)
                | E::LimitStruck(_),
            ) => return Err(IllegalTransition { state: self.state_name(), event: event.name() }),
        }
        next.revision = self.revision.next();
        if self.looks_different(&next) {
            next.updated_at = at;
        }
        Ok(next)
    }

    const fn state_name(&self) -> &'static str {
        match self.state {
            TaskState::Submitting { .. } => "submitting",
            TaskState::Running { .. } => "running",
            TaskState::InputRequired { .. } => "waiting for input",
            TaskState::Keeping { .. } => "keeping artifacts",
            TaskState::Ended { .. } => self.status().as_str(),
        }
    }

    /// Whether a caller would see a difference between this and `next`.
    #[must_use]
    pub fn looks_different(&self, next: &Self) -> bool {
        self.status() != next.status()
            || self.message != next.message
            || self.progress != next.progress
            || self.ttl != next.ttl
            || !self.open_inputs().map(|(key, _)| key).eq(next.open_inputs().map(|(key, _)| key))
    }

    pub(super) fn end(&mut self, job: Option<JobRef>, outcome: Outcome, at: Timestamp) {
        let message = match &outcome {
            Outcome::Result(result) if result.is_error => first_line(&result.output),
            Outcome::Result(_) => None,
            Outcome::Error(TaskError { message, .. }) => Some(message.clone()),
            Outcome::Cancelled => Some("cancelled".to_owned()),
        };
        self.message = message;
        self.troubles = Troubles::default();
        self.missing_since = None;
        self.withdraw_inputs();
        self.state = TaskState::Ended { job, outcome, at };
    }

    pub(super) fn end_with_message(&mut self, job: Option<JobRef>, outcome: Outcome, message: &str, at: Timestamp) {
        self.end(job, outcome, at);
        self.message = Some(message.to_owned());
    }

    fn submit_delayed(&mut self, attempt: u32, fault: &Fault, at: Timestamp) {
        // An answer that makes no sense may hide a started job as well as no answer does.
        let unsettled = matches!(fault.kind, ErrorKind::OutcomeUnknown | ErrorKind::Protocol);
        self.trouble(fault, at);
        self.missing_since = None;
        if self.cancellation.is_some() && !unsettled {
            self.cancellation_is(CancelProgress::TooLate);
            self.end_with_message(None, Outcome::Cancelled, "cancelled before a job was started", at);
        } else {
            let wish = if self.owes_cancel() { "cancel requested; " } else { "" };
            self.message = Some(format!("{wish}the job could not be submitted yet (attempt {attempt}): {}", fault.message));
            self.state = TaskState::Submitting { attempt, unsettled };
        }
    }

    fn trouble(&mut self, fault: &Fault, at: Timestamp) {
        let protocol_run = if fault.kind == ErrorKind::Protocol { self.troubles.protocol_run + 1 } else { 0 };
        self.troubles = Troubles {
            count: self.troubles.count.saturating_add(1),
            protocol_run,
            since: self.troubles.since.or(Some(at)),
            last: Some(fault.clone()),
        };
    }
}

/// The outcome of a job that ran and ended badly.
pub(super) fn failed(failure: &JobFailure) -> Outcome {
    Outcome::Result(Arc::new(ToolResult::from(failure)))
}

fn first_line(output: &JobOutput) -> Option<String> {
    match output.parts.first()? {
        Part::Text(text) => text.lines().next().map(str::to_owned),
        Part::Image { .. } | Part::Audio { .. } | Part::Link { .. } | Part::Embedded { .. } => None,
    }
}
