//! Runway: tasks that are stopped by the request that deletes ended ones.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn video(prompt: &str) -> Value {
    json!({ "model": "gen4.5", "promptText": prompt })
}

async fn videos() -> HttpRig {
    let moved = json!({ "model": "gen4_turbo", "promptText": "turn", "promptImage": "https://example.com/nobody.png" });
    rig("runway")
        .await
        .case(Scenario::RunsToEnd, Case::new("video", video("a lighthouse")).expecting("lighthouse.mp4"))
        .case(Scenario::Fails, Case::new("video", moved).expecting("SAFETY.INPUT.IMAGE"))
        .case(Scenario::RunsLong, Case::new("video", video("a long film")))
        .case(Scenario::UnknownWord, Case::new("video", video("odd")).expecting("DAYDREAMING"))
        .without(Scenario::WaitsForPerson, "Runway asks nobody anything")
}

adapter_contract!(videos().await);

/// G1: the request would delete the output.
#[tokio::test]
async fn nothing_is_sent_to_a_task_that_has_ended() {
    let played = Played::of("runway").await;
    let job = played.start("video", video("a lighthouse")).await;
    let end = played.end("video", &job).await;
    assert_eq!(played.cancel("video", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
    assert!(played.rig().requests().await.iter().all(|request| request.method.as_str() != "DELETE"));
    assert_eq!(played.end("video", &job).await.state, end.state);
}

#[tokio::test]
async fn a_task_beyond_the_number_at_once_waits() {
    let played = Played::of("runway").await;
    let job = played.start("video", video("one too many")).await;
    let seen = played.look("video", &job).await.unwrap();
    assert_eq!(seen.state, JobState::Queued);
    assert_eq!(seen.message.as_deref(), Some("It waits until other tasks of the account have ended."));
}

/// F1: a fraction, while it runs.
#[tokio::test]
async fn progress_is_a_fraction() {
    let played = Played::of("runway").await;
    let job = played.start("video", video("a lighthouse")).await;
    played.look("video", &job).await.unwrap();
    let progress = played.look("video", &job).await.unwrap().progress.unwrap();
    assert_eq!((progress.done, progress.total), (0.42, Some(1.0)));
}

#[tokio::test]
async fn an_image_is_another_endpoint() {
    let played = Played::of("runway").await;
    let job = played.start("image", json!({ "model": "gen4_image", "promptText": "a lighthouse" })).await;
    let state = played.end("image", &job).await.state;
    assert!(matches!(&state, JobState::Succeeded(output) if files(output)[0].name == "lighthouse.png"), "{state:?}");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("runway").await.submit("video", video("too much for today")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
