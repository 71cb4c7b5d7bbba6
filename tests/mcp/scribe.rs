//! A client of any dialect that writes down all that is said, for people to read. Sealed texts, which nobody can read, go by names.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use jobgate::domain::Caller;
use jobgate::mcp::{Frontend as _, HeaderText, McpHeaders, Message, Reply, RequestContext, Streams, Verb};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::client::{TASKS, VERSION, me, one};
use crate::rig::Rig;

/// Columns of the page.
const WIDTH: usize = 130;

/// One client, and what it has written down.
pub(crate) struct Scribe<'a> {
    rig: &'a Rig,
    page: String,
    version: Option<&'static str>,
    session: HeaderText,
    next: u64,
    named: Vec<(String, String)>,
}

/// A stream that has not ended.
pub(crate) struct Heard {
    messages: mpsc::Receiver<Message>,
    /// The id of its last event.
    pub(crate) event: Option<String>,
}

impl<'a> Scribe<'a> {
    pub(crate) fn new(rig: &'a Rig, title: &str) -> Self {
        let page = format!("{title}\n{}\n", "=".repeat(title.chars().count()));
        Self { rig, page, version: None, session: HeaderText::Absent, next: 1, named: Vec::new() }
    }

    /// Speaks 2026-07-28 from here on.
    pub(crate) const fn modern(mut self) -> Self {
        self.version = Some(VERSION);
        self
    }

    /// The page.
    pub(crate) fn page(self) -> String {
        self.page
    }

    /// What comes next, in words.
    pub(crate) fn say(&mut self, text: &str) {
        writeln!(self.page, "\n-- {text}").unwrap();
    }

    /// Calls a text by a name from here on.
    pub(crate) fn name(&mut self, text: &str, name: &str) {
        self.named.push((text.to_owned(), format!("<{name}>")));
        // A longer text may hold a shorter one.
        self.named.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
    }

    /// Begins a session.
    pub(crate) async fn initialize(&mut self, version: &'static str, capabilities: Value) -> Value {
        let client = json!({ "name": "a client", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client });
        let result = self.ask("initialize", params).await;
        self.version = Some(version);
        self.tell("notifications/initialized", Value::Null).await;
        result
    }

    /// Sends a request, and hears it out to its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        match self.begin(method, params).await {
            Reply::One { status, body, notes } => {
                if let Some(session) = notes.session {
                    self.name(&session, "session");
                    self.session = one(&session);
                }
                let said =
                    if self.session == HeaderText::Absent || method != "initialize" { "" } else { ", Mcp-Session-Id: <session>" };
                self.heard(&format!("{status}{said}"), &body)
            }
            Reply::Stream(messages) => {
                let mut stream = Heard { messages, event: None };
                let mut last = Value::Null;
                while let Some(message) = self.rig.drive(stream.messages.recv()).await {
                    last = self.event(&mut stream, message).unwrap_or(last);
                }
                last
            }
            Reply::Accepted => panic!("{method} has no answer"),
        }
    }

    /// Sends a request that is answered by a stream, and hears what comes at once.
    pub(crate) async fn open(&mut self, method: &str, params: Value) -> Heard {
        let Reply::Stream(messages) = self.begin(method, params).await else { panic!("{method} gave no stream") };
        let mut stream = Heard { messages, event: None };
        self.hear(&mut stream).await;
        stream
    }

    /// Opens a session's stream, or goes on with one that broke.
    pub(crate) async fn get(&mut self, last_event: Option<&str>) -> Heard {
        let said = if last_event.is_some() { ", Last-Event-ID: <event>" } else { "" };
        writeln!(self.page, "client   GET /mcp, Mcp-Session-Id: <session>{said}").unwrap();
        let context =
            RequestContext { verb: Verb::Get { resume: last_event.map_or(HeaderText::Absent, one) }, ..self.context(None) };
        let reply = self.rig.drive(self.rig.dispatcher.handle(context, Bytes::new())).await;
        let Reply::Stream(messages) = reply else { panic!("no stream: {reply:?}") };
        let mut stream = Heard { messages, event: None };
        self.hear(&mut stream).await;
        stream
    }

    /// The id of the last request that was sent.
    pub(crate) const fn last_id(&self) -> u64 {
        self.next - 1
    }

    /// Hears what has come on a stream; the last message.
    pub(crate) async fn hear(&mut self, stream: &mut Heard) -> Value {
        self.rig.settle().await;
        let mut last = Value::Null;
        while let Ok(message) = stream.messages.try_recv() {
            last = self.event(stream, message).unwrap_or(last);
            self.rig.settle().await;
        }
        last
    }

    /// Sends a notification.
    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.accepted(message).await;
    }

    /// Answers a request of the gateway.
    pub(crate) async fn answer(&mut self, asked: &Value, result: Value) {
        self.name(asked["id"].as_str().unwrap(), "question");
        self.accepted(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })).await;
    }

    /// Lets time pass.
    pub(crate) async fn wait(&mut self, span: Duration) {
        writeln!(self.page, "         ({} s pass)", span.as_secs()).unwrap();
        self.rig.advance(span).await;
    }

    /// Ends the session.
    pub(crate) async fn end(&mut self) {
        writeln!(self.page, "client   DELETE /mcp, Mcp-Session-Id: <session>").unwrap();
        let context = RequestContext { verb: Verb::Delete, ..self.context(None) };
        let reply = self.rig.dispatcher.handle(context, Bytes::new()).await;
        assert!(matches!(reply, Reply::Accepted), "{reply:?}");
    }

    async fn accepted(&mut self, message: Value) {
        self.write("client", "", &message);
        let reply = self.rig.drive(self.rig.dispatcher.handle(self.context(None), message.to_string().into())).await;
        assert!(matches!(reply, Reply::Accepted), "{reply:?}");
        writeln!(self.page, "gateway  202").unwrap();
    }

    async fn begin(&mut self, method: &str, mut params: Value) -> Reply {
        let modern = self.version == Some(VERSION);
        if modern {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
            let capabilities = &mut meta["io.modelcontextprotocol/clientCapabilities"];
            if capabilities.is_null() {
                *capabilities = json!({ "elicitation": { "form": {} }, "extensions": { TASKS: {} } });
            }
        }
        let name = params.get(if method == "tools/call" { "name" } else { "taskId" }).and_then(Value::as_str).filter(|_| modern);
        let context = self.context(Some((method, name)));
        let mut message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method });
        if !params.is_null() {
            message["params"] = params.clone();
        }
        self.next += 1;
        let mirrored = match (modern, name) {
            (true, Some(name)) => format!("MCP-Protocol-Version: {VERSION}, Mcp-Method: {method}, Mcp-Name: {name}"),
            (true, None) => format!("MCP-Protocol-Version: {VERSION}, Mcp-Method: {method}"),
            (false, _) => String::new(),
        };
        self.write("client", &mirrored, &message);
        self.rig.drive(self.rig.dispatcher.handle(context, message.to_string().into())).await
    }

    fn context(&self, request: Option<(&str, Option<&str>)>) -> RequestContext {
        let modern = request.filter(|_| self.version == Some(VERSION));
        let headers = McpHeaders {
            protocol_version: self.version.map_or(HeaderText::Absent, one),
            method: modern.map_or(HeaderText::Absent, |(method, _)| one(method)),
            name: modern.and_then(|(_, name)| name).map_or(HeaderText::Absent, one),
            params: Vec::new(),
        };
        RequestContext {
            headers: Some(headers),
            session: self.session.clone(),
            ..RequestContext::new(Caller::new(me()), Streams::Wanted)
        }
    }

    fn event(&mut self, stream: &mut Heard, message: Message) -> Option<Value> {
        if message.id.is_some() {
            stream.event = message.id;
        }
        (!message.bytes.is_empty()).then(|| self.heard("event", &message.bytes))
    }

    fn heard(&mut self, how: &str, body: &Bytes) -> Value {
        let message: Value = serde_json::from_slice(body).unwrap();
        if message.get("method").is_some()
            && let Some(id) = message["id"].as_str()
        {
            self.name(id, "question");
        }
        for (place, name) in [("/result/nextCursor", "cursor"), ("/result/requestState", "state")] {
            if let Some(text) = message.pointer(place).and_then(Value::as_str) {
                self.name(text, name);
            }
        }
        self.write("gateway", how, &message);
        message
    }

    fn write(&mut self, who: &str, how: &str, message: &Value) {
        let how = if how.is_empty() { String::new() } else { format!("{how}\n         ") };
        let mut text = String::new();
        layout(&without_repetitions(message), 9, &mut text);
        let mut text = format!("{who:<9}{how}{text}");
        for (secret, name) in &self.named {
            text = text.replace(secret, name);
        }
        writeln!(self.page, "{text}").unwrap();
    }
}

