//! A front end that is fed lines, and what must be true of each of its answers.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jobgate::domain::{
    Caller, CallerLimits, Clock as _, Confirm, ConfirmPurpose, ManualClock, PollPolicy, Principal, ProviderName, TaskMode,
    Timestamp, Tool, ToolName, ToolPolicy,
};
use jobgate::engine::{Engine, EngineLimits, EngineParts, Provider, ProviderLimits, Supervisor};
use jobgate::mcp::{
    Dispatcher, DispatcherParts, Frontend as _, HeaderText, Limits, McpHeaders, Message, Reply, RequestContext, Streams, Verb,
};
use jobgate::store::MemoryStore;
use jobgate_adapter_api::FixedRandom;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::provider::Farm;

const SECOND: Duration = Duration::from_secs(1);
/// Inputs after which a new gateway takes the place of one that holds their tasks.
const FRESH: u32 = 2000;
/// Streams that are held open.
const OPEN: usize = 8;
/// Lines of one input that are looked at.
const LINES: usize = 24;

/// A gateway without a network.
#[derive(Debug)]
pub struct Subject {
    runtime: Runtime,
    gateway: Gateway,
    fed: u32,
}

#[derive(Debug)]
struct Gateway {
    dispatcher: Dispatcher,
    clock: Arc<ManualClock>,
    supervisor: Supervisor,
    /// Sessions of 2025-11-25 and 2025-06-18.
    sessions: [String; 2],
    open: Vec<mpsc::Receiver<Message>>,
    task: String,
    asked: String,
    event: String,
}

impl Default for Subject {
    fn default() -> Self {
        Self::new()
    }
}

impl Subject {
    /// A gateway with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let gateway = runtime.block_on(Gateway::new());
        Self { runtime, gateway, fed: 0 }
    }

    /// Sends what an input says, line by line.
    pub fn feed(&mut self, input: &[u8]) {
        self.fed += 1;
        if self.fed.is_multiple_of(FRESH) {
            let old = std::mem::replace(&mut self.gateway, self.runtime.block_on(Gateway::new()));
            self.runtime.block_on(old.supervisor.kill());
        }
        let gateway = &mut self.gateway;
        self.runtime.block_on(async {
            for line in input.split(|byte| *byte == b'\n').take(LINES) {
                if let [how, rest @ ..] = line {
                    gateway.line(*how, rest).await;
                }
            }
            gateway.open.clear();
            gateway.honest().await;
        });
    }
}

fn tool(name: &str, mode: TaskMode, schema: Value) -> Tool {
    Tool {
        name: ToolName::new(name),
        title: None,
        description: format!("Does {name}."),
        input_schema: schema,
        fixed: serde_json::Map::new(),
        output_schema: None,
        annotations: None,
        provider: ProviderName::new("farm"),
        policy: ToolPolicy {
            mode,
            poll: PollPolicy { initial: SECOND, max: 10 * SECOND, factor: 2.0 },
            wait: 5 * SECOND,
            ..ToolPolicy::default()
        },
    }
}

fn tools() -> Vec<Tool> {
    let form = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
    let any = || json!({ "type": "object" });
    let shaped = json!({
        "type": "object",
        "properties": { "n": { "type": "integer", "maximum": 9 }, "list": { "type": "array", "items": { "type": "string", "maxLength": 3 } } },
        "additionalProperties": false,
    });
    let mut sure = tool("sure", TaskMode::Optional, any());
    sure.policy.confirm = vec![Confirm {
        key: "sure".to_owned(),
        message: "Sure?".to_owned(),
        schema: form,
        purpose: ConfirmPurpose::Approve,
        expires_after: 600 * SECOND,
    }];
    vec![
        tool("work", TaskMode::Optional, any()),
        tool("ask", TaskMode::Optional, any()),
        tool("done", TaskMode::Required, any()),
        tool("plain", TaskMode::Never, shaped),
        sure,
    ]
}

