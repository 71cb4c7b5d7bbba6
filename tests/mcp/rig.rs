//! A front end over an engine over a manual clock, a store in memory and a scripted provider.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use jobgate::domain::{
    CallerLimits, ClientCapability, Clock, Confirm, ConfirmPurpose, Fallback, Join, ManualClock, PollPolicy, ProviderName,
    TaskMode, Timestamp, Tool, ToolName, ToolPolicy,
};
use jobgate::engine::{Engine, EngineLimits, EngineParts, Provider as EngineProvider, ProviderLimits, Supervisor};
use jobgate::mcp::{Dispatcher, DispatcherParts, Limits};
use jobgate::store::MemoryStore;
use jobgate_adapter_api::FixedRandom;
use jobgate_test_support::schema::Checker;
use serde_json::{Value, json};

use crate::provider::{Provider, adapter, asks, counted, done, failed, finished, running};

const START: i64 = 1_800_000_000_000;
pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) struct Rig {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) provider: Arc<Provider>,
    pub(crate) engine: Arc<Engine>,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) checker: Checker,
    pub(crate) supervisor: Supervisor,
    store: Arc<MemoryStore>,
}

/// A form that asks yes or no.
pub(crate) fn yes_or_no() -> Value {
    json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] })
}

/// A form that asks for a name.
pub(crate) fn name_form(field: &str) -> Value {
    json!({ "type": "object", "properties": { field: { "type": "string", "minLength": 1 } }, "required": [field] })
}

fn question(key: &str, message: &str, schema: Value, purpose: ConfirmPurpose) -> Confirm {
    Confirm { key: key.to_owned(), message: message.to_owned(), schema, purpose, expires_after: 600 * SECOND }
}

fn tool(name: &str, mode: TaskMode, input_schema: Value) -> Tool {
    let poll = PollPolicy { initial: SECOND, max: 30 * SECOND, factor: 1.5 };
    Tool {
        name: ToolName::new(name),
        title: None,
        description: format!("Does {name}."),
        input_schema,
        fixed: serde_json::Map::new(),
        output_schema: None,
        annotations: None,
        provider: ProviderName::new("farm"),
        policy: ToolPolicy { mode, poll, ..ToolPolicy::default() },
    }
}

fn tools() -> Vec<Tool> {
    let any = || json!({ "type": "object" });
    let mut tools = vec![
        tool(
            "greet",
            TaskMode::Never,
            json!({
                "type": "object", "properties": { "name": { "type": "string", "minLength": 2 } }, "required": ["name"],
                "additionalProperties": false, "$comment": "kept"
            }),
        ),
        tool("count", TaskMode::Never, any()),
        tool("render", TaskMode::Optional, json!({ "type": "object", "properties": { "seconds": { "type": "integer" } } })),
        tool("build", TaskMode::Required, any()),
        tool("stuck", TaskMode::Optional, any()),
        tool("render_video", TaskMode::Optional, any()),
        tool("archive", TaskMode::Optional, any()),
        tool("lost", TaskMode::Optional, any()),
        tool("release", TaskMode::Optional, any()),
        tool("survey", TaskMode::Optional, any()),
        tool("film", TaskMode::Optional, any()),
        tool("stubborn", TaskMode::Optional, any()),
        tool("endless", TaskMode::Optional, any()),
        tool("think", TaskMode::Never, any()),
        tool("remove", TaskMode::Optional, json!({ "type": "object", "properties": { "path": { "type": "string" } } })),
        tool("wipe", TaskMode::Never, any()),
        tool(
            "order",
            TaskMode::Optional,
            json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] }),
        ),
        tool(
            "enrol",
            TaskMode::Optional,
            json!({ "type": "object", "properties": { "name": { "type": "string" }, "colour": { "type": "string" } } }),
        ),
        tool(
            "query",
            TaskMode::Never,
            json!({ "type": "object", "properties": {
                "region": { "type": "string", "x-mcp-header": "Region" },
                "limit": { "type": "integer", "x-mcp-header": "Limit" },
                "dry": { "type": "boolean", "x-mcp-header": "Dry" },
                "deep": { "type": "object", "properties": { "tenant": { "type": "string", "x-mcp-header": "Tenant" } } },
                "list": { "type": "array", "items": { "properties": { "x": { "x-mcp-header": "None" } } } },
            } }),
        ),
    ];
    for tool in &mut tools {
        let policy = &mut tool.policy;
        let approve = |key, message| question(key, message, yes_or_no(), ConfirmPurpose::Approve);
        let fill = |field: &str| question(field, &format!("Which {field}?"), name_form(field), ConfirmPurpose::Fill);
        match tool.name.as_str() {
            "stuck" => policy.deadline = 60 * SECOND,
            // What the configuration makes of `mode: required`.
            "build" => policy.fallback = Fallback::Reject,
            "stubborn" | "endless" => policy.fallback = Fallback::Ticket,
            "film" => {
                policy.fallback = Fallback::Ticket;
                policy.join = Join::SameArguments;
                tool.output_schema =
                    Some(json!({ "type": "object", "properties": { "url": { "type": "string" } }, "required": ["url"] }));
            }
            "archive" => policy.deletable = false,
            "think" => policy.requires = vec![ClientCapability::Sampling],
            "remove" | "wipe" => policy.confirm = vec![approve("really", "Really remove it?")],
            "order" => policy.confirm = vec![fill("name")],
            "enrol" => policy.confirm = vec![fill("name"), approve("sure", "Sure?"), fill("colour")],
            _ => {}
        }
    }
    tools
}

