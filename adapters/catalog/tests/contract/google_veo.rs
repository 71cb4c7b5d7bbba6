//! Google Veo: long-running operations of the Gemini API.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobRef, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn film(prompt: &str) -> Value {
    json!({ "model": "veo-3.0-generate-001", "prompt": prompt })
}

async fn films() -> HttpRig {
    rig("google_veo")
        .await
        .unknown(JobRef::new("models/veo-3.0-generate-001/operations/no-such-job"))
        .case(Scenario::RunsToEnd, Case::new("video", film("a lighthouse")).expecting("files/lighthouse:download"))
        .case(Scenario::Fails, Case::new("video", film("nobody")).expecting("internal server issue"))
        .case(Scenario::RunsLong, Case::new("video", film("a long film")))
        .without(Scenario::UnknownWord, "an operation is done or not, and has no words")
        .without(Scenario::WaitsForPerson, "Veo asks nobody anything")
}

adapter_contract!(films().await);

/// Failure inside success: the operation is done, and there is no video.
#[tokio::test]
async fn a_success_without_videos_was_filtered() {
    let played = Played::of("google_veo").await;
    let job = played.start("video", film("forbidden")).await;
    let state = played.end("video", &job).await.state;
    assert!(matches!(&state, JobState::Failed(failure) if failure.message.contains("The prompt shows a celebrity")), "{state:?}");
}

#[tokio::test]
async fn code_1_is_cancelled() {
    let played = Played::of("google_veo").await;
    let job = played.start("video", film("stopped")).await;
    assert_eq!(played.end("video", &job).await.state, JobState::Cancelled);
}

/// A6: slashes in a name stay.
#[tokio::test]
async fn the_name_of_an_operation_is_a_path() {
    let played = Played::of("google_veo").await;
    let job = played.start("video", film("a lighthouse")).await;
    played.look("video", &job).await.unwrap();
    let sent = played.rig().requests().await;
    assert_eq!(sent[1].url.path(), "/v1beta/models/veo-3.0-generate-001/operations/good");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("google_veo").await.submit("video", film("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}

/// B6: the video is behind the key and a redirect.
#[tokio::test]
async fn the_video_is_fetched_with_the_key() {
    let played = Played::of("google_veo").await;
    let job = played.start("video", film("a lighthouse")).await;
    let state = played.end("video", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!(played.fetch("video", &job, &output.artifacts[0]).await, (Some("video/mp4".to_owned()), b"the video".to_vec()));
}
