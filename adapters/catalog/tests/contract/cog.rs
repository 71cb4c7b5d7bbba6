//! Cog: predictions that are told of, and cannot be asked for.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{CALLBACK, Played, rig};

fn paint(prompt: &str) -> Value {
    json!({ "input": { "prompt": prompt } })
}

async fn predictions() -> HttpRig {
    rig("cog")
        .await
        .with_callback(CALLBACK)
        .case(Scenario::RunsToEnd, Case::new("prediction", paint("a lighthouse")).expecting("output.mp4 data:video/mp4;base64,"))
        .case(Scenario::Fails, Case::new("prediction", paint("fail")).expecting("out of paint"))
        .case(Scenario::RunsLong, Case::new("prediction", paint("a long film")))
        .case(Scenario::UnknownWord, Case::new("prediction", paint("odd")).expecting("dreaming"))
        .without(Scenario::WaitsForPerson, "Cog asks nobody anything")
}

adapter_contract!(predictions().await);

async fn played() -> Played {
    let mut played = Played::of("cog").await;
    played.deliver_to(CALLBACK);
    played
}

async fn ends_as(prompt: &str) -> JobState {
    let played = played().await;
    let job = played.start("prediction", paint(prompt)).await;
    played.told("prediction", &job).await.state
}

/// What is no file is data.
#[tokio::test]
async fn a_text_is_data() {
    let state = ends_as("words").await;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!((output.data, output.artifacts.len()), (Some(json!({ "output": "A lighthouse stands on a cliff." })), 0));
}

#[tokio::test]
async fn a_success_without_its_output_is_a_failure() {
    assert!(matches!(ends_as("nothing").await, JobState::Failed(_)));
}

#[tokio::test]
async fn all_places_taken_means_later() {
    let error = played().await.submit("prediction", paint("one too many")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited, "{error}");
}

#[tokio::test]
async fn a_cancel_of_a_prediction_that_has_ended_is_no_error() {
    let played = played().await;
    let job = played.start("prediction", paint("words")).await;
    assert_eq!(played.cancel("prediction", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = played().await.submit("prediction", paint("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
