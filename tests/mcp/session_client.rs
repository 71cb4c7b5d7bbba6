//! A client of a protocol version with sessions, in the test's own process. What it receives it holds against the schema of 2025-11-25,
//! whose tools/call results the older versions share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jobgate::domain::{Caller, Principal, Task};
use jobgate::mcp::{Frontend as _, HeaderText, McpHeaders, Message, Reply, RequestContext, Streams, Verb};
use jobgate::store::ListQuery;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::client::{me, one};
use crate::rig::Rig;

static NEXT: AtomicU64 = AtomicU64::new(10_000);

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) version: &'static str,
    id: HeaderText,
    pub(crate) principal: Principal,
}

/// A request that is being made up.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: String,
    params: Value,
    pub(crate) id: Value,
    pub(crate) streams: Streams,
    pub(crate) cancel: CancellationToken,
}

/// All that one request was answered with.
#[derive(Debug)]
pub(crate) struct Heard {
    /// Notifications and requests before the answer.
    pub(crate) before: Vec<Value>,
    pub(crate) answer: Value,
    pub(crate) status: u16,
}

/// A stream that has not ended.
pub(crate) struct Open {
    messages: mpsc::Receiver<Message>,
    /// The ids of the events so far.
    pub(crate) ids: Vec<String>,
}

pub(crate) fn request(method: &str, params: Value) -> Request {
    let id = NEXT.fetch_add(1, Ordering::Relaxed).into();
    Request { method: method.to_owned(), params, id, streams: Streams::Wanted, cancel: CancellationToken::new() }
}

/// A request about one task.
pub(crate) fn about(method: &str, task: &str) -> Request {
    request(method, json!({ "taskId": task }))
}

/// A call that is to be a task of 2025-11-25.
pub(crate) fn task_call(tool: &str, arguments: Value) -> Request {
    call(tool, arguments).with("task", json!({}))
}

pub(crate) fn call(tool: &str, arguments: Value) -> Request {
    request("tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// A call of one of the gateway's own tools.
pub(crate) fn redeem(own: &str, ticket: &str) -> Request {
    call(own, json!({ "ticket": ticket }))
}

impl Request {
    pub(crate) fn meta(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.params["_meta"][member] = value.into();
        self
    }

    /// With a member of its parameters.
    pub(crate) fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.params[member] = value.into();
        self
    }

    /// With a token for progress.
    pub(crate) fn progress(self) -> Self {
        self.meta("progressToken", "p")
    }

    pub(crate) fn streams(mut self, streams: Streams) -> Self {
        self.streams = streams;
        self
    }
}

impl Heard {
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        self.answer.get("result").unwrap_or_else(|| panic!("no result: {self:?}"))
    }

    /// The first text, and whether it is an error.
    #[track_caller]
    pub(crate) fn text(&self) -> (&str, bool) {
        let result = self.result();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"));
        (text, result["isError"].as_bool().unwrap())
    }

    /// The ticket that was given instead of a result.
    #[track_caller]
    pub(crate) fn ticket(&self) -> String {
        let data = &self.result()["structuredContent"];
        assert!(data["poll_after_ms"].as_u64().is_some(), "no ticket: {self:?}");
        assert_eq!(self.result()["isError"], false);
        let (ticket, (text, _)) = (data["ticket"].as_str().unwrap(), self.text());
        assert!(text.contains(ticket) && text.contains("job_wait"), "a model reads what to do next: {text}");
        ticket.to_owned()
    }

    #[track_caller]
    pub(crate) fn error(&self) -> (i64, u16) {
        (self.answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}")), self.status)
    }

    /// The numbers of the progress that was told.
    pub(crate) fn progress(&self) -> Vec<f64> {
        let notes = self.before.iter().filter(|note| note["method"] == "notifications/progress");
        notes.map(|note| note["params"]["progress"].as_f64().unwrap()).collect()
    }
}

impl Rig {
    pub(crate) async fn session(&self, version: &'static str, capabilities: Value) -> Session {
        self.session_of(me(), version, capabilities).await
    }

    pub(crate) async fn session_of(&self, principal: Principal, version: &'static str, capabilities: Value) -> Session {
        self.begins("test", Session { version, id: HeaderText::Absent, principal }, capabilities).await
    }

    /// A session of a client that calls itself so.
    pub(crate) async fn session_as(&self, name: &str, version: &'static str) -> Session {
        self.begins(name, Session { version, id: HeaderText::Absent, principal: me() }, json!({})).await
    }

