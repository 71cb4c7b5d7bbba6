//! A client of the draft in the test's own process. What it is answered it holds against the normative file.

use jobgate::domain::{Caller, Principal};
use jobgate::mcp::{Dispatcher, Frontend as _, HeaderText, McpHeaders, Message, Reply, RequestContext, Streams, Verb};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::spec::{Spec, TASK};
use crate::client::{me, one};
use crate::rig::Rig;

/// The version that the sessions here agree on: one without tasks of its own.
pub(crate) const REVISION: &str = "2025-06-18";

pub(crate) struct Peer<'r> {
    rig: &'r Rig,
    dispatcher: Dispatcher,
    caller: Caller,
    session: Option<String>,
    pub(crate) spec: Spec,
}

/// A stream that is being read.
pub(crate) struct Reading<'r> {
    rig: &'r Rig,
    messages: mpsc::Receiver<Message>,
    /// The id of the last event that had one.
    pub(crate) last_event: Option<String>,
}

impl<'r> Peer<'r> {
    /// A client that can show forms, in a session.
    pub(crate) async fn new(rig: &'r Rig) -> Self {
        Self::of(rig, me(), REVISION).await
    }

    pub(crate) async fn of(rig: &'r Rig, principal: Principal, revision: &str) -> Self {
        let mut peer = Self::without_session(rig, principal);
        peer.begin(revision).await;
        peer
    }

    /// A client whose caller sees the tasks of its tenant.
    pub(crate) async fn admin(rig: &'r Rig, principal: Principal, revision: &str) -> Self {
        let mut peer = Self::without_session(rig, principal);
        peer.caller.admin = true;
        peer.begin(revision).await;
        peer
    }

    /// A client that never said `initialize`.
    pub(crate) fn without_session(rig: &'r Rig, principal: Principal) -> Self {
        let (dispatcher, caller) = (rig.dispatcher.clone(), Caller::new(principal));
        Self { rig, dispatcher, caller, session: None, spec: Spec::new() }
    }

    async fn begin(&mut self, revision: &str) {
        let client = json!({ "name": "drafter", "version": "1" });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": { "elicitation": {} }, "clientInfo": client } });
        let reply = self.reply(&message, Streams::Wanted).await;
        let Reply::One { status: 200, notes, .. } = reply else { panic!("{reply:?}") };
        self.session = notes.session;
        assert!(self.session.is_some());
    }

    /// What the client goes by: all that is left of it when the gateway starts again.
    pub(crate) fn id(&self) -> (Caller, Option<String>) {
        (self.caller.clone(), self.session.clone())
    }

    /// The client that goes by this, as another process of the gateway meets it.
    pub(crate) fn known(rig: &'r Rig, (caller, session): (Caller, Option<String>)) -> Self {
        Self { rig, dispatcher: rig.dispatcher.clone(), caller, session, spec: Spec::new() }
    }

    fn context(&self, streams: Streams) -> RequestContext {
        RequestContext {
            headers: Some(McpHeaders::default()),
            session: self.session.as_deref().map_or(HeaderText::Absent, one),
            ..RequestContext::new(self.caller.clone(), streams)
        }
    }

    async fn reply(&self, message: &Value, streams: Streams) -> Reply {
        let handled = self.dispatcher.handle(self.context(streams), message.to_string().into());
        self.rig.drive(handled).await
    }

    /// Sends a request that is answered by one message.
    pub(crate) async fn send(&self, message: &Value) -> Value {
        self.send_taking(message, Streams::Wanted).await
    }

    /// As [`Peer::send`], from a client that takes no streams.
    pub(crate) async fn send_for_json(&self, message: &Value) -> Value {
        self.send_taking(message, Streams::Refused).await
    }

    async fn send_taking(&self, message: &Value, streams: Streams) -> Value {
        let reply = self.reply(message, streams).await;
        let Reply::One { status: 200, body, .. } = reply else { panic!("{message}: {reply:?}") };
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(answer["id"], message["id"], "{answer}");
        if message["method"].as_str().unwrap().starts_with("tasks/") {
            self.spec.check(message, &answer);
        }
        answer
    }

    /// As [`Peer::send`], for what is none of this dialect's answers.
    pub(crate) async fn raw(&self, message: &Value) -> Value {
        let reply = self.reply(message, Streams::Wanted).await;
        let Reply::One { status: 200, body, .. } = reply else { panic!("{message}: {reply:?}") };
        serde_json::from_slice(&body).unwrap()
    }

