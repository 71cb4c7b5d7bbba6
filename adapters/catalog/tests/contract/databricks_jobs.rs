//! Databricks: runs of saved jobs.

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::json;

use crate::support::{Played, rig};

async fn runs() -> HttpRig {
    let run = |job: u32| Case::new("run", json!({ "job_id": job }));
    rig("databricks_jobs")
        .await
        .case(Scenario::RunsToEnd, run(11).expecting("loaded 3 rows"))
        .case(Scenario::Fails, run(12).expecting("division by zero"))
        .case(Scenario::RunsLong, run(13))
        .case(Scenario::UnknownWord, run(14).expecting("HIBERNATING"))
        .without(Scenario::WaitsForPerson, "a run asks nobody anything")
}

adapter_contract!(runs().await);

/// Gotcha 14: a number of 64 bits stays what it is.
#[tokio::test]
async fn a_run_number_keeps_its_digits() {
    let played = Played::of("databricks_jobs").await;
    assert_eq!(played.start("run", json!({ "job_id": 11 })).await.id(), "455644833110000001");
}

/// E1: two words make one state, and two lives end without a result.
#[tokio::test]
async fn ends_without_a_result_and_ends_with_failures_are_ends() {
    let played = Played::of("databricks_jobs").await;
    let mut ends = Vec::new();
    for job in [15, 16, 17] {
        let job = played.start("run", json!({ "job_id": job })).await;
        ends.push(played.end("run", &job).await.state);
    }
    assert_eq!(ends[0], JobState::Cancelled);
    assert!(matches!(&ends[1], JobState::Failed(failure) if failure.message == "The cluster was lost."), "{:?}", ends[1]);
    assert!(matches!(&ends[2], JobState::Succeeded(_)), "{:?}", ends[2]);
}

#[tokio::test]
async fn a_throttled_submit_waits_and_a_refused_one_says_why() {
    let played = Played::of("databricks_jobs").await;
    let error = played.submit("run", json!({ "job_id": 429 })).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(std::time::Duration::from_secs(7))));
    let error = played.submit("run", json!({ "job_id": 404 })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(error.message().contains("Job 404 does not exist"), "{error}");
}
