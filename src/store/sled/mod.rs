//! The embedded store: sled 0.34, made safe.
//!
//! sled's own `flush` is no fsync, and its large values are never synced (measured: 6 of 19 databases did not survive a power cut).
//! So one thread writes, in groups, and answers only after `flush` **and** `syncfs`; rows stay small, and what is large lies in files
//! of our own; damage, which sled reports by panicking, is caught, put aside and replaced by the last export.
//! `tests/power_cut.rs` and `tests/crash_store.rs` hold it to that.

mod body;
mod build;
mod committer;
mod compact;
mod db;
mod deliveries;
mod disk;
mod export;
mod group;
mod import;
mod keys;
mod layout;
mod lock;
mod meta;
mod open;
mod options;
mod panics;
mod recover;
mod verify;
mod view;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use self::body::Pin;
use self::committer::Op;
use self::db::{Db, Rows, corrupt};
use self::group::{Prepared, PreparedCommit, PreparedIntake};
use self::view::{View, lock};
use super::{
    Addressee, AuditEntry, Commit, Created, DeadLetter, DeliveryId, Intake, ListQuery, Parked, ParkedKey, StoreError, Taken,
    TaskStore,
};
use crate::domain::{
    CallerKey, Cause, Clock, Principal, ProviderName, RequestName, Revision, Scope, Task, TaskId, Timestamp, ToolName,
};

use super::record::BodyRef;

pub use compact::compact;
pub use export::Exported;
pub use import::{Imported, import};
pub use options::{Compacted, OpenReport, Opened, Recovered, SledOptions, StoreStats};
pub use verify::{VerifyReport, verify};

/// How many changes may wait for the committer before callers wait, too.
const QUEUE: usize = 4096;

/// How many deliveries are forgotten in one step.
const FORGET: usize = 500;

/// Tasks in a data folder that this process holds alone.
pub struct SledStore {
    view: Arc<View>,
    options: SledOptions,
    clock: Arc<dyn Clock>,
    /// `None` once the store is dropped.
    ops: Option<mpsc::Sender<Op>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl SledStore {
    /// Opens the store, or makes one. Waits for the disk: call it where blocking is allowed.
    ///
    /// # Errors
    /// [`StoreError::Held`] when another process has it, [`StoreError::Corrupt`] when it is damaged and there is no export to put
    /// in its place or when a newer version wrote it, [`StoreError::Unavailable`] when the folder cannot be used.
    pub fn open(options: SledOptions, clock: Arc<dyn Clock>) -> Result<Opened, StoreError> {
        open::open(options, clock)
    }

    /// How much there is.
    ///
    /// # Errors
    /// When the store is closed or its folder cannot be read.
    pub async fn stats(&self) -> Result<StoreStats, StoreError> {
        self.blocking(|view, db| Ok(StoreStats::new(*lock(&view.meta), db.file_bytes()?))).await
    }

    /// Writes every task with its history, its large parts and the seeds to the file `path`, while the store is in use. The file is
    /// there whole or not at all. It holds secret seeds: it is made readable for its owner alone.
    ///
    /// # Errors
    /// When the file cannot be written, or something stored cannot be read.
    pub async fn export_to(&self, path: &Path) -> Result<Exported, StoreError> {
        let (path, at) = (path.to_owned(), self.clock.now());
        self.blocking(move |view, db| export::export(view, db, &path, at)).await
    }

    /// Exports to the data folder's `exports` and removes older ones there, as [`SledOptions::keep_exports`] says. What is there is
    /// put back by itself when the database turns out to be damaged at start.
    ///
    /// # Errors
    /// As [`Self::export_to`].
    pub async fn export_periodic(&self) -> Result<Exported, StoreError> {
        let (options, at) = (self.options.clone(), self.clock.now());
        self.blocking(move |view, db| export::rotate(view, db, &options, at)).await
    }

    /// Runs `work` where waiting for the disk holds nobody up.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&View, &Db) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let view = self.view.clone();
        // The work itself does not panic; the runtime may be on its way down.
        tokio::task::spawn_blocking(move || view.with_db(|db| work(&view, db))).await.unwrap_or(Err(StoreError::Closed))
    }

    /// Hands a change to the committer and waits for the disk.
    async fn write<T>(&self, op: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Op) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let ops = self.ops.as_ref().ok_or(StoreError::Closed)?;
        ops.send(op(reply)).await.map_err(|_| StoreError::Closed)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Brings a task into its stored form; its bodies are on the disk then.
    async fn prepare(&self, task: Task) -> Result<Prepared, StoreError> {
        let (mut prepared, bodies) = Prepared::of(task);
        prepared.pins = self.pinned(bodies).await?;
        Ok(prepared)
    }

