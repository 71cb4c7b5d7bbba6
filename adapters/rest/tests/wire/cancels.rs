//! How a job is stopped: by its phase, after a look, part by part, and in a harder way (C7, G1 and G2 of providers-workflow.md).

use std::time::Duration;

use crate::support::{Bench, answer, with};
use jobgate_adapter_api::{CancelOutcome, CancelWish, ErrorKind, JobRef, Timestamp};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use serde_json::{Value, json};

fn with_cancel(cancel: Value) -> Value {
    with(|job| {
        job["submit"]["job"]["handles"] = json!({ "build": "{{ body.build }}" });
        job["status"]["rules"] = json!([
            { "is": ["queued"], "state": "queued" },
            { "is": ["running"], "state": "running" },
            { "is": ["done"], "state": "succeeded" },
        ]);
        job["cancel"] = cancel;
    })
}

/// The outcome of a cancel, and what the provider was asked for.
async fn cancel(
    words: Value,
    job: JobRef,
    escalated: Option<bool>,
    route: impl Fn(&str, &str) -> ResponseTemplate + Send + Sync + 'static,
) -> (Result<CancelOutcome, ErrorKind>, Vec<String>) {
    let answer = move |request: &Request| route(request.method.as_str(), request.url.path());
    let mut bench = Bench::routed(with_cancel(words), answer).await;
    bench.cx.cancel = escalated.map(|escalated| CancelWish { requested_at: Timestamp::from_millis(0), escalated });
    let outcome = bench.adapter().cancel(&bench.cx, &job).await.map_err(|error| error.kind());
    (outcome, bench.paths().await)
}

fn done(_: &str, _: &str) -> ResponseTemplate {
    ResponseTemplate::new(204)
}

/// G1: what is queued is taken out of the queue, what runs is stopped; the first way that fits is taken, and where none fits the cancel
/// is refused without a word to the provider.
#[tokio::test]
async fn a_job_is_stopped_by_its_phase() {
    let ways = json!({ "ways": [
        { "when": "job.handles.build is defined", "request": { "method": "POST", "path": "/builds/{{ job.handles.build }}/stop" } },
        { "when": "job.id != '2'", "request": { "method": "DELETE", "path": "/queue/{{ job.id }}" }, "already_ended": [404], "refused": [409] },
    ]});
    let asked = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
    let (outcome, paths) = cancel(ways.clone(), JobRef::new("1").with("build", "17"), None, done).await;
    assert_eq!((outcome, paths), (Ok(CancelOutcome::Requested), asked(&["/v1/builds/17/stop"])));
    for (status, wanted) in [
        (204, Ok(CancelOutcome::Requested)),
        (404, Ok(CancelOutcome::AlreadyEnded)),
        (409, Ok(CancelOutcome::Refused)),
        (500, Err(ErrorKind::Unavailable)),
    ] {
        let (outcome, paths) = cancel(ways.clone(), JobRef::new("1"), None, move |_, _| ResponseTemplate::new(status)).await;
        assert_eq!((outcome, paths), (wanted, asked(&["/v1/queue/1"])));
    }
    assert_eq!(cancel(ways, JobRef::new("2"), None, done).await, (Ok(CancelOutcome::Refused), Vec::new()));
}

/// G1: where a cancel of a finished job destroys what it made, the job is looked at first.
#[tokio::test]
async fn a_job_that_has_ended_is_told_nothing_where_it_is_looked_at_first() {
    let words = json!({
        "look": true,
        "ways": [
            { "when": "word == 'queued'", "request": { "method": "DELETE", "path": "/queue/{{ job.id }}" } },
            { "request": { "method": "DELETE", "path": "/jobs/{{ body.number }}" } },
        ],
    });
    for (status, wanted, told) in [
        ("done", CancelOutcome::AlreadyEnded, None),
        ("queued", CancelOutcome::Requested, Some("/v1/queue/1")),
        ("running", CancelOutcome::Requested, Some("/v1/jobs/5")),
    ] {
        let route = move |method: &str, _: &str| match method {
            "GET" => answer(200, json!({ "status": status, "number": 5 })),
            _ => ResponseTemplate::new(204),
        };
        let (outcome, paths) = cancel(words.clone(), JobRef::new("1"), None, route).await;
        assert_eq!((outcome, paths.get(1).map(String::as_str)), (Ok(wanted), told));
    }
    let (outcome, paths) = cancel(words, JobRef::new("1"), None, |_, _| ResponseTemplate::new(404)).await;
    assert_eq!((outcome, paths.len()), (Err(ErrorKind::NotFound), 1));
}

