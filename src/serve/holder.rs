//! The process that holds the store: store, engine, front end and the socket for the others.

use std::sync::Arc;

use jobgate_adapter_api::Clock;

use super::figures::{Counting, Figures};
use super::plan::Plan;
use super::server::{self, Shared};
use super::socket;
use crate::artifacts::{self, ArtifactLimits, Artifacts};
use crate::domain::KeptArtifact;
use crate::engine::{ArtifactAddress, Engine, EngineError, EngineParts, Supervisor};
use crate::hooks::{Receiver, ReceiverParts};
use crate::mcp::{Dispatcher, DispatcherError, DispatcherParts};
use crate::store::sled::{OpenReport, SledOptions, SledStore};
use crate::store::{StoreError, TaskStore};

/// The store cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum HolderError {
    /// The store cannot be opened; also when another process has it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine does not start.
    #[error(transparent)]
    Engine(EngineError),
    /// A tool cannot be shown.
    #[error(transparent)]
    Tools(DispatcherError),
    /// Other processes could not be served.
    #[error("the socket in {folder} cannot be made: {reason}")]
    Socket {
        /// The data folder.
        folder: String,
        /// Why.
        reason: String,
    },
}

impl HolderError {
    /// Whether another process has the store.
    pub(super) const fn is_held(&self) -> bool {
        matches!(self, Self::Store(StoreError::Held { .. }))
    }
}

/// The store and all that works on it.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) frontend: Arc<Dispatcher>,
    pub(super) receiver: Arc<Receiver>,
    pub(super) figures: Figures,
    engine: Arc<Engine>,
    supervisor: Supervisor,
    /// Who serves the socket: it goes first.
    sockets: Supervisor,
    plan: Arc<Plan>,
}

impl Holder {
    /// Takes the store and starts to work.
    pub(super) async fn open(plan: &Arc<Plan>, supervisor: &Supervisor) -> Result<Self, HolderError> {
        let store = open_store(plan).await?;
        let supervisor = supervisor.part();
        match Self::start(plan, store.clone(), supervisor.clone()).await {
            Ok(holder) => Ok(holder),
            Err(error) => {
                supervisor.kill().await;
                // The lock must not stay with a process that does not work on the store.
                if let Err(error) = store.close().await {
                    tracing::error!(%error, "the store did not close cleanly");
                }
                Err(error)
            }
        }
    }

    async fn start(plan: &Arc<Plan>, store: Arc<SledStore>, supervisor: Supervisor) -> Result<Self, HolderError> {
        let parts = EngineParts {
            store: store.clone(),
            providers: plan.providers.clone(),
            tools: plan.tools.clone(),
            limits: plan.limits,
            clock: plan.world.clock.clone(),
            random: plan.world.random.clone(),
            supervisor: supervisor.clone(),
            public_url: plan.server.public_url.clone(),
            artifacts: Some(open_artifacts(plan).await?),
        };
        let counting = Arc::new(Counting(plan.metrics.clone()));
        let engine = Engine::start_observed(parts, counting).await.map_err(HolderError::Engine)?;
        let parts = DispatcherParts {
            engine: engine.clone(),
            clock: plan.world.clock.clone(),
            random: plan.world.random.clone(),
            supervisor: supervisor.clone(),
            limits: plan.caller_limits.clone(),
            failed_as_completed: plan.server.failed_as_completed.clone(),
        };
        let frontend = Arc::new(Dispatcher::new(parts).await.map_err(HolderError::Tools)?);
        let receiver = Arc::new(Receiver::new(ReceiverParts {
            routes: plan.routes.clone(),
            intake: engine.clone(),
            clock: plan.world.clock.clone(),
            supervisor: supervisor.clone(),
        }));
        let folder = &plan.store.path;
        let listener = socket::bind(folder, &*plan.world.random)
            .map_err(|error| HolderError::Socket { folder: folder.display().to_string(), reason: error.to_string() })?;
        let sockets = supervisor.part();
        let figures = Figures {
            metrics: plan.metrics.clone(),
            store: store.clone(),
            engine: engine.clone(),
            limits: plan.caller_limits.clone(),
            clock: plan.world.clock.clone(),
        };
        let shared = Shared {
            frontend: frontend.clone(),
            receiver: receiver.clone(),
            store: store.clone(),
            engine: engine.clone(),
            figures: figures.clone(),
            supervisor: sockets.clone(),
        };
        sockets.spawn("link listener", server::run(listener, shared, plan.world.clock.clone()));
        let (clock, every, exports) = (plan.world.clock.clone(), plan.store.export_every, store.clone());
        let stopping = supervisor.stopping().clone();
        supervisor.spawn_loop("export", move || {
            let (clock, exports, stopping) = (clock.clone(), exports.clone(), stopping.clone());
            async move {
                tokio::select! {
                    () = stopping.cancelled() => {}
                    () = export(exports, clock, every) => {}
                }
            }
        });
        Ok(Self { frontend, receiver, figures, engine, supervisor, sockets, plan: plan.clone() })
    }

