//! The deliveries of a store in memory.

use std::collections::{BTreeMap, HashMap};

use crate::domain::{ProviderName, Timestamp};
use crate::store::{Addressee, DeadLetter, DeliveryId, Intake, MOST_DEAD, MOST_PARKED, Parked, ParkedKey};

/// What was taken, what waits, what was laid aside.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    taken: HashMap<DeliveryId, Record>,
    parked: BTreeMap<ParkedKey, Parked>,
    dead: HashMap<DeliveryId, DeadLetter>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    keep_until: Timestamp,
    body_hash: [u8; 32],
}

impl Deliveries {
    /// The body's hash of a delivery that was taken.
    pub(super) fn taken(&self, id: &DeliveryId) -> Option<[u8; 32]> {
        self.taken.get(id).map(|record| record.body_hash)
    }

    /// Records a delivery, with what has to wait or is laid aside.
    pub(super) fn record(&mut self, intake: Intake) {
        let before = self.taken.get(&intake.id).map_or(intake.keep_until, |record| record.keep_until);
        let record = Record { keep_until: intake.keep_until.max(before), body_hash: intake.body_hash };
        self.taken.insert(intake.id, record);
        if intake.redriven {
            self.dead.remove(&intake.id);
        }
        for parked in intake.parked {
            let provider = parked.provider.clone();
            self.parked.insert(parked.key(), parked);
            self.keep_within(&provider);
        }
        if let Some(letter) = intake.dead {
            self.dead.insert(letter.id, letter);
            if self.dead.len() > MOST_DEAD
                && let Some(oldest) = self.dead.values().map(|letter| (letter.at, letter.id)).min()
            {
                self.dead.remove(&oldest.1);
            }
        }
    }

    fn keep_within(&mut self, provider: &ProviderName) {
        let of_provider = || self.parked.iter().filter(|(key, _)| key.provider == *provider);
        if of_provider().count() > MOST_PARKED
            && let Some((key, _)) = of_provider().min_by_key(|(key, parked)| (parked.at, *key))
        {
            let oldest = key.clone();
            self.parked.remove(&oldest);
        }
    }

    pub(super) fn unpark(&mut self, keys: &[ParkedKey]) {
        for key in keys {
            self.parked.remove(key);
        }
    }

    pub(super) fn parked(&self, provider: &ProviderName, addressee: &Addressee) -> Vec<Parked> {
        let theirs = |parked: &&Parked| parked.provider == *provider && parked.addressee == *addressee;
        let mut found: Vec<_> = self.parked.values().filter(theirs).cloned().collect();
        found.sort_unstable_by_key(|parked| (parked.at, parked.delivery));
        found
    }

    pub(super) fn all_parked(&self, limit: usize) -> Vec<ParkedKey> {
        self.parked.keys().take(limit).cloned().collect()
    }

    pub(super) fn dead_letters(&self, limit: usize) -> Vec<DeadLetter> {
        let mut letters: Vec<_> = self.dead.values().cloned().collect();
        letters.sort_unstable_by_key(|letter| std::cmp::Reverse((letter.at, letter.id)));
        letters.truncate(limit);
        letters
    }

    pub(super) fn dead_letter(&self, id: &DeliveryId) -> Option<&DeadLetter> {
        self.dead.get(id)
    }

    pub(super) fn drop_dead(&mut self, ids: &[DeliveryId]) -> usize {
        ids.iter().filter(|id| self.dead.remove(id).is_some()).count()
    }

    pub(super) fn forget(&mut self, now: Timestamp, limit: usize) -> Vec<ParkedKey> {
        let over = self.taken.iter().filter(|(_, record)| record.keep_until <= now).take(limit);
        for id in over.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.taken.remove(&id);
        }
        let over = self.parked.iter().filter(|(_, parked)| parked.until <= now).take(limit);
        let keys: Vec<_> = over.map(|(key, _)| key.clone()).collect();
        self.unpark(&keys);
        keys
    }
}
