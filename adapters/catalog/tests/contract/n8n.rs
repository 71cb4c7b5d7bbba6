//! n8n: started by a webhook, found in a list, asked by an address that a delivery or the execution gives.

use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{CallContext, CancelOutcome, ErrorKind, InputAction, InputAnswer, JobRef, JobState, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Rig, Scenario, adapter_contract, verified};
use serde_json::{Value, json};

use crate::support::{CALLBACK, Played, rig};

const TOOL: &str = "workflow";

fn of(webhook: &str) -> Value {
    json!({ "webhook": webhook, "workflow_id": "wf1", "input": { "day": "2026-07-28" } })
}

async fn executions() -> HttpRig {
    rig("n8n")
        .await
        .case(Scenario::RunsToEnd, Case::new(TOOL, of("report/day")).expecting("\"rows\":3"))
        .case(Scenario::Fails, Case::new(TOOL, of("broken")).expecting("division by zero"))
        .case(Scenario::RunsLong, Case::new(TOOL, of("slow")))
        .case(Scenario::UnknownWord, Case::new(TOOL, of("odd")).expecting("hibernating"))
        .case(Scenario::WaitsForPerson, Case::new(TOOL, of("gate")).answering(json!({ "approved": true })))
}

adapter_contract!(executions().await);

async fn ended(webhook: &str) -> JobState {
    let played = Played::of("n8n").await;
    let job = played.start(TOOL, of(webhook)).await;
    played.end(TOOL, &job).await.state
}

/// F3: what the last node gave, all of its items; a workflow whose last node gave none gives none.
#[tokio::test]
async fn the_last_nodes_items_are_the_result() {
    let JobState::Succeeded(output) = ended("report/day").await else { panic!("it ended well") };
    assert_eq!(
        output.data.unwrap(),
        json!({ "execution": "1", "last_node": "Summary", "output": [{ "rows": 3 }, { "rows": 4 }] })
    );
    let JobState::Succeeded(output) = ended("empty").await else { panic!("it ended well") };
    assert_eq!(output.data.unwrap()["output"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_crash_has_no_error_to_tell() {
    let JobState::Failed(failure) = ended("crashed").await else { panic!("it failed") };
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("the execution ended as crashed", Some("crashed")));
    let played = Played::of("n8n").await;
    let job = played.start(TOOL, of("unsure")).await;
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Running);
}

/// D4, F6: a start whose answer names no execution is found by the header that it kept, page after page.
#[tokio::test]
async fn an_execution_is_found_in_the_list() {
    let played = Played::of("n8n").await;
    let error = played.submit(TOOL, of("mute")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    let arguments = json!({ "webhook": "mute", "workflow_id": "mute" });
    assert_eq!(played.find_with(TOOL, arguments).await.unwrap(), Some(JobRef::new("110")));
    assert_eq!(played.find_with(TOOL, of("slow")).await.unwrap(), None);
    let cx = CallContext { arguments: Arc::new(of("slow").as_object().unwrap().clone()), ..played.context(TOOL) };
    played.rig().pass_time(Duration::from_mins(5)).await;
    let error = played.adapter().find(&cx, &cx.key).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "what runs may not be listed, so nothing is started again");
    let asked = played.rig().requests().await;
    let details = asked.iter().filter(|it| it.url.path() == "/api/v1/executions/40").count();
    assert_eq!(details, 0, "one that began long before is not asked about");
}

/// G3: without an address nobody can answer; then it waits for a time.
#[tokio::test]
async fn a_wait_for_a_time_asks_nobody() {
    let played = Played::of("n8n").await;
    let job = played.start(TOOL, of("timed")).await;
    let seen = played.look(TOOL, &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("Waits until 2026-07-28T18:00:00.000Z.")));
}

