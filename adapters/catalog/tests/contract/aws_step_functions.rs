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
        .case(Scenario::WaitsForPerson, Case::new("execution", of("ask")).answering(json!({ "approved": true })))
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

/// E5, G3: a token that was handed out with a question is a question here, and nobody sees the token; programs are left alone.
#[tokio::test]
async fn a_task_token_with_a_question_asks() {
    let played = Played::of("aws_step_functions").await;
    let job = played.start("execution", of("ask")).await;
    let seen = played.look("execution", &job).await.unwrap();
    assert!(!format!("{seen:?}").contains("AQCEAAAA"), "the token is shown: {seen:?}");
    let JobState::InputRequired(questions) = seen.state else { panic!("it asks") };
    let [question] = &questions[..] else { panic!("it asks once: {questions:?}") };
    assert_eq!((question.key.as_str(), question.message.as_str()), ("task-3", "Ship it?"));
    let job = played.start("execution", of("worker")).await;
    assert!(matches!(played.look("execution", &job).await.unwrap().state, JobState::Running), "a program is waited for");
}

/// E7: an execution that is redriven is said to be; the first look knows how often it had been.
#[tokio::test]
async fn a_redrive_is_seen() {
    let played = Played::of("aws_step_functions").await;
    let job = played.start("execution", of("again")).await;
    let seen = played.look("execution", &job).await.unwrap();
    assert_eq!(seen.message.as_deref(), Some("Sleep"));
    let job = seen.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
    let seen = played.look("execution", &job).await.unwrap();
    assert!(matches!(seen.state, JobState::Running) && seen.message.as_deref() == Some("Redriven: Sleep"), "{seen:?}");
    assert!(matches!(played.end("execution", &job).await.state, JobState::Succeeded(_)));
}