impl Gateway {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
        let supervisor = Supervisor::new(clock.clone());
        let random = Arc::new(FixedRandom::new(1));
        let parts = EngineParts {
            store: Arc::new(MemoryStore::new()),
            providers: vec![Provider {
                name: ProviderName::new("farm"),
                kind: "fuzz".to_owned(),
                adapter: Arc::new(Farm),
                limits: ProviderLimits::default(),
                webhook: None,
            }],
            tools: tools(),
            limits: EngineLimits { max_live_tasks_per_principal: 200, ..EngineLimits::default() },
            clock: clock.clone(),
            random: random.clone(),
            supervisor: supervisor.part(),
            public_url: None,
            artifacts: None,
        };
        let engine = Engine::start(parts).await.expect("an engine over memory starts");
        let limits = Arc::new(Limits::new(&CallerLimits::UNLIMITED, clock.clone()));
        let parts = DispatcherParts {
            engine,
            clock: clock.clone(),
            random,
            supervisor: supervisor.clone(),
            limits,
            failed_as_completed: Vec::new(),
        };
        let dispatcher = Dispatcher::new(parts).await.expect("its tools are right");
        let mut gateway = Self {
            dispatcher,
            clock,
            supervisor,
            sessions: Default::default(),
            open: Vec::new(),
            task: String::new(),
            asked: String::new(),
            event: String::new(),
        };
        for (nth, version) in ["2025-11-25", "2025-06-18"].into_iter().enumerate() {
            gateway.sessions[nth] = gateway.begin(version).await;
        }
        gateway
    }

    async fn begin(&self, version: &str) -> String {
        let client = json!({ "name": "fuzz", "version": "1" });
        let params =
            json!({ "protocolVersion": version, "capabilities": { "elicitation": {}, "tasks": {} }, "clientInfo": client });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let reply = self.dispatcher.handle(context(HeaderText::Absent), message.to_string().into()).await;
        let Reply::One { notes, .. } = reply else { panic!("`initialize` is answered") };
        notes.session.expect("a session begins")
    }

    async fn line(&mut self, how: u8, rest: &[u8]) {
        const HOWS: &[u8] = b"EeCJNSGDT";
        let how = if HOWS.contains(&how) { how } else { HOWS[usize::from(how) % HOWS.len()] };
        let rest = self.filled(rest);
        let [core, june] = self.sessions.each_ref().map(|session| HeaderText::One(session.clone()));
        let context = match how {
            b'E' => RequestContext { headers: Some(mirrored(&rest)), ..context(HeaderText::Absent) },
            b'e' => RequestContext { headers: None, ..context(HeaderText::Absent) },
            b'C' => context(core),
            b'J' => context(june),
            b'S' => RequestContext { caller: Caller::new(Principal::new("other", "eve")), ..context(core) },
            b'G' => {
                let resume = if rest.is_empty() { HeaderText::Absent } else { header(&rest) };
                RequestContext { verb: Verb::Get { resume }, ..context(core) }
            }
            b'D' => RequestContext { verb: Verb::Delete, ..context(header(&rest)) },
            b'T' => return self.advance(10 * SECOND).await,
            _ => context(HeaderText::Absent),
        };
        let message = if context.verb == Verb::Post { Bytes::from(rest) } else { Bytes::new() };
        let cancel = context.cancel.clone();
        let wants = wants_an_answer(&message);
        let reply = {
            let answer = pin!(self.dispatcher.handle(context, message.clone()));
            drive(&self.clock, answer).await
        };
        match reply {
            None => cancel.cancel(),
            Some(Reply::Accepted) => assert!(!wants, "a request without an answer: {}", String::from_utf8_lossy(&message)),
            Some(Reply::One { status, body, .. }) => self.look(status, &body),
            Some(Reply::Stream(messages)) => {
                self.open.push(messages);
                self.settle().await;
                if self.open.len() > OPEN {
                    self.open.remove(0);
                }
            }
        }
        self.read();
    }

    /// What has come on the open streams.
    fn read(&mut self) {
        for mut messages in std::mem::take(&mut self.open) {
            let ended = loop {
                match messages.try_recv() {
                    Ok(Message { id, bytes }) => {
                        if let Some(id) = id {
                            assert!(
                                id.len() < 4096 && id.bytes().all(|byte| byte.is_ascii_graphic()),
                                "an id that fits one line: {id}"
                            );
                            self.event = id;
                        }
                        if !bytes.is_empty() {
                            self.look(200, &bytes);
                        }
                    }
                    Err(mpsc::error::TryRecvError::Empty) => break false,
                    Err(mpsc::error::TryRecvError::Disconnected) => break true,
                }
            };
            if !ended {
                self.open.push(messages);
            }
        }
    }

    /// What must be true of every message that is sent.
    fn look(&mut self, status: u16, body: &Bytes) {
        let message: Value = serde_json::from_slice(body).expect("what is sent is JSON");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        assert!(!body.contains(&b'\n'), "one line: {message}");
        let parts = ["error", "result", "method"].map(|part| message.get(part).is_some());
        assert_eq!(parts.iter().filter(|there| **there).count(), 1, "{message}");
        if let Some(error) = message.get("error") {
            let code = error["code"].as_i64().expect("a code");
            let limited = error["data"]["category"] == "rate_limited";
            // A task that was made, and that its deadline or its provider failed, gives the error that it failed with.
            let of_task = error["data"]["category"].is_string() || status == 200 && code == -32603 && error["data"].is_object();
            assert!(matches!(code, -32700 | -32602..=-32600 | -32022..=-32020) || limited || of_task, "{message}");
            assert!(body.len() < 16 * 1024, "{} bytes of error", body.len());
            assert!((200..500).contains(&status), "{status}");
        }
        if message.get("method").is_some() && message.get("id").is_some() {
            self.asked = message["id"].to_string();
        }
        let task = [&message["result"]["taskId"], &message["result"]["task"]["taskId"]].into_iter().find_map(Value::as_str);
        if let Some(task) = task {
            self.task = task.to_owned();
        }
    }

    /// The line with the names that stand for something put in.
    fn filled(&self, line: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(line) else { return line.to_vec() };
        if !text.contains('$') {
            return line.to_vec();
        }
        text.replace("$TASK", &self.task).replace("\"$ASKED\"", &self.asked).replace("$EVENT", &self.event).into_bytes()
    }

    /// After whatever came, an honest request is served.
    async fn honest(&mut self) {
        let message = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        let Reply::One { status: 200, .. } = self.dispatcher.handle(context(HeaderText::Absent), message).await else {
            panic!("an honest request is not served any more");
        };
    }

    async fn settle(&self) {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    async fn advance(&mut self, span: Duration) {
        let until = self.clock.now().plus(span);
        self.settle().await;
        while let Some(wake) = self.clock.next_wake().filter(|wake| *wake <= until) {
            self.clock.set(wake.max(self.clock.now()));
            self.settle().await;
        }
        self.clock.set(until);
        self.settle().await;
        self.read();
    }
}

