//! Deepgram: transcripts that are delivered, and cannot be asked for.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{CALLBACK, Played, rig};

fn recording(file: &str) -> Value {
    json!({ "url": format!("https://example.com/{file}") })
}

async fn transcripts() -> HttpRig {
    rig("deepgram")
        .await
        .with_callback(CALLBACK)
        .case(Scenario::RunsToEnd, Case::new("transcript", recording("talk.wav")).expecting("Life moves pretty fast."))
        .case(Scenario::Fails, Case::new("transcript", recording("noise.wav")).expecting("corrupt or unsupported data"))
        .case(Scenario::RunsLong, Case::new("transcript", recording("long.wav")))
        .without(Scenario::UnknownWord, "a callback is a result or an error, and has no words")
        .without(Scenario::WaitsForPerson, "a transcript asks nobody anything")
}

adapter_contract!(transcripts().await);

/// Without an address nothing would ever be heard of the job, so none is started.
#[tokio::test]
async fn without_an_address_nothing_is_started() {
    let played = Played::of("deepgram").await;
    let error = played.submit("transcript", recording("talk.wav")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Rejected && error.message().contains("callback.url"), "{error}");
    assert!(played.rig().requests().await.is_empty());
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let mut played = Played::of("deepgram").await;
    played.deliver_to(CALLBACK);
    let error = played.submit("transcript", recording("busy.wav")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
