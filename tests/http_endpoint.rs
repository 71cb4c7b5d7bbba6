//! `POST /mcp` around a front end that answers by the script: what may come in, what goes out, and in which form.

#![expect(clippy::unwrap_used, reason = "a helper that cannot make its request has failed")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::{HeaderMap, Request};
use bytes::Bytes;
use futures_util::StreamExt as _;
use jobgate::domain::{CallerLimits, ManualClock, Timestamp};
use jobgate::http::limit::read_body;
use jobgate::http::{Health, HttpParts, HttpSettings, NoAuth, router};
use jobgate::mcp::{Frontend, HeaderText, Limits, Message, Notes, Reply, RequestContext, Streams};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tower::ServiceExt as _;

/// Keeps what it was asked, and answers with what it was given.
#[derive(Debug, Default)]
struct Scripted {
    seen: Mutex<Vec<(RequestContext, Bytes)>>,
    next: Mutex<Option<Reply>>,
}

#[async_trait]
impl Frontend for Scripted {
    async fn handle(&self, context: RequestContext, message: Bytes) -> Reply {
        self.seen.lock().unwrap().push((context, message));
        self.next.lock().unwrap().take().unwrap_or_else(|| Reply::ok(Bytes::from_static(b"{\"answer\":1}")))
    }
}

#[derive(Debug)]
struct Well(Result<(), String>);

#[async_trait]
impl Health for Well {
    fn ready(&self) -> Result<(), String> {
        self.0.clone()
    }

    async fn figures(&self) -> Result<String, String> {
        Ok("# EOF\n".to_owned())
    }
}

struct Gate {
    frontend: Arc<Scripted>,
    clock: Arc<ManualClock>,
    router: axum::Router,
}

impl Gate {
    fn new() -> Self {
        Self::with(HttpSettings { max_body_bytes: 100, ..HttpSettings::default() }, Ok(()))
    }

    fn with(settings: HttpSettings, health: Result<(), String>) -> Self {
        let frontend = Arc::new(Scripted::default());
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
        let parts = HttpParts {
            frontend: frontend.clone(),
            settings,
            auth: Arc::new(NoAuth),
            limits: Arc::new(Limits::new(&CallerLimits::default(), clock.clone())),
            health: Arc::new(Well(health)),
            hooks: None,
            artifacts: None,
            clock: clock.clone(),
        };
        Self { frontend, clock, router: router(parts) }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = read_body(&HeaderMap::new(), response.into_body(), 1 << 20, Duration::from_secs(1), &*self.clock).await;
        Answer { status, headers, body: body.unwrap() }
    }

    fn asked(&self) -> Vec<(RequestContext, Bytes)> {
        std::mem::take(&mut *self.frontend.seen.lock().unwrap())
    }

    fn answers(&self, reply: Reply) {
        *self.frontend.next.lock().unwrap() = Some(reply);
    }
}

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// A refusal is a JSON-RPC error without an id.
    fn is_refusal(&self, status: u16) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/json");
        let body = self.json();
        assert_eq!((&body["jsonrpc"], &body["error"]["code"], body.get("id")), (&json!("2.0"), &json!(-32600), None), "{body}");
    }
}

