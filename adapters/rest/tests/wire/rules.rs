//! From what a provider says to a state: tuples, predicates, places in lists, codes, what is remembered, and limits of time
//! (E1 to E4, E6 to E9 of providers-workflow.md).

use std::time::Duration;

use crate::support::{Bench, answer, with};
use jobgate_adapter_api::{CancelWish, ErrorKind, JobRef, JobState, Observation, Timestamp};
use jobgate_adapter_testkit::ResponseTemplate;
use serde_json::{Value, json};

fn with_rules(rules: Value) -> Value {
    with(|job| job["status"]["rules"] = rules)
}

/// The word for a state, so that a table can be read.
fn word(state: &JobState) -> String {
    match state {
        JobState::Queued => "queued".to_owned(),
        JobState::Running => "running".to_owned(),
        JobState::InputRequired(_) => "asks".to_owned(),
        JobState::Succeeded(_) => "succeeded".to_owned(),
        JobState::Failed(failure) => format!("failed: {}", failure.message),
        JobState::Cancelled => "cancelled".to_owned(),
        JobState::Gone => "gone".to_owned(),
        JobState::Unrecognized(word) => format!("unrecognized: {word}"),
    }
}

async fn look(job: Value, given: ResponseTemplate) -> String {
    let bench = Bench::new(job, vec![given]).await;
    match bench.poll(&JobRef::new("1")).await {
        Ok(seen) => word(&seen.state),
        Err(error) => error.kind().as_str().to_owned(),
    }
}

/// E1, E2: the first rule over several fields decides (a build that is blocked says that it passed), what is absent, null or of another
/// type matches nothing, and a word that nobody mapped is no end.
#[tokio::test]
async fn the_first_rule_over_several_fields_decides() {
    let job = || {
        with_rules(json!([
            { "when": "word == 'passed' and body.blocked", "state": "queued" },
            { "when": "word in ['passed', 'ok'] and body.error is not defined", "state": "succeeded" },
            { "when": "body.error is defined and body.error is none", "state": "running" },
            { "when": "body.error.code is divisibleby 2 and body.error.code >= 4", "state": "cancelled" },
            { "when": "body.reason is defined and body.reason | regex_extract('^(OOM|Evicted)')", "state": "failed" },
            { "when": "body.parts | selectattr('state', 'ne', 'done') | list | length == 0 and body.parts", "state": "succeeded" },
            { "when": "body.parts | selectattr('state', 'eq', 'lost') | list", "state": "gone" },
        ]))
    };
    for (body, wanted) in [
        (json!({ "status": "passed", "blocked": true }), "queued"),
        (json!({ "status": "passed", "blocked": false }), "succeeded"),
        (json!({ "status": "passed" }), "succeeded"),
        (json!({ "status": "x", "error": null }), "running"),
        (json!({ "status": "x", "error": { "code": 6 } }), "cancelled"),
        (json!({ "status": "x", "error": { "code": 3 } }), "unrecognized: x"),
        (json!({ "status": "x", "reason": "OOMKilled" }), "failed: the job failed"),
        (json!({ "status": "x", "parts": [{ "state": "done" }, { "state": "done" }] }), "succeeded"),
        (json!({ "status": "x", "parts": [{ "state": "done" }, { "state": "lost" }] }), "gone"),
        (json!({ "status": "x", "parts": [] }), "unrecognized: x"),
        (json!({ "status": "canceling" }), "unrecognized: canceling"),
    ] {
        let found = look(job(), answer(200, body.clone())).await;
        assert!(found.starts_with(wanted.split(": the").next().unwrap()), "{body}: {found}, wanted {wanted}");
    }
}

/// E3: a state may be in an element of a list, or in a value of a map whose keys nobody knows.
#[tokio::test]
async fn a_state_may_be_anywhere_in_lists_and_maps() {
    let tekton = || {
        with(|job| {
            job["status"]["word"] =
                json!("{{ (body.status.conditions | selectattr('type', 'eq', 'Succeeded') | first).status }}");
            job["status"]["rules"] = json!([{ "is": ["True"], "state": "succeeded" }, { "is": ["Unknown"], "state": "running" }]);
        })
    };
    let conditions =
        |status: &str| json!({ "status": { "conditions": [{ "type": "X" }, { "type": "Succeeded", "status": status }] } });
    assert_eq!(look(tekton(), answer(200, conditions("True"))).await, "succeeded");
    assert_eq!(look(tekton(), answer(200, conditions("Unknown"))).await, "running");
    let argo = with_rules(json!([
        { "when": "body.nodes | values | selectattr('type', 'eq', 'Suspend') | selectattr('phase', 'eq', 'Running') | list", "state": "queued" },
        { "when": "body.nodes", "state": "running" },
        { "is": ["done"], "state": "succeeded" },
    ]));
    for (phase, wanted) in [("Running", "queued"), ("Succeeded", "running")] {
        let nodes = json!({ "status": "x", "nodes": { "a": { "type": "Pod", "phase": "Running" }, "b": { "type": "Suspend", "phase": phase } } });
        assert_eq!(look(argo.clone(), answer(200, nodes)).await, wanted);
    }
}

