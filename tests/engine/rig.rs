//! An engine over a manual clock, a store in memory and a scripted provider.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jobgate::artifacts::Artifacts;
use jobgate::domain::{
    Clock, ManualClock, Outcome, PollPolicy, Principal, ProviderName, Task, TaskId, Timestamp, Tool, ToolName, ToolPolicy,
};
use jobgate::engine::{
    AccessError, Call, CallError, CallNames, Called, Engine, EngineLimits, EngineParts, Provider, ProviderLimits,
    ProviderWebhook, Supervisor,
};
use jobgate::store::{MemoryStore, TaskStore};
use jobgate_adapter_api::FixedRandom;
use serde_json::{Map, Value, json};

use crate::fake::Fake;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
const START: i64 = 1_800_000_000_000;

pub(crate) struct Rig {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) fake: Arc<Fake>,
    pub(crate) policy: ToolPolicy,
    pub(crate) output_schema: Option<Value>,
    pub(crate) limits: EngineLimits,
    pub(crate) provider: ProviderLimits,
    pub(crate) webhook: Option<ProviderWebhook>,
    pub(crate) public_url: Option<String>,
    pub(crate) artifacts: Option<Artifacts>,
    pub(crate) supervisor: Supervisor,
    engine: Option<Arc<Engine>>,
    seed: u64,
}

pub(crate) fn me() -> Principal {
    Principal::new("acme", "ann")
}

pub(crate) fn arguments(n: u64) -> Map<String, Value> {
    json!({"n": n}).as_object().cloned().unwrap_or_default()
}

pub(crate) fn call(n: u64) -> Call {
    Call {
        owner: me(),
        tool: ToolName::new("render"),
        arguments: arguments(n),
        key: None,
        ttl: None,
        names: CallNames::default(),
    }
}

