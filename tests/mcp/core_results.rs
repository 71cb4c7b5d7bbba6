//! 2025-11-25: `tasks/result`, which blocks to the task's end, and what is told meanwhile.

use std::time::Duration;

use jobgate::mcp::Streams;
use serde_json::{Value, json};

use crate::provider::{counted, done};
use crate::rig::{Rig, SECOND};
use crate::session_client::{Session, about, task_call};

const CORE: &str = "2025-11-25";

async fn session(rig: &Rig) -> Session {
    rig.session(CORE, json!({})).await
}

/// D2: the answer comes when the task ends; a client that takes no stream waits for it just the same.
#[tokio::test]
async fn a_result_is_waited_for() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    for streams in [Streams::Wanted, Streams::Possible, Streams::Refused] {
        let id = rig.make(&session, task_call("render", json!({}))).await;
        let heard = rig.ask(&session, about("tasks/result", &id).streams(streams)).await;
        assert_eq!(heard.text(), ("rendered", false));
        assert_eq!(heard.result()["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
        assert_eq!(rig.look(&session, &id).await["status"], "completed");
    }
}

/// D2: however many wait, in whatever session, each gets the answer.
#[tokio::test]
async fn many_may_wait_for_one_task() {
    let rig = Rig::new().await;
    let (one, other) = (session(&rig).await, session(&rig).await);
    let id = rig.make(&one, task_call("render", json!({}))).await;
    let mut waiting = Vec::new();
    for number in 0..40 {
        let request = about("tasks/result", &id);
        let session = if number % 2 == 0 { &one } else { &other };
        waiting.push((rig.open_stream(session, &request).await, request));
    }
    for (open, request) in waiting {
        assert_eq!(rig.rest(&request, open).await.text(), ("rendered", false));
    }
}

/// D5: how far the cancel got at the provider moves on in the status message; the result is the same however often it is read.
#[tokio::test]
async fn the_result_of_a_cancelled_task_stays_as_it_is() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("stuck", json!({}))).await;
    let cancelled = rig.ask(&session, about("tasks/cancel", &id)).await;
    let first = rig.ask(&session, about("tasks/result", &id)).await;
    rig.advance(60 * SECOND).await;
    let told = |heard: &Value| heard["statusMessage"].clone();
    assert_ne!(told(cancelled.result()), told(&rig.look(&session, &id).await), "the provider has answered meanwhile");
    assert_eq!(rig.ask(&session, about("tasks/result", &id)).await.result(), first.result());
}

/// D2, F2: a cancel releases whoever waits.
#[tokio::test]
async fn a_cancel_releases_who_waits() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("stuck", json!({}))).await;
    let request = about("tasks/result", &id);
    let mut open = rig.open_stream(&session, &request).await;
    assert!(rig.so_far(&mut open).await.is_empty());
    rig.ask(&session, about("tasks/cancel", &id)).await;
    let heard = rig.rest(&request, open).await;
    assert!(heard.text().1, "{heard:?}");
    let told: Vec<&Value> = heard.before.iter().map(|note| &note["params"]["status"]).collect();
    assert_eq!(told, [&json!("cancelled")], "D4: the status is pushed on the very stream");
}

/// Cancellation: nobody waits for that answer any more, so none comes; the job goes on, and so does every other request.
#[tokio::test]
async fn a_cancelled_wait_cancels_no_job() {
    let rig = Rig::new().await;
    let (one, other) = (session(&rig).await, session(&rig).await);
    let id = rig.make(&one, task_call("stuck", json!({}))).await;
    let (given_up, kept) = (about("tasks/result", &id), about("tasks/result", &id));
    let mut ended = rig.open_stream(&one, &given_up).await;
    let mut open = rig.open_stream(&one, &kept).await;
    let cancelled = |id: &Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    assert_eq!(rig.post(&other, cancelled(&given_up.id)).await, (202, None));
    assert!(!rig.has_ended(&mut ended).await, "ids of one session mean nothing in another");
    assert_eq!(rig.post(&one, cancelled(&given_up.id)).await, (202, None));
    assert!(rig.so_far(&mut ended).await.is_empty());
    assert!(rig.has_ended(&mut ended).await);
    assert!(!rig.has_ended(&mut open).await);
    assert_eq!(rig.look(&one, &id).await["status"], "working");
    assert!(!rig.provider.jobs()[0].cancelled);
}

