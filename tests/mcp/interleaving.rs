//! One task, four views: whatever is done to a task in whatever dialect and order, each view shows the one state of it.

use std::collections::BTreeSet;
use std::time::Duration;

use jobgate::domain::{Caller, Clock as _, Outcome, Status, Task};
use jobgate::mcp::{Frontend as _, HeaderText, McpHeaders, Message, Reply, RequestContext, Streams};
use jobgate_adapter_api::Observation;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::client::{TASKS, VERSION, me, one, you};
use crate::provider::{asks, counted, done, failed, running};
use crate::rig::{Rig, SECOND, yes_or_no};

const DAY: Duration = Duration::from_secs(24 * 3600);
const RELATED: &str = "modelcontextprotocol.io/related-task";

/// A wire form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum In {
    Draft,
    Core,
    Extension,
    Classic,
}

/// What a look at the job shows next.
#[derive(Clone, Copy, Debug)]
enum Look {
    Running,
    Counted(u8),
    Asks,
    Done,
    Failed,
}

/// Something that is done.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Seconds pass.
    Wait(u8),
    /// Its result is asked for; where that blocks, somebody waits from here on.
    Result(In),
    /// The job's question is answered with yes, or with no; where dialects ask, as an answer to their request.
    Answer(In, bool),
    Cancel(In),
    Delete,
    /// A stranger tries the same.
    Stranger(In),
}

fn plans() -> impl Strategy<Value = Vec<Look>> {
    let middle = prop_oneof![Just(Look::Running), (0..100_u8).prop_map(Look::Counted), Just(Look::Asks)];
    let end = prop_oneof![3 => Just(Look::Done), 2 => Just(Look::Failed), 2 => Just(Look::Running)];
    (prop::collection::vec(middle, 0..4), end).prop_map(|(mut plan, end)| {
        plan.push(end);
        plan
    })
}

fn deeds() -> impl Strategy<Value = Deed> {
    let some = || prop::sample::select(vec![In::Draft, In::Core, In::Extension, In::Classic]);
    prop_oneof![
        5 => (1..40_u8).prop_map(Deed::Wait),
        4 => some().prop_map(Deed::Result),
        4 => (some(), any::<bool>()).prop_map(|(dialect, yes)| Deed::Answer(dialect, yes)),
        2 => some().prop_map(Deed::Cancel),
        1 => Just(Deed::Delete),
        2 => some().prop_map(Deed::Stranger),
    ]
}

/// The task of one case, and everything that has been seen of it.
struct Case<'a> {
    rig: &'a Rig,
    sessions: [HeaderText; 2],
    shown: String,
    /// The call's own stream, where the draft made the task.
    call: Option<mpsc::Receiver<Message>>,
    /// Who waits for the result, and the last that each has heard.
    waiting: Vec<(mpsc::Receiver<Message>, Value)>,
    /// Questions that came on streams and were not answered.
    asked: Vec<Value>,
    cancelled_at_once: bool,
    deleted: bool,
    before: Option<Seen>,
}

/// What the three views of tasks showed.
#[derive(Clone, Debug)]
struct Seen {
    statuses: [String; 3],
    ended: bool,
    updated: String,
    outcome: Value,
}

impl<'a> Case<'a> {
    async fn new(rig: &'a Rig, made_in: In) -> Self {
        let sessions = [begin(rig, "2025-06-18").await, begin(rig, "2025-11-25").await];
        let mut case = Self {
            rig,
            sessions,
            shown: String::new(),
            call: None,
            waiting: Vec::new(),
            asked: Vec::new(),
            cancelled_at_once: false,
            deleted: false,
            before: None,
        };
        case.make(made_in).await;
        case
    }

