//! A client of 2025-11-25 and gateways that are killed under it, on the raw wire: the stream of a session, streams that go on, questions,
//! and the end of a session; over HTTP, over a pipe, and through a process that does not hold the store.

use std::path::Path;
use std::time::Duration;

use jobgate_test_support::events::Session;
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::pipe::Pipe;
use jobgate_test_support::scratch;
use jobgate_test_support::wait;
use serde_json::{Value, json};

const CORE: &str = "2025-11-25";
const RELATED: &str = "io.modelcontextprotocol/related-task";
const LIMIT: Duration = Duration::from_secs(30);

const CONFIG: &str = r#"
providers:
  studio: { adapter: mock }
tools:
  render:
    provider: studio
    description: Renders for two seconds.
    task: { poll: { initial: 100ms, max: 500ms } }
    job: { machine: { StartAt: Render, States: {
      Render: { Type: Wait, Comment: rendering, Seconds: 2, MockProgress: { from: 0, done: 4, total: 4, steps: 4 }, Next: Done },
      Done: { Type: Pass, Result: rendered, End: true } } } }
  release:
    provider: studio
    description: Asks, then releases.
    task: { poll: { initial: 100ms, max: 500ms } }
    job: { machine: { StartAt: Approve, States: {
      Approve: { Type: Task, Resource: "mock:callback", TimeoutSeconds: 3600, ResultPath: $.answer, Next: Released, Parameters: {
        Message: "Release?", Form: { type: object, properties: { approve: { type: boolean } }, required: [approve] } } },
      Released: { Type: Pass, Result: released, End: true } } } }
"#;

fn configured(folder: &Path) -> Setup {
    let file = folder.join("core.yaml");
    std::fs::write(&file, CONFIG).expect("a new folder can be written to");
    Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder).config(&file)
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn call(id: u64, tool: &str) -> Value {
    let meta = json!({ "progressToken": format!("progress of {tool}") });
    request(id, "tools/call", json!({ "name": tool, "arguments": {}, "task": { "ttl": 3_600_000 }, "_meta": meta }))
}

fn about(id: u64, method: &str, task: &str) -> Value {
    request(id, method, json!({ "taskId": task }))
}

fn is_question(message: &Value) -> bool {
    message["method"] == "elicitation/create"
}

fn approval(question: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": { "approve": true } } })
}

fn made(answer: &Value) -> String {
    answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

/// A1, D2, D4, E3, field report 1: killed while a result is waited for and while a question is out. The client goes on with the session's
/// id, its tasks' ids and the last event of each stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_the_core_does_not_notice_that_the_gateway_was_killed() {
    let folder = scratch::in_memory();
    let setup = configured(folder.path());
    let gateway = setup.start().await;
    let session = Session::begin(&setup.url(), CORE, json!({ "elicitation": {}, "tasks": {} })).await;
    let render = made(&session.ask(&call(1, "render")).await);
    let release = made(&session.ask(&call(2, "release")).await);
    let mut rendering = session.open(&about(3, "tasks/result", &render)).await;
    rendering.until("the first progress", |message| message["params"]["progressToken"] == "progress of render").await;
    let mut releasing = session.open(&about(4, "tasks/result", &release)).await;
    let question = releasing.until("the question", is_question).await.pop().expect("it came");
    assert_eq!(question["params"]["_meta"][RELATED]["taskId"], release);

    gateway.kill();
    while let Some(message) = rendering.next().await {
        assert!(message.get("id").is_none(), "the stream broke without an answer: {message}");
    }
    let gateway = setup.start().await;

    // What was asked by the process that is gone is answered to this one.
    session.tell(&approval(&question)).await;
    for (events, id, text, task) in [(&rendering, 3, "rendered", &render), (&releasing, 4, "released", &release)] {
        let mut again = session.resume(events.last.as_deref().expect("the first event has an id")).await;
        let response = again.until("the response", |message| message["id"] == id).await.pop().expect("it came");
        assert_eq!(response["result"]["content"][0]["text"], text);
        assert_eq!(response["result"]["_meta"][RELATED]["taskId"], **task);
        assert_eq!(again.next().await, None, "the stream ends with it");
    }

    gateway.kill();
    let _gateway = setup.start().await;
    let newcomer = Session::begin(&setup.url(), CORE, json!({})).await;
    for session in [&session, &newcomer] {
        let result = session.ask(&about(5, "tasks/result", &render)).await;
        assert_eq!(result["result"]["content"][0]["text"], "rendered");
        let list = session.ask(&request(6, "tasks/list", json!({}))).await;
        assert_eq!(list["result"]["tasks"].as_array().map(Vec::len), Some(2), "{list}");
    }
}

