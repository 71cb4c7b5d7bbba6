//! `subscriptions/listen`: what is granted, what is sent, and how a stream ends.

use jobgate::mcp::Streams;
use serde_json::{Value, json};

use crate::client::{Ask, TASKS, ask, you};
use crate::rig::{Rig, SECOND};

fn listen(notifications: Value) -> Ask {
    ask("subscriptions/listen", json!({ "notifications": notifications }))
}

/// Tasks extension, "Task Status Notifications": the acknowledgement first, then whole tasks, each with the subscription's id.
#[tokio::test]
async fn a_subscription_says_what_it_grants_and_then_sends_whole_tasks() {
    let rig = Rig::new().await;
    let id = rig.start("build", json!({})).await;
    let request = listen(json!({ "taskIds": [id, id] }));
    let mut stream = rig.open(&request).await;
    let first = rig.notified(&rig.drive(stream.recv()).await.unwrap());
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], json!({ "taskIds": [id] }));
    let mut states = Vec::new();
    while states.last() != Some(&json!("completed")) {
        let note = rig.notified(&rig.drive(stream.recv()).await.unwrap());
        assert_eq!(note["method"], "notifications/tasks");
        assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], request.id);
        assert_eq!(note["params"]["taskId"], id);
        let mut pushed = note["params"].clone();
        states.push(pushed["status"].clone());
        if states.last() == Some(&json!("completed")) {
            // Identical to what `tasks/get` gives, but for what is around it.
            let mut got = rig.task(&id).await;
            for (task, around) in [(&mut pushed, "_meta"), (&mut got, "_meta")] {
                task.as_object_mut().unwrap().remove(around);
            }
            got.as_object_mut().unwrap().remove("resultType");
            assert_eq!(pushed, got);
        }
    }
    assert_eq!(states[0], "working", "the present state comes first");
}

#[tokio::test]
async fn a_task_that_has_ended_is_sent_at_once() {
    let rig = Rig::new().await;
    let id = rig.start("render", json!({})).await;
    rig.advance(10 * SECOND).await;
    let mut stream = rig.open(&listen(json!({ "taskIds": [id] }))).await;
    rig.drive(stream.recv()).await.unwrap();
    let note = rig.notified(&rig.drive(stream.recv()).await.unwrap());
    assert_eq!(note["params"]["result"]["content"][0]["text"], "rendered");
}

/// Requirement I1: unknown and foreign ids are left out of the acknowledgement, and nothing is said of them.
#[tokio::test]
async fn what_is_not_the_callers_is_left_out() {
    let rig = Rig::new().await;
    let mine = rig.start("render", json!({})).await;
    let unknown = format!("task_{}", "0".repeat(32));
    let mut stream = rig.open(&listen(json!({ "taskIds": [mine, unknown, "made-up"] })).by(you())).await;
    let first = rig.notified(&rig.drive(stream.recv()).await.unwrap());
    assert_eq!(first["params"]["notifications"], json!({ "taskIds": [] }));
    rig.advance(10 * SECOND).await;
    assert!(stream.try_recv().is_err(), "nothing more is sent");
}

/// A client must not be sent what it did not ask for, nor told of kinds that are not served.
#[tokio::test]
async fn kinds_that_are_not_served_are_not_granted() {
    let rig = Rig::new().await;
    for wanted in [
        json!({}),
        json!({ "toolsListChanged": true }),
        json!({ "promptsListChanged": true, "resourceSubscriptions": ["file:///x"], "com.example/other": 5 }),
    ] {
        let mut stream = rig.open(&listen(wanted).capabilities(json!({}))).await;
        let first = rig.notified(&rig.drive(stream.recv()).await.unwrap());
        assert_eq!(first["params"]["notifications"], json!({}));
    }
}

/// Tasks extension: -32021 for task ids of a client without the extension, on one answer rather than a stream.
#[tokio::test]
async fn without_the_extension_no_tasks_are_watched() {
    let rig = Rig::new().await;
    let answer = rig.send(listen(json!({ "taskIds": [] })).without_tasks()).await;
    assert_eq!(answer.error(), (-32021, 400));
    assert_eq!(answer.message["error"]["data"], json!({ "requiredCapabilities": { "extensions": { TASKS: {} } } }));
}

#[tokio::test]
async fn a_subscription_that_is_none_is_refused() {
    let rig = Rig::new().await;
    assert_eq!(rig.send(ask("subscriptions/listen", json!({}))).await.error(), (-32602, 200));
    assert_eq!(rig.send(listen(json!({ "taskIds": "x" }))).await.error(), (-32602, 200));
    assert_eq!(rig.send(listen(json!({ "taskIds": vec!["x"; 1001] }))).await.error(), (-32602, 200));
    let mut request = listen(json!({ "taskIds": [] }));
    request.streams = Streams::Refused;
    assert_eq!(rig.send(request).await.error(), (-32600, 406));
    let mut request = listen(json!({ "taskIds": [] }));
    request.streams = Streams::Possible;
    rig.open(&request).await;
}

/// MCP, "Subscriptions": a graceful end is a result that carries the subscription's id.
#[tokio::test]
async fn a_shutdown_ends_a_subscription_with_its_result() {
    let rig = Rig::new().await;
    let id = rig.start("stuck", json!({})).await;
    let request = listen(json!({ "taskIds": [id] }));
    let mut stream = rig.open(&request).await;
    rig.drive(stream.recv()).await.unwrap();
    rig.drive(stream.recv()).await.unwrap();
    let engine = rig.engine.clone();
    rig.drive(async move { engine.shutdown().await }).await;
    let mut last = None;
    while let Some(message) = rig.drive(stream.recv()).await {
        last = Some(message);
    }
    let answer = rig.checked(&request, 200, &last.unwrap().bytes);
    assert_eq!(answer.result()["_meta"]["io.modelcontextprotocol/subscriptionId"], request.id);
}

/// A stream that nobody reads any more costs nothing.
#[tokio::test]
async fn a_subscriber_that_leaves_is_forgotten() {
    let rig = Rig::new().await;
    let id = rig.start("stuck", json!({})).await;
    let request = listen(json!({ "taskIds": [id] }));
    let mut stream = rig.open(&request).await;
    rig.drive(stream.recv()).await.unwrap();
    drop(stream);
    let cancelled = listen(json!({ "taskIds": [id] }));
    let mut stream = rig.open(&cancelled).await;
    rig.drive(stream.recv()).await.unwrap();
    rig.drive(stream.recv()).await.unwrap();
    cancelled.cancel.cancel();
    assert!(rig.drive(stream.recv()).await.is_none(), "a cancelled request is sent nothing more");
    rig.settle().await;
    assert!(format!("{:?}", rig.supervisor).contains("running"), "the supervisor can be asked");
}
