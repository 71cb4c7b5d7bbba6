//! Random sequences of operations beside a model that is a list of tasks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jobgate::domain::{Cause, JobRef, Names, Principal, RequestName, Revision, Scope, Task, TaskId, TaskState};
use jobgate::store::{Created, ListQuery, StoreError, TaskStore};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::Harness;
use super::support::{at, change, ci, ended, id, keyed, owner, task};

const LEASE: Duration = Duration::from_millis(10);

#[derive(Clone, Debug)]
enum Step {
    Create { number: u64, key: Option<u8>, bob: bool, client_id: Option<u8>, join: Option<u8>, request: Option<u8> },
    Commit { number: u64, stale: bool, to: u8, due: Option<i64> },
    Claim { limit: usize },
    Release { number: u64 },
    Snooze { number: u64, ms: i64 },
    Purge { number: u64, stale: bool },
    Wait { ms: i64 },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 0..12_u64;
    let name = || proptest::option::weighted(0.4, 0..3_u8);
    let due = proptest::option::of(0..60_i64);
    prop_oneof![
        4 => (number(), name(), any::<bool>(), name(), name(), name()).prop_map(|(number, key, bob, client_id, join, request)| {
            Step::Create { number, key, bob, client_id, join, request }
        }),
        6 => (number(), proptest::bool::weighted(0.1), 0..4_u8, due)
            .prop_map(|(number, stale, to, due)| Step::Commit { number, stale, to, due }),
        3 => (1..5_usize).prop_map(|limit| Step::Claim { limit }),
        1 => number().prop_map(|number| Step::Release { number }),
        1 => (number(), 0..30_i64).prop_map(|(number, ms)| Step::Snooze { number, ms }),
        1 => (number(), proptest::bool::weighted(0.1)).prop_map(|(number, stale)| Step::Purge { number, stale }),
        2 => (1..15_i64).prop_map(|ms| Step::Wait { ms }),
        1 => Just(Step::Reopen),
    ]
}

fn name_of(request: u8) -> RequestName {
    RequestName { session: (request > 0).then(|| "s".to_owned()), id: request.to_string() }
}

/// What the store should hold.
#[derive(Default)]
struct Model {
    tasks: BTreeMap<TaskId, Arc<Task>>,
    /// The moment that stands in for a task's `due_at` while it is claimed or put off.
    claims: BTreeMap<TaskId, i64>,
    history: BTreeMap<TaskId, usize>,
    now: i64,
}

impl Model {
    fn claimable(&self) -> Vec<TaskId> {
        let at = |task: &Arc<Task>| Some((self.claims.get(&task.id).copied().unwrap_or(task.due_at?.as_millis()), task.id));
        let mut due: Vec<_> = self.tasks.values().filter_map(at).collect();
        due.sort_unstable();
        due.into_iter().filter(|(due, _)| *due <= self.now).map(|(_, id)| id).collect()
    }

