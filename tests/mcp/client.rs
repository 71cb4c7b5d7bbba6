//! A client in the test's own process. What it receives it checks: against the schema, the id, the status.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jobgate::domain::{Caller, Principal};
use jobgate::mcp::{Frontend as _, HeaderText, McpHeaders, Message, Reply, RequestContext, Streams};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::rig::Rig;

pub(crate) const VERSION: &str = "2026-07-28";
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";
static NEXT: AtomicU64 = AtomicU64::new(1);

pub(crate) fn me() -> Principal {
    Principal::new("acme", "ann")
}

pub(crate) fn you() -> Principal {
    Principal::new("acme", "bob")
}

/// One request that is being made up.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) params: Value,
    pub(crate) id: Value,
    pub(crate) principal: Principal,
    pub(crate) headers: Option<McpHeaders>,
    pub(crate) streams: Streams,
    pub(crate) cancel: CancellationToken,
}

/// One answer, checked.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) message: Value,
}

pub(crate) fn one(text: &str) -> HeaderText {
    HeaderText::One(text.to_owned())
}

/// A request as a client that can do everything sends it.
pub(crate) fn ask(method: &str, mut params: Value) -> Ask {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
    meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tests", "version": "1" });
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": { "form": {} }, "sampling": {}, "extensions": { TASKS: {} } });
    let name = params.get(if method == "tools/call" { "name" } else { "taskId" }).and_then(Value::as_str);
    let headers = McpHeaders {
        protocol_version: one(VERSION),
        method: one(method),
        name: name.map_or(HeaderText::Absent, one),
        params: Vec::new(),
    };
    Ask {
        method: method.to_owned(),
        params,
        id: NEXT.fetch_add(1, Ordering::Relaxed).into(),
        principal: me(),
        headers: Some(headers),
        streams: Streams::Wanted,
        cancel: CancellationToken::new(),
    }
}

pub(crate) fn call(tool: &str, arguments: Value) -> Ask {
    ask("tools/call", json!({ "name": tool, "arguments": arguments }))
}

pub(crate) fn get(id: &str) -> Ask {
    ask("tasks/get", json!({ "taskId": id }))
}

pub(crate) fn update(id: &str, answers: Value) -> Ask {
    ask("tasks/update", json!({ "taskId": id, "inputResponses": answers }))
}

impl Ask {
    pub(crate) fn capabilities(mut self, capabilities: Value) -> Self {
        self.params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        self
    }

    /// Without the tasks extension, but with forms.
    pub(crate) fn without_tasks(self) -> Self {
        self.capabilities(json!({ "elicitation": {} }))
    }

    pub(crate) fn by(mut self, principal: Principal) -> Self {
        self.principal = principal;
        self
    }

    pub(crate) fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.params[member] = value.into();
        self
    }

    pub(crate) fn meta(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.params["_meta"][member] = value.into();
        self
    }

    pub(crate) fn without_meta(mut self, member: &str) -> Self {
        self.params["_meta"].as_object_mut().unwrap().remove(member);
        self
    }

    pub(crate) fn message(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "method": self.method, "params": self.params })
    }

    fn context(&self) -> RequestContext {
        RequestContext {
            headers: self.headers.clone(),
            cancel: self.cancel.clone(),
            ..RequestContext::new(Caller::new(self.principal.clone()), self.streams)
        }
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        self.message.get("result").unwrap_or_else(|| panic!("no result: {self:?}"))
    }

    /// The error's code, and the HTTP status that carries it.
    #[track_caller]
    pub(crate) fn error(&self) -> (i64, u16) {
        (self.message["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}")), self.status)
    }

    #[track_caller]
    pub(crate) fn error_text(&self) -> &str {
        self.message["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {self:?}"))
    }

    /// The only text of a tool's result, and whether it is an error.
    #[track_caller]
    pub(crate) fn text(&self) -> (&str, bool) {
        let result = self.result();
        assert_eq!(result["resultType"], "complete", "{result}");
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"));
        (text, result["isError"].as_bool().unwrap())
    }

    #[track_caller]
    pub(crate) fn task_id(&self) -> String {
        assert_eq!(self.result()["resultType"], "task", "{self:?}");
        self.result()["taskId"].as_str().unwrap().to_owned()
    }
}

impl Rig {
    pub(crate) async fn reply(&self, ask: &Ask) -> Reply {
        let message = Bytes::from(ask.message().to_string());
        self.drive(self.dispatcher.handle(ask.context(), message)).await
    }

    /// Sends a request that has one answer.
    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        match self.reply(&ask).await {
            Reply::One { status, body, .. } => self.checked(&ask, status, &body),
            other => panic!("{}: {other:?}", ask.method),
        }
    }

    /// Sends a request that is answered by a stream: its notifications, and the response.
    pub(crate) async fn stream(&self, ask: Ask) -> (Vec<Value>, Answer) {
        let Reply::Stream(mut messages) = self.reply(&ask).await else { panic!("{} gave no stream", ask.method) };
        let mut seen = Vec::new();
        while let Some(message) = self.drive(messages.recv()).await {
            seen.push(message);
        }
        let last = seen.pop().unwrap();
        let notifications = seen.iter().map(|message| self.notified(message)).collect();
        (notifications, self.checked(&ask, 200, &last.bytes))
    }

    /// Opens a stream that stays open.
    pub(crate) async fn open(&self, ask: &Ask) -> mpsc::Receiver<Message> {
        match self.reply(ask).await {
            Reply::Stream(messages) => messages,
            other => panic!("{}: {other:?}", ask.method),
        }
    }

    pub(crate) fn notified(&self, message: &Message) -> Value {
        let message: Value = serde_json::from_slice(&message.bytes).unwrap();
        self.checker.notification(&message).unwrap();
        message
    }

    pub(crate) fn checked(&self, ask: &Ask, status: u16, body: &Bytes) -> Answer {
        let message: Value = serde_json::from_slice(body).unwrap();
        self.checker.response(&ask.method, &message).unwrap();
        assert_eq!(message["id"], ask.id, "the answer carries the request's id");
        match message["error"]["code"].as_i64() {
            None => {
                assert_eq!(status, 200);
                let server = &message["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
                let listens = ask.method == "subscriptions/listen";
                assert!(listens || server["name"] == "jobgate", "every result says who answers: {message}");
            }
            Some(-32022..=-32020) => assert_eq!(status, 400, "{message}"),
            Some(-32601) => assert_eq!(status, 404, "{message}"),
            Some(_) => {}
        }
        Answer { status, message }
    }

    /// Calls a tool and wants a task.
    pub(crate) async fn start(&self, tool: &str, arguments: Value) -> String {
        self.send(call(tool, arguments)).await.task_id()
    }

    /// The task as a client sees it now.
    pub(crate) async fn task(&self, id: &str) -> Value {
        self.send(get(id)).await.result().clone()
    }
}
