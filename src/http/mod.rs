//! HTTP around the front end: `POST /mcp`, what may reach it, and whether the gateway is well.

mod accept;
mod address;
mod artifacts;
mod auth;
mod endpoint;
mod hooks;
pub mod limit;
mod listen;
mod metrics;
mod origin;
mod sse;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use ipnet::IpNet;

pub use artifacts::{ArtifactSource, Unknown};
pub use auth::{Admitted, Authenticator, NoAuth, Refusal, Tokens};
pub use listen::{ConnectionLimits, serve};

use crate::domain::Clock;
use crate::hooks::Hooks;
use crate::mcp::{Frontend, Limits};

/// How long an event stream may be silent before a comment is sent (Streamable HTTP, "Receiving Messages").
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What may reach the gateway, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Names beside the loopback ones under which the gateway is reached: `gateway.example.com`, with a port or without, or `*`
    /// for a gateway behind something that checks them.
    pub allowed_hosts: Vec<String>,
    /// Web pages beside those of this machine that may call it: `https://app.example.com`.
    pub allowed_origins: Vec<String>,
    /// Bytes of one message.
    pub max_body_bytes: usize,
    /// How long a request may take to arrive.
    pub request_timeout: Duration,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: 4 * 1024 * 1024,
            request_timeout: Duration::from_secs(60),
            trusted_proxies: Vec::new(),
        }
    }
}

/// Whether the gateway can take calls, and what it has counted.
#[async_trait]
pub trait Health: fmt::Debug + Send + Sync + 'static {
    /// # Errors
    /// Why it cannot, in a sentence without secrets: everyone may read it.
    fn ready(&self) -> Result<(), String>;

    /// What it has counted, as OpenMetrics text.
    ///
    /// # Errors
    /// Why it cannot tell, in a sentence without secrets.
    async fn figures(&self) -> Result<String, String>;
}

/// What the HTTP side is made of.
#[derive(Clone, Debug)]
pub struct HttpParts {
    /// Who answers messages.
    pub frontend: Arc<dyn Frontend>,
    /// What may reach it.
    pub settings: HttpSettings,
    /// Who says who calls.
    pub auth: Arc<dyn Authenticator>,
    /// How many requests without a valid token an address may send.
    pub limits: Arc<Limits>,
    /// Whether it is well.
    pub health: Arc<dyn Health>,
    /// Who takes deliveries of providers; without it there are no routes for them.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Who knows of kept artifacts; without it there is no route for them.
    pub artifacts: Option<Arc<dyn ArtifactSource>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// All paths: `POST`, `GET` and `DELETE /mcp`, `GET /healthz`, `GET /readyz`, `GET /metrics`, `/hooks/{provider}` where providers
/// deliver, and `/artifacts/{token}/{number}` where files are kept.
pub fn router(parts: HttpParts) -> Router {
    let hooks = parts.hooks.clone().map_or_else(Router::new, |takes| hooks::router(takes, parts.clock.clone()));
    let artifacts = parts.artifacts.clone().map_or_else(Router::new, artifacts::router);
    Router::new()
        .route(
            "/mcp",
            post(endpoint::post)
                .get(endpoint::get)
                .delete(endpoint::delete)
                .head(endpoint::no_such_method)
                .fallback(endpoint::no_such_method),
        )
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics::get).fallback(metrics::no_such_method))
        .with_state(Arc::new(parts))
        .merge(hooks)
        .merge(artifacts)
}

/// The process answers.
async fn healthz() -> &'static str {
    "ok\n"
}

/// The gateway can take calls.
async fn readyz(State(parts): State<Arc<HttpParts>>) -> Response {
    match parts.health.ready() {
        Ok(()) => "ready\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}
