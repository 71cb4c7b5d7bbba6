//! Errors on the wire: code, sentence, data, and the HTTP status that goes with them.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::versions;
use crate::domain::ClientCapability;

/// The tasks extension's name (SEP-2663).
pub(crate) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Bytes of an error's sentence: what a client sent is named in it, but not sent back whole.
const LONGEST: usize = 4096;

fn shortened(text: Cow<'static, str>) -> Cow<'static, str> {
    if text.len() <= LONGEST {
        return text;
    }
    let mut text = text.into_owned();
    text.truncate(text.floor_char_boundary(LONGEST));
    text.push('…');
    text.into()
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RpcError {
    code: i64,
    message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<Value>>,
    #[serde(skip)]
    http: u16,
    #[serde(skip)]
    retry_after: Option<u64>,
}

impl RpcError {
    fn new(code: i64, http: u16, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: shortened(message.into()), data: None, http, retry_after: None }
    }

    /// The code of parameters that do not fit, a task that is not there among them.
    pub(crate) const INVALID_PARAMS: i64 = -32602;

    /// The code.
    #[must_use]
    pub const fn code(&self) -> i64 {
        self.code
    }

    /// The status of the HTTP response that carries it (Streamable HTTP, "Server Validation"; base protocol, "_meta").
    #[must_use]
    pub const fn http(&self) -> u16 {
        self.http
    }

    /// Seconds after which the same request may succeed: `Retry-After`.
    #[must_use]
    pub const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// What is no JSON.
    pub(crate) fn parse(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32700, 400, message)
    }

    /// JSON that is no request.
    pub(crate) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32600, 400, message)
    }

    /// The same, with an HTTP status of its own (413 for a body that is too large).
    pub(crate) fn refused(http: u16, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32600, http, message)
    }

    /// A method that is not served.
    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(-32601, 404, format!("there is no method `{method}`"))
    }

    /// Parameters that do not fit; an ordinary answer.
    pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32602, 200, message)
    }

    /// A resource that is not there, in the versions that have a code for it (MCP 2025-11-25, "Resources", error handling).
    pub(crate) fn no_resource(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32002, 200, message)
    }

    /// A request without the metadata that every request carries: the one -32602 that is a 400.
    pub(crate) fn missing_meta(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32602, 400, message)
    }

    /// The gateway's own fault, or one that it cannot explain further.
    pub(crate) fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32603, 200, message)
    }

    /// Too much in too short a time, or too much at once (requirement G4). Over a pipe the data says what the header would.
    pub(crate) fn limited(what: impl Into<Cow<'static, str>>, retry_after: u64) -> Self {
        let mut error =
            Self::new(-32603, 429, what).with_data(json!({ "category": "rate_limited", "retryAfterSeconds": retry_after }));
        error.retry_after = Some(retry_after);
        error
    }

    /// With another status: sessions answer errors of the protocol as ordinary responses.
    #[must_use]
    pub(crate) const fn with_http(mut self, http: u16) -> Self {
        self.http = http;
        self
    }

    /// With structured details.
    #[must_use]
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.data = Some(Box::new(data));
        self
    }

    /// The gateway is going down.
    pub(crate) fn shutting_down() -> Self {
        Self::new(-32603, 503, "the gateway is shutting down; call again in a moment")
    }

    /// Headers that differ from the body, are missing, repeated or unreadable.
    pub(crate) fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32020, 400, message)
    }

    /// A client that did not declare the tasks extension on this request.
    pub(crate) fn tasks_required(what: &str) -> Self {
        let mut error = Self::new(-32021, 400, format!("{what} needs a client that declares the extension `{TASKS_EXTENSION}`"));
        error.data = Some(Box::new(json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } })));
        error
    }

    /// A client that did not declare these capabilities on this request.
    pub(crate) fn capabilities_required(what: &str, missing: &[ClientCapability]) -> Self {
        let names: Vec<&str> = missing.iter().map(|one| one.as_str()).collect();
        let mut error = Self::new(-32021, 400, format!("{what} needs a client that declares `{}`", names.join("`, `")));
        let required: serde_json::Map<String, Value> = names.into_iter().map(|name| (name.to_owned(), json!({}))).collect();
        error.data = Some(Box::new(json!({ "requiredCapabilities": required })));
        error
    }

    /// A person said no to a call whose answer can only be a task.
    pub(crate) fn declined(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(-32603, 200, message).with_data(json!({ "category": "declined", "retryable": false }))
    }

    /// The same in other words.
    #[must_use]
    pub(crate) fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Self {
        self.message = message.into();
        self
    }

    /// A client that did not declare these capabilities when it began its session; versions with sessions have no code for that.
    pub(crate) fn unable(what: &str, missing: &[ClientCapability]) -> Self {
        let names: Vec<&str> = missing.iter().map(|one| one.as_str()).collect();
        let message = format!("{what} needs a client that declares `{}` in `initialize`", names.join("`, `"));
        Self::new(-32600, 200, message)
    }

    /// 2025-11-25: a call that is no task, of a tool whose `execution.taskSupport` is `required` ("Tool-Level Negotiation").
    pub(crate) fn only_as_task(tool: &str) -> Self {
        Self::new(-32601, 200, format!("tool `{tool}` has to be called as a task: add `\"task\": {{}}` to `params`"))
    }

    /// A protocol version that is not served.
    pub(crate) fn unsupported_version(requested: &str) -> Self {
        let served = versions::SERVED.join("`, `");
        let mut error = Self::new(-32022, 400, format!("protocol version `{requested}` is not served; served: `{served}`"));
        error.data =
            Some(Box::new(json!({ "supported": versions::SERVED, "requested": shortened(requested.to_owned().into()) })));
        error
    }
}
