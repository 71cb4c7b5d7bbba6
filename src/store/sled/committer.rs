//! The one thread that writes. It takes what has come in meanwhile as a group, writes it in one step, waits for the disk, and only
//! then answers.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::disk::free_bytes;
use super::group::{Decided, Group, Prepared};
use super::keys;
use super::lock::Lock;
use super::meta::Meta;
use super::view::View;
use crate::domain::{Revision, Task, TaskId, Timestamp};
use crate::store::{AuditEntry, Created, StoreError};

/// The most changes in one group: more would make the first of them wait for too long.
const GROUP: usize = 256;

/// So many groups go by between two looks for sled's blob files.
const GROUPS_PER_LOOK: u64 = 256;

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the committer is asked to do.
#[derive(Debug)]
pub(super) enum Op {
    Create { new: Prepared, claimed_until: Option<Timestamp>, audit: AuditEntry, reply: Reply<Created> },
    Commit { expected: Revision, next: Prepared, audit: Vec<AuditEntry>, reply: Reply<Arc<Task>> },
    Purge { tasks: Vec<(TaskId, Revision)>, reply: Reply<usize> },
    Seed { name: String, fresh: [u8; 32], reply: Reply<[u8; 32]> },
    Close { reply: Reply<()> },
}

impl Op {
    /// How much of the reserve must be free, in quarters: what ends work and what frees room goes on when new tasks are refused.
    const fn needs(&self) -> u64 {
        match self {
            Self::Create { .. } => 4,
            Self::Commit { .. } | Self::Seed { .. } => 2,
            Self::Purge { .. } => 1,
            Self::Close { .. } => 0,
        }
    }

    fn refuse(self, error: StoreError) {
        // A caller that has gone away needs no answer; here and below.
        match self {
            Self::Create { reply, .. } => drop(reply.send(Err(error))),
            Self::Commit { reply, .. } => drop(reply.send(Err(error))),
            Self::Purge { reply, .. } => drop(reply.send(Err(error))),
            Self::Seed { reply, .. } => drop(reply.send(Err(error))),
            Self::Close { reply } => drop(reply.send(Err(error))),
        }
    }
}

/// An answer that waits for the disk.
type Answer = Box<dyn FnOnce(Result<(), StoreError>)>;

fn answer<T: 'static>(reply: Reply<T>, decided: Result<T, StoreError>) -> Answer {
    Box::new(move |written| drop(reply.send(written.and(decided))))
}

/// The writing side of a store.
pub(super) struct Committer {
    pub(super) view: Arc<View>,
    pub(super) lock: Lock,
    /// New tasks are refused when less than this is free on the disk.
    pub(super) reserve_bytes: u64,
    /// Why nothing can be written any more.
    pub(super) failed: Option<StoreError>,
    pub(super) root: std::path::PathBuf,
    pub(super) meta: Meta,
}

impl Committer {
    /// Works until the store is closed or dropped.
    pub(super) fn run(mut self, mut ops: mpsc::Receiver<Op>) {
        let mut taken = Vec::with_capacity(GROUP);
        let mut closing = Vec::new();
        while closing.is_empty() && ops.blocking_recv_many(&mut taken, GROUP) > 0 {
            let mut group = Vec::with_capacity(taken.len());
            for op in taken.drain(..) {
                match op {
                    Op::Close { reply } => closing.push(reply),
                    op if closing.is_empty() => group.push(op),
                    op => op.refuse(StoreError::Closed),
                }
            }
            self.commit(group);
        }
        ops.close();
        while let Ok(op) = ops.try_recv() {
            op.refuse(StoreError::Closed);
        }
        let closed = self.close();
        for reply in closing {
            drop(reply.send(closed.clone()));
        }
    }

    /// All that was acknowledged is on disk already; what sled still holds back for itself follows here.
    fn close(self) -> Result<(), StoreError> {
        let Some(db) = self.view.close() else { return Ok(()) };
        let flushed = if self.failed.is_none() { db.make_durable() } else { Ok(()) };
        drop(db);
        drop(self.lock);
        flushed
    }

    fn commit(&mut self, ops: Vec<Op>) {
        let view = self.view.clone();
        let free = free_bytes(&self.root).unwrap_or(u64::MAX);
        let mut answers = Vec::with_capacity(ops.len());
        let written = view.with_db(|db| {
            let mut group = Group::new(&view, db, self.meta);
            for op in ops {
                if let Some(error) = self.refusal(&op, free) {
                    op.refuse(error);
                    continue;
                }
                answers.push(decide(&mut group, op));
            }
            let Some(decided) = group.decided() else { return Ok(()) };
            self.write(db, decided)
        });
        for answer in answers {
            answer(written.clone());
        }
    }

    /// Why `op` is not even tried.
    fn refusal(&self, op: &Op, free: u64) -> Option<StoreError> {
        if let Some(error) = &self.failed {
            return Some(error.clone());
        }
        let needed = self.reserve_bytes / 4 * op.needs();
        (free < needed).then(|| {
            let mib = |bytes: u64| bytes >> 20;
            StoreError::Unavailable(format!(
                "the disk of {} has {} MiB left, and {} MiB are kept free; nothing was stored. It goes on by itself once there is room",
                self.root.display(),
                mib(free),
                mib(needed)
            ))
        })
    }

    fn write(&mut self, db: &super::db::Db, decided: Decided) -> Result<(), StoreError> {
        let Decided { batch, meta, changes, before, dropped, pins } = decided;
        self.view.hide(before);
        if let Err(error) = db.apply(batch).and_then(|()| db.make_durable()) {
            // What was before stays what readers see: the database may hold a part of the group, and may not.
            tracing::error!(%error, "the store cannot write");
            let error = after_failure(error);
            self.failed = Some(error.clone());
            return Err(error);
        }
        db.mark(meta.seq);
        self.meta = meta;
        self.view.show(&changes, meta);
        drop(pins);
        for body in &dropped {
            self.view.bodies.remove(body, || db.rows(&keys::needs(body)).next().is_some());
        }
        if meta.seq.is_multiple_of(GROUPS_PER_LOOK) {
            db.look_for_blobs();
        }
        Ok(())
    }
}

fn decide(group: &mut Group<'_>, op: Op) -> Answer {
    match op {
        Op::Create { new, claimed_until, audit, reply } => answer(reply, group.create(new, claimed_until, &[audit])),
        Op::Commit { expected, next, audit, reply } => answer(reply, group.commit(expected, next, &audit)),
        Op::Purge { tasks, reply } => {
            let purged = tasks.iter().try_fold(0, |count, (id, revision)| Ok(count + usize::from(group.purge(*id, *revision)?)));
            answer(reply, purged)
        }
        Op::Seed { name, fresh, reply } => answer(reply, group.seed(&name, fresh)),
        Op::Close { reply } => answer(reply, Ok(())),
    }
}

/// sled refuses every write after one that failed, so the process has to open the store anew.
fn after_failure(error: StoreError) -> StoreError {
    match error {
        StoreError::Unavailable(why) => StoreError::Unavailable(format!(
            "{why}. Nothing of it was acknowledged. What is stored can still be read; make room or mend the disk, then restart \
             the gateway to write again"
        )),
        other => other,
    }
}
