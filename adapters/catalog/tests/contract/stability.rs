//! Stability AI: the state is the HTTP code.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn image(prompt: &str) -> Value {
    json!({ "image": "iVBORw0KGgo=", "prompt": prompt })
}

async fn images() -> HttpRig {
    rig("stability")
        .await
        .case(Scenario::RunsToEnd, Case::new("upscale", image("a lighthouse")).expecting("data:image/png;base64,iVBORw0KGgo"))
        .case(Scenario::Fails, Case::new("upscale", image("nobody")).expecting("CONTENT_FILTERED"))
        .case(Scenario::RunsLong, Case::new("upscale", image("a long scroll")))
        .without(Scenario::UnknownWord, "this API has codes, and no words")
        .without(Scenario::WaitsForPerson, "the API asks nobody anything")
}

adapter_contract!(images().await);

/// A1: the image itself, not its base64.
#[tokio::test]
async fn an_image_is_sent_as_bytes() {
    let played = Played::of("stability").await;
    played.start("upscale", image("a lighthouse")).await;
    let sent = played.rig().requests().await;
    assert!(sent[0].body.windows(8).any(|bytes| bytes == b"\x89PNG\r\n\x1a\n"), "the bytes of the image are not there");
}

/// E4: three codes for an end, and one that says nothing of the job.
#[tokio::test]
async fn codes_are_states() {
    for (prompt, wanted) in [("forbidden", "Moderation took the image away."), ("broken", "image: unsupported format")] {
        let played = Played::of("stability").await;
        let job = played.start("upscale", image(prompt)).await;
        let state = played.end("upscale", &job).await.state;
        assert!(matches!(&state, JobState::Failed(failure) if failure.message == wanted), "{state:?}");
    }
    let played = Played::of("stability").await;
    let job = played.start("upscale", image("unsteady")).await;
    assert_eq!(played.look("upscale", &job).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(matches!(played.end("upscale", &job).await.state, JobState::Succeeded(_)));
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("stability").await.submit("upscale", image("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
