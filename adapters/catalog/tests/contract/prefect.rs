//! Prefect: flow runs of deployments.

use jobgate_adapter_api::{ErrorKind, InputKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn of(deployment: &str) -> Value {
    json!({ "flow": "etl", "deployment": deployment })
}

async fn flow_runs() -> HttpRig {
    rig("prefect")
        .await
        .case(Scenario::RunsToEnd, Case::new("flow_run", of("ok")).expecting("# 3 rows"))
        .case(Scenario::Fails, Case::new("flow_run", of("broken")).expecting("division by zero"))
        .case(Scenario::RunsLong, Case::new("flow_run", of("long")))
        .case(Scenario::UnknownWord, Case::new("flow_run", of("odd")).expecting("HIBERNATING"))
        .case(Scenario::WaitsForPerson, Case::new("flow_run", of("gate")).answering(json!({ "approved": true })))
}

adapter_contract!(flow_runs().await);

/// G3: the form of a paused run takes two more requests.
#[tokio::test]
async fn a_paused_run_asks_with_the_form_of_the_flow() {
    let played = Played::of("prefect").await;
    let job = played.start("flow_run", of("gate")).await;
    let JobState::InputRequired(questions) = played.look("flow_run", &job).await.unwrap().state else { panic!("it waits") };
    assert_eq!(questions[0].message, "Deploy to production?");
    let InputKind::Form { schema } = &questions[0].kind else { panic!("it is a form") };
    assert_eq!(schema["properties"]["approved"]["type"], "boolean");
}

/// C8: a name that leads nowhere starts nothing.
#[tokio::test]
async fn an_unknown_deployment_is_refused_and_a_throttled_submit_waits() {
    let played = Played::of("prefect").await;
    let error = played.submit("flow_run", of("missing")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected, "{error}");
    assert!(error.message().contains("Deployment not found"), "{error}");
    let error = played.submit("flow_run", of("busy")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(std::time::Duration::from_secs(7))));
}
