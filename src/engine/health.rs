//! Whether a provider's deliveries can be relied upon: judged by what looks at its jobs show, and forgotten with the process.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use super::core::lock;
use crate::domain::{TaskId, Timestamp};

/// What is known of a provider's deliveries since the start.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    healthy: bool,
    last: Option<Timestamp>,
    missed_at: Option<Timestamp>,
    forgotten: u64,
    /// The tasks of which deliveries have told since the last look at each.
    told: HashSet<TaskId>,
}

/// How a provider's webhook does (requirement A7). For people: after a start nothing is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookHealth {
    /// Deliveries come, and looks at jobs have shown nothing that they kept silent about: jobs are looked at rarely.
    pub healthy: bool,
    /// The last delivery that concerned a task.
    pub last_delivery: Option<Timestamp>,
    /// Deliveries for jobs that did not become known in time, so far.
    pub forgotten: u64,
}

impl Health {
    pub(super) fn is_healthy(&self) -> bool {
        lock(&self.0).healthy
    }

    pub(super) fn shown(&self) -> WebhookHealth {
        let State { healthy, last, forgotten, .. } = *lock(&self.0);
        WebhookHealth { healthy, last_delivery: last, forgotten }
    }

    /// A delivery told of a task. Says whether deliveries are relied upon from now on: at the first one, but not right after a look has
    /// shown what they kept silent about, so that a provider which delivers part of the news does not make us change our mind all the time.
    pub(super) fn told(&self, id: TaskId, now: Timestamp, rest: Duration) -> bool {
        let mut state = lock(&self.0);
        state.last = Some(now);
        state.told.insert(id);
        let proven = !state.healthy && state.missed_at.is_none_or(|at| now.since(at) >= rest);
        state.healthy |= proven;
        proven
    }

    /// A look at a job begins. Says whether deliveries have told of it since the last one.
    pub(super) fn look(&self, id: TaskId) -> bool {
        lock(&self.0).told.remove(&id)
    }

    /// A look has shown something new. Says whether deliveries are not relied upon any more: none has told of it, neither before the look
    /// (`told`) nor while it went on.
    pub(super) fn saw_news(&self, id: TaskId, told: bool, now: Timestamp) -> bool {
        let mut state = lock(&self.0);
        let missed = state.healthy && !told && !state.told.contains(&id);
        if missed {
            state.healthy = false;
            state.missed_at = Some(now);
        }
        missed
    }

    /// Nothing more is expected of a task.
    pub(super) fn ended(&self, id: TaskId) {
        lock(&self.0).told.remove(&id);
    }

    /// So many deliveries were given up waiting for their jobs.
    pub(super) fn forgot(&self, count: u64) {
        let mut state = lock(&self.0);
        state.forgotten = state.forgotten.saturating_add(count);
    }
}