/// D4, E1: a client that only polls is told and asked on the stream that it opened by GET; the session ends by DELETE, and its stream with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_polls_is_told_on_the_sessions_stream() {
    let folder = scratch::in_memory();
    let setup = configured(folder.path());
    let _gateway = setup.start().await;
    let session = Session::begin(&setup.url(), CORE, json!({ "elicitation": {} })).await;
    let mut pushed = session.listen().await;
    let release = made(&session.ask(&call(1, "release")).await);
    let looks = async || {
        let looked = session.ask(&about(2, "tasks/get", &release)).await;
        (looked["result"]["status"] == "input_required").then_some(())
    };
    wait::until_async("the task to want an answer", LIMIT, looks).await;
    let question = pushed.until("the question", is_question).await.pop().expect("it came");
    session.tell(&approval(&question)).await;
    let news = pushed.until("the end", |message| message["params"]["status"] == "completed").await.pop().expect("it came");
    assert_eq!((&news["method"], &news["params"]["taskId"]), (&json!("notifications/tasks/status"), &json!(release)));
    session.end().await;
    assert_eq!(pushed.next().await, None, "the stream ends with its session");
}

fn begin(setup: &Setup) -> Pipe {
    let mut pipe = Pipe::start(setup.command(&["stdio", "--config", "core.yaml", "--data", "jobgate-data"]));
    let params = json!({ "protocolVersion": CORE, "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "raw", "version": "1" } });
    let initialize = pipe.plain("initialize", params);
    assert_eq!(pipe.answer(initialize, LIMIT)["protocolVersion"], CORE);
    pipe.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    pipe
}

fn start(pipe: &mut Pipe, tool: &str) -> String {
    let id = pipe.plain("tools/call", json!({ "name": tool, "arguments": {}, "task": {} }));
    let made = pipe.answer(id, LIMIT);
    made["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {made}")).to_owned()
}

fn look(pipe: &mut Pipe, task: &str) -> String {
    let id = pipe.plain("tasks/get", json!({ "taskId": task }));
    let looked = pipe.answer(id, LIMIT);
    looked["status"].as_str().unwrap_or_else(|| panic!("no status: {looked}")).to_owned()
}

/// The one session of a pipe: news and questions come without being asked for. The second pipe serves through the first one's process,
/// and goes on when that one is killed, with a result that is waited for and a question that is out.
#[test]
fn a_pipe_has_a_session_also_through_another_process() {
    let folder = scratch::in_memory();
    let setup = configured(folder.path());
    let (mut holder, mut pipe) = (begin(&setup), begin(&setup));
    let render = start(&mut pipe, "render");
    let waited = pipe.plain("tasks/result", json!({ "taskId": render }));
    let release = start(&mut pipe, "release");
    wait::until("the task to want an answer", LIMIT, || (look(&mut pipe, &release) == "input_required").then_some(()));
    let question = pipe.message("the question", LIMIT, is_question);
    assert_eq!(question["params"]["_meta"][RELATED]["taskId"], release);

    holder.kill();

    let result = pipe.answer(waited, LIMIT);
    assert_eq!(result["content"][0]["text"], "rendered", "{result}");
    pipe.write(&approval(&question));
    wait::until("the release", LIMIT, || (look(&mut pipe, &release) == "completed").then_some(()));
    let news = |message: &Value| message["method"] == "notifications/tasks/status" && message["params"]["status"] == "completed";
    pipe.message("the news of it", LIMIT, |message| news(message) && message["params"]["taskId"] == release);
    assert!(pipe.leave().success(), "a pipe whose client leaves ends by itself");
}
