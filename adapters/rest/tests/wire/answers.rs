//! What is made of a provider's answers: names, rules, results, refusals.

use std::time::Duration;

use crate::support::{Bench, answer, least, with};
use jobgate_adapter_api::{
    CancelOutcome, ErrorKind, InputAction, InputAnswer, InputAnswers, JobRef, JobState, Part, Progress, Retry,
};
use jobgate_adapter_testkit::{ResponseTemplate, SECRET};
use serde_json::{Value, json};

/// What one look shows of an answer.
async fn look(job: Value, given: ResponseTemplate) -> Result<JobState, (ErrorKind, String)> {
    let bench = Bench::new(job, vec![given]).await;
    bench.poll(&JobRef::new("1")).await.map(|seen| seen.state).map_err(|error| (error.kind(), error.message().to_owned()))
}

/// Ids are strings here whatever they were there, digit for digit.
#[tokio::test]
async fn a_job_is_named_by_body_header_or_address() {
    let big = 18_446_744_073_709_551_615_u64;
    for (id, given, wanted) in [
        ("{{ body.id }}", answer(201, json!({ "id": "j-1" })), "j-1"),
        ("{{ body.id }}", answer(201, json!({ "id": big })), "18446744073709551615"),
        ("{{ body[0].id }}", answer(201, json!([{ "id": 7 }])), "7"),
        ("run-{{ body.id }}", answer(201, json!({ "id": 7 })), "run-7"),
        ("{{ key }}", ResponseTemplate::new(204), "0123456789abcdef0123456789abcdef"),
        ("{{ headers.location | last_segment }}", ResponseTemplate::new(202).insert_header("Location", "/queue/item/17/"), "17"),
        (
            "{{ headers['x-run'] | regex_extract('run=([0-9]+)') }}",
            ResponseTemplate::new(202).insert_header("X-Run", "a; run=42"),
            "42",
        ),
        ("{{ (body.out | from_json).id }}", answer(200, json!({ "out": "{\"id\": 5}" })), "5"),
    ] {
        let bench = Bench::new(with(|job| job["submit"]["job"]["id"] = json!(id)), vec![given]).await;
        assert_eq!(bench.submit(json!({})).await.unwrap().job.id(), wanted, "{id}");
    }
}

/// After a 2xx without a name nobody knows whether a job runs, so it is never repeated blindly.
#[tokio::test]
async fn an_answer_without_a_name_leaves_the_outcome_unknown() {
    for given in [
        answer(201, json!({})),
        answer(201, json!({ "id": null })),
        answer(201, json!({ "id": "" })),
        ResponseTemplate::new(201).set_body_raw("<html>", "text/html"),
    ] {
        let bench = Bench::new(least(), vec![given]).await;
        assert_eq!(bench.submit(json!({})).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    }
}

/// C6: a provider that has no room now is asked again later, when it says so; what it refuses is refused.
#[tokio::test]
async fn no_room_now_is_no_refusal() {
    let job = with(|job| {
        job["submit"]["busy"] = json!("code == 409 and 'capacity' in body.error");
        job["submit"]["rejected"] = json!([{ "when": "code == 409" }]);
    });
    let full = || answer(409, json!({ "error": "at capacity" }));
    for (given, kind, retry) in [
        (full(), ErrorKind::RateLimited, Retry::Backoff),
        (full().insert_header("Retry-After", "7"), ErrorKind::RateLimited, Retry::After(Duration::from_secs(7))),
        (answer(409, json!({ "error": "no such model" })), ErrorKind::Rejected, Retry::Never),
        (answer(409, json!({})), ErrorKind::Rejected, Retry::Never),
    ] {
        let provider = json!({ "error_message": "{{ body.error }}" });
        let bench = Bench::with_provider(provider, job.clone(), vec![given]).await;
        let error = bench.submit(json!({})).await.unwrap_err();
        assert_eq!((error.kind(), error.retry(), error.status()), (kind, retry, Some(409)), "{}", error.message());
    }
}

#[tokio::test]
async fn a_refusal_is_said_in_the_providers_words_cleaned() {
    let job = with(|job| {
        job["submit"]["rejected"] = json!([
            { "when": "code == 200 and body.result == 'REJECT'", "message": "Rejected: {{ body.why }}" },
            { "when": "code == 409" },
        ]);
    });
    for (given, kind, message) in [
        (answer(200, json!({ "result": "REJECT", "why": "queue\nfull" })), ErrorKind::Rejected, "Rejected: queue full"),
        (answer(409, json!({ "error": { "message": "no such preset" } })), ErrorKind::Rejected, "no such preset"),
        (
            answer(400, json!({ "error": { "message": "see https://a.internal/x, key 0123456789abcdef01234567" } })),
            ErrorKind::Rejected,
            "see (address) key (token)",
        ),
        (answer(400, json!({ "oops": 1 })), ErrorKind::Rejected, "the provider answered with status 400"),
        (ResponseTemplate::new(302), ErrorKind::Protocol, "the provider answered with status 302"),
    ] {
        let provider = json!({ "error_message": "{{ body.error.message }}" });
        let bench = Bench::with_provider(provider, job.clone(), vec![given]).await;
        let error = bench.submit(json!({})).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (kind, message));
    }
}

