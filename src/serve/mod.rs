//! The composition root: a plan becomes a running gateway, over HTTP or over a pipe.
//!
//! The process that finds the store free holds it (`holder`) and serves the others over a Unix socket in the data folder (`server`);
//! the others reach it through `link`; `switch` is the front end over whichever it is, and takes over when the holder goes.

mod artifacts;
mod figures;
mod frames;
mod holder;
mod hooks;
mod link;
mod message;
mod open_files;
mod operator;
mod plan;
mod server;
mod socket;
mod switch;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use frames::OperatorQuestion;
pub use holder::HolderError;
pub use operator::{AuditLine, DeadLine, TaskLine, ask as ask_operator};
pub use plan::{Plan, PlanError, Source, World};
pub use switch::{Switch, SwitchError};

use crate::domain::Caller;
use crate::engine::Supervisor;
use crate::hooks::Hooks;
use crate::http::{self, ConnectionLimits, HttpParts, HttpSettings};
use crate::mcp::stdio::{self, StdioParts};

/// A gateway that cannot run, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not to be had.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        reason: io::Error,
    },
    /// Nobody can answer.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// The pipe broke.
    #[error("the pipe broke: {0}")]
    Pipe(io::Error),
    /// The store could not be taken over from a process that is gone.
    #[error("the store could not be taken over; the log says why")]
    Lost,
}

/// What a gateway says when it is ready.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Where it listens.
    pub address: SocketAddr,
    /// The process that holds the store, where it is another one.
    pub holder: Option<u32>,
}

/// Serves HTTP until `stop` is cancelled; then everything ends within the grace. `ready` is told once calls can come.
///
/// # Errors
/// See [`ServeError`].
pub async fn http(plan: Arc<Plan>, stop: CancellationToken, ready: impl FnOnce(Ready)) -> Result<(), ServeError> {
    let (server, world) = (plan.server.clone(), plan.world.clone());
    // The address comes first: what is taken is told before anything is opened.
    let listening = |reason| ServeError::Listen { address: server.listen, reason };
    let listener = TcpListener::bind(server.listen).await.map_err(listening)?;
    let address = listener.local_addr().map_err(listening)?;
    let supervisor = Supervisor::new(world.clock.clone());
    let switch = Switch::start(plan.clone(), &supervisor).await?;
    let router = http::router(HttpParts {
        frontend: Arc::new(switch.clone()),
        settings: HttpSettings {
            allowed_hosts: server.allowed_hosts.clone(),
            allowed_origins: server.allowed_origins.clone(),
            max_body_bytes: server.max_body_bytes,
            request_timeout: server.request_timeout,
            trusted_proxies: server.trusted_proxies.clone(),
        },
        auth: plan.auth.clone(),
        limits: plan.caller_limits.clone(),
        health: Arc::new(switch.clone()),
        hooks: (!plan.routes.is_empty()).then(|| Arc::new(switch.clone()) as Arc<dyn Hooks>),
        artifacts: Some(Arc::new(switch.clone())),
        clock: world.clock.clone(),
    });
    let connections = supervisor.part();
    let room = open_files::room_for(server.max_connections);
    let connection_limits = ConnectionLimits { connections: room, ..ConnectionLimits::default() };
    let serving = http::serve(listener, router, connection_limits, world.clock.clone(), connections.clone());
    // The socket takes connections already; they are served from the next line on.
    ready(Ready { address, holder: switch.holder() });
    connections.spawn("http", serving);
    let ended = ended(&switch, &stop).await;
    switch.hang_up();
    if switch.holder().is_some() {
        // The last answers come over the link.
        connections.shutdown(server.shutdown_grace).await;
        switch.shutdown(server.shutdown_grace).await;
    } else {
        // Both at once: a connection ends with its answer, and a blocked answer ends with the engine.
        tokio::join!(connections.shutdown(server.shutdown_grace), switch.shutdown(server.shutdown_grace));
    }
    supervisor.kill().await;
    ended
}

/// Serves stdin and stdout until the input ends or `stop` is cancelled.
///
/// # Errors
/// See [`ServeError`].
pub async fn pipe(plan: Arc<Plan>, stop: CancellationToken) -> Result<(), ServeError> {
    let (grace, world) = (plan.server.shutdown_grace, plan.world.clone());
    let supervisor = Supervisor::new(world.clock.clone());
    let switch = Switch::start(plan, &supervisor).await?;
    let shutdown = stop.child_token();
    let parts = StdioParts {
        frontend: Arc::new(switch.clone()),
        caller: Caller::local(),
        clock: world.clock.clone(),
        shutdown: shutdown.clone(),
        grace,
    };
    let ended = tokio::select! {
        ended = stdio::run(parts, tokio::io::stdin(), tokio::io::stdout()) => ended.map_err(ServeError::Pipe),
        () = switch.failed().cancelled() => Err(ServeError::Lost),
    };
    switch.shutdown(grace).await;
    supervisor.kill().await;
    ended
}

/// Waits for the end.
async fn ended(switch: &Switch, stop: &CancellationToken) -> Result<(), ServeError> {
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        () = switch.failed().cancelled() => Err(ServeError::Lost),
    }
}
