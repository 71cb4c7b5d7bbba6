//! What readers see: the durable state, through a cache that the committer keeps coherent.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use quick_cache::Weighter;
use quick_cache::sync::{Cache, GuardResult};
use sled::IVec;

use super::body::Bodies;
use super::db::{Db, corrupt};
use super::group::Counts;
use super::keys::{self, OwnerKey};
use super::meta::Meta;
use crate::domain::{Task, TaskId, Timestamp};
use crate::store::agenda::Agenda;
use crate::store::record::{self, BodyRef, Role};
use crate::store::{AuditEntry, DeliveryId, StoreError};

/// What readers and the committer share.
pub(super) struct View {
    /// The error says why there is none: closed, or lost after a write that failed.
    db: RwLock<Result<Db, StoreError>>,
    pub(super) bodies: Bodies,
    cache: Cache<TaskId, Cached, Weight>,
    /// Records as they were before the group that is being made durable: until it is, nobody sees it.
    before: Mutex<HashMap<TaskId, Option<IVec>>>,
    /// Deliveries that are being made durable.
    taken: Mutex<HashSet<DeliveryId>>,
    pub(super) agenda: Mutex<Agenda>,
    pub(super) live: Mutex<HashMap<OwnerKey, usize>>,
    pub(super) meta: Mutex<Meta>,
}

