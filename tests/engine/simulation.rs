//! Hundreds of seeded lives of a gateway: every call to the provider may fail in every way, and the process is killed at random
//! awaits, before or after a write or a call took effect. Then everything converges: nothing lost, nothing doubled, nothing stuck
//! (requirements A1, B9, C3, C4, E3, F1).

use std::collections::BTreeMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use jobgate::domain::{
    InputAction, InputAnswer, InputAnswers, InputKind, InputRequest, JobState, ManualClock, Observation, Scope, Status, TaskId,
    Timestamp,
};
use jobgate::engine::{Call, Called};
use jobgate::store::{ListQuery, MemoryStore, TaskStore};
use jobgate_adapter_api::{Clock as _, ErrorKind, FixedRandom, Operation, Random, Retry};
use serde_json::json;

use crate::fake::{Trouble, done, running};
use crate::rig::{HOUR, Rig, SECOND, call, me};

/// Goes off after a number of steps; whoever takes that step never comes back.
#[derive(Debug)]
struct Bomb {
    steps: AtomicI64,
    off: AtomicBool,
}

impl Bomb {
    fn new() -> Arc<Self> {
        Arc::new(Self { steps: AtomicI64::new(i64::MAX), off: AtomicBool::new(false) })
    }

    fn set(&self, steps: i64) {
        self.off.store(false, Ordering::SeqCst);
        self.steps.store(steps, Ordering::SeqCst);
    }

    fn goes_off(&self) -> bool {
        let off = self.steps.fetch_sub(1, Ordering::SeqCst) <= 1;
        self.off.fetch_or(off, Ordering::SeqCst) || off
    }

    fn has_gone_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }

    async fn step(&self) {
        if self.goes_off() {
            std::future::pending().await
        }
    }
}

/// A store in which the process may die before and after every call.
struct Trap {
    inner: MemoryStore,
    bomb: Arc<Bomb>,
}

impl fmt::Debug for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trap")
    }
}

impl Trap {
    async fn around(&self, _: &str) {
        self.bomb.step().await;
    }
}

wrapped_store!(Trap);

