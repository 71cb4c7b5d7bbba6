//! A store that forgets with its process: for tests of the engine and for simulations. It keeps every clause but durability.

mod deliveries;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use self::deliveries::Deliveries;
use super::agenda::Agenda;
use super::{
    Addressee, AuditEntry, Commit, Created, DeadLetter, DeliveryId, Intake, ListQuery, Parked, ParkedKey, StoreError, Taken,
    TaskStore,
};
use crate::domain::{
    CallerKey, Cause, Principal, ProviderName, RequestName, Revision, Scope, Task, TaskId, TaskState, Timestamp, ToolName,
};

/// Tasks in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    tasks: HashMap<TaskId, Kept>,
    agenda: Agenda,
    created: BTreeSet<(Timestamp, TaskId)>,
    owned: BTreeMap<Principal, BTreeSet<(Timestamp, TaskId)>>,
    tenants: BTreeMap<String, BTreeSet<(Timestamp, TaskId)>>,
    live: HashMap<Principal, usize>,
    expiry: BTreeSet<(Timestamp, TaskId)>,
    jobs: BTreeMap<(ProviderName, String), BTreeSet<(Timestamp, TaskId)>>,
    keys: HashMap<(Principal, ToolName, String), TaskId>,
    client_ids: HashMap<(Principal, String), TaskId>,
    requests: BTreeMap<(Principal, RequestName), BTreeSet<(Timestamp, TaskId)>>,
    joinable: HashMap<(Principal, ToolName, [u8; 32]), TaskId>,
    deliveries: Deliveries,
    seeds: HashMap<String, [u8; 32]>,
}

#[derive(Debug)]
struct Kept {
    task: Arc<Task>,
    audit: Vec<AuditEntry>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed { Err(StoreError::Closed) } else { Ok(state) }
    }
}

impl State {
    fn task(&self, id: &TaskId) -> Option<Arc<Task>> {
        self.tasks.get(id).map(|kept| kept.task.clone())
    }

    /// That the task is still where `commit` starts from.
    fn expect(&self, commit: &Commit) -> Result<(), StoreError> {
        let there = self.tasks.get(&commit.next.id).is_some_and(|kept| kept.task.revision == commit.expected);
        if there { Ok(()) } else { Err(StoreError::Stale(commit.next.id)) }
    }

    fn commit(&mut self, commit: Commit) -> Arc<Task> {
        let Commit { expected: _, next, entries, unpark } = commit;
        if let Some(there) = self.task(&next.id) {
            self.unindex(&there);
        }
        let next = Arc::new(next);
        self.index(&next, None);
        if let Some(kept) = self.tasks.get_mut(&next.id) {
            kept.task = next.clone();
            kept.audit.extend(entries);
        }
        self.deliveries.unpark(&unpark);
        next
    }

    /// Whether whom a delivery would wait for need not be waited for.
    fn is_bound(&self, parked: &Parked) -> bool {
        match &parked.addressee {
            Addressee::Job(job) => self.jobs.get(&(parked.provider.clone(), job.clone())).is_some_and(|tasks| !tasks.is_empty()),
            Addressee::Task(id) => {
                !self.tasks.get(id).is_some_and(|kept| matches!(kept.task.state, TaskState::Submitting { .. }))
            }
        }
    }

    /// Puts a task into every index.
    fn index(&mut self, task: &Task, claimed_until: Option<Timestamp>) {
        let place = (task.created_at, task.id);
        self.created.insert(place);
        self.owned.entry(task.owner.clone()).or_default().insert(place);
        self.tenants.entry(task.owner.tenant().to_owned()).or_default().insert(place);
        if !task.is_ended() {
            *self.live.entry(task.owner.clone()).or_default() += 1;
        }
        if let Some(due) = task.due_at {
            self.agenda.add(&task.provider, due, task.id, claimed_until);
        }
        if let Some(end) = task.expires_at() {
            self.expiry.insert((end, task.id));
        }
        if let Some(job) = task.job() {
            self.jobs.entry((task.provider.clone(), job.id().to_owned())).or_default().insert(place);
        }
        if let Some(key) = &task.caller_key {
            self.keys.insert((task.owner.clone(), task.tool.clone(), key.key.clone()), task.id);
        }
        if let Some(client_id) = &task.names.client_id {
            self.client_ids.insert((task.owner.clone(), client_id.clone()), task.id);
        }
        if let Some(request) = &task.names.request {
            self.requests.entry((task.owner.clone(), request.clone())).or_default().insert(place);
        }
        if let Some(hash) = task.names.join.filter(|_| task.is_joinable()) {
            self.joinable.insert((task.owner.clone(), task.tool.clone(), hash), task.id);
        }
    }