/// D4, tasks, "Task Progress Notifications": the token of the call that made the task stays good for the task's whole life. It is
/// remembered in memory, with the session.
#[tokio::test]
async fn progress_goes_to_the_token_of_the_original_call() {
    let rig = Rig::new().await;
    rig.provider
        .plan("render", [counted(0.0, 10.0), counted(4.0, 10.0), counted(4.0, 10.0), counted(9.0, 10.0), done("rendered")]);
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("render", json!({})).meta("progressToken", "original")).await;
    let heard = rig.ask(&session, about("tasks/result", &id).meta("progressToken", 7)).await;
    for token in [json!("original"), json!(7)] {
        let told = heard.before.iter().filter(|note| note["params"]["progressToken"] == token);
        let told: Vec<f64> = told.map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
        assert!(told.len() >= 2 && told.is_sorted_by(|a, b| a < b), "{token}: {told:?}");
        assert_eq!(told.last(), Some(&9.0));
    }
}

/// D4: a client whose patience ends where it hears nothing hears something, and the number still grows.
#[tokio::test]
async fn a_quiet_job_gives_signs_of_life() {
    let rig = Rig::new().await;
    rig.provider.plan("stuck", [counted(3.0, 10.0)]);
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("stuck", json!({}))).await;
    let heard = rig.ask(&session, about("tasks/result", &id).progress()).await;
    let told = heard.progress();
    assert!(told.len() >= 3 && told.is_sorted_by(|a, b| a < b), "{told:?}");
    assert!(told.iter().all(|number| (3.0..4.0).contains(number)), "{told:?}");
}

/// The same on the stream of the session, where no other one is open for the task.
#[tokio::test]
async fn progress_and_news_of_the_status_go_to_the_sessions_stream() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [counted(0.0, 10.0), counted(4.0, 10.0), done("rendered")]);
    let session = session(&rig).await;
    let mut open = rig.listen(&session, None).await;
    let id = rig.make(&session, task_call("render", json!({})).meta("progressToken", "original")).await;
    let mut told = Vec::new();
    while rig.look(&session, &id).await["status"] == "working" {
        rig.advance(SECOND).await;
        told.extend(rig.so_far(&mut open).await);
    }
    let progress = told.iter().filter(|note| note["method"] == "notifications/progress");
    let progress: Vec<f64> = progress.map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
    assert!(progress.contains(&4.0) && progress.is_sorted_by(|a, b| a < b), "{told:?}");
    let last = told.last().unwrap();
    assert_eq!((&last["method"], &last["params"]["status"]), (&json!("notifications/tasks/status"), &json!("completed")));
    assert_eq!((&last["params"]["taskId"], last["params"].get("_meta")), (&json!(id), None));
}

/// A message goes out on one stream: while `tasks/result` is open for a task, the session's stream says nothing of it.
#[tokio::test]
async fn news_go_out_once() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let mut pushed = rig.listen(&session, None).await;
    let id = rig.make(&session, task_call("render", json!({}))).await;
    rig.look(&session, &id).await;
    let heard = rig.ask(&session, about("tasks/result", &id)).await;
    assert!(heard.before.iter().any(|note| note["method"] == "notifications/tasks/status"), "{heard:?}");
    assert!(rig.so_far(&mut pushed).await.is_empty());
}

/// L4: a gateway that stops ends the stream without an answer; the client comes back by the id of the last event, and the next process
/// answers.
#[tokio::test]
async fn a_wait_goes_on_in_the_next_process() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("render", json!({}))).await;
    let request = about("tasks/result", &id);
    let mut open = rig.open_stream(&session, &request).await;
    rig.so_far(&mut open).await;
    rig.drive(rig.supervisor.shutdown(Duration::from_secs(1))).await;
    let told = rig.so_far(&mut open).await;
    assert!(told.iter().all(|message| message.get("id").is_none()), "no answer: {told:?}");
    assert!(rig.has_ended(&mut open).await);
    let rig = rig.restarted().await;
    let resumed = rig.listen(&session, Some(open.last())).await;
    assert_eq!(rig.rest(&request, resumed).await.text(), ("rendered", false));
}