    async fn step(&mut self, store: &dyn TaskStore, step: &Step) {
        match *step {
            Step::Create { number, key, bob, client_id, join, request } => {
                let plain = key.map_or_else(|| task(number), |key| keyed(number, &key.to_string()));
                let named = plain.with_names(Names {
                    client_id: client_id.map(|name| name.to_string()),
                    request: request.map(name_of),
                    join: join.map(|name| [name; 32]),
                });
                self.create(store, if bob { Task { owner: owner("bob"), ..named } } else { named }).await;
            }
            Step::Commit { number, stale, to, due } => self.commit(store, number, stale, to, due).await,
            Step::Claim { limit } => {
                let expected: Vec<_> = self.claimable().into_iter().take(limit).collect();
                let claimed = store.claim_due(&ci(), at(self.now), LEASE, limit).await.unwrap();
                assert_eq!(claimed.iter().map(|task| task.id).collect::<Vec<_>>(), expected);
                self.claims.extend(expected.iter().map(|id| (*id, self.now + 10)));
            }
            Step::Release { number } => {
                store.release(&[id(number)]).await.unwrap();
                self.claims.remove(&id(number));
            }
            Step::Snooze { number, ms } => {
                store.snooze(&id(number), at(self.now + ms)).await.unwrap();
                if self.claims.contains_key(&id(number)) {
                    self.claims.insert(id(number), self.now + ms);
                }
            }
            Step::Purge { number, stale } => {
                let id = id(number);
                let there = self.tasks.get(&id).map_or(Revision(1), |task| task.revision);
                let revision = if stale { there.next() } else { there };
                let expected = usize::from(!stale && self.tasks.contains_key(&id));
                assert_eq!(store.purge(&[(id, revision)]).await.unwrap(), expected);
                if expected == 1 {
                    self.tasks.remove(&id);
                    self.claims.remove(&id);
                    self.history.remove(&id);
                }
            }
            Step::Wait { ms } => self.now += ms,
            // Done by the caller; claims do not outlive the process.
            Step::Reopen => self.claims.clear(),
        }
    }

    fn find(&self, owner: &Principal, wanted: impl Fn(&Task) -> bool) -> Option<Arc<Task>> {
        let found = self.tasks.values().filter(|task| task.owner == *owner && wanted(task));
        found.max_by_key(|task| (task.created_at, task.id)).cloned()
    }

    async fn create(&mut self, store: &dyn TaskStore, new: Task) {
        let twin = self.find(&new.owner, |there| new.caller_key.is_some() && there.caller_key == new.caller_key);
        let names = &new.names;
        let taken = self.find(&new.owner, |there| names.client_id.is_some() && there.names.client_id == names.client_id);
        let shared = self.find(&new.owner, |there| there.is_joinable() && there.names.join == names.join);
        let made = store.create(new.clone(), None, Cause::Operator).await;
        match (twin, taken, shared, self.tasks.contains_key(&new.id)) {
            (Some(there), _, _, _) | (None, None, Some(there), _) => {
                assert!(matches!(made, Ok(Created::Existing(made)) if made == there));
            }
            (None, Some(_), _, _) => assert_eq!(made.unwrap_err(), StoreError::NameTaken),
            (None, None, None, true) => assert_eq!(made.unwrap_err(), StoreError::Stale(new.id)),
            (None, None, None, false) => {
                assert!(matches!(made, Ok(Created::New(there)) if *there == new));
                self.history.insert(new.id, 1);
                self.tasks.insert(new.id, Arc::new(new));
            }
        }
    }

    async fn commit(&mut self, store: &dyn TaskStore, number: u64, stale: bool, to: u8, due: Option<i64>) {
        let there = self.tasks.get(&id(number)).cloned();
        let from = there.clone().unwrap_or_else(|| Arc::new(task(number)));
        // What has ended stays so, whoever commits.
        let to = if from.is_ended() { 3 } else { to };
        let mut commit = change(&from, |task| {
            task.due_at = due.map(at);
            task.state = match to {
                0 => TaskState::Submitting { attempt: 2, unsettled: true },
                1 => TaskState::Running { job: JobRef::new((number % 3).to_string()) },
                2 => TaskState::InputRequired { job: JobRef::new("all") },
                _ => ended(&"large ".repeat(if number.is_multiple_of(2) { 2000 } else { 1 })),
            };
        });
        if stale {
            commit.expected = commit.expected.next();
            commit.next.revision = commit.expected.next();
        }
        let next = Arc::new(commit.next.clone());
        let done = store.commit(commit).await;
        if there.is_none() || stale {
            assert_eq!(done.unwrap_err(), StoreError::Stale(next.id));
        } else {
            assert_eq!(done.unwrap(), next);
            *self.history.entry(next.id).or_default() += 1;
            self.claims.remove(&next.id);
            self.tasks.insert(next.id, next);
        }
    }

