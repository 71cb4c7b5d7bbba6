//! A raw client of the versions with sessions, over HTTP: what it sends is written out by the test, what it receives is read event by
//! event, and a stream that breaks leaves the id of its last event.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

/// Longest time that one exchange may take, a stream included.
const LIMIT: Duration = Duration::from_secs(60);

/// A client in one session of one endpoint.
#[derive(Clone, Debug)]
pub struct Session {
    client: reqwest::Client,
    url: String,
    id: String,
    version: String,
}

/// A stream that is being read.
#[derive(Debug)]
pub struct Events {
    response: Response,
    unread: String,
    waiting: VecDeque<Value>,
    /// The id of the last event that had one.
    pub last: Option<String>,
}

impl Session {
    /// Begins a session with `initialize`.
    ///
    /// # Panics
    /// When there is none to be had.
    pub async fn begin(url: &str, version: &str, capabilities: Value) -> Self {
        // A second install is refused because the first one stands.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().timeout(LIMIT).no_proxy().build().expect("an HTTP client");
        let mut session = Self { client, url: url.to_owned(), id: String::new(), version: version.to_owned() };
        let params =
            json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": { "name": "raw", "version": "1" } });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let request = session.client.post(url).header("accept", "application/json").header("content-type", "application/json");
        let response = request.body(message.to_string()).send().await.unwrap_or_else(|error| panic!("initialize: {error}"));
        let id = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let answer = response.text().await.unwrap_or_default();
        session.id = id.unwrap_or_else(|| panic!("no session in the answer: {answer}"));
        session
    }

    fn request(&self, method: Method, accept: &str) -> RequestBuilder {
        let request = self.client.request(method, &self.url).header("accept", accept);
        request.header("mcp-session-id", &self.id).header("mcp-protocol-version", &self.version)
    }

    async fn post(&self, message: &Value, accept: &str) -> Response {
        let request = self.request(Method::POST, accept).header("content-type", "application/json");
        request.body(message.to_string()).send().await.unwrap_or_else(|error| panic!("{message}: {error}"))
    }

    /// Sends a request whose answer is one message.
    ///
    /// # Panics
    /// When it is not.
    pub async fn ask(&self, message: &Value) -> Value {
        let response = self.post(message, "application/json").await;
        let status = response.status();
        let text = response.text().await.unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{message}: {status}: {error}: {text}"))
    }

    /// Sends a message that wants no answer: a notification, or an answer.
    ///
    /// # Panics
    /// When it is not accepted.
    pub async fn tell(&self, message: &Value) {
        let response = self.post(message, "application/json, text/event-stream").await;
        assert_eq!(response.status().as_u16(), 202, "{message}");
    }

    /// Sends a request that is answered by a stream.
    pub async fn open(&self, message: &Value) -> Events {
        Events::of(self.post(message, "application/json, text/event-stream").await)
    }

    /// Opens the stream of the session.
    ///
    /// # Panics
    /// When nobody answers.
    pub async fn listen(&self) -> Events {
        let request = self.request(Method::GET, "text/event-stream");
        Events::of(request.send().await.unwrap_or_else(|error| panic!("GET: {error}")))
    }

    /// Ends the session.
    ///
    /// # Panics
    /// When the gateway does not take it.
    pub async fn end(&self) {
        let response = self.request(Method::DELETE, "application/json").send().await;
        let response = response.unwrap_or_else(|error| panic!("DELETE: {error}"));
        assert!(response.status().is_success(), "DELETE: {}", response.status());
    }

    /// Goes on with a stream that broke behind this event.
    ///
    /// # Panics
    /// When nobody answers.
    pub async fn resume(&self, event: &str) -> Events {
        let request = self.request(Method::GET, "text/event-stream").header("last-event-id", event);
        Events::of(request.send().await.unwrap_or_else(|error| panic!("GET: {error}")))
    }
}

impl Events {
    #[track_caller]
    fn of(response: Response) -> Self {
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        assert_eq!((response.status().as_u16(), kind), (200, "text/event-stream"));
        Self { response, unread: String::new(), waiting: VecDeque::new(), last: None }
    }

    /// The next message; `None` once the stream has ended or broken.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.unread.push_str(&String::from_utf8_lossy(&chunk));
            while let Some((event, rest)) =
                self.unread.split_once("\n\n").map(|(event, rest)| (event.to_owned(), rest.to_owned()))
            {
                self.unread = rest;
                self.take(&event);
            }
        }
    }

    /// The messages up to the first that `wanted` takes, that one included.
    ///
    /// # Panics
    /// When the stream ends before.
    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut seen = Vec::new();
        while let Some(message) = self.next().await {
            seen.push(message);
            if seen.last().is_some_and(&wanted) {
                return seen;
            }
        }
        panic!("the stream ended before {what}: {seen:?}");
    }

    fn take(&mut self, event: &str) {
        for line in event.lines() {
            match line.split_once(':') {
                Some(("id", id)) => self.last = Some(id.trim().to_owned()),
                Some(("data", data)) if !data.trim().is_empty() => {
                    let message = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
                    self.waiting.push_back(message);
                }
                Some(_) | None => {}
            }
        }
    }
}