/// Runs an answer to its end; `None` when it waits for something that a minute does not bring.
async fn drive(clock: &ManualClock, mut answer: std::pin::Pin<&mut impl Future<Output = Reply>>) -> Option<Reply> {
    let limit = clock.now().plus(60 * SECOND);
    loop {
        tokio::select! {
            biased;
            reply = &mut answer => return Some(reply),
            () = async { for _ in 0..20 { tokio::task::yield_now().await } } => {}
        }
        let wake = clock.next_wake().filter(|wake| *wake <= limit)?;
        clock.set(wake.max(clock.now()));
    }
}

fn context(session: HeaderText) -> RequestContext {
    let caller = Caller::new(Principal::new("acme", "ann"));
    RequestContext { headers: Some(McpHeaders::default()), session, ..RequestContext::new(caller, Streams::Wanted) }
}

fn header(text: &[u8]) -> HeaderText {
    let text = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
    text.map_or(HeaderText::Unreadable, |text| HeaderText::One(text.trim().to_owned()))
}

/// The headers that an honest client would send with a message.
fn mirrored(message: &[u8]) -> McpHeaders {
    let message: Value = serde_json::from_slice(message).unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or(HeaderText::Absent, |text| HeaderText::One(text.to_owned()));
    let params = &message["params"];
    McpHeaders {
        protocol_version: text(&params["_meta"]["io.modelcontextprotocol/protocolVersion"]),
        method: text(&message["method"]),
        name: text(if message["method"] == "tools/call" { &params["name"] } else { &params["taskId"] }),
        params: Vec::new(),
    }
}

/// Whether bytes are a request: it has to be answered, if by an error alone.
fn wants_an_answer(message: &[u8]) -> bool {
    serde_json::from_slice::<Value>(message).is_ok_and(|message| message.get("id").is_some() && message.get("method").is_some())
}