    async fn begins(&self, name: &str, nobody: Session, capabilities: Value) -> Session {
        let client = json!({ "name": name, "version": "1" });
        let params = json!({ "protocolVersion": nobody.version, "capabilities": capabilities, "clientInfo": client });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let context = RequestContext { headers: Some(McpHeaders::default()), ..nobody.context() };
        match self.drive(self.dispatcher.handle(context, message.to_string().into())).await {
            Reply::One { status: 200, notes, .. } => Session { id: one(&notes.session.unwrap()), ..nobody },
            other => panic!("{other:?}"),
        }
    }

    /// All tasks of a principal.
    pub(crate) async fn tasks_of(&self, principal: &Principal) -> Vec<Arc<Task>> {
        let query = ListQuery { scope: principal.into(), after: None, limit: 100 };
        self.engine.list(query).await.unwrap()
    }

    async fn begin(&self, session: &Session, request: &Request) -> Reply {
        let context = RequestContext { streams: request.streams, cancel: request.cancel.clone(), ..session.context() };
        let message = json!({ "jsonrpc": "2.0", "id": request.id, "method": request.method, "params": request.params });
        self.drive(self.dispatcher.handle(context, message.to_string().into())).await
    }

    /// Sends a request and waits for its answer, however long that takes.
    pub(crate) async fn ask(&self, session: &Session, request: Request) -> Heard {
        match self.begin(session, &request).await {
            Reply::One { status, body, .. } => self.heard(&request, Vec::new(), &body, status),
            Reply::Stream(messages) => self.rest(&request, Open::new(messages)).await,
            Reply::Accepted => panic!("{} has no answer", request.method),
        }
    }

    /// Sends a request that is answered by a stream.
    pub(crate) async fn open_stream(&self, session: &Session, request: &Request) -> Open {
        match self.begin(session, request).await {
            Reply::Stream(messages) => Open::new(messages),
            other => panic!("{}: {other:?}", request.method),
        }
    }

    /// Reads a stream until it has given an id to go on behind, and gives that.
    pub(crate) async fn cut_off(&self, mut open: Open) -> String {
        loop {
            let message = self.drive(open.messages.recv()).await.expect("the stream has ended");
            if let Some(id) = message.id {
                return id;
            }
        }
    }

    /// Goes on with a stream that was cut off.
    pub(crate) async fn resume(&self, session: &Session, last: &str) -> Open {
        self.listen(session, Some(last)).await
    }

    /// The next message of a stream that says something.
    pub(crate) async fn next(&self, open: &mut Open) -> Value {
        loop {
            let message = self.drive(open.messages.recv()).await.expect("the stream has ended");
            if let Some(said) = open.take(&message) {
                self.said(&said);
                return said;
            }
        }
    }

    /// What has been said on a stream so far, without time passing.
    pub(crate) async fn so_far(&self, open: &mut Open) -> Vec<Value> {
        let mut seen = Vec::new();
        self.settle().await;
        while let Ok(message) = open.messages.try_recv() {
            seen.extend(open.take(&message));
            self.settle().await;
        }
        seen.iter().for_each(|said| self.said(said));
        seen
    }

    /// Whether a stream has ended, after all that it said.
    pub(crate) async fn has_ended(&self, open: &mut Open) -> bool {
        self.so_far(open).await;
        open.messages.is_closed() && open.messages.is_empty()
    }

    /// Asks for a stream by GET.
    pub(crate) async fn get(&self, session: &Session, last: Option<&str>) -> Reply {
        let verb = Verb::Get { resume: last.map_or(HeaderText::Absent, one) };
        let context = RequestContext { verb, ..session.context() };
        self.drive(self.dispatcher.handle(context, Bytes::new())).await
    }

    /// Opens a stream by GET.
    pub(crate) async fn listen(&self, session: &Session, last: Option<&str>) -> Open {
        match self.get(session, last).await {
            Reply::Stream(messages) => Open::new(messages),
            other => panic!("{other:?}"),
        }
    }

    /// Ends a session.
    pub(crate) async fn end(&self, session: &Session) {
        let context = RequestContext { verb: Verb::Delete, ..session.context() };
        assert!(matches!(self.dispatcher.handle(context, Bytes::new()).await, Reply::Accepted));
    }

    /// Sends a message that is no request; the status, and the code of the error if it was not taken.
    pub(crate) async fn post(&self, session: &Session, message: Value) -> (u16, Option<i64>) {
        match self.drive(self.dispatcher.handle(session.context(), message.to_string().into())).await {
            Reply::Accepted => (202, None),
            Reply::One { status, body, .. } => {
                let message: Value = serde_json::from_slice(&body).unwrap();
                assert!(message.get("id").is_none(), "no request is answered: {message}");
                (status, message["error"]["code"].as_i64())
            }
            Reply::Stream(_) => panic!("a stream"),
        }
    }

    /// Makes a task of 2025-11-25.
    pub(crate) async fn make(&self, session: &Session, request: Request) -> String {
        self.ask(session, request).await.result()["task"]["taskId"].as_str().unwrap().to_owned()
    }

