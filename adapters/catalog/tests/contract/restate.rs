//! Restate: durable handlers, and the awakeables that they wait for.

use std::time::Duration;

use jobgate_adapter_api::{CancelOutcome, ErrorKind, InputAction, InputAnswer, InputAnswers, JobRef, JobState, Part, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn of(handler: &str) -> Value {
    json!({ "service": "jobs", "handler": handler, "input": { "name": "ada" } })
}

fn asking(handler: &str) -> Value {
    let form = json!({ "type": "object", "properties": { "approved": { "type": "boolean" } }, "required": ["approved"] });
    json!({ "service": "jobs", "handler": handler, "form": form, "question": "Deploy to production?" })
}

async fn invocations() -> HttpRig {
    rig("restate")
        .await
        .case(Scenario::RunsToEnd, Case::new("invocation", of("ok")).expecting("hello ada"))
        .case(Scenario::Fails, Case::new("invocation", of("fail")).expecting("the renderer ran out of paint"))
        .case(Scenario::RunsLong, Case::new("invocation", of("slow")))
        .case(Scenario::UnknownWord, Case::new("invocation", of("odd")).expecting("hibernating"))
        .case(Scenario::WaitsForPerson, Case::new("invocation", asking("approval")).answering(json!({ "approved": true })))
}

adapter_contract!(invocations().await);

/// What a job that ended well handed over.
async fn output(played: &Played, arguments: Value) -> (Option<String>, Option<Value>) {
    let job = played.start("invocation", arguments).await;
    let JobState::Succeeded(output) = played.end("invocation", &job).await.state else { panic!("it ended well") };
    let texts = output.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text.clone()) } else { None });
    (texts.reduce(|all, text| all + &text), output.data)
}

/// F3: an object is the data, another value its `output`; of nothing there is none. A key may have a slash.
#[tokio::test]
async fn what_a_handler_returned_is_the_result() {
    let played = Played::of("restate").await;
    assert_eq!(output(&played, of("ok")).await.1, Some(json!({ "greeting": "hello ada", "answer": 42 })));
    assert_eq!(output(&played, of("text")).await, (Some("\"done\"".to_owned()), Some(json!({ "output": "done" }))));
    let void = json!({ "service": "carts", "key": "ada/1", "handler": "clear" });
    assert_eq!(output(&played, void).await, (Some("The job ended well.".to_owned()), None));
    let requests = played.rig().requests().await;
    let start = requests.iter().find(|request| request.url.path() == "/carts/ada%2F1/clear/send").unwrap();
    assert!(start.body.is_empty(), "nothing was said of an input");
}

/// C8, D1: the own handler of a workflow takes the key in its path and no header with it; a service that is not there starts nothing.
#[tokio::test]
async fn a_workflow_runs_under_the_key_of_its_task() {
    let played = Played::of("restate").await;
    let workflow = json!({ "service": "pipeline", "handler": "run", "input": { "what": "plan-18" } });
    assert_eq!(output(&played, workflow).await.1, Some(json!({ "deployed": "plan-18" })));
    let requests = played.rig().requests().await;
    let start = requests.iter().find(|request| request.url.path().starts_with("/pipeline/")).unwrap();
    assert_eq!(start.url.path(), "/pipeline/6a6f6267617465000000000000000001/run/send");
    let error = played.submit("invocation", json!({ "service": "nope", "handler": "run" })).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Rejected && error.message().contains("'nope' does not exist"), "{error}");
}

/// E4, E10: 470 is "not yet": the next look asks again.
#[tokio::test]
async fn a_result_that_the_ingress_does_not_have_yet_is_asked_for_again() {
    let played = Played::of("restate").await;
    let job = played.start("invocation", of("late")).await;
    let error = played.look("invocation", &job).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let JobState::Succeeded(output) = played.look("invocation", &job).await.unwrap().state else { panic!("it ended well") };
    assert_eq!(output.data, Some(json!({ "answer": 42 })));
}

/// E1: what is tried again has not failed, and says why it is tried again; a killed one is cancelled.
#[tokio::test]
async fn a_handler_that_breaks_is_tried_again_until_it_is_killed() {
    let played = Played::of("restate").await;
    let job = played.start("invocation", of("flaky")).await;
    for wanted in ["Attempt 3 failed and is made again: connection refused by the GPU", "an operator has to resume it"] {
        let seen = played.look("invocation", &job).await.unwrap();
        let message = seen.message.unwrap();
        assert!(seen.state == JobState::Running && message.contains(wanted) && !message.contains("service.mjs"), "{message}");
    }
    assert!(matches!(played.look("invocation", &job).await.unwrap().state, JobState::Cancelled));
}

/// G1: a cancel of what has ended changes nothing; one of what is not there says so.
#[tokio::test]
async fn a_cancel_that_comes_too_late_is_no_fault() {
    let played = Played::of("restate").await;
    let job = played.start("invocation", of("text")).await;
    assert_eq!(played.cancel("invocation", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
}

/// E8: cancelled before it began, an invocation leaves no row; without a wish to stop it, it is just not there.
#[tokio::test]
async fn a_row_that_is_gone_after_a_cancel_was_cancelled() {
    let played = Played::of("restate").await;
    let job = JobRef::new("inv_1gdJBtdVEcM942bjcDmb1c1khoaJe11Hbz");
    assert_eq!(played.look("invocation", &job).await.unwrap_err().kind(), ErrorKind::NotFound);
    played.cancel("invocation", &job).await.unwrap_err();
    assert!(matches!(played.look("invocation", &job).await.unwrap().state, JobState::Cancelled));
}

/// G3, G4: the awakeable's name is nowhere in the API; a no rejects it, and that ends the job.
#[tokio::test]
async fn a_no_rejects_the_awakeable() {
    let played = Played::of("restate").await;
    let job = played.start("invocation", asking("refusal")).await;
    let JobState::InputRequired(questions) = played.look("invocation", &job).await.unwrap().state else { panic!("it waits") };
    assert_eq!(questions[0].message, "Deploy to production?");
    let no = InputAnswer { action: InputAction::Decline, content: None };
    played.answer("invocation", &job, InputAnswers::from([(questions[0].key.clone(), no)])).await.unwrap();
    let JobState::Failed(failure) = played.look("invocation", &job).await.unwrap().state else { panic!("it failed") };
    assert_eq!(failure.message, "The answer was no.");
}

/// G3: an awakeable that waits for a machine is no question.
#[tokio::test]
async fn without_a_form_nobody_is_asked() {
    let played = Played::of("restate").await;
    let job = played.start("invocation", of("approval")).await;
    let seen = played.look("invocation", &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("ask")));
}

/// C1: what is refused has started nothing, and says why in Restate's words.
#[tokio::test]
async fn a_throttled_submit_waits_and_unknown_handlers_and_chosen_keys_of_workflows_are_refused() {
    let played = Played::of("restate").await;
    let error = played.submit("invocation", of("busy")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(Duration::from_secs(7))));
    let workflow = json!({ "service": "pipeline", "key": "wf-1", "handler": "run" });
    for (arguments, wanted) in [(of("nope"), "the handler 'nope' was not found"), (workflow, "workflow handlers")] {
        let error = played.submit("invocation", arguments).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Rejected && error.message().contains(wanted), "{error}");
    }
}