/// E4: a code may be the state, also one that HTTP calls an error; what no rule reads means what HTTP says.
#[tokio::test]
async fn a_code_may_be_the_state() {
    let job = || {
        with(|job| {
            job["status"] = json!({
                "request": { "path": "/runs/{{ job.id }}" },
                "accept": ["2xx", 303, 404, 410, 470, 500],
                "rules": [
                    { "when": "code == 202 and headers['x-state'] == 'waiting'", "state": "queued" },
                    { "when": "code == 202", "state": "running" },
                    { "when": "code == 200", "state": "succeeded" },
                    { "when": "code == 303", "state": "succeeded" },
                    { "when": "code == 470", "state": "queued" },
                    { "when": "code == 410", "state": "gone" },
                    { "when": "code == 500 and body.runtimeStatus == 'Failed'", "state": "failed" },
                ],
            });
            job["failure"] = json!({ "message": "{{ body.output }}" });
        })
    };
    let failed = json!({ "runtimeStatus": "Failed", "output": "it broke" });
    for (given, wanted) in [
        (ResponseTemplate::new(202).insert_header("X-State", "waiting"), "queued"),
        (ResponseTemplate::new(202), "running"),
        (answer(200, json!({})), "succeeded"),
        (ResponseTemplate::new(303).insert_header("Location", "/runs/1/output"), "succeeded"),
        (ResponseTemplate::new(470), "queued"),
        (ResponseTemplate::new(410), "gone"),
        (answer(500, failed), "failed: it broke"),
        (answer(500, json!({ "runtimeStatus": "Running" })), "unavailable"),
        (answer(404, json!({})), "not_found"),
        (ResponseTemplate::new(503), "unavailable"),
    ] {
        assert_eq!(look(job(), given).await, wanted);
    }
}

/// E6: an API without a word for "cancelled" says "failed"; it was cancelled where that was asked for.
#[tokio::test]
async fn a_failure_is_a_cancel_where_that_was_asked_for() {
    let job = with_rules(json!([
        { "when": "word == 'FAILED' and cancel_requested", "state": "cancelled" },
        { "is": ["FAILED"], "state": "failed" },
        { "is": ["SUCCEEDED"], "state": "succeeded" },
    ]));
    let mut bench = Bench::new(job, vec![answer(200, json!({ "status": "FAILED" }))]).await;
    assert!(matches!(bench.poll(&JobRef::new("1")).await.unwrap().state, JobState::Failed(_)));
    bench.cx.cancel = Some(CancelWish { requested_at: Timestamp::from_millis(1), escalated: false });
    assert_eq!(bench.poll(&JobRef::new("1")).await.unwrap().state, JobState::Cancelled);
}

fn learned(job: &JobRef, seen: &Observation) -> JobRef {
    seen.learned.iter().fold(job.clone(), |job, (name, value)| job.with(name, value))
}

/// E7: a run that is started anew under its old id is another attempt: ours is the first that was seen.
#[tokio::test]
async fn the_first_attempt_that_was_seen_is_ours() {
    let job = with(|job| {
        job["status"]["pins"] = json!({ "attempt": "{{ body.run_attempt }}" });
        job["status"]["handles"] = json!({ "newest": "{{ body.run_attempt }}" });
        job["status"]["rules"] = json!([
            { "when": "job.handles.attempt is defined and body.run_attempt > job.handles.attempt | int", "state": "gone" },
            { "is": ["running"], "state": "running" },
            { "is": ["done"], "state": "succeeded" },
        ]);
    });
    let seen = |status: &str, attempt: u32| answer(200, json!({ "status": status, "run_attempt": attempt }));
    let early = answer(200, json!({ "status": "running" }));
    let bench = Bench::new(job, vec![early, seen("running", 1), seen("running", 1), seen("running", 2)]).await;
    let job = JobRef::new("1");
    let first = bench.poll(&job).await.unwrap();
    assert_eq!(learned(&job, &first), job, "nothing to learn yet");
    let second = bench.poll(&job).await.unwrap();
    let job = learned(&job, &second);
    assert_eq!((job.handle("attempt"), job.handle("newest")), (Some("1"), Some("1")));
    assert_eq!(bench.poll(&job).await.unwrap().state, JobState::Running);
    let last = bench.poll(&job).await.unwrap();
    assert_eq!(last.state, JobState::Gone);
    assert_eq!((learned(&job, &last).handle("attempt"), learned(&job, &last).handle("newest")), (Some("1"), Some("2")));
}

