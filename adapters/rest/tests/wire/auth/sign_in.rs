//! Sign-ins of an API's own: tokens and cookies (B2, B3).

use std::sync::atomic::{AtomicUsize, Ordering};

use jobgate_adapter_api::ErrorKind;
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use serde_json::{Value, json};

use super::{Desk, echo, header, job};

const SECRETS: [(&str, &str); 1] = [("P", "pass\"word-9")];

fn login(change: impl FnOnce(&mut Value)) -> Value {
    let mut words = json!({
        "request": { "path": "/sign-in", "body": { "user": "ada", "password": "{{ secret.password }}" } },
        "secrets": { "password": "env:P" },
        "token": "{{ body.token }}",
    });
    change(&mut words);
    json!({ "headers": { "X-Version": "3", "X-Request": "{{ key }}" }, "auth": { "login": words } })
}

/// An API with a sign-in at `/v1/sign-in`, which answers so, and behaves otherwise as `api`.
fn with_sign_in(
    answer: impl Fn() -> ResponseTemplate + Send + Sync + 'static,
    api: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static {
    move |request| if request.url.path() == "/v1/sign-in" { answer() } else { api(request) }
}

fn token(extra: &Value) -> ResponseTemplate {
    let mut body = extra.clone();
    body["token"] = json!("session-token-5");
    ResponseTemplate::new(201).set_body_json(body)
}

/// Headers that name the call are left out of the sign-in, which is none.
#[tokio::test]
async fn a_sign_in_gives_a_token_for_a_header_of_the_apis_own() {
    let words = login(|login| {
        login["header"] = json!("X-Session");
        login["prefix"] = json!("s=");
    });
    let desk = Desk::new(|_| words, &SECRETS, with_sign_in(|| token(&json!({})), job)).await;
    desk.submit().await.unwrap();
    desk.poll().await.unwrap();
    let sent = desk.requests().await;
    assert_eq!(desk.asked().await, ["/v1/sign-in", "/v1/jobs", "/v1/jobs/1"]);
    assert_eq!(serde_json::from_slice::<Value>(&sent[0].body).unwrap(), json!({ "user": "ada", "password": "pass\"word-9" }));
    assert_eq!((header(&sent[0], "x-version"), header(&sent[0], "x-request")), ("3".to_owned(), String::new()));
    assert_eq!(header(&sent[2], "x-session"), "s=session-token-5");
    assert_eq!(header(&sent[2], "authorization"), "");
}

/// When a token ends is said by the words or by the answer. The clock begins at 2026-07-28T12:00:00Z.
#[tokio::test]
async fn a_token_of_a_sign_in_ends_when_it_is_said_to() {
    for (name, value, answer) in [
        ("lifetime", json!("10m"), json!({})),
        ("expires_in", json!("{{ body.in }}"), json!({ "in": 600 })),
        ("expires_in", json!("{{ body.in }}"), json!({ "in": "600" })),
        ("expires_at", json!("{{ body.at }}"), json!({ "at": "2026-07-28T12:10:00Z" })),
        ("expires_at", json!("{{ body.at }}"), json!({ "at": 1_785_240_600 })),
    ] {
        let words = login(|login| login[name] = value.clone());
        let given = answer.clone();
        let desk = Desk::new(|_| words, &SECRETS, with_sign_in(move || token(&given), job)).await;
        let mut counts = Vec::new();
        for seconds in [0, 539, 2] {
            desk.pass(seconds).await;
            desk.poll().await.unwrap();
            counts.push(desk.asked().await.iter().filter(|path| *path == "/v1/sign-in").count());
        }
        assert_eq!(counts, [1, 1, 2], "{name} {answer}");
    }
}

#[tokio::test]
async fn a_sign_in_that_fails_says_why_and_starts_nothing() {
    let said = |status: u16| ResponseTemplate::new(status).set_body_json(json!({ "message": "no user ada, pass\"word-9" }));
    for (answer, kind, words) in [
        (said(401), ErrorKind::Unauthorized, "no user ada, ***"),
        (said(500), ErrorKind::Unavailable, "status 500"),
        (ResponseTemplate::new(200).set_body_json(json!({ "tokn": 1 })), ErrorKind::Unavailable, "no token where it should be"),
        (ResponseTemplate::new(302), ErrorKind::Unauthorized, "status 302"),
    ] {
        let desk = Desk::new(|_| login(|_| ()), &SECRETS, with_sign_in(move || answer.clone(), job)).await;
        let error = desk.submit().await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(words), "{words}: {error}");
        assert_eq!(desk.asked().await, ["/v1/sign-in"]);
    }
}

