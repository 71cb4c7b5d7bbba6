//! Airflow: runs of DAGs, and the questions of their tasks.

use std::time::Duration;

use jobgate_adapter_api::{
    CancelOutcome, ErrorKind, InputAction, InputAnswer, InputAnswers, InputKind, InputRequest, JobRef, JobState, Progress, Retry,
};
use jobgate_adapter_testkit::{Case, HttpRig, Rig as _, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

const RUN: &str = "jobgate-6a6f6267617465000000000000000001";

fn of(dag: &str) -> Value {
    json!({ "dag": dag, "conf": { "day": "2026-07-28" } })
}

async fn runs() -> HttpRig {
    rig("airflow")
        .await
        .unknown(JobRef::new("no-such-run").with("dag", "ok").with("results", "[]"))
        .case(Scenario::RunsToEnd, Case::new("dag_run", of("ok")).expecting("9007199254740993"))
        .case(Scenario::Fails, Case::new("dag_run", of("broken")).expecting("ZeroDivisionError: division by zero"))
        .case(Scenario::RunsLong, Case::new("dag_run", of("long")))
        .case(Scenario::UnknownWord, Case::new("dag_run", of("odd")).expecting("hibernating"))
        .case(Scenario::WaitsForPerson, Case::new("dag_run", of("gate")).answering(json!({ "chosen_options": "Approve" })))
}

adapter_contract!(runs().await);

/// With what the last look taught.
fn learned(job: JobRef, learned: &std::collections::BTreeMap<String, String>) -> JobRef {
    learned.iter().fold(job, |job, (name, value)| job.with(name, value))
}

async fn questions(played: &Played, job: &JobRef) -> Vec<InputRequest> {
    match played.look("dag_run", job).await.unwrap_or_else(|error| panic!("{error}")).state {
        JobState::InputRequired(questions) => questions,
        state => panic!("it waits for a person, and is {state:?}"),
    }
}

fn answer(key: &str, action: InputAction, content: Value) -> InputAnswers {
    InputAnswers::from([(key.to_owned(), InputAnswer { action, content: Some(content) })])
}

/// C2, D1: the run has our name, and its configuration keeps its types.
#[tokio::test]
async fn a_run_has_our_name_and_typed_configuration() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", json!({ "dag": "ok", "conf": { "rows": 3, "full": false }, "note": "by hand" })).await;
    assert_eq!(job.id(), RUN);
    let sent = played.rig().requests().await;
    let body: Value = serde_json::from_slice(&sent.last().unwrap().body).unwrap();
    let conf = json!({ "rows": 3, "full": false });
    assert_eq!(body, json!({ "dag_run_id": RUN, "logical_date": null, "conf": conf, "note": "by hand" }));
}

/// D2: a conflict is our own run, which is read back.
#[tokio::test]
async fn a_conflict_is_our_own_run() {
    let played = Played::of("airflow").await;
    let first = played.start("dag_run", of("long")).await;
    let again = played.start("dag_run", of("long")).await;
    assert_eq!((first, played.rig().jobs().await.unwrap()), (again, 1));
}

/// B2: a token that has ended is renewed, and the trigger is sent once more.
#[tokio::test]
async fn a_token_that_is_refused_is_renewed() {
    let played = Played::of("airflow").await;
    assert_eq!(played.start("dag_run", of("expired")).await.id(), RUN);
    assert_eq!(played.rig().jobs().await.unwrap(), 1);
}

/// F3: return values, each with its task; one of another run is none of ours.
#[tokio::test]
async fn a_run_gives_what_its_tasks_returned() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", json!({ "dag": "ok", "results": ["load", "extract"] })).await;
    let JobState::Succeeded(output) = played.end("dag_run", &job).await.state else { panic!("it ended well") };
    let data = output.data.unwrap();
    let values = json!([
        { "task": "extract", "map_index": -1, "value": null },
        { "task": "load", "map_index": -1, "value": { "rows": 3, "bytes": 9_007_199_254_740_993_u64 } },
    ]);
    assert_eq!((&data["results"], &data["left_out"]), (&values, &json!(0)));
    assert!(data["page"].as_str().unwrap().ends_with(&format!("/dags/ok/runs/{RUN}")), "{data}");
}

/// F1, F6: tasks are counted over all pages.
#[tokio::test]
async fn progress_counts_tasks_over_pages() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", of("wide")).await;
    let seen = played.look("dag_run", &job).await.unwrap();
    assert_eq!(seen.progress, Some(Progress { done: 101.0, total: Some(120.0) }));
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("part")));
}

/// F5: a failed run names its task and shows the end of that task's last try.
#[tokio::test]
async fn a_failed_run_names_its_task() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", of("broken")).await;
    let JobState::Failed(failure) = played.end("dag_run", &job).await.state else { panic!("it failed") };
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("load failed", Some("failed")));
    assert_eq!(failure.output.data.unwrap()["failed_tasks"], json!(["load"]));
}

/// E6, G1: a run that was stopped is one that failed; one that has ended is left alone.
#[tokio::test]
async fn a_run_that_has_ended_is_not_marked_as_failed() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", of("ok")).await;
    played.end("dag_run", &job).await;
    assert_eq!(played.cancel("dag_run", &job).await.unwrap(), CancelOutcome::AlreadyEnded);
    assert!(played.rig().requests().await.iter().all(|request| request.method != "PATCH"));
}

