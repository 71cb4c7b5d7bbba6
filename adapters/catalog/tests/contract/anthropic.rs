//! Anthropic: message batches, whose end is in their counts.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn batch(custom_id: &str) -> Value {
    let messages = json!([{ "role": "user", "content": "Hello" }]);
    let params = json!({ "model": "claude-sonnet-4-5", "max_tokens": 64, "messages": messages });
    json!({ "requests": [{ "custom_id": custom_id, "params": params }] })
}

async fn batches() -> HttpRig {
    rig("anthropic")
        .await
        .case(Scenario::RunsToEnd, Case::new("message_batch", batch("good")).expecting("results"))
        .case(Scenario::Fails, Case::new("message_batch", batch("wrong")).expecting("No request of the batch succeeded"))
        .case(Scenario::RunsLong, Case::new("message_batch", batch("long")))
        .case(Scenario::UnknownWord, Case::new("message_batch", batch("odd")).expecting("archiving"))
        .without(Scenario::WaitsForPerson, "a batch asks nobody anything")
}

adapter_contract!(batches().await);

/// E1: one word for every end.
#[tokio::test]
async fn a_batch_with_any_success_succeeded() {
    let played = Played::of("anthropic").await;
    let job = played.start("message_batch", batch("half")).await;
    let state = played.end("message_batch", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!(output.data.clone().unwrap()["request_counts"]["expired"], 1);
    assert_eq!(files(&output)[0].name, "results.jsonl");
}

#[tokio::test]
async fn a_batch_that_is_being_stopped_runs_and_ends_as_cancelled() {
    let played = Played::of("anthropic").await;
    let job = played.start("message_batch", batch("long")).await;
    assert_eq!(played.cancel("message_batch", &job).await.unwrap(), CancelOutcome::Requested);
    let seen = played.look("message_batch", &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("Being stopped.")));
    assert_eq!(played.end("message_batch", &job).await.state, JobState::Cancelled);
    assert_eq!(played.cancel("message_batch", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
}

#[tokio::test]
async fn a_refusal_says_why() {
    let error = Played::of("anthropic").await.submit("message_batch", batch("twice")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(error.to_string().contains("custom_id must be unique"), "{error}");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("anthropic").await.submit("message_batch", batch("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