/// A task, and about how many bytes it takes.
#[derive(Clone, Debug)]
pub(super) struct Cached {
    pub(super) task: Arc<Task>,
    pub(super) weight: u64,
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<TaskId, Cached> for Weight {
    fn weight(&self, _: &TaskId, cached: &Cached) -> u64 {
        cached.weight
    }
}

/// About how many bytes a task takes in memory, told from its stored form: the struct itself, and JSON trees that are a few times
/// their text.
pub(super) const fn weight(record: usize, bodies: u64) -> u64 {
    900 + 3 * record as u64 + 3 * bodies
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl View {
    pub(super) fn new(db: Db, bodies: Bodies, cache_bytes: u64, start: Start) -> Self {
        let items = usize::try_from(cache_bytes / 2500).unwrap_or(usize::MAX);
        Self {
            db: RwLock::new(Ok(db)),
            bodies,
            cache: Cache::with_weighter(items, cache_bytes, Weight),
            before: Mutex::default(),
            taken: Mutex::default(),
            agenda: Mutex::new(start.agenda),
            live: Mutex::new(start.live),
            meta: Mutex::new(start.meta),
        }
    }

    /// Works with the database. It is not closed while `work` runs.
    pub(super) fn with_db<T>(&self, work: impl FnOnce(&Db) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let db = self.db.read().unwrap_or_else(PoisonError::into_inner);
        work(db.as_ref().map_err(Clone::clone)?)
    }

    /// Waits for all readers, then takes the database away; readers get `why` from now on.
    pub(super) fn take_db(&self, why: StoreError) -> Option<Db> {
        std::mem::replace(&mut *self.db.write().unwrap_or_else(PoisonError::into_inner), Err(why)).ok()
    }

    /// Gives readers a database again.
    pub(super) fn put_db(&self, db: Db) {
        *self.db.write().unwrap_or_else(PoisonError::into_inner) = Ok(db);
    }

    /// Forgets what is at hand.
    pub(super) fn clear(&self) {
        self.cache.clear();
    }

    /// A task that is at hand.
    pub(super) fn cached(&self, id: &TaskId) -> Option<Arc<Task>> {
        self.cache.get(id).map(|cached| cached.task)
    }

    /// Reads a task; may wait for the disk.
    pub(super) fn load(&self, db: &Db, id: TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        let guard = match self.cache.get_value_or_guard(&id, None) {
            GuardResult::Value(cached) => return Ok(Some(cached.task)),
            GuardResult::Guard(guard) => Some(guard),
            GuardResult::Timeout => None,
        };
        let Some((cached, durable)) = self.read(db, id)? else { return Ok(None) };
        if let Some(guard) = guard.filter(|_| durable) {
            // The committer has put a newer one there if this fails.
            guard.insert(cached.clone()).ok();
        }
        Ok(Some(cached.task))
    }

    /// Reads a task, and whether that is what the database holds.
    fn read(&self, db: &Db, id: TaskId) -> Result<Option<(Cached, bool)>, StoreError> {
        let Some((record, durable)) = self.record(db, id)? else { return Ok(None) };
        let decoded = match self.decode(id, &record) {
            Ok(decoded) => decoded,
            Err(error) => {
                // The task may have gone, and its bodies with it, since its record was read.
                return match self.record(db, id)? {
                    Some((again, _)) if again == record => Err(error),
                    Some((again, durable)) => Ok(Some((self.decode(id, &again)?, durable))),
                    None => Ok(None),
                };
            }
        };
        Ok(Some((decoded, durable)))
    }

    /// A record as it is on disk, and whether the database holds the same.
    pub(super) fn record(&self, db: &Db, id: TaskId) -> Result<Option<(IVec, bool)>, StoreError> {
        let held = db.get(&keys::record(id))?;
        // Looked at after the database: a group is noted here before it is written there.
        match lock(&self.before).get(&id) {
            Some(before) => Ok(before.clone().map(|record| (record, false))),
            None => Ok(held.map(|record| (record, true))),
        }
    }

    fn decode(&self, id: TaskId, record: &[u8]) -> Result<Cached, StoreError> {
        let mut bytes = 0;
        let mut fetch = |body: &BodyRef, _: Role| {
            bytes += body.len;
            self.bodies.read(body).map(Some)
        };
        let decoded = record::decode(id, record, &mut fetch).map_err(|error| corrupt(&format!("task {id:?}: {error}")))?;
        Ok(Cached { task: Arc::new(decoded.task), weight: weight(record.len(), bytes) })
    }

    /// A task's audit trail, oldest first, as far as it is on disk.
    pub(super) fn audit(&self, db: &Db, id: TaskId) -> Result<Vec<AuditEntry>, StoreError> {
        let Some((record, durable)) = self.record(db, id)? else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for row in db.rows(&keys::trail(id)) {
            let entry = record::decode_audit(&row?.1).map_err(|error| corrupt(&format!("history of task {id:?}: {error}")))?;
            entries.push(entry);
        }
        if !durable {
            let last = self.skeleton(id, &record)?.task.revision;
            entries.retain(|entry| entry.revision <= last);
        }
        Ok(entries)
    }

    /// A task without the parts that are bodies, and the names of these.
    pub(super) fn skeleton(&self, id: TaskId, record: &[u8]) -> Result<record::Decoded, StoreError> {
        let mut fetch = |body: &BodyRef, role: Role| match role {
            Role::Whole => self.bodies.read(body).map(Some),
            Role::Part => Ok(None),
        };
        record::decode(id, record, &mut fetch).map_err(|error| corrupt(&format!("task {id:?}: {error}")))
    }

    /// Hides a group that is about to be written.
    pub(super) fn hide(&self, before: HashMap<TaskId, Option<IVec>>, taken: HashSet<DeliveryId>) {
        *lock(&self.before) = before;
        *lock(&self.taken) = taken;
    }

    /// Shows what was before again: the hidden group was not written.
    pub(super) fn unhide(&self) {
        lock(&self.before).clear();
        lock(&self.taken).clear();
    }

    /// Whether a delivery was taken, as far as that is on disk.
    pub(super) fn was_taken(&self, db: &Db, id: DeliveryId) -> Result<bool, StoreError> {
        let held = db.get(&keys::taken(id))?.is_some();
        // Looked at after the database: a group is noted here before it is written there.
        Ok(held && !lock(&self.taken).contains(&id))
    }

    /// Shows the group, which is on disk now.
    pub(super) fn show(&self, changes: &[Change], meta: Meta) {
        // Held over all of it: whoever claims sees a task and its claim change together.
        let mut agenda = lock(&self.agenda);
        for change in changes {
            match &change.after {
                Some(after) => self.cache.insert(change.id, after.clone()),
                None => drop(self.cache.remove(&change.id)),
            }
        }
        self.unhide();
        let mut live = lock(&self.live);
        for change in changes {
            let after = change.after.as_ref().map(|after| after.task.as_ref());
            for (task, there) in [(change.before.as_ref(), false), (after, true)] {
                let Some(task) = task else { continue };
                match (task.due_at, there) {
                    (Some(due), true) => agenda.add(&task.provider, due, task.id, change.claimed_until),
                    (Some(_), false) => agenda.remove(&task.provider, task.id),
                    (None, _) => {}
                }
                if !task.is_ended() {
                    count(&mut live, keys::owner_key(&task.owner), there);
                }
            }
        }
        *lock(&self.meta) = meta;
    }
}

fn count(live: &mut HashMap<OwnerKey, usize>, owner: OwnerKey, more: bool) {
    let count = live.entry(owner).or_default();
    *count = if more { *count + 1 } else { count.saturating_sub(1) };
    if *count == 0 {
        live.remove(&owner);
    }
}

/// What one change did to one task.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) id: TaskId,
    /// The task before, perhaps without its large parts.
    pub(super) before: Option<Task>,
    pub(super) after: Option<Cached>,
    /// The claim that a new task starts out with.
    pub(super) claimed_until: Option<Timestamp>,
}

/// What is read when the store opens.
#[derive(Debug, Default)]
pub(super) struct Start {
    pub(super) agenda: Agenda,
    pub(super) live: HashMap<OwnerKey, usize>,
    pub(super) meta: Meta,
    pub(super) counts: Counts,
}
