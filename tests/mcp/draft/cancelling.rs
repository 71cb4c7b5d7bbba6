//! `notifications/cancelled`, the only way to cancel here (F2): by the id of the request that made the task.

use serde_json::{Value, json};

use super::peer::{Peer, call, cancelled};
use crate::client::{me, you};
use crate::provider::{done, running};
use crate::rig::{Rig, SECOND};

async fn at_work(rig: &Rig, peer: &Peer<'_>) {
    rig.provider.plan("render", [running()]);
    peer.start(1, "render", json!({ "taskId": "a" })).await;
    rig.advance(2 * SECOND).await;
    assert_eq!(peer.status("a").await, "working");
}

/// The task is cancelled before the notification is acknowledged, and stays so whatever the job does; the job is told.
#[tokio::test]
async fn the_task_is_cancelled_at_once_and_stays_so() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    at_work(&rig, &peer).await;
    peer.notify(&cancelled(1)).await;
    assert_eq!(peer.status("a").await, "cancelled");
    rig.provider.plan("render", [done("too late")]);
    rig.advance(60 * SECOND).await;
    assert_eq!(peer.status("a").await, "cancelled");
    assert!(rig.provider.jobs()[0].cancelled);
}

/// MCP, "Cancellation": the sender does not wait for a response any more; the stream ends.
#[tokio::test]
async fn the_stream_of_a_cancelled_call_ends() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.start(1, "stuck", json!({ "taskId": "a" })).await;
    peer.notify(&cancelled(1)).await;
    assert_eq!(stream.rest().await, Vec::<Value>::new());
    assert_eq!(peer.status("a").await, "cancelled");
}

/// A call that is cancelled while a person is asked before its job starts none, and leaves no task.
#[tokio::test]
async fn a_call_that_waits_for_its_question_is_given_up() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.open(&call(1, "remove", json!({ "path": "/x" }), json!({ "taskId": "a" }))).await;
    let question = stream.next().await.unwrap();
    peer.notify(&cancelled(1)).await;
    assert_eq!(stream.rest().await, Vec::<Value>::new());
    peer.answer(&question, json!({ "action": "accept", "content": { "ok": true } })).await;
    rig.advance(10 * SECOND).await;
    assert!(rig.provider.jobs().is_empty() && peer.about("tasks/get", "a").await.is_err());
}

/// F2: a task that has ended stays as it ended.
#[tokio::test]
async fn a_task_that_has_ended_is_left_alone() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    peer.start(1, "build", json!({ "taskId": "a" })).await.response().await;
    let before = peer.about("tasks/result", "a").await.unwrap();
    peer.notify(&cancelled(1)).await;
    assert_eq!(peer.about("tasks/result", "a").await.unwrap(), before);
    assert!(!rig.provider.jobs()[0].cancelled);
}

/// What names no task of the caller's is ignored: other ids, an id of the other type, no id, another principal, another session.
#[tokio::test]
async fn what_names_no_such_call_is_ignored() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    at_work(&rig, &peer).await;
    for request in [json!("1"), json!(2), json!("a"), json!(null), json!({ "id": 1 }), json!(-1)] {
        peer.notify(&cancelled(request)).await;
    }
    peer.notify(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" })).await;
    for other in [Peer::of(&rig, you(), "2025-06-18").await, Peer::new(&rig).await, Peer::without_session(&rig, me())] {
        other.notify(&cancelled(1)).await;
    }
    assert_eq!(peer.status("a").await, "working");
    peer.notify(&cancelled(1)).await;
    assert_eq!(peer.status("a").await, "cancelled");
}

/// `1` and `"1"` are two requests.
#[tokio::test]
async fn ids_of_two_types_are_two_ids() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    rig.provider.plan("render", [running()]);
    peer.start(1, "render", json!({ "taskId": "number" })).await;
    let mut text = call(1, "render", json!({}), json!({ "taskId": "text" }));
    text["id"] = "1".into();
    drop(peer.open(&text).await);
    rig.advance(2 * SECOND).await;
    peer.notify(&cancelled("1")).await;
    assert_eq!((peer.status("number").await.as_str(), peer.status("text").await.as_str()), ("working", "cancelled"));
}

/// A client that never said `initialize` is served, too.
#[tokio::test]
async fn a_client_without_a_session_cancels() {
    let rig = Rig::new().await;
    let peer = Peer::without_session(&rig, me());
    at_work(&rig, &peer).await;
    peer.notify(&cancelled(1)).await;
    assert_eq!(peer.status("a").await, "cancelled");
}

/// Decision 8: clients of other dialects send the same when they tire of waiting; their jobs go on.
#[tokio::test]
async fn calls_of_other_dialects_are_not_cancelled_by_it() {
    let rig = Rig::new().await;
    let peer = Peer::of(&rig, me(), "2025-11-25").await;
    rig.provider.plan("render", [running()]);
    let call = |id: u64, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    let made = peer.raw(&call(1, json!({ "name": "render", "arguments": {}, "task": {} }))).await;
    let id = made["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    rig.advance(2 * SECOND).await;
    peer.notify(&cancelled(1)).await;
    rig.advance(60 * SECOND).await;
    assert_eq!(rig.task(&id).await["status"], "working");
    assert!(!rig.provider.jobs()[0].cancelled);
}