    /// A task of 2025-11-25 as it is now.
    pub(crate) async fn look(&self, session: &Session, task: &str) -> Value {
        self.ask(session, about("tasks/get", task)).await.result().clone()
    }

    /// Holds a message of the gateway's own against the schema; questions of the older versions have no schema here.
    fn said(&self, said: &Value) {
        let definition = match said["method"].as_str() {
            Some("elicitation/create") => "ElicitRequest",
            Some("notifications/progress") => "ProgressNotification",
            Some("notifications/cancelled") => "CancelledNotification",
            Some("notifications/tasks/status") => "TaskStatusNotification",
            Some("notifications/tasks/created") | None => return,
            Some(other) => panic!("{other} is nothing that is sent"),
        };
        self.checker.november(definition, said).unwrap();
    }

    /// What is left of a stream, to its end.
    pub(crate) async fn rest(&self, request: &Request, mut open: Open) -> Heard {
        let mut seen = Vec::new();
        while let Some(message) = self.drive(open.messages.recv()).await {
            seen.extend(open.take(&message));
        }
        let last = seen.pop().expect("a stream ends with its answer");
        self.heard(request, seen, &last.to_string().into(), 200)
    }

    /// Tells the gateway that nobody waits for the answer to a request any more.
    pub(crate) async fn cancel(&self, session: &Session, request: &Request) {
        let params = json!({ "requestId": request.id, "reason": "timed out" });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        let reply = self.drive(self.dispatcher.handle(session.context(), message.to_string().into())).await;
        assert!(matches!(reply, Reply::Accepted), "{reply:?}");
    }

    /// Answers a question of the gateway.
    pub(crate) async fn reply_to(&self, session: &Session, asked: &Value, result: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        let reply = self.drive(self.dispatcher.handle(session.context(), message.to_string().into())).await;
        assert!(matches!(reply, Reply::Accepted), "{reply:?}");
    }

    /// Reads a stream to its end without an answer.
    pub(crate) async fn ends_silently(&self, mut open: Open) {
        while let Some(message) = self.drive(open.messages.recv()).await {
            let text = String::from_utf8_lossy(&message.bytes).into_owned();
            assert!(!text.contains("\"result\"") && !text.contains("\"error\""), "{text}");
        }
    }

    fn heard(&self, request: &Request, before: Vec<Value>, body: &Bytes, status: u16) -> Heard {
        let answer: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(answer["id"], request.id, "the answer carries the request's id");
        if let Some(result) = answer.get("result") {
            let definition = match request.method.as_str() {
                "tools/call" if request.params.get("task").is_some() => "CreateTaskResult",
                "tools/call" | "tasks/result" => "CallToolResult",
                "tools/list" => "ListToolsResult",
                "tasks/get" => "GetTaskResult",
                "tasks/cancel" => "CancelTaskResult",
                "tasks/list" => "ListTasksResult",
                "resources/list" => "ListResourcesResult",
                "resources/read" => "ReadResourceResult",
                "resources/templates/list" => "ListResourceTemplatesResult",
                method => panic!("{method} is not checked"),
            };
            self.checker.november(definition, result).unwrap();
            for modern in ["resultType", "ttlMs", "pollIntervalMs", "cacheScope", "inputRequests"] {
                assert!(result.get(modern).is_none(), "older versions know no `{modern}`: {result}");
            }
        } else {
            self.checker.november("JSONRPCErrorResponse", &answer).unwrap();
            assert!(status != 404 && !(-32022..=-32020).contains(&answer["error"]["code"].as_i64().unwrap()), "{answer}");
        }
        before.iter().for_each(|said| self.said(said));
        Heard { before, answer, status }
    }
}

impl Open {
    const fn new(messages: mpsc::Receiver<Message>) -> Self {
        Self { messages, ids: Vec::new() }
    }

    /// What a message says, if it says something.
    fn take(&mut self, message: &Message) -> Option<Value> {
        self.ids.extend(message.id.clone());
        (!message.bytes.is_empty()).then(|| serde_json::from_slice(&message.bytes).unwrap())
    }

    /// What to send as `Last-Event-ID`.
    #[track_caller]
    pub(crate) fn last(&self) -> &str {
        self.ids.last().expect("no event had an id")
    }
}

impl Session {
    fn context(&self) -> RequestContext {
        RequestContext {
            headers: Some(McpHeaders { protocol_version: one(self.version), ..McpHeaders::default() }),
            session: self.id.clone(),
            ..RequestContext::new(Caller::new(self.principal.clone()), Streams::Wanted)
        }
    }

    /// The same client without its session.
    pub(crate) fn without_session(&self) -> Self {
        Self { id: HeaderText::Absent, ..self.clone() }
    }
}
