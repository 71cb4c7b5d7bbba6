//! The vocabulary of jobs: what is asked for, what names a job, what was seen of it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Artifact, InputRequest};

/// The key of one submit, minted with the task and repeated on every attempt.
///
/// Lower-case hexadecimal, 32 characters, so that it fits every provider's rules for keys, tags and object names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The wish for one job.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmitRequest {
    /// The same on every attempt for one task.
    pub key: IdempotencyKey,
    /// The caller's arguments; they fit the tool's schema.
    pub arguments: Map<String, Value>,
}

/// Names one job at its provider: all that `poll`, `cancel` and `provide` need. Stored with the task and given back.
///
/// Ids are strings here whatever they were at the provider, digit for digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobRef {
    id: String,
    handles: BTreeMap<String, String>,
}

impl JobRef {
    /// A job known by one id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), handles: BTreeMap::new() }
    }

    /// With a further handle (a queue id, a build URL, an action link).
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.handles.insert(name.into(), value.into());
        self
    }

    /// The id that operators see.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A further handle.
    #[must_use]
    pub fn handle(&self, name: &str) -> Option<&str> {
        self.handles.get(name).map(String::as_str)
    }

    /// All further handles.
    #[must_use]
    pub fn handles(&self) -> &BTreeMap<String, String> {
        &self.handles
    }
}

/// What one look at a job showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Where the job stands.
    pub state: JobState,
    /// A short present-tense sentence or stage name for people; cleaned, at most about 200 characters.
    pub message: Option<String>,
    /// Real counts, where the provider gives them.
    pub progress: Option<Progress>,
    /// Handles that this look taught us; they are added to the job's own.
    pub learned: BTreeMap<String, String>,
    /// When the provider asks to be looked at again.
    pub next_poll: Option<Duration>,
}

impl Observation {
    /// A look that showed this state and nothing more.
    #[must_use]
    pub fn new(state: JobState) -> Self {
        Self { state, message: None, progress: None, learned: BTreeMap::new(), next_poll: None }
    }

    /// With a sentence for people.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// With counts.
    #[must_use]
    pub fn with_progress(mut self, progress: Progress) -> Self {
        self.progress = Some(progress);
        self
    }
}

/// Where a job stands. Not `non_exhaustive`: the gateway consumes it, so a new word must break the build.
#[derive(Clone, Debug, PartialEq)]
pub enum JobState {
    /// Accepted, not yet running.
    Queued,
    /// Running.
    Running,
    /// Waiting for a person.
    InputRequired(Vec<InputRequest>),
    /// Ended well.
    Succeeded(JobOutput),
    /// Ran and ended badly.
    Failed(JobFailure),
    /// Was stopped.
    Cancelled,
    /// The provider says that it no longer has it (expired, deleted).
    Gone,
    /// A status word that nobody mapped: working, logged, bounded by the deadline; never an error, never an end.
    Unrecognized(String),
}

impl JobState {
    /// Whether the job has ended.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        match self {
            Self::Succeeded(_) | Self::Failed(_) | Self::Cancelled | Self::Gone => true,
            Self::Queued | Self::Running | Self::InputRequired(_) | Self::Unrecognized(_) => false,
        }
    }
}

/// Counts that the provider gave: 420 of 1000.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Done so far.
    pub done: f64,
    /// Of how many; `None` where nobody knows.
    pub total: Option<f64>,
}

/// What an ended job hands over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOutput {
    /// What people and models read or see, in order.
    pub parts: Vec<Part>,
    /// The result as data.
    pub data: Option<Value>,
    /// Files that the gateway is to fetch and keep before the task ends; callers see them behind the parts. Those of a job that failed
    /// are not kept: callers see their addresses.
    pub artifacts: Vec<Artifact>,
}

impl JobOutput {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())], data: None, artifacts: Vec::new() }
    }

    /// With data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// One piece of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// An image, base64.
    Image {
        /// The bytes, base64.
        data: String,
        /// For example `image/png`.
        mime_type: String,
    },
    /// A sound, base64.
    Audio {
        /// The bytes, base64.
        data: String,
        /// For example `audio/wav`.
        mime_type: String,
    },
    /// Something to fetch: an artifact by reference.
    Link {
        /// Where it is.
        uri: String,
        /// A short name.
        name: String,
        /// Its type, where known.
        mime_type: Option<String>,
        /// One sentence.
        description: Option<String>,
        /// Bytes, where known.
        size: Option<u64>,
    },
    /// A small text document with a name of its own.
    Embedded {
        /// Its name.
        uri: String,
        /// Its type, where known.
        mime_type: Option<String>,
        /// Its text.
        text: String,
    },
}

/// Why a job that ran ended badly.
#[derive(Clone, Debug, PartialEq)]
pub struct JobFailure {
    /// A cleaned sentence for the caller.
    pub message: String,
    /// The provider's own error word, where it has one.
    pub code: Option<String>,
    /// What it left behind all the same: failed steps, the end of a log.
    pub output: JobOutput,
}

impl JobFailure {
    /// A failure with a sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, output: JobOutput::default() }
    }
}
