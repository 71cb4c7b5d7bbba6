//! Hundreds of seeded lives of a provider that delivers: its deliveries come shuffled, doubled, late, early or not at all, between looks that
//! may fail, submits whose answers are lost, a store that refuses now and then, and processes that are killed. In the end every task shows what its job became (requirements
//! J2, J3, C4; hostile 58, 62, 64, 66).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use jobgate::domain::{JobFailure, JobState, ManualClock, Observation, Scope, Status, Task, TaskId, Timestamp};
use jobgate::engine::{Ingested, ProviderWebhook, Trust};
use jobgate::store::{ListQuery, MemoryStore, StoreError, TaskStore};
use jobgate_adapter_api::{Clock as _, ErrorKind, FixedRandom, Operation, Progress, Random, Retry};
use jobgate_webhooks::Kept;

use crate::delivering::{WEBHOOK, signed, step, tell, unsigned};
use crate::fake::{Trouble, done, running};
use crate::rig::{HOUR, Rig, SECOND, call, failure, result};

/// What the provider's deliveries are worth, and what else there is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum World {
    /// They have the job asked.
    Hints,
    /// They are believed.
    Payloads,
    /// They are all that there is: no look, no way to find a job. The provider repeats them until they are taken.
    Nothing,
}

/// A delivery on its way.
struct Sent {
    at: Timestamp,
    job: String,
    key: String,
    kept: Kept,
    /// It is sent again until it is taken.
    insists: bool,
}

/// A store that refuses what has to do with deliveries now and then, before it is done or after.
#[derive(Debug)]
struct Flaky {
    inner: MemoryStore,
    dice: FixedRandom,
    faults: AtomicU32,
    off: AtomicBool,
}

impl Flaky {
    async fn around(&self, call: &str) -> Result<(), StoreError> {
        let concerned = matches!(call, "take" | "was_taken" | "parked" | "find_by_job" | "commit");
        if concerned && !self.off.load(Ordering::SeqCst) && self.dice.unit() < 0.03 {
            self.faults.fetch_add(1, Ordering::SeqCst);
            return Err(StoreError::Unavailable("the store was told to fail".to_owned()));
        }
        Ok(())
    }
}

wrapped_store!(Flaky);

