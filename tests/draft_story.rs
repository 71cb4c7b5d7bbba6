//! A client of the draft (SEP-1686 as first proposed) and a gateway that is killed under it: no released client speaks this dialect,
//! so its story is told on the raw wire, over HTTP and over a pipe.

use std::path::Path;
use std::time::Duration;

use jobgate_test_support::events::{Events, Session};
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::pipe::Pipe;
use jobgate_test_support::scratch;
use jobgate_test_support::wait;
use serde_json::{Value, json};

const TASK: &str = "modelcontextprotocol.io/task";
const RELATED: &str = "modelcontextprotocol.io/related-task";
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
  watch:
    provider: studio
    description: Watches for an hour.
    task: { poll: { initial: 100ms, max: 500ms } }
    job: { machine: { StartAt: Watch, States: { Watch: { Type: Wait, Seconds: 3600, End: true } } } }
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
    let file = folder.join("draft.yaml");
    std::fs::write(&file, CONFIG).expect("a new folder can be written to");
    Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder).config(&file)
}

fn call(request: u64, tool: &str, id: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": request, "method": "tools/call", "params": { "name": tool, "arguments": {},
        "_meta": { TASK: { "taskId": id, "keepAlive": 600_000 }, "progressToken": format!("progress of {id}") } } })
}

fn about(method: &str, id: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 99, "method": method, "params": { "taskId": id, "_meta": related(id) } })
}

fn related(id: &str) -> Value {
    json!({ RELATED: { "taskId": id } })
}

fn cancelled(request: u64) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": request, "reason": "enough" } })
}

async fn status(session: &Session, id: &str) -> String {
    let answer = session.ask(&about("tasks/get", id)).await;
    answer["result"]["status"].as_str().unwrap_or_else(|| panic!("{id}: {answer}")).to_owned()
}

async fn started(session: &Session, request: u64, tool: &str, id: &str) -> Events {
    let mut events = session.open(&call(request, tool, id)).await;
    let created = json!({ "jsonrpc": "2.0", "method": "notifications/tasks/created", "params": { "_meta": related(id) } });
    assert_eq!(events.next().await, Some(created));
    events
}

/// H1 to H5, F2, E3, A1: the gateway is killed while a job runs, while a question is open, and between a call and its cancel; the client
/// goes on with what it has in hand: the session's id, its own task ids, its request ids, and the last event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_the_draft_does_not_notice_that_the_gateway_was_killed() {
    let folder = scratch::in_memory();
    let setup = configured(folder.path());
    let gateway = setup.start().await;
    let session = Session::begin(&setup.url(), "2025-06-18", json!({ "elicitation": {} })).await;
    let mut rendering = started(&session, 1, "render", "my render").await;
    let told = rendering.until("the first progress", |message| message["method"] == "notifications/progress").await;
    assert_eq!(told.last().unwrap()["params"]["progressToken"], "progress of my render");
    drop(started(&session, 2, "watch", "my watch").await);
    let mut releasing = started(&session, 3, "release", "my release").await;
    let asks = |message: &Value| message["method"] == "elicitation/create";
    let question = releasing.until("the question", asks).await.pop().unwrap();
    assert_eq!(question["params"]["_meta"], related("my release"));

    gateway.kill();
    assert_eq!(rendering.next().await, None, "the stream broke");
    let gateway = setup.start().await;

    let mut again = session.resume(rendering.last.as_deref().unwrap()).await;
    let response = again.until("the response", |message| message["id"] == 1).await.pop().unwrap();
    assert_eq!(
        (&response["result"]["content"][0]["text"], &response["result"]["_meta"]),
        (&json!("rendered"), &related("my render"))
    );
    let repeated = session.ask(&call(1, "render", "my render")).await;
    assert_eq!(repeated["error"]["code"], -32602, "the id is in use, so the client knows that the task exists: {repeated}");

    assert_eq!(status(&session, "my watch").await, "working");
    session.tell(&cancelled(2)).await;
    assert_eq!(status(&session, "my watch").await, "cancelled");

    let mut again = session.resume(releasing.last.as_deref().unwrap()).await;
    let once_more = again.until("the question", asks).await.pop().unwrap();
    assert_eq!(once_more["params"], question["params"]);
    let answer = json!({ "action": "accept", "content": { "approve": true } });
    session.tell(&json!({ "jsonrpc": "2.0", "id": once_more["id"], "result": answer })).await;
    let response = again.until("the response", |message| message["id"] == 3).await.pop().unwrap();
    assert_eq!(response["result"]["content"][0]["text"], "released");

    gateway.kill();
    let _gateway = setup.start().await;
    for _ in 0..2 {
        let result = session.ask(&about("tasks/result", "my render")).await;
        assert_eq!(
            (&result["result"]["content"][0]["text"], &result["result"]["_meta"]),
            (&json!("rendered"), &related("my render"))
        );
    }
    let list = session.ask(&json!({ "jsonrpc": "2.0", "id": 4, "method": "tasks/list" })).await;
    let mut ids: Vec<&str> =
        list["result"]["tasks"].as_array().unwrap().iter().filter_map(|task| task["taskId"].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["my release", "my render", "my watch"]);
    assert_eq!(session.ask(&about("tasks/delete", "my render")).await["result"], json!({ "_meta": related("my render") }));
    assert_eq!(session.ask(&about("tasks/get", "my render")).await["error"]["code"], -32602);
    let alone = session.ask(&call(5, "render", "my render")).await;
    assert_eq!(alone["result"]["_meta"], related("my render"), "a client without streams gets the response alone: {alone}");
}

/// The same over a pipe, where a new pipe is a new session and the client's own ids are all that is left.
#[test]
fn a_client_of_the_draft_on_a_pipe() {
    let folder = scratch::in_memory();
    let setup = configured(folder.path());
    let begin = || {
        let mut pipe = Pipe::start(setup.command(&["stdio", "--config", "draft.yaml", "--data", "jobgate-data"]));
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "raw", "version": "1" } });
        pipe.write(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }));
        pipe.message("the session", LIMIT, |message| message["id"] == 0);
        pipe
    };
    let created = |id: &str| {
        let id = id.to_owned();
        move |message: &Value| message["method"] == "notifications/tasks/created" && message["params"]["_meta"] == related(&id)
    };
    let mut pipe = begin();
    pipe.write(&call(1, "render", "my render"));
    pipe.write(&call(2, "watch", "my watch"));
    pipe.message("the first task", LIMIT, created("my render"));
    pipe.message("the second task", LIMIT, created("my watch"));
    pipe.write(&cancelled(2));
    let status = |pipe: &mut Pipe, id: &str| {
        pipe.write(&about("tasks/get", id));
        pipe.message("the status", LIMIT, |message| message["id"] == 99)["result"]["status"].as_str().unwrap().to_owned()
    };
    wait::until("the cancel", LIMIT, || (status(&mut pipe, "my watch") == "cancelled").then_some(()));
    pipe.kill();
    let mut pipe = begin();
    wait::until("the end", LIMIT, || (status(&mut pipe, "my render") == "completed").then_some(()));
    pipe.write(&about("tasks/result", "my render"));
    let result = pipe.message("the result", LIMIT, |message| message["id"] == 99);
    assert_eq!(
        (&result["result"]["content"][0]["text"], &result["result"]["_meta"]),
        (&json!("rendered"), &related("my render"))
    );
    assert!(pipe.leave().success());
}
