//! What is due, and what is claimed: the in-memory part of a store that one process holds alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::{ProviderName, TaskId, Timestamp};

/// The tasks with something left to do, by provider.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    providers: BTreeMap<ProviderName, Queue>,
}

/// One provider's tasks. A task is in `free` or in `claimed`, never in both, so a long run of claimed tasks is never walked over.
#[derive(Debug, Default)]
struct Queue {
    /// Claimable from the moment that comes first.
    free: BTreeSet<(Timestamp, TaskId)>,
    /// By the end of the claim.
    claimed: BTreeSet<(Timestamp, TaskId)>,
    /// The end of each claim, and the moment the task was due.
    claims: HashMap<TaskId, Claim>,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    until: Timestamp,
    due: Timestamp,
}

impl Agenda {
    /// Notes that a task is due at `due`.
    pub(super) fn add(&mut self, provider: &ProviderName, due: Timestamp, id: TaskId) {
        if let Some(queue) = self.providers.get_mut(provider) {
            queue.free.insert((due, id));
        } else {
            self.providers.entry(provider.clone()).or_default().free.insert((due, id));
        }
    }

    /// Forgets a task that was due at `due`, and the claim on it.
    pub(super) fn remove(&mut self, provider: &ProviderName, due: Timestamp, id: TaskId) {
        let Some(queue) = self.providers.get_mut(provider) else { return };
        match queue.claims.remove(&id) {
            Some(claim) => queue.claimed.remove(&(claim.until, id)),
            None => queue.free.remove(&(due, id)),
        };
        if queue.free.is_empty() && queue.claims.is_empty() {
            self.providers.remove(provider);
        }
    }

    /// Claims up to `limit` due tasks until `until`, the longest due first.
    pub(super) fn claim(&mut self, provider: &ProviderName, now: Timestamp, until: Timestamp, limit: usize) -> Vec<TaskId> {
        let Some(queue) = self.providers.get_mut(provider) else { return Vec::new() };
        queue.end_claims(now);
        let mut taken = Vec::new();
        while taken.len() < limit
            && let Some((due, id)) = queue.free.first().copied().filter(|(due, _)| *due <= now)
        {
            queue.free.remove(&(due, id));
            queue.claimed.insert((until, id));
            queue.claims.insert(id, Claim { until, due });
            taken.push(id);
        }
        taken
    }

    /// Ends claims without a change.
    pub(super) fn release(&mut self, ids: &[TaskId]) {
        for queue in self.providers.values_mut() {
            for id in ids {
                queue.release(*id);
            }
        }
    }

    /// The earliest moment at which `claim` could give something.
    pub(super) fn next(&self, provider: &ProviderName) -> Option<Timestamp> {
        let queue = self.providers.get(provider)?;
        let moments = [queue.free.first(), queue.claimed.first()];
        moments.into_iter().flatten().map(|(at, _)| *at).min()
    }

    /// The providers that have anything here.
    pub(super) fn providers(&self) -> Vec<ProviderName> {
        self.providers.keys().cloned().collect()
    }
}

impl Queue {
    fn end_claims(&mut self, now: Timestamp) {
        while let Some((_, id)) = self.claimed.first().copied().filter(|(until, _)| *until <= now) {
            self.release(id);
        }
    }

    fn release(&mut self, id: TaskId) {
        if let Some(claim) = self.claims.remove(&id) {
            self.claimed.remove(&(claim.until, id));
            self.free.insert((claim.due, id));
        }
    }
}
