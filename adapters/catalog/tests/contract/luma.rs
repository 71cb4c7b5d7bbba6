//! Luma: generations, and callbacks that nobody signs.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn video(prompt: &str) -> Value {
    json!({ "prompt": prompt })
}

async fn videos() -> HttpRig {
    rig("luma")
        .await
        .case(Scenario::RunsToEnd, Case::new("video", video("a lighthouse")).expecting("dream_machine/lighthouse.mp4"))
        .case(Scenario::Fails, Case::new("video", video("nobody")).expecting("refused by moderation"))
        .case(Scenario::RunsLong, Case::new("video", video("a long film")))
        .case(Scenario::UnknownWord, Case::new("video", video("odd")).expecting("remembering"))
        .without(Scenario::WaitsForPerson, "Luma asks nobody anything")
}

adapter_contract!(videos().await);

#[tokio::test]
async fn an_image_is_kept_under_its_own_name() {
    let played = Played::of("luma").await;
    let job = played.start("image", video("a lighthouse")).await;
    let state = played.end("image", &job).await.state;
    assert!(matches!(&state, JobState::Succeeded(output) if files(output)[0].name == "lighthouse.jpg"), "{state:?}");
}

#[tokio::test]
async fn a_success_without_its_video_is_a_failure() {
    let played = Played::of("luma").await;
    let job = played.start("video", video("empty")).await;
    assert!(matches!(played.end("video", &job).await.state, JobState::Failed(_)));
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("luma").await.submit("video", video("too much")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