struct World {
    rig: Rig,
    store: Arc<Trap>,
    bomb: Arc<Bomb>,
    dice: FixedRandom,
    crashes: u32,
    /// What callers were told, by their key.
    held: BTreeMap<u64, TaskId>,
    /// What callers wanted stopped.
    cancelled: Vec<u64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let bomb = Bomb::new();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
        let store = Arc::new(Trap { inner: MemoryStore::new(), bomb: bomb.clone() });
        let mut rig = Rig::over(clock, store.clone());
        rig.policy.submit_budget = 3 * HOUR;
        rig.policy.silence_limit = 3 * HOUR;
        rig.provider.concurrency = 1 + usize::try_from(seed % 4).unwrap();
        let dice = FixedRandom::new(seed.wrapping_mul(0x9E37_79B9));
        Self { rig, store, bomb, dice, crashes: 0, held: BTreeMap::new(), cancelled: Vec::new() }
    }

    fn roll(&self, sides: u64) -> u64 {
        let mut bytes = [0; 8];
        self.dice.fill(&mut bytes);
        u64::from_le_bytes(bytes) % sides
    }

    fn arm(&self) {
        let steps = if self.crashes < 6 { i64::try_from(3 + self.roll(90)).unwrap() } else { i64::MAX };
        self.bomb.set(steps);
    }

    fn set_up(&self, seed: u64) {
        let (find, idempotent_submit) = [(true, true), (true, false), (false, true)][usize::try_from(seed % 3).unwrap()];
        let bomb = self.bomb.clone();
        let dice = FixedRandom::new(seed ^ 0xD1CE);
        let mut state = self.rig.fake.state();
        state.capabilities.find = find;
        state.capabilities.escalates_after = seed.is_multiple_of(2).then_some(30 * SECOND);
        state.stubborn = seed.is_multiple_of(4);
        state.capabilities.idempotent_submit = idempotent_submit;
        state.find_lag = Duration::from_secs(seed % 20);
        state.tell_at_once = seed.is_multiple_of(5);
        state.slow = Duration::from_millis(seed % 7 * 150);
        let form = InputKind::Form { schema: json!({"type": "object"}) };
        let question = InputRequest { key: "go".to_owned(), message: "Go on?".to_owned(), kind: form };
        state.plan = vec![
            running(),
            running().with_message("half"),
            Observation::new(JobState::InputRequired(vec![question])),
            running(),
            done("film"),
        ];
        state.chance = Some(Box::new(move |operation| {
            if bomb.goes_off() {
                return Some(if dice.unit() < 0.5 { Trouble::Hang } else { Trouble::Lost });
            }
            match (dice.unit(), operation) {
                (0.0..0.08, _) => Some(Trouble::Fail(ErrorKind::Unavailable, Retry::Backoff)),
                (0.08..0.11, _) => Some(Trouble::Fail(ErrorKind::RateLimited, Retry::After(3 * SECOND))),
                (0.11..0.16, Operation::Submit) => Some(Trouble::Late(ErrorKind::OutcomeUnknown)),
                (0.16..0.20, Operation::Submit) => Some(Trouble::Fail(ErrorKind::OutcomeUnknown, Retry::Backoff)),
                (0.11..0.20, _) => Some(Trouble::Late(ErrorKind::Unavailable)),
                (0.20..0.23, _) => Some(Trouble::Hang),
                (0.23..0.25, _) => Some(Trouble::Lost),
                (0.25..0.28, _) => Some(Trouble::Fail(ErrorKind::Protocol, Retry::Backoff)),
                (_, _) => None,
            }
        }));
    }

    /// Runs `future` until it ends, or the process dies.
    async fn alive<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(self.rig.drive(future));
        std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
            std::task::Poll::Ready(value) => std::task::Poll::Ready(Some(value)),
            std::task::Poll::Pending if self.bomb.has_gone_off() => std::task::Poll::Ready(None),
            std::task::Poll::Pending => std::task::Poll::Pending,
        })
        .await
    }

    /// Kills the process if its time has come, and starts it again until it lives.
    async fn revive(&mut self) {
        while self.bomb.has_gone_off() {
            self.crashes += 1;
            self.rig.kill().await;
            self.bomb.set(i64::MAX);
            // Claims do not outlive a process.
            let all = self.store.inner.list(ListQuery { scope: Scope::Everybody, after: None, limit: 1000 }).await.unwrap();
            self.store.inner.release(&all.iter().map(|task| task.id).collect::<Vec<_>>()).await.unwrap();
            self.arm();
            self.start().await;
        }
    }

    async fn start(&mut self) {
        let parts = self.rig.parts();
        let started = self.alive(jobgate::engine::Engine::start(parts)).await;
        if let Some(engine) = started {
            self.rig.use_engine(engine.unwrap());
        }
    }

    async fn act(&mut self) {
        let engine = self.rig.engine();
        let n = self.roll(6);
        match (self.roll(8), self.held.get(&n).copied()) {
            (0..=2, _) => {
                let wish = Call { key: Some(format!("wish {n}")), ..call(n) };
                if let Some(called) = self.alive(engine.call(wish)).await {
                    let Called::Task(task) = called.unwrap() else { panic!("refused") };
                    let before = self.held.insert(n, task.id);
                    assert!(before.is_none_or(|before| before == task.id), "one key, two tasks");
                }
            }
            (3, Some(id)) if n < 2 => {
                // The wish may be recorded though its answer never comes.
                self.cancelled.push(n);
                if let Some(task) = self.alive(engine.cancel(&me(), &id, n == 1)).await {
                    task.unwrap();
                }
            }
            (4..=5, Some(id)) => drop(self.alive(self.answer(id)).await),
            (_, _) => self.advance(Duration::from_millis(self.roll(20_000))).await,
        }
    }

    async fn answer(&self, id: TaskId) {
        let answer = InputAnswer { action: InputAction::Accept, content: Some(json!({})) };
        let answers = InputAnswers::from([("go".to_owned(), answer)]);
        self.rig.engine().answer(&me(), &id, answers).await.unwrap();
    }

    /// Lets time pass, unless the process dies on the way.
    async fn advance(&self, span: Duration) {
        let until = self.rig.clock.now().plus(span);
        while !self.bomb.has_gone_off() && self.rig.clock.now() < until {
            let next = self.rig.clock.next_wake().unwrap_or(until).clamp(self.rig.clock.now(), until);
            self.rig.clock.set(next);
            // Less than it takes for everything to come to rest: in life, time does not wait for that either.
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// The end of all trouble: everybody asks again and answers what is asked, and time passes.
    async fn converge(&mut self, seed: u64) {
        self.bomb.set(i64::MAX);
        self.rig.fake.state().chance = None;
        for n in 0..6 {
            let wish = Call { key: Some(format!("wish {n}")), ..call(n) };
            let Called::Task(task) = self.rig.call(wish).await.unwrap() else { panic!("seed {seed}: refused") };
            let before = self.held.insert(n, task.id);
            assert!(before.is_none_or(|before| before == task.id), "seed {seed}: one key, two tasks");
        }
        for _ in 0..20 {
            for id in self.held.values() {
                self.answer(*id).await;
            }
            self.rig.advance(60 * SECOND).await;
        }
    }

    async fn check(&self, seed: u64) {
        let tasks = self.store.inner.list(ListQuery { scope: Scope::Everybody, after: None, limit: 1000 }).await.unwrap();
        assert_eq!(tasks.len(), 6, "seed {seed}: as many tasks as wishes");
        let jobs = self.rig.fake.jobs();
        assert_eq!(self.rig.fake.state().overlaps, [], "seed {seed}: two calls at once about one job");
        for (n, id) in &self.held {
            let task = tasks.iter().find(|task| task.id == *id).unwrap_or_else(|| panic!("seed {seed}: task {n} is lost"));
            let its: Vec<_> = jobs.iter().filter(|job| job.key == task.submit_key.as_str()).collect();
            let why = format!("seed {seed}, wish {n}: {:?} {:?} {its:?}\n{:?}", task.state, task.message, self.trail(id).await);
            assert!(its.len() <= 1, "doubled: {why}");
            assert!(!task.is_bound_to_stop(), "owed for ever: {why}");
            match task.status() {
                Status::Completed => {
                    assert_eq!(its.len(), 1, "{why}");
                    assert_eq!(its[0].answers.get("go"), Some(&1), "answered once: {why}");
                }
                Status::Cancelled => {
                    assert!(self.cancelled.contains(n), "{why}");
                    assert!(its.iter().all(|job| job.cancelled || job.answers.contains_key("go")), "{why}");
                }
                Status::Working | Status::InputRequired | Status::Failed => panic!("{why}"),
            }
        }
        assert!(jobs.iter().all(|job| tasks.iter().any(|task| task.submit_key.as_str() == job.key)), "seed {seed}: orphans");
    }

    async fn trail(&self, id: &TaskId) -> Vec<String> {
        self.store.inner.audit(id).await.unwrap().iter().map(|entry| format!("{} {}", entry.event, entry.cause)).collect()
    }
}

async fn live(seed: u64) -> u32 {
    let mut world = World::new(seed);
    world.set_up(seed);
    world.arm();
    world.start().await;
    for _ in 0..60 {
        world.revive().await;
        world.act().await;
    }
    world.revive().await;
    world.converge(seed).await;
    world.check(seed).await;
    world.crashes
}

async fn live_all(seeds: std::ops::Range<u64>) {
    let lives = seeds.end - seeds.start;
    let mut crashes = 0;
    for seed in seeds {
        crashes += Box::pin(live(seed)).await;
    }
    assert!(u64::from(crashes) > 2 * lives, "only {crashes} crashes: the simulation has become tame");
}

#[tokio::test]
async fn whatever_happens_every_wish_becomes_one_job() {
    live_all(0..200).await;
}

/// The same with other seeds, beside the first.
#[tokio::test]
async fn whatever_else_happens_every_wish_becomes_one_job() {
    live_all(1000..1200).await;
}
