//! What deliveries are to those who hand them in: a delivery, what it did, why it was not taken.

use jobgate_webhooks::Verified;

use crate::domain::{ProviderName, TaskId};
use crate::store::StoreError;

/// A delivery to take.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Whose it is.
    pub provider: &'a ProviderName,
    /// What was verified.
    pub verified: &'a Verified<'a>,
    /// The task whose callback address it came to.
    pub task: Option<TaskId>,
}

/// What a delivery did. Of one that tells of several jobs, the last of these that was done to any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ingested {
    /// It tells of no job.
    Nothing,
    /// It tells of no job of ours. Where such a delivery is refused it is not recorded, so that it can come again.
    Unknown,
    /// Its task had ended.
    Late,
    /// It tells of a moment before the one that is known.
    Stale,
    /// It waits for its job to become known.
    Parked,
    /// The provider is going to be asked.
    Hinted,
    /// What it says counts from now on.
    Applied,
    /// It was taken before.
    Repeat {
        /// The one of then had another body.
        conflict: bool,
    },
}

impl Ingested {
    /// Its name in the counters.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
            Self::Late => "late",
            Self::Stale => "stale",
            Self::Parked => "parked",
            Self::Hinted => "hinted",
            Self::Applied => "applied",
            Self::Repeat { conflict: false } => "repeat",
            Self::Repeat { conflict: true } => "conflict",
        }
    }
}

/// Why a delivery was not taken.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The adapter cannot read it; it is laid aside as a dead letter.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// No such provider is configured, or it has no webhook.
    #[error("there is no such provider, or it has no webhook")]
    NoSuchProvider,
    /// The store failed; the sender has to send it again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a dead letter was not used.
#[derive(Debug, thiserror::Error)]
pub enum RedriveError {
    /// There is none of that name.
    #[error("there is no such dead letter")]
    NoSuchLetter,
    /// It still cannot be used, and stays.
    #[error(transparent)]
    Ingest(#[from] IngestError),
}