fn posted(headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = Request::post("/mcp");
    let defaults =
        [("host", "localhost:8080"), ("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    for (name, value) in defaults {
        if !headers.iter().any(|(other, _)| *other == name) {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).unwrap()
}

/// Streamable HTTP, "Sending Messages" 6: a request is answered with one JSON object.
#[tokio::test]
async fn a_message_goes_in_and_its_answer_comes_out_as_json() {
    let gate = Gate::new();
    let answer = gate.send(posted(&[], "{\"any\":true}")).await;
    assert_eq!((answer.status, answer.header("content-type"), answer.json()), (200, "application/json", json!({ "answer": 1 })));
    let asked = gate.asked();
    assert_eq!(asked[0].1, "{\"any\":true}");
}

/// Streamable HTTP, "Sending Messages" 5: an accepted notification is 202 without a body.
#[tokio::test]
async fn an_accepted_notification_is_202_without_a_body() {
    let gate = Gate::new();
    gate.answers(Reply::Accepted);
    let answer = gate.send(posted(&[], "{}")).await;
    assert_eq!((answer.status, answer.body.len()), (202, 0));
}

#[tokio::test]
async fn the_status_of_an_error_is_the_front_ends() {
    let gate = Gate::new();
    gate.answers(Reply::One { status: 404, body: Bytes::from_static(b"{}"), notes: Notes::default() });
    assert_eq!(gate.send(posted(&[], "{}")).await.status, 404);
}

/// Streamable HTTP: other methods than POST, GET and DELETE are 405.
#[tokio::test]
async fn other_methods_are_405_and_say_what_is_allowed() {
    let gate = Gate::new();
    for method in ["PUT", "PATCH", "HEAD"] {
        let request = Request::builder().method(method).uri("/mcp").header("host", "localhost").body(Body::empty()).unwrap();
        let answer = gate.send(request).await;
        assert_eq!((answer.status, answer.header("allow")), (405, "POST,GET,DELETE"), "{method}");
    }
    assert!(gate.asked().is_empty());
}

/// Streamable HTTP, "Security & Endpoint": an `Origin` that is not allowed is 403.
#[tokio::test]
async fn strangers_are_refused_before_their_message_is_looked_at() {
    let settings = HttpSettings {
        allowed_hosts: vec!["gate.example.com".to_owned()],
        allowed_origins: vec!["https://app.example.com".to_owned()],
        ..HttpSettings::default()
    };
    let gate = Gate::with(settings, Ok(()));
    gate.send(posted(&[("host", "evil.example.com")], "{}")).await.is_refusal(421);
    gate.send(posted(&[("origin", "https://evil.example.com")], "{}")).await.is_refusal(403);
    gate.send(posted(&[("origin", "null")], "{}")).await.is_refusal(403);
    assert!(gate.asked().is_empty());
    let known = posted(&[("host", "gate.example.com"), ("origin", "https://app.example.com")], "{}");
    assert_eq!(gate.send(known).await.status, 200);
}

#[tokio::test]
async fn only_json_comes_in() {
    let gate = Gate::new();
    for kind in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
        gate.send(posted(&[("content-type", kind)], "{}")).await.is_refusal(415);
    }
    for kind in ["application/json; charset=utf-8", "Application/JSON"] {
        assert_eq!(gate.send(posted(&[("content-type", kind)], "{}")).await.status, 200, "{kind}");
    }
}

/// A client that accepts JSON, `*/*` or says nothing gets JSON; 406 only when neither would be accepted.
#[tokio::test]
async fn accept_decides_the_form_of_the_answer() {
    let gate = Gate::new();
    for accept in ["", "*/*", "application/json", "application/json, text/event-stream", "text/event-stream, application/json"] {
        let answer = gate.send(posted(&[("accept", accept)], "{}")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"), "{accept}");
    }
    let answer = gate.send(posted(&[("accept", "text/event-stream")], "{}")).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/event-stream"));
    assert_eq!(answer.body, "event: message\ndata: {\"answer\":1}\n\n");
    gate.asked();
    gate.send(posted(&[("accept", "text/html")], "{}")).await.is_refusal(406);
    assert!(gate.asked().is_empty());
}

#[tokio::test]
async fn what_is_known_of_the_client_reaches_the_front_end() {
    let gate = Gate::new();
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("Mcp-Method", "  tools/call  "),
        ("mcp-name", "=?base64?eA==?="),
        ("Mcp-Param-Region", "eu"),
        ("mcp-param-size", "5"),
    ];
    gate.send(posted(&headers, "{}")).await;
    let mut twice = posted(&[("mcp-method", "a"), ("accept", "application/json")], "{}");
    twice.headers_mut().append("mcp-method", "b".parse().unwrap());
    twice.headers_mut().insert("mcp-name", axum::http::HeaderValue::from_bytes(b"\xff").unwrap());
    gate.send(twice).await;
    let asked = gate.asked();
    let one = |text: &str| HeaderText::One(text.to_owned());
    let first = asked[0].0.headers.clone().unwrap();
    assert_eq!(first.protocol_version, one("2026-07-28"));
    assert_eq!(first.method, one("tools/call"));
    assert_eq!(first.name, one("=?base64?eA==?="));
    let mut params = first.params;
    params.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(params, [("region".to_owned(), one("eu")), ("size".to_owned(), one("5"))]);
    assert_eq!(asked[0].0.streams, Streams::Wanted);
    let second = asked[1].0.headers.clone().unwrap();
    assert_eq!((second.method, second.name), (HeaderText::Repeated, HeaderText::Unreadable));
    assert_eq!(second.protocol_version, HeaderText::Absent);
    assert_eq!(asked[1].0.streams, Streams::Refused);
}

/// Requirement G4: sizes are bounded, announced or not.
#[tokio::test]
async fn a_message_that_is_too_large_is_413_and_is_not_read_to_its_end() {
    let gate = Gate::new();
    gate.send(posted(&[], &"x".repeat(101))).await.is_refusal(413);
    gate.send(posted(&[("content-length", "101")], "{}")).await.is_refusal(413);
    let endless = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(b"xxxxxxxxxxxxxxxxxxxxx")));
    let mut request = posted(&[], "");
    *request.body_mut() = Body::from_stream(endless);
    gate.send(request).await.is_refusal(413);
    assert!(gate.asked().is_empty());
    assert_eq!(gate.send(posted(&[], &"x".repeat(100))).await.status, 200);
}

