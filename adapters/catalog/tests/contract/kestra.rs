//! Kestra: executions of flows.

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn of(flow: &str) -> Value {
    json!({ "namespace": "acme", "flow": flow, "inputs": { "day": "2026-07-28" } })
}

async fn executions() -> HttpRig {
    rig("kestra")
        .await
        .secret_also_as("am9iZ2F0ZTpraXQtc2VjcmV0LTlmMmM3MWQ0YWI=")
        .case(Scenario::RunsToEnd, Case::new("execution", of("warned")).expecting("WARNING"))
        .case(Scenario::Fails, Case::new("execution", of("broken")).expecting("division by zero"))
        .case(Scenario::RunsLong, Case::new("execution", of("long")))
        .case(Scenario::UnknownWord, Case::new("execution", of("odd")).expecting("HIBERNATING"))
        .case(Scenario::WaitsForPerson, Case::new("execution", of("gate")).answering(json!({ "approved": true })))
}

adapter_contract!(executions().await);

/// E8: created, and not there for a moment.
#[tokio::test]
async fn an_execution_may_be_unknown_at_first() {
    let played = Played::of("kestra").await;
    let job = played.start("execution", of("ok")).await;
    assert_eq!(played.look("execution", &job).await.unwrap_err().kind(), ErrorKind::NotFound);
    let JobState::Succeeded(output) = played.end("execution", &job).await.state else { panic!("it ended well") };
    assert_eq!(output.data.unwrap()["outputs"], json!({ "rows": 3 }));
}

#[tokio::test]
async fn a_throttled_submit_waits_and_a_disabled_flow_is_refused() {
    let played = Played::of("kestra").await;
    let error = played.submit("execution", of("busy")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(std::time::Duration::from_secs(7))));
    let error = played.submit("execution", of("disabled")).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Rejected, "Flow is disabled"));
}