/// The first rule that matches decides; a word that none maps is shown as it is.
#[tokio::test]
async fn rules_are_ordered_and_read_code_body_and_word() {
    let job = with(|job| {
        job["status"]["accept"] = json!([200, 470, 500]);
        job["status"]["rules"] = json!([
            { "when": "code == 470", "state": "running" },
            { "when": "body.error.number == 2017", "state": "not_found" },
            { "when": "body.blocked", "is": ["passed"], "state": "running" },
            { "is": ["passed", "fixed"], "state": "succeeded" },
            { "when": "word is startingwith 'fail'", "state": "failed" },
            { "is": ["expired"], "state": "gone" },
            { "is": ["canceled"], "state": "cancelled" },
        ]);
    });
    let ended = JobState::Succeeded(jobgate_adapter_api::JobOutput::text("The job ended well."));
    for (given, wanted) in [
        (answer(470, json!({ "message": "not yet" })), Ok(JobState::Running)),
        (answer(200, json!({ "status": "passed", "blocked": true })), Ok(JobState::Running)),
        (answer(200, json!({ "status": "passed", "blocked": false })), Ok(ended.clone())),
        (answer(200, json!({ "status": "fixed" })), Ok(ended)),
        (answer(200, json!({ "status": "expired" })), Ok(JobState::Gone)),
        (answer(200, json!({ "status": "canceled" })), Ok(JobState::Cancelled)),
        (answer(200, json!({ "status": "hibernating" })), Ok(JobState::Unrecognized("hibernating".to_owned()))),
        (answer(500, json!({ "error": { "number": 2017 } })), Err(ErrorKind::NotFound)),
        (answer(500, json!({ "error": { "number": 1 } })), Err(ErrorKind::Unavailable)),
        (answer(404, json!({})), Err(ErrorKind::NotFound)),
        (answer(410, json!({})), Err(ErrorKind::NotFound)),
        (answer(200, json!({ "other": 1 })), Err(ErrorKind::Protocol)),
        (ResponseTemplate::new(204), Err(ErrorKind::Protocol)),
        (ResponseTemplate::new(200).set_body_string("passed"), Err(ErrorKind::Protocol)),
    ] {
        let label = format!("{given:?}");
        let seen = look(job.clone(), given).await.map_err(|(kind, _)| kind);
        assert_eq!(seen, wanted, "{label}");
    }
    let failed = look(job, answer(200, json!({ "status": "failing" }))).await.unwrap();
    assert!(matches!(failed, JobState::Failed(_)));
}

/// Missing means "does not hold", so an answer of another shape never ends a job by accident.
#[tokio::test]
async fn a_condition_over_a_missing_value_does_not_hold() {
    for when in ["body.state != 'running'", "not body.running", "body.a.b.c == 1", "body.n > 3"] {
        let job = with(|job| {
            job["status"]["word"] = Value::Null;
            job["status"]["rules"] = json!([{ "when": when, "state": "succeeded" }]);
        });
        let seen = look(job, answer(200, json!({ "surprise": true }))).await.unwrap();
        assert!(matches!(seen, JobState::Unrecognized(_)), "{when}: {seen:?}");
    }
}

#[tokio::test]
async fn message_progress_handles_and_pace_are_read_where_they_are() {
    let job = with(|job| {
        job["status"]["rules"] = json!([{ "is": ["done"], "state": "succeeded" }, { "is": ["run"], "state": "running", "message": "Step {{ body.step }}" }]);
        job["status"]["message"] = json!("{{ body.note }}");
        job["status"]["progress"] =
            json!({ "done": "{{ (body.frames | split('/'))[0] }}", "total": "{{ (body.frames | split('/'))[1] }}" });
        job["status"]["handles"] = json!({ "build": "{{ body.build }}" });
    });
    let given = [
        answer(200, json!({ "status": "run", "step": "mux", "frames": "420/1000", "build": 12 }))
            .insert_header("Retry-After", "7"),
        answer(200, json!({ "status": "run", "note": "warming up", "frames": "many" })),
    ];
    let bench = Bench::new(job, given.into()).await;
    let seen = bench.poll(&JobRef::new("1")).await.unwrap();
    assert_eq!(seen.message.as_deref(), Some("Step mux"));
    assert_eq!(seen.progress, Some(Progress { done: 420.0, total: Some(1000.0) }));
    assert_eq!(seen.learned.get("build").map(String::as_str), Some("12"));
    assert_eq!(seen.next_poll, Some(Duration::from_secs(7)));
    let seen = bench.poll(&JobRef::new("1")).await.unwrap();
    assert_eq!((seen.message.as_deref(), seen.progress, seen.learned.len()), (Some("warming up"), None, 0));
}

