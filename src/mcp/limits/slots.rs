//! How many of something a principal has at once: taken while the slot lives, free again when it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

type Taken = Arc<Mutex<HashMap<String, usize>>>;

/// Slots by name, so many for each. Only names with a slot taken are remembered.
#[derive(Debug)]
pub(super) struct Slots {
    most: Option<usize>,
    taken: Taken,
}

/// A slot that is taken, until it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    of: Option<(Taken, String)>,
}

impl Slots {
    pub(super) fn new(most: Option<usize>) -> Self {
        Self { most, taken: Taken::default() }
    }

    /// A slot, if there is one left.
    pub(super) fn take(&self, name: &str) -> Option<Slot> {
        let Some(most) = self.most else { return Some(Slot { of: None }) };
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(name) {
            Some(count) if *count >= most => return None,
            Some(count) => *count += 1,
            None if most == 0 => return None,
            None => {
                taken.insert(name.to_owned(), 1);
            }
        }
        Some(Slot { of: Some((self.taken.clone(), name.to_owned())) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
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
        assert!(slots.take("bob").is_some());
        drop(held);
        assert!(slots.taken.lock().unwrap().is_empty());
        assert!(slots.take("ann").is_some());
        assert!(Slots::new(None).take("ann").is_some());
    }
}
