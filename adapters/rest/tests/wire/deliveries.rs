//! Deliveries and what is sent because of them: callback addresses, ids and links that came by push.

use jobgate_adapter_api::{ErrorKind, JobRef, JobState};
use jobgate_adapter_testkit::{SECRET_REF, verified};
use serde_json::{Value, json};

use crate::support::{Bench, answer, issues_of, least, with};

const CALLBACK: &str = "https://gateway.example.com/hooks/p/a-token-that-nobody-can-guess";

fn delivery() -> Value {
    json!({ "auth": { "bearer": SECRET_REF }, "delivery": { "job": "{{ body.id }}" } })
}

fn with_callback(text: &str) -> Value {
    with(|job| job["submit"]["request"]["body"] = json!({ "webhook": text, "events": ["done"] }))
}

/// B7: the provider is given the task's own address, and repeats nothing of it.
#[tokio::test]
async fn a_submit_hands_out_the_jobs_own_address() {
    let refused = answer(422, json!({ "error": { "message": format!("cannot deliver to {CALLBACK}") } }));
    let provider = json!({ "error_message": "{{ body.error.message }}", "delivery": { "job": "{{ body.id }}" } });
    let mut bench =
        Bench::with_provider(provider, with_callback("{{ callback.url }}"), vec![answer(201, json!({ "id": 1 })), refused]).await;
    bench.cx.callback_url = Some(CALLBACK.to_owned());
    bench.submit(json!({})).await.unwrap();
    assert_eq!(bench.last().await.2, json!({ "webhook": CALLBACK, "events": ["done"] }).to_string());
    let error = bench.submit(json!({})).await.unwrap_err();
    assert_eq!(error.message(), "cannot deliver to (address)");
    assert!(!format!("{error:?}").contains("nobody-can-guess"), "{error:?}");
}

/// Where there is no address to give, nothing is sent, unless the words can do without.
#[tokio::test]
async fn without_an_address_a_submit_is_refused_or_leaves_it_out() {
    let bench = Bench::new(with_callback("{{ callback.url }}"), vec![answer(201, json!({ "id": 1 }))]).await;
    let error = bench.submit(json!({})).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Rejected && error.message().contains("`callback.url` has no value"), "{error}");
    assert_eq!(bench.count().await, 0);
    let bench = Bench::new(with_callback("{{ callback.url | optional }}"), vec![answer(201, json!({ "id": 1 }))]).await;
    bench.submit(json!({})).await.unwrap();
    assert_eq!(bench.last().await.2, r#"{"events":["done"]}"#);
}

/// 100: an id from a delivery is one step of a path, whatever is in it; one that is no step is not sent.
#[tokio::test]
async fn n100_an_id_from_a_delivery_stays_in_its_place() {
    let bench = Bench::with_provider(delivery(), least(), vec![answer(200, json!({ "status": "done" }))]).await;
    for (id, path) in [
        ("../admin", "/v1/jobs/..%2Fadmin"),
        ("a?x=1", "/v1/jobs/a%3Fx%3D1"),
        ("a#b", "/v1/jobs/a%23b"),
        ("%2e%2e%2f", "/v1/jobs/%252e%252e%252f"),
        ("a\r\nHost: evil.example.com", "/v1/jobs/a%0D%0AHost%3A%20evil.example.com"),
        ("//evil.example.com/", "/v1/jobs/%2F%2Fevil.example.com%2F"),
        ("\u{202e}1", "/v1/jobs/%E2%80%AE1"),
    ] {
        let body = json!({ "id": id, "status": "done" }).to_string();
        let jobs = bench.adapter().jobs_in(&verified(body.as_bytes())).unwrap();
        assert_eq!(jobs, [JobRef::new(id)]);
        bench.poll(&jobs[0]).await.unwrap();
        assert_eq!(bench.last().await.1, path);
        assert_eq!(bench.last_header("host").await, Some(bench.url().replace("http://", "")));
    }
    let sent = bench.count().await;
    for id in ["..", "."] {
        assert_eq!(bench.poll(&JobRef::new(id)).await.unwrap_err().kind(), ErrorKind::Rejected, "{id}");
    }
    assert_eq!(bench.count().await, sent);
}

/// 100: an id of a mebibyte is no id, in an answer as in a delivery.
#[tokio::test]
async fn n100_an_id_has_a_length() {
    let long = "x".repeat(1025);
    let bench = Bench::with_provider(delivery(), least(), vec![answer(201, json!({ "id": long }))]).await;
    let error = bench.submit(json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "a job runs, and nobody can say which: {error}");
    assert!(error.message().contains("longer than 1024 bytes"), "{error}");
    let body = json!({ "id": long, "status": "done" }).to_string();
    assert_eq!(bench.adapter().jobs_in(&verified(body.as_bytes())).unwrap_err().kind(), ErrorKind::Protocol);
}

