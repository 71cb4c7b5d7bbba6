//! What is due, and what is claimed: the in-memory part of a store that one process holds alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::{ProviderName, TaskId, Timestamp};

/// The tasks with something left to do, by provider.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    providers: BTreeMap<ProviderName, Queue>,
}

/// One provider's tasks, ordered by the moment at which each can be claimed, so that tasks claimed or put off for later are never
/// walked over.
#[derive(Debug, Default)]
struct Queue {
    order: BTreeSet<(Timestamp, TaskId)>,
    places: HashMap<TaskId, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// Where the task stands in the order: when it is due, or when the claim on it ends.
    at: Timestamp,
    /// When it is due by its record.
    due: Timestamp,
    /// Whether someone claimed it since its last commit or release; a snooze is a claim that nobody works under.
    claimed: bool,
}

impl Agenda {
    /// Notes that a task is due at `due`, and claimed until `claimed_until` where that is given.
    pub(super) fn add(&mut self, provider: &ProviderName, due: Timestamp, id: TaskId, claimed_until: Option<Timestamp>) {
        let place = Place { at: claimed_until.unwrap_or(due), due, claimed: claimed_until.is_some() };
        if let Some(queue) = self.providers.get_mut(provider) {
            queue.put(id, place);
        } else {
            self.providers.entry(provider.clone()).or_default().put(id, place);
        }
    }

    /// Forgets a task, and the claim on it.
    pub(super) fn remove(&mut self, provider: &ProviderName, id: TaskId) {
        let Some(queue) = self.providers.get_mut(provider) else { return };
        if let Some(place) = queue.places.remove(&id) {
            queue.order.remove(&(place.at, id));
        }
        if queue.places.is_empty() {
            self.providers.remove(provider);
        }
    }

    /// Claims up to `limit` due tasks until `until`; those that could be claimed for the longest time come first.
    pub(super) fn claim(&mut self, provider: &ProviderName, now: Timestamp, until: Timestamp, limit: usize) -> Vec<TaskId> {
        let Some(queue) = self.providers.get_mut(provider) else { return Vec::new() };
        let due = queue.order.iter().take_while(|(at, _)| *at <= now).take(limit);
        let taken: Vec<TaskId> = due.map(|(_, id)| *id).collect();
        for id in &taken {
            queue.move_to(*id, |place| Place { at: until, claimed: true, ..place });
        }
        taken
    }

    /// Ends claims without a change.
    pub(super) fn release(&mut self, ids: &[TaskId]) {
        for queue in self.providers.values_mut() {
            for id in ids {
                queue.move_to(*id, |place| Place { at: place.due, claimed: false, ..place });
            }
        }
    }

    /// Makes a claimed task claimable again at `until`, not before. Where a commit has ended the claim, what it decided stands.
    pub(super) fn snooze(&mut self, id: TaskId, until: Timestamp) {
        for queue in self.providers.values_mut() {
            queue.move_to(id, |place| if place.claimed { Place { at: until, ..place } } else { place });
        }
    }

    /// Whether a task can be claimed at `at` and not before.
    pub(super) fn stands_at(&self, provider: &ProviderName, id: TaskId, at: Timestamp) -> bool {
        self.providers.get(provider).and_then(|queue| queue.places.get(&id)).is_some_and(|place| place.at == at)
    }

    /// The earliest moment at which `claim` could give something.
    pub(super) fn next(&self, provider: &ProviderName) -> Option<Timestamp> {
        self.providers.get(provider)?.order.first().map(|(at, _)| *at)
    }

    /// The providers that have anything here.
    pub(super) fn providers(&self) -> Vec<ProviderName> {
        self.providers.keys().cloned().collect()
    }
}

impl Queue {
    fn put(&mut self, id: TaskId, place: Place) {
        if let Some(before) = self.places.insert(id, place) {
            self.order.remove(&(before.at, id));
        }
        self.order.insert((place.at, id));
    }

    fn move_to(&mut self, id: TaskId, to: impl FnOnce(Place) -> Place) {
        if let Some(place) = self.places.get(&id).copied() {
            self.put(id, to(place));
        }
    }
}