/// E9: a paused DAG says so, and does not wait for ever.
#[tokio::test]
async fn a_paused_dag_is_told_of_and_given_up() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", of("paused")).await;
    let seen = played.look("dag_run", &job).await.unwrap();
    assert_eq!((&seen.state, seen.message.as_deref()), (&JobState::Queued, Some("the DAG is paused")));
    let job = learned(job, &seen.learned);
    played.rig().pass_time(Duration::from_secs(6 * 3600 + 1)).await;
    let JobState::Failed(failure) = played.look("dag_run", &job).await.unwrap().state else { panic!("it is given up") };
    assert!(failure.message.contains("paused for 6 hours"), "{}", failure.message);
}

/// E7: a run that is cleared goes on under its name, and says so. A server without questions (3.0) is no hindrance.
#[tokio::test]
async fn a_cleared_run_is_followed() {
    let played = Played::of("airflow").await;
    let mut job = played.start("dag_run", of("cleared")).await;
    let mut said = Vec::new();
    for _ in 0..3 {
        let seen = played.look("dag_run", &job).await.unwrap();
        said.push((seen.state, seen.message));
        job = learned(job, &seen.learned);
    }
    let running = |message: &str| (JobState::Running, Some(message.to_owned()));
    assert_eq!(said, [running("load"), (JobState::Queued, None), running("was cleared and runs anew")]);
    assert!(matches!(played.end("dag_run", &job).await.state, JobState::Succeeded(_)));
}

/// G3: a question for each task that waits.
#[tokio::test]
async fn every_task_that_waits_asks() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", of("gate")).await;
    let asked = questions(&played, &job).await;
    let said: Vec<(&str, &str)> = asked.iter().map(|it| (it.key.as_str(), it.message.as_str())).collect();
    assert_eq!(said, [("approve.0.1", "Deploy to staging?"), ("approve.1.1", "Deploy to production? 42 changes")]);
    let InputKind::Form { schema } = &asked[1].kind else { panic!("it is a form") };
    let choice = json!({ "type": "string", "title": "Choice", "enum": ["Approve", "Reject"], "default": "Reject" });
    assert_eq!(schema["properties"], json!({ "chosen_options": choice }));
}

/// G3: params are fields; what is not filled in goes back as it was.
#[tokio::test]
async fn params_are_fields_of_the_form() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", of("form")).await;
    let asked = questions(&played, &job).await;
    let InputKind::Form { schema } = &asked[0].kind else { panic!("it is a form") };
    let fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["chosen_options", "day", "size"]);
    let content = json!({ "chosen_options": ["orders", "customers"], "day": "2026-08-01" });
    played.answer("dag_run", &job, answer(&asked[0].key, InputAction::Accept, content)).await.unwrap();
    assert!(matches!(played.end("dag_run", &job).await.state, JobState::Succeeded(_)));
}

/// G3: a no is `Reject` where that is an option; else the run ends.
#[tokio::test]
async fn a_no_rejects_or_ends_the_run() {
    let played = Played::of("airflow").await;
    let mut ends = Vec::new();
    for dag in ["late", "form"] {
        let job = played.start("dag_run", of(dag)).await;
        let asked = questions(&played, &job).await;
        played.answer("dag_run", &job, answer(&asked[0].key, InputAction::Decline, json!({}))).await.unwrap();
        ends.push(played.look("dag_run", &job).await.unwrap().state.is_terminal());
    }
    assert_eq!((ends, played.rig().answers().await.unwrap()), (vec![false, true], 2));
}

/// G3: what was answered elsewhere is no fault, and what only others may answer is not asked.
#[tokio::test]
async fn answered_elsewhere_and_asked_of_others() {
    let played = Played::of("airflow").await;
    let job = played.start("dag_run", of("late")).await;
    let asked = questions(&played, &job).await;
    let yes = answer(&asked[0].key, InputAction::Accept, json!({ "chosen_options": "Approve" }));
    played.answer("dag_run", &job, yes).await.unwrap();
    assert_eq!(played.rig().answers().await.unwrap(), 0);
    let job = played.start("dag_run", of("theirs")).await;
    let seen = played.look("dag_run", &job).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Running, Some("Deploy, Alice?")));
}

#[tokio::test]
async fn refusals_say_what_airflow_says() {
    let played = Played::of("airflow").await;
    for (dag, kind, said) in [
        ("missing", ErrorKind::Rejected, "DAG with dag_id: 'missing' not found"),
        ("strict", ErrorKind::Rejected, "Invalid input for param day: 'x' is not a 'date'"),
        ("typed", ErrorKind::Rejected, "Input should be a valid dictionary"),
        ("busy", ErrorKind::RateLimited, "slow down"),
    ] {
        let error = played.submit("dag_run", of(dag)).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, said));
        let wait = if dag == "busy" { Retry::After(Duration::from_secs(7)) } else { Retry::Never };
        assert_eq!(error.retry(), wait, "{dag}");
    }
}