    /// Takes a task out of every index, and the claim off it.
    fn unindex(&mut self, task: &Task) {
        let place = (task.created_at, task.id);
        self.created.remove(&place);
        if let Some(owned) = self.owned.get_mut(&task.owner) {
            owned.remove(&place);
        }
        if let Some(tenant) = self.tenants.get_mut(task.owner.tenant()) {
            tenant.remove(&place);
        }
        if !task.is_ended()
            && let Some(count) = self.live.get_mut(&task.owner)
        {
            *count -= 1;
        }
        self.agenda.remove(&task.provider, task.id);
        if let Some(end) = task.expires_at() {
            self.expiry.remove(&(end, task.id));
        }
        if let Some(job) = task.job()
            && let Some(tasks) = self.jobs.get_mut(&(task.provider.clone(), job.id().to_owned()))
        {
            tasks.remove(&place);
        }
        if let Some(key) = &task.caller_key {
            self.keys.remove(&(task.owner.clone(), task.tool.clone(), key.key.clone()));
        }
        if let Some(client_id) = &task.names.client_id {
            self.client_ids.remove(&(task.owner.clone(), client_id.clone()));
        }
        if let Some(request) = &task.names.request
            && let Some(tasks) = self.requests.get_mut(&(task.owner.clone(), request.clone()))
        {
            tasks.remove(&place);
        }
        if let Some(hash) = task.names.join.filter(|_| task.is_joinable()) {
            self.joinable.remove(&(task.owner.clone(), task.tool.clone(), hash));
        }
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn create(&self, task: Task, claimed_until: Option<Timestamp>, cause: Cause) -> Result<Created, StoreError> {
        let mut state = self.state()?;
        if let Some(key) = &task.caller_key
            && let Some(id) = state.keys.get(&(task.owner.clone(), task.tool.clone(), key.key.clone()))
            && let Some(there) = state.task(id)
        {
            return Ok(Created::Existing(there));
        }
        if let Some(client_id) = &task.names.client_id
            && state.client_ids.contains_key(&(task.owner.clone(), client_id.clone()))
        {
            return Err(StoreError::NameTaken);
        }
        if let Some(hash) = task.names.join
            && let Some(id) = state.joinable.get(&(task.owner.clone(), task.tool.clone(), hash))
            && let Some(there) = state.task(id)
        {
            return Ok(Created::Existing(there));
        }
        if state.tasks.contains_key(&task.id) {
            return Err(StoreError::Stale(task.id));
        }
        let audit = vec![AuditEntry::created(&task, &cause)];
        let task = Arc::new(task);
        state.index(&task, claimed_until);
        state.tasks.insert(task.id, Kept { task: task.clone(), audit });
        Ok(Created::New(task))
    }

    async fn get(&self, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        Ok(self.state()?.task(id))
    }

    async fn get_for(&self, scope: &Scope, id: &TaskId) -> Result<Option<Arc<Task>>, StoreError> {
        Ok(self.state()?.task(id).filter(|task| scope.covers(&task.owner)))
    }

    async fn commit(&self, commit: Commit) -> Result<Arc<Task>, StoreError> {
        let mut state = self.state()?;
        state.expect(&commit)?;
        Ok(state.commit(commit))
    }

    async fn claim_due(
        &self,
        provider: &ProviderName,
        now: Timestamp,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Arc<Task>>, StoreError> {
        let mut state = self.state()?;
        let claimed = state.agenda.claim(provider, now, now.plus(lease), limit);
        Ok(claimed.iter().filter_map(|id| state.task(id)).collect())
    }

    async fn release(&self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.state()?.agenda.release(ids);
        Ok(())
    }

    async fn snooze(&self, id: &TaskId, until: Timestamp) -> Result<(), StoreError> {
        self.state()?.agenda.snooze(*id, until);
        Ok(())
    }

    async fn next_due(&self, provider: &ProviderName) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.state()?.agenda.next(provider))
    }

    async fn providers(&self) -> Result<Vec<ProviderName>, StoreError> {
        Ok(self.state()?.agenda.providers())
    }

    async fn find_by_job(&self, provider: &ProviderName, job: &str) -> Result<Option<TaskId>, StoreError> {
        let state = self.state()?;
        let tasks = state.jobs.get(&(provider.clone(), job.to_owned()));
        Ok(tasks.and_then(|tasks| tasks.last()).map(|(_, id)| *id))
    }

    async fn find_by_key(&self, owner: &Principal, tool: &ToolName, key: &CallerKey) -> Result<Option<TaskId>, StoreError> {
        Ok(self.state()?.keys.get(&(owner.clone(), tool.clone(), key.key.clone())).copied())
    }

    async fn find_by_client_id(&self, owner: &Principal, client_id: &str) -> Result<Option<TaskId>, StoreError> {
        Ok(self.state()?.client_ids.get(&(owner.clone(), client_id.to_owned())).copied())
    }

