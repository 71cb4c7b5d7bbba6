//! What an answer means before HTTP says so, and when calls are allowed again (G9 and the classes of retries of providers-workflow.md).

use std::time::Duration;

use crate::support::{Bench, answer, least, with};
use jobgate_adapter_api::{ErrorKind, IdempotencyKey, JobRef, JobState, Retry};
use jobgate_adapter_testkit::ResponseTemplate;
use serde_json::{Value, json};

/// AWS and GitHub: throttling in a 400 and in a 403, an error in a 200.
fn odd() -> Value {
    json!({
        "error_message": "{{ body.message }}",
        "errors": [
            { "code": [400], "when": "body.__type is endingwith 'ThrottlingException'", "means": "rate_limited", "after": "{{ 5 }}" },
            { "code": [403], "when": "'secondary rate limit' in body.message", "means": "rate_limited" },
            { "when": "body.errors is defined", "means": "rejected", "message": "{{ body.errors[0].text }}" },
            { "code": [500], "when": "'no such job' in text", "means": "not_found" },
            { "code": [200], "when": "text is startingwith 'maintenance'", "means": "unavailable" },
            { "code": [420], "means": "unauthorized" },
            { "code": [299], "means": "unreadable" },
        ],
        "pace": { "reset": { "header": "X-RateLimit-Reset", "unit": "seconds" }, "remaining": { "header": "X-RateLimit-Remaining" } },
    })
}

async fn meant(given: ResponseTemplate) -> (ErrorKind, Retry, String) {
    let bench = Bench::with_provider(odd(), least(), vec![given]).await;
    let error = bench.poll(&JobRef::new("1")).await.unwrap_err();
    (error.kind(), error.retry(), error.message().to_owned())
}

/// G9: a code in a body says more than the status beside it, and the first rule that holds decides.
#[tokio::test]
async fn an_answer_means_what_the_provider_says_and_not_what_http_says() {
    let throttled = answer(400, json!({ "__type": "com.amazonaws#ThrottlingException", "message": "Rate exceeded" }));
    let after = |seconds| Retry::After(Duration::from_secs(seconds));
    assert_eq!(meant(throttled).await, (ErrorKind::RateLimited, after(5), "Rate exceeded".to_owned()));
    let invalid = answer(400, json!({ "__type": "ValidationException", "message": "no such machine" }));
    assert_eq!(meant(invalid).await, (ErrorKind::Rejected, Retry::Never, "no such machine".to_owned()));
    let secondary = || answer(403, json!({ "message": "You have exceeded a secondary rate limit" }));
    assert_eq!(meant(secondary()).await.0, ErrorKind::RateLimited);
    assert_eq!(meant(secondary().insert_header("Retry-After", "7")).await.1, after(7));
    assert_eq!(meant(secondary().insert_header("X-RateLimit-Reset", "9")).await.1, after(9));
    assert_eq!(meant(answer(403, json!({ "message": "Bad credentials" }))).await.0, ErrorKind::Unauthorized);
    let graphql = answer(200, json!({ "errors": [{ "text": "no such field" }] }));
    assert_eq!(meant(graphql).await, (ErrorKind::Rejected, Retry::Never, "no such field".to_owned()));
    for (given, kind, retry) in [
        (ResponseTemplate::new(500).set_body_string("no such job: 1"), ErrorKind::NotFound, Retry::Never),
        (ResponseTemplate::new(200).set_body_string("maintenance until noon"), ErrorKind::Unavailable, Retry::Backoff),
        (ResponseTemplate::new(420), ErrorKind::Unauthorized, Retry::Never),
        (ResponseTemplate::new(299), ErrorKind::Protocol, Retry::Backoff),
    ] {
        let (found, advice, _) = meant(given).await;
        assert_eq!((found, advice), (kind, retry));
    }
}

