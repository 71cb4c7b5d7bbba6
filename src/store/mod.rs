//! Where tasks live: the contract of every store. The clauses S1–S26 are the tests in `tests/store_contract`.

mod agenda;
mod delivery;
mod error;
mod memory;
mod record;
pub mod sled;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use delivery::{Addressee, DeadLetter, DeliveryId, Intake, MOST_DEAD, MOST_PARKED, NoDelivery, Parked, ParkedKey, Taken};
pub use error::StoreError;
pub use memory::MemoryStore;

use crate::domain::{
    CallerKey, Cause, Principal, ProviderName, RequestName, Revision, Scope, Status, Task, TaskEvent, TaskId, Timestamp, ToolName,
};

/// A store of tasks. What it acknowledges has reached the disk: a process that is killed and a machine that loses power keep it.
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Puts a new task in, with its first audit entry. Durable when it returns (S1).
    ///
    /// A task of the same owner and tool with the same caller key is given back instead, whatever its arguments, for as long as
    /// that task is there; two calls at once with one key make one task (S2).
    ///
    /// Where the new task has a hash to be joined by and no such task is there, the [joinable](Task::is_joinable) task of the same
    /// owner and tool with the same hash is given back; two calls at once make one task (S22).
    ///
    /// With `claimed_until` the task starts out claimed, as if by [`TaskStore::claim_due`] (S6).
    ///
    /// # Errors
    /// [`StoreError::Stale`] when there is a task with this id already; [`StoreError::NameTaken`] when the owner has one with this
    /// client id (S20); then nothing happened.
    async fn create(&self, task: Task, claimed_until: Option<Timestamp>, cause: Cause) -> Result<Created, StoreError>;

    /// Reads one task, whoever's it is; `None` when there is none (S3). For the engine's own work: what callers ask for goes through
    /// [`TaskStore::get_for`].
    async fn get(&self, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError>;

    /// Reads one task of this scope; `None` when there is none or it is someone else's (S19, requirement I1).
    async fn get_for(&self, scope: &Scope, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError>;

    /// Replaces a task if it is still at `expected`, together with its index entries and audit entries, and ends the claim on
    /// it. Durable when it returns (S4). Of many commits at one revision exactly one wins (S5). What it unparks goes in the same step;
    /// what is not there any more is no obstacle (S25).
    ///
    /// # Errors
    /// [`StoreError::Stale`] when the task is at another revision or gone; then nothing happened.
    async fn commit(&self, commit: Commit) -> Result<Arc<Task>, StoreError>;

    /// Claims up to `limit` tasks of `provider` whose `due_at` has come, until `now + lease`; those that could be claimed for the
    /// longest time come first. A claimed task is not given out again before its lease ends or it is committed (S6) or released
    /// (S7). Claims do not outlive the process.
    async fn claim_due(
        &self,
        provider: &ProviderName,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Arc<Task>>, StoreError>;

    /// Gives claims back without a change (S7); a task that nobody has claimed stays as it is.
    async fn release(&self, ids: &[TaskId]) -> Result<(), StoreError>;

    /// Makes a claimed task claimable again at `until` and not before, without writing anything: for a look that changed nothing.
    /// A commit or a restart puts its `due_at` back in force; a task that is not claimed (a commit came between) or not there stays
    /// as it is (S18).
    async fn snooze(&self, id: &TaskId, until: Timestamp) -> Result<(), StoreError>;

    /// The earliest moment at which a task of `provider` can be claimed: when it is due, or when the claim on it ends (S8).
    async fn next_due(&self, provider: &ProviderName) -> Result<Option<Timestamp>, StoreError>;

    /// The providers that have tasks with something left to do, in order of their names (S16).
    async fn providers(&self) -> Result<Vec<ProviderName>, StoreError>;

    /// The task that stands for a provider's job, in any state; the newest, should a provider have given one job to several (S9).
    async fn find_by_job(&self, provider: &ProviderName, job: &str) -> Result<Option<TaskId>, StoreError>;

    /// The task made with this caller key (S2).
    async fn find_by_key(&self, owner: &Principal, tool: &ToolName, key: &CallerKey) -> Result<Option<TaskId>, StoreError>;

    /// The task of this owner that has this client id (S20).
    async fn find_by_client_id(&self, owner: &Principal, client_id: &str) -> Result<Option<TaskId>, StoreError>;

    /// The task of this owner that this request made; the newest, should the name have come again (S21).
    async fn find_by_request(&self, owner: &Principal, request: &RequestName) -> Result<Option<TaskId>, StoreError>;

    /// The joinable task of this owner and tool with this hash (S22).
    async fn find_by_join(&self, owner: &Principal, tool: &ToolName, hash: &[u8; 32]) -> Result<Option<TaskId>, StoreError>;

    /// The tasks of a scope, newest first, `limit` at most, after the one that `after` names. Stable while tasks are created (S10).
    /// The work grows with the page, not with other people's tasks.
    async fn list(&self, query: ListQuery) -> Result<Vec<Arc<Task>>, StoreError>;

    /// What happened to a task, oldest first (S11). It goes with the task.
    async fn audit(&self, id: &TaskId) -> Result<Vec<AuditEntry>, StoreError>;

    /// The tasks whose life has ended by `now`, `limit` at most, ended or not; the one whose life ended first comes first (S15).
    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Arc<Task>>, StoreError>;

    /// Removes tasks with all that belongs to them: index entries, audit trail, body files (S12). Only a task still at the
    /// given revision is removed. Gives back how many were.
    async fn purge(&self, tasks: &[(TaskId, Revision)]) -> Result<usize, StoreError>;

    /// How many of an owner's tasks have not ended (S13).
    async fn count_live(&self, owner: &Principal) -> Result<usize, StoreError>;

    /// 32 random bytes under `name`, made at the first call and the same ever after, also for two callers at once (S14).
    async fn seed(&self, name: &str, fresh: [u8; 32]) -> Result<[u8; 32], StoreError>;

    /// Records a delivery together with all that it does, in one step or not at all. Durable when it returns. Of several copies,
    /// however many come at once, one is the first; that is remembered until [`Intake::keep_until`] at least (S23, requirement J2).
    ///
    /// Nothing is parked for a job that a task of this provider has by now, nor for a task that waits for no job: whoever binds a
    /// job and then looks at what is parked for it misses nothing (S24, requirement J3). Past [`MOST_PARKED`] of one provider the
    /// oldest goes, past [`MOST_DEAD`] the oldest dead letter.
    ///
    /// A dead letter that is tried again is taken if it is still laid aside, and is a repeat otherwise.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when one of the tasks is at another revision or gone, or is changed twice; then nothing happened.
    async fn take(&self, intake: Intake) -> Result<Taken, StoreError>;

    /// Whether a delivery was taken, durably: a look that spares repeats their work. The answer that counts is that of
    /// [`TaskStore::take`].
    async fn was_taken(&self, id: &DeliveryId) -> Result<bool, StoreError>;

    /// What is parked for a job or a task, oldest first (S25).
    async fn parked(&self, provider: &ProviderName, addressee: &Addressee) -> Result<Vec<Parked>, StoreError>;

    /// The names of all that is parked, `limit` at most, in no order: what was said may be large.
    async fn all_parked(&self, limit: usize) -> Result<Vec<ParkedKey>, StoreError>;

    /// The dead letters, newest first, `limit` at most.
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError>;

    /// One dead letter.
    async fn dead_letter(&self, id: &DeliveryId) -> Result<Option<DeadLetter>, StoreError>;

    /// Removes dead letters; gives how many there were.
    async fn drop_dead(&self, ids: &[DeliveryId]) -> Result<usize, StoreError>;

    /// Forgets deliveries whose time to be remembered has passed at `now`, and removes those that were parked for long enough, up to
    /// `limit` of each; gives the parked ones (S26). Many are no burden to others: it is done in small steps.
    async fn forget(&self, now: Timestamp, limit: usize) -> Result<Vec<ParkedKey>, StoreError>;

    /// Waits for all that was acknowledged to be on disk and lets go of the store's lock. Later calls fail with
    /// [`StoreError::Closed`] (S17).
    async fn close(&self) -> Result<(), StoreError>;
}

/// What `create` gave.
#[derive(Clone, Debug)]
pub enum Created {
    /// The task is new.
    New(Arc<Task>),
    /// The caller's key had been used, or the call joins a running job: this is the task of then.
    Existing(Arc<Task>),
}

/// One change of one task.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The revision that the change was made from.
    pub expected: Revision,
    /// The task after it; `next.revision` is later than `expected`.
    pub next: Task,
    /// What happened, oldest first; at least one.
    pub entries: Vec<AuditEntry>,
    /// Parked deliveries that it makes use of.
    pub unpark: Vec<ParkedKey>,
}

impl Commit {
    /// Applies `events` one after the other to `task`; unparks nothing.
    ///
    /// # Errors
    /// When the state does not take one of them.
    pub fn of(task: &Task, events: &[(TaskEvent, Cause)], at: Timestamp) -> Result<Self, crate::domain::IllegalTransition> {
        let mut next = task.clone();
        let mut entries = Vec::with_capacity(events.len());
        for (event, cause) in events {
            next = next.apply(event, at)?;
            entries.push(AuditEntry::of(&next, event, cause, at));
        }
        Ok(Self { expected: task.revision, next, entries, unpark: Vec::new() })
    }
}

/// One line of a task's history. Long texts are cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// The revision it led to.
    pub revision: Revision,
    /// The event's name.
    pub event: String,
    /// Who or what brought it.
    pub cause: String,
    /// The status after it.
    pub status: Status,
    /// The sentence for people after it.
    pub message: Option<String>,
}

impl AuditEntry {
    /// The entry for `event`, which made `task` what it is.
    #[must_use]
    pub fn of(task: &Task, event: &TaskEvent, cause: &Cause, at: Timestamp) -> Self {
        Self {
            at,
            revision: task.revision,
            event: event.name().to_owned(),
            cause: shortened(&cause.to_string()),
            status: task.status(),
            message: task.message.as_deref().map(shortened),
        }
    }

    /// The entry of a task's creation.
    #[must_use]
    pub fn created(task: &Task, cause: &Cause) -> Self {
        Self {
            at: task.created_at,
            revision: task.revision,
            event: "created".to_owned(),
            cause: shortened(&cause.to_string()),
            status: task.status(),
            message: task.message.as_deref().map(shortened),
        }
    }
}

/// The longest text in a history, in characters: a history is for reading, and every entry is a row that has to stay small.
const LONGEST_TEXT: usize = 500;

/// The beginning of a text that is too long for a history.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// Which tasks to list.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Whose.
    pub scope: Scope,
    /// The last task of the page before.
    pub after: Option<(Timestamp, TaskId)>,
    /// How many at most.
    pub limit: usize,
}