    async fn make(&mut self, made_in: In) {
        let params = json!({ "name": if made_in == In::Classic { "endless" } else { "stuck" }, "arguments": {} });
        match made_in {
            In::Draft => {
                let mut params = params;
                params["_meta"] = json!({ "modelcontextprotocol.io/task": { "taskId": "mine", "keepAlive": 3_600_000 } });
                let Reply::Stream(stream) = self.reply(In::Draft, "tools/call", params, 77).await else { panic!("no stream") };
                self.call = Some(stream);
                "mine".clone_into(&mut self.shown);
            }
            In::Core => {
                let mut params = params;
                params["task"] = json!({ "ttl": 3_600_000 });
                let answer = self.ask(In::Core, "tools/call", params).await;
                answer["result"]["task"]["taskId"].as_str().unwrap().clone_into(&mut self.shown);
            }
            In::Extension => {
                let answer = self.ask(In::Extension, "tools/call", params).await;
                answer["result"]["taskId"].as_str().unwrap().clone_into(&mut self.shown);
            }
            In::Classic => {
                let answer = self.ask(In::Classic, "tools/call", params).await;
                answer["result"]["structuredContent"]["ticket"].as_str().unwrap().clone_into(&mut self.shown);
            }
        }
    }

    fn context(&self, dialect: In, method: &str, name: Option<&str>) -> RequestContext {
        let base = RequestContext::new(Caller::new(me()), Streams::Wanted);
        let (headers, session) = match dialect {
            In::Extension => {
                let name = name.map_or(HeaderText::Absent, one);
                let headers = McpHeaders { protocol_version: one(VERSION), method: one(method), name, params: Vec::new() };
                (headers, HeaderText::Absent)
            }
            In::Draft | In::Classic => (McpHeaders::default(), self.sessions[0].clone()),
            In::Core => (McpHeaders::default(), self.sessions[1].clone()),
        };
        RequestContext { headers: Some(headers), session, ..base }
    }

