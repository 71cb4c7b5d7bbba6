//! Temporal: ids of our own, chains of runs, payloads in base64, a wish to cancel that becomes a termination.

use std::time::Duration;

use jobgate_adapter_api::{CallContext, CancelOutcome, CancelWish, ErrorKind, JobRef, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

const TOOL: &str = "workflow";

fn of(workflow_type: &str) -> Value {
    json!({ "workflow_type": workflow_type, "task_queue": "q", "input": { "month": "2026-07" } })
}

async fn workflows() -> HttpRig {
    rig("temporal")
        .await
        .case(Scenario::RunsToEnd, Case::new(TOOL, of("Report")).expecting("\"pages\":12"))
        .case(Scenario::Fails, Case::new(TOOL, of("Broken")).expecting("division by zero"))
        .case(Scenario::RunsLong, Case::new(TOOL, of("Long")))
        .case(Scenario::UnknownWord, Case::new(TOOL, of("Odd")).expecting("HIBERNATING"))
        .without(Scenario::WaitsForPerson, "a workflow that waits for a signal looks like any other that runs")
}

adapter_contract!(workflows().await);

async fn ended(workflow_type: &str) -> JobState {
    let played = Played::of("temporal").await;
    let job = played.start(TOOL, of(workflow_type)).await;
    played.end(TOOL, &job).await.state
}

async fn given(workflow_type: &str) -> Value {
    let JobState::Succeeded(output) = ended(workflow_type).await else { panic!("{workflow_type} ends well") };
    output.data.expect("there is data")
}

/// A2, A3, F3: what a workflow returns is JSON in base64, with numbers as they were; what is none stays as it is.
#[tokio::test]
async fn a_result_is_read_from_the_closing_event() {
    let data = given("Report").await;
    assert_eq!(data["result"], json!({ "pages": 12, "total": 9_007_199_254_740_993_u64 }));
    assert_eq!((&data["run_id"], &data["encoding"]), (&json!("run-1"), &json!("json/plain")));
    assert_eq!(given("Secret").await["encoding"], json!("binary/encrypted"));
    for nothing in ["Nothing", "Null"] {
        assert_eq!(given(nothing).await["result"], json!(null), "{nothing}");
    }
}

#[tokio::test]
async fn a_workflow_may_be_started_without_an_argument() {
    let played = Played::of("temporal").await;
    let job = played.start(TOOL, json!({ "workflow_type": "Bare", "task_queue": "q", "timeout": "60s" })).await;
    assert_eq!(job.id(), "Bare-6a6f6267617465000000000000000001");
    let sent: Value = played.rig().requests().await[0].body_json().unwrap();
    assert_eq!((sent.get("input"), &sent["workflowExecutionTimeout"]), (None, &json!("60s")));
}

#[tokio::test]
async fn a_run_tells_what_it_works_on() {
    let played = Played::of("temporal").await;
    let job = played.start(TOOL, of("Report")).await;
    let seen = played.look(TOOL, &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Queued, Some("No worker has taken it yet.")));
    let seen = played.look(TOOL, &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("Gather, Write")));
    let job = played.start(TOOL, of("Paused")).await;
    let seen = played.look(TOOL, &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("An operator has paused it.")));
}

#[tokio::test]
async fn a_failure_goes_down_to_its_causes() {
    let mut found = Vec::new();
    for workflow_type in ["Broken", "Refusing", "Slowpoke"] {
        let JobState::Failed(failure) = ended(workflow_type).await else { panic!("{workflow_type} fails") };
        found.push((failure.message, failure.code.unwrap_or_default()));
    }
    let wanted = [
        ("activity error: division by zero", "FAILED"),
        ("no such month", "InvalidMonth"),
        ("The workflow has run for longer than it may.", "TIMED_OUT"),
    ];
    assert_eq!(found, wanted.map(|(message, code)| (message.to_owned(), code.to_owned())));
}

/// E7: a chain is followed to its newest run; a workflow that somebody else started under the id is another.
#[tokio::test]
async fn a_chain_of_runs_is_one_job() {
    let data = given("Chain").await;
    assert_eq!((&data["run_id"], &data["result"]), (&json!("run-2"), &json!("all")));
    assert_eq!(ended("Anew").await, JobState::Gone);
}

/// D1, D2: one key, one execution, running or ended.
#[tokio::test]
async fn an_execution_that_has_ended_is_ours() {
    assert_eq!(given("Closed").await["result"], json!(3));
}

/// G2: a wish first; then a termination, of this chain alone.
#[tokio::test]
async fn a_wish_to_cancel_becomes_a_termination() {
    let played = Played::of("temporal").await;
    let job = played.start(TOOL, of("Stubborn")).await;
    let seen = played.look(TOOL, &job).await.unwrap();
    let job = seen.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
    assert_eq!(played.cancel(TOOL, &job).await.unwrap(), CancelOutcome::Requested);
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Running);
    assert_eq!(played.adapter().capabilities(TOOL).escalates_after, Some(Duration::from_mins(5)));
    let wish = CancelWish { requested_at: played.context(TOOL).started_at, escalated: true };
    let harder = CallContext { cancel: Some(wish), ..played.context(TOOL) };
    assert_eq!(played.adapter().cancel(&harder, &job).await.unwrap(), CancelOutcome::Requested);
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Cancelled);
    // What has ended is answered with 404 by some versions.
    assert_eq!(played.adapter().cancel(&harder, &job).await.unwrap(), CancelOutcome::AlreadyEnded);
}

#[tokio::test]
async fn what_temporal_refuses_is_told_in_its_words() {
    let played = Played::of("temporal").await;
    let mut found = Vec::new();
    for workflow_type in ["Busy", "Crowded", "Nowhere", "Wrong", "Forbidden"] {
        let error = played.submit(TOOL, of(workflow_type)).await.unwrap_err();
        assert!(error.message().len() > 10, "{error}");
        found.push((error.kind(), error.retry()));
    }
    let wanted = [
        (ErrorKind::RateLimited, Retry::After(Duration::from_secs(7))),
        (ErrorKind::RateLimited, Retry::Backoff),
        (ErrorKind::Rejected, Retry::Never),
        (ErrorKind::Rejected, Retry::Never),
        (ErrorKind::Unauthorized, Retry::Never),
    ];
    assert_eq!(found, wanted);
    assert_eq!(played.look(TOOL, &JobRef::new("no-such-job")).await.unwrap_err().kind(), ErrorKind::NotFound);
}
