//! A checked configuration with its adapters built: all that a gateway is made of but the store.

use std::sync::Arc;

use jobgate_adapter_api::{Deps, Issues, SecretSource, Transport, TransportLimits};

use super::hooks;
use crate::config::{self, Auth, Checked, Diagnostics, ServerSettings, StoreSettings};
use crate::domain::{Clock, Random, Tool};
use crate::engine::{EngineLimits, Provider, ProviderLimits, Rate};
use crate::hooks::{Routes, RoutesParts};
use crate::http::{Admitted, Authenticator, NoAuth, Tokens};
use crate::mcp::Limits;
use crate::metrics::Metrics;

/// A configuration and the text it came from, for problems that show late.
#[derive(Debug)]
pub struct Source {
    /// What it means.
    pub checked: Checked,
    /// The text.
    pub text: String,
    /// The file's name, for people.
    pub file: String,
}

/// The world that a gateway lives in, as values.
#[derive(Clone, Debug)]
pub struct World {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Secrets.
    pub secrets: Arc<dyn SecretSource>,
}

/// All that a gateway is made of but the store. An engine can be started from it again and again.
#[derive(Debug)]
pub struct Plan {
    pub(super) server: ServerSettings,
    pub(super) store: StoreSettings,
    pub(super) limits: EngineLimits,
    pub(super) caller_limits: Arc<Limits>,
    pub(super) auth: Arc<dyn Authenticator>,
    pub(super) providers: Vec<Provider>,
    pub(super) tools: Vec<Tool>,
    pub(super) routes: Arc<Routes>,
    pub(super) metrics: Metrics,
    pub(super) world: World,
}

/// A gateway cannot be made from its configuration.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The configuration names something that is not there: a secret, a file.
    #[error(transparent)]
    Configuration(#[from] Diagnostics),
    /// The machine gives no HTTP client.
    #[error("{0}")]
    Transport(String),
}

impl Plan {
    /// Builds the adapters; secrets are read here and nowhere else.
    ///
    /// # Errors
    /// Every secret that is missing at once, each with the place that names it.
    pub fn build(source: Source, world: World) -> Result<Self, PlanError> {
        let Source { checked, text, file } = source;
        let Checked { server, store, auth, limits, providers, tools, .. } = checked;
        let transport = Transport::new(TransportLimits::default()).map_err(PlanError::Transport)?;
        let (mut built, mut routes) = (Vec::with_capacity(providers.len()), Vec::new());
        let mut issues = Issues::new();
        for provider in providers {
            let deps = Deps {
                provider: provider.name.as_str().to_owned(),
                place: provider.place,
                clock: world.clock.clone(),
                random: world.random.clone(),
                secrets: world.secrets.clone(),
                transport: transport.clone(),
                data_dir: Some(store.path.clone()),
            };
            let webhook = provider.webhook.as_ref().map(|webhook| {
                routes.push(hooks::route(&provider.name, webhook, &*world.secrets, &transport, &mut issues));
                hooks::meaning(webhook)
            });
            match provider.adapter.build(&deps) {
                Ok(adapter) => built.push(Provider {
                    name: provider.name,
                    kind: provider.kind,
                    adapter,
                    limits: ProviderLimits {
                        concurrency: provider.concurrency,
                        rate: provider.rate.map(|(calls, per)| Rate { calls, per }),
                        call_timeout: provider.call_timeout,
                    },
                    webhook,
                }),
                Err(issue) => match issue.hint {
                    Some(hint) => issues.add_with_hint(issue.place, issue.message, hint),
                    None => issues.add(issue.place, issue.message),
                },
            }
        }
        if !issues.is_empty() {
            return Err(config::locate(&text, &file, issues).into());
        }
        for problem in auth.expired(world.clock.now()) {
            tracing::warn!("{problem}");
        }
        let auth = authenticator(auth, world.clock.clone());
        let caller_limits = Arc::new(Limits::new(&limits.callers, world.clock.clone()));
        let limits = EngineLimits {
            max_live_tasks_per_principal: limits.live_tasks_per_principal,
            max_argument_bytes: limits.argument_bytes,
            max_result_bytes: limits.result_bytes,
            artifact_url_ttl: store.artifact_url_ttl,
            shutdown_grace: server.shutdown_grace,
            ..EngineLimits::default()
        };
        let metrics = Metrics::new();
        let routes = Arc::new(Routes::new(RoutesParts {
            routes,
            public_url: server.public_url.clone(),
            clock: world.clock.clone(),
            metrics: metrics.clone(),
        }));
        Ok(Self { server, store, limits, caller_limits, auth, providers: built, tools, routes, metrics, world })
    }

    /// Where and how HTTP is served.
    #[must_use]
    pub const fn server(&self) -> &ServerSettings {
        &self.server
    }

    /// Where tasks are kept.
    #[must_use]
    pub const fn store(&self) -> &StoreSettings {
        &self.store
    }
}

/// Who says who calls over HTTP.
fn authenticator(auth: Auth, clock: Arc<dyn Clock>) -> Arc<dyn Authenticator> {
    match auth {
        Auth::None => Arc::new(NoAuth),
        Auth::Tokens(tokens) => {
            let known = tokens.into_iter().map(|token| (token.hash, Admitted { caller: token.caller, until: token.expires }));
            Arc::new(Tokens::new(known, clock))
        }
    }
}