    async fn reply(&self, dialect: In, method: &str, mut params: Value, id: u64) -> Reply {
        if dialect == In::Extension {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": VERSION,
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "extensions": { TASKS: {} } },
            });
        }
        let name = params.get(if method == "tools/call" { "name" } else { "taskId" }).and_then(Value::as_str).map(String::from);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let context = self.context(dialect, method, name.as_deref());
        self.rig.drive(self.rig.dispatcher.handle(context, message.to_string().into())).await
    }

    /// Asks for what has one answer.
    async fn ask(&self, dialect: In, method: &str, params: Value) -> Value {
        match self.reply(dialect, method, params, 1).await {
            Reply::One { body, .. } => serde_json::from_slice(&body).unwrap(),
            Reply::Stream(mut messages) => {
                let mut last = Value::Null;
                while let Some(message) = self.rig.drive(messages.recv()).await {
                    if !message.bytes.is_empty() {
                        last = serde_json::from_slice(&message.bytes).unwrap();
                    }
                }
                last
            }
            Reply::Accepted => panic!("{method} has no answer"),
        }
    }

    fn about(&self, dialect: In) -> Value {
        let mut params = json!({ "taskId": self.shown });
        if dialect == In::Draft {
            params["_meta"] = json!({ RELATED: { "taskId": self.shown } });
        }
        params
    }

    fn redeem(&self, tool: &str) -> Value {
        json!({ "name": tool, "arguments": { "ticket": self.shown } })
    }

    async fn domain(&self) -> Option<std::sync::Arc<Task>> {
        self.rig.engine.find(&me(), &self.shown).await.ok()
    }

    async fn does(&mut self, deed: Deed) {
        let ended = self.domain().await.is_none_or(|task| task.is_ended());
        match deed {
            Deed::Wait(seconds) => self.rig.advance(u32::from(seconds) * SECOND).await,
            Deed::Result(In::Core) if !ended => {
                if let Reply::Stream(messages) = self.reply(In::Core, "tasks/result", self.about(In::Core), 5).await {
                    self.waiting.push((messages, Value::Null));
                }
            }
            Deed::Result(In::Draft) => {
                let answer = self.ask(In::Draft, "tasks/result", self.about(In::Draft)).await;
                let completed = self.before.as_ref().is_some_and(|seen| seen.statuses[0] == "completed");
                // The look takes no time, but the moment before it may have been the job's last.
                assert!(answer.get("result").is_some() || !completed || self.deleted, "{answer}");
            }
            Deed::Result(In::Classic) => {
                self.ask(In::Classic, "tools/call", self.redeem("job_result")).await;
            }
            Deed::Result(In::Core | In::Extension) => {}
            Deed::Answer(In::Extension, yes) => {
                let mut params = self.about(In::Extension);
                params["inputResponses"] = json!({ "go": content(yes) });
                self.ask(In::Extension, "tasks/update", params).await;
            }
            Deed::Answer(dialect, yes) => {
                self.listen().await;
                let Some(asked) = self.asked.pop() else { return };
                let message = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": content(yes) });
                let context = self.context(if dialect == In::Core { In::Core } else { In::Draft }, "", None);
                let reply = self.rig.drive(self.rig.dispatcher.handle(context, message.to_string().into())).await;
                assert!(matches!(reply, Reply::Accepted), "{reply:?}");
            }
            Deed::Cancel(dialect) => self.cancel(dialect, ended).await,
            Deed::Delete => {
                let answer = self.ask(In::Draft, "tasks/delete", self.about(In::Draft)).await;
                if answer.get("result").is_some() {
                    assert!(ended, "a task that has not ended is not deleted");
                    self.deleted = true;
                }
            }
            Deed::Stranger(dialect) => self.stranger(dialect).await,
        }
    }

    async fn cancel(&mut self, dialect: In, ended: bool) {
        match dialect {
            In::Core => {
                let answer = self.ask(In::Core, "tasks/cancel", self.about(In::Core)).await;
                if ended {
                    assert_eq!(answer["error"]["code"], -32602, "{answer}");
                } else if let Some(result) = answer.get("result") {
                    assert_eq!(result["status"], "cancelled", "cancelled before the reply: {answer}");
                    self.cancelled_at_once = true;
                }
            }
            In::Extension => {
                let answer = self.ask(In::Extension, "tasks/cancel", self.about(In::Extension)).await;
                assert_eq!(answer.get("result").is_some(), !self.deleted && self.domain().await.is_some(), "{answer}");
            }
            In::Draft => {
                // The draft has no other way than the original request.
                let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77, "reason": "x" } });
                let context = self.context(In::Draft, "", None);
                self.rig.drive(self.rig.dispatcher.handle(context, message.to_string().into())).await;
                self.cancelled_at_once |= !ended && self.call.is_some();
            }
            In::Classic => {
                self.ask(In::Classic, "tools/call", self.redeem("job_cancel")).await;
            }
        }
    }

    /// A stranger's look is answered like one at a task that is not there.
    async fn stranger(&self, dialect: In) {
        let answer = |id: String| async move {
            let params = match dialect {
                In::Draft => json!({ "taskId": id, "_meta": { RELATED: { "taskId": id } } }),
                In::Core | In::Extension | In::Classic => json!({ "taskId": id }),
            };
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": params });
            let headers = McpHeaders { protocol_version: one("2025-11-25"), ..McpHeaders::default() };
            let context = RequestContext { headers: Some(headers), ..RequestContext::new(Caller::new(you()), Streams::Wanted) };
            let reply = self.rig.drive(self.rig.dispatcher.handle(context, message.to_string().into())).await;
            let Reply::One { status, body, .. } = reply else { panic!("no answer") };
            (status, body)
        };
        assert_eq!(answer(self.shown.clone()).await, answer("nobodys".to_owned()).await, "not a byte differs");
    }

    /// Hears what has come on all streams, and keeps the questions.
    async fn listen(&mut self) {
        self.rig.settle().await;
        let mut asked = Vec::new();
        let mut calls_last = Value::Null;
        let calls_own = self.call.iter_mut().zip([&mut calls_last]);
        for (stream, last) in self.waiting.iter_mut().map(|(stream, last)| (stream, last)).chain(calls_own) {
            while let Ok(message) = stream.try_recv() {
                let Ok(said) = serde_json::from_slice::<Value>(&message.bytes) else { continue };
                if said["method"] == "elicitation/create" {
                    asked.push(said.clone());
                }
                *last = said;
            }
        }
        self.asked.extend(asked);
    }

    /// Looks in every dialect, and holds the views against the one state and against what was seen before.
    async fn look(&mut self) {
        let views = [In::Draft, In::Core, In::Extension].map(|dialect| (dialect, self.about(dialect)));
        let [draft, core, extension] = [
            self.ask(views[0].0, "tasks/get", views[0].1.clone()).await,
            self.ask(views[1].0, "tasks/get", views[1].1.clone()).await,
            self.ask(views[2].0, "tasks/get", views[2].1.clone()).await,
        ];
        let Some(task) = self.domain().await else {
            for view in [&draft, &core, &extension] {
                assert_eq!(view["error"]["code"], -32602, "gone in every view: {view}");
            }
            assert!(!self.listed().await, "gone from the lists");
            return;
        };
        assert!(!self.deleted, "what was deleted is gone");
        let views = [&draft["result"], &core["result"], &extension["result"]];
        let statuses = views.map(|view| view["status"].as_str().unwrap_or_else(|| panic!("no task: {view}")).to_owned());
        assert_eq!(statuses, projection(&task), "{task:?}");
        for view in views {
            assert_eq!(view["taskId"], self.shown.as_str(), "one id in all dialects");
        }
        for part in ["createdAt", "lastUpdatedAt"] {
            assert_eq!(core["result"][part], extension["result"][part], "{part}");
        }
        assert!(self.listed().await, "it is in the lists");
        let seen = Seen {
            ended: task.is_ended(),
            updated: core["result"]["lastUpdatedAt"].as_str().unwrap().to_owned(),
            outcome: if task.is_ended() { self.outcome(&task, &draft, &extension).await } else { Value::Null },
            statuses,
        };
        if self.cancelled_at_once {
            assert_eq!(seen.statuses, ["cancelled"; 3], "cancelled, and it stays so");
        }
        if let Some(before) = &self.before {
            assert!(seen.updated >= before.updated, "time runs one way: {before:?}, {seen:?}");
            if before.ended {
                assert_eq!(
                    (&seen.statuses, &seen.outcome),
                    (&before.statuses, &before.outcome),
                    "what has ended stays as it ended"
                );
            }
        }
        self.before = Some(seen);
    }

    /// What became of the task, the same in all dialects.
    async fn outcome(&self, task: &Task, draft: &Value, extension: &Value) -> Value {
        let core = self.ask(In::Core, "tasks/result", self.about(In::Core)).await;
        let in_draft = self.ask(In::Draft, "tasks/result", self.about(In::Draft)).await;
        let in_classic = self.ask(In::Classic, "tools/call", self.redeem("job_result")).await;
        match task.outcome().unwrap() {
            Outcome::Result(_) => {
                let core = plain(&core["result"], true);
                assert_eq!(plain(&in_draft["result"], true), core, "the result in the draft");
                assert_eq!(plain(&extension["result"]["result"], false), core, "the result in the extension");
                assert_eq!(in_classic["result"]["content"], core["content"], "the result of a ticket");
                core
            }
            Outcome::Error(error) => {
                assert_eq!(core["error"]["message"], extension["result"]["error"]["message"], "{core} {extension}");
                assert_eq!(core["error"]["code"], extension["result"]["error"]["code"], "{core} {extension}");
                assert_eq!(in_draft["error"]["code"], -32602, "no result: {in_draft}");
                assert_eq!(draft["result"]["error"], error.message.as_str(), "{draft}");
                core["error"].clone()
            }
            Outcome::Cancelled => {
                // A plain call that was cancelled has a result that says so.
                assert!(core["result"]["isError"] == true && in_draft.get("error").is_some(), "{core} {in_draft}");
                json!("cancelled")
            }
        }
    }

    async fn listed(&self) -> bool {
        let mut found = BTreeSet::new();
        for (dialect, params) in [(In::Core, json!({})), (In::Draft, json!({ "_meta": { RELATED: { "taskId": "any" } } }))] {
            let page = self.ask(dialect, "tasks/list", params).await;
            let tasks = page["result"]["tasks"].as_array().unwrap_or_else(|| panic!("no list: {page}"));
            found.insert(tasks.iter().any(|task| task["taskId"] == self.shown.as_str()));
        }
        assert_eq!(found.len(), 1, "both lists show the same");
        found.contains(&true)
    }

    /// Whoever waits has an answer once the task has ended, and it is the one that later callers get.
    async fn waiters(&mut self) {
        for (mut messages, mut last) in std::mem::take(&mut self.waiting) {
            while let Some(message) = self.rig.drive(messages.recv()).await {
                if !message.bytes.is_empty() {
                    last = serde_json::from_slice(&message.bytes).unwrap();
                }
            }
            let seen = self.before.as_ref().unwrap();
            if self.deleted || !seen.ended {
                continue;
            }
            if seen.outcome == "cancelled" {
                assert_eq!(last["result"]["isError"], true, "{last}");
            } else {
                let told = if last.get("result").is_some() { plain(&last["result"], true) } else { last["error"].clone() };
                assert_eq!(told, seen.outcome, "a waiter and a later caller");
            }
        }
    }
}

