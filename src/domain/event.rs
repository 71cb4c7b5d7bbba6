//! The only things that change a task.

use std::fmt;
use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, InputAnswers, JobFailure, JobRef, Observation};

use super::{Fault, Principal, Scope, Settled, TaskError};

/// Something that happened to a task. [`super::Task::apply`] says what it means in each state.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskEvent {
    /// A submit is about to be sent.
    SubmitBegan,
    /// A submit failed without effect, or may be repeated with the same key; it will be tried again.
    SubmitDelayed(Fault),
    /// The provider refused the job for good: the tool's own error.
    SubmitRejected(JobFailure),
    /// The provider runs a job for this task.
    Accepted(JobRef),
    /// A look at the job showed this.
    Observed(Observation),
    /// A look at the job (or, while a submit is unsettled, the search for it) failed; what is shown may be stale.
    PollFailed(Fault),
    /// The provider does not know the job (or, while a submit is unsettled, its key), for the first time or again.
    Missing(Fault),
    /// The next artifact of a job that ended well is kept, or given up.
    ArtifactSettled(Settled),
    /// The next artifact could not be kept yet; it will be tried again.
    KeepFailed(Fault),
    /// What is not kept yet is given up, for this reason.
    KeepGivenUp(String),
    /// The caller answered questions; those not open any more are ignored.
    Answered(InputAnswers),
    /// The answers to these questions reached the provider.
    Provided(Vec<String>),
    /// Handing over the answers failed; it will be tried again.
    ProvideFailed(Fault),
    /// Someone wants the job stopped. With `at_once` the task is cancelled now and the job's own cancel stays owed.
    CancelRequested {
        /// The caller's wire form says that a cancelled task is cancelled before the reply.
        at_once: bool,
    },
    /// The provider answered the wish to cancel.
    CancelAnswered {
        /// How.
        outcome: CancelOutcome,
        /// How long the job may then run on before the provider is asked in a harder way; `None` where it has none.
        escalate_after: Option<Duration>,
    },
    /// The job runs on though the provider took the cancel: it is asked in a harder way from now on.
    CancelEscalated,
    /// The job of a task that has ended has ended, too: no harder way is needed.
    CancelHeeded,
    /// The provider has no cancel. With `abandon` the task ends as cancelled all the same.
    CancelUnsupported {
        /// The tool's policy.
        abandon: bool,
    },
    /// The wish to cancel did not get through; it will be tried again.
    CancelFailed(Fault),
    /// The task cannot go on: silence, a lost job, a fault that will not pass. Its job is left alone.
    Faulted(TaskError),
    /// A limit of the operator's ends the task, and its job has to be stopped: the job's own cancel is owed from now on.
    LimitStruck(TaskError),
    /// The task's life was extended, because its job is still alive or has just ended.
    LifeExtended(Duration),
    /// A delivery concerned this task and told nothing that is taken over: it is in the history, and nothing else changes.
    Delivered(Note),
}

/// What became of a delivery that changes nothing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// The job is asked.
    Hint,
    /// It came before the task's job was known. What it says follows once the job is.
    Early,
    /// It came after the task's end.
    Late,
    /// It tells of a moment before the one that is known.
    Stale,
}

impl TaskEvent {
    /// The event's name in the audit trail.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SubmitBegan => "submit_began",
            Self::SubmitDelayed(_) => "submit_delayed",
            Self::SubmitRejected(_) => "submit_rejected",
            Self::Accepted(_) => "accepted",
            Self::Observed(_) => "observed",
            Self::PollFailed(_) => "poll_failed",
            Self::Missing(_) => "missing",
            Self::ArtifactSettled(Settled::Kept(_)) => "artifact_kept",
            Self::ArtifactSettled(Settled::Left(_)) => "artifact_not_kept",
            Self::KeepFailed(_) => "keep_failed",
            Self::KeepGivenUp(_) => "keep_given_up",
            Self::Answered(_) => "answered",
            Self::Provided(_) => "provided",
            Self::ProvideFailed(_) => "provide_failed",
            Self::CancelRequested { .. } => "cancel_requested",
            Self::CancelAnswered { .. } => "cancel_answered",
            Self::CancelEscalated => "cancel_escalated",
            Self::CancelHeeded => "cancel_heeded",
            Self::CancelUnsupported { .. } => "cancel_unsupported",
            Self::CancelFailed(_) => "cancel_failed",
            Self::Faulted(_) => "faulted",
            Self::LimitStruck(_) => "limit_struck",
            Self::LifeExtended(_) => "life_extended",
            Self::Delivered(Note::Hint) => "delivered_hint",
            Self::Delivered(Note::Early) => "delivered_early",
            Self::Delivered(Note::Late) => "delivered_late",
            Self::Delivered(Note::Stale) => "delivered_stale",
        }
    }
}

/// Why an event happened: who or what brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A caller's request.
    Caller(Principal),
    /// The submit of the job.
    Submit,
    /// A look at the job.
    Poll,
    /// A delivery of the provider's.
    Webhook,
    /// The hand-over of answers or of a cancel.
    Delivery,
    /// A limit of time.
    Limit,
    /// The settling of what a crash left open.
    Recovery,
    /// An operator at the command line.
    Operator,
}

impl From<&Scope> for Cause {
    /// Who acts within a scope.
    fn from(scope: &Scope) -> Self {
        match scope {
            Scope::Owner(principal) | Scope::Tenant(principal) => Self::Caller(principal.clone()),
            Scope::Everybody => Self::Operator,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller(principal) => write!(f, "caller {principal}"),
            Self::Submit => f.write_str("submit"),
            Self::Poll => f.write_str("poll"),
            Self::Webhook => f.write_str("webhook"),
            Self::Delivery => f.write_str("delivery to the provider"),
            Self::Limit => f.write_str("limit"),
            Self::Recovery => f.write_str("recovery"),
            Self::Operator => f.write_str("operator"),
        }
    }
}