/// E8: a 404 is a job that the provider does not know (the engine waits for it, and gives it up after `gone_grace`), unless a rule knows
/// better: from what is remembered, or from the body.
#[tokio::test]
async fn a_404_means_what_its_phase_says() {
    let plain = with_rules(json!([{ "is": ["done"], "state": "succeeded" }]));
    assert_eq!(look(plain, answer(404, json!({}))).await, ErrorKind::NotFound.as_str());
    let job = with(|job| {
        job["status"]["accept"] = json!(["2xx", 404]);
        job["status"]["pins"] = json!({ "seen": "{{ body.status }}" });
        job["status"]["rules"] = json!([
            { "when": "code == 404 and body.code == 'deleted'", "state": "cancelled" },
            { "when": "code == 404 and job.handles.seen is defined", "state": "gone" },
            { "when": "code == 404", "state": "not_found" },
            { "is": ["done"], "state": "succeeded" },
        ]);
    });
    for (handle, body, wanted) in [
        (None, json!({}), "not_found"),
        (Some("queued"), json!({}), "gone"),
        (Some("queued"), json!({ "code": "deleted" }), "cancelled"),
    ] {
        let bench = Bench::new(job.clone(), vec![answer(404, body)]).await;
        let job = handle.map_or(JobRef::new("1"), |seen| JobRef::new("1").with("seen", seen));
        let found = bench.poll(&job).await.map_or_else(|error| error.kind().as_str().to_owned(), |seen| word(&seen.state));
        assert_eq!(found, wanted);
    }
}

fn patient() -> Value {
    with_rules(json!([
        { "is": ["pending"], "state": "queued", "within": "10m", "late": "gone" },
        { "is": ["runnable"], "state": "queued", "within": "1h", "late_message": "no machine takes this job ({{ body.why }})" },
        { "is": ["starting"], "state": "running", "within": "5m" },
        { "is": ["done"], "state": "succeeded" },
    ]))
}

/// E9: a state that lasts too long is an end; the row of looks that found it begins anew with every other state, outlives the adapter,
/// and needs no memory but the job's own.
#[tokio::test]
async fn a_state_may_last_only_so_long() {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    for (status, span, wanted) in [
        ("pending", minutes(10), "gone"),
        ("runnable", minutes(60), "failed: no machine takes this job (no GPU)"),
        ("starting", minutes(5), "failed: the job did not go on within 300 s"),
    ] {
        let bench = Bench::new(patient(), vec![answer(200, json!({ "status": status, "why": "no GPU" }))]).await;
        let seen = bench.poll(&JobRef::new("1")).await.unwrap();
        let job = learned(&JobRef::new("1"), &seen);
        bench.advance(span - Duration::from_secs(1)).await;
        let seen = bench.poll(&job).await.unwrap();
        assert!(!seen.state.is_terminal() && seen.learned.is_empty(), "{seen:?}");
        bench.advance(Duration::from_secs(1)).await;
        assert_eq!(word(&bench.poll(&job).await.unwrap().state), wanted);
    }
    let given = ["starting", "pending", "starting", "starting"].map(|status| answer(200, json!({ "status": status })));
    let bench = Bench::new(patient(), given.into()).await;
    let mut job = JobRef::new("1");
    for _ in 0..4 {
        let seen = bench.poll(&job).await.unwrap();
        assert!(!seen.state.is_terminal(), "every other state begins anew: {seen:?}");
        job = learned(&job, &seen);
        bench.advance(minutes(4)).await;
    }
    bench.advance(minutes(1)).await;
    assert_eq!(word(&bench.poll(&job).await.unwrap().state), "failed: the job did not go on within 300 s");
}

/// E10: a look may block until something happens, longer than the provider's other calls, and may come as a stream of lines or events, of
/// which the last says how it stands.
#[tokio::test]
async fn a_look_may_wait_and_may_be_a_stream() {
    for (parse, text, kind) in [
        ("lines", "{\"phase\":\"running\"}\n{\"phase\":\"done\"}\n", "application/x-ndjson"),
        ("events", "data: {\"phase\":\"running\"}\n\ndata: {\"phase\":\"done\"}\n\n", "text/event-stream"),
    ] {
        let job = with(|job| {
            job["status"]["request"] = json!({ "path": "/jobs/{{ job.id }}/watch", "timeout": "5s", "parse": parse });
            job["status"]["word"] =
                if parse == "lines" { json!("{{ (body | last).phase }}") } else { json!("{{ (body | last).data.phase }}") };
        });
        let given = ResponseTemplate::new(200).set_body_raw(text, kind).set_delay(Duration::from_millis(300));
        let provider = json!({ "timeout": "100ms" });
        let bench = Bench::with_provider(provider, job, vec![given]).await;
        assert_eq!(word(&bench.poll(&JobRef::new("1")).await.unwrap().state), "succeeded", "{parse}");
    }
}
