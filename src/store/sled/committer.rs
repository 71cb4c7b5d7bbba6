//! The one thread that writes. It takes what has come in meanwhile as a group, writes it in one step, waits for the disk, and only
//! then answers.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::db::{Db, Unwritten};
use super::disk::free_bytes;
use super::group::{Counts, Decided, Group, Over, Prepared, PreparedCommit, PreparedIntake};
use super::keys;
use super::layout::Layout;
use super::lock::Lock;
use super::meta::Meta;
use super::open::read;
use super::options::SledOptions;
use super::view::{Change, Start, View};
use crate::domain::{Revision, Task, TaskId, Timestamp};
use crate::store::{AuditEntry, Created, DeliveryId, ParkedKey, StoreError, Taken};

/// The most changes in one group: more would make the first of them wait for too long.
const GROUP: usize = 256;

/// After a write failed, the database is opened again once so much is free: it takes a few files of half a MiB.
const HEALING_BYTES: u64 = 8 << 20;

/// So many groups go by between two looks for sled's blob files.
const GROUPS_PER_LOOK: u64 = 256;

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the committer is asked to do.
#[derive(Debug)]
pub(super) enum Op {
    Create { new: Prepared, claimed_until: Option<Timestamp>, audit: AuditEntry, reply: Reply<Created> },
    Commit { commit: PreparedCommit, reply: Reply<Arc<Task>> },
    Take { intake: PreparedIntake, reply: Reply<Taken> },
    DropDead { ids: Vec<DeliveryId>, reply: Reply<usize> },
    Forget { now: Timestamp, over: Over, reply: Reply<Vec<ParkedKey>> },
    Purge { tasks: Vec<(TaskId, Revision)>, reply: Reply<usize> },
    Seed { name: String, fresh: [u8; 32], reply: Reply<[u8; 32]> },
    Close { reply: Reply<()> },
}

impl Op {
    /// How much of the reserve must be free, in quarters: what ends work and what frees room goes on when new tasks are refused.
    const fn needs(&self) -> u64 {
        match self {
            Self::Create { .. } => 4,
            Self::Commit { .. } | Self::Take { .. } | Self::Seed { .. } => 2,
            Self::Purge { .. } | Self::DropDead { .. } | Self::Forget { .. } => 1,
            Self::Close { .. } => 0,
        }
    }

    fn refuse(self, error: StoreError) {
        // A caller that has gone away needs no answer; here and below.
        match self {
            Self::Create { reply, .. } => drop(reply.send(Err(error))),
            Self::Commit { reply, .. } => drop(reply.send(Err(error))),
            Self::Take { reply, .. } => drop(reply.send(Err(error))),
            Self::DropDead { reply, .. } => drop(reply.send(Err(error))),
            Self::Forget { reply, .. } => drop(reply.send(Err(error))),
            Self::Purge { reply, .. } => drop(reply.send(Err(error))),
            Self::Seed { reply, .. } => drop(reply.send(Err(error))),
            Self::Close { reply } => drop(reply.send(Err(error))),
        }
    }
}

/// An answer that waits for the disk.
struct Answer {
    give: Box<dyn FnOnce(Result<(), StoreError>)>,
    /// The database could not be asked.
    unasked: bool,
}

fn answer<T: 'static>(reply: Reply<T>, decided: Result<T, StoreError>) -> Answer {
    let unasked = matches!(decided, Err(StoreError::Unavailable(_)));
    Answer { give: Box::new(move |written| drop(reply.send(written.and(decided)))), unasked }
}

/// The writing side of a store.
pub(super) struct Committer {
    pub(super) view: Arc<View>,
    pub(super) lock: Lock,
    pub(super) options: SledOptions,
    /// The counts of what is on disk.
    pub(super) meta: Meta,
    /// How many deliveries are kept on disk.
    pub(super) counts: Counts,
    /// What a write that failed has left; nothing is written until it is settled.
    pub(super) failed: Option<Failed>,
}

