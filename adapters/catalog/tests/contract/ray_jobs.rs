//! Ray: jobs under an id of the gateway's own.

use jobgate_adapter_api::{ErrorKind, JobState, Part, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn of(entrypoint: &str) -> Value {
    json!({ "entrypoint": entrypoint })
}

async fn jobs() -> HttpRig {
    rig("ray_jobs")
        .await
        .case(Scenario::RunsToEnd, Case::new("job", of("python ok.py")).expecting("rows: 3"))
        .case(Scenario::Fails, Case::new("job", of("python fail.py")).expecting("exit code 1"))
        .case(Scenario::RunsLong, Case::new("job", of("python long.py")))
        .case(Scenario::UnknownWord, Case::new("job", of("python odd.py")).expecting("HIBERNATING"))
        .without(Scenario::WaitsForPerson, "a job asks nobody anything")
}

adapter_contract!(jobs().await);

/// D2: a 500 may mean that the job is there, and the id tells.
#[tokio::test]
async fn a_used_id_is_no_second_job() {
    let played = Played::of("ray_jobs").await;
    let job = played.start("job", of("python long.py")).await;
    assert_eq!(job.id(), "jobgate-6a6f6267617465000000000000000001");
    assert_eq!(played.submit("job", of("python long.py")).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
}

/// F5: a log that comes whole.
#[tokio::test]
async fn a_failed_job_shows_the_end_of_its_log() {
    let played = Played::of("ray_jobs").await;
    let job = played.start("job", of("python fail.py")).await;
    let JobState::Failed(failure) = played.end("job", &job).await.state else { panic!("it failed") };
    assert_eq!(failure.code.as_deref(), Some("JOB_ENTRYPOINT_COMMAND_ERROR"));
    let log = failure.output.parts.iter().any(|part| matches!(part, Part::Text(text) if text.contains("ZeroDivisionError")));
    assert!(log, "{failure:?}");
}

#[tokio::test]
async fn refusals_are_the_last_line_of_a_traceback() {
    let played = Played::of("ray_jobs").await;
    let error = played.submit("job", of("python invalid.py")).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Rejected, "TypeError: runtime_env must be a dict"));
    let error = played.submit("job", of("python busy.py")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(std::time::Duration::from_secs(7))));
}
