//! ElevenLabs: dubbing.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn video(file: &str) -> Value {
    json!({ "source_url": format!("https://example.com/{file}"), "target_lang": "de" })
}

async fn dubbing() -> HttpRig {
    rig("elevenlabs")
        .await
        .case(Scenario::RunsToEnd, Case::new("dubbing", video("talk.mp4")).expecting("dub-good"))
        .case(Scenario::Fails, Case::new("dubbing", video("page.html")).expecting("no audio track"))
        .case(Scenario::RunsLong, Case::new("dubbing", video("long.mp4")))
        .case(Scenario::UnknownWord, Case::new("dubbing", video("odd.mp4")).expecting("rehearsing"))
        .without(Scenario::WaitsForPerson, "dubbing asks nobody anything")
}

adapter_contract!(dubbing().await);

/// A1: a form in parts; what is not given is no part.
#[tokio::test]
async fn a_start_is_multipart() {
    let played = Played::of("elevenlabs").await;
    played.start("dubbing", video("talk.mp4")).await;
    let sent = played.rig().requests().await;
    let form = String::from_utf8_lossy(&sent[0].body).into_owned();
    assert!(form.contains("name=\"target_lang\"") && !form.contains("num_speakers"), "{form}");
}

/// F3: one file a language, behind the key.
#[tokio::test]
async fn the_dubbed_file_is_kept() {
    let played = Played::of("elevenlabs").await;
    let job = played.start("dubbing", video("talk.mp4")).await;
    let state = played.end("dubbing", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert!(files(&output)[0].uri.ends_with("/v1/dubbing/dub-good/audio/de"), "{output:?}");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("elevenlabs").await.submit("dubbing", video("busy.mp4")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
