//! One group of changes on its way to the disk: who wins is decided here, and nowhere else.

mod deliveries;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use sled::IVec;

use self::deliveries::Leaving;
pub(super) use self::deliveries::{Counts, Over, PreparedIntake};
use super::body::Pin;
use super::db::{Db, corrupt};
use super::keys::{self, Row};
use super::meta::Meta;
use super::view::{Cached, Change, View};
use crate::domain::{Revision, Task, TaskId, Timestamp};
use crate::store::record::{self, BodyRef, Encoded};
use crate::store::{AuditEntry, Commit, Created, DeliveryId, StoreError};

/// A task ready to be written: its bodies are on the disk.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) cached: Cached,
    pub(super) record: Vec<u8>,
    pub(super) bodies: Vec<BodyRef>,
    /// Keeps the bodies until the group is written.
    pub(super) pins: Vec<Pin>,
}

impl Prepared {
    /// The stored form of `task`, its bodies not yet written.
    pub(super) fn of(task: Task) -> (Self, Vec<(BodyRef, Vec<u8>)>) {
        let Encoded { record, bodies } = record::encode(&task);
        let refs: Vec<_> = bodies.iter().map(|(body, _)| *body).collect();
        let weight = super::view::weight(record.len(), refs.iter().map(|body| body.len).sum());
        (Self { cached: Cached { task: Arc::new(task), weight }, record, bodies: refs, pins: Vec::new() }, bodies)
    }
}

/// A change of a task ready to be written.
#[derive(Debug)]
pub(super) struct PreparedCommit {
    expected: Revision,
    pub(super) next: Prepared,
    audit: Vec<AuditEntry>,
    /// Keys of parked deliveries.
    unpark: Vec<Vec<u8>>,
}

impl PreparedCommit {
    /// The stored form of `commit`, its bodies not yet written.
    pub(super) fn of(commit: Commit) -> (Self, Vec<(BodyRef, Vec<u8>)>) {
        let Commit { expected, next, entries, unpark } = commit;
        let (next, bodies) = Prepared::of(next);
        (Self { expected, next, audit: entries, unpark: unpark.iter().map(keys::parked).collect() }, bodies)
    }
}

/// What is to be written together.
pub(super) struct Group<'a> {
    view: &'a View,
    db: &'a Db,
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    meta: Meta,
    /// How many deliveries are kept on disk.
    held: &'a Counts,
    /// How many more this group keeps.
    counts: Counts,
    changes: Vec<Change>,
    /// The records of the changed tasks as they were before the group.
    before: HashMap<TaskId, Option<IVec>>,
    /// Deliveries that this group takes.
    taken: HashSet<DeliveryId>,
    /// Bodies that something has stopped needing, or that were written for nothing.
    dropped: Vec<BodyRef>,
    pins: Vec<Pin>,
}

/// A group, decided.
pub(super) struct Decided {
    /// `None` when nothing changed.
    pub(super) batch: Option<sled::Batch>,
    pub(super) meta: Meta,
    pub(super) counts: Counts,
    pub(super) changes: Vec<Change>,
    pub(super) before: HashMap<TaskId, Option<IVec>>,
    pub(super) taken: HashSet<DeliveryId>,
    pub(super) dropped: Vec<BodyRef>,
    /// Held until the group is written or given up.
    pub(super) pins: Vec<Pin>,
}

/// A task as this group sees it.
struct Current {
    /// Without the parts that are bodies.
    task: Task,
    bodies: Vec<BodyRef>,
    record_len: usize,
}

impl<'a> Group<'a> {
    pub(super) fn new(view: &'a View, db: &'a Db, meta: Meta, held: &'a Counts) -> Self {
        Self {
            view,
            db,
            rows: BTreeMap::new(),
            meta,
            held,
            counts: Counts::default(),
            changes: Vec::new(),
            before: HashMap::new(),
            taken: HashSet::new(),
            dropped: Vec::new(),
            pins: Vec::new(),
        }
    }

