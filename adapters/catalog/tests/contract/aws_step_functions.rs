//! AWS Step Functions by HTTP: signed, with words in the body of every refusal.

use jobgate_adapter_api::{ErrorKind, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn of(machine: &str) -> Value {
    json!({ "state_machine": format!("arn:aws:states:eu-west-1:123456789012:stateMachine:{machine}"), "input": { "name": "ada" } })
}

async fn executions() -> HttpRig {
    rig("aws_step_functions")
        .await
        // The key is never sent: it signs.
        .without_secret("a signature is sent, and no secret")
        .case(Scenario::RunsToEnd, Case::new("execution", of("ok")).expecting("hello ada"))
        .case(Scenario::Fails, Case::new("execution", of("fail")).expecting("input asked for failure"))
        .case(Scenario::RunsLong, Case::new("execution", of("slow")))
        .case(Scenario::UnknownWord, Case::new("execution", of("odd")).expecting("HIBERNATING"))
        .without(Scenario::WaitsForPerson, "who holds the task token answers there")
}

adapter_contract!(executions().await);

/// Gotcha 6: throttled and refused, with one code.
#[tokio::test]
async fn one_code_says_everything() {
    let played = Played::of("aws_step_functions").await;
    let mut found = Vec::new();
    for machine in ["throttled", "full", "missing", "forbidden", "busy"] {
        let error = played.submit("execution", of(machine)).await.unwrap_err();
        found.push((error.kind(), error.retry()));
    }
    let after = |seconds| Retry::After(std::time::Duration::from_secs(seconds));
    let wanted = [
        (ErrorKind::RateLimited, after(5)),
        (ErrorKind::Unavailable, after(30)),
        (ErrorKind::Rejected, Retry::Never),
        (ErrorKind::Unauthorized, Retry::Never),
        (ErrorKind::RateLimited, after(7)),
    ];
    assert_eq!(found, wanted);
}

/// D2: an execution that has ended is ours by its name.
#[tokio::test]
async fn an_execution_that_exists_is_ours() {
    let played = Played::of("aws_step_functions").await;
    let job = played.start("execution", of("closed")).await;
    assert_eq!(job.id(), "arn:aws:states:eu-west-1:123456789012:execution:closed:jobgate-6a6f6267617465000000000000000001");
    assert!(matches!(played.end("execution", &job).await.state, JobState::Succeeded(_)));
}

#[tokio::test]
async fn a_running_execution_names_its_state() {
    let played = Played::of("aws_step_functions").await;
    let job = played.start("execution", of("slow")).await;
    assert_eq!(played.look("execution", &job).await.unwrap().message.as_deref(), Some("Sleep"));
    let job = played.start("execution", of("timeout")).await;
    let JobState::Failed(failure) = played.end("execution", &job).await.state else { panic!("it timed out") };
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("the execution timed out", Some("TIMED_OUT")));
}
