//! What comes into a simulation from outside, and what it shows.

use jobgate_adapter_api::Timestamp;
use serde_json::Value;

/// One run of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// Its id: `$$.Execution.Id` and `$$.Execution.Name`.
    pub id: String,
    /// The machine's name: `$$.StateMachine.Name`.
    pub machine: String,
    /// What it was started with.
    pub input: Value,
    /// When it was started.
    pub started_at: Timestamp,
}

/// Something that happened to a run from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: Outside,
}

/// What can happen from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Outside {
    /// Someone asked to stop the run.
    Cancelled,
    /// A person answered a question.
    Answered {
        /// The question's key.
        key: String,
        /// What the waiting state gets as its result.
        answer: Value,
    },
}

/// How a run looks at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Where it stands.
    pub status: Status,
    /// The states that are at work, by their `Comment` or name.
    pub stages: Vec<String>,
    /// Real counts, where the machine gives them.
    pub counts: Option<Counts>,
    /// When something changes next by itself; `None` when only someone outside can change it.
    pub next_change: Option<Timestamp>,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Not yet begun.
    Queued,
    /// At work.
    Running,
    /// Waits for a person; all open questions.
    Waiting(Vec<Question>),
    /// Ended well, with this output.
    Succeeded(Value),
    /// Ended badly.
    Failed {
        /// The error's name.
        error: String,
        /// A sentence for people; may be empty.
        cause: String,
    },
    /// Was stopped.
    Cancelled,
}

impl Status {
    /// Whether the run has ended.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::Succeeded(_) | Self::Failed { .. } | Self::Cancelled => true,
            Self::Queued | Self::Running | Self::Waiting(_) => false,
        }
    }
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Unique over the run's life.
    pub key: String,
    /// What the person reads.
    pub message: String,
    /// A form's JSON Schema.
    pub form: Value,
    /// A page of the provider's own instead of the form.
    pub url: Option<String>,
}

/// So many done, of so many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// Done so far.
    pub done: f64,
    /// Of how many; `None` where nobody knows.
    pub total: Option<f64>,
}
