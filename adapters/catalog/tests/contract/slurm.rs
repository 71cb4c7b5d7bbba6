//! Slurm by slurmrestd: 500 for nearly everything, numbers that say why, and states in two forms.

use std::time::Duration;

use jobgate_adapter_api::{
    AdapterError, CallContext, CancelOutcome, ErrorKind, IdempotencyKey, InputKind, JobFailure, JobRef, JobState, Observation,
    Retry,
};
use jobgate_adapter_testkit::{Case, HttpRig, Rig as _, SECRET_REF, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn named(name: &str) -> Value {
    json!({ "name": name, "script": "#!/bin/sh\necho answer=42\n" })
}

fn held(name: &str) -> Value {
    json!({ "name": name, "script": "#!/bin/sh\ntrue\n", "hold": true })
}

async fn batch_jobs() -> HttpRig {
    rig("slurm")
        .await
        .case(Scenario::RunsToEnd, Case::new("batch_job", named("good")).expecting("/scratch/1.out"))
        .case(Scenario::Fails, Case::new("batch_job", named("exit")).expecting("exit code 3"))
        .case(Scenario::RunsLong, Case::new("batch_job", named("long")))
        .case(Scenario::UnknownWord, Case::new("batch_job", named("odd")).expecting("HIBERNATING"))
        .case(Scenario::WaitsForPerson, Case::new("batch_job", held("held")).answering(json!({})))
}

adapter_contract!(batch_jobs().await);

/// A job of one call, looked at until it has ended.
async fn ended(played: &Played, arguments: Value) -> Observation {
    let job = played.start("batch_job", arguments).await;
    played.end("batch_job", &job).await
}

fn failure(seen: Observation) -> JobFailure {
    let JobState::Failed(failure) = seen.state else { panic!("it failed: {:?}", seen.state) };
    failure
}

/// Of a wait status people and models see the exit code or the signal.
#[tokio::test]
async fn a_wait_status_is_taken_apart() {
    let played = Played::of("slurm").await;
    let long = json!({ "name": "late", "script": "#!/bin/sh\nsleep 9999\n", "minutes": 10 });
    for (arguments, message) in [
        (named("exit"), "The job ended as FAILED (NonZeroExitCode), exit code 3."),
        (named("killed"), "The job ended as FAILED (JobLaunchFailure), signal 9."),
        (named("core"), "The job ended as FAILED (NonZeroExitCode), signal 11."),
        (long, "The job ended as TIMEOUT (TimeLimit), signal 15."),
        (named("lost-node"), "The job ended as NODE_FAIL (NodeDown)."),
    ] {
        assert_eq!(failure(ended(&played, arguments).await).message, message);
    }
}

/// A7: from v0.0.39 on environments are lists, from v0.0.40 on states are lists and numbers wear a wrapper.
#[tokio::test]
async fn a_slurmrestd_of_today_is_spoken_to_in_its_own_words() {
    let played = Played::over(of_version("v0.0.44").await);
    let with_limit = |name: &str| json!({ "name": name, "script": "#!/bin/sh\ntrue\n", "minutes": 10 });
    let JobState::Succeeded(output) = ended(&played, with_limit("good")).await.state else { panic!("it ended well") };
    let data = output.data.unwrap();
    assert_eq!((&data["output"], &data["ended_at"]), (&json!("/scratch/40.out"), &json!("2026-07-28T12:00:03Z")));
    let said = failure(ended(&played, with_limit("exit")).await).message;
    assert_eq!(said, "The job ended as FAILED (NonZeroExitCode), exit code 3.");
    let said = failure(ended(&played, with_limit("killed")).await).message;
    assert_eq!(said, "The job ended as FAILED (RaisedSignal), signal 9.");
}

async fn of_version(version: &'static str) -> HttpRig {
    rig("slurm")
        .await
        .provider(move |url| json!({ "base_url": url, "api_version": version, "user": "render", "token": SECRET_REF }))
}

/// E4, G9: one code, and a number in the body that says what it means.
#[tokio::test]
async fn one_code_says_everything() {
    let played = Played::of("slurm").await;
    let mut found = Vec::new();
    for name in ["nowhere", "unclear", "full", "cut-off", "unsure", "stranger", "busy"] {
        found.push(played.submit("batch_job", named(name)).await.unwrap_err());
    }
    let kinds: Vec<ErrorKind> = found.iter().map(AdapterError::kind).collect();
    let wanted = [
        ErrorKind::Rejected,
        ErrorKind::Rejected,
        ErrorKind::RateLimited,
        ErrorKind::Unavailable,
        ErrorKind::OutcomeUnknown,
        ErrorKind::Unauthorized,
        ErrorKind::RateLimited,
    ];
    assert_eq!(kinds, wanted, "{found:?}");
    assert_eq!(found[0].message(), "Invalid partition name specified");
    assert!(found[1].message().contains("Unknown key"), "{}", found[1]);
    assert_eq!(found[6].retry(), Retry::After(Duration::from_secs(7)));
    // A 500 that does not say why is no unknown job.
    let gone = played.look("batch_job", &JobRef::new("901")).await.unwrap_err();
    let unclear = played.look("batch_job", &JobRef::new("900")).await.unwrap_err();
    assert_eq!((gone.kind(), unclear.kind()), (ErrorKind::NotFound, ErrorKind::Unavailable));
    let error = Played::over(of_version("v0.0.99").await).submit("batch_job", named("good")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Rejected && error.message().contains("api_version"), "{error}");
}

/// G3, G5: a held job is a question without a form; a no stops it.
#[tokio::test]
async fn a_held_job_asks_to_be_released() {
    let played = Played::of("slurm").await;
    let job = played.start("batch_job", held("unwanted")).await;
    let JobState::InputRequired(questions) = played.look("batch_job", &job).await.unwrap().state else { panic!("it is held") };
    assert_eq!((questions.len(), questions[0].message.as_str()), (1, "The job unwanted is held. May it start?"));
    let InputKind::Form { schema } = &questions[0].kind else { panic!("it is a form") };
    assert_eq!(schema["properties"], json!({}));
    assert_eq!(played.cancel("batch_job", &job).await.unwrap(), CancelOutcome::Requested);
    assert!(matches!(played.look("batch_job", &job).await.unwrap().state, JobState::Cancelled), "it was stopped");
    // Held by an administrator: nobody here can release it.
    let job = played.start("batch_job", named("barred")).await;
    let seen = played.look("batch_job", &job).await.unwrap();
    assert!(matches!(seen.state, JobState::Queued) && seen.message.as_deref() == Some("Waiting: JobHeldAdmin"), "{seen:?}");
}

/// E9: what Slurm takes although it can never start it is given up, with a word on where it still is.
#[tokio::test]
async fn a_job_that_can_never_start_is_given_up() {
    let played = Played::of("slurm").await;
    let job = played.start("batch_job", named("huge")).await;
    let seen = played.look("batch_job", &job).await.unwrap();
    assert_eq!(seen.message.as_deref(), Some("Cannot start as it is: PartitionNodeLimit"));
    let job = seen.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
    played.rig().pass_time(Duration::from_secs(3599)).await;
    assert!(matches!(played.look("batch_job", &job).await.unwrap().state, JobState::Queued));
    played.rig().pass_time(Duration::from_secs(1)).await;
    let said = failure(played.look("batch_job", &job).await.unwrap()).message;
    assert_eq!(said, "Slurm cannot start the job (PartitionNodeLimit); it is still in the queue there, as job 30");
}

/// D4: the key is in the comment. Slurm forgets jobs soon after their end, and from then on a missing one is no proof.
#[tokio::test]
async fn a_job_is_found_by_its_comment_for_as_long_as_slurm_remembers() {
    let played = Played::of("slurm").await;
    assert_eq!(played.find("batch_job").await.unwrap().unwrap().id(), "12");
    let long_ago = played.context("batch_job").started_at;
    played.rig().pass_time(Duration::from_secs(301)).await;
    let at =
        |key: &str| CallContext { key: IdempotencyKey::new(key.to_owned()), started_at: long_ago, ..played.context("batch_job") };
    let found = played.find_as(&at("6a6f6267617465000000000000000001")).await.unwrap();
    assert_eq!(found.unwrap().id(), "12", "it is there, however long ago it was submitted");
    let error = played.find_as(&at("6a6f6267617465000000000000000002")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
}
