//! Deliveries as a store keeps them: taken once, parked until their job is known, laid aside as dead letters.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jobgate_webhooks::Kept;

use super::Commit;
use super::record::{hex, unhex};
use crate::domain::{ProviderName, Task, TaskId, Timestamp};

/// The most parked deliveries of one provider; beyond them the oldest goes.
pub const MOST_PARKED: usize = 10_000;

/// The most dead letters; beyond them the oldest goes.
pub const MOST_DEAD: usize = 1_000;

/// Names a delivery: made from its route and from what all its copies have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId([u8; 32]);

impl DeliveryId {
    /// From a hash.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// 64 hexadecimal digits, as operators read and type them.
impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeliveryId({self})")
    }
}

/// What was typed names no delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a delivery is named by 64 hexadecimal digits, as the list of dead letters shows them")]
pub struct NoDelivery;

impl FromStr for DeliveryId {
    type Err = NoDelivery;

    fn from_str(text: &str) -> Result<Self, NoDelivery> {
        unhex(text).map(Self).ok_or(NoDelivery)
    }
}

/// Whom a delivery waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Addressee {
    /// The task of this job, by its id at the provider.
    Job(String),
    /// The task whose callback address it came to.
    Task(TaskId),
}

/// All that one delivery does, written in one step or not at all (S23).
#[derive(Clone, Debug)]
pub struct Intake {
    /// Which one it is.
    pub id: DeliveryId,
    /// SHA-256 of its body: a repeat with another one is a conflict.
    pub body_hash: [u8; 32],
    /// When it was accepted.
    pub at: Timestamp,
    /// Until when it is remembered that it was taken.
    pub keep_until: Timestamp,
    /// It is a dead letter that is tried again: that it was taken before is no obstacle, and the dead letter goes.
    pub redriven: bool,
    /// The changes that it brings about, each of another task.
    pub commits: Vec<Commit>,
    /// What has to wait.
    pub parked: Vec<Parked>,
    /// It could not be used.
    pub dead: Option<DeadLetter>,
}

/// A delivery that came before its job was known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// Whose.
    pub provider: ProviderName,
    /// Whom it waits for.
    pub addressee: Addressee,
    /// Which one it is.
    pub delivery: DeliveryId,
    /// When it came.
    pub at: Timestamp,
    /// How long it waits.
    pub until: Timestamp,
    /// What it said.
    pub kept: Kept,
}

impl Parked {
    /// Its name.
    #[must_use]
    pub fn key(&self) -> ParkedKey {
        ParkedKey { provider: self.provider.clone(), addressee: self.addressee.clone(), delivery: self.delivery }
    }
}

/// Names a parked delivery: one that tells of several jobs may be parked for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParkedKey {
    /// Whose.
    pub provider: ProviderName,
    /// Whom it waits for.
    pub addressee: Addressee,
    /// Which one it is.
    pub delivery: DeliveryId,
}

/// A delivery that was accepted and could not be used, for somebody to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Which one it is.
    pub id: DeliveryId,
    /// Whose.
    pub provider: ProviderName,
    /// The task whose callback address it came to.
    pub task: Option<TaskId>,
    /// When it was laid aside.
    pub at: Timestamp,
    /// Why, in a sentence for people. Long ones are cut short.
    pub reason: String,
    /// What it said.
    pub kept: Kept,
}

/// What [`take`](super::TaskStore::take) gave.
#[derive(Clone, Debug)]
pub enum Taken {
    /// It is recorded now, with all that it does. The changed tasks, in the order of [`Intake::commits`].
    First(Vec<Arc<Task>>),
    /// It was recorded before; nothing happened.
    Repeat {
        /// The one of then had another body.
        conflict: bool,
    },
    /// The job that a part of it would wait for is bound by now, or the task waits for no job; nothing happened, and whoever takes it
    /// has to look again.
    Bound,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_named_as_it_is_shown() {
        let id = DeliveryId::new([0xab; 32]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(format!("{id:?}"), format!("DeliveryId({})", "ab".repeat(32)));
        assert_eq!("ab".parse::<DeliveryId>(), Err(NoDelivery));
    }
}
