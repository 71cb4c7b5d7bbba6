//! A router with every scheme on a route of its own, an intake that remembers, and deliveries as their providers sign them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jobgate::domain::{CallerLimits, ManualClock, ProviderName, TaskId, Timestamp};
use jobgate::engine::Supervisor;
use jobgate::engine::{Delivery, IngestError, Ingested};
use jobgate::hooks::{Hooks, Intake, KeySource, OneCertificate, Receiver, ReceiverParts, Route, Routes, RoutesParts};
use jobgate::http::limit::read_body;
use jobgate::http::{Health, HttpParts, HttpSettings, NoAuth, router};
use jobgate::mcp::{Frontend, Limits, Reply, RequestContext};
use jobgate::metrics::{Metrics, Standing};
use jobgate::store::StoreError;
use jobgate_adapter_api::{Transport, TransportLimits};
use jobgate_webhooks::{
    AddressToken, AtAddress, CallbackKey, Credential, KeySet, NAMES, Outgoing, Scheme, SchemeConfig, Secret, Secrets, sign,
};
use tokio::sync::Notify;
use tower::ServiceExt as _;

/// When every delivery is sent; inside the validity of the test certificate.
pub(crate) const NOW: i64 = 1_800_000_000;
pub(crate) const PUBLIC: &str = "https://gateway.example/base";
/// The body of most deliveries.
pub(crate) const BODY: &[u8] = br#"{"id":"job-1","status":"completed"}"#;
/// A token of a whole route's address.
pub(crate) const TOKEN: &str = "chosen-by-the-operator-0123456789";
/// An Ed25519 seed (RFC 9421, B.1.4) and its public key.
const SEED: &str = "9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5";
const PUBLIC_X: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
const PUBLIC_HEX: &str = "26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb";
const RSA_PRIVATE: &str = include_str!("../../webhooks/tests/fixtures/rsa_private.pem");
pub(crate) const RSA_KEYS: &str = include_str!("../../webhooks/tests/fixtures/rsa_keys.json");
const CERTIFICATE: &str = include_str!("../../webhooks/tests/fixtures/rsa_certificate.pem");

/// What an intake does with a delivery.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Does {
    /// Takes it, once.
    #[default]
    Takes,
    Gives(Ingested),
    CannotRead,
    CannotWrite,
    Panics,
    /// Never answers, until it is told to.
    Hangs,
}

/// What the intake was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) provider: String,
    pub(crate) body: Vec<u8>,
    pub(crate) task: Option<TaskId>,
    pub(crate) binds: (bool, bool),
}

#[derive(Debug)]
pub(crate) struct Remembers {
    pub(crate) does: Mutex<Does>,
    pub(crate) taken: Mutex<Vec<Taken>>,
    known: Mutex<BTreeSet<(String, [u8; 32])>>,
    callbacks: CallbackKey,
    pub(crate) arrived: Notify,
    pub(crate) go_on: Notify,
}

#[async_trait]
impl Intake for Remembers {
    fn open_callback(&self, token: &str) -> Option<AtAddress> {
        self.callbacks.open(token)
    }

    async fn ingest(&self, delivery: Delivery<'_>) -> Result<Ingested, IngestError> {
        let does = *self.does.lock().unwrap();
        match does {
            Does::Takes => {}
            Does::Gives(ingested) => return Ok(ingested),
            Does::CannotRead => return Err(IngestError::Unreadable("no object at `$.data`".to_owned())),
            Does::CannotWrite => return Err(IngestError::Store(StoreError::Unavailable("the disk is full".to_owned()))),
            Does::Panics => panic!("as the test wants it"),
            Does::Hangs => {
                self.arrived.notify_one();
                self.go_on.notified().await;
            }
        }
        let (provider, verified) = (delivery.provider.as_str().to_owned(), delivery.verified);
        if !self.known.lock().unwrap().insert((provider.clone(), *verified.replay_id().as_bytes())) {
            return Ok(Ingested::Repeat { conflict: false });
        }
        let binds = (verified.binds().body, verified.binds().time);
        self.taken.lock().unwrap().push(Taken { provider, body: verified.body().to_vec(), task: delivery.task, binds });
        Ok(Ingested::Applied)
    }
}

#[derive(Debug)]
struct NoFrontend;

#[async_trait]
impl Frontend for NoFrontend {
    async fn handle(&self, _: RequestContext, _: Bytes) -> Reply {
        Reply::Accepted
    }
}

#[async_trait]
impl Health for NoFrontend {
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    async fn figures(&self) -> Result<String, String> {
        Ok(String::new())
    }
}

