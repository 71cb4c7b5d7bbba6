//! A raw client of the versions with sessions over HTTP, without tasks: what it sends is written out here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait for one answer: what common clients allow.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A client in its session. It outlives the gateway: the session's id is good after a restart, too.
#[derive(Debug)]
pub struct SessionClient {
    client: reqwest::Client,
    url: String,
    version: &'static str,
    session: Option<String>,
    next: AtomicU64,
}

impl SessionClient {
    /// Begins a session in the protocol version `version`, with nothing declared.
    ///
    /// # Panics
    /// When the gateway does not answer as the version says.
    pub async fn begin(url: &str, version: &'static str) -> Self {
        // A second install is refused because the first one stands.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().timeout(ANSWER_LIMIT).no_proxy().build().expect("an HTTP client");
        let mut begun = Self { client, url: url.to_owned(), version, session: None, next: AtomicU64::new(1) };
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "jobgate-tests", "version": "1" } });
        let response = begun.post("initialize", params).await.expect("the gateway answers");
        begun.session = response.headers().get("mcp-session-id").map(|id| id.to_str().expect("visible ASCII").to_owned());
        assert!(begun.session.is_some(), "a session is begun");
        assert!(response.text().await.expect("a whole answer").contains(version), "the version is agreed on");
        begun
    }

    /// The result of a request; `None` where the transport gave no answer, as when the gateway is killed.
    ///
    /// # Panics
    /// When the answer is an error of the protocol.
    pub async fn ask(&self, method: &str, params: Value) -> Option<Value> {
        let response = self.post(method, params).await.ok()?;
        let text = response.text().await.ok()?;
        let events = text.lines().filter_map(|line| line.strip_prefix("data:")).chain([text.as_str()]);
        let mut answers = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
        let mut answer = answers.find(|message| message.get("id").is_some())?;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        Some(answer["result"].take())
    }

    /// Calls a tool.
    ///
    /// # Panics
    /// As [`SessionClient::ask`].
    pub async fn call(&self, tool: &str, arguments: Value) -> Option<Value> {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    async fn post(&self, method: &str, params: Value) -> reqwest::Result<reqwest::Response> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut request = self.client.post(&self.url).body(message.to_string());
        request = request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", self.version);
        }
        request.send().await
    }
}
