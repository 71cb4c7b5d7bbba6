//! Replicate: predictions.

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::json;

use crate::support::{Played, rig};

async fn predictions() -> HttpRig {
    let case =
        |version: &str, prompt: &str| Case::new("prediction", json!({ "version": version, "input": { "prompt": prompt } }));
    rig("replicate")
        .await
        .case(
            Scenario::RunsToEnd,
            case("acme/painter", "a lighthouse").expecting("https://replicate.delivery/xezq/lighthouse.webp"),
        )
        .case(Scenario::Fails, case("acme/painter", "nothing").expecting("CUDA out of memory"))
        .case(Scenario::RunsLong, Case::new("prediction", json!({ "version": "acme/painter", "input": {}, "deadline": "2h" })))
        .case(
            Scenario::UnknownWord,
            Case::new("prediction", json!({ "version": "acme/odd", "input": {} })).expecting("hibernating"),
        )
        .without(Scenario::WaitsForPerson, "Replicate asks nobody anything")
}

adapter_contract!(predictions().await);

fn of(version: &str) -> serde_json::Value {
    json!({ "version": version, "input": {} })
}

#[tokio::test]
async fn a_deadline_that_passed_before_the_start_is_no_failure() {
    let played = Played::of("replicate").await;
    let job = played.start("prediction", of("acme/late")).await;
    assert_eq!(played.end("prediction", &job).await.state, JobState::Cancelled);
}

#[tokio::test]
async fn a_deadline_is_a_header_and_left_out_where_nobody_gives_one() {
    let played = Played::of("replicate").await;
    let job = played.start("prediction", json!({ "version": "acme/painter", "input": {}, "deadline": "2h" })).await;
    played.start("prediction", of("acme/old")).await;
    let sent = played.rig().requests().await;
    let deadlines: Vec<bool> = sent.iter().map(|request| request.headers.contains_key("cancel-after")).collect();
    assert_eq!(deadlines, [true, false]);
    assert_eq!(played.cancel("prediction", &job).await.unwrap(), CancelOutcome::Requested);
    assert_eq!(played.end("prediction", &job).await.state, JobState::Cancelled);
}

#[tokio::test]
async fn a_prediction_whose_output_was_removed_is_gone() {
    let played = Played::of("replicate").await;
    let job = played.start("prediction", of("acme/old")).await;
    assert_eq!(played.end("prediction", &job).await.state, JobState::Gone);
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("replicate").await.submit("prediction", of("acme/busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(std::time::Duration::from_secs(7)), "{error}");
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_the_sentence_says() {
    let error = Played::of("replicate").await.submit("prediction", of("acme/crowded")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(std::time::Duration::from_secs(30)), "{error}");
}

#[tokio::test]
async fn a_prediction_is_told_where_to_deliver_its_end() {
    let played = Played::of("replicate").await;
    let url = "https://gateway.example.com/hooks/replicate/abc";
    // No recorded answer is for a request with an address; what was sent is what counts.
    played.submit_with_callback("prediction", of("acme/painter"), url).await.unwrap_err();
    let sent: serde_json::Value = played.rig().requests().await[0].body_json().unwrap();
    assert_eq!((&sent["webhook"], &sent["webhook_events_filter"]), (&json!(url), &json!(["completed"])));
}

#[tokio::test]
async fn a_refusal_says_why() {
    let error = Played::of("replicate").await.submit("prediction", of("acme/none")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(error.to_string().contains("specified version does not exist"), "{error}");
}
