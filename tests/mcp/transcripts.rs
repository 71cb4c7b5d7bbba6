//! One conversation a dialect, as it goes over the wire: documentation that is held against the gateway in every run.
//!
//! `INSTA_UPDATE=always cargo nextest run --test mcp transcripts` writes them anew; the difference is then read like code.

use serde_json::{Value, json};

use crate::rig::{Rig, SECOND};
use crate::scribe::Scribe;

/// Holds a page against the one that is kept in `docs/transcripts/`.
fn keep(name: &str, page: &str) {
    insta::with_settings!({
        snapshot_path => "../../docs/transcripts",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, page) });
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments })
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

fn task_of(answer: &Value) -> String {
    let result = &answer["result"];
    let id = result["taskId"].as_str().or_else(|| result["task"]["taskId"].as_str());
    id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

#[tokio::test]
async fn extension() {
    let rig = Rig::new().await;
    let mut scribe = Scribe::new(&rig, "2026-07-28 with the extension io.modelcontextprotocol/tasks").modern();
    scribe.say("A call becomes a task, because the request declares the extension and the tool's job takes time.");
    let id = task_of(&scribe.ask("tools/call", call("render", json!({ "seconds": 4 }))).await);
    scribe.say("The task is looked at as often as it says. Its end brings the result, as the plain call would have had it.");
    scribe.ask("tasks/get", json!({ "taskId": id })).await;
    scribe.wait(10 * SECOND).await;
    scribe.ask("tasks/get", json!({ "taskId": id })).await;
    scribe.say("A job that asks somebody. A stream tells what happens to the task.");
    let id = task_of(&scribe.ask("tools/call", call("release", json!({}))).await);
    let mut stream = scribe.open("subscriptions/listen", json!({ "notifications": { "taskIds": [id] } })).await;
    scribe.wait(2 * SECOND).await;
    scribe.hear(&mut stream).await;
    scribe.say("The answer is acknowledged; the job goes on.");
    scribe.ask("tasks/update", json!({ "taskId": id, "inputResponses": { "approve": yes() } })).await;
    scribe.wait(5 * SECOND).await;
    scribe.hear(&mut stream).await;
    scribe.say("A cancel is a wish: the task settles when the job does.");
    let id = task_of(&scribe.ask("tools/call", call("stuck", json!({}))).await);
    scribe.ask("tasks/cancel", json!({ "taskId": id })).await;
    scribe.ask("tasks/get", json!({ "taskId": id })).await;
    scribe.say("A job that ran and failed is a completed task whose result says so.");
    let id = task_of(&scribe.ask("tools/call", call("build", json!({}))).await);
    scribe.wait(10 * SECOND).await;
    scribe.ask("tasks/get", json!({ "taskId": id })).await;
    scribe.say("A question before the job needs no task: the call is repeated with the answer.");
    let asked = scribe.ask("tools/call", call("remove", json!({ "path": "a.txt" }))).await;
    let state = asked["result"]["requestState"].clone();
    let again = json!({ "name": "remove", "arguments": { "path": "a.txt" }, "requestState": state, "inputResponses": { "really": yes() } });
    scribe.ask("tools/call", again).await;
    scribe.say(
        "Errors: a task that is not there or not the caller's; a method of another version; a client that declares nothing.",
    );
    scribe.ask("tasks/get", json!({ "taskId": "task_00000000000000000000000000000000" })).await;
    scribe.ask("tasks/result", json!({ "taskId": id })).await;
    let nothing = json!({ "io.modelcontextprotocol/clientCapabilities": {} });
    scribe.ask("tasks/get", json!({ "taskId": id, "_meta": nothing })).await;
    keep("extension", &scribe.page());
}

#[tokio::test]
async fn core() {
    let rig = Rig::new().await;
    let mut scribe = Scribe::new(&rig, "2025-11-25: tasks in the core of the protocol");
    scribe.say("A session begins. What was agreed on is sealed into its id; the gateway remembers nothing.");
    scribe.initialize("2025-11-25", json!({ "elicitation": { "form": {} }, "tasks": {} })).await;
    scribe.say("A call with `task` becomes one.");
    let wish = json!({ "name": "render", "arguments": { "seconds": 4 }, "task": { "ttl": 600_000 } });
    let id = task_of(&scribe.ask("tools/call", wish).await);
    scribe.ask("tasks/get", json!({ "taskId": id })).await;
    scribe.say("`tasks/result` blocks until the end, then answers as the plain call would have.");
    scribe.ask("tasks/result", json!({ "taskId": id })).await;
    scribe.say("A job that asks somebody: the question comes on the stream of `tasks/result`.");
    let id = task_of(&scribe.ask("tools/call", json!({ "name": "release", "arguments": {}, "task": {} })).await);
    let mut stream = scribe.open("tasks/result", json!({ "taskId": id })).await;
    scribe.wait(2 * SECOND).await;
    let asked = scribe.hear(&mut stream).await;
    scribe.answer(&asked, yes()).await;
    scribe.say("The stream breaks. It goes on behind its last event, in whatever process.");
    let event = stream.event.clone().unwrap();
    drop(stream);
    let mut stream = scribe.get(Some(&event)).await;
    scribe.wait(10 * SECOND).await;
    scribe.hear(&mut stream).await;
    scribe.say("The session's own stream tells of its tasks.");
    let mut stream = scribe.get(None).await;
    let id = task_of(&scribe.ask("tools/call", json!({ "name": "stuck", "arguments": {}, "task": {} })).await);
    scribe.ask("tasks/get", json!({ "taskId": id })).await;
    scribe.hear(&mut stream).await;
    scribe.say("A cancel settles the task before its reply, whatever the job does.");
    scribe.ask("tasks/cancel", json!({ "taskId": id })).await;
    scribe.hear(&mut stream).await;
    scribe.ask("tasks/cancel", json!({ "taskId": id })).await;
    scribe.say("A job that ran and failed is a failed task here; its result says how.");
    let id = task_of(&scribe.ask("tools/call", json!({ "name": "build", "arguments": {}, "task": {} })).await);
    scribe.wait(10 * SECOND).await;
    scribe.ask("tasks/get", json!({ "taskId": id })).await;
    scribe.ask("tasks/result", json!({ "taskId": id })).await;
    scribe.say("The caller's own tasks.");
    scribe.ask("tasks/list", json!({})).await;
    scribe.say("Errors: a task that is not there, a cursor that was not given out, a tool that makes no tasks.");
    scribe.ask("tasks/get", json!({ "taskId": "task_00000000000000000000000000000000" })).await;
    scribe.ask("tasks/list", json!({ "cursor": "x" })).await;
    scribe.ask("tools/call", json!({ "name": "greet", "arguments": { "name": "Ann" }, "task": {} })).await;
    scribe.say("The session ends; its tasks do not.");
    scribe.end().await;
    scribe.ask("ping", Value::Null).await;
    keep("core", &scribe.page());
}

#[tokio::test]
async fn draft() {
    const ID: &str = "c0ffee00-0000-4000-8000-000000000001";
    let rig = Rig::new().await;
    let related = |id: &str| json!({ "taskId": id, "_meta": { "modelcontextprotocol.io/related-task": { "taskId": id } } });
    let wish = |tool: &str, id: &str| json!({ "name": tool, "arguments": {}, "_meta": { "modelcontextprotocol.io/task": { "taskId": id, "keepAlive": 60_000 } } });
    let mut scribe = Scribe::new(&rig, "The client-id draft of tasks (SEP-1686 as first proposed)");
    scribe.say("Any session will do.");
    scribe.initialize("2025-06-18", json!({ "elicitation": {} })).await;
    scribe.say("The client chooses the id. The call's own stream says that the task exists.");
    let mut stream = scribe.open("tools/call", wish("render", ID)).await;
    scribe.ask("tasks/get", related(ID)).await;
    scribe.say("The result of a task that has not ended is an error.");
    scribe.ask("tasks/result", related(ID)).await;
    scribe.say("The call itself is answered at the end, too.");
    scribe.wait(10 * SECOND).await;
    scribe.hear(&mut stream).await;
    scribe.ask("tasks/result", related(ID)).await;
    scribe.say("A job that asks somebody: on the call's stream.");
    let mut stream = scribe.open("tools/call", wish("release", "release-7")).await;
    scribe.wait(2 * SECOND).await;
    let asked = scribe.hear(&mut stream).await;
    scribe.answer(&asked, yes()).await;
    scribe.wait(5 * SECOND).await;
    scribe.hear(&mut stream).await;
    scribe.say("A cancel names the original request.");
    let mut stream = scribe.open("tools/call", wish("stuck", "stuck-1")).await;
    let request = scribe.last_id();
    scribe.tell("notifications/cancelled", json!({ "requestId": request, "reason": "no longer needed" })).await;
    scribe.hear(&mut stream).await;
    scribe.ask("tasks/get", related("stuck-1")).await;
    scribe.say("The caller's tasks, and the end of one of them.");
    scribe.ask("tasks/list", json!({})).await;
    scribe.ask("tasks/delete", related(ID)).await;
    scribe.say("Errors: a task that is gone, an id that is in use, a cursor that was not given out, a running task deleted.");
    scribe.ask("tasks/get", related(ID)).await;
    scribe.ask("tools/call", wish("render", "release-7")).await;
    scribe.ask("tasks/list", json!({ "cursor": "x" })).await;
    let running = scribe.open("tools/call", wish("stuck", "stuck-2")).await;
    scribe.ask("tasks/delete", related("stuck-2")).await;
    drop(running);
    keep("draft", &scribe.page());
}

#[tokio::test]
async fn classic() {
    let rig = Rig::new().await;
    let with_progress = |tool: &str| json!({ "name": tool, "arguments": {}, "_meta": { "progressToken": "p" } });
    let mut scribe = Scribe::new(&rig, "2025-06-18: a client that knows no tasks");
    scribe.initialize("2025-06-18", json!({})).await;
    scribe.say("The call waits for the job, with a sign of life.");
    scribe.ask("tools/call", with_progress("count")).await;
    scribe.ask("tools/call", with_progress("render")).await;
    scribe.say("A job that takes longer than clients wait: a ticket, and tools that redeem it.");
    let answer = scribe.ask("tools/call", with_progress("film")).await;
    let ticket =
        answer["result"]["structuredContent"]["ticket"].as_str().unwrap_or_else(|| panic!("no ticket: {answer}")).to_owned();
    let redeem = |tool: &str| call(tool, json!({ "ticket": ticket }));
    scribe.ask("tools/call", redeem("job_result")).await;
    scribe.ask("tools/call", redeem("job_wait")).await;
    scribe.say("A job that ran and failed.");
    scribe.ask("tools/call", with_progress("build")).await;
    scribe.say("A job that is given up.");
    let answer = scribe.ask("tools/call", with_progress("film")).await;
    let ticket =
        answer["result"]["structuredContent"]["ticket"].as_str().unwrap_or_else(|| panic!("no ticket: {answer}")).to_owned();
    scribe.ask("tools/call", call("job_cancel", json!({ "ticket": ticket }))).await;
    scribe.say("Errors: a ticket that is none, a tool that is not there.");
    scribe.ask("tools/call", call("job_wait", json!({ "ticket": "task_00000000000000000000000000000000" }))).await;
    scribe.ask("tools/call", call("nothing", json!({}))).await;
    keep("classic", &scribe.page());
}
