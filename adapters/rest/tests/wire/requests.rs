//! What goes to a provider: types, escaping, what is left out, credentials.

use crate::support::{Bench, answer, least, with};
use jobgate_adapter_api::{ErrorKind, JobRef};
use jobgate_adapter_testkit::{SECRET, SECRET_REF};
use serde_json::{Value, json};

/// The body that a template tree makes of arguments.
async fn body(tree: Value, arguments: Value) -> Value {
    let bench = Bench::new(with(|job| job["submit"]["request"]["body"] = tree), vec![answer(201, json!({ "id": 1 }))]).await;
    bench.submit(arguments).await.unwrap();
    serde_json::from_str(&bench.last().await.2).unwrap()
}

/// A text that is exactly one expression keeps its type; every other one is a text.
#[tokio::test]
async fn values_keep_their_types() {
    let tree = json!({
        "whole": "{{ args.n }}", "text": "{{ args.n }}!", "list": ["{{ args.list }}", 7, null, true],
        "map": "{{ args.map }}", "string": "{{ args.s }}", "bare": "plain", "sum": "{{ args.n + 1 }}", "json": "{{ args.map | to_json }}",
    });
    let arguments = json!({ "n": 9_007_199_254_740_993_u64, "list": [1, "two"], "map": { "b": 1.5, "a": null }, "s": "007" });
    let wanted = json!({
        "whole": 9_007_199_254_740_993_u64, "text": "9007199254740993!", "list": [[1, "two"], 7, null, true],
        "map": { "b": 1.5, "a": null }, "string": "007", "bare": "plain", "sum": 9_007_199_254_740_994_u64, "json": "{\"b\":1.5,\"a\":null}",
    });
    assert_eq!(body(tree, arguments).await.to_string(), wanted.to_string());
}

#[tokio::test]
async fn optional_leaves_a_field_out_and_default_fills_it() {
    let tree = json!({ "a": "{{ args.a | optional }}", "b": "{{ args.b | default(3) }}", "c": ["{{ args.c | optional }}", "{{ args.d | optional }}"] });
    assert_eq!(body(tree, json!({ "a": null, "d": 1 })).await, json!({ "b": 3, "c": [1] }));
}

/// A1: a body that is left out as a whole is none, which is another thing than `null`.
#[tokio::test]
async fn a_body_may_be_left_out() {
    let words = with(|job| job["submit"]["request"]["body"] = json!("{{ args.input | optional }}"));
    for (arguments, wanted) in [(json!({}), ""), (json!({ "input": null }), ""), (json!({ "input": 7 }), "7")] {
        let bench = Bench::new(words.clone(), vec![answer(201, json!({ "id": 1 }))]).await;
        bench.submit(arguments).await.unwrap();
        let (method, _, body) = bench.last().await;
        assert_eq!((method.as_str(), body.as_str()), ("POST", wanted));
        assert_eq!(bench.last_header("content-type").await.is_some(), !wanted.is_empty());
    }
}

/// An id or argument can never leave its place in a path.
#[tokio::test]
async fn a_value_in_a_path_is_escaped() {
    let bench = Bench::new(least(), vec![answer(200, json!({ "status": "done" }))]).await;
    for (id, path) in [
        ("17", "/v1/jobs/17"),
        ("a/b", "/v1/jobs/a%2Fb"),
        ("a?admin=1#x", "/v1/jobs/a%3Fadmin%3D1%23x"),
        ("ä {1}", "/v1/jobs/%C3%A4%20%7B1%7D"),
        ("%2e%2e", "/v1/jobs/%252e%252e"),
    ] {
        bench.poll(&JobRef::new(id)).await.unwrap();
        assert_eq!(bench.last().await.1, path);
    }
    let sent = bench.count().await;
    for id in ["", ".", ".."] {
        let error = bench.poll(&JobRef::new(id)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rejected, "{id}: {error}");
    }
    assert_eq!(bench.count().await, sent, "nothing was sent for an id that is no id");
}