#[tokio::test]
async fn a_message_that_does_not_arrive_is_408() {
    let gate = Gate::new();
    let (slow, body) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let body = futures_util::stream::unfold(body, |mut body| async move { body.recv().await.map(|chunk| (chunk, body)) });
    let mut request = posted(&[], "");
    *request.body_mut() = Body::from_stream(body);
    let answer = gate.send(request);
    tokio::pin!(answer);
    let clock = gate.clock.clone();
    let push = async {
        slow.send(Ok(Bytes::from_static(b"{"))).await.unwrap();
        slow.send(Ok(Bytes::from_static(b"\"a\""))).await.unwrap();
        // Both pieces were taken, so the wait for the rest has begun.
        slow.reserve().await.unwrap();
        clock.advance(HttpSettings::default().request_timeout);
    };
    let (answer, ()) = tokio::join!(answer, push);
    answer.is_refusal(408);
}

#[tokio::test]
async fn a_message_that_is_cut_off_is_400() {
    let gate = Gate::new();
    let broken = futures_util::stream::iter([Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))]);
    let mut request = posted(&[], "");
    *request.body_mut() = Body::from_stream(broken);
    gate.send(request).await.is_refusal(400);
}

/// Streamable HTTP, "Receiving Messages": events, `X-Accel-Buffering: no`, comments while nothing happens.
#[tokio::test]
async fn a_stream_is_sent_as_events_with_comments_while_nothing_happens() {
    let gate = Gate::new();
    let (messages, stream) = mpsc::channel(4);
    gate.answers(Reply::Stream(stream));
    let response = gate.router.clone().oneshot(posted(&[], "{}")).await.unwrap();
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header("content-type").as_deref(), Some("text/event-stream"));
    assert_eq!(header("x-accel-buffering").as_deref(), Some("no"));
    assert_eq!(header("cache-control").as_deref(), Some("no-cache"));
    let mut events = response.into_body().into_data_stream();
    messages.send(Message { id: Some("7".to_owned()), bytes: Bytes::from_static(b"{\"a\":1}") }).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap(), "id: 7\nevent: message\ndata: {\"a\":1}\n\n");
    let clock = gate.clock.clone();
    let (silence, ()) = tokio::join!(events.next(), async {
        // The stream is polled first, so it is already waiting.
        clock.advance(Duration::from_secs(15));
    });
    assert_eq!(silence.unwrap().unwrap(), ": keep-alive\n\n");
    messages.send(Bytes::from_static(b"{\"last\":1}").into()).await.unwrap();
    drop(messages);
    assert_eq!(events.next().await.unwrap().unwrap(), "event: message\ndata: {\"last\":1}\n\n");
    assert!(events.next().await.is_none(), "the final response ends the stream");
}

/// A connection that is cut ends the stream's source.
#[tokio::test]
async fn a_reader_that_leaves_is_noticed() {
    let gate = Gate::new();
    let (messages, stream) = mpsc::channel::<Message>(4);
    gate.answers(Reply::Stream(stream));
    let response = gate.router.clone().oneshot(posted(&[], "{}")).await.unwrap();
    assert!(!messages.is_closed());
    drop(response);
    messages.closed().await;
}

/// Requirement L4: health and readiness.
#[tokio::test]
async fn health_and_readiness_are_two_questions() {
    let well = Gate::new();
    let ask = |path: &str| Request::get(path).header("host", "10.0.0.7").body(Body::empty()).unwrap();
    assert_eq!(well.send(ask("/healthz")).await.status, 200);
    assert_eq!(well.send(ask("/readyz")).await.status, 200);
    let ill = Gate::with(HttpSettings::default(), Err("the store is closed".to_owned()));
    assert_eq!(ill.send(ask("/healthz")).await.status, 200);
    let answer = ill.send(ask("/readyz")).await;
    assert_eq!((answer.status, &*answer.body), (503, &b"the store is closed\n"[..]));
}
