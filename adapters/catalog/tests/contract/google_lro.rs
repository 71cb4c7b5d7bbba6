//! Google: long-running operations of any method.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, JobRef, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, SECRET_REF, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn translation(language: &str) -> Value {
    json!({ "request": { "sourceLanguageCode": language } })
}

/// With a token in the place of the service account: the kit has no private key.
async fn operations() -> HttpRig {
    let rig = rig("google_lro").await;
    let mut words = jobgate_adapter_testkit::Rig::provider(&rig);
    words["auth"] = json!({ "bearer": SECRET_REF });
    words.as_object_mut().expect("a section is an object").remove("key");
    rig.provider(|_| words)
        .bad_provider("providers.kit.start", |words| words["start"] = json!("no path"))
        .unknown(JobRef::new("projects/acme/locations/global/operations/no-such-job"))
        .case(Scenario::RunsToEnd, Case::new("operation", translation("en")).expecting("9007199254740993"))
        .case(Scenario::Fails, Case::new("operation", translation("xx")).expecting("Source language is invalid"))
        .case(Scenario::RunsLong, Case::new("operation", translation("fr")))
        .without(Scenario::UnknownWord, "an operation is done or not, and has no words")
        .without(Scenario::WaitsForPerson, "operations ask nobody anything")
}

adapter_contract!(operations().await);

/// C1: done when it is first answered.
#[tokio::test]
async fn an_operation_may_be_done_at_once() {
    let played = Played::over(operations().await);
    let submitted = played.submit("operation", translation("de")).await.unwrap();
    let state = submitted.observation.unwrap().state;
    assert!(matches!(&state, JobState::Succeeded(_)), "{state:?}");
}

#[tokio::test]
async fn a_service_that_cannot_stop_operations_refuses() {
    let played = Played::over(operations().await);
    let job = played.start("operation", translation("it")).await;
    assert_eq!(played.cancel("operation", &job).await.unwrap(), CancelOutcome::Refused);
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::over(operations().await).submit("operation", translation("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