    /// S1, S2, S20, S22: a new task, or the one that has the same key or whose job is shared.
    pub(super) fn create(
        &mut self,
        new: Prepared,
        claimed_until: Option<Timestamp>,
        audit: &[AuditEntry],
    ) -> Result<Created, StoreError> {
        let task = &new.cached.task;
        if let Some(key) = &task.caller_key
            && let Some(there) = self.named(&keys::caller_key(&task.owner, &task.tool, key), "caller key")?
        {
            return Ok(Created::Existing(there));
        }
        if let Some(client_id) = &task.names.client_id
            && self.read(&keys::client_id(&task.owner, client_id))?.is_some()
        {
            return Err(StoreError::NameTaken);
        }
        if let Some(hash) = &task.names.join
            && let Some(there) = self.named(&keys::join(&task.owner, &task.tool, hash), "hash to join by")?
        {
            return Ok(Created::Existing(there));
        }
        if self.current(task.id)?.is_some() {
            return Err(StoreError::Stale(task.id));
        }
        let task = task.clone();
        self.put(None, new, claimed_until, audit);
        Ok(Created::New(task))
    }

    /// S4, S5, S25: the next revision, if the task is still at the expected one.
    pub(super) fn commit(&mut self, commit: PreparedCommit) -> Result<Arc<Task>, StoreError> {
        let (current, leaving) = match self.changeable(&commit) {
            Ok(found) => found,
            Err(error) => {
                self.dropped.extend(commit.next.bodies);
                return Err(error);
            }
        };
        let task = commit.next.cached.task.clone();
        self.put(Some(current), commit.next, None, &commit.audit);
        self.take_away(leaving);
        Ok(task)
    }

    /// The task that `commit` changes as it is now, and what it unparks.
    fn changeable(&mut self, commit: &PreparedCommit) -> Result<(Current, Leaving), StoreError> {
        let current = self.expected(commit)?;
        let mut leaving = Leaving::new();
        for key in &commit.unpark {
            self.leave(key, &mut leaving)?;
        }
        Ok((current, leaving))
    }

    /// The task that `commit` changes as it is now, if it is still at the expected revision.
    fn expected(&mut self, commit: &PreparedCommit) -> Result<Current, StoreError> {
        let id = commit.next.cached.task.id;
        let current = self.current(id)?.filter(|current| current.task.revision == commit.expected);
        current.ok_or(StoreError::Stale(id))
    }

    /// S12: removes a task that is still at `revision`; gives whether it was.
    pub(super) fn purge(&mut self, id: TaskId, revision: Revision) -> Result<bool, StoreError> {
        let Some(current) = self.current(id)?.filter(|current| current.task.revision == revision) else { return Ok(false) };
        let prefix = keys::trail(id);
        let mut trail: Vec<(Vec<u8>, usize)> = Vec::new();
        for row in self.db.rows(&prefix) {
            let (key, value) = row?;
            trail.push((key.to_vec(), value.len()));
        }
        // What this very group has added is not there yet.
        let added = self.rows.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
        trail.extend(added.filter_map(|(key, value)| Some((key.clone(), value.as_ref()?.len()))));
        for (key, len) in trail {
            self.remove(key, len);
        }
        for (key, value) in keys::index_rows(&current.task, &current.bodies) {
            self.remove(key, value.len());
        }
        self.remove(keys::record(id), current.record_len);
        self.meta.leave(current.task.status());
        self.dropped.extend(&current.bodies);
        self.changes.push(Change { id, before: Some(current.task), after: None, claimed_until: None });
        Ok(true)
    }

    /// S14: the seed that has this name already, or this one.
    pub(super) fn seed(&mut self, name: &str, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
        let key = keys::seed(name);
        match self.read(&key)? {
            Some(there) => there.as_slice().try_into().map_err(|_| corrupt(&format!("the seed `{name}` is not 32 bytes"))),
            None => {
                self.write((key, fresh.to_vec()), None);
                Ok(fresh)
            }
        }
    }

