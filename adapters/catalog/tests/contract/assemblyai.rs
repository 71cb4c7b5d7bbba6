//! AssemblyAI: transcripts.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, SECRET, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn recording(file: &str) -> Value {
    json!({ "audio_url": format!("https://example.com/{file}") })
}

async fn transcripts() -> HttpRig {
    rig("assemblyai")
        .await
        .with_hints()
        .case(Scenario::RunsToEnd, Case::new("transcript", recording("talk.mp3")).expecting("ladies and gentlemen"))
        .case(Scenario::Fails, Case::new("transcript", recording("page.html")).expecting("does not appear to contain audio"))
        .case(Scenario::RunsLong, Case::new("transcript", recording("long.mp3")))
        .case(Scenario::UnknownWord, Case::new("transcript", recording("odd.mp3")).expecting("listening"))
        .without(Scenario::WaitsForPerson, "a transcript asks nobody anything")
}

adapter_contract!(transcripts().await);

/// B1: a key without a word before it.
#[tokio::test]
async fn the_key_stands_alone() {
    let played = Played::of("assemblyai").await;
    played.start("transcript", recording("talk.mp3")).await;
    assert_eq!(played.rig().requests().await[0].headers["authorization"], SECRET);
}

#[tokio::test]
async fn silence_is_a_success_with_an_empty_text() {
    let played = Played::of("assemblyai").await;
    let job = played.start("transcript", recording("silence.mp3")).await;
    let state = played.end("transcript", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!(output.data.unwrap()["text"], "");
}

#[tokio::test]
async fn the_words_are_a_file_behind_the_key() {
    let played = Played::of("assemblyai").await;
    let job = played.start("transcript", recording("talk.mp3")).await;
    let state = played.end("transcript", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert!(files(&output)[0].uri.ends_with("/v2/transcript/tr-good"), "{output:?}");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("assemblyai").await.submit("transcript", recording("busy.mp3")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
