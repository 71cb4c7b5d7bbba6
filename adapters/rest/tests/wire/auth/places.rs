//! Credentials that are the same for every request, each in its place (B1).

use jobgate_adapter_api::ErrorKind;
use serde_json::{Value, json};

use super::{Desk, echo, header, job};
use crate::support::with;

async fn desk(auth: Value) -> Desk {
    Desk::new(|_| json!({ "settings": { "user": "ada" }, "auth": auth }), &[("A", "secret-a/1 +é"), ("B", "secret-b-22")], job)
        .await
}

#[tokio::test]
async fn several_headers_are_sent_with_every_request() {
    let auth = json!({ "headers": { "X-Client": "env:B", "x-secret": "env:B" } });
    let desk = desk(auth).await;
    desk.submit().await.unwrap();
    desk.poll().await.unwrap();
    for request in desk.requests().await {
        assert_eq!(
            (header(&request, "x-client"), header(&request, "X-Secret")),
            ("secret-b-22".to_owned(), "secret-b-22".to_owned())
        );
    }
}

/// A user name may be a setting; a token as Basic's password has none (azure_devops).
#[tokio::test]
async fn basic_knows_settings() {
    for (username, wanted) in [("{{ settings.user }}", "Basic YWRhOnNlY3JldC1iLTIy"), ("", "Basic OnNlY3JldC1iLTIy")] {
        let desk = desk(json!({ "basic": { "username": username, "password": "env:B" } })).await;
        desk.poll().await.unwrap();
        assert_eq!(header(&desk.requests().await[0], "authorization"), wanted);
    }
}

/// A field goes into JSON and forms; a request without a body is sent without it.
#[tokio::test]
async fn a_field_goes_into_bodies() {
    let desk = desk(json!({ "field": { "name": "token", "value": "env:A" } })).await;
    desk.submit().await.unwrap();
    desk.poll().await.unwrap();
    let sent = desk.requests().await;
    assert_eq!(serde_json::from_slice::<Value>(&sent[0].body).unwrap(), json!({ "n": 1, "token": "secret-a/1 +é" }));
    assert!(sent[1].body.is_empty());
}

#[tokio::test]
async fn a_field_goes_into_forms_and_nowhere_else() {
    for (request, wanted) in [
        (json!({ "path": "/jobs", "form": { "ref": "main" } }), Ok("ref=main&token=secret-a%2F1+%2B%C3%A9")),
        (json!({ "path": "/jobs", "body": ["x"] }), Err("neither a JSON object nor a form")),
        (json!({ "path": "/jobs", "raw": "x" }), Err("neither a JSON object nor a form")),
    ] {
        let words = |_: &str| json!({ "auth": { "field": { "name": "token", "value": "env:A" } } });
        let section = with(|job| job["submit"]["request"] = request);
        let desk = Desk::with_job(words, &[("A", "secret-a/1 +é")], section, job).await;
        match (desk.submit().await, wanted) {
            (Ok(_), Ok(body)) => assert_eq!(String::from_utf8_lossy(&desk.requests().await[0].body), body),
            (Err(error), Err(why)) => {
                assert!(error.kind() == ErrorKind::Rejected && error.message().contains(why), "{error}");
                assert!(desk.requests().await.is_empty());
            }
            (found, wanted) => panic!("{wanted:?}: {found:?}"),
        }
    }
}

/// A secret is taken out in every form in which it was sent.
#[tokio::test]
async fn what_the_provider_repeats_is_cleaned() {
    let (plain, in_query, in_json) = ("secret-a/\"1 +", "secret-a%2F%221+%2B", "secret-a/\\\"1 +");
    for (auth, forms) in [
        (json!({ "query": { "name": "code", "value": "env:A" } }), vec![in_query]),
        (json!({ "field": { "name": "token", "value": "env:A" } }), vec![in_json]),
        (json!({ "headers": { "x-a": "env:A", "x-b": "env:B" } }), vec![plain, "secret-b-22"]),
        (json!({ "basic": { "username": "ada", "password": "env:B" } }), vec!["YWRhOnNlY3JldC1iLTIy"]),
    ] {
        let desk = Desk::new(|_| json!({ "auth": auth }), &[("A", plain), ("B", "secret-b-22")], echo).await;
        desk.keeps(&forms).await;
    }
}