/// The table of design: one state, and each dialect's word for it, in the order draft, core, extension.
fn projection(task: &Task) -> [String; 3] {
    let words = match task.outcome() {
        Some(Outcome::Result(result)) if result.is_error => ["completed", "failed", "completed"],
        Some(Outcome::Result(_)) => ["completed"; 3],
        Some(Outcome::Error(_)) => ["failed"; 3],
        Some(Outcome::Cancelled) => ["cancelled"; 3],
        None if task.status() == Status::InputRequired => ["input_required"; 3],
        None => ["working"; 3],
    };
    words.map(str::to_owned)
}

/// A result without what only one dialect says around it.
fn plain(result: &Value, related: bool) -> Value {
    let mut result = result.clone();
    let members = result.as_object_mut().unwrap_or_else(|| panic!("no result"));
    assert_eq!(members.remove("_meta").is_some(), related, "results of the older dialects name their task");
    members.remove("resultType");
    result
}

fn content(yes: bool) -> Value {
    if yes { json!({ "action": "accept", "content": { "ok": true } }) } else { json!({ "action": "decline" }) }
}

async fn begin(rig: &Rig, version: &str) -> HeaderText {
    let client = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": client });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let context =
        RequestContext { headers: Some(McpHeaders::default()), ..RequestContext::new(Caller::new(me()), Streams::Wanted) };
    let Reply::One { notes, .. } = rig.dispatcher.handle(context, message.to_string().into()).await else { panic!("no answer") };
    one(&notes.session.unwrap())
}

