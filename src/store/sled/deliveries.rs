//! What is read of deliveries: parked ones, dead letters, what is over.

use super::db::{Db, corrupt};
use super::group::Over;
use super::keys;
use super::view::View;
use crate::domain::{ProviderName, Timestamp};
use crate::store::record::{self, BodyRef, RecordError};
use crate::store::{Addressee, DeadLetter, DeliveryId, Parked, ParkedKey, StoreError};

/// What is parked for an addressee, oldest first.
pub(super) fn parked(view: &View, db: &Db, provider: &ProviderName, addressee: &Addressee) -> Result<Vec<Parked>, StoreError> {
    let mut found = Vec::new();
    each_below(view, db, &keys::parked_for(provider, addressee), usize::MAX, |parked| {
        found.push(parked);
        Ok(())
    })?;
    found.sort_unstable_by_key(|parked| (parked.at, parked.delivery));
    Ok(found)
}

/// The names of all that is parked, `limit` at most.
pub(super) fn all_names(view: &View, db: &Db, limit: usize) -> Result<Vec<ParkedKey>, StoreError> {
    let mut found = Vec::new();
    each_below(view, db, keys::PARKED, limit, |parked| {
        found.push(parked.key());
        Ok(())
    })?;
    Ok(found)
}

/// Goes over the parked deliveries whose keys begin with `prefix`, `limit` at most, one in memory at a time.
pub(super) fn each_below(
    view: &View,
    db: &Db,
    prefix: &[u8],
    limit: usize,
    mut each: impl FnMut(Parked) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut left = limit;
    for row in db.rows(prefix) {
        if left == 0 {
            break;
        }
        let key = row?.0;
        if let Some(parked) = one(view, db, &key, record::decode_parked)? {
            each(parked)?;
            left -= 1;
        }
    }
    Ok(())
}

/// The dead letters, newest first.
pub(super) fn dead_letters(view: &View, db: &Db, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
    let mut found = Vec::new();
    for row in db.rows(keys::DEAD_IN_ORDER).rev() {
        if found.len() == limit {
            break;
        }
        let key = keys::slip_of(&row?.0).ok_or_else(|| corrupt("an order of deliveries names none"))?;
        found.extend(one(view, db, &key, record::decode_dead)?);
    }
    Ok(found)
}

pub(super) fn dead_letter(view: &View, db: &Db, id: DeliveryId) -> Result<Option<DeadLetter>, StoreError> {
    one(view, db, &keys::dead(id), record::decode_dead)
}

/// What is over at `now`, `limit` at most of each kind. What cannot be read is over all the same when its time has come.
pub(super) fn over(view: &View, db: &Db, now: Timestamp, limit: usize) -> Result<Over, StoreError> {
    let mut over = Over::default();
    let is_over = |row: &[u8]| keys::end_in(row).is_none_or(|end| end <= now);
    for row in db.rows(keys::MEMORY).take(limit) {
        let key = row?.0;
        if !is_over(&key) {
            break;
        }
        over.taken.push(key.to_vec());
    }
    for row in db.rows(keys::WAITING).take(limit) {
        let row = row?.0;
        if !is_over(&row) {
            break;
        }
        let Some(key) = keys::slip_of(&row) else { return Err(corrupt("an end of waiting names no delivery")) };
        let name = one(view, db, &key, record::decode_parked).unwrap_or_else(|error| {
            tracing::error!(%error, "a parked delivery that is over cannot be read; it is removed");
            None
        });
        over.parked.push((row.to_vec(), name.map(|parked| parked.key())));
    }
    Ok(over)
}

type Decode<T> = fn(DeliveryId, &[u8], record::FetchBody<'_>) -> Result<T, RecordError>;

/// Reads the row `key`; `None` when it is not there, or gone by the time its body is looked for.
fn one<T>(view: &View, db: &Db, key: &[u8], decode: Decode<T>) -> Result<Option<T>, StoreError> {
    let Some(row) = db.get(key)? else { return Ok(None) };
    let id = keys::delivery_in(key).ok_or_else(|| corrupt("a kept delivery has no name"))?;
    let fetch = |body: &BodyRef| view.bodies.read(body);
    match decode(id, &row, &fetch) {
        Ok(read) => Ok(Some(read)),
        Err(_) if db.get(key)?.is_none_or(|again| again != row) => Ok(None),
        Err(error) => Err(corrupt(&format!("{id:?}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};
    use std::sync::Arc;

    use super::*;
    use crate::domain::ManualClock;
    use crate::store::sled::{SledOptions, SledStore};
    use crate::store::{Intake, TaskStore as _};

    /// J5: a repeat is told that its delivery was taken when that is on disk, and not a moment before.
    #[tokio::test]
    async fn a_delivery_on_its_way_to_the_disk_was_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let options = SledOptions { reserve_bytes: 0, ..SledOptions::new(dir.path()) };
        let store = SledStore::open(options, Arc::new(ManualClock::new(Timestamp::from_millis(0)))).unwrap().store;
        let id = DeliveryId::new([7; 32]);
        let at = Timestamp::from_millis(5);
        let (commits, parked, dead) = (Vec::new(), Vec::new(), None);
        let intake = Intake { id, body_hash: [1; 32], at, keep_until: at, redriven: false, commits, parked, dead };
        store.take(intake).await.unwrap();
        assert!(store.was_taken(&id).await.unwrap());
        store.view.hide(HashMap::new(), HashSet::from([id]));
        assert!(!store.was_taken(&id).await.unwrap());
        store.view.unhide();
        assert!(store.was_taken(&id).await.unwrap());
    }
}