struct Life {
    rig: Rig,
    store: Arc<Flaky>,
    /// How the tasks that have ended were seen first.
    ended: BTreeMap<TaskId, String>,
    world: World,
    dice: Arc<FixedRandom>,
    on_the_way: Vec<Sent>,
    /// The jobs whose deliveries are on their way or through.
    known: BTreeMap<String, ()>,
    outcomes: BTreeMap<&'static str, u32>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let world = [World::Hints, World::Payloads, World::Nothing][usize::try_from(seed % 3).unwrap()];
        let dice = FixedRandom::new(seed ^ 0xF1A);
        let store = Arc::new(Flaky { inner: MemoryStore::new(), dice, faults: AtomicU32::new(0), off: AtomicBool::new(false) });
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
        let mut rig = Rig::over(clock, store.clone());
        rig.webhook =
            Some(ProviderWebhook { trust: if world == World::Hints { Trust::Hint } else { Trust::Payload }, ..WEBHOOK });
        rig.public_url = Some("https://gateway.example.com".to_owned());
        rig.policy.submit_budget = HOUR;
        let dice = Arc::new(FixedRandom::new(seed.wrapping_mul(0x9E37_79B9) ^ 0xD0));
        {
            let mut state = rig.fake.state();
            let alone = world == World::Nothing;
            state.capabilities.find = !alone && seed.is_multiple_of(2);
            state.capabilities.idempotent_submit = !alone && !seed.is_multiple_of(2);
            state.capabilities.callback = true;
            state.capabilities.pushed_only = alone;
            state.pace = Some(SECOND * u32::try_from(1 + seed % 40).unwrap());
            state.slow = Duration::from_millis(seed % 5 * 700);
            let counts = |done| running().with_progress(Progress { done, total: Some(9.0) });
            let end = if seed.is_multiple_of(4) {
                Observation::new(JobState::Failed(JobFailure::new("out of paint")))
            } else {
                done("film")
            };
            state.plan = vec![Observation::new(JobState::Queued), counts(2.0), counts(5.0), end];
            let dice = dice.clone();
            state.chance = Some(Box::new(move |operation| match (dice.unit(), operation) {
                (0.0..0.3, Operation::Submit) => Some(Trouble::Late(ErrorKind::OutcomeUnknown)),
                (0.0..0.2, Operation::Poll) => Some(Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff)),
                (_, _) => None,
            }));
        }
        Self {
            rig,
            store,
            ended: BTreeMap::new(),
            world,
            dice,
            on_the_way: Vec::new(),
            known: BTreeMap::new(),
            outcomes: BTreeMap::new(),
        }
    }

    fn chance(&self, of: f64) -> bool {
        self.dice.unit() < of
    }

    /// What the provider sends of jobs that are new to the world.
    fn send(&mut self) {
        let (pace, steps, jobs) = {
            let state = self.rig.fake.state();
            let jobs: Vec<_> = state.started.iter().map(|(id, at)| (id.clone(), *at, state.jobs[id].key.clone())).collect();
            (state.pace.unwrap(), state.plan.len(), jobs)
        };
        for (job, started, key) in jobs {
            if self.known.insert(job.clone(), ()).is_some() {
                continue;
            }
            for number in 0..steps {
                let body = step(&job, number);
                let alone = self.world == World::Nothing;
                let kept = if alone { unsigned(&body) } else { signed(&format!("{job}.{number}"), &body) };
                let copies = if self.chance(0.3) { 3 } else { 1 };
                for _ in 0..copies {
                    let insists = alone;
                    if !insists && self.chance(0.25) {
                        continue;
                    }
                    let delay = Duration::from_secs_f64(self.dice.unit() * if self.chance(0.3) { 120.0 } else { 0.5 });
                    let at = started.plus(pace * u32::try_from(number).unwrap() + delay);
                    self.on_the_way.push(Sent { at, job: job.clone(), key: key.clone(), kept: kept.clone(), insists });
                }
            }
        }
    }

    /// Delivers what has arrived, in an order of its own.
    async fn deliver(&mut self) {
        let now = self.rig.clock.now();
        let mut arrived: Vec<Sent> = self.on_the_way.extract_if(.., |sent| sent.at <= now).collect();
        while !arrived.is_empty() {
            let pick = usize::try_from((self.dice.unit() * 1000.0) as u64).unwrap() % arrived.len();
            let sent = arrived.swap_remove(pick);
            let tasks = self.tasks().await;
            let of_key = tasks.iter().find(|task| task.submit_key.as_str() == sent.key).map(|task| task.id);
            let address = (self.world == World::Nothing).then_some(of_key).flatten();
            match tell(&self.rig, &sent.kept, address).await {
                Ok(outcome) => {
                    assert_ne!(outcome, Ingested::Repeat { conflict: true }, "{}", sent.job);
                    *self.outcomes.entry(outcome.label()).or_default() += 1;
                }
                Err(_) if sent.insists => self.on_the_way.push(Sent { at: now.plus(5 * SECOND), ..sent }),
                Err(_) => {}
            }
        }
    }

    async fn tasks(&self) -> Vec<Arc<Task>> {
        self.store.inner.list(ListQuery { scope: Scope::Everybody, after: None, limit: 100 }).await.unwrap()
    }

    /// A task that has ended stays as it was seen first.
    async fn ends_stay(&mut self, seed: u64) {
        for task in self.tasks().await.iter().filter(|task| task.is_ended()) {
            let end = format!("{:?} {:?}", task.outcome(), task.updated_at);
            let first = self.ended.entry(task.id).or_insert_with(|| end.clone());
            assert_eq!(*first, end, "seed {seed}");
        }
    }

    async fn crash(&mut self) {
        self.rig.kill().await;
        // Claims do not outlive a process.
        let ids: Vec<_> = self.tasks().await.iter().map(|task| task.id).collect();
        self.store.inner.release(&ids).await.unwrap();
        self.rig.start().await;
    }

    async fn live(&mut self, seed: u64) {
        self.rig.start().await;
        for n in 0..3 {
            let engine = self.rig.engine();
            // The caller hangs up; the call goes on.
            let mut calling = Box::pin(async move { engine.call(call(n)).await });
            assert!(futures_util::poll!(&mut calling).is_pending());
        }
        for _ in 0..60 {
            self.rig.advance(Duration::from_millis((self.dice.unit() * 6000.0) as u64)).await;
            self.send();
            self.deliver().await;
            self.ends_stay(seed).await;
            if self.chance(0.08) {
                self.crash().await;
            }
        }
        self.rig.fake.state().chance = None;
        self.store.off.store(true, Ordering::SeqCst);
        for _ in 0..80 {
            self.rig.advance(60 * SECOND).await;
            self.send();
            self.deliver().await;
            self.ends_stay(seed).await;
        }
        let (tasks, jobs) = (self.tasks().await, self.rig.fake.jobs());
        let mut started = 0;
        for task in &tasks {
            let trail = self.rig.audit(&task.id).await;
            let why = format!("seed {seed}: {:?} {:?} {trail:?}", task.state, task.message);
            match jobs.iter().filter(|job| job.key == task.submit_key.as_str()).count() {
                1 => {
                    started += 1;
                    assert_eq!(task.status(), Status::Completed, "{why}");
                    let text = if seed.is_multiple_of(4) { "out of paint" } else { "film" };
                    assert_eq!(result(task), (seed.is_multiple_of(4), text.to_owned()), "{why}");
                }
                // The process was killed before it sent anything, and nobody can tell it so.
                0 if self.world == World::Nothing => assert_eq!(failure(task).0, "unknown_outcome", "{why}"),
                count => panic!("{count} jobs; {why}"),
            }
        }
        assert_eq!((tasks.len(), jobs.len()), (3, started), "seed {seed}");
        assert!(self.store.inner.all_parked(9).await.unwrap().is_empty(), "seed {seed}");
    }
}

/// Some hundred lives, in which all that order can bring about comes about.
#[tokio::test]
async fn in_whatever_order_deliveries_come_the_tasks_show_what_the_jobs_became() {
    let mut all: BTreeMap<&str, u32> = BTreeMap::new();
    let mut faults = 0;
    for seed in 0..300 {
        let mut life = Life::new(seed);
        Box::pin(life.live(seed)).await;
        faults += life.store.faults.load(Ordering::SeqCst);
        for (outcome, count) in life.outcomes {
            *all.entry(outcome).or_default() += count;
        }
    }
    assert!(faults > 1000, "the store failed {faults} times only");
    for outcome in ["applied", "hinted", "parked", "late", "stale", "repeat"] {
        assert!(all.get(outcome).is_some_and(|count| *count > 10), "{outcome} is not tested: {all:?}");
    }
}