/// A group that may be on disk, and may not.
pub(super) struct Failed {
    error: StoreError,
    changes: Vec<Change>,
    meta: Meta,
    disk_was_full: bool,
    /// It is known by now whether the group is on disk.
    settled: bool,
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
        let db = self.view.take_db(StoreError::Closed);
        self.view.clear();
        let flushed = match db {
            Some(db) if self.failed.is_none() => db.make_durable(),
            _ => Ok(()),
        };
        // Not before the database is closed.
        drop(self.lock);
        flushed
    }

    fn commit(&mut self, ops: Vec<Op>) {
        let view = self.view.clone();
        let free = free_bytes(&self.options.path).unwrap_or(u64::MAX);
        if self.failed.is_some() {
            self.heal(free);
        }
        let (ops, refused): (Vec<_>, Vec<_>) =
            ops.into_iter().map(|op| (self.refusal(&op, free), op)).partition(|(why, _)| why.is_none());
        for (why, op) in refused {
            op.refuse(why.unwrap_or(StoreError::Closed));
        }
        let mut answers = Vec::with_capacity(ops.len());
        let written = view.with_db(|db| {
            let mut group = Group::new(&view, db, self.meta, &self.counts);
            answers.extend(ops.into_iter().map(|(_, op)| decide(&mut group, op)));
            // sled writes behind our back, too, and once that has failed it fails all that is asked of it. A write says what the
            // trouble is, and begins what follows from it.
            let is_probe = answers.iter().any(|answer| answer.unasked);
            let decided = group.decided(is_probe);
            self.write(db, decided)
        });
        if written.is_err() && self.failed.as_ref().is_some_and(|failed| failed.disk_was_full) {
            // sled's readers stumble over what it could not write, so they need it afresh, and it needs a little room for that.
            Layout::at(&self.options.path).drop_ballast();
            self.reopen();
        }
        for answer in answers {
            (answer.give)(written.clone());
        }
    }

    /// Opens the database again after a write that failed, and finds out whether the group is in it. Readers wait meanwhile.
    fn reopen(&mut self) {
        let Some(failed) = &mut self.failed else { return };
        drop(self.view.take_db(failed.error.clone()));
        let layout = Layout::at(&self.options.path);
        match Db::open(&layout.live(), self.options.cache_bytes).and_then(|db| Ok((read(&db)?, db))) {
            Ok((Start { meta, counts, .. }, db)) => {
                self.counts = counts;
                if meta.seq == self.meta.seq {
                    self.view.unhide();
                    failed.settled = true;
                } else if meta.seq == failed.meta.seq {
                    self.view.show(&failed.changes, meta);
                    self.meta = meta;
                    failed.settled = true;
                }
                self.view.put_db(db);
            }
            Err(error) => tracing::error!(%error, "the store cannot be opened again after a write that failed"),
        }
    }

    /// Writes again, if a full disk was the trouble and there is room now.
    fn heal(&mut self, free: u64) {
        let was_full = self.failed.as_ref().is_some_and(|failed| failed.disk_was_full);
        if !was_full || free < HEALING_BYTES.max(self.options.reserve_bytes / 2) {
            return;
        }
        if self.failed.as_ref().is_some_and(|failed| !failed.settled) {
            self.reopen();
        }
        if self.failed.as_ref().is_some_and(|failed| failed.settled)
            && self.view.with_db(Db::make_durable).is_ok()
            && Layout::at(&self.options.path).keep_ballast().is_ok()
        {
            tracing::info!("there is room on the disk again: the store goes on writing");
            self.failed = None;
        }
    }

    /// Why `op` is not even tried.
    fn refusal(&self, op: &Op, free: u64) -> Option<StoreError> {
        if let Some(failed) = &self.failed {
            return Some(failed.error.clone());
        }
        let needed = self.options.reserve_bytes / 4 * op.needs();
        (free < needed).then(|| {
            StoreError::Unavailable(format!(
                "the disk of {} has {} MiB left, and {} MiB are kept free; nothing was stored. It goes on by itself once there is room",
                self.options.path.display(),
                free >> 20,
                needed >> 20
            ))
        })
    }

    fn write(&mut self, db: &Db, decided: Decided) -> Result<(), StoreError> {
        let Decided { batch, meta, counts, changes, before, taken, dropped, pins } = decided;
        if let Some(batch) = batch {
            self.view.hide(before, taken);
            if let Err(unwritten) = db.write(batch) {
                // What was before stays what readers see: the database may hold a part of the group, and may not.
                tracing::error!(error = %unwritten.error, "the store cannot write");
                let disk_was_full = unwritten.disk_was_full;
                let error = in_words(unwritten);
                self.failed = Some(Failed { error: error.clone(), changes, meta, disk_was_full, settled: false });
                return Err(error);
            }
            db.mark(meta.seq);
            self.meta = meta;
            self.counts.include(counts);
            self.view.show(&changes, meta);
            if meta.seq.is_multiple_of(GROUPS_PER_LOOK) {
                db.look_for_blobs();
            }
        }
        drop(pins);
        for body in &dropped {
            // A body that cannot be looked up stays.
            self.view.bodies.remove(body, || keys::is_needed(db, &body.hash).unwrap_or(true));
        }
        Ok(())
    }
}

fn decide(group: &mut Group<'_>, op: Op) -> Answer {
    match op {
        Op::Create { new, claimed_until, audit, reply } => answer(reply, group.create(new, claimed_until, &[audit])),
        Op::Commit { commit, reply } => answer(reply, group.commit(commit)),
        Op::Take { intake, reply } => answer(reply, group.take(intake)),
        Op::DropDead { ids, reply } => answer(reply, group.drop_dead(&ids)),
        Op::Forget { now, over, reply } => answer(reply, group.forget(now, over)),
        Op::Purge { tasks, reply } => {
            let purged = tasks.iter().try_fold(0, |count, (id, revision)| Ok(count + usize::from(group.purge(*id, *revision)?)));
            answer(reply, purged)
        }
        Op::Seed { name, fresh, reply } => answer(reply, group.seed(&name, fresh)),
        Op::Close { reply } => answer(reply, Ok(())),
    }
}

/// The failure, in words for callers.
fn in_words(unwritten: Unwritten) -> StoreError {
    let StoreError::Unavailable(why) = unwritten.error else { return unwritten.error };
    let what_now = if unwritten.disk_was_full {
        "Make room on the disk, and writing goes on by itself"
    } else {
        "Look after the disk, then restart the gateway"
    };
    StoreError::Unavailable(format!("{why}. This was not acknowledged; what was can still be read. {what_now}"))
}
