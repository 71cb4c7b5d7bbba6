//! RunPod: jobs of one endpoint, whose results end soon.

use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn job(prompt: &str) -> Value {
    json!({ "input": { "prompt": prompt } })
}

async fn jobs() -> HttpRig {
    rig("runpod")
        .await
        .with_hints()
        // 64-bit numbers keep their digits.
        .case(Scenario::RunsToEnd, Case::new("job", job("a lighthouse")).expecting("9007199254740993"))
        .case(Scenario::Fails, Case::new("job", job("nothing")).expecting("CUDA out of memory"))
        .case(Scenario::RunsLong, Case::new("job", job("a long film")))
        .case(Scenario::UnknownWord, Case::new("job", job("odd")).expecting("WARMING"))
        .without(Scenario::WaitsForPerson, "RunPod asks nobody anything")
}

adapter_contract!(jobs().await);

#[tokio::test]
async fn a_job_that_ran_too_long_says_so() {
    let played = Played::of("runpod").await;
    let started = played.start("job", job("slow")).await;
    let state = played.end("job", &started).await.state;
    assert!(
        matches!(&state, JobState::Failed(failure) if failure.message.contains("longer than the endpoint allows")),
        "{state:?}"
    );
}

#[tokio::test]
async fn the_longest_run_is_sent_only_where_it_is_given() {
    let played = Played::of("runpod").await;
    played.start("job", job("slow")).await;
    played.start("job", json!({ "input": { "prompt": "slow" }, "execution_timeout": 60000 })).await;
    let sent: Vec<Value> =
        played.rig().requests().await.iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!(sent[0], json!({ "input": { "prompt": "slow" } }));
    assert_eq!(sent[1]["policy"], json!({ "executionTimeout": 60000 }));
}

#[tokio::test]
async fn a_throttled_submit_waits_as_long_as_it_is_told() {
    let error = Played::of("runpod").await.submit("job", job("busy")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)), "{error}");
}
