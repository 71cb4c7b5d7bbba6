//! What went wrong elsewhere and has no better place: `tests/traps.rs` says which test stands for which report.

use serde_json::json;

use crate::client::{ask, call};
use crate::provider::{counted, running};
use crate::rig::{Rig, SECOND};

/// Field report 15: a cancel that is refused cancels nothing; nor does one that headers and body tell differently.
#[tokio::test]
async fn a_cancel_that_is_refused_cancels_nothing() {
    let rig = Rig::new().await;
    let id = rig.start("stuck", json!({})).await;
    let cancel = || ask("tasks/cancel", json!({ "taskId": id }));
    assert_eq!(rig.send(cancel().without_tasks()).await.error(), (-32021, 400));
    let mut smuggled = cancel();
    smuggled.headers.as_mut().unwrap().name = crate::client::one("task_00000000000000000000000000000000");
    assert_eq!(rig.send(smuggled).await.error(), (-32020, 400));
    rig.advance(5 * SECOND).await;
    assert_eq!(rig.task(&id).await["status"], "working");
    assert!(rig.provider.jobs().iter().all(|job| !job.cancelled), "the job was not told either");
}

/// Field report 5: a cancel reaches the job itself, and the task says how that went.
#[tokio::test]
async fn a_cancel_is_told_to_the_job() {
    let rig = Rig::new().await;
    let id = rig.start("stuck", json!({})).await;
    rig.advance(2 * SECOND).await;
    rig.send(ask("tasks/cancel", json!({ "taskId": id }))).await.result();
    assert!(rig.provider.jobs()[0].cancelled, "the provider was told");
    rig.advance(5 * SECOND).await;
    let task = rig.task(&id).await;
    assert_eq!(task["status"], "cancelled");
    assert!(task["statusMessage"].as_str().unwrap().contains("cancelled"), "{task}");
}

/// Dialect trap: a stream of tasks carries tasks; what a call asked to be told of its progress goes to the call's own stream.
#[tokio::test]
async fn a_stream_of_tasks_carries_no_progress() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [counted(1.0, 9.0), counted(5.0, 9.0), running()]);
    let id = rig.send(call("render", json!({})).meta("progressToken", "p")).await.task_id();
    let mut stream = rig.open(&ask("subscriptions/listen", json!({ "notifications": { "taskIds": [id] } }))).await;
    rig.advance(20 * SECOND).await;
    let mut methods = Vec::new();
    while let Ok(message) = stream.try_recv() {
        methods.push(rig.notified(&message)["method"].as_str().unwrap().to_owned());
    }
    assert_eq!(methods.remove(0), "notifications/subscriptions/acknowledged");
    assert!(methods.len() > 1 && methods.iter().all(|method| method == "notifications/tasks"), "{methods:?}");
}

/// Dialect trap: times are milliseconds, and `ttlMs` is always there.
#[tokio::test]
async fn times_are_milliseconds_and_always_there() {
    let rig = Rig::new().await;
    let created = rig.send(call("render", json!({}))).await.result().clone();
    let got = rig.task(created["taskId"].as_str().unwrap()).await;
    for task in [created, got] {
        assert_eq!((&task["ttlMs"], &task["pollIntervalMs"]), (&json!(86_400_000), &json!(1000)), "a day, and a second: {task}");
    }
}
