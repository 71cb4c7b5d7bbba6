//! A store that kills its own process at a chosen durable step, as the machine would: SIGKILL, nothing runs after it.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jobgate::domain::{
    CallerKey, Cause, Principal, ProviderName, RequestName, Revision, Scope, Task, TaskId, Timestamp, ToolName,
};
use jobgate::store::{
    Addressee, AuditEntry, Commit, Created, DeadLetter, DeliveryId, Intake, ListQuery, Parked, ParkedKey, StoreError, Taken,
    TaskStore,
};
use rustix::process::{Signal, getpid, kill_process};

/// Where to die: right before or right after the nth durable step of this process, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strike {
    pub(crate) after: bool,
    pub(crate) nth: usize,
}

/// A store with a strike. Every durable step is written down first, for the parent.
#[derive(Debug)]
pub(crate) struct Struck {
    inner: Arc<dyn TaskStore>,
    strike: Option<Strike>,
    steps: AtomicUsize,
    record: Mutex<File>,
}

impl Struck {
    pub(crate) fn new(inner: Arc<dyn TaskStore>, strike: Option<Strike>, record: &Path) -> Self {
        let record = File::options().create(true).append(true).open(record).expect("the record can be written");
        Self { inner, strike, steps: AtomicUsize::new(0), record: Mutex::new(record) }
    }

    /// Counts a step and writes it down.
    fn step(&self, name: &str) -> usize {
        let nth = self.steps.fetch_add(1, Ordering::SeqCst) + 1;
        writeln!(self.record.lock().expect("nobody panics while writing"), "{name}").expect("the record can be written");
        self.die_if(nth, false);
        nth
    }

    fn die_if(&self, nth: usize, after: bool) {
        if self.strike == Some(Strike { after, nth }) {
            kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
            // The signal is on its way; nothing may happen until it is here.
            loop {
                std::thread::park();
            }
        }
    }
}

#[async_trait]
impl TaskStore for Struck {
    async fn create(&self, task: Task, claimed_until: Option<Timestamp>, cause: Cause) -> Result<Created, StoreError> {
        let nth = self.step("created");
        let created = self.inner.create(task, claimed_until, cause).await;
        self.die_if(nth, true);
        created
    }

    async fn commit(&self, commit: Commit) -> Result<Arc<Task>, StoreError> {
        let events: Vec<&str> = commit.entries.iter().map(|entry| entry.event.as_str()).collect();
        let nth = self.step(&format!("{} -> {}", events.join("+"), commit.next.status().as_str()));
        let committed = self.inner.commit(commit).await;
        self.die_if(nth, true);
        committed
    }

    async fn take(&self, intake: Intake) -> Result<Taken, StoreError> {
        let nth = self.step("taken");
        let taken = self.inner.take(intake).await;
        self.die_if(nth, true);
        taken
    }

    async fn was_taken(&self, id: &DeliveryId) -> Result<bool, StoreError> {
        self.inner.was_taken(id).await
    }

    async fn parked(&self, provider: &ProviderName, addressee: &Addressee) -> Result<Vec<Parked>, StoreError> {
        self.inner.parked(provider, addressee).await
    }

    async fn all_parked(&self, limit: usize) -> Result<Vec<ParkedKey>, StoreError> {
        self.inner.all_parked(limit).await
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
        self.inner.dead_letters(limit).await
    }

    async fn dead_letter(&self, id: &DeliveryId) -> Result<Option<DeadLetter>, StoreError> {
        self.inner.dead_letter(id).await
    }

    async fn drop_dead(&self, ids: &[DeliveryId]) -> Result<usize, StoreError> {
        self.inner.drop_dead(ids).await
    }

    async fn forget(&self, now: Timestamp, limit: usize) -> Result<Vec<ParkedKey>, StoreError> {
        self.inner.forget(now, limit).await
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        self.inner.get(id).await
    }

    async fn get_for(&self, scope: &Scope, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        self.inner.get_for(scope, id).await
    }

    async fn claim_due(
        &self,
        provider: &ProviderName,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Arc<Task>>, StoreError> {
        self.inner.claim_due(provider, now, lease, limit).await
    }

    async fn release(&self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.inner.release(ids).await
    }

    async fn snooze(&self, id: &TaskId, until: Timestamp) -> Result<(), StoreError> {
        self.inner.snooze(id, until).await
    }

    async fn next_due(&self, provider: &ProviderName) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_due(provider).await
    }

    async fn providers(&self) -> Result<Vec<ProviderName>, StoreError> {
        self.inner.providers().await
    }

    async fn find_by_job(&self, provider: &ProviderName, job: &str) -> Result<Option<TaskId>, StoreError> {
        self.inner.find_by_job(provider, job).await
    }

    async fn find_by_key(&self, owner: &Principal, tool: &ToolName, key: &CallerKey) -> Result<Option<TaskId>, StoreError> {
        self.inner.find_by_key(owner, tool, key).await
    }

    async fn find_by_client_id(&self, owner: &Principal, client_id: &str) -> Result<Option<TaskId>, StoreError> {
        self.inner.find_by_client_id(owner, client_id).await
    }

    async fn find_by_request(&self, owner: &Principal, request: &RequestName) -> Result<Option<TaskId>, StoreError> {
        self.inner.find_by_request(owner, request).await
    }

    async fn find_by_join(&self, owner: &Principal, tool: &ToolName, hash: &[u8; 32]) -> Result<Option<TaskId>, StoreError> {
        self.inner.find_by_join(owner, tool, hash).await
    }

    async fn list(&self, query: ListQuery) -> Result<Vec<Arc<Task>>, StoreError> {
        self.inner.list(query).await
    }

    async fn audit(&self, id: &TaskId) -> Result<Vec<AuditEntry>, StoreError> {
        self.inner.audit(id).await
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Arc<Task>>, StoreError> {
        self.inner.expired(now, limit).await
    }

    async fn purge(&self, tasks: &[(TaskId, Revision)]) -> Result<usize, StoreError> {
        self.inner.purge(tasks).await
    }

    async fn count_live(&self, owner: &Principal) -> Result<usize, StoreError> {
        self.inner.count_live(owner).await
    }

    async fn seed(&self, name: &str, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.inner.seed(name, fresh).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.inner.close().await
    }
}