/// 101: a link that came by push is followed at the provider's own addresses alone, and the credential goes nowhere else.
#[tokio::test]
async fn n101_a_link_from_a_delivery_is_followed_at_the_providers_addresses_only() {
    let job = with(|job| {
        job["status"]["request"] = json!({ "url": "{{ job.handles.status_url }}" });
        job["status"]["handles"] = json!({ "status_url": "{{ body.status_url }}" });
    });
    let bench = Bench::with_provider(delivery(), job, vec![answer(200, json!({ "status": "done" }))]).await;
    let learned = |link: &str| {
        let body = json!({ "id": "1", "status": "going on", "status_url": link });
        let seen = bench.read(&JobRef::new("1"), &body).unwrap().unwrap();
        assert_eq!(seen.state, JobState::Unrecognized("going on".to_owned()));
        seen.learned.iter().fold(JobRef::new("1"), |job, (name, value)| job.with(name, value))
    };
    let host = bench.url().replace("http://", "");
    for link in [
        "https://evil.example.com/v1/jobs/1".to_owned(),
        "//evil.example.com/".to_owned(),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("https://{host}/"),
        format!("http://{host}@evil.example.com/"),
        format!("http://{host}.evil.example.com/"),
        "http://localhost:1/".to_owned(),
    ] {
        let error = bench.poll(&learned(&link)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rejected, "{link}: {error}");
    }
    assert_eq!(bench.count().await, 0, "nothing was sent to anybody");
    bench.poll(&learned(&format!("{}/v1/jobs/1", bench.url()))).await.unwrap();
    assert_eq!(bench.last().await.1, "/v1/jobs/1");
}

/// G7: a thin event says which job to look at, and nothing of its state, whatever else is in it.
#[tokio::test]
async fn a_hint_names_its_job_and_says_nothing() {
    let provider =
        json!({ "delivery": { "when": "body.type is startingwith 'batch.'", "job": "{{ body.data.id }}", "hint": true } });
    let bench = Bench::with_provider(provider, least(), vec![answer(200, json!({ "status": "done" }))]).await;
    assert!(bench.adapter().capabilities("t").webhook);
    let event = json!({ "type": "batch.completed", "data": { "id": "b-1" }, "status": "done" });
    assert_eq!(bench.adapter().jobs_in(&verified(event.to_string().as_bytes())).unwrap(), [JobRef::new("b-1")]);
    assert_eq!(bench.read(&JobRef::new("b-1"), &event).unwrap(), None);
    let other = json!({ "type": "file.deleted", "data": { "id": "f-1" } });
    assert_eq!(bench.adapter().jobs_in(&verified(other.to_string().as_bytes())).unwrap(), []);
    assert_eq!(bench.count().await, 0, "the engine looks, not the reader");
}

/// What a hint can never say is refused at its place.
#[test]
fn words_that_a_hint_would_leave_unread_are_refused() {
    let told = with(|job| job["delivery"] = json!({ "word": "{{ body.word }}" }));
    let unseen = with(|job| drop(job["status"].as_object_mut().unwrap().remove("request")));
    for (more, job, wanted) in [
        (
            json!({ "body": "{{ body.data }}" }),
            least(),
            "providers.p.delivery.body: with `hint: true` nothing but the job's name is read",
        ),
        (json!({}), told, "tools.t.job.delivery: the provider's deliveries are hints"),
        (json!({}), unseen, "tools.t.job.status: nobody would see this job end"),
    ] {
        let mut provider = json!({ "base_url": "https://api.example.com", "delivery": { "job": "{{ body.id }}", "hint": true } });
        provider["delivery"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = issues_of(provider, job);
        assert!(found.len() == 1 && found[0].starts_with(wanted), "{wanted}\n{found:?}");
    }
}

/// C14: a job that cannot be looked at is not asked for.
#[tokio::test]
async fn a_status_without_a_request_is_never_sent() {
    let job = with(|job| drop(job["status"].as_object_mut().unwrap().remove("request")));
    let bench = Bench::with_provider(delivery(), job, vec![answer(200, json!({}))]).await;
    let claims = bench.adapter().capabilities("t");
    assert!(claims.webhook && claims.pushed_only);
    assert_eq!(bench.poll(&JobRef::new("1")).await.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(bench.count().await, 0);
}
