//! The stream of a call: what is told on it, what becomes of it when it breaks, and how a client without streams is served.

use serde_json::{Value, json};

use super::peer::{Peer, call};
use super::spec::related;
use crate::provider::{asks, counted, done, running};
use crate::rig::{Rig, SECOND, yes_or_no};

/// D4: progress for the token of the call, which only grows, between the word that the task exists and the response.
#[tokio::test]
async fn progress_is_told_for_the_token_of_the_call() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    rig.provider.plan("render", [counted(1.0, 4.0), counted(3.0, 4.0), done("rendered")]);
    let mut request = call(1, "render", json!({}), json!({ "taskId": "a" }));
    request["params"]["_meta"]["progressToken"] = "how far".into();
    let messages = peer.open(&request).await.rest().await;
    let methods: Vec<&str> = messages.iter().map(|message| message["method"].as_str().unwrap_or("response")).collect();
    let progress = "notifications/progress";
    assert_eq!(methods, ["notifications/tasks/created", progress, progress, "response"]);
    for (message, far) in messages[1..3].iter().zip([1.0, 3.0]) {
        assert_eq!(message["params"], json!({ "progressToken": "how far", "progress": far, "total": 4.0 }));
    }
}

/// H2: the task is durable before its stream says that it exists, and can be asked for at once.
#[tokio::test]
async fn the_task_is_there_when_its_stream_says_so() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let _stream = peer.start(1, "render", json!({ "taskId": "a" })).await;
    assert_eq!(peer.about("tasks/get", "a").await.unwrap()["taskId"], "a");
}

/// A1: a client that leaves cancels nothing; the result waits for it.
#[tokio::test]
async fn a_lost_stream_cancels_nothing() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    drop(peer.start(1, "render", json!({ "taskId": "a" })).await);
    rig.advance(60 * SECOND).await;
    assert!(!rig.provider.jobs()[0].cancelled);
    assert_eq!(peer.about("tasks/result", "a").await.unwrap()["content"][0]["text"], "rendered");
}

/// Streamable HTTP, "Resumability": the stream goes on behind the last event, with the response to the original request.
#[tokio::test]
async fn a_lost_stream_is_taken_up_again() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    rig.provider.plan("render", [running()]);
    let stream = peer.start(41, "render", json!({ "taskId": "a" })).await;
    let event = stream.last_event.clone().unwrap();
    drop(stream);
    rig.provider.plan("render", [running(), done("rendered")]);
    let mut again = peer.resume(&event).await;
    let response = again.response().await;
    assert_eq!((&response["id"], &response["result"]["_meta"]), (&json!(41), &related("a")));
    assert_eq!(response["result"]["content"][0]["text"], "rendered");
    assert_eq!(rig.provider.jobs().len(), 1);
}

/// A stream that broke while a question was open asks it again where it goes on.
#[tokio::test]
async fn a_question_is_asked_again_on_the_stream_that_goes_on() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.start(1, "release", json!({ "taskId": "a" })).await;
    let first = stream.next().await.unwrap();
    assert_eq!(first["method"], "elicitation/create");
    let event = stream.last_event.clone().unwrap();
    drop(stream);
    rig.settle().await;
    let mut again = peer.resume(&event).await;
    let second = again.next().await.unwrap();
    assert_eq!((&second["method"], &second["params"]), (&first["method"], &first["params"]));
    peer.answer(&second, json!({ "action": "accept", "content": { "ok": true } })).await;
    assert_eq!(again.response().await["result"]["content"][0]["text"], "released");
}

/// Where the call's stream is gone, its client is asked on the session's, in the words of this dialect: the question is what comes there
/// first, no news of other dialects.
#[tokio::test]
async fn without_the_calls_stream_questions_come_on_the_sessions() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut pushed = peer.listen().await;
    rig.provider.plan("release", [running(), running(), asks(&[("approve", yes_or_no())]), done("released")]);
    drop(peer.start(1, "release", json!({ "taskId": "a" })).await);
    rig.advance(10 * SECOND).await;
    assert_eq!(peer.status("a").await, "input_required");
    let question = pushed.next().await.unwrap();
    assert_eq!((&question["method"], &question["params"]["_meta"]), (&json!("elicitation/create"), &related("a")));
    peer.answer(&question, json!({ "action": "accept", "content": { "ok": true } })).await;
    rig.advance(10 * SECOND).await;
    assert_eq!(peer.status("a").await, "completed");
}

/// A client that takes JSON alone waits for the response.
#[tokio::test]
async fn a_client_without_streams_waits_for_the_response_alone() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let answer = peer.send_for_json(&call(1, "render", json!({}), json!({ "taskId": "a" }))).await;
    assert_eq!((&answer["result"]["content"][0]["text"], &answer["result"]["_meta"]), (&json!("rendered"), &related("a")));
    assert_eq!(peer.about("tasks/result", "a").await.unwrap(), answer["result"]);
}

/// D2: a task that could not be brought to an end is answered by the error that a plain call would have had.
#[tokio::test]
async fn a_fault_is_the_response() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.start(1, "stuck", json!({ "taskId": "a" })).await;
    let error = stream.response().await["error"].clone();
    assert_eq!(error["code"], -32603);
    assert_eq!(error["message"], peer.about("tasks/get", "a").await.unwrap()["error"]);
}

/// A question before the job is asked on the call's stream; there is no task yet, so it names none.
#[tokio::test]
async fn a_question_before_the_job_comes_before_the_task() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let message = call(1, "remove", json!({ "path": "/x" }), json!({ "taskId": "a" }));
    let mut stream = peer.open(&message).await;
    let question = stream.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    assert!(question["params"].get("_meta").is_none(), "{question}");
    assert!(peer.about("tasks/get", "a").await.is_err());
    peer.answer(&question, json!({ "action": "accept", "content": { "ok": true } })).await;
    assert_eq!(stream.next().await.unwrap()["method"], "notifications/tasks/created");
    assert_eq!(stream.response().await["result"]["_meta"], related("a"));
    let taken: Value = peer.send(&message).await;
    assert_eq!(taken["error"]["code"], -32602, "nobody is asked for an id that is in use");
}

/// A no leaves no task, and the id can be used again.
#[tokio::test]
async fn a_question_that_is_answered_with_no_leaves_no_task() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.open(&call(1, "remove", json!({ "path": "/x" }), json!({ "taskId": "a" }))).await;
    let question = stream.next().await.unwrap();
    peer.answer(&question, json!({ "action": "decline" })).await;
    let response = stream.response().await;
    assert_eq!(response["result"]["isError"], true);
    assert!(response["result"].get("_meta").is_none(), "{response}");
    assert!(peer.about("tasks/get", "a").await.is_err() && rig.provider.jobs().is_empty());
}

/// B5 of the front end: where nobody can be asked on a stream, the task waits and says so; any dialect may answer.
#[tokio::test]
async fn a_question_to_a_client_that_cannot_be_asked_waits() {
    let rig = Rig::new().await;
    let peer = Peer::without_session(&rig, crate::client::me());
    let mut stream = peer.start(1, "release", json!({ "taskId": "a" })).await;
    rig.advance(5 * SECOND).await;
    assert_eq!(peer.status("a").await, "input_required");
    let answer = json!({ "approve": { "action": "accept", "content": { "ok": true } } });
    rig.send(crate::client::update("a", answer)).await.result();
    assert_eq!(stream.rest().await.len(), 1, "the response, and no question");
}
