//! What was refused, counted by kind, and a line in the log for patterns that an operator should see (requirement L5).

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use crate::domain::{Clock, Timestamp};

/// How often one kind of pattern is told at most.
const TOLD: Duration = Duration::from_secs(60);

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    /// Requests of any kind.
    Calls,
    /// Calls of tools that start jobs.
    Creations,
    /// Lists of tools and of tasks.
    Lists,
    /// Requests for a task's result.
    Results,
    /// Looks at one task.
    Polls,
    /// Look-ups of tasks that are not there.
    UnknownIds,
    /// Streams open at once.
    Streams,
    /// Requests that wait for a task's end at once.
    Waiters,
    /// Requests without a valid token.
    BadTokens,
}

impl LimitKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Calls,
        Self::Creations,
        Self::Lists,
        Self::Results,
        Self::Polls,
        Self::UnknownIds,
        Self::Streams,
        Self::Waiters,
        Self::BadTokens,
    ];

    /// The word for it in logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Creations => "creations",
            Self::Lists => "lists",
            Self::Results => "results",
            Self::Polls => "polls",
            Self::UnknownIds => "unknown_ids",
            Self::Streams => "streams",
            Self::Waiters => "waiters",
            Self::BadTokens => "bad_tokens",
        }
    }

    /// What there is too much of, for whoever is refused.
    pub(super) const fn too_much(self) -> &'static str {
        match self {
            Self::Calls => "too many requests",
            Self::Creations => "too many calls of tools",
            Self::Lists => "too many lists",
            Self::Results => "too many requests for results",
            Self::Polls => "this task is looked at far more often than its pollIntervalMs asks for",
            Self::UnknownIds => "too many look-ups of unknown tasks",
            Self::Streams => "too many open streams",
            Self::Waiters => "too many requests that wait for a task",
            Self::BadTokens => "too many requests without a valid token",
        }
    }

    /// Whether reaching the limit is a sign of something that an operator should look at, and not of much work alone.
    const fn is_suspicious(self) -> bool {
        matches!(self, Self::Polls | Self::UnknownIds | Self::BadTokens)
    }
}

#[derive(Debug, Default)]
struct Counter {
    seen: AtomicU64,
    refused: AtomicU64,
    /// Refusals when the pattern was told last.
    told: AtomicU64,
    /// Milliseconds since the epoch; not before then is it told again.
    tell_at: AtomicI64,
}

/// Counts since the start of the process.
#[derive(Debug, Default)]
pub struct Counters([Counter; LimitKind::ALL.len()]);

impl Counters {
    /// How often something of this kind was asked for: refused or not.
    #[must_use]
    pub fn seen(&self, kind: LimitKind) -> u64 {
        self.of(kind).seen.load(Ordering::Relaxed)
    }

    /// How often it was refused, or slowed down.
    #[must_use]
    pub fn refused(&self, kind: LimitKind) -> u64 {
        self.of(kind).refused.load(Ordering::Relaxed)
    }

    pub(super) fn see(&self, kind: LimitKind) {
        self.of(kind).seen.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a refusal, and tells of it where that is due.
    pub(super) fn refuse(&self, kind: LimitKind, whose: &impl fmt::Display, clock: &dyn Clock) {
        let counter = self.of(kind);
        let refused = counter.refused.fetch_add(1, Ordering::Relaxed) + 1;
        if !kind.is_suspicious() {
            tracing::debug!(limit = kind.as_str(), %whose, "a limit was reached");
            return;
        }
        let (now, due) = (clock.now(), counter.tell_at.load(Ordering::Relaxed));
        let next = now.plus(TOLD).as_millis();
        // Of several that come at once, one tells.
        let tells = now >= Timestamp::from_millis(due)
            && counter.tell_at.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if tells {
            let since = refused.saturating_sub(counter.told.swap(refused, Ordering::Relaxed));
            tracing::warn!(pattern = kind.as_str(), %whose, refused = since, "suspicious: {}", kind.too_much());
        }
    }

    fn of(&self, kind: LimitKind) -> &Counter {
        &self.0[kind as usize]
    }
}