    /// Everything that can be asked has the model's answer.
    async fn compare(&self, store: &dyn TaskStore) {
        for number in 0..12 {
            assert_eq!(store.get(&id(number)).await.unwrap().as_ref(), self.tasks.get(&id(number)));
            let history = self.history.get(&id(number)).copied().unwrap_or_default();
            assert_eq!(store.audit(&id(number)).await.unwrap().len(), history);
        }
        let mut all: Vec<_> = self.tasks.values().map(|task| (task.created_at, task.id)).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        for scope in [Scope::Everybody, Scope::Tenant(owner("root"))] {
            let list = store.list(ListQuery { scope, after: None, limit: 99 }).await.unwrap();
            assert_eq!(list.iter().map(|task| (task.created_at, task.id)).collect::<Vec<_>>(), all);
        }
        for name in ["ann", "bob"] {
            let live = self.tasks.values().filter(|task| task.owner == owner(name) && !task.is_ended()).count();
            assert_eq!(store.count_live(&owner(name)).await.unwrap(), live);
            let owner = owner(name);
            for name in 0..3 {
                let found = |wanted: &dyn Fn(&Task) -> bool| self.find(&owner, wanted).map(|task| task.id);
                let text = name.to_string();
                let expected = found(&|task| task.names.client_id.as_ref() == Some(&text));
                assert_eq!(store.find_by_client_id(&owner, &text).await.unwrap(), expected);
                let expected = found(&|task| task.names.request == Some(name_of(name)));
                assert_eq!(store.find_by_request(&owner, &name_of(name)).await.unwrap(), expected);
                let expected = found(&|task| task.is_joinable() && task.names.join == Some([name; 32]));
                assert_eq!(store.find_by_join(&owner, &task(1).tool, &[name; 32]).await.unwrap(), expected);
            }
            let own: Vec<_> = all.iter().filter(|(_, id)| self.tasks[id].owner == owner).copied().collect();
            let list = store.list(ListQuery { scope: Scope::from(&owner), after: None, limit: 99 }).await.unwrap();
            assert_eq!(list.iter().map(|task| (task.created_at, task.id)).collect::<Vec<_>>(), own);
        }
        for job in ["0", "1", "2", "all", "4711"] {
            let stand = self.tasks.values().filter(|task| task.job().is_some_and(|of| of.id() == job));
            let newest = stand.max_by_key(|task| (task.created_at, task.id)).map(|task| task.id);
            assert_eq!(store.find_by_job(&ci(), job).await.unwrap(), newest);
        }
        let claimable = |task: &Arc<Task>| {
            let due = task.due_at?.as_millis();
            Some(self.claims.get(&task.id).map_or(due, |until| *until))
        };
        assert_eq!(store.next_due(&ci()).await.unwrap(), self.tasks.values().filter_map(claimable).min().map(at));
    }
}

/// S1–S22 together, in whatever order.
pub(crate) async fn any_sequence_of_operations_ends_as_the_model_says<H: Harness>(_: H) {
    let mut runner = TestRunner::deterministic();
    let steps = proptest::collection::vec(step(), 1..80);
    for _ in 0..24 {
        let steps = steps.new_tree(&mut runner).unwrap().current();
        let place = H::new();
        let mut store = place.open().await;
        let mut model = Model::default();
        for step in &steps {
            // A store that cannot be opened again keeps its claims, so it skips the step whole.
            if matches!(step, Step::Reopen) {
                if !H::DURABLE {
                    continue;
                }
                store = place.reopen(store).await;
            }
            model.step(&*store, step).await;
        }
        model.compare(&*store).await;
        let store = place.reopen(store).await;
        if H::DURABLE {
            model.claims.clear();
        }
        model.compare(&*store).await;
        store.close().await.unwrap();
        drop(store);
        assert_eq!(place.problems(), Vec::<String>::new());
    }
}