impl Rig {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        Self::over(clock, Arc::new(MemoryStore::new()))
    }

    pub(crate) fn over(clock: Arc<ManualClock>, store: Arc<dyn TaskStore>) -> Self {
        let poll = PollPolicy { initial: SECOND, max: 30 * SECOND, factor: 1.5 };
        Self {
            fake: Fake::new(clock.clone()),
            supervisor: Supervisor::new(clock.clone()),
            clock,
            store,
            policy: ToolPolicy { poll, ..ToolPolicy::default() },
            output_schema: None,
            limits: EngineLimits::default(),
            provider: ProviderLimits::default(),
            webhook: None,
            public_url: None,
            artifacts: None,
            engine: None,
            seed: 1,
        }
    }

    pub(crate) fn tool(&self) -> Tool {
        Tool {
            name: ToolName::new("render"),
            title: None,
            description: "Renders.".to_owned(),
            input_schema: json!({"type": "object"}),
            fixed: serde_json::Map::new(),
            output_schema: self.output_schema.clone(),
            annotations: None,
            provider: ProviderName::new("farm"),
            policy: self.policy.clone(),
        }
    }

    pub(crate) fn parts(&mut self) -> EngineParts {
        self.seed += 1;
        let adapter = self.fake.clone();
        EngineParts {
            store: self.store.clone(),
            providers: vec![Provider {
                name: ProviderName::new("farm"),
                kind: "fake".to_owned(),
                adapter,
                limits: self.provider,
                webhook: self.webhook,
            }],
            tools: vec![self.tool()],
            limits: self.limits,
            clock: self.clock.clone(),
            random: Arc::new(FixedRandom::new(self.seed)),
            supervisor: self.supervisor.clone(),
            public_url: self.public_url.clone(),
            artifacts: self.artifacts.clone(),
        }
    }

    pub(crate) async fn start(&mut self) {
        let parts = self.parts();
        self.engine = Some(Engine::start(parts).await.unwrap());
        self.settle().await;
    }

    pub(crate) fn use_engine(&mut self, engine: Arc<Engine>) {
        self.engine = Some(engine);
    }

    pub(crate) async fn started() -> Self {
        let mut rig = Self::new();
        rig.start().await;
        rig
    }

    /// Drops the engine where it stands, as kill -9 would, and starts a new one on the same store.
    pub(crate) async fn crash(&mut self) {
        self.kill().await;
        self.start().await;
    }

    pub(crate) async fn kill(&mut self) {
        self.supervisor.kill().await;
        self.supervisor = Supervisor::new(self.clock.clone());
        self.engine = None;
    }

    pub(crate) fn engine(&self) -> Arc<Engine> {
        self.engine.clone().unwrap()
    }

    /// Lets everything run that can run without time passing.
    pub(crate) async fn settle(&self) {
        for _ in 0..40 {
            tokio::task::yield_now().await;
        }
    }

    /// Lets time pass, stopping at every moment that someone waits for.
    pub(crate) async fn advance(&self, span: Duration) {
        let until = self.clock.now().plus(span);
        self.settle().await;
        while let Some(wake) = self.clock.next_wake().filter(|wake| *wake <= until) {
            self.clock.set(wake.max(self.clock.now()));
            self.settle().await;
        }
        self.clock.set(until);
        self.settle().await;
    }

    /// Runs `future` to its end and lets time pass while nothing else happens, at most for a virtual day.
    pub(crate) async fn drive<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let limit = self.clock.now().plus(24 * HOUR);
        loop {
            tokio::select! {
                biased;
                value = &mut future => return value,
                () = self.settle() => {}
            }
            let wake = self.clock.next_wake().unwrap_or_else(|| panic!("everything waits, and nobody for the clock"));
            assert!(wake <= limit, "the future did not end within a day");
            self.clock.set(wake.max(self.clock.now()));
        }
    }

    pub(crate) async fn call(&self, call: Call) -> Result<Called, CallError> {
        let engine = self.engine();
        self.drive(async move { engine.call(call).await }).await
    }

    /// Calls the tool and wants a task.
    pub(crate) async fn task(&self, n: u64) -> Arc<Task> {
        match self.call(call(n)).await.unwrap() {
            Called::Task(task) => task,
            Called::Refused(result) => panic!("refused: {result:?}"),
        }
    }

    pub(crate) async fn get(&self, id: &TaskId) -> Arc<Task> {
        self.engine().get(&me(), id).await.unwrap()
    }

    pub(crate) async fn is_unknown(&self, id: &TaskId) -> bool {
        matches!(self.engine().get(&me(), id).await, Err(AccessError::NotFound))
    }

    /// Waits for the end, at most for `span`.
    pub(crate) async fn end(&self, id: &TaskId, span: Duration) -> Arc<Task> {
        let engine = self.engine();
        let until = self.clock.now().plus(span);
        self.drive(async move { engine.wait(&me(), id, until, None).await }).await.unwrap()
    }

    pub(crate) async fn audit(&self, id: &TaskId) -> Vec<String> {
        self.engine().audit(&me(), id).await.unwrap().into_iter().map(|entry| entry.event).collect()
    }

    pub(crate) fn seconds(&self, at: Timestamp) -> f64 {
        at.since(Timestamp::from_millis(START)).as_secs_f64()
    }
}

/// The text of a result, `is_error` first.
pub(crate) fn result(task: impl AsRef<Task>) -> (bool, String) {
    let task = task.as_ref();
    match task.outcome() {
        Some(Outcome::Result(result)) => {
            let text = result.output.parts.iter().map(|part| match part {
                jobgate::domain::Part::Text(text) => text.as_str(),
                other => panic!("{other:?}"),
            });
            (result.is_error, text.collect::<Vec<_>>().join("\n"))
        }
        other => panic!("no result: {other:?}, {:?}", task.message),
    }
}

/// The category and the message of a failed task.
pub(crate) fn failure(task: impl AsRef<Task>) -> (&'static str, String) {
    let task = task.as_ref();
    match task.outcome() {
        Some(Outcome::Error(error)) => (error.category.as_str(), error.message.clone()),
        other => panic!("not failed: {other:?}, {:?}", task.message),
    }
}
