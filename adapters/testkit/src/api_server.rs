//! A provider's HTTP interface on loopback, with faults in front of it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jobgate_adapter_api::Clock;
use serde_json::json;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::http_rig::MAX_BODY_BYTES;
use crate::wire::WireRelay;
use crate::{Absent, Fault};

/// Longer than any deadline of the suite that meets it.
const SLOW: Duration = Duration::from_secs(30);

/// A provider's HTTP interface, as one function.
pub trait MockApi: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, request: &Request) -> ResponseTemplate;

    /// Gives it the rig's clock, before the first request.
    fn set_clock(&mut self, clock: Arc<dyn Clock>) {
        let _ = clock;
    }

    /// How many jobs it has started.
    fn jobs(&self) -> Result<usize, Absent>;

    /// How many answers of people took effect.
    fn answers(&self) -> Result<usize, Absent>;

    /// The body of what it would deliver of a job as it stands. Needed where `webhook` is claimed.
    fn delivery(&self, job: &str) -> Result<Vec<u8>, Absent> {
        let _ = job;
        Err(Absent("this API delivers nothing"))
    }
}

/// A [`MockApi`] on a free port of loopback, for whoever needs no rig. Dropping it ends it.
pub struct ApiServer {
    server: MockServer,
    relay: WireRelay,
    state: Arc<State>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// What the server's threads share with their owner.
struct State {
    api: Box<dyn MockApi>,
    fault: Mutex<Option<Fault>>,
}

impl ApiServer {
    /// Listens. What the API tells of the time of day is this clock's.
    pub async fn start(mut api: impl MockApi, clock: Arc<dyn Clock>) -> Self {
        api.set_clock(clock);
        let server = MockServer::start().await;
        let relay = WireRelay::before(*server.address()).await;
        let state = Arc::new(State { api: Box::new(api), fault: Mutex::new(None) });
        let cut = Arc::clone(&state);
        Mock::given(move |_: &Request| cut.fault() == Some(Fault::Cut))
            .respond_with_err(|_: &Request| std::io::Error::other("the connection is cut"))
            .with_priority(1)
            .mount(&server)
            .await;
        Mock::given(|_: &Request| true).respond_with(Front(Arc::clone(&state))).with_priority(2).mount(&server).await;
        Self { server, relay, state }
    }

    /// Where it listens: `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        self.relay.url()
    }

    /// Every request that it received, in order.
    pub async fn requests(&self) -> Vec<Request> {
        self.server.received_requests().await.unwrap_or_default()
    }

    /// The API itself.
    #[must_use]
    pub fn api(&self) -> &dyn MockApi {
        self.state.api.as_ref()
    }

    /// From now on every request meets `fault`, until `None`.
    pub fn inject(&self, fault: Option<Fault>) {
        *self.state.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

impl State {
    fn fault(&self) -> Option<Fault> {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers with the fault of the moment, or as the provider does.
struct Front(Arc<State>);

impl Respond for Front {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let error = |message: &str| json!({ "message": message, "error": { "message": message } });
        let of = |status: u16| ResponseTemplate::new(status).set_body_json(error("the provider is in trouble"));
        match self.0.fault() {
            None => self.0.api.answer(request),
            Some(Fault::RateLimited(None)) => of(429),
            Some(Fault::RateLimited(Some(wait))) => of(429).insert_header("Retry-After", wait.as_secs().to_string()),
            // A cut connection is answered by the mock in front of this one.
            Some(Fault::Unavailable | Fault::Cut) => of(503),
            Some(Fault::Rejected) => of(422),
            Some(Fault::Unauthorized) => of(401),
            Some(Fault::Echo) => ResponseTemplate::new(422).set_body_json(error(&everything_of(request))),
            Some(Fault::Slow) => ResponseTemplate::new(200).set_body_json(json!({ "id": "1" })).set_delay(SLOW),
            Some(Fault::BadJson) => ResponseTemplate::new(200).set_body_raw(r#"{"id": "1", "status": "succ"#, "application/json"),
            Some(Fault::Html) => ResponseTemplate::new(200).set_body_raw("<!DOCTYPE html><title>Sign in</title>", "text/html"),
            Some(Fault::Oversize) => {
                ResponseTemplate::new(200).set_body_json(json!({ "id": "1", "filler": "x".repeat(2 * MAX_BODY_BYTES) }))
            }
        }
    }
}

/// Address, headers and body in one text.
pub(crate) fn everything_of(request: &Request) -> String {
    let headers: Vec<String> =
        request.headers.iter().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))).collect();
    format!("{} {} {}", request.url, headers.join("; "), String::from_utf8_lossy(&request.body))
}
