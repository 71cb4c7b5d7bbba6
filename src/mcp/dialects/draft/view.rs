//! A task as this dialect shows it: one of seven words, how long it is kept after its end, and a sentence where it failed.

use std::borrow::Cow;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::domain::{Category, LifeFrom, Outcome, Task, TaskError, TaskState, Timestamp};
use crate::mcp::params::DRAFT_RELATED;
use crate::mcp::wire::{Related, millis};

/// The seven words of the draft (requirement B3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DraftStatus {
    /// Taken on; the provider has not confirmed a job yet.
    Submitted,
    /// On its way.
    Working,
    /// Waiting for a person.
    InputRequired,
    /// The job ended, well or badly; its result is there.
    Completed,
    /// Could not be brought to an end, for a reason that is known.
    Failed,
    /// Stopped.
    Cancelled,
    /// Nobody can tell what became of it.
    Unknown,
}

impl DraftStatus {
    pub(super) const fn of(task: &Task) -> Self {
        match &task.state {
            TaskState::Submitting { .. } => Self::Submitted,
            TaskState::Running { .. } | TaskState::Keeping { .. } => Self::Working,
            TaskState::InputRequired { .. } => Self::InputRequired,
            TaskState::Ended { outcome: Outcome::Result(_), .. } => Self::Completed,
            TaskState::Ended { outcome: Outcome::Error(TaskError { category: Category::UnknownOutcome, .. }), .. } => {
                Self::Unknown
            }
            TaskState::Ended { outcome: Outcome::Error(_), .. } => Self::Failed,
            TaskState::Ended { outcome: Outcome::Cancelled, .. } => Self::Cancelled,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

/// A task on the wire.
#[derive(Clone, Debug)]
pub(super) struct DraftView<'a> {
    pub(super) task: &'a Task,
    pub(super) shown: Cow<'a, str>,
    /// How soon it is worth asking again.
    pub(super) interval: Duration,
    pub(super) now: Timestamp,
    /// Whether the task is the whole answer, which then says so in its `_meta`; a list's items go without.
    pub(super) alone: bool,
}

impl Serialize for DraftView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let status = DraftStatus::of(self.task);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", &self.shown)?;
        map.serialize_entry("status", status.as_str())?;
        map.serialize_entry("keepAlive", &keep_alive(self.task, self.now).map(millis))?;
        if !self.task.is_ended() {
            map.serialize_entry("pollFrequency", &millis(self.interval).max(1))?;
        }
        if let (DraftStatus::Failed, Some(Outcome::Error(error))) = (status, self.task.outcome()) {
            map.serialize_entry("error", &error.message)?;
        }
        if self.alone {
            map.serialize_entry("_meta", &related(&self.shown))?;
        }
        map.end()
    }
}

/// `_meta` of everything that is about this task.
pub(super) const fn related(shown: &str) -> Related<'_> {
    Related { key: DRAFT_RELATED, task: shown }
}

/// How long the task is kept after its end; `None` is for ever. A task of another dialect counts its life from its creation, so what
/// is left at its end, or would be if it ended now, is what this dialect calls its keep-alive (requirement H7).
fn keep_alive(task: &Task, now: Timestamp) -> Option<Duration> {
    let granted = task.ttl?;
    Some(match (task.life_from, &task.state) {
        (LifeFrom::End, _) => granted,
        (LifeFrom::Creation, TaskState::Ended { at, .. }) => task.created_at.plus(granted).since(*at),
        (
            LifeFrom::Creation,
            TaskState::Submitting { .. }
            | TaskState::Running { .. }
            | TaskState::InputRequired { .. }
            | TaskState::Keeping { .. },
        ) => task.created_at.plus(granted).since(now),
    })
}