/// What every result of 2026-07-28 says of the server, and every request of its client, is said once in the document about it.
fn without_repetitions(message: &Value) -> Value {
    let mut message = message.clone();
    for place in ["/result/_meta", "/params/_meta"] {
        let Some(meta) = message.pointer_mut(place).and_then(Value::as_object_mut) else { continue };
        meta.retain(|name, _| {
            !name.starts_with("io.modelcontextprotocol/server") && name != "io.modelcontextprotocol/protocolVersion"
        });
        let parent = place.trim_end_matches("/_meta");
        if meta.is_empty()
            && let Some(parent) = message.pointer_mut(parent).and_then(Value::as_object_mut)
        {
            parent.remove("_meta");
        }
    }
    message
}

/// JSON on one line where it fits, else a member a line.
fn layout(value: &Value, indent: usize, out: &mut String) {
    let line = flat(value);
    if indent + line.chars().count() <= WIDTH {
        return out.push_str(&line);
    }
    let pad = " ".repeat(indent + 2);
    let end = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            out.push_str("{\n");
            for (nth, (name, inner)) in members.iter().enumerate() {
                write!(out, "{pad}{}: ", Value::from(name.as_str())).unwrap();
                layout(inner, indent + 2, out);
                out.push_str(if nth + 1 == members.len() { "\n" } else { ",\n" });
            }
            write!(out, "{end}}}").unwrap();
        }
        Value::Array(items) => {
            out.push_str("[\n");
            for (nth, inner) in items.iter().enumerate() {
                out.push_str(&pad);
                layout(inner, indent + 2, out);
                out.push_str(if nth + 1 == items.len() { "\n" } else { ",\n" });
            }
            write!(out, "{end}]").unwrap();
        }
        _ => out.push_str(&line),
    }
}

fn flat(value: &Value) -> String {
    let members = |members: &Map<String, Value>| -> Vec<String> {
        members.iter().map(|(name, inner)| format!("{}: {}", Value::from(name.as_str()), flat(inner))).collect()
    };
    match value {
        Value::Object(object) if object.is_empty() => "{}".to_owned(),
        Value::Object(object) => format!("{{ {} }}", members(object).join(", ")),
        Value::Array(items) => format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