fn observation(look: Look) -> Observation {
    match look {
        Look::Running => running(),
        Look::Counted(done) => counted(f64::from(done), 100.0),
        Look::Asks => asks(&[("go", yes_or_no())]),
        Look::Done => done("all of it"),
        Look::Failed => failed("2 of 40 tests failed"),
    }
}

async fn play(made_in: In, plan: &[Look], deeds: &[Deed]) {
    let rig = Rig::new().await;
    for tool in ["stuck", "endless"] {
        rig.provider.plan(tool, plan.iter().map(|look| observation(*look)));
    }
    let mut case = Case::new(&rig, made_in).await;
    case.look().await;
    for deed in deeds {
        case.does(*deed).await;
        case.look().await;
    }
    // Whatever is left comes to an end, and then to the end of its life.
    case.does(Deed::Cancel(In::Core)).await;
    case.look().await;
    case.waiters().await;
    rig.clock.set(rig.clock.now().plus(31 * DAY));
    rig.advance(SECOND).await;
    case.look().await;
    assert!(case.domain().await.is_none(), "its life is over");
    rig.supervisor.kill().await;
}

/// B1, B2, B4, D5, F2, H7, I1: any interleaving of calls in all dialects on one task, with what its job does.
#[test]
fn every_view_shows_the_one_state_whatever_is_done() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let config = Config { cases: 300, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let made_in = prop::sample::select(vec![In::Draft, In::Core, In::Extension, In::Classic]);
    let verdict = runner.run(&(made_in, plans(), prop::collection::vec(deeds(), 1..14)), |(made_in, plan, deeds)| {
        runtime.block_on(play(made_in, &plan, &deeds));
        Ok(())
    });
    verdict.unwrap();
}