    /// Sends a request that may be answered by one message or by several.
    pub(crate) async fn open_or_send(&self, message: &Value) -> Vec<Value> {
        match self.reply(message, Streams::Wanted).await {
            Reply::Stream(messages) => Reading { rig: self.rig, messages, last_event: None }.rest().await,
            Reply::One { body, .. } => vec![serde_json::from_slice(&body).unwrap()],
            Reply::Accepted => Vec::new(),
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, message: &Value) {
        let reply = self.reply(message, Streams::Wanted).await;
        assert!(matches!(reply, Reply::Accepted), "{reply:?}");
    }

    /// Sends a request that is answered by a stream.
    pub(crate) async fn open(&self, message: &Value) -> Reading<'r> {
        match self.reply(message, Streams::Wanted).await {
            Reply::Stream(messages) => Reading { rig: self.rig, messages, last_event: None },
            other => panic!("{message}: {other:?}"),
        }
    }

    /// Goes on with a stream that was lost behind this event.
    pub(crate) async fn resume(&self, event: &str) -> Reading<'r> {
        let context = RequestContext { verb: Verb::Get { resume: one(event) }, ..self.context(Streams::Wanted) };
        match self.rig.drive(self.dispatcher.handle(context, bytes::Bytes::new())).await {
            Reply::Stream(messages) => Reading { rig: self.rig, messages, last_event: Some(event.to_owned()) },
            other => panic!("{other:?}"),
        }
    }

    /// Opens the stream for what answers no request.
    pub(crate) async fn listen(&self) -> Reading<'r> {
        let context = RequestContext { verb: Verb::Get { resume: HeaderText::Absent }, ..self.context(Streams::Wanted) };
        match self.rig.drive(self.dispatcher.handle(context, bytes::Bytes::new())).await {
            Reply::Stream(messages) => Reading { rig: self.rig, messages, last_event: None },
            other => panic!("{other:?}"),
        }
    }

    /// Answers a question of the server's.
    pub(crate) async fn answer(&self, question: &Value, result: Value) {
        self.notify(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
    }

    /// Starts a task and reads its stream up to the word that it exists.
    pub(crate) async fn start(&self, request: u64, tool: &str, task: Value) -> Reading<'r> {
        let mut stream = self.open(&call(request, tool, json!({}), task)).await;
        let created = stream.next().await.unwrap();
        assert_eq!(created["method"], "notifications/tasks/created", "{created}");
        stream
    }

    /// Asks about a task: the answer's result, or its error.
    pub(crate) async fn about(&self, method: &str, id: &str) -> Result<Value, Value> {
        let mut answer = self.send(&about(method, id)).await;
        if answer.get("error").is_some() { Err(answer["error"].take()) } else { Ok(answer["result"].take()) }
    }

    pub(crate) async fn status(&self, id: &str) -> String {
        self.about("tasks/get", id).await.unwrap()["status"].as_str().unwrap().to_owned()
    }

    /// The shown ids of all pages of the list.
    pub(crate) async fn listed(&self) -> Vec<String> {
        let (mut ids, mut params) = (Vec::new(), super::spec::related("any"));
        params = json!({ "_meta": params });
        loop {
            let page = self.send(&json!({ "jsonrpc": "2.0", "id": 77, "method": "tasks/list", "params": params })).await;
            let page = &page["result"];
            ids.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].as_str().unwrap().to_owned()));
            match page["nextCursor"].as_str() {
                Some(cursor) => params["cursor"] = cursor.into(),
                None => return ids,
            }
        }
    }
}

impl Reading<'_> {
    /// The next message; events that only carry an id are none.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let message = self.rig.drive(self.messages.recv()).await?;
            if message.id.is_some() {
                self.last_event.clone_from(&message.id);
            }
            if !message.bytes.is_empty() {
                return Some(serde_json::from_slice(&message.bytes).unwrap());
            }
        }
    }

    /// All that is left.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        rest
    }

    /// The response at the end.
    pub(crate) async fn response(&mut self) -> Value {
        self.rest().await.pop().unwrap()
    }
}

/// A call that is to be a task.
pub(crate) fn call(request: u64, tool: &str, arguments: Value, task: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": request, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments, "_meta": { TASK: task } } })
}

/// A request about a task.
pub(crate) fn about(method: &str, id: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 99, "method": method, "params": { "taskId": id, "_meta": super::spec::related(id) } })
}

/// The word that cancels a call.
pub(crate) fn cancelled(request: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": request.into(), "reason": "no longer needed" } })
}
