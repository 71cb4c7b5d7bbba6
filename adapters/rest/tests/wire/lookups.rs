//! What has to be known before a submit: asked for, remembered, and forgotten when it proves wrong.

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use crate::support::{Bench, answer, issues, with};
use jobgate_adapter_api::{ErrorKind, IdempotencyKey};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use serde_json::{Value, json};

/// A flow is named by callers and numbered by the provider.
fn named() -> Value {
    with(|job| {
        job["lookups"] = json!([{
            "name": "flow",
            "request": { "path": "/flows", "query": { "name": "{{ args.flow }}" } },
            "value": "{{ body.id }}",
            "cache": "10m",
        }]);
        job["submit"]["request"] = json!({ "path": "/flows/{{ steps.flow }}/runs", "body": {} });
        job["submit"]["job"] = json!({ "id": "{{ body.id }}", "handles": { "flow": "{{ steps.flow }}" } });
    })
}

fn flows(request: &Request) -> ResponseTemplate {
    match (request.url.path(), request.url.query()) {
        ("/v1/flows", Some("name=nightly")) => answer(200, json!({ "id": 17 })),
        ("/v1/flows", Some("name=weekly")) => answer(200, json!({ "id": 18 })),
        ("/v1/flows", _) => answer(404, json!({})),
        _ => answer(201, json!({ "id": 1 })),
    }
}

/// C8: a name is looked up before the submit; the answer is remembered for the same request, as long as its words say.
#[tokio::test]
async fn what_a_submit_has_to_know_is_looked_up_once() {
    let bench = Bench::routed(named(), flows).await;
    let submitted = bench.submit(json!({ "flow": "nightly" })).await.unwrap();
    assert_eq!(submitted.job.handle("flow"), Some("17"));
    bench.submit(json!({ "flow": "nightly" })).await.unwrap();
    bench.submit(json!({ "flow": "weekly" })).await.unwrap();
    let first = ["/v1/flows?name=nightly", "/v1/flows/17/runs"];
    assert_eq!(bench.paths().await, [&first[..], &first[1..], &["/v1/flows?name=weekly", "/v1/flows/18/runs"]].concat());
    bench.advance(Duration::from_secs(599)).await;
    bench.submit(json!({ "flow": "nightly" })).await.unwrap();
    assert_eq!(bench.count().await, 6);
    bench.advance(Duration::from_secs(1)).await;
    bench.submit(json!({ "flow": "nightly" })).await.unwrap();
    assert_eq!(bench.paths().await[6..], first);
}

/// C8: what led to a submit that the provider does not know is asked for again.
#[tokio::test]
async fn what_proves_wrong_is_forgotten() {
    let known = AtomicU16::new(17);
    let bench = Bench::routed(named(), move |request| match request.url.path() {
        "/v1/flows" => answer(200, json!({ "id": known.load(Ordering::Relaxed) })),
        "/v1/flows/17/runs" if known.swap(18, Ordering::Relaxed) == 18 => answer(404, json!({})),
        _ => answer(201, json!({ "id": 1 })),
    })
    .await;
    bench.submit(json!({ "flow": "nightly" })).await.unwrap();
    let error = bench.submit(json!({ "flow": "nightly" })).await.unwrap_err();
    assert_eq!(error.status(), Some(404));
    let submitted = bench.submit(json!({ "flow": "nightly" })).await.unwrap();
    assert_eq!((submitted.job.handle("flow"), bench.count().await), (Some("18"), 5));
}

/// C8, C4: only good answers are remembered, and after a lookup that fails everybody knows that nothing was started.
#[tokio::test]
async fn a_lookup_that_fails_starts_nothing() {
    for (given, kind) in [
        (answer(503, json!({})), ErrorKind::Unavailable),
        (answer(500, json!({})), ErrorKind::Unavailable),
        (answer(404, json!({})), ErrorKind::Rejected),
        (answer(429, json!({})), ErrorKind::RateLimited),
        (ResponseTemplate::new(200).set_body_raw("<html>", "text/html"), ErrorKind::Unavailable),
        (answer(200, json!({ "other": 1 })), ErrorKind::Unavailable),
    ] {
        let bench = Bench::new(named(), vec![given, answer(200, json!({ "id": 17 })), answer(201, json!({ "id": 1 }))]).await;
        let error = bench.submit(json!({ "flow": "nightly" })).await.unwrap_err();
        assert_eq!((error.kind(), bench.count().await), (kind, 1), "{error}");
        bench.submit(json!({ "flow": "nightly" })).await.unwrap();
        assert_eq!(bench.count().await, 3, "asked anew");
    }
}

/// D4: a search that needs nothing of a lookup makes none: one that uploads a file would upload it twice.
#[tokio::test]
async fn a_find_asks_only_for_what_it_uses() {
    let find = |query: &str| {
        let mut job = named();
        job["lookups"][0].as_object_mut().unwrap().remove("cache");
        job["find"] = json!({
            "request": { "path": "/runs", "query": { "tag": query } }, "items": "{{ body.runs }}",
            "match": "item.tag == key", "job": { "id": "{{ item.id }}" },
        });
        job
    };
    let answers = |request: &Request| match request.url.path() {
        "/v1/runs" => answer(200, json!({ "runs": [] })),
        _ => flows(request),
    };
    let key = IdempotencyKey::new("k");
    for (query, wanted) in
        [("{{ key }}", &["/v1/runs?tag=k"][..]), ("{{ steps.flow }}", &["/v1/flows?name=nightly", "/v1/runs?tag=17"])]
    {
        let mut bench = Bench::routed(find(query), answers).await;
        bench.cx.arguments = std::sync::Arc::new(json!({ "flow": "nightly" }).as_object().unwrap().clone());
        assert_eq!(bench.adapter().find(&bench.cx, &key).await.unwrap(), None);
        assert_eq!(bench.paths().await, wanted);
    }
}

#[test]
fn a_lookup_is_named_where_it_exists() {
    let mut job = named();
    job["status"]["message"] = json!("{{ steps.flow }}");
    assert!(issues(job).join("\n").contains("status.message: `steps` does not exist here"), "a look comes after a restart, too");
}