/// The words of a scheme that needs more than its name.
pub(crate) fn config(name: &str) -> SchemeConfig {
    let some = |text: &str| Some(text.to_owned());
    let named = SchemeConfig::named(name);
    match name {
        "static_token" => SchemeConfig { header: some("X-Webhook-Secret"), ..named },
        "fal" => SchemeConfig { user_id: some("user-123"), ..named },
        "aws_sns" => SchemeConfig { topic_arn: some("arn:aws:sns:eu-central-1:123456789012:jobs"), ..named },
        "google_pubsub" => {
            SchemeConfig { audience: some("https://gateway.example/hooks"), email: some("push@project.example"), ..named }
        }
        "cloudevents" => SchemeConfig { origins: vec!["events.example".to_owned()], rate: Some(100), ..named },
        "rfc9421" => SchemeConfig { key_id: some("shared"), ..named },
        "hmac" | "ed25519" => SchemeConfig {
            signature_header: some("X-Signature"),
            timestamp_header: some("X-Timestamp"),
            id_header: some("X-Id"),
            signed: some("{id}|{timestamp}|{body}"),
            ..named
        },
        _ => named,
    }
}

/// What signs in a scheme.
pub(crate) fn secret_text(name: &str) -> String {
    match name {
        "standard_webhooks" | "svix" | "openai" | "replicate" | "anthropic" | "gemini" | "gitlab" => {
            format!("whsec_{}", STANDARD.encode([7; 32]))
        }
        "stripe" | "heygen" => "whsec_0123456789abcdef".to_owned(),
        "fal" | "discord" | "ed25519" => SEED.to_owned(),
        "aws_sns" | "google_pubsub" => RSA_PRIVATE.to_owned(),
        "basic" => "jobgate:hunter2-hunter2-hunter2".to_owned(),
        "rfc9421" => STANDARD.encode([9; 32]),
        _ => "hunter2-hunter2-hunter2".to_owned(),
    }
}

fn secrets(name: &str, scheme: &Scheme) -> Secrets {
    let jwks = format!("{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"key-1\",\"x\":\"{PUBLIC_X}\"}}]}}");
    let of = |text: String| Secrets::new(scheme, [Credential::new(Secret::new(text))]).unwrap();
    match name {
        "fal" => Secrets::new(scheme, []).unwrap().with_key_set(KeySet::from_jwks(jwks.as_bytes()).unwrap()),
        "google_pubsub" => Secrets::new(scheme, []).unwrap().with_key_set(KeySet::from_jwks(RSA_KEYS.as_bytes()).unwrap()),
        "discord" | "ed25519" => of(PUBLIC_HEX.to_owned()),
        "aws_sns" => Secrets::new(scheme, []).unwrap().with_certificates(OneCertificate::new(CERTIFICATE)),
        "meta" => of(secret_text(name)).with_verify_token(&Secret::new("a-verify-token")).unwrap(),
        _ => of(secret_text(name)),
    }
}

/// A route of a scheme, named after it with `-` for `_`.
pub(crate) fn route(scheme: &str) -> Route {
    let checked = Scheme::from_config(&config(scheme)).unwrap();
    let secrets = secrets(scheme, &checked);
    Route { scheme: Some((checked, secrets)), ..unsigned(&scheme.replace('_', "-"), None, false) }
}

/// A route of a provider that signs nothing.
pub(crate) fn unsigned(name: &str, token: Option<&str>, callbacks: bool) -> Route {
    Route {
        provider: ProviderName::new(name),
        scheme: None,
        address: token.map(|token| AddressToken::new(&Secret::new(token)).unwrap()),
        callbacks,
        keys: None,
        fetch_certificates: false,
        unknown_refused: false,
        max_body_bytes: 64 * 1024,
        transport: Transport::new(TransportLimits::default()).unwrap(),
    }
}

/// A route whose public keys are fetched.
pub(crate) fn fetching(url: String, refresh: Duration) -> Route {
    let scheme = Scheme::from_config(&config("google_pubsub")).unwrap();
    let secrets = Secrets::new(&scheme, []).unwrap();
    Route { scheme: Some((scheme, secrets)), keys: Some(KeySource { url, refresh }), ..unsigned("fetching", None, false) }
}