    /// What to write; as a probe, the counts at least.
    pub(super) fn decided(mut self, is_probe: bool) -> Decided {
        let batch = (is_probe || !self.rows.is_empty()).then(|| {
            self.meta.seq += 1;
            let mut batch = sled::Batch::default();
            for (key, value) in self.rows {
                match value {
                    Some(value) => batch.insert(key, value),
                    None => batch.remove(key),
                }
            }
            batch.insert(keys::META, self.meta.to_bytes());
            batch
        });
        let Self { meta, counts, changes, before, taken, dropped, pins, .. } = self;
        Decided { batch, meta, counts, changes, before, taken, dropped, pins }
    }

    fn put(&mut self, current: Option<Current>, next: Prepared, claimed_until: Option<Timestamp>, audit: &[AuditEntry]) {
        let Prepared { cached, record, bodies, pins } = next;
        let task = cached.task.clone();
        let rows_before = current.as_ref().map(|current| keys::index_rows(&current.task, &current.bodies)).unwrap_or_default();
        let rows_after = keys::index_rows(&task, &bodies);
        for (key, value) in &rows_before {
            if !rows_after.iter().any(|(other, _)| other == key) {
                self.remove(key.clone(), value.len());
            }
        }
        for row in rows_after {
            let replaced = rows_before.iter().find(|(key, _)| *key == row.0);
            if replaced.is_none_or(|(_, value)| *value != row.1) {
                self.write(row, replaced.map(|(_, value)| value.len()));
            }
        }
        self.write((keys::record(task.id), record), current.as_ref().map(|current| current.record_len));
        for (place, entry) in audit.iter().enumerate() {
            self.write((keys::audit(task.id, task.revision, place), record::encode_audit(entry)), None);
        }
        if let Some(current) = &current {
            self.meta.leave(current.task.status());
            self.dropped.extend(current.bodies.iter().filter(|body| !bodies.contains(body)));
        }
        self.meta.enter(task.status());
        self.pins.extend(pins);
        self.changes.push(Change {
            id: task.id,
            before: current.map(|current| current.task),
            after: Some(cached),
            claimed_until,
        });
    }

    /// The task as this group leaves it so far. Notes how it was before the group.
    fn current(&mut self, id: TaskId) -> Result<Option<Current>, StoreError> {
        let record = match self.rows.get(&keys::record(id)) {
            Some(changed) => changed.clone().map(IVec::from),
            None => {
                let held = self.db.get(&keys::record(id))?;
                self.before.insert(id, held.clone());
                held
            }
        };
        let Some(record) = record else { return Ok(None) };
        let record::Decoded { task, bodies } = self.view.skeleton(id, &record)?;
        Ok(Some(Current { task, bodies, record_len: record.len() }))
    }

    /// The task that the row `key`, a `what`, holds.
    fn named(&self, key: &[u8], what: &str) -> Result<Option<Arc<Task>>, StoreError> {
        let Some(there) = self.read(key)? else { return Ok(None) };
        let id = keys::task_in(&there).ok_or_else(|| corrupt(&format!("a {what} names no task")))?;
        self.full(id)?.map(Some).ok_or_else(|| corrupt(&format!("task {id:?} is gone, its {what} is not")))
    }

    /// The whole task as this group leaves it so far.
    fn full(&self, id: TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        match self.changes.iter().rev().find(|change| change.id == id) {
            Some(change) => Ok(change.after.as_ref().map(|after| after.task.clone())),
            None => self.view.load(self.db, id),
        }
    }

    fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.rows.get(key) {
            Some(changed) => Ok(changed.clone()),
            None => Ok(self.db.get(key)?.map(|value| value.to_vec())),
        }
    }

    fn write(&mut self, (key, value): Row, replaced: Option<usize>) {
        let gone = replaced.map_or(0, |len| key.len() + len);
        let more = (key.len() + value.len()) as u64;
        self.meta.live_bytes = (self.meta.live_bytes + more).saturating_sub(gone as u64);
        self.rows.insert(key, Some(value));
    }

    fn remove(&mut self, key: Vec<u8>, len: usize) {
        self.meta.live_bytes = self.meta.live_bytes.saturating_sub((key.len() + len) as u64);
        self.rows.insert(key, None);
    }
}