    /// Puts bodies on the disk.
    async fn pinned(&self, bodies: Vec<(BodyRef, Vec<u8>)>) -> Result<Vec<Pin>, StoreError> {
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        self.blocking(move |view, _| bodies.iter().map(|(body, bytes)| view.bodies.write(body, bytes)).collect()).await
    }

    /// The task that the row `key` holds, as far as it is on disk.
    async fn held(&self, key: Vec<u8>) -> Result<Option<TaskId>, StoreError> {
        let held = move |view: &View, db: &Db| {
            let Some(id) = db.get(&key)?.and_then(|value| keys::task_in(&value)) else { return Ok(None) };
            Ok(view.record(db, id)?.map(|_| id))
        };
        self.blocking(held).await
    }

    /// The newest of the tasks whose rows begin with `prefix`.
    async fn newest(&self, prefix: Vec<u8>) -> Result<Option<TaskId>, StoreError> {
        let newest = move |view: &View, db: &Db| Self::tasks(view, db, only_keys(db.rows(&prefix).rev()), 1);
        let newest = self.blocking(newest).await?;
        Ok(newest.first().map(|task| task.id))
    }

    /// The tasks that these rows' keys end with, `limit` at most, as far as they are on disk.
    fn tasks(view: &View, db: &Db, keys: impl Iterator<Item = KeyResult>, limit: usize) -> Result<Vec<Arc<Task>>, StoreError> {
        let mut tasks = Vec::new();
        for key in keys {
            if tasks.len() == limit {
                break;
            }
            let id = keys::task_in(&key?).ok_or_else(|| corrupt("an index names no task"))?;
            tasks.extend(view.load(db, id)?);
        }
        Ok(tasks)
    }
}

type KeyResult = Result<sled::IVec, StoreError>;

fn only_keys(rows: impl Iterator<Item = <Rows as Iterator>::Item>) -> impl Iterator<Item = KeyResult> {
    rows.map(|row| row.map(|(key, _)| key))
}

/// The folder alone: what is stored is the callers' own.
impl fmt::Debug for SledStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledStore").field("path", &self.options.path).finish_non_exhaustive()
    }
}

impl Drop for SledStore {
    /// Waits for the committer, so that the folder can be opened again at once.
    fn drop(&mut self) {
        drop(self.ops.take());
        if let Some(thread) = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            // It has logged what went wrong, if anything did.
            thread.join().ok();
        }
    }
}

#[async_trait]
impl TaskStore for SledStore {
    async fn create(&self, task: Task, claimed_until: Option<Timestamp>, cause: Cause) -> Result<Created, StoreError> {
        let audit = AuditEntry::created(&task, &cause);
        let new = self.prepare(task).await?;
        self.write(|reply| Op::Create { new, claimed_until, audit, reply }).await
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        if let Some(task) = self.view.cached(id) {
            return Ok(Some(task));
        }
        let id = *id;
        self.blocking(move |view, db| view.load(db, id)).await
    }

    async fn get_for(&self, scope: &Scope, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        Ok(self.get(id).await?.filter(|task| scope.covers(&task.owner)))
    }

    async fn commit(&self, commit: Commit) -> Result<Arc<Task>, StoreError> {
        let (mut commit, bodies) = PreparedCommit::of(commit);
        commit.next.pins = self.pinned(bodies).await?;
        self.write(|reply| Op::Commit { commit, reply }).await
    }

