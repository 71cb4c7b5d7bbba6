//! A rig for adapters that speak HTTP: a provider on loopback, faults in front of it, and a counted secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jobgate_adapter_api::{
    AdapterFactory, Deps, FixedRandom, JobRef, ManualClock, Place, Secret, SecretError, SecretRef, SecretSource, Timestamp,
    Transport, TransportLimits,
};
use serde_json::{Value, json};
use wiremock::Request;

use crate::api_server::{ApiServer, MockApi, everything_of};
use crate::{Absent, BadConfig, Case, Fault, Rig, RigTool, Scenario};

/// Where a provider section of a rig finds its credential.
pub const SECRET_REF: &str = "env:JOBGATE_KIT_SECRET";
/// The credential that must never show.
pub const SECRET: &str = "kit-secret-9f2c71d4ab";

/// The transport's cap; [`Fault::Oversize`] sends twice as much.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;

/// A [`Rig`] over a [`MockApi`]: [`crate::JobApi`], [`crate::Stubs`], or an author's own.
pub struct HttpRig {
    server: ApiServer,
    clock: Arc<ManualClock>,
    deps: Deps,
    factory: Box<dyn Fn() -> Box<dyn AdapterFactory> + Send + Sync>,
    provider: Value,
    tools: Vec<RigTool>,
    cases: BTreeMap<Scenario, Result<Case, Absent>>,
    bad: Vec<BadConfig>,
    unknown_job: JobRef,
    hints: bool,
    callback: Option<String>,
    secret: Result<Vec<String>, Absent>,
}

impl fmt::Debug for HttpRig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRig").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl HttpRig {
    /// A provider on a free port of loopback, for adapters of this kind.
    pub async fn start(factory: impl Fn() -> Box<dyn AdapterFactory> + Send + Sync + 'static, api: impl MockApi) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_785_240_000_000)));
        let server = ApiServer::start(api, Arc::<ManualClock>::clone(&clock)).await;
        let limits = TransportLimits { max_body_bytes: MAX_BODY_BYTES, connect_timeout: Duration::from_secs(5) };
        let deps = Deps {
            provider: "kit".to_owned(),
            place: Place::root().key("providers").key("kit"),
            clock: Arc::<ManualClock>::clone(&clock),
            random: Arc::new(FixedRandom::new(7)),
            secrets: Arc::new(OneSecret),
            transport: Transport::new(limits).expect("an HTTP client can be built here"),
            data_dir: None,
        };
        Self {
            server,
            clock,
            deps,
            factory: Box::new(factory),
            provider: json!({}),
            tools: Vec::new(),
            cases: BTreeMap::new(),
            bad: Vec::new(),
            unknown_job: JobRef::new("no-such-job"),
            hints: false,
            callback: None,
            secret: Ok(vec![SECRET.to_owned()]),
        }
    }

    /// Where the provider listens: `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// The provider section, given the provider's address. Its credential is [`SECRET_REF`].
    #[must_use]
    pub fn provider(mut self, words: impl FnOnce(&str) -> Value) -> Self {
        self.provider = words(&self.url());
        self
    }

    /// One more tool.
    #[must_use]
    pub fn tool(mut self, tool: RigTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// What makes the provider behave so.
    #[must_use]
    pub fn case(mut self, scenario: Scenario, case: Case) -> Self {
        self.cases.insert(scenario, Ok(case));
        self
    }

    /// A scenario that this provider does not know, and why.
    #[must_use]
    pub fn without(mut self, scenario: Scenario, reason: &'static str) -> Self {
        self.cases.insert(scenario, Err(Absent(reason)));
        self
    }

    /// A provider section that must be refused, with the rig's own tools.
    #[must_use]
    pub fn bad_provider(mut self, place: &str, change: impl FnOnce(&mut Value)) -> Self {
        let mut provider = self.provider.clone();
        change(&mut provider);
        self.bad.push(BadConfig { provider, tools: self.tools.clone(), place: place.to_owned() });
        self
    }

    /// A first tool whose `job:` section must be refused.
    #[must_use]
    pub fn bad_tool(mut self, place: &str, change: impl FnOnce(&mut Value)) -> Self {
        let mut tools = self.tools.clone();
        change(&mut tools.first_mut().expect("a rig's tools come before its bad ones").words);
        self.bad.push(BadConfig { provider: self.provider.clone(), tools, place: place.to_owned() });
        self
    }

    /// A job that the provider never had, where its reference needs handles.
    #[must_use]
    pub fn unknown(mut self, job: JobRef) -> Self {
        self.unknown_job = job;
        self
    }

    /// Deliveries that only name their job.
    #[must_use]
    pub const fn with_hints(mut self) -> Self {
        self.hints = true;
        self
    }

    /// The address that a submit may hand out for deliveries of its job.
    #[must_use]
    pub fn with_callback(mut self, address: impl Into<String>) -> Self {
        self.callback = Some(address.into());
        self
    }

    /// One more form in which the secret must not show, for example its base64.
    #[must_use]
    pub fn secret_also_as(mut self, form: impl Into<String>) -> Self {
        if let Ok(forms) = &mut self.secret {
            forms.push(form.into());
        }
        self
    }

    /// No credential, and why.
    #[must_use]
    pub fn without_secret(mut self, reason: &'static str) -> Self {
        self.secret = Err(Absent(reason));
        self
    }

    /// Every request that the provider received, in order.
    pub async fn requests(&self) -> Vec<Request> {
        self.server.requests().await
    }
}

