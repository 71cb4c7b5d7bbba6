//! Apify: actor runs, looked at by requests that wait.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, files, rig};

fn run(url: &str) -> Value {
    json!({ "actor": "acme~crawler", "input": { "startUrl": url } })
}

async fn runs() -> HttpRig {
    rig("apify")
        .await
        .with_hints()
        .case(Scenario::RunsToEnd, Case::new("run", run("https://example.com")).expecting("Example Domain"))
        .case(Scenario::Fails, Case::new("run", run("https://nowhere.example")).expecting("cannot be resolved"))
        .case(Scenario::RunsLong, Case::new("run", run("https://long.example")))
        .case(Scenario::UnknownWord, Case::new("run", run("https://odd.example")).expecting("NAPPING"))
        .without(Scenario::WaitsForPerson, "Apify asks nobody anything")
}

adapter_contract!(runs().await);

/// A list is no object: it is put into one.
#[tokio::test]
async fn items_are_a_list_and_all_of_them_a_file() {
    let played = Played::of("apify").await;
    let job = played.start("run", run("https://example.com")).await;
    let state = played.end("run", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!(output.data.clone().unwrap()["items"][1]["title"], "Two");
    assert_eq!(files(&output)[0].mime_type.as_deref(), Some("application/json"));
}

#[tokio::test]
async fn a_run_without_items_is_a_success_without_a_file() {
    let played = Played::of("apify").await;
    let job = played.start("run", run("https://empty.example")).await;
    let state = played.end("run", &job).await.state;
    let JobState::Succeeded(output) = state else { panic!("{state:?}") };
    assert_eq!((files(&output).len(), output.data.unwrap()), (0, json!({ "items": [] })));
}

#[tokio::test]
async fn a_run_that_takes_longer_than_it_may_has_failed() {
    let played = Played::of("apify").await;
    let job = played.start("run", run("https://slow.example")).await;
    let state = played.end("run", &job).await.state;
    assert!(matches!(&state, JobState::Failed(failure) if failure.code.as_deref() == Some("TIMED-OUT")), "{state:?}");
}

/// A3: the webhook of the one run is base64 of JSON in the query; without an address there is none.
#[tokio::test]
async fn a_webhook_is_given_in_the_query() {
    let mut played = Played::of("apify").await;
    played.start("run", run("https://example.com")).await;
    played.deliver_to("https://gateway.example.com/hooks/apify/a-token-that-nobody-can-guess");
    played.start("run", run("https://example.com")).await;
    let sent = played.rig().requests().await;
    assert_eq!(sent[0].url.query(), None);
    let (name, value) = sent[1].url.query_pairs().next().unwrap();
    assert_eq!(name, "webhooks");
    let hooks: Value = serde_json::from_slice(&crate::support::decoded(&value)).unwrap();
    assert_eq!(hooks[0]["requestUrl"], "https://gateway.example.com/hooks/apify/a-token-that-nobody-can-guess");
}

#[tokio::test]
async fn an_actor_that_is_not_there_is_said() {
    let error = Played::of("apify").await.submit("run", json!({ "actor": "acme~nobody" })).await.unwrap_err();
    assert!(error.to_string().contains("Actor was not found"), "{error}");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("apify").await.submit("run", run("https://busy.example")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