/// C7: a job of several parts is stopped part by part; all are told, also after one that fails, and no part is left out in silence.
#[tokio::test]
async fn a_job_of_several_parts_is_stopped_part_by_part() {
    let words = json!({
        "steps": [{ "name": "parts", "request": { "path": "/jobs/{{ job.id }}/parts" }, "value": "{{ body.parts }}" }],
        "ways": [{
            "each": "{{ steps.parts }}",
            "most": 3,
            "request": { "method": "POST", "path": "/parts/{{ item.id }}/stop" },
            "already_ended": [409],
            "refused": [403],
        }],
    });
    let parts = |codes: &'static [u16]| {
        move |method: &str, path: &str| match method {
            "GET" => answer(200, json!({ "parts": (0..codes.len()).map(|id| json!({ "id": id })).collect::<Vec<_>>() })),
            _ => ResponseTemplate::new(codes[path.split('/').nth(3).unwrap().parse::<usize>().unwrap()]),
        }
    };
    for (codes, wanted, calls) in [
        (&[204, 409, 204][..], Ok(CancelOutcome::Requested), 4),
        (&[409, 404], Ok(CancelOutcome::AlreadyEnded), 3),
        (&[409, 403], Ok(CancelOutcome::Refused), 3),
        (&[503, 204], Err(ErrorKind::Unavailable), 3),
        (&[], Err(ErrorKind::Unavailable), 1),
        (&[204, 204, 204, 204], Err(ErrorKind::Protocol), 1),
    ] {
        let (outcome, paths) = cancel(words.clone(), JobRef::new("1"), None, parts(codes)).await;
        assert_eq!((outcome, paths.len()), (wanted, calls), "{codes:?}");
    }
}

/// G2: a job that took the cancel and runs on is told in the harder way, and only then.
#[tokio::test]
async fn the_harder_way_is_taken_when_the_engine_says_so() {
    let words = json!({
        "request": { "method": "POST", "path": "/jobs/{{ job.id }}/cancel" },
        "escalate": { "after": "2m", "request": { "method": "POST", "path": "/jobs/{{ job.id }}/force-cancel" }, "already_ended": [409] },
    });
    for (escalated, wanted) in [(None, "cancel"), (Some(false), "cancel"), (Some(true), "force-cancel")] {
        let (outcome, paths) = cancel(words.clone(), JobRef::new("1"), escalated, done).await;
        assert_eq!((outcome, paths), (Ok(CancelOutcome::Requested), vec![format!("/v1/jobs/1/{wanted}")]));
    }
    let (outcome, _) = cancel(words.clone(), JobRef::new("1"), Some(true), |_, _| ResponseTemplate::new(409)).await;
    assert_eq!(outcome, Ok(CancelOutcome::AlreadyEnded));
    let bench = Bench::new(with_cancel(words), vec![ResponseTemplate::new(204)]).await;
    assert_eq!(bench.adapter().capabilities("t").escalates_after, Some(Duration::from_secs(120)));
    let plain = json!({ "request": { "method": "DELETE", "path": "/jobs/{{ job.id }}" } });
    let (outcome, paths) = cancel(plain, JobRef::new("1"), Some(true), done).await;
    assert_eq!((outcome, paths), (Ok(CancelOutcome::Requested), vec!["/v1/jobs/1".to_owned()]));
}
