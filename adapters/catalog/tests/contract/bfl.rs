//! Black Forest Labs: jobs that live in one region, and images that end after ten minutes.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobRef, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn image(prompt: &str) -> Value {
    json!({ "model": "flux-2-pro", "prompt": prompt })
}

async fn images() -> HttpRig {
    let rig = rig("bfl").await;
    let unknown = JobRef::new("no-such-job").with("polling_url", format!("{}/v1/get_result?id=no-such-job", rig.url()));
    rig.unknown(unknown)
        // What is unknown for a moment after the start is waited for by the engine, not by a look.
        .case(Scenario::RunsToEnd, Case::new("image", image("a quay")).expecting("quay.jpeg"))
        .case(Scenario::Fails, Case::new("image", image("nobody")).expecting("Content Moderated"))
        .case(Scenario::RunsLong, Case::new("image", image("a long scroll")))
        .case(Scenario::UnknownWord, Case::new("image", image("odd")).expecting("Drying"))
        .without(Scenario::WaitsForPerson, "FLUX asks nobody anything")
}

adapter_contract!(images().await);

/// E8: said for a moment after the start, too.
#[tokio::test]
async fn a_task_that_is_not_found_is_no_failure_yet() {
    let played = Played::of("bfl").await;
    let job = played.start("image", image("a lighthouse")).await;
    assert_eq!(played.look("image", &job).await.unwrap_err().kind(), ErrorKind::NotFound);
    let state = played.end("image", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!(files(&output)[0].name, "lighthouse.jpeg");
}

/// B6: the key goes to none but the provider's own addresses.
#[tokio::test]
async fn an_address_to_ask_that_is_somebody_elses_is_refused() {
    let played = Played::of("bfl").await;
    let job = played.start("image", image("elsewhere")).await;
    let error = played.look("image", &job).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
    assert_eq!(played.rig().requests().await.len(), 1);
}

#[tokio::test]
async fn moderation_and_errors_are_failures_with_their_word() {
    for (prompt, word) in [("forbidden", "Request Moderated"), ("broken", "Error")] {
        let played = Played::of("bfl").await;
        let job = played.start("image", image(prompt)).await;
        let state = played.end("image", &job).await.state;
        assert!(matches!(&state, JobState::Failed(failure) if failure.code.as_deref() == Some(word)), "{state:?}");
    }
}

#[tokio::test]
async fn no_credits_are_a_refusal() {
    let error = Played::of("bfl").await.submit("image", image("dear")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("bfl").await.submit("image", image("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
