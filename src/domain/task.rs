//! The task: what is known of one call and its job.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{IdempotencyKey, InputAnswer, InputAnswers, InputRequest, JobRef, Progress, Timestamp};
use serde_json::{Map, Value};

use super::{Keeping, KeptArtifact, LifeFrom, Names, Outcome, Principal, ProviderName, TaskId, ToolName, Troubles};

/// Counts the commits of a task; the compare-and-set of every store compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of a new task.
    pub const FIRST: Self = Self(1);

    /// The one after this.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// The five words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// On its way.
    Working,
    /// Waiting for a person.
    InputRequired,
    /// The job ended and its result is here, also when the job failed.
    Completed,
    /// The call itself could not be brought to an end.
    Failed,
    /// Stopped.
    Cancelled,
}

impl Status {
    /// The protocol's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it is final (requirement B1).
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Working | Self::InputRequired => false,
        }
    }
}

/// Where a task stands; each state carries exactly its data.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskState {
    /// The intent is durable; the provider has not confirmed a job yet.
    Submitting {
        /// Submits begun so far, the current one included.
        attempt: u32,
        /// A submit may have taken effect without our knowing.
        unsettled: bool,
    },
    /// The provider runs a job.
    Running {
        /// The job.
        job: JobRef,
    },
    /// The job waits for a person.
    InputRequired {
        /// The job.
        job: JobRef,
    },
    /// The job has ended well, and what it made is being fetched into the gateway's keeping.
    Keeping {
        /// The job.
        job: JobRef,
        /// What it handed over, and how far the keeping got.
        keeping: Arc<Keeping>,
    },
    /// The end.
    Ended {
        /// The job, if one is known to have been started.
        job: Option<JobRef>,
        /// What came out.
        outcome: Outcome,
        /// When.
        at: Timestamp,
    },
}

/// A wish to stop the job.
#[derive(Clone, Debug, PartialEq)]
pub struct Cancellation {
    /// When it was made.
    pub requested_at: Timestamp,
    /// Attempts to tell the provider.
    pub attempts: u32,
    /// How far it got.
    pub progress: CancelProgress,
    /// Whether it is made again in a harder way.
    pub escalation: Escalation,
}

/// What becomes of a cancel that the provider took and that does not stop the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escalation {
    /// Nothing: the provider has no harder way, or has not taken the cancel yet, or the job has ended.
    None,
    /// It is made again in the harder way then, unless the job has ended.
    Due(Timestamp),
    /// It was, or is being.
    Made,
}

/// How far a wish to stop the job got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelProgress {
    /// The provider has not answered it yet: it will be told, again and again.
    Owed,
    /// The provider took it; the job will stop, or not.
    Taken,
    /// The job had ended before.
    TooLate,
    /// The provider refuses.
    Refused,
    /// The provider has no cancel.
    Unsupported,
}

/// A question of the job, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSlot {
    /// The question.
    pub request: InputRequest,
    /// When it was first seen.
    pub asked_at: Timestamp,
    /// What became of it.
    pub progress: InputProgress,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum InputProgress {
    /// Unanswered.
    Open,
    /// Answered; the provider has to be told.
    Answered(InputAnswer),
    /// The provider was told.
    Provided,
    /// The job went on without our answer: answered elsewhere, or given up.
    Withdrawn,
}

/// A caller's own key for one wish (requirement C3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerKey {
    /// The key.
    pub key: String,
    /// A hash of the arguments: the same key with others is an error.
    pub arguments_hash: [u8; 32],
}

/// What a task starts from.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub owner: Principal,
    /// Which tool.
    pub tool: ToolName,
    /// Whose job.
    pub provider: ProviderName,
    /// The arguments.
    pub arguments: Arc<Map<String, Value>>,
    /// The caller's key.
    pub caller_key: Option<CallerKey>,
    /// The key for the provider.
    pub submit_key: IdempotencyKey,
    /// When.
    pub created_at: Timestamp,
    /// Its life as granted; `None` is unlimited.
    pub ttl: Option<Duration>,
    /// The moment after which the job is cancelled.
    pub deadline_at: Timestamp,
}

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub owner: Principal,
    /// Which tool.
    pub tool: ToolName,
    /// Whose job.
    pub provider: ProviderName,
    /// The arguments; needed until the job is accepted.
    pub arguments: Arc<Map<String, Value>>,
    /// The caller's key.
    pub caller_key: Option<CallerKey>,
    /// What else it is called.
    pub names: Names,
    /// The key for the provider.
    pub submit_key: IdempotencyKey,
    /// When it was made.
    pub created_at: Timestamp,
    /// When what a caller sees last changed (requirement B8).
    pub updated_at: Timestamp,
    /// Its life; `None` is unlimited.
    pub ttl: Option<Duration>,
    /// Since when that is counted.
    pub life_from: LifeFrom,
    /// The moment after which the job is cancelled.
    pub deadline_at: Timestamp,
    /// Commits so far.
    pub revision: Revision,
    /// Where it stands.
    pub state: TaskState,
    /// A short sentence for people.
    pub message: Option<String>,
    /// Real counts from the provider.
    pub progress: Option<Progress>,
    /// Questions by key, answered ones included: a key is never used again.
    pub inputs: BTreeMap<String, InputSlot>,
    /// A wish to stop the job.
    pub cancellation: Option<Cancellation>,
    /// The present run of failed calls.
    pub troubles: Troubles,
    /// Since when the provider does not know the job (or, while an unsettled submit is asked after, the submit's key).
    pub missing_since: Option<Timestamp>,
    /// When a worker has to look at it again; `None` when nothing is left to do.
    pub due_at: Option<Timestamp>,
}