pub(crate) struct Gate {
    pub(crate) intake: Arc<Remembers>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) metrics: Metrics,
    pub(crate) receiver: Arc<Receiver>,
    router: axum::Router,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Gate {
    /// Every scheme, a route with a token, one with callback addresses, and those of `more`.
    pub(crate) fn with(more: Vec<Route>) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(NOW * 1000)));
        let (metrics, supervisor) = (Metrics::new(), Supervisor::new(clock.clone()));
        let mut all: Vec<Route> = NAMES.iter().map(|name| route(name)).collect();
        all.extend([unsigned("tokened", Some(TOKEN), false), unsigned("called-back", None, true)]);
        all.extend(more);
        let routes = Arc::new(Routes::new(RoutesParts {
            routes: all,
            public_url: Some(PUBLIC.to_owned()),
            clock: clock.clone(),
            metrics: metrics.clone(),
        }));
        let intake = Arc::new(Remembers {
            does: Mutex::default(),
            taken: Mutex::default(),
            known: Mutex::default(),
            callbacks: CallbackKey::new(&[5; 32]),
            arrived: Notify::new(),
            go_on: Notify::new(),
        });
        let receiver =
            Arc::new(Receiver::new(ReceiverParts { routes, intake: intake.clone(), clock: clock.clone(), supervisor }));
        let router = router(HttpParts {
            frontend: Arc::new(NoFrontend),
            settings: HttpSettings::default(),
            auth: Arc::new(NoAuth),
            limits: Arc::new(Limits::new(&CallerLimits::default(), clock.clone())),
            health: Arc::new(NoFrontend),
            hooks: Some(receiver.clone() as Arc<dyn Hooks>),
            artifacts: None,
            clock: clock.clone(),
        });
        Self { intake, clock, metrics, receiver, router }
    }

    pub(crate) fn new() -> Self {
        Self::with(Vec::new())
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = read_body(&HeaderMap::new(), response.into_body(), 1 << 20, Duration::from_secs(1), &*self.clock).await;
        Answer { status, headers, body: body.unwrap() }
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answer {
        self.send(request("POST", path, headers, body)).await
    }

    pub(crate) fn does(&self, does: Does) {
        *self.intake.does.lock().unwrap() = does;
    }

    pub(crate) fn taken(&self) -> Vec<Taken> {
        std::mem::take(&mut *self.intake.taken.lock().unwrap())
    }

    /// The last step of a callback address.
    pub(crate) fn callback(&self, task: TaskId) -> String {
        self.intake.callbacks.token(*task.as_bytes())
    }

    /// How often a verdict was counted on a route.
    pub(crate) fn counted(&self, provider: &str, verdict: &str) -> u64 {
        let line = format!("jobgate_webhook_deliveries_total{{provider=\"{provider}\",verdict=\"{verdict}\"}} ");
        let text = self.metrics.to_text(&Standing::default());
        text.lines().find_map(|it| it.strip_prefix(&line)).map_or(0, |count| count.parse().unwrap())
    }
}

pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

/// A delivery as its provider signs it.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Signed {
    pub(crate) fn request(&self) -> Request<Body> {
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        request("POST", &self.path, &headers, self.body.clone())
    }
}

pub(crate) fn signed_as(scheme: &str, route: &str, id: &str, body: &[u8], now: i64) -> Signed {
    let base = format!("{PUBLIC}/hooks/{route}");
    let checked = Scheme::from_config(&config(scheme)).unwrap();
    let out = Outgoing { url: &base, id, body };
    let signed =
        sign(&checked, &Secret::new(secret_text(scheme)), &out, now).unwrap_or_else(|problem| panic!("{scheme}: {problem}"));
    let path = signed.url.strip_prefix(PUBLIC).unwrap().to_owned();
    Signed { path, headers: signed.headers, body: signed.body }
}

/// A good delivery on the scheme's own route.
pub(crate) fn signed(scheme: &str) -> Signed {
    signed_as(scheme, &scheme.replace('_', "-"), "msg_1", BODY, NOW)
}

/// A server of key sets that counts who asks.
#[derive(Debug, Default)]
pub(crate) struct KeyServer {
    pub(crate) body: Mutex<(u16, Vec<u8>)>,
    asked: AtomicUsize,
    pub(crate) elsewhere: AtomicBool,
    /// Whose work it is; it ends with the test's runtime.
    supervisor: OnceLock<Supervisor>,
}

impl KeyServer {
    /// Serves until the test ends; gives the address.
    pub(crate) async fn start(status: u16, body: &[u8]) -> (Arc<Self>, String) {
        let supervisor = Supervisor::new(Arc::new(ManualClock::new(Timestamp::default())));
        let server = Arc::new(Self { body: Mutex::new((status, body.to_vec())), ..Self::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let keys = async |State(server): State<Arc<Self>>| {
            server.asked.fetch_add(1, Ordering::SeqCst);
            let (status, body) = server.body.lock().unwrap().clone();
            (StatusCode::from_u16(status).unwrap(), [("location", "/elsewhere")], body).into_response()
        };
        let elsewhere = async |State(server): State<Arc<Self>>| {
            server.elsewhere.store(true, Ordering::SeqCst);
            RSA_KEYS
        };
        let app = axum::Router::new().route("/keys", get(keys)).route("/elsewhere", get(elsewhere)).with_state(server.clone());
        supervisor.spawn("key server", async move {
            axum::serve(listener, app).await.ok();
        });
        server.supervisor.set(supervisor).ok();
        (server, format!("http://{address}/keys"))
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}
