//! What the receiver asks of the engine, as a trait, so that tests can stand in for it.

use std::fmt;

use async_trait::async_trait;
use jobgate_webhooks::{AtAddress, Verified};

use crate::domain::{ProviderName, TaskId};
use crate::store::StoreError;

/// Takes what was verified.
#[async_trait]
pub trait Intake: fmt::Debug + Send + Sync + 'static {
    /// What a token of a callback address was made for; nothing for one that is not the engine's.
    fn open_callback(&self, token: &str) -> Option<AtAddress>;

    /// Records a delivery together with what it causes. May be dropped at any point without harm.
    async fn ingest(&self, delivery: Delivery<'_>) -> Result<Ingested, IngestError>;
}

/// A delivery to take.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Whose it is.
    pub provider: &'a ProviderName,
    /// What was verified.
    pub verified: &'a Verified<'a>,
    /// The task whose address it came to.
    pub task: Option<TaskId>,
}

/// What a delivery caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ingested {
    /// A task is in a new state.
    Applied,
    /// A job is going to be asked.
    Hinted,
    /// It waits for its job.
    Parked,
    /// Its task had ended.
    Late,
    /// It told of the past.
    Stale,
    /// It is about no job of ours.
    Unknown,
    /// It is about no job.
    Nothing,
    /// It was taken before.
    Repeat {
        /// With another body.
        conflict: bool,
    },
}

impl Ingested {
    /// Its name in the counters.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Hinted => "hinted",
            Self::Parked => "parked",
            Self::Late => "late",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
            Self::Nothing => "nothing",
            Self::Repeat { conflict: false } => "repeat",
            Self::Repeat { conflict: true } => "conflict",
        }
    }
}

/// Why a delivery was not taken.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The adapter cannot read it.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// There is no such provider.
    #[error("there is no such provider")]
    NoSuchProvider,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}
