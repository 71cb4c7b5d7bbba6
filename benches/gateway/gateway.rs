//! A gateway in this process: the real store, engine, dispatcher and router, over a provider that costs nothing.
#![expect(clippy::disallowed_methods, reason = "the servers of a benchmark end with the process")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jobgate::domain::{
    CallerLimits, CancelOutcome, Clock, IdempotencyKey, InputAnswers, JobOutput, JobRef, JobState, Observation, PollPolicy,
    Principal, ProviderName, Random, SystemClock, TaskMode, Tool, ToolName, ToolPolicy,
};
use jobgate::engine::{Engine, EngineLimits, EngineParts, Provider, ProviderLimits, Supervisor};
use jobgate::http::{self, ConnectionLimits, Health, HttpParts, HttpSettings, NoAuth, router};
use jobgate::mcp::{Dispatcher, DispatcherParts, Frontend, Limits};
use jobgate::store::TaskStore;
use jobgate::store::sled::{SledOptions, SledStore};
use jobgate_adapter_api::{Adapter, AdapterError, CallContext, Capabilities, OsRandom, SubmitRequest, Submitted};
use tokio::runtime::Runtime;

/// The provider's name.
pub(crate) const PROVIDER: &str = "bench";
/// A tool whose jobs never end.
pub(crate) const ENDLESS: &str = "endless";
/// A tool whose jobs have ended at their first look.
pub(crate) const BRIEF: &str = "brief";

/// A provider without memory: the job's name says how it goes.
#[derive(Debug, Default)]
pub(crate) struct BenchAdapter {
    /// Looks so far.
    pub(crate) polls: AtomicU64,
}

#[async_trait]
impl Adapter for BenchAdapter {
    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities { idempotent_submit: true, find: false, cancel: true, ..Capabilities::default() }
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        Ok(JobRef::new(format!("{}-{}", cx.tool, request.key)).into())
    }

    async fn find(&self, _: &CallContext, _: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        Ok(None)
    }

    async fn poll(&self, _: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        let state = if job.id().starts_with(BRIEF) { JobState::Succeeded(JobOutput::text("done")) } else { JobState::Running };
        Ok(Observation::new(state).with_message("rendering"))
    }

    async fn cancel(&self, _: &CallContext, _: &JobRef) -> Result<CancelOutcome, AdapterError> {
        Ok(CancelOutcome::Requested)
    }

    async fn provide(&self, _: &CallContext, _: &JobRef, _: &InputAnswers) -> Result<(), AdapterError> {
        Ok(())
    }
}

/// A gateway that can always take calls.
#[derive(Debug)]
struct Well;

#[async_trait]
impl Health for Well {
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    async fn figures(&self) -> Result<String, String> {
        Ok("# EOF\n".to_owned())
    }
}

/// A started gateway.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: Arc<SledStore>,
    pub(crate) adapter: Arc<BenchAdapter>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) address: SocketAddr,
}

/// Opens the store at `path` as the product does.
pub(crate) fn open(path: &Path) -> Arc<SledStore> {
    SledStore::open(SledOptions::new(path), Arc::new(SystemClock)).unwrap().store
}

/// Starts a gateway over `store`, serving on a free port of `servers`.
pub(crate) fn start(servers: &Runtime, store: Arc<SledStore>, limits: ProviderLimits) -> Gateway {
    servers.block_on(async {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(OsRandom);
        let supervisor = Supervisor::new(Arc::clone(&clock));
        let adapter = Arc::new(BenchAdapter::default());
        let provider = Provider {
            name: ProviderName::new(PROVIDER),
            kind: "bench".to_owned(),
            adapter: Arc::clone(&adapter) as Arc<dyn Adapter>,
            limits,
            webhook: None,
        };
        let engine = Engine::start(EngineParts {
            store: Arc::clone(&store) as Arc<dyn TaskStore>,
            providers: vec![provider],
            tools: vec![tool(ENDLESS, Duration::from_secs(600)), tool(BRIEF, Duration::from_millis(10))],
            limits: EngineLimits { max_live_tasks_per_principal: 10_000_000, ..EngineLimits::default() },
            clock: Arc::clone(&clock),
            random: Arc::clone(&random),
            supervisor: supervisor.clone(),
            public_url: None,
            artifacts: None,
        })
        .await
        .unwrap();
        let limits = Arc::new(Limits::new(&CallerLimits::UNLIMITED, Arc::clone(&clock)));
        let parts = DispatcherParts {
            engine: Arc::clone(&engine),
            clock: Arc::clone(&clock),
            random,
            supervisor: supervisor.clone(),
            limits: Arc::clone(&limits),
            failed_as_completed: Vec::new(),
        };
        let dispatcher = Arc::new(Dispatcher::new(parts).await.unwrap());
        let app = router(HttpParts {
            frontend: Arc::clone(&dispatcher) as Arc<dyn Frontend>,
            settings: HttpSettings::default(),
            auth: Arc::new(NoAuth),
            limits,
            health: Arc::new(Well),
            hooks: None,
            artifacts: None,
            clock: Arc::clone(&clock),
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = http::serve(listener, app, ConnectionLimits::default(), clock, supervisor.clone());
        supervisor.spawn("http", serving);
        Gateway { engine, store, adapter, dispatcher, address }
    })
}

/// Serves `app` on a free port of loopback.
pub(crate) async fn serve(app: axum::Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

fn tool(name: &str, interval: Duration) -> Tool {
    Tool {
        name: ToolName::new(name),
        title: None,
        description: "A job that costs nothing.".to_owned(),
        input_schema: serde_json::json!({ "type": "object" }),
        fixed: serde_json::Map::new(),
        output_schema: None,
        annotations: None,
        provider: ProviderName::new(PROVIDER),
        policy: ToolPolicy {
            mode: TaskMode::Required,
            poll: PollPolicy { initial: interval, max: interval, factor: 1.0 },
            ..ToolPolicy::default()
        },
    }
}

/// Everyone who reaches the gateway.
pub(crate) fn owner() -> Principal {
    Principal::local()
}