#[tokio::test]
async fn query_and_form_are_encoded_and_lists_repeat() {
    let job = with(|job| {
        job["submit"]["request"] = json!({
            "path": "/jobs",
            "query": { "q": "{{ args.q }}", "tag": "{{ args.tags }}", "none": "{{ args.none | optional }}" },
            "form": { "name": "{{ args.q }}", "n": 3 },
        });
    });
    let bench = Bench::new(job, vec![answer(201, json!({ "id": 1 }))]).await;
    bench.submit(json!({ "q": "a b&c=d", "tags": ["x", "y"] })).await.unwrap();
    let (method, path, body) = bench.last().await;
    assert_eq!((method.as_str(), path.as_str()), ("POST", "/v1/jobs?q=a+b%26c%3Dd&tag=x&tag=y"));
    assert_eq!(body, "n=3&name=a+b%26c%3Dd");
    assert_eq!(bench.last_header("content-type").await.as_deref(), Some("application/x-www-form-urlencoded"));
}

#[tokio::test]
async fn every_auth_kind_puts_the_credential_where_it_belongs() {
    for (auth, header, wanted, query) in [
        (json!({ "bearer": SECRET_REF }), "authorization", format!("Bearer {SECRET}"), ""),
        (
            json!({ "basic": { "username": "ada", "password": SECRET_REF } }),
            "authorization",
            "Basic YWRhOmtpdC1zZWNyZXQtOWYyYzcxZDRhYg==".to_owned(),
            "",
        ),
        (
            json!({ "header": { "name": "X-Token", "value": SECRET_REF, "prefix": "Key " } }),
            "x-token",
            format!("Key {SECRET}"),
            "",
        ),
        (json!({ "query": { "name": "code", "value": SECRET_REF } }), "", String::new(), "?code=kit-secret-9f2c71d4ab"),
    ] {
        let bench = Bench::with_provider(json!({ "auth": auth }), least(), vec![answer(200, json!({ "status": "done" }))]).await;
        bench.poll(&JobRef::new("1")).await.unwrap();
        if !header.is_empty() {
            assert_eq!(bench.last_header(header).await, Some(wanted));
        }
        assert_eq!(bench.last().await.1, format!("/v1/jobs/1{query}"));
    }
}

/// A link that the provider gave is followed at its own addresses only, so a credential never leaves them.
#[tokio::test]
async fn a_link_is_followed_at_the_providers_addresses_only() {
    let job = with(|job| {
        job["submit"]["job"]["handles"] = json!({ "link": "{{ headers.location }}" });
        job["status"]["request"] = json!({ "url": "{{ job.handles.link }}" });
    });
    let bench = Bench::new(job, vec![answer(200, json!({ "status": "done" }))]).await;
    for link in [format!("{}/other/17?x=1", bench.url()), "/other/17?x=1".to_owned()] {
        bench.poll(&JobRef::new("17").with("link", link)).await.unwrap();
        assert_eq!(bench.last().await.1, "/other/17?x=1");
    }
    let sent = bench.count().await;
    let error = bench.poll(&JobRef::new("17").with("link", "https://elsewhere.example.com/17")).await.unwrap_err();
    assert!(error.message().contains("another origin") && !error.message().contains("elsewhere"), "{error}");
    assert_eq!(bench.count().await, sent);
}

/// A line break in an argument cannot add a header.
#[tokio::test]
async fn a_header_cannot_be_split() {
    let job = with(|job| job["submit"]["request"]["headers"] = json!({ "X-Name": "{{ args.name }}" }));
    let bench = Bench::new(job, vec![answer(201, json!({ "id": 1 }))]).await;
    let error = bench.submit(json!({ "name": "a\r\nX-Admin: 1" })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
    assert_eq!(bench.count().await, 0);
}

/// A missing argument is said before anything is sent.
#[tokio::test]
async fn an_undefined_argument_is_named() {
    let bench = Bench::new(
        with(|job| job["submit"]["request"]["body"] = json!({ "x": "{{ args.nope }}" })),
        vec![answer(201, json!({}))],
    )
    .await;
    let error = bench.submit(json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.message().contains("args.nope")), (ErrorKind::Rejected, true), "{error}");
    assert_eq!(bench.count().await, 0);
}

/// An expression that never ends costs nothing but its fuel.
#[tokio::test]
async fn fuel_runs_out() {
    let tree =
        json!("{% for a in args.l %}{% for b in args.l %}{% for c in args.l %}{{ c }}{% endfor %}{% endfor %}{% endfor %}");
    let bench = Bench::new(with(|job| job["submit"]["request"]["body"] = tree), vec![answer(201, json!({}))]).await;
    let error = bench.submit(json!({ "l": vec![1; 500] })).await.unwrap_err();
    assert!(error.message().contains("fuel"), "{error}");
}
