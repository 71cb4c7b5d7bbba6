//! A raw client of the 2026-07-28 wire form with the tasks extension: what it sends is written out here, so that a test can also
//! send what no library would.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::wait;

/// The protocol revision that is spoken.
pub const VERSION: &str = "2026-07-28";

/// Longest wait for one answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// A JSON-RPC error, or a transport that gave no JSON-RPC answer (code 0).
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The code.
    pub code: i64,
    /// The message.
    pub message: String,
    /// The data, `null` when there is none.
    pub data: Value,
}

/// One client of one endpoint.
#[derive(Debug)]
pub struct Wire {
    client: reqwest::Client,
    url: String,
    next: AtomicU64,
}

impl Wire {
    /// A client of the endpoint at `url`.
    ///
    /// # Panics
    /// When the HTTP client cannot be made.
    #[must_use]
    pub fn new(url: &str) -> Self {
        // A second install is refused because the first one stands.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder().timeout(ANSWER_LIMIT).no_proxy().build().expect("an HTTP client");
        Self { client, url: url.to_owned(), next: AtomicU64::new(1) }
    }

    /// The status of a plain GET; `None` when nobody answers.
    pub async fn status(&self, url: &str) -> Option<u16> {
        Some(self.client.get(url).send().await.ok()?.status().as_u16())
    }

    /// The address of another path of the same server.
    ///
    /// # Panics
    /// When the endpoint's address is none.
    #[must_use]
    pub fn beside(&self, path: &str) -> String {
        let mut url: reqwest::Url = self.url.parse().expect("an address");
        url.set_path(path);
        url.into()
    }