/// As buildbot wants it: Basic once, then the cookie; a session that has ended is 403.
#[tokio::test]
async fn a_session_cookie_is_sent_back_and_renewed() {
    let sessions = AtomicUsize::new(0);
    let api = move |request: &Request| {
        if request.url.path() == "/v1/auth/login" {
            let nth = sessions.fetch_add(1, Ordering::SeqCst) + 1;
            assert_eq!(header(request, "authorization"), "Basic YWRhOnBhc3Mid29yZC05");
            return ResponseTemplate::new(302)
                .insert_header("Location", "/")
                .append_header("Set-Cookie", format!("SESSION=session-value-{nth}; Path=/; HttpOnly; Max-Age=3600"))
                .append_header("Set-Cookie", "old=x; Max-Age=0")
                .append_header("Set-Cookie", "lang=en; Path=/");
        }
        let good = format!("SESSION=session-value-{}", if sessions.load(Ordering::SeqCst) > 1 { 2 } else { 1 });
        if header(request, "cookie").contains(&good) && request.method.as_str() == "GET" || good.ends_with('2') {
            job(request)
        } else {
            ResponseTemplate::new(403)
        }
    };
    let words = json!({ "auth": { "cookie": {
        "request": { "path": "/auth/login" },
        "auth": { "basic": { "username": "ada", "password": "env:P" } },
        "expired": [401, 403],
    } } });
    let desk = Desk::new(|_| words, &SECRETS, api).await;
    desk.poll().await.unwrap();
    let sent = desk.requests().await;
    assert_eq!(header(&sent[1], "cookie"), "SESSION=session-value-1; lang=en");
    assert_eq!(header(&sent[1], "authorization"), "");
    // The submit is refused with the first session and taken with the second.
    desk.submit().await.unwrap();
    assert_eq!(desk.asked().await[2..], ["/v1/jobs", "/v1/auth/login", "/v1/jobs"]);
    assert_eq!(header(desk.requests().await.last().unwrap(), "cookie"), "SESSION=session-value-2; lang=en");
    // And it ends as its `Max-Age` says.
    desk.pass(3_550).await;
    desk.poll().await.unwrap();
    assert_eq!(desk.asked().await.iter().filter(|path| *path == "/v1/auth/login").count(), 3);
}

#[tokio::test]
async fn a_sign_in_without_a_cookie_is_no_sign_in() {
    let words = json!({ "auth": { "cookie": { "request": { "path": "/sign-in" } } } });
    let desk = Desk::new(|_| words, &SECRETS, with_sign_in(|| ResponseTemplate::new(200), job)).await;
    let error = desk.submit().await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Unauthorized, "the sign-in gave no cookie"));
}

/// Passwords, tokens and cookies show nowhere (C10); a short word that happens to be a cookie stays a word.
#[tokio::test]
async fn sign_ins_leave_nothing_to_see() {
    let words = login(|_| ());
    let desk = Desk::new(|_| words, &SECRETS, with_sign_in(|| token(&json!({})), echo)).await;
    desk.keeps(&["session-token-5", "pass\\\"word-9"]).await;

    let words = json!({ "auth": { "cookie": { "request": { "path": "/sign-in" } } } });
    let cookies = || {
        let answer = ResponseTemplate::new(200).append_header("Set-Cookie", "sid=cookie-value-3");
        answer.append_header("Set-Cookie", "lang=json")
    };
    let desk = Desk::new(|_| words, &SECRETS, with_sign_in(cookies, echo)).await;
    desk.keeps(&["cookie-value-3"]).await;
    let seen = format!("{:?}", desk.poll().await.unwrap());
    assert!(seen.contains("application/json"), "{seen}");
}
