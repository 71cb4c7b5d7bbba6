//! HeyGen: one key, one video.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn film(prompt: &str) -> Value {
    json!({ "prompt": prompt })
}

async fn films() -> HttpRig {
    rig("heygen")
        .await
        .with_hints()
        .case(Scenario::RunsToEnd, Case::new("video_agent", film("a lighthouse")).expecting("lighthouse.mp4"))
        .case(Scenario::Fails, Case::new("video_agent", film("nobody")).expecting("refused by moderation"))
        .case(Scenario::RunsLong, Case::new("video_agent", film("a long film")))
        .case(Scenario::UnknownWord, Case::new("video_agent", film("odd")).expecting("polishing"))
        .without(Scenario::WaitsForPerson, "HeyGen asks nobody anything")
}

adapter_contract!(films().await);

/// D1: while the first request with a key is at work nothing is known, and nothing else was started.
#[tokio::test]
async fn a_request_at_work_is_waited_for() {
    let error = Played::of("heygen").await.submit("video_agent", film("at the same time")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited, "{error}");
}

#[tokio::test]
async fn an_avatar_takes_what_the_api_takes() {
    let played = Played::of("heygen").await;
    let job = played.start("video", json!({ "avatar_id": "ada", "script": "Good evening." })).await;
    assert!(matches!(played.end("video", &job).await.state, JobState::Succeeded(_)));
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("heygen").await.submit("video_agent", film("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
