//! What is kept: over a restart, over the life of a task.

use serde_json::json;

use super::peer::{Peer, call, cancelled};
use super::spec::related;
use crate::provider::{done, running};
use crate::rig::{Rig, SECOND};

/// F2, C1: which request made which task is stored with the task; the gateway that started again knows it.
#[tokio::test]
async fn a_call_is_cancelled_after_a_restart() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [running()]);
    let peer = Peer::new(&rig).await;
    peer.start(7, "render", json!({ "taskId": "a" })).await;
    rig.advance(2 * SECOND).await;
    let known = peer.id();
    let rig = rig.restarted().await;
    let peer = Peer::known(&rig, known);
    assert_eq!(peer.status("a").await, "working");
    peer.notify(&cancelled(7)).await;
    assert_eq!(peer.status("a").await, "cancelled");
    rig.advance(10 * SECOND).await;
    assert!(rig.provider.jobs()[0].cancelled);
}

/// H5: an id is in use over a restart, too, and starts no second job.
#[tokio::test]
async fn an_id_is_in_use_after_a_restart() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let request = call(7, "render", json!({}), json!({ "taskId": "a" }));
    drop(peer.open(&request).await);
    let known = peer.id();
    let rig = rig.restarted().await;
    let peer = Peer::known(&rig, known);
    assert_eq!(peer.send(&request).await["error"]["code"], -32602);
    assert_eq!(rig.provider.jobs().len(), 1);
}

/// Streamable HTTP, "Resumability": a stream that the restart broke goes on, and gives the response to the original request.
#[tokio::test]
async fn a_stream_is_taken_up_again_after_a_restart() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [running()]);
    let peer = Peer::new(&rig).await;
    let stream = peer.start(7, "render", json!({ "taskId": "a" })).await;
    let event = stream.last_event.clone().unwrap();
    drop(stream);
    let known = peer.id();
    let rig = rig.restarted().await;
    rig.provider.plan("render", [done("rendered")]);
    let peer = Peer::known(&rig, known);
    let response = peer.resume(&event).await.response().await;
    assert_eq!((&response["id"], &response["result"]["_meta"]), (&json!(7), &related("a")));
    assert_eq!(response["result"]["content"][0]["text"], "rendered");
}

/// E3: the answer to a question that was asked before the restart finds its way after it.
#[tokio::test]
async fn an_answer_arrives_after_a_restart() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.start(7, "release", json!({ "taskId": "a" })).await;
    let question = stream.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    drop(stream);
    let known = peer.id();
    let rig = rig.restarted().await;
    let peer = Peer::known(&rig, known);
    peer.answer(&question, json!({ "action": "accept", "content": { "ok": true } })).await;
    rig.advance(10 * SECOND).await;
    assert_eq!(peer.about("tasks/result", "a").await.unwrap()["content"][0]["text"], "released");
}

/// H7: the span counts from the end: a long job does not use it up.
#[tokio::test]
async fn keep_alive_counts_from_the_end() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [running()]);
    let peer = Peer::new(&rig).await;
    const HOUR: u64 = 3600;
    peer.start(1, "render", json!({ "taskId": "a", "keepAlive": HOUR * 1000 })).await;
    rig.advance(5 * u32::try_from(HOUR).unwrap() * SECOND).await;
    assert_eq!(peer.status("a").await, "working", "a task that runs does not expire");
    assert_eq!(rig.task("a").await["ttlMs"], json!(null), "nor does it where lives count from the creation");
    rig.provider.plan("render", [done("rendered")]);
    rig.advance(3500 * SECOND).await;
    assert_eq!(peer.status("a").await, "completed", "it is kept for an hour from its end on");
    let life = rig.task("a").await["ttlMs"].as_u64().unwrap();
    assert!((6 * HOUR * 1000..6 * HOUR * 1000 + 60_000).contains(&life), "the job's five hours and the one after: {life}");
    rig.advance(200 * SECOND).await;
    assert!(peer.about("tasks/get", "a").await.is_err());
    assert!(peer.listed().await.is_empty());
    peer.start(2, "render", json!({ "taskId": "a" })).await;
    assert_eq!(peer.listed().await, ["a"], "an id whose task is gone can be used again");
}
