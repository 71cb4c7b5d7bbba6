//! Further requests: made where they are needed, once, and read by what follows.

use crate::support::{Bench, answer, with};
use jobgate_adapter_api::{ErrorKind, JobRef, JobState};
use serde_json::{Value, json};

/// A job whose gates are asked for while it runs.
fn gated() -> Value {
    with(|job| {
        job["status"]["steps"] = json!([{
            "name": "gates",
            "when": "word == 'running'",
            "request": { "path": "/jobs/{{ job.id }}/gates" },
            "missing": [404],
            "value": "{{ body.gates }}",
        }]);
        job["status"]["rules"] = json!([
            { "when": "steps.gates and 'deploy' in steps.gates", "state": "queued", "message": "waits for {{ steps.gates | join(', ') }}" },
            { "is": ["running"], "state": "running" },
            { "is": ["done"], "state": "succeeded" },
        ]);
    })
}

/// E5: a second look is taken only where the first one asks for it.
#[tokio::test]
async fn a_step_is_made_where_its_condition_holds_and_nowhere_else() {
    let running = || answer(200, json!({ "status": "running" }));
    let bench = Bench::new(gated(), vec![running(), answer(200, json!({ "gates": ["deploy", "audit"] }))]).await;
    let seen = bench.poll(&JobRef::new("7")).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Queued, Some("waits for deploy, audit")));
    assert_eq!((bench.count().await, bench.last().await.1), (2, "/v1/jobs/7/gates".to_owned()));

    let bench = Bench::new(gated(), vec![running(), answer(404, json!({}))]).await;
    assert_eq!(bench.poll(&JobRef::new("7")).await.unwrap().state, JobState::Running);

    let bench = Bench::new(gated(), vec![answer(200, json!({ "status": "done" }))]).await;
    assert!(bench.poll(&JobRef::new("7")).await.unwrap().state.is_terminal());
    assert_eq!(bench.count().await, 1, "a job that has ended has no gates to ask for");
}

/// E5: a step that was not made is undefined, and texts have a default for it.
#[tokio::test]
async fn a_step_that_was_not_made_has_a_default() {
    let words = with(|job| {
        job["failure"]["steps"] = json!([{ "name": "why", "when": "word == 'broken'", "request": { "path": "/why" } }]);
        job["failure"]["message"] = json!("{{ (steps.why | default({})).reason | default('nobody knows') }}");
        job["status"]["rules"] = json!([{ "is": ["done"], "state": "succeeded" }, { "is": ["late"], "state": "failed" }]);
    });
    let bench = Bench::new(words, vec![answer(200, json!({ "status": "late" }))]).await;
    let JobState::Failed(failure) = bench.poll(&JobRef::new("7")).await.unwrap().state else { panic!("it failed") };
    assert_eq!((failure.message.as_str(), bench.count().await), ("nobody knows", 1));
}

/// What a step meets is what the look meets.
#[tokio::test]
async fn a_step_that_fails_is_a_failed_look() {
    let bench = Bench::new(gated(), vec![answer(200, json!({ "status": "running" })), answer(503, json!({}))]).await;
    assert_eq!(bench.poll(&JobRef::new("7")).await.unwrap_err().kind(), ErrorKind::Unavailable);
}
