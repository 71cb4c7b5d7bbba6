//! fal: a queue without a word for failures, at addresses that it gives.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobRef, JobState, Part, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn paint(prompt: &str) -> Value {
    json!({ "model": "fal-ai/flux/dev", "input": { "prompt": prompt } })
}

async fn requests() -> HttpRig {
    let rig = rig("fal").await;
    let at = format!("{}/fal-ai/flux/requests/no-such-job", rig.url());
    let unknown = JobRef::new("no-such-job")
        .with("status", format!("{at}/status"))
        .with("response", &at)
        .with("cancel", format!("{at}/cancel"));
    rig.unknown(unknown)
        .with_hints()
        .case(Scenario::RunsToEnd, Case::new("request", paint("a lighthouse")).expecting("files/lion/lighthouse.png"))
        .case(Scenario::Fails, Case::new("request", paint("")).expecting("The prompt may not be empty"))
        .case(Scenario::RunsLong, Case::new("request", paint("a long film")))
        .case(Scenario::UnknownWord, Case::new("request", paint("odd")).expecting("MELTING"))
        .without(Scenario::WaitsForPerson, "fal asks nobody anything")
}

adapter_contract!(requests().await);

/// A6: a name of several steps.
#[tokio::test]
async fn the_name_of_a_model_is_a_path() {
    let played = Played::of("fal").await;
    played.start("request", paint("a lighthouse")).await;
    let sent = played.rig().requests().await;
    assert_eq!(sent[0].url.path(), "/fal-ai/flux/dev");
    assert_eq!(sent[0].headers["x-fal-queue-priority"], "normal");
}

#[tokio::test]
async fn the_place_in_the_queue_is_said() {
    let played = Played::of("fal").await;
    let job = played.start("request", paint("a lighthouse")).await;
    let seen = played.look("request", &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Queued, Some("2 before it in the queue.")));
}

#[tokio::test]
async fn images_are_links_of_their_type() {
    let played = Played::of("fal").await;
    let job = played.start("request", paint("a lighthouse")).await;
    let state = played.end("request", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert!(matches!(&output.parts[0], Part::Link { mime_type: Some(kind), .. } if kind == "image/png"), "{output:?}");
    assert_eq!(output.data.unwrap()["seed"], 6_252_023);
}

/// E4: a result that is out of reach says nothing of the job.
#[tokio::test]
async fn a_result_out_of_reach_is_asked_for_again() {
    let played = Played::of("fal").await;
    let job = played.start("request", paint("broken gateway")).await;
    assert_eq!(played.look("request", &job).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(matches!(played.end("request", &job).await.state, JobState::Succeeded(_)));
}

#[tokio::test]
async fn a_cancel_that_comes_too_late_is_no_error() {
    let played = Played::of("fal").await;
    let job = played.start("request", paint("a lighthouse")).await;
    played.end("request", &job).await;
    assert_eq!(played.cancel("request", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("fal").await.submit("request", paint("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