#[tokio::test]
async fn a_result_may_need_a_second_request() {
    let job = with(|job| {
        job["result"] = json!({
            "request": { "path": "/jobs/{{ job.id }}/output", "query": { "v": "{{ body.version }}" } },
            "text": "{{ body.lines | join(', ') }} in {{ status.body.seconds }} s",
            "data": { "lines": "{{ body.lines }}" },
            "links": [{ "uri": "{{ body.url }}", "name": "log", "mime_type": "text/plain" }, { "uri": "{{ body.missing }}", "name": "none" }],
        });
    });
    let status = answer(200, json!({ "status": "done", "version": 3, "seconds": 4 }));
    let output = answer(200, json!({ "lines": ["a", "b"], "url": "https://files.example.com/log" }));
    let bench = Bench::new(job.clone(), vec![status.clone(), output]).await;
    let JobState::Succeeded(output) = bench.poll(&JobRef::new("1")).await.unwrap().state else {
        panic!("it should have ended well")
    };
    assert_eq!(bench.last().await.1, "/v1/jobs/1/output?v=3");
    assert_eq!(output.data, Some(json!({ "lines": ["a", "b"] })));
    assert_eq!(output.parts.len(), 2, "a link without an address is left out");
    assert!(matches!(&output.parts[0], Part::Text(text) if text == "a, b in 4 s"));
    assert!(matches!(&output.parts[1], Part::Link { uri, .. } if uri == "https://files.example.com/log"));

    // The job is known, so a result that is not there is no unknown job.
    let bench = Bench::new(job, vec![status, answer(404, json!({}))]).await;
    assert_eq!(bench.poll(&JobRef::new("1")).await.unwrap_err().kind(), ErrorKind::Protocol);
}

#[tokio::test]
async fn cancel_reads_codes() {
    let job = with(|job| {
        job["cancel"] =
            json!({ "request": { "method": "DELETE", "path": "/jobs/{{ job.id }}" }, "already_ended": [409], "refused": [423] })
    });
    for (code, wanted) in [
        (200, CancelOutcome::Requested),
        (204, CancelOutcome::Requested),
        (409, CancelOutcome::AlreadyEnded),
        (423, CancelOutcome::Refused),
    ] {
        let bench = Bench::new(job.clone(), vec![ResponseTemplate::new(code)]).await;
        assert_eq!(bench.adapter().cancel(&bench.cx, &JobRef::new("1")).await.unwrap(), wanted);
    }
    let bench = Bench::new(job, vec![ResponseTemplate::new(429).insert_header("Retry-After", "3")]).await;
    let error = bench.adapter().cancel(&bench.cx, &JobRef::new("1")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(Duration::from_secs(3))));
}

/// A decline goes where the words say; without such words it is an error, never an approval.
#[tokio::test]
async fn a_decline_is_never_an_approval() {
    let asking = with(|job| {
        job["status"]["rules"].as_array_mut().unwrap().push(json!({ "is": ["held"], "state": "input_required" }));
        job["input"] = json!({
            "key": "q", "message": "Go?", "form": { "type": "object", "properties": {} },
            "accept": { "request": { "method": "POST", "path": "/jobs/{{ job.id }}/release" } },
        });
    });
    let held = answer(200, json!({ "status": "held" }));
    let no = InputAnswers::from([("q".to_owned(), InputAnswer { action: InputAction::Decline, content: None })]);
    let bench = Bench::new(asking.clone(), vec![held.clone()]).await;
    let error = bench.adapter().provide(&bench.cx, &JobRef::new("1"), &no).await.unwrap_err();
    assert_eq!((error.kind(), bench.last().await.0.as_str()), (ErrorKind::Unsupported, "GET"));

    let mut declining = asking;
    declining["input"]["decline"] = json!({ "request": { "method": "DELETE", "path": "/jobs/{{ job.id }}" } });
    let bench = Bench::new(declining, vec![held, ResponseTemplate::new(204)]).await;
    bench.adapter().provide(&bench.cx, &JobRef::new("1"), &no).await.unwrap();
    assert_eq!(bench.last().await.0, "DELETE");
}

/// An API that repeats its caller's credential in a result does not get it into a task.
#[tokio::test]
async fn a_credential_in_a_result_is_taken_out() {
    let job = with(|job| {
        job["result"] = json!({ "text": "{{ body.echo }}", "data": "{{ body }}", "links": [{ "uri": "https://x.example.com/?k={{ body.echo }}", "name": "l" }] });
    });
    let bench =
        Bench::new(job, vec![answer(200, json!({ "status": "done", "echo": format!("Bearer {SECRET}"), (SECRET): [SECRET] }))])
            .await;
    let seen = format!("{:?}", bench.poll(&JobRef::new("1")).await.unwrap());
    assert!(!seen.contains(SECRET) && seen.contains("***"), "{seen}");
}