fn plans(provider: &Provider) {
    provider.plan("greet", [done("Hello!")]);
    provider
        .plan("count", [counted(0.0, 100.0), counted(50.0, 100.0), counted(50.0, 100.0), counted(100.0, 100.0), done("counted")]);
    for tool in ["render", "render_video", "archive", "lost"] {
        provider.plan(tool, [running(), done("rendered")]);
    }
    provider.plan("build", [running().with_message("compiling"), failed("2 of 40 tests failed")]);
    provider.plan("film", [running(), finished("filmed", json!({ "url": "https://films.example.com/1" }))]);
    provider.plan("stuck", [running()]);
    provider.plan("release", [asks(&[("approve", yes_or_no())]), done("released")]);
    provider.plan("survey", [asks(&[("first", name_form("name")), ("second", yes_or_no())]), done("thanks")]);
    for tool in ["think", "remove", "wipe", "order", "enrol", "query"] {
        provider.plan(tool, [done(tool)]);
    }
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(EngineLimits::default()).await
    }

    pub(crate) async fn with(limits: EngineLimits) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        let provider = Arc::new(Provider::default());
        plans(&provider);
        Self::over(Arc::new(MemoryStore::new()), provider, clock, limits, 1).await
    }

    /// The same gateway after a crash: another engine and front end over what the store kept.
    pub(crate) async fn restarted(self) -> Self {
        let Self { clock, provider, supervisor, store, .. } = self;
        supervisor.kill().await;
        Self::over(store, provider, clock, EngineLimits::default(), 2).await
    }

    async fn over(
        store: Arc<MemoryStore>,
        provider: Arc<Provider>,
        clock: Arc<ManualClock>,
        limits: EngineLimits,
        seed: u64,
    ) -> Self {
        let supervisor = Supervisor::new(clock.clone());
        let random = Arc::new(FixedRandom::new(seed));
        let parts = EngineParts {
            store: store.clone(),
            providers: vec![EngineProvider {
                name: ProviderName::new("farm"),
                kind: "scripted".to_owned(),
                adapter: adapter(&provider),
                limits: ProviderLimits::default(),
                webhook: None,
            }],
            tools: tools(),
            limits,
            clock: clock.clone(),
            random: random.clone(),
            supervisor: supervisor.part(),
            public_url: None,
            artifacts: None,
        };
        let engine = Engine::start(parts).await.unwrap();
        let limits = Arc::new(Limits::new(&CallerLimits::UNLIMITED, clock.clone()));
        let parts = DispatcherParts {
            engine: engine.clone(),
            clock: clock.clone(),
            random,
            supervisor: supervisor.clone(),
            limits,
            failed_as_completed: vec!["skips-results*".to_owned()],
        };
        let dispatcher = Dispatcher::new(parts).await.unwrap();
        Self { clock, provider, engine, dispatcher, checker: Checker::new(), supervisor, store }
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
        let limit = self.clock.now().plus(24 * 3600 * SECOND);
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
}
