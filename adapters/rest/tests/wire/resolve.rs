//! Jobs whose submit names a place in a queue: what they become is asked for until it is known.

use std::time::Duration;

use crate::support::{Bench, answer, issues, with};
use jobgate_adapter_api::{JobRef, JobState, Observation};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use serde_json::{Value, json};

/// What makes right words wrong.
type Change<'a> = &'a dyn Fn(&mut Value);

/// A queue item becomes a build, and a build has a run.
fn queued() -> Value {
    with(|job| {
        job["status"]["resolve"] = json!([
            {
                "handle": "build",
                "request": { "path": "/queue/{{ job.id }}" },
                "value": "{{ body.executable.number }}",
                "handles": { "place": "{{ body.executable.url }}" },
                "rules": [
                    { "when": "body.cancelled", "state": "cancelled", "message": "left the queue" },
                    { "when": "body.why is defined", "state": "queued", "message": "{{ body.why }}" },
                ],
                "within": "10m",
                "late": "no build began within 10 minutes",
            },
            { "handle": "run", "request": { "path": "/builds/{{ job.handles.build }}" }, "value": "{{ body.run }}" },
        ]);
        job["status"]["request"] = json!({ "path": "/runs/{{ job.handles.run }}" });
        job["status"]["message"] = json!("{{ job.handles.place }}");
    })
}

/// The job as the gateway keeps it after a look.
fn learned(job: &JobRef, seen: &Observation) -> JobRef {
    seen.learned.iter().fold(job.clone(), |job, (name, value)| job.with(name, value))
}

fn all_there(request: &Request) -> ResponseTemplate {
    match request.url.path() {
        "/v1/queue/7" => answer(200, json!({ "executable": { "number": 41, "url": "a/41" } })),
        "/v1/builds/41" => answer(200, json!({ "run": "r9" })),
        _ => answer(200, json!({ "status": "busy" })),
    }
}

/// C4, C5: what the submit could not name is asked for in order, in one look with the status, and never again.
#[tokio::test]
async fn what_a_job_becomes_is_asked_for_until_it_is_known() {
    let bench = Bench::routed(queued(), all_there).await;
    let job = JobRef::new("7");
    let seen = bench.poll(&job).await.unwrap();
    assert_eq!((&seen.state, seen.message.as_deref()), (&JobState::Unrecognized("busy".to_owned()), Some("a/41")));
    assert_eq!(bench.paths().await, ["/v1/queue/7", "/v1/builds/41", "/v1/runs/r9"]);
    let job = learned(&job, &seen);
    assert_eq!(job, JobRef::new("7").with("build", "41").with("place", "a/41").with("run", "r9"));
    bench.poll(&job).await.unwrap();
    assert_eq!(bench.paths().await[3..], ["/v1/runs/r9"]);
}

/// C4: before that the job is queued, whether the provider says why or does not know it yet; what was learned is kept.
#[tokio::test]
async fn a_job_waits_in_the_queue() {
    for (given, message) in [
        (answer(404, json!({})), None),
        (answer(200, json!({})), None),
        (answer(200, json!({ "why": "all agents are busy" })), Some("all agents are busy")),
    ] {
        let bench = Bench::new(queued(), vec![given]).await;
        let seen = bench.poll(&JobRef::new("7")).await.unwrap();
        assert_eq!((seen.state, seen.message.as_deref()), (JobState::Queued, message));
        assert_eq!(bench.count().await, 1);
    }
    let bench = Bench::routed(queued(), |request| match request.url.path() {
        "/v1/builds/41" => answer(200, json!({})).insert_header("retry-after", "7"),
        _ => all_there(request),
    })
    .await;
    let seen = bench.poll(&JobRef::new("7")).await.unwrap();
    assert_eq!((&seen.state, seen.next_poll), (&JobState::Queued, Some(Duration::from_secs(7))));
    bench.poll(&learned(&JobRef::new("7"), &seen)).await.unwrap();
    assert_eq!(bench.paths().await, ["/v1/queue/7", "/v1/builds/41", "/v1/builds/41"]);
}

/// C4: a job may end before it is anything else.
#[tokio::test]
async fn a_job_is_cancelled_in_the_queue() {
    let bench = Bench::new(queued(), vec![answer(200, json!({ "cancelled": true }))]).await;
    let seen = bench.poll(&JobRef::new("7")).await.unwrap();
    assert_eq!((seen.state, seen.message.as_deref()), (JobState::Cancelled, Some("left the queue")));
}

/// C4, E9: one that waits for too long has failed, over restarts as well; where it is found in time, nothing is late.
#[tokio::test]
async fn a_job_that_waits_for_too_long_has_failed() {
    let bench = Bench::new(queued(), vec![answer(404, json!({}))]).await;
    let mut job = JobRef::new("7");
    for minutes in [0, 5, 4] {
        bench.advance(Duration::from_secs(minutes * 60)).await;
        let seen = bench.poll(&job).await.unwrap();
        assert_eq!(seen.state, JobState::Queued);
        job = learned(&job, &seen);
    }
    bench.advance(Duration::from_secs(60)).await;
    let JobState::Failed(failure) = bench.poll(&job).await.unwrap().state else { panic!("10 minutes are over") };
    assert_eq!(failure.message, "no build began within 10 minutes");

    let there = Bench::routed(queued(), all_there).await;
    there.advance(Duration::from_secs(600)).await;
    assert!(!there.poll(&job).await.unwrap().state.is_terminal());
}

#[test]
fn a_wrong_resolve_is_named() {
    let found = |change: &dyn Fn(&mut Value)| {
        let mut job = queued();
        change(&mut job["status"]);
        issues(job).join("\n")
    };
    let cases: [(Change<'_>, &str); 6] = [
        (
            &|status| status["resolve"][0]["rules"][0]["state"] = json!("succeeded"),
            "resolve[0].rules[0].state: before `build` is known a job is",
        ),
        (&|status| status["resolve"][0]["rules"][0]["is"] = json!(["x"]), "resolve[0].rules[0].is: there is no status word here"),
        (
            &|status| status["resolve"][0]["within"] = Value::Null,
            "resolve[0].late: `late` says why a job that takes longer has failed",
        ),
        (&|status| status["resolve"][0]["handle"] = json!("_build"), "`_build`: names that begin with `_` are the adapter's own"),
        (&|status| status["resolve"][1]["value"] = json!("{{ bdy.run }}"), "resolve[1].value: `bdy` does not exist here"),
        (&|status| status["request"] = Value::Null, "status: what is resolved is for the status request, and there is none"),
    ];
    for (change, wanted) in cases {
        assert!(found(change).contains(wanted), "{wanted}: {}", found(change));
    }
}
