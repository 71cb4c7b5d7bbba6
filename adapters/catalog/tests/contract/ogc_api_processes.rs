//! OGC API - Processes: jobs of processes, or answers at once.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobOutput, JobState, Part, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Rig as _, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn of(process: &str) -> Value {
    json!({ "process": process, "inputs": { "distance": 10 } })
}

async fn executions() -> HttpRig {
    rig("ogc_api_processes")
        .await
        .case(Scenario::RunsToEnd, Case::new("execution", of("buffer")).expecting("9007199254740993"))
        .case(Scenario::Fails, Case::new("execution", of("broken")).expecting("distance has to be positive"))
        .case(Scenario::RunsLong, Case::new("execution", of("long")))
        .case(Scenario::UnknownWord, Case::new("execution", of("odd")).expecting("hibernating"))
        .without(Scenario::WaitsForPerson, "a process asks nobody anything")
}

adapter_contract!(executions().await);

async fn output(played: &Played, process: &str) -> JobOutput {
    let submitted = played.submit("execution", of(process)).await.unwrap_or_else(|error| panic!("{error}"));
    let state = match submitted.observation {
        Some(seen) => seen.state,
        None => played.end("execution", &submitted.job).await.state,
    };
    let JobState::Succeeded(output) = state else { panic!("{process} ends well, and is {state:?}") };
    output
}

/// F1: the percentage and the sentence of the job.
#[tokio::test]
async fn a_job_says_how_far_it_is() {
    let played = Played::of("ogc_api_processes").await;
    let job = played.start("execution", of("buffer")).await;
    assert_eq!(played.look("execution", &job).await.unwrap().state, JobState::Queued);
    let seen = played.look("execution", &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("reading tiles")));
    assert_eq!(seen.progress.map(|progress| (progress.done, progress.total)), Some((42.0, Some(100.0))));
}

/// F3, F4: outputs come by a further request; what is given by reference is a file.
#[tokio::test]
async fn outputs_by_reference_are_files() {
    let played = Played::of("ogc_api_processes").await;
    let job = played.start("execution", of("buffer")).await;
    let JobState::Succeeded(output) = played.end("execution", &job).await.state else { panic!("it ended well") };
    let made = files(&output);
    assert_eq!(made.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["map"]);
    assert_eq!(played.fetch("execution", &job, &made[0]).await, (Some("image/tiff".to_owned()), b"TIFF".to_vec()));
    assert_eq!(output.data.unwrap()["outputs"]["bounds"], json!({ "value": [1, 2], "mediaType": "application/json" }));
}

/// C1: a server may answer with the outputs, or with nothing, or with where they are.
#[tokio::test]
async fn a_process_may_be_answered_at_once() {
    let played = Played::of("ogc_api_processes").await;
    let quick = output(&played, "quick").await;
    assert_eq!((quick.data.as_ref().unwrap()["outputs"]["area"].clone(), files(&quick).len()), (json!(42), 1));
    for (process, outputs) in [("text", json!({ "value": "area: 42", "mediaType": "text/plain" })), ("silent", json!({}))] {
        assert_eq!(output(&played, process).await.data, Some(json!({ "outputs": outputs })), "{process}");
    }
    let parts = output(&played, "collection").await.parts;
    assert!(matches!(&parts[..], [Part::Link { uri, .. }] if uri.ends_with("/collections/c-1")), "{parts:?}");
}

/// C2, E8: the id of either version, relative addresses, results that are not there or are no JSON; a sign-in page is no result.
#[tokio::test]
async fn servers_differ() {
    let played = Played::of("ogc_api_processes").await;
    for (process, job, outputs) in
        [("bare", "j-bare", json!({})), ("raw", "j-raw", json!({ "value": "id,area\n1,42\n", "mediaType": "text/csv" }))]
    {
        assert_eq!(played.start("execution", of(process)).await.id(), job);
        assert_eq!(output(&played, process).await.data, Some(json!({ "outputs": outputs })), "{process}");
    }
    let job = played.start("execution", of("signin")).await;
    assert_eq!(played.look("execution", &job).await.unwrap_err().kind(), ErrorKind::Protocol);
}

/// F3: the reason of a failure is in the place of the results, or in the status, or nowhere but in its sentence.
#[tokio::test]
async fn the_reason_of_a_failure_is_found() {
    let played = Played::of("ogc_api_processes").await;
    for (process, message, code) in [
        ("broken", "distance has to be positive", "invalid-parameter-value"),
        ("broken2", "no space left", "about:blank"),
        ("broken3", "out of memory", "failed"),
    ] {
        let job = played.start("execution", of(process)).await;
        let JobState::Failed(failure) = played.end("execution", &job).await.state else { panic!("{process} fails") };
        assert_eq!((failure.message.as_str(), failure.code.as_deref()), (message, Some(code)), "{process}");
    }
}

/// G1: what has ended is not dismissed, as that would delete what it made.
#[tokio::test]
async fn a_job_that_has_ended_is_not_deleted() {
    let played = Played::of("ogc_api_processes").await;
    let job = played.start("execution", of("buffer")).await;
    played.end("execution", &job).await;
    assert_eq!(played.cancel("execution", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
    assert!(played.rig().requests().await.iter().all(|request| request.method != "DELETE"));
}

/// E6, G1: a dismissed job may be forgotten, and dismissing may be no part of a server.
#[tokio::test]
async fn dismissing_is_a_servers_own_affair() {
    let played = Played::of("ogc_api_processes").await;
    let job = played.start("execution", of("forgetful")).await;
    assert_eq!(played.cancel("execution", &job).await.unwrap(), CancelOutcome::Requested);
    assert_eq!(played.end("execution", &job).await.state, JobState::Cancelled);
    let job = played.start("execution", of("fixed")).await;
    assert_eq!(played.cancel("execution", &job).await.unwrap(), CancelOutcome::Refused);
}

#[tokio::test]
async fn refusals_say_what_the_server_says() {
    let played = Played::of("ogc_api_processes").await;
    for (process, kind, said) in [
        ("missing", ErrorKind::Rejected, "No such process"),
        ("strict", ErrorKind::Rejected, "The input `distance` is missing."),
        ("busy", ErrorKind::RateLimited, "slow down"),
    ] {
        let error = played.submit("execution", of(process)).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, said));
        let wait = if process == "busy" { Retry::After(Duration::from_secs(7)) } else { Retry::Never };
        assert_eq!(error.retry(), wait, "{process}");
    }
    assert_eq!(played.rig().jobs().await.unwrap(), 0);
}
