//! How a task ends, and the failed calls on the way there.

use std::sync::Arc;

use jobgate_adapter_api::{ErrorKind, JobFailure, JobOutput, Part, Timestamp};

use super::KeptArtifact;
use super::keep::link;

/// How a task ended: the fact itself; each dialect shows it its own way (requirement B4).
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The job ended; its result, with `is_error` for a job that failed.
    Result(Arc<ToolResult>),
    /// The gateway or the protocol failed.
    Error(TaskError),
    /// Stopped.
    Cancelled,
}

/// The result of a plain call: what `tools/call` would have answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// Content and data.
    pub output: JobOutput,
    /// Whether the job failed.
    pub is_error: bool,
    /// Files that the gateway keeps, behind the content.
    pub kept: Vec<KeptArtifact>,
}

/// A job that ran and failed: the sentence first, then what it left behind.
impl From<&JobFailure> for ToolResult {
    fn from(failure: &JobFailure) -> Self {
        let sentence = match &failure.code {
            Some(code) => format!("{} ({code})", failure.message),
            None => failure.message.clone(),
        };
        let links = failure.output.artifacts.iter().filter_map(link);
        let parts = std::iter::once(Part::Text(sentence)).chain(failure.output.parts.iter().cloned()).chain(links).collect();
        let output = JobOutput { parts, data: failure.output.data.clone(), artifacts: Vec::new() };
        Self { output, is_error: true, kept: Vec::new() }
    }
}

/// Why a task failed (requirement B5). The message is cleaned: no secrets, hosts or stack traces.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskError {
    /// What kind of trouble.
    pub category: Category,
    /// A sentence for the caller.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// Calls made to the provider in vain.
    pub attempts: u32,
    /// The provider's last status code, where it gave one.
    pub provider_status: Option<u16>,
}

/// What kind of trouble ended a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    /// The provider: as its adapter said.
    Provider(ErrorKind),
    /// The tool's deadline passed.
    Deadline,
    /// The provider said nothing useful for too long.
    Stuck,
    /// The provider no longer knows the job.
    Gone,
    /// A question stayed open for too long.
    InputTimeout,
    /// A submit may have started a job, and the provider offers no way to find out.
    UnknownOutcome,
    /// The task's life ended before its job.
    Expired,
    /// The gateway's configuration no longer has the tool or provider.
    Configuration,
}

impl Category {
    /// The word on the wire and in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provider(kind) => kind.as_str(),
            Self::Deadline => "deadline",
            Self::Stuck => "stuck",
            Self::Gone => "gone",
            Self::InputTimeout => "input_timeout",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Expired => "expired",
            Self::Configuration => "configuration",
        }
    }
}

/// One failed call to the provider, as a task remembers it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What went wrong.
    pub kind: ErrorKind,
    /// A cleaned sentence.
    pub message: String,
    /// The provider's status code.
    pub status: Option<u16>,
}

/// The present run of failed calls; forgotten with the first success.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Troubles {
    /// How many in a row.
    pub count: u32,
    /// How many of them in a row were protocol faults (an answer that is not this API's).
    pub protocol_run: u32,
    /// When the run began.
    pub since: Option<Timestamp>,
    /// The last one.
    pub last: Option<Fault>,
}