impl Task {
    /// A task whose first submit has not begun.
    #[must_use]
    pub fn new(new: NewTask) -> Self {
        Self {
            id: new.id,
            owner: new.owner,
            tool: new.tool,
            provider: new.provider,
            arguments: new.arguments,
            caller_key: new.caller_key,
            names: Names::default(),
            submit_key: new.submit_key,
            created_at: new.created_at,
            updated_at: new.created_at,
            ttl: new.ttl,
            life_from: LifeFrom::Creation,
            deadline_at: new.deadline_at,
            revision: Revision::FIRST,
            state: TaskState::Submitting { attempt: 0, unsettled: false },
            message: None,
            progress: None,
            inputs: BTreeMap::new(),
            cancellation: None,
            troubles: Troubles::default(),
            missing_since: None,
            due_at: None,
        }
    }

    /// A new task whose first submit is sent as soon as its creation is durable: one durable write where
    /// [`super::TaskEvent::SubmitBegan`] would need a second one.
    #[must_use]
    pub fn with_submit_begun(mut self) -> Self {
        self.state = TaskState::Submitting { attempt: 1, unsettled: true };
        self
    }

    /// The protocol's word for where it stands.
    #[must_use]
    pub const fn status(&self) -> Status {
        match &self.state {
            TaskState::Submitting { .. } | TaskState::Running { .. } | TaskState::Keeping { .. } => Status::Working,
            TaskState::InputRequired { .. } => Status::InputRequired,
            TaskState::Ended { outcome: Outcome::Result(_), .. } => Status::Completed,
            TaskState::Ended { outcome: Outcome::Error(_), .. } => Status::Failed,
            TaskState::Ended { outcome: Outcome::Cancelled, .. } => Status::Cancelled,
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        matches!(self.state, TaskState::Ended { .. })
    }

    /// The job, once it is known.
    #[must_use]
    pub const fn job(&self) -> Option<&JobRef> {
        match &self.state {
            TaskState::Submitting { .. } => None,
            TaskState::Running { job } | TaskState::InputRequired { job } | TaskState::Keeping { job, .. } => Some(job),
            TaskState::Ended { job, .. } => job.as_ref(),
        }
    }

    /// What came out.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            TaskState::Ended { outcome, .. } => Some(outcome),
            TaskState::Submitting { .. }
            | TaskState::Running { .. }
            | TaskState::InputRequired { .. }
            | TaskState::Keeping { .. } => None,
        }
    }

    /// The files that are kept for it.
    #[must_use]
    pub fn kept_artifacts(&self) -> &[KeptArtifact] {
        match self.outcome() {
            Some(Outcome::Result(result)) => &result.kept,
            Some(Outcome::Error(_) | Outcome::Cancelled) | None => &[],
        }
    }

    /// The end of its life; `None` is never, or not while it has not ended (requirement H7).
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        let ttl = self.ttl?;
        match (self.life_from, &self.state) {
            (LifeFrom::Creation, _) => Some(self.created_at.plus(ttl)),
            (LifeFrom::End, TaskState::Ended { at, .. }) => Some(at.plus(ttl)),
            (
                LifeFrom::End,
                TaskState::Submitting { .. }
                | TaskState::Running { .. }
                | TaskState::InputRequired { .. }
                | TaskState::Keeping { .. },
            ) => None,
        }
    }

    /// The questions that nobody has answered.
    pub fn open_inputs(&self) -> impl Iterator<Item = (&String, &InputSlot)> {
        self.inputs.iter().filter(|(_, slot)| slot.progress == InputProgress::Open)
    }

    /// The answers that the provider has not been told.
    #[must_use]
    pub fn unprovided_answers(&self) -> InputAnswers {
        let answered = |(key, slot): (&String, &InputSlot)| match &slot.progress {
            InputProgress::Answered(answer) => Some((key.clone(), answer.clone())),
            InputProgress::Open | InputProgress::Provided | InputProgress::Withdrawn => None,
        };
        self.inputs.iter().filter_map(answered).collect()
    }
}