#[async_trait]
impl Rig for HttpRig {
    fn factory(&self) -> Box<dyn AdapterFactory> {
        (self.factory)()
    }

    fn provider(&self) -> Value {
        self.provider.clone()
    }

    fn tools(&self) -> Vec<RigTool> {
        self.tools.clone()
    }

    fn deps(&self) -> Deps {
        self.deps.clone()
    }

    fn case(&self, scenario: Scenario) -> Result<Case, Absent> {
        self.cases.get(&scenario).cloned().unwrap_or(Err(Absent("")))
    }

    fn bad_configs(&self) -> Vec<BadConfig> {
        self.bad.clone()
    }

    fn unknown_job(&self) -> JobRef {
        self.unknown_job.clone()
    }

    async fn pass_time(&self, span: Duration) {
        self.clock.advance(span);
    }

    async fn jobs(&self) -> Result<usize, Absent> {
        self.server.api().jobs()
    }

    async fn answers(&self) -> Result<usize, Absent> {
        self.server.api().answers()
    }

    async fn delivery(&self, job: &JobRef) -> Result<Vec<u8>, Absent> {
        self.server.api().delivery(job.id())
    }

    fn deliveries_are_hints(&self) -> bool {
        self.hints
    }

    fn callback_url(&self) -> Option<String> {
        self.callback.clone()
    }

    async fn inject(&self, fault: Option<Fault>) -> Result<(), Absent> {
        self.server.inject(fault);
        Ok(())
    }

    fn secret(&self) -> Result<Vec<String>, Absent> {
        self.secret.clone()
    }

    async fn saw_secret(&self) -> bool {
        let Ok(forms) = &self.secret else { return false };
        self.requests().await.iter().any(|request| {
            let text = everything_of(request);
            forms.iter().any(|form| text.contains(form))
        })
    }
}

/// Knows [`SECRET_REF`] and nothing else.
#[derive(Debug)]
struct OneSecret;

impl SecretSource for OneSecret {
    fn read(&self, reference: &SecretRef) -> Result<Secret, SecretError> {
        if reference.to_string() == SECRET_REF {
            return Ok(Secret::new(SECRET.to_owned()));
        }
        Err(match reference {
            SecretRef::Env(name) => SecretError::Env(name.clone()),
            SecretRef::File(path) => SecretError::File { path: path.clone(), reason: "the kit has no files".to_owned() },
        })
    }
}