/// G9: it holds for every request: a submit that was throttled has started nothing, one that is unreadable may have.
#[tokio::test]
async fn it_holds_for_every_request() {
    let job = with(|job| {
        job["find"] =
            json!({ "request": { "path": "/jobs", "query": { "tag": "{{ key }}" } }, "job": { "id": "{{ body.id }}" } });
        job["cancel"] = json!({ "request": { "method": "DELETE", "path": "/jobs/{{ job.id }}" } });
    });
    let throttled = || answer(400, json!({ "__type": "ThrottlingException" }));
    let bench = Bench::with_provider(odd(), job, vec![throttled(), throttled(), throttled(), ResponseTemplate::new(299)]).await;
    let key = IdempotencyKey::new("k");
    assert_eq!(bench.adapter().find(&bench.cx, &key).await.unwrap_err().kind(), ErrorKind::RateLimited);
    assert_eq!(bench.adapter().cancel(&bench.cx, &JobRef::new("1")).await.unwrap_err().kind(), ErrorKind::RateLimited);
    assert_eq!(bench.submit(json!({})).await.unwrap_err().kind(), ErrorKind::RateLimited);
    assert_eq!(bench.submit(json!({})).await.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
}

/// G9: headers of one name have different units, so the unit is said; `Retry-After` goes before them.
#[tokio::test]
async fn a_reset_is_read_in_its_unit() {
    // The clock of the rig stands at 2026-07-28T12:00:00Z; a moment that has passed is none.
    for (unit, value, wanted) in [
        ("seconds", "12", Some(12_000)),
        ("seconds", "1.5", Some(1_500)),
        ("milliseconds", "2500", Some(2_500)),
        ("epoch", "1785240030", Some(30_000)),
        ("epoch_milliseconds", "1785240030000", Some(30_000)),
        ("date", "2026-07-28T12:00:30Z", Some(30_000)),
        ("date", "Tue, 28 Jul 2026 12:00:30 GMT", Some(30_000)),
        ("epoch", "1785239000", Some(0)),
        ("date", "17", None),
        ("seconds", "soon", None),
        ("seconds", "-3", None),
        ("seconds", "999999999", Some(86_400_000)),
        ("span", "6m0s", Some(360_000)),
        ("span", "1.5s", Some(1_500)),
        ("span", "250ms", Some(250)),
        ("span", "1h2m3s", Some(3_723_000)),
        ("span", "12", None),
        ("span", "soon", None),
        ("span", "-5s", None),
    ] {
        let provider = json!({ "pace": { "reset": { "header": "RateLimit-Reset", "unit": unit } } });
        let given = ResponseTemplate::new(429).insert_header("RateLimit-Reset", value);
        let bench = Bench::with_provider(provider, least(), vec![given]).await;
        let wanted = wanted.map_or(Retry::Backoff, |wait| Retry::After(Duration::from_millis(wait)));
        assert_eq!(bench.poll(&JobRef::new("1")).await.unwrap_err().retry(), wanted, "{unit} {value}");
    }
    let provider = json!({ "pace": { "reset": { "header": "RateLimit-Reset", "unit": "seconds" } } });
    let given = ResponseTemplate::new(429).insert_header("RateLimit-Reset", "40").insert_header("Retry-After", "4");
    let bench = Bench::with_provider(provider, least(), vec![given]).await;
    let retry = bench.poll(&JobRef::new("1")).await.unwrap_err().retry();
    assert_eq!(retry, Retry::After(Duration::from_secs(4)));
}

/// G9: a good answer that says that it was the last one leaves the provider alone until the reset: nobody calls it in between.
#[tokio::test]
async fn a_provider_with_no_calls_left_is_left_alone() {
    let running = || answer(200, json!({ "status": "queued" })).insert_header("X-RateLimit-Reset", "60");
    let some = running().insert_header("X-RateLimit-Remaining", "1");
    let none = running().insert_header("X-RateLimit-Remaining", "0");
    let bench = Bench::with_provider(odd(), least(), vec![some, none, answer(200, json!({ "status": "done" }))]).await;
    let job = JobRef::new("1");
    assert_eq!(bench.poll(&job).await.unwrap().next_poll, None);
    assert_eq!(bench.poll(&job).await.unwrap().next_poll, Some(Duration::from_secs(60)));
    let error = bench.poll(&job).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::RateLimited, Retry::After(Duration::from_secs(60))));
    assert_eq!(bench.count().await, 2, "it was not called");
    bench.advance(Duration::from_secs(60)).await;
    assert!(matches!(bench.poll(&job).await.unwrap().state, JobState::Succeeded(_)));
}