/// G3: the execution itself may keep the question and where its answer goes.
#[tokio::test]
async fn a_question_kept_with_the_execution() {
    let played = Played::of("n8n").await;
    let job = played.start(TOOL, of("gate")).await;
    played.look(TOOL, &job).await.unwrap();
    let seen = played.look(TOOL, &job).await.unwrap();
    let JobState::InputRequired(questions) = &seen.state else { panic!("it asks: {seen:?}") };
    assert_eq!(questions[0].message, "May Ada have a laptop?");
    let no = InputAnswer { action: InputAction::Decline, content: None };
    played.adapter().provide(&played.context(TOOL), &job, &[(questions[0].key.clone(), no)].into()).await.unwrap();
    let JobState::Failed(failure) = played.end(TOOL, &job).await.state else { panic!("a no stops it") };
    assert_eq!(failure.message, "nobody agreed");
}

/// G4, G8: the address of an answer comes by delivery to the job's own address; it is a secret, and only an answer uses it.
#[tokio::test]
async fn an_answers_address_comes_by_delivery() {
    let mut played = Played::of("n8n").await;
    played.deliver_to(CALLBACK);
    let job = played.start(TOOL, of("told")).await;
    let sent = played.rig().requests().await;
    assert_eq!(sent[0].headers["x-jobgate-callback"], CALLBACK);
    played.look(TOOL, &job).await.unwrap();
    assert_eq!(played.look(TOOL, &job).await.unwrap().state, JobState::Running, "nobody knows yet where an answer goes");

    let resume = format!("{}/webhook-waiting/9?signature=5f1e8c0d9ab2", played.rig().url());
    let body = json!({ "executionId": 9, "resumeUrl": resume }).to_string();
    let told = played.adapter().read(&played.context(TOOL), &job, &verified(body.as_bytes())).unwrap().unwrap();
    assert_eq!(told.state, JobState::Running);
    let job = told.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
    let seen = played.look(TOOL, &job).await.unwrap();
    let JobState::InputRequired(questions) = &seen.state else { panic!("it asks: {seen:?}") };
    assert!(!format!("{seen:?}").contains("5f1e8c0d9ab2"), "{seen:?}");
    let yes = InputAnswer { action: InputAction::Accept, content: Some(json!({ "approved": true, "note": "the small one" })) };
    played.adapter().provide(&played.context(TOOL), &job, &[(questions[0].key.clone(), yes)].into()).await.unwrap();
    let JobState::Succeeded(output) = played.end(TOOL, &job).await.state else { panic!("it went on") };
    assert_eq!(output.data.unwrap()["output"], json!([{ "ordered": "laptop" }]));
}

/// B6: an address elsewhere is none that an answer, or the key, goes to.
#[tokio::test]
async fn no_answer_goes_elsewhere() {
    let played = Played::of("n8n").await;
    let job = played.start(TOOL, of("told")).await;
    played.look(TOOL, &job).await.unwrap();
    let job = job.with("resume_url", "https://attacker.example/webhook-waiting/9");
    let seen = played.look(TOOL, &job).await.unwrap();
    let JobState::InputRequired(questions) = &seen.state else { panic!("it asks: {seen:?}") };
    let yes = InputAnswer { action: InputAction::Accept, content: Some(json!({ "approved": true })) };
    let error =
        played.adapter().provide(&played.context(TOOL), &job, &[(questions[0].key.clone(), yes)].into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
}

#[tokio::test]
async fn what_n8n_refuses_is_told_and_what_has_ended_is_left_alone() {
    let played = Played::of("n8n").await;
    let error = played.submit(TOOL, of("busy")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(Duration::from_secs(7))));
    let error = played.submit(TOOL, of("inactive")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert!(error.message().contains("is not registered"), "{error}");
    assert_eq!(played.submit(TOOL, of("locked")).await.unwrap_err().kind(), ErrorKind::Unauthorized);
    let job = played.start(TOOL, of("crashed")).await;
    assert_eq!(played.cancel(TOOL, &job).await.unwrap(), CancelOutcome::AlreadyEnded);
    // A version that cannot stop executions.
    let job = played.start(TOOL, of("unsure")).await;
    assert_eq!(played.cancel(TOOL, &job).await.unwrap(), CancelOutcome::Refused);
}
