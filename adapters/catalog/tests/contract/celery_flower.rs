//! Celery through Flower.

use jobgate_adapter_api::{ErrorKind, JobState, Progress, Retry};
use jobgate_adapter_testkit::{Case, HttpRig, Scenario, adapter_contract};
use serde_json::{Value, json};

use crate::support::{Played, rig};

fn of(task: &str) -> Value {
    json!({ "task": task })
}

async fn tasks() -> HttpRig {
    rig("celery_flower")
        .await
        .secret_also_as("am9iZ2F0ZTpraXQtc2VjcmV0LTlmMmM3MWQ0YWI=")
        .case(Scenario::RunsToEnd, Case::new("task", of("acme.ok")).expecting("\"rows\":3"))
        .case(Scenario::Fails, Case::new("task", of("acme.fail")).expecting("division by zero"))
        .case(Scenario::RunsLong, Case::new("task", of("acme.long")))
        .case(Scenario::UnknownWord, Case::new("task", of("acme.odd")).expecting("HIBERNATING"))
        .without(Scenario::WaitsForPerson, "a Celery task asks nobody anything")
}

adapter_contract!(tasks().await);

/// Gotcha 10, E8: one word for two things.
#[tokio::test]
async fn a_pending_task_counts_only_where_flower_has_seen_it() {
    let played = Played::of("celery_flower").await;
    let waiting = played.start("task", of("acme.waiting")).await;
    assert_eq!(played.look("task", &waiting).await.unwrap().state, JobState::Queued);
    let unseen = played.start("task", of("acme.unseen")).await;
    assert_eq!(played.look("task", &unseen).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn counts_of_the_application_are_shown() {
    let played = Played::of("celery_flower").await;
    let job = played.start("task", of("acme.ok")).await;
    played.look("task", &job).await.unwrap();
    assert_eq!(played.look("task", &job).await.unwrap().progress, Some(Progress { done: 2.0, total: Some(5.0) }));
}

#[tokio::test]
async fn a_throttled_submit_waits_and_a_forbidden_one_is_said() {
    let played = Played::of("celery_flower").await;
    let error = played.submit("task", of("acme.busy")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(std::time::Duration::from_secs(7))));
    let error = played.submit("task", of("acme.readonly")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    assert!(error.message().contains("read-only mode"), "{error}");
}
