//! How many of something a principal has at once: taken while the slot lives, free again when it is dropped.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Taken = Arc<Mutex<HashMap<String, usize>>>;

/// Slots by name, so many for each. Only names with a slot taken are remembered.
#[derive(Debug)]
pub(super) struct Slots {
    most: Option<usize>,
    taken: Taken,
    /// Everybody's, also where there is no limit.
    all: Arc<AtomicU64>,
}

/// A slot that is taken, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    of: Option<(Taken, String)>,
    all: Arc<AtomicU64>,
}

impl Slots {
    pub(super) fn new(most: Option<usize>) -> Self {
        Self { most, taken: Taken::default(), all: Arc::default() }
    }

    /// A slot, if there is one left.
    pub(super) fn take(&self, name: &str) -> Option<Slot> {
        let Some(most) = self.most else { return Some(self.slot(None)) };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(name) {
            Some(count) if *count >= most => return None,
            Some(count) => *count += 1,
            None if most == 0 => return None,
            None => {
                taken.insert(name.to_owned(), 1);
            }
        }
        Some(self.slot(Some((self.taken.clone(), name.to_owned()))))
    }

    /// How many are taken now, by all together.
    pub(super) fn in_all(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }

    fn slot(&self, of: Option<(Taken, String)>) -> Slot {
        self.all.fetch_add(1, Ordering::Relaxed);
        Slot { of, all: self.all.clone() }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
        let Some((taken, name)) = self.of.take() else { return };
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&name) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_when_it_is_dropped_and_leaves_nothing_behind() {
        let slots = Slots::new(Some(2));
        let held = [slots.take("ann").unwrap(), slots.take("ann").unwrap()];
        assert!(slots.take("ann").is_none());
        assert_eq!(slots.in_all(), 2);
        assert!(slots.take("bob").is_some());
        drop(held);
        assert!(slots.taken.lock().unwrap().is_empty());
        assert!(slots.take("ann").is_some());
        let unlimited = Slots::new(None);
        let slot = unlimited.take("ann").unwrap();
        assert_eq!((slots.in_all(), unlimited.in_all()), (0, 1));
        drop(slot);
        assert_eq!(unlimited.in_all(), 0);
    }
}