    /// The kept artifact that an address stands for.
    pub(super) async fn addressed_artifact(&self, address: &ArtifactAddress) -> Result<Option<KeptArtifact>, StoreError> {
        self.engine.addressed_artifact(address).await
    }

    /// Sends the other processes on to the next holder: what they asked here is asked there again.
    pub(super) fn hand_over(&self) {
        // Whoever comes next binds a socket of its own; until then nobody shall find this one.
        std::fs::remove_file(socket::path(&self.plan.store.path)).ok();
        self.sockets.stopping().cancel();
    }

    /// Lets go of everything: the engine, and then the store. After [`Self::hand_over`].
    pub(super) async fn shutdown(&self) {
        let grace = self.plan.server.shutdown_grace;
        tokio::join!(self.sockets.shutdown(grace), self.engine.shutdown());
        self.supervisor.shutdown(grace).await;
    }
}

/// Opens the store where waiting for the disk holds nobody up, and says what was found.
async fn open_store(plan: &Plan) -> Result<Arc<SledStore>, HolderError> {
    let options = options(plan);
    let clock = plan.world.clock.clone();
    let opened = tokio::task::spawn_blocking(move || SledStore::open(options, clock)).await;
    let opened = opened.unwrap_or_else(|error| {
        Err(StoreError::Corrupt { what: format!("opening it failed: {error}"), advice: "Run `jobgate store verify`".to_owned() })
    })?;
    tell(&opened.report);
    Ok(opened.store)
}

/// Opens the folder of kept artifacts, which belongs to whoever holds the store.
async fn open_artifacts(plan: &Plan) -> Result<Artifacts, HolderError> {
    let limits = ArtifactLimits { max_bytes: plan.store.artifact_max_bytes, total_bytes: plan.store.artifact_total_bytes };
    let folder = artifacts::folder(&plan.store.path);
    let opened = tokio::task::spawn_blocking(move || Artifacts::open(folder, limits)).await;
    let opened = opened.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    opened.map_err(|error| StoreError::Unavailable(format!("the folder of kept artifacts cannot be used: {error}")).into())
}

fn options(plan: &Plan) -> SledOptions {
    SledOptions {
        cache_bytes: plan.store.cache_bytes,
        keep_exports: plan.store.keep_exports,
        ..SledOptions::new(&plan.store.path)
    }
}

fn tell(report: &OpenReport) {
    if let Some(recovered) = &report.recovered {
        tracing::error!(
            why = %recovered.why,
            set_aside = %recovered.set_aside.display(),
            export = %recovered.export.display(),
            exported_at = %recovered.exported_at,
            tasks = recovered.tasks,
            "THE STORE WAS DAMAGED: it was set aside and its last export restored; everything since that export is lost"
        );
    }
    if let Some(compacted) = &report.compacted {
        tracing::info!(before_bytes = compacted.before_bytes, after_bytes = compacted.after_bytes, "the store was compacted");
    }
    tracing::info!(live_tasks = report.live_tasks, "the store is open");
}

/// Exports the store again and again.
async fn export(store: Arc<SledStore>, clock: Arc<dyn Clock>, every: std::time::Duration) {
    loop {
        clock.sleep(every).await;
        match store.export_periodic().await {
            Ok(exported) => {
                tracing::info!(path = %exported.path.display(), tasks = exported.tasks, bytes = exported.bytes, "exported the store");
            }
            Err(error) => tracing::error!(%error, "the store could not be exported; the next try comes in its turn"),
        }
    }
}