    /// What a plain GET gives.
    ///
    /// # Panics
    /// When nobody answers.
    pub async fn text(&self, url: &str) -> String {
        let answer = self.client.get(url).send().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        answer.text().await.unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    /// A plain exchange with any server, an engine's for example: status and body (`null` when it is no JSON).
    ///
    /// # Panics
    /// When nobody answers.
    pub async fn plain(&self, method: &str, url: &str, headers: &[(&str, &str)], body: Option<Value>) -> (u16, Value) {
        let method = method.parse().expect("an HTTP method");
        let mut request = self.client.request(method, url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body.to_string());
        }
        let answer = request.send().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap_or_default();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// A plain GET: status and body as text.
    ///
    /// # Panics
    /// When nobody answers.
    pub async fn read(&self, url: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let request = headers.iter().fold(self.client.get(url), |request, (name, value)| request.header(*name, *value));
        let answer = request.send().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        (answer.status().as_u16(), answer.text().await.unwrap_or_default())
    }

    /// Calls a method with the extension declared.
    ///
    /// # Errors
    /// The JSON-RPC error, or code 0 when the transport gave none: then nobody knows what happened.
    pub async fn rpc(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let name = params.get(if method == "tools/call" { "name" } else { "taskId" }).and_then(Value::as_str).map(String::from);
        let mut params = params;
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "jobgate-tests", "version": "1" });
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": { "form": {} }, "extensions": { "io.modelcontextprotocol/tasks": {} } });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut request = self.client.post(&self.url).body(body.to_string());
        request = request.header("content-type", "application/json").header("accept", "application/json, text/event-stream");
        request = request.header("mcp-protocol-version", VERSION).header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let lost = |error: reqwest::Error| RpcError { code: 0, message: error.to_string(), data: Value::Null };
        let text = request.send().await.map_err(lost)?.text().await.map_err(lost)?;
        answer_to(id, &text)
    }

    /// Calls a tool; the answer is a result or the handle of a task.
    ///
    /// # Errors
    /// As [`Wire::rpc`].
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, RpcError> {
        self.rpc("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Calls a tool that is expected to become a task, and gives its id.
    ///
    /// # Panics
    /// When it does not.
    pub async fn start_task(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
        answer["taskId"].as_str().unwrap_or_else(|| panic!("{tool} gave no task: {answer}")).to_owned()
    }

    /// `tasks/get`.
    ///
    /// # Errors
    /// As [`Wire::rpc`].
    pub async fn task(&self, id: &str) -> Result<Value, RpcError> {
        self.rpc("tasks/get", json!({ "taskId": id })).await
    }

    /// `tasks/cancel`.
    ///
    /// # Errors
    /// As [`Wire::rpc`].
    pub async fn cancel(&self, id: &str) -> Result<Value, RpcError> {
        self.rpc("tasks/cancel", json!({ "taskId": id })).await
    }

    /// `tasks/update` with answers by key.
    ///
    /// # Errors
    /// As [`Wire::rpc`].
    pub async fn answer(&self, id: &str, responses: Value) -> Result<Value, RpcError> {
        self.rpc("tasks/update", json!({ "taskId": id, "inputResponses": responses })).await
    }

    /// Looks at a task until it has one of these statuses, and gives the whole task.
    ///
    /// # Panics
    /// When that takes longer than `limit`, or the task is unknown.
    pub async fn task_in(&self, id: &str, statuses: &[&str], limit: Duration) -> Value {
        let mut last = Value::Null;
        let what = format!("task {id} to be {statuses:?}");
        wait::until_async(&what, limit, async || {
            last = self.task(id).await.unwrap_or_else(|error| panic!("{id}: {error:?}"));
            last["status"].as_str().is_some_and(|status| statuses.contains(&status)).then(|| last.clone())
        })
        .await
    }

    /// Looks at a task until it has ended.
    ///
    /// # Panics
    /// As [`Wire::task_in`].
    pub async fn ended(&self, id: &str, limit: Duration) -> Value {
        self.task_in(id, &["completed", "failed", "cancelled"], limit).await
    }
}

/// A plain GET with these headers: status, headers and bytes.
///
/// # Panics
/// When nobody answers.
pub async fn get(url: &str, headers: &[(&'static str, &str)]) -> (u16, HeaderMap, Vec<u8>) {
    ask(Method::GET, url, headers).await
}

/// As [`get`], with any method.
///
/// # Panics
/// When nobody answers.
pub async fn ask(method: Method, url: &str, headers: &[(&'static str, &str)]) -> (u16, HeaderMap, Vec<u8>) {
    // A second install is refused because the first one stands.
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = reqwest::Client::builder().timeout(ANSWER_LIMIT).no_proxy().build().expect("an HTTP client");
    let request = headers.iter().fold(client.request(method, url), |request, (name, value)| request.header(*name, *value));
    let answer = request.send().await.unwrap_or_else(|error| panic!("{url}: {error}"));
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    (status, headers, answer.bytes().await.unwrap_or_else(|error| panic!("{url}: {error}")).to_vec())
}

/// The answer to request `id` in a body that is JSON or an event stream.
fn answer_to(id: u64, text: &str) -> Result<Value, RpcError> {
    let events = text.lines().filter_map(|line| line.strip_prefix("data:")).chain([text]);
    let message = events.filter_map(|event| serde_json::from_str::<Value>(event).ok()).find(|message| message["id"] == id);
    let Some(mut message) = message else {
        let shown: String = text.chars().take(500).collect();
        return Err(RpcError { code: 0, message: format!("no answer to request {id} in: {shown}"), data: Value::Null });
    };
    if let Some(error) = message.get("error") {
        return Err(RpcError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
            data: error["data"].clone(),
        });
    }
    Ok(message["result"].take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_answer_are_read() {
        assert_eq!(answer_to(7, r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#), Ok(json!({ "a": 1 })));
        let stream = "event: message\ndata: {\"method\":\"x\"}\n\ndata: {\"id\":7,\"result\":2}\n\n";
        assert_eq!(answer_to(7, stream), Ok(json!(2)));
        assert_eq!(answer_to(7, r#"{"id":7,"error":{"code":-32602,"message":"no"}}"#).map_err(|it| it.code), Err(-32602));
        assert_eq!(answer_to(7, "busy").map_err(|it| it.code), Err(0));
    }
}
