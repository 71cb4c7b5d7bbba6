//! A server between two others: it keeps what passes, and refuses, doubles, withholds or loses it, as a test says.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The largest body that passes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Longest wait for the server behind.
const LIMIT: Duration = Duration::from_secs(60);

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It goes through.
    Pass,
    /// It goes through twice; the second answer counts.
    Twice,
    /// It is answered with this status and goes nowhere.
    Refuse(u16),
    /// It goes through, and the connection ends without an answer.
    Lose,
    /// It goes through, and the answer is kept back for ever.
    Hold,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers, by names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; `null` when it is no JSON.
    pub body: Value,
    /// The body as it came.
    pub bytes: Vec<u8>,
    /// What became of it.
    pub way: Way,
    /// The statuses that the server behind answered.
    pub answers: Vec<u16>,
}

/// Decides what becomes of a request, from what came and how many came before.
type Rule = Box<dyn FnMut(&Seen, usize) -> Way + Send>;

struct State {
    target: u16,
    client: reqwest::Client,
    rule: Mutex<Rule>,
    seen: Mutex<Vec<Seen>>,
}

/// The server. Dropping it ends it.
pub struct Relay {
    port: u16,
    state: Arc<State>,
    server: JoinHandle<()>,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("port", &self.port).field("target", &self.state.target).finish_non_exhaustive()
    }
}

impl Relay {
    /// Listens on a free port of this machine, before the server on the port `target`, which need not be there yet: while it is not, a
    /// request ends without an answer.
    ///
    /// # Panics
    /// When there is no port.
    pub async fn before(target: u16) -> Self {
        Self::at(0, target).await
    }

    /// As [`Relay::before`], on this port.
    ///
    /// # Panics
    /// When the port is taken.
    pub async fn at(port: u16, target: u16) -> Self {
        // A second install is refused because the first one stands.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().timeout(LIMIT).no_proxy().build().expect("an HTTP client");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let rule: Rule = Box::new(|_, _| Way::Pass);
        let state = Arc::new(State { target, client, rule: Mutex::new(rule), seen: Mutex::default() });
        let server = spawn(serve(listener, Arc::clone(&state)));
        Self { port, state, server }
    }

    /// The port that it listens on.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// From now on `rule` says what becomes of a request; it is told how many came before in all.
    pub fn rule(&self, rule: impl FnMut(&Seen, usize) -> Way + Send + 'static) {
        *self.state.rule.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(rule);
    }

    /// What came so far, and has been dealt with.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests' own server")]
fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(work)
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| pass(&state, request));
            // A lost answer is an error of the connection, which is what the test wants.
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

/// The connection ends without an answer.
#[derive(Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no answer")
    }
}

impl std::error::Error for Cut {}

#[expect(clippy::disallowed_methods, reason = "it is given a cap")]
async fn pass(state: &State, request: Request<Incoming>) -> Result<Response<Body>, Cut> {
    let (head, body) = request.into_parts();
    let bytes = to_bytes(Body::new(body), MOST_BYTES).await.map_err(|_| Cut)?;
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut seen = Seen {
        method: head.method.to_string(),
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        bytes: bytes.to_vec(),
        way: Way::Pass,
        answers: Vec::new(),
    };
    let before = state.seen.lock().unwrap_or_else(PoisonError::into_inner).len();
    seen.way = (state.rule.lock().unwrap_or_else(PoisonError::into_inner))(&seen, before);
    let times = match seen.way {
        Way::Pass | Way::Lose | Way::Hold => 1,
        Way::Twice => 2,
        Way::Refuse(_) => 0,
    };
    let mut answer = None;
    for _ in 0..times {
        answer = forward(state, &head, bytes.to_vec()).await;
        seen.answers.extend(answer.iter().map(|answer| answer.status().as_u16()));
    }
    let way = seen.way;
    state.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
    match (way, answer) {
        (Way::Hold, _) => std::future::pending().await,
        (Way::Refuse(status), _) => {
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::from_u16(status).expect("the test names a status");
            Ok(answer)
        }
        (Way::Pass | Way::Twice, Some(answer)) => Ok(answer),
        (Way::Lose, _) | (_, None) => Err(Cut),
    }
}

/// The answer of the server behind; `None` when there is none.
async fn forward(state: &State, head: &hyper::http::request::Parts, body: Vec<u8>) -> Option<Response<Body>> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = state.client.request(head.method.clone(), format!("http://127.0.0.1:{}{path}", state.target));
    for (name, value) in head.headers.iter().filter(|(name, _)| !of_connection(name.as_str())) {
        request = request.header(name, value);
    }
    let answer = request.body(body).send().await.ok()?;
    let mut out = Response::builder().status(answer.status());
    for (name, value) in answer.headers().iter().filter(|(name, _)| !of_connection(name.as_str())) {
        out = out.header(name, value);
    }
    out.body(Body::from(answer.bytes().await.ok()?)).ok()
}

/// Headers that speak of one connection.
fn of_connection(name: &str) -> bool {
    matches!(name, "host" | "connection" | "content-length" | "transfer-encoding")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::process::free_ports;
    use crate::wire::Wire;

    /// Two relays in a row: the second one stands for a server.
    #[tokio::test]
    async fn requests_take_the_way_that_the_test_says() {
        let behind = Relay::before(free_ports(1)).await;
        behind.rule(|_, _| Way::Refuse(204));
        let relay = Relay::before(behind.port()).await;
        relay.rule(|_, before| [Way::Pass, Way::Twice, Way::Refuse(503), Way::Lose][before]);
        let wire = Wire::new("http://127.0.0.1:1/");
        let url = format!("http://127.0.0.1:{}/a?b=c", relay.port());
        for wanted in [204, 204, 503] {
            assert_eq!(wire.plain("POST", &url, &[("x-a", "1")], Some(json!({ "n": 1 }))).await.0, wanted);
        }
        assert_eq!(wire.status(&url).await, None);
        let (first, answers) = (&relay.seen()[0], relay.seen().iter().map(|seen| seen.answers.clone()).collect::<Vec<_>>());
        assert_eq!((first.path.as_str(), &first.body), ("/a?b=c", &json!({ "n": 1 })));
        assert_eq!(answers, [vec![204], vec![204, 204], vec![], vec![204]]);
        assert_eq!(behind.seen().len(), 4);
        assert!(behind.seen()[0].headers.contains(&("x-a".to_owned(), "1".to_owned())));
    }
}
