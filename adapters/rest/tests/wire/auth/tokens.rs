//! Tokens that end: asked for once, renewed in time and on a refusal, and what comes of a token endpoint in trouble (B2).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, Operation, Retry};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use serde_json::{Value, json};

use super::{Desk, echo, header, job};

const SECRETS: [(&str, &str); 1] = [("S", "client-secret/77")];

/// A token endpoint, and an API that takes its tokens.
#[derive(Default)]
struct Office {
    issued: AtomicUsize,
    /// Tokens before this one have ended.
    first_good: AtomicUsize,
    trouble: Mutex<Option<ResponseTemplate>>,
}

impl Office {
    fn answer(&self, request: &Request) -> ResponseTemplate {
        if request.url.path() == "/token" {
            if let Some(trouble) = self.trouble.lock().unwrap().clone() {
                return trouble;
            }
            let nth = self.issued.fetch_add(1, Ordering::SeqCst) + 1;
            let body = json!({ "access_token": format!("access-token-{nth}"), "token_type": "bearer", "expires_in": 600 });
            return ResponseTemplate::new(200).set_body_json(body);
        }
        let shown = header(request, "authorization");
        let nth = shown.strip_prefix("Bearer access-token-").and_then(|nth| nth.parse::<usize>().ok());
        if nth.is_some_and(|nth| nth >= self.first_good.load(Ordering::SeqCst)) {
            job(request)
        } else {
            ResponseTemplate::new(401).set_body_json(json!({ "message": "the token has ended" }))
        }
    }

    fn issued(&self) -> usize {
        self.issued.load(Ordering::SeqCst)
    }
}

fn oauth2(url: &str) -> Value {
    json!({ "token_url": format!("{url}/token"), "client_id": "job gate:1", "client_secret": "env:S", "scopes": ["a", "b"] })
}

async fn desk(office: &Arc<Office>) -> Desk {
    let office = Arc::clone(office);
    Desk::new(|url| json!({ "auth": { "oauth2": oauth2(url) } }), &SECRETS, move |request| office.answer(request)).await
}

/// RFC 6749 sections 2.3.1 and 4.4.2: what a request for a token is made of; its answer serves every call.
#[tokio::test]
async fn a_token_is_asked_for_once_and_sent_with_every_request() {
    let office = Arc::new(Office::default());
    let desk = desk(&office).await;
    desk.submit().await.unwrap();
    desk.poll().await.unwrap();
    let sent = desk.requests().await;
    assert_eq!(desk.asked().await, ["/token", "/v1/jobs", "/v1/jobs/1"]);
    // base64 of `job+gate%3A1:client-secret%2F77`: both are form-encoded first.
    assert_eq!(header(&sent[0], "authorization"), "Basic am9iK2dhdGUlM0ExOmNsaWVudC1zZWNyZXQlMkY3Nw==");
    assert_eq!(String::from_utf8_lossy(&sent[0].body), "grant_type=client_credentials&scope=a+b");
    assert_eq!(header(&sent[2], "authorization"), "Bearer access-token-1");
}

#[tokio::test]
async fn id_and_secret_may_be_in_the_body_beside_other_parameters() {
    let office = Arc::new(Office::default());
    let words = |url: &str| {
        let mut words = oauth2(url);
        words["send"] = json!("body");
        words["params"] = json!({ "audience": "{{ settings.audience }}" });
        json!({ "settings": { "audience": "api" }, "auth": { "oauth2": words } })
    };
    let desk = Desk::new(words, &SECRETS, move |request| office.answer(request)).await;
    desk.poll().await.unwrap();
    let sent = desk.requests().await;
    let wanted = "grant_type=client_credentials&client_id=job+gate%3A1&client_secret=client-secret%2F77&audience=api&scope=a+b";
    assert_eq!(String::from_utf8_lossy(&sent[0].body), wanted);
    assert_eq!(header(&sent[0], "authorization"), "");
}

/// Renewed a minute before it ends; a renewal that fails then matters only when the old one has ended.
#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let office = Arc::new(Office::default());
    let desk = desk(&office).await;
    desk.poll().await.unwrap();
    desk.pass(539).await;
    desk.poll().await.unwrap();
    assert_eq!(office.issued(), 1);
    *office.trouble.lock().unwrap() = Some(ResponseTemplate::new(503));
    desk.pass(2).await;
    desk.poll().await.unwrap();
    let after_one = desk.asked().await.iter().filter(|path| *path == "/token").count();
    desk.poll().await.unwrap();
    let after_two = desk.asked().await.iter().filter(|path| *path == "/token").count();
    assert_eq!((after_one, after_two), (2, 2), "a renewal that failed is not tried again at once");
    desk.pass(60).await;
    assert_eq!(desk.poll().await.unwrap_err().kind(), ErrorKind::Unavailable);
    *office.trouble.lock().unwrap() = None;
    desk.poll().await.unwrap();
    assert_eq!(header(desk.requests().await.last().unwrap(), "authorization"), "Bearer access-token-2");
}