    async fn find_by_request(&self, owner: &Principal, request: &RequestName) -> Result<Option<TaskId>, StoreError> {
        let state = self.state()?;
        let tasks = state.requests.get(&(owner.clone(), request.clone()));
        Ok(tasks.and_then(|tasks| tasks.last()).map(|(_, id)| *id))
    }

    async fn find_by_join(&self, owner: &Principal, tool: &ToolName, hash: &[u8; 32]) -> Result<Option<TaskId>, StoreError> {
        Ok(self.state()?.joinable.get(&(owner.clone(), tool.clone(), *hash)).copied())
    }

    async fn list(&self, query: ListQuery) -> Result<Vec<Arc<Task>>, StoreError> {
        let state = self.state()?;
        let nothing = BTreeSet::new();
        let places = match &query.scope {
            Scope::Owner(owner) => state.owned.get(owner).unwrap_or(&nothing),
            Scope::Tenant(admin) => state.tenants.get(admin.tenant()).unwrap_or(&nothing),
            Scope::Everybody => &state.created,
        };
        let older = |place: &&(Timestamp, TaskId)| query.after.as_ref().is_none_or(|after| *place < after);
        Ok(places.iter().rev().skip_while(|place| !older(place)).take(query.limit).filter_map(|(_, id)| state.task(id)).collect())
    }

    async fn audit(&self, id: &TaskId) -> Result<Vec<AuditEntry>, StoreError> {
        Ok(self.state()?.tasks.get(id).map(|kept| kept.audit.clone()).unwrap_or_default())
    }

    async fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<Arc<Task>>, StoreError> {
        let state = self.state()?;
        let ended = state.expiry.iter().take_while(|(end, _)| *end <= now).take(limit);
        Ok(ended.filter_map(|(_, id)| state.task(id)).collect())
    }

    async fn purge(&self, tasks: &[(TaskId, Revision)]) -> Result<usize, StoreError> {
        let mut state = self.state()?;
        let mut count = 0;
        for (id, revision) in tasks {
            if let Some(there) = state.task(id).filter(|task| task.revision == *revision) {
                state.unindex(&there);
                state.tasks.remove(id);
                count += 1;
            }
        }
        Ok(count)
    }

    async fn count_live(&self, owner: &Principal) -> Result<usize, StoreError> {
        Ok(self.state()?.live.get(owner).copied().unwrap_or_default())
    }

    async fn seed(&self, name: &str, fresh: [u8; 32]) -> Result<[u8; 32], StoreError> {
        Ok(*self.state()?.seeds.entry(name.to_owned()).or_insert(fresh))
    }

    async fn take(&self, mut intake: Intake) -> Result<Taken, StoreError> {
        let mut state = self.state()?;
        if intake.redriven {
            if state.deliveries.dead_letter(&intake.id).is_none() {
                return Ok(Taken::Repeat { conflict: false });
            }
        } else if let Some(hash) = state.deliveries.taken(&intake.id) {
            return Ok(Taken::Repeat { conflict: hash != intake.body_hash });
        }
        let mut changed = BTreeSet::new();
        for commit in &intake.commits {
            state.expect(commit)?;
            if !changed.insert(commit.next.id) {
                return Err(StoreError::Stale(commit.next.id));
            }
        }
        if intake.parked.iter().any(|parked| state.is_bound(parked)) {
            return Ok(Taken::Bound);
        }
        let commits = std::mem::take(&mut intake.commits);
        let tasks = commits.into_iter().map(|commit| state.commit(commit)).collect();
        state.deliveries.record(intake);
        Ok(Taken::First(tasks))
    }

    async fn was_taken(&self, id: &DeliveryId) -> Result<bool, StoreError> {
        Ok(self.state()?.deliveries.taken(id).is_some())
    }

    async fn parked(&self, provider: &ProviderName, addressee: &Addressee) -> Result<Vec<Parked>, StoreError> {
        Ok(self.state()?.deliveries.parked(provider, addressee))
    }

    async fn all_parked(&self, limit: usize) -> Result<Vec<ParkedKey>, StoreError> {
        Ok(self.state()?.deliveries.all_parked(limit))
    }

    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.state()?.deliveries.dead_letters(limit))
    }

    async fn dead_letter(&self, id: &DeliveryId) -> Result<Option<DeadLetter>, StoreError> {
        Ok(self.state()?.deliveries.dead_letter(id).cloned())
    }

    async fn drop_dead(&self, ids: &[DeliveryId]) -> Result<usize, StoreError> {
        Ok(self.state()?.deliveries.drop_dead(ids))
    }

    async fn forget(&self, now: Timestamp, limit: usize) -> Result<Vec<ParkedKey>, StoreError> {
        Ok(self.state()?.deliveries.forget(now, limit))
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.state()?.closed = true;
        Ok(())
    }
}