    async fn claim_due(
        &self,
        provider: &ProviderName,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Arc<Task>>, StoreError> {
        let until = now.plus(lease);
        let claimed = self.view.with_db(|_| Ok(lock(&self.view.agenda).claim(provider, now, until, limit)))?;
        let mut tasks: Vec<_> = claimed.iter().map_while(|id| self.view.cached(id)).collect();
        if tasks.len() < claimed.len() {
            tasks = self
                .blocking(move |view, db| {
                    let load = |id: &TaskId| view.load(db, *id).transpose();
                    claimed.iter().filter_map(load).collect::<Result<Vec<_>, _>>()
                })
                .await?;
        }
        // A commit may have come between, and ended the claim.
        let agenda = lock(&self.view.agenda);
        tasks.retain(|task| agenda.stands_at(provider, task.id, until));
        Ok(tasks)
    }

    async fn release(&self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.view.with_db(|_| {
            lock(&self.view.agenda).release(ids);
            Ok(())
        })
    }

    async fn snooze(&self, id: &TaskId, until: Timestamp) -> Result<(), StoreError> {
        self.view.with_db(|_| {
            lock(&self.view.agenda).snooze(*id, until);
            Ok(())
        })
    }

    async fn next_due(&self, provider: &ProviderName) -> Result<Option<Timestamp>, StoreError> {
        self.view.with_db(|_| Ok(lock(&self.view.agenda).next(provider)))
    }

    async fn providers(&self) -> Result<Vec<ProviderName>, StoreError> {
        self.view.with_db(|_| Ok(lock(&self.view.agenda).providers()))
    }

    async fn find_by_job(&self, provider: &ProviderName, job: &str) -> Result<Option<TaskId>, StoreError> {
        self.newest(keys::job(provider, job)).await
    }

    async fn find_by_key(&self, owner: &Principal, tool: &ToolName, key: &CallerKey) -> Result<Option<TaskId>, StoreError> {
        self.held(keys::caller_key(owner, tool, key)).await
    }

    async fn find_by_client_id(&self, owner: &Principal, client_id: &str) -> Result<Option<TaskId>, StoreError> {
        self.held(keys::client_id(owner, client_id)).await
    }

    async fn find_by_request(&self, owner: &Principal, request: &RequestName) -> Result<Option<TaskId>, StoreError> {
        self.newest(keys::request(owner, request)).await
    }

    async fn find_by_join(&self, owner: &Principal, tool: &ToolName, hash: &[u8; 32]) -> Result<Option<TaskId>, StoreError> {
        self.held(keys::join(owner, tool, hash)).await
    }

    async fn list(&self, query: ListQuery) -> Result<Vec<Arc<Task>>, StoreError> {
        let list = move |view: &View, db: &Db| {
            let prefix = keys::within(&query.scope);
            let rows = match query.after {
                Some((at, id)) => db.rows_before(&prefix, &keys::placed(prefix.clone(), at, id)),
                None => db.rows(&prefix),
            };
            Self::tasks(view, db, only_keys(rows.rev()), query.limit)
        };
        self.blocking(list).await
    }

    async fn audit(&self, id: &TaskId) -> Result<Vec<AuditEntry>, StoreError> {
        let id = *id;
        self.blocking(move |view, db| view.audit(db, id)).await
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Arc<Task>>, StoreError> {
        let expired = move |view: &View, db: &Db| {
            let ended = |key: &KeyResult| key.as_ref().ok().and_then(|key| keys::end_in(key)).is_none_or(|end| end <= now);
            Self::tasks(view, db, only_keys(db.rows(b"e")).take_while(ended), limit)
        };
        self.blocking(expired).await
    }

    async fn purge(&self, tasks: &[(TaskId, Revision)]) -> Result<usize, StoreError> {
        let tasks = tasks.to_vec();
        self.write(|reply| Op::Purge { tasks, reply }).await
    }

    async fn count_live(&self, owner: &Principal) -> Result<usize, StoreError> {
        let owner = keys::owner_key(owner);
        self.view.with_db(|_| Ok(lock(&self.view.live).get(&owner).copied().unwrap_or_default()))
    }

    async fn seed(&self, name: &str, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
        let name = name.to_owned();
        self.write(|reply| Op::Seed { name, fresh, reply }).await
    }

    async fn take(&self, intake: Intake) -> Result<Taken, StoreError> {
        let (mut intake, bodies) = PreparedIntake::of(intake);
        intake.pins = self.pinned(bodies).await?;
        self.write(|reply| Op::Take { intake, reply }).await
    }

    async fn was_taken(&self, id: &DeliveryId) -> Result<bool, StoreError> {
        let id = *id;
        self.blocking(move |view, db| view.was_taken(db, id)).await
    }

    async fn parked(&self, provider: &ProviderName, addressee: &Addressee) -> Result<Vec<Parked>, StoreError> {
        let (provider, addressee) = (provider.clone(), addressee.clone());
        self.blocking(move |view, db| deliveries::parked(view, db, &provider, &addressee)).await
    }

    async fn all_parked(&self, limit: usize) -> Result<Vec<ParkedKey>, StoreError> {
        self.blocking(move |view, db| deliveries::all_names(view, db, limit)).await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
        self.blocking(move |view, db| deliveries::dead_letters(view, db, limit)).await
    }

    async fn dead_letter(&self, id: &DeliveryId) -> Result<Option<DeadLetter>, StoreError> {
        let id = *id;
        self.blocking(move |view, db| deliveries::dead_letter(view, db, id)).await
    }

    async fn drop_dead(&self, ids: &[DeliveryId]) -> Result<usize, StoreError> {
        let ids = ids.to_vec();
        self.write(|reply| Op::DropDead { ids, reply }).await
    }

    async fn forget(&self, now: Timestamp, limit: usize) -> Result<Vec<ParkedKey>, StoreError> {
        let mut names = Vec::new();
        let mut left = limit;
        // In steps, so that no other change waits for long.
        while left > 0 {
            let step = left.min(FORGET);
            let over = self.blocking(move |view, db| deliveries::over(view, db, now, step)).await?;
            let found = over.taken.len().max(over.parked.len());
            if found > 0 {
                names.extend(self.write(|reply| Op::Forget { now, over, reply }).await?);
            }
            left = if found < step { 0 } else { left - step };
        }
        Ok(names)
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.write(|reply| Op::Close { reply }).await
    }
}
