//! Making a whole database aside, to put it in the place of another: after an export was read, or to give room back.

use std::path::PathBuf;

use super::body::Bodies;
use super::db::{Db, unavailable};
use super::disk::sync_dir;
use super::group::Prepared;
use super::keys::{self, Row};
use super::layout::{Layout, remove};
use super::meta::{FORM, Meta};
use crate::domain::{Task, Timestamp};
use crate::store::record::{Slip, encode_audit};
use crate::store::{AuditEntry, DeliveryId, StoreError};

/// Rows are written in steps of about so many bytes.
const STEP_BYTES: usize = 1 << 20;

/// A database that is being made in [`Layout::building`].
pub(super) struct Builder {
    db: Db,
    dir: PathBuf,
    batch: sled::Batch,
    batch_bytes: usize,
    meta: Meta,
}

impl Builder {
    /// An empty database; what an earlier attempt left is removed.
    pub(super) fn new(layout: &Layout, cache_bytes: u64) -> Result<Self, StoreError> {
        let dir = layout.building();
        remove(&dir).map_err(|error| unavailable("cannot remove an unfinished database", &error))?;
        let db = Db::open(&dir, cache_bytes)?;
        Ok(Self { db, dir, batch: sled::Batch::default(), batch_bytes: 0, meta: Meta::default() })
    }

    /// Adds a row that is not there yet.
    pub(super) fn row(&mut self, (key, value): Row) -> Result<(), StoreError> {
        let len = key.len() + value.len();
        self.meta.live_bytes += len as u64;
        self.batch_bytes += len;
        self.batch.insert(key, value);
        if self.batch_bytes >= STEP_BYTES {
            self.batch_bytes = 0;
            self.db.apply(std::mem::take(&mut self.batch))?;
        }
        Ok(())
    }

    /// Adds a task with its history; its bodies are written to `bodies`.
    pub(super) fn task(&mut self, task: Task, audit: &[AuditEntry], bodies: &Bodies) -> Result<(), StoreError> {
        let (prepared, moved_out) = Prepared::of(task);
        for (body, bytes) in &moved_out {
            bodies.write(body, bytes)?;
        }
        let task = &prepared.cached.task;
        self.meta.enter(task.status());
        for row in keys::index_rows(task, &prepared.bodies) {
            self.row(row)?;
        }
        self.row((keys::record(task.id), prepared.record))?;
        let mut place = 0;
        let mut last = None;
        for entry in audit {
            place = if last == Some(entry.revision) { place + 1 } else { 0 };
            last = Some(entry.revision);
            self.row((keys::audit(task.id, entry.revision, place), encode_audit(entry)))?;
        }
        Ok(())
    }

    /// Adds that a delivery was taken.
    pub(super) fn taken(&mut self, id: DeliveryId, until: Timestamp, body_hash: &[u8; 32]) -> Result<(), StoreError> {
        self.row((keys::taken(id), keys::taken_value(until, body_hash)))?;
        self.row((keys::memory_end(until, id), Vec::new()))
    }

    /// Adds a parked delivery or dead letter; its body is written to `bodies`.
    pub(super) fn slip(&mut self, key: Vec<u8>, slip: Slip, bodies: &Bodies) -> Result<(), StoreError> {
        if let (Some(body), Some(bytes)) = (&slip.head.body, &slip.body) {
            bodies.write(body, bytes)?;
        }
        for row in keys::slip_rows(&key, &slip.head) {
            self.row(row)?;
        }
        self.row((key, slip.row))
    }

    /// The same tasks and groups as another database.
    pub(super) fn counts_of(&mut self, meta: &Meta) {
        self.meta = Meta { form: FORM, live_bytes: self.meta.live_bytes, ..*meta };
    }

    /// Makes it whole and durable, and closes it.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        self.batch.insert(keys::META, self.meta.to_bytes());
        self.db.apply(self.batch)?;
        self.db.mark(self.meta.seq);
        self.db.make_durable()?;
        drop(self.db);
        sync_dir(&self.dir).map_err(|error| unavailable("cannot make a database", &error))
    }
}
