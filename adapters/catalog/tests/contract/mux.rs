//! Mux: assets, told of with the whole asset.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Part, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, SECRET, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, encoded, rig};

fn asset(file: &str) -> Value {
    json!({ "url": format!("https://example.com/{file}") })
}

async fn assets() -> HttpRig {
    rig("mux")
        .await
        .secret_also_as(encoded(&format!("44c819de-4add-4c9f-b2e9-384a0a71bede:{SECRET}")))
        .case(
            Scenario::RunsToEnd,
            Case::new("asset", asset("lighthouse.mp4")).expecting("https://stream.mux.com/play-asset-good.m3u8"),
        )
        .case(Scenario::Fails, Case::new("asset", asset("page.html")).expecting("does not contain a video"))
        .case(Scenario::RunsLong, Case::new("asset", asset("long.mp4")))
        .case(Scenario::UnknownWord, Case::new("asset", asset("odd.mp4")).expecting("sleeping"))
        .without(Scenario::WaitsForPerson, "an asset asks nobody anything")
}

adapter_contract!(assets().await);

#[tokio::test]
async fn the_stream_has_its_media_type() {
    let played = Played::of("mux").await;
    let job = played.start("asset", asset("lighthouse.mp4")).await;
    let state = played.end("asset", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert!(
        matches!(&output.parts[0], Part::Link { mime_type: Some(kind), .. } if kind == "application/vnd.apple.mpegurl"),
        "{output:?}"
    );
}

/// F1: -1 stands for none.
#[tokio::test]
async fn progress_of_minus_one_is_none() {
    let played = Played::of("mux").await;
    let job = played.start("asset", asset("lighthouse.mp4")).await;
    played.look("asset", &job).await.unwrap();
    assert_eq!(played.look("asset", &job).await.unwrap().progress.unwrap().done, 61.0);
    let job = played.start("asset", asset("page.html")).await;
    assert_eq!(played.end("asset", &job).await.progress, None);
}

/// D4: the key was passed through.
#[tokio::test]
async fn an_asset_is_found_by_its_key() {
    let played = Played::of("mux").await;
    assert_eq!(played.find("asset").await.unwrap().unwrap().id(), "asset-kept");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("mux").await.submit("asset", asset("busy.mp4")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
