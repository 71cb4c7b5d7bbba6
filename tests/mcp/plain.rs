//! Calls that are answered in place: plain tools, and tasks on behalf of clients that hold none.

use jobgate::mcp::{Reply, Streams};
use serde_json::{Value, json};

use crate::client::{call, you};
use crate::rig::{Rig, SECOND};

/// Requirement A4: a fast tool stays a plain call.
#[tokio::test]
async fn a_plain_tool_gives_its_result_and_no_task() {
    let rig = Rig::new().await;
    let answer = rig.send(call("greet", json!({ "name": "Ann" }))).await;
    assert_eq!(answer.text(), ("Hello!", false));
    assert!(answer.result().get("taskId").is_none());
}

/// MCP, "Progress": with a token, on the call's own stream, growing only; the response is last.
#[tokio::test]
async fn progress_goes_to_the_calls_own_stream() {
    let rig = Rig::new().await;
    for token in [json!("p-1"), json!(7)] {
        let (seen, answer) = rig.stream(call("count", json!({})).meta("progressToken", token.clone())).await;
        assert_eq!(answer.text(), ("counted", false));
        let numbers: Vec<f64> = seen.iter().map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
        assert_eq!(numbers, [0.0, 50.0, 100.0]);
        assert!(seen.iter().all(|note| note["params"]["progressToken"] == token && note["params"]["total"] == 100.0));
    }
    assert_eq!(rig.send(call("count", json!({})).meta("progressToken", json!({}))).await.error(), (-32602, 200));
}

#[tokio::test]
async fn without_a_token_or_a_stream_there_is_one_answer() {
    let rig = Rig::new().await;
    assert_eq!(rig.send(call("count", json!({}))).await.text(), ("counted", false));
    let mut request = call("count", json!({})).meta("progressToken", "p");
    request.streams = Streams::Possible;
    assert_eq!(rig.send(request).await.text(), ("counted", false));
}

/// Requirement A5: a client without tasks gets the result of the task, with progress if it asked.
#[tokio::test]
async fn a_client_without_tasks_waits_for_the_result() {
    let rig = Rig::new().await;
    assert_eq!(rig.send(call("render", json!({})).without_tasks()).await.text(), ("rendered", false));
    let request = call("render", json!({})).capabilities(json!({})).meta("progressToken", "p");
    let (_, answer) = rig.stream(request).await;
    assert_eq!(answer.text(), ("rendered", false));
    let (text, is_error) = {
        rig.provider.plan("render", [crate::provider::failed("no disk")]);
        let answer = rig.send(call("render", json!({})).without_tasks()).await;
        let (text, is_error) = answer.text();
        (text.to_owned(), is_error)
    };
    assert_eq!((text.as_str(), is_error), ("no disk", true));
}

/// Requirement A5: when the wait is over the client is asked to call again, and goes on waiting for the same job.
#[tokio::test]
async fn a_long_job_is_waited_for_call_by_call() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [crate::provider::running()]);
    let first = rig.send(call("render", json!({ "seconds": 1 })).without_tasks()).await;
    assert_eq!(first.result()["resultType"], "input_required");
    assert!(first.result().get("inputRequests").is_none(), "nothing is asked, the call is only to be repeated");
    let state = first.result()["requestState"].as_str().unwrap().to_owned();
    let repeat = || call("render", json!({ "seconds": 1 })).without_tasks().with("requestState", state.as_str());
    let second = rig.send(repeat()).await;
    assert_eq!(second.result()["resultType"], "input_required");
    assert_eq!(rig.send(repeat().by(you())).await.error(), (-32602, 200), "the state is the caller's own");
    assert_eq!(rig.send(repeat().with("arguments", json!({ "seconds": 2 }))).await.error(), (-32602, 200));
    rig.provider.plan("render", [crate::provider::done("rendered")]);
    assert_eq!(rig.send(repeat()).await.text(), ("rendered", false));
    assert_eq!(rig.provider.jobs().len(), 1);
}

/// A job that asks a person asks the waiting client, and its answer reaches the job.
#[tokio::test]
async fn a_question_of_the_job_reaches_a_client_without_tasks() {
    let rig = Rig::new().await;
    let asked = rig.send(call("release", json!({})).without_tasks()).await;
    assert_eq!(asked.result()["resultType"], "input_required");
    assert_eq!(asked.result()["inputRequests"]["approve"]["method"], "elicitation/create");
    let repeat = |answer: Value| {
        call("release", json!({}))
            .without_tasks()
            .with("requestState", asked.result()["requestState"].clone())
            .with("inputResponses", json!({ "approve": answer }))
    };
    assert_eq!(rig.send(repeat(json!({ "action": "accept" }))).await.error(), (-32602, 200), "the question stays open");
    let answer = rig.send(repeat(json!({ "action": "accept", "content": { "ok": true } }))).await;
    assert_eq!(answer.text(), ("released", false));
    assert_eq!(rig.provider.jobs().len(), 1);
    assert_eq!(rig.provider.jobs()[0].answers["approve"].content, Some(json!({ "ok": true })));
}

/// A client that shows no forms is not asked (MCP 2026-07-28, "Multi Round-Trip Requests", server requirement 7).
#[tokio::test]
async fn a_client_without_forms_is_told_that_the_job_asks() {
    let rig = Rig::new().await;
    let answer = rig.send(call("release", json!({})).capabilities(json!({}))).await;
    assert_eq!(answer.error(), (-32021, 400));
    assert_eq!(answer.message["error"]["data"], json!({ "requiredCapabilities": { "elicitation": {} } }));
}

#[tokio::test]
async fn a_task_that_fails_is_an_error_to_a_plain_call() {
    let rig = Rig::new().await;
    let mut answer = rig.send(call("stuck", json!({})).without_tasks()).await;
    for _ in 0..5 {
        let Some(state) = answer.message["result"]["requestState"].as_str().map(str::to_owned) else { break };
        answer = rig.send(call("stuck", json!({})).without_tasks().with("requestState", state)).await;
    }
    assert_eq!(answer.error(), (-32603, 200));
    assert_eq!(answer.message["error"]["data"]["category"], "deadline");
}

/// Decided once: a cut connection is not a cancel; the job goes on.
#[tokio::test]
async fn a_client_that_leaves_cancels_nothing_that_is_durable() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [crate::provider::running()]);
    let request = call("render", json!({})).without_tasks();
    request.cancel.cancel();
    assert!(matches!(rig.reply(&request).await, Reply::Accepted), "nothing is sent for it any more");
    let request = call("render", json!({})).without_tasks().meta("progressToken", "p");
    drop(rig.open(&request).await);
    rig.advance(60 * SECOND).await;
    assert_eq!(rig.provider.jobs().len(), 2);
    assert!(rig.provider.jobs().iter().all(|job| !job.cancelled));
}