/// A refused request has started nothing, so also a submit is sent again, once.
#[tokio::test]
async fn a_refused_token_is_renewed_once_and_the_request_is_sent_again() {
    let office = Arc::new(Office::default());
    let desk = desk(&office).await;
    desk.poll().await.unwrap();
    office.first_good.store(2, Ordering::SeqCst);
    desk.submit().await.unwrap();
    assert_eq!(desk.asked().await, ["/token", "/v1/jobs/1", "/v1/jobs", "/token", "/v1/jobs"]);
    let sent = desk.requests().await;
    assert_eq!(sent[2].body, sent[4].body);

    office.first_good.store(usize::MAX, Ordering::SeqCst);
    let error = desk.submit().await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Unauthorized, Some(401)), "{error}");
    assert_eq!(office.issued(), 3, "one new token for one call");
}

/// Many calls at once share one request for a token, and what comes of it.
#[tokio::test]
async fn calls_that_wait_share_one_renewal() {
    let office = Arc::new(Office::default());
    let desk = desk(&office).await;
    for found in futures_util::future::join_all((0..8).map(|_| desk.poll())).await {
        found.unwrap();
    }
    assert_eq!(office.issued(), 1);

    office.first_good.store(2, Ordering::SeqCst);
    for found in futures_util::future::join_all((0..8).map(|_| desk.poll())).await {
        found.unwrap();
    }
    assert_eq!(office.issued(), 2, "one refused token is renewed once, however many calls it was refused to");

    *office.trouble.lock().unwrap() = Some(ResponseTemplate::new(500));
    desk.pass(700).await;
    let before = desk.asked().await.len();
    for found in futures_util::future::join_all((0..8).map(|_| desk.poll())).await {
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Unavailable);
    }
    assert_eq!(desk.asked().await.len() - before, 1, "whoever waited is told what the one request was told");
}

/// Nothing was sent of the submit, so its outcome is never unknown, and the advice is the token endpoint's.
#[tokio::test]
async fn a_token_endpoint_in_trouble_leaves_no_outcome_unknown() {
    let refused = json!({ "error": "invalid_client", "error_description": "secret client-secret/77 has ended" });
    for (trouble, kind, retry, words) in [
        (
            ResponseTemplate::new(503).insert_header("Retry-After", "7"),
            ErrorKind::Unavailable,
            Retry::After(Duration::from_secs(7)),
            "status 503",
        ),
        (ResponseTemplate::new(500), ErrorKind::Unavailable, Retry::Backoff, "status 500"),
        (
            ResponseTemplate::new(429).insert_header("Retry-After", "9"),
            ErrorKind::RateLimited,
            Retry::After(Duration::from_secs(9)),
            "no more requests",
        ),
        (
            ResponseTemplate::new(401).set_body_json(refused),
            ErrorKind::Unauthorized,
            Retry::Never,
            "invalid_client: secret *** has ended",
        ),
        (ResponseTemplate::new(404), ErrorKind::Unauthorized, Retry::Never, "status 404"),
        (ResponseTemplate::new(200).set_body_string("<html>"), ErrorKind::Unavailable, Retry::Backoff, "no `access_token`"),
        (
            ResponseTemplate::new(200).set_body_json(json!({ "access_token": "" })),
            ErrorKind::Unavailable,
            Retry::Backoff,
            "no `access_token`",
        ),
    ] {
        let office = Arc::new(Office::default());
        *office.trouble.lock().unwrap() = Some(trouble);
        let desk = desk(&office).await;
        let error = desk.submit().await.unwrap_err();
        assert_eq!((error.kind(), error.retry(), error.operation()), (kind, retry, Operation::Submit), "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
        assert_eq!(desk.asked().await, ["/token"]);
    }
}

#[tokio::test]
async fn a_token_endpoint_that_is_not_there_leaves_no_outcome_unknown() {
    let words = |_: &str| json!({ "auth": { "oauth2": oauth2("http://127.0.0.1:9") } });
    let desk = Desk::new(words, &SECRETS, job).await;
    let error = desk.submit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(desk.requests().await.is_empty());
}

/// Neither the client's secret nor a token shows anywhere (C10).
#[tokio::test]
async fn secrets_and_tokens_show_nowhere() {
    let office = Office::default();
    let api = move |request: &Request| if request.url.path() == "/token" { office.answer(request) } else { echo(request) };
    let desk = Desk::new(|url| json!({ "auth": { "oauth2": oauth2(url) } }), &SECRETS, api).await;
    desk.keeps(&["access-token-1", "am9iK2dhdGUlM0ExOmNsaWVudC1zZWNyZXQlMkY3Nw=="]).await;
}
