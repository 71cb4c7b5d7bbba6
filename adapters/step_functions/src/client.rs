//! A connection to one account in one region.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::provider::{ProvideCredentials, future};
use aws_sdk_sfn::Client;
use aws_sdk_sfn::config::retry::RetryConfig;
use aws_sdk_sfn::config::timeout::TimeoutConfig;
use aws_sdk_sfn::config::{
    BehaviorVersion, Config, Credentials, IdentityCache, Region, SharedCredentialsProvider, StalledStreamProtectionConfig,
};
use jobgate_adapter_api::{CallContext, Cleaner, Clock, Deps, Operation, Secret, Transport};
use tokio::sync::OnceCell;

use crate::bridge::{Bridge, GatewayTime, Patience};

/// Who calls.
#[derive(Debug)]
pub(crate) enum Access {
    /// Whoever has this key.
    Key { id: Secret, key: Secret, token: Option<Secret> },
    /// Whoever the machine, its environment and its files say.
    Usual { profile: Option<String> },
}

/// What every call is made with. The gateway retries, so the SDK does not.
#[derive(Clone)]
pub(crate) struct Connection {
    config: Config,
    transport: Transport,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cleaner: Cleaner,
    one_host: bool,
}

/// Without the SDK's configuration, which would show the id of the key.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("region", &self.config.region()).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(region: &str, endpoint: Option<&str>, access: Access, deps: &Deps) -> Self {
        let (transport, clock) = (deps.transport.clone(), Arc::clone(&deps.clock));
        let region = Region::new(region.to_owned());
        let (credentials, secrets) = match access {
            Access::Key { id, key, token } => {
                let text = |secret: &Secret| secret.expose().to_owned();
                let credentials =
                    Credentials::new(text(&id), text(&key), token.as_ref().map(text), None, "the provider's section");
                let secrets = [Some(id), Some(key), token].into_iter().flatten().collect();
                (SharedCredentialsProvider::new(credentials), secrets)
            }
            Access::Usual { profile } => {
                let (transport, clock, region) = (transport.clone(), Arc::clone(&clock), region.clone());
                (SharedCredentialsProvider::new(Usual { profile, region, transport, clock, chain: OnceCell::new() }), Vec::new())
            }
        };
        let mut config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(region)
            .credentials_provider(credentials)
            // One for all calls: else each would fetch credentials of its own.
            .identity_cache(IdentityCache::lazy().build())
            .time_source(GatewayTime(Arc::clone(&clock)))
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        config.set_endpoint_url(endpoint.map(str::to_owned));
        Self { config: config.build(), transport, clock, cleaner: Cleaner::new(secrets), one_host: endpoint.is_some() }
    }

    /// A client for the requests of one call.
    pub(crate) fn client(&self, operation: Operation, cx: &CallContext) -> Client {
        let bridge = Bridge {
            transport: self.transport.clone(),
            clock: Arc::clone(&self.clock),
            operation,
            patience: Patience::Until(self.clock.now().plus(cx.timeout)),
            one_host: self.one_host,
        };
        Client::from_conf(self.config.to_builder().http_client(bridge).build())
    }
}

/// The usual places for credentials, which are looked at when the first call needs some.
#[derive(Debug)]
struct Usual {
    profile: Option<String>,
    region: Region,
    transport: Transport,
    clock: Arc<dyn Clock>,
    chain: OnceCell<DefaultCredentialsChain>,
}

/// Longest wait for the services that hand out credentials.
const PATIENCE: Duration = Duration::from_secs(10);

impl Usual {
    async fn chain(&self) -> &DefaultCredentialsChain {
        let build = || async {
            let bridge = Bridge {
                transport: self.transport.clone(),
                clock: Arc::clone(&self.clock),
                // Whoever is asked for credentials starts no job.
                operation: Operation::Poll,
                patience: Patience::Each(PATIENCE),
                one_host: false,
            };
            let provider = ProviderConfig::without_region()
                .with_region(Some(self.region.clone()))
                .with_http_client(bridge)
                .with_time_source(GatewayTime(Arc::clone(&self.clock)));
            let mut chain = DefaultCredentialsChain::builder().region(self.region.clone()).configure(provider);
            if let Some(profile) = &self.profile {
                chain = chain.profile_name(profile);
            }
            chain.build().await
        };
        self.chain.get_or_init(build).await
    }
}

impl ProvideCredentials for Usual {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async { self.chain().await.provide_credentials().await })
    }
}
