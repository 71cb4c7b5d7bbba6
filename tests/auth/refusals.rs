//! Requests whose sender is not known, in every form, and what each is told.

use std::time::Duration;

use jobgate_test_support::wait;
use serde_json::{Value, json};

use crate::gate::{EXPIRY, Gate, MODERN, read, token};

const NONE: &str = "Bearer realm=\"jobgate\"";
const UNKNOWN: &str = "Bearer realm=\"jobgate\", error=\"invalid_token\", error_description=\"this token is not known here\"";
const TWICE: &str =
    "Bearer realm=\"jobgate\", error=\"invalid_request\", error_description=\"'Authorization' was sent more than once\"";
const MALFORMED: &str =
    "Bearer realm=\"jobgate\", error=\"invalid_request\", error_description=\"'Authorization' has to be 'Bearer' and a token\"";

/// I1, I2 and RFC 6750, section 3: who sends nothing is told how, who sends something wrong is told what is wrong with it.
#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_authorization_has_its_answer() {
    let gate = Gate::new().await;
    let good = format!("Bearer {}", token("ann"));
    let long = format!("Bearer {}", "a".repeat(300));
    let ping = || json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    for method in ["POST", "GET", "DELETE"] {
        for (sent, status, challenge) in [
            (&[][..], 401, NONE),
            (&["Basic YW5uOnNlY3JldA=="], 401, NONE),
            (&["Bearer jg_wrong"], 401, UNKNOWN),
            (&[&long], 401, UNKNOWN),
            (&["Bearer"], 400, MALFORMED),
            (&["Bearer two words"], 400, MALFORMED),
            (&["Bearer \u{fc}"], 400, MALFORMED),
            (&[&good, &good], 400, TWICE),
            (&[&good, "Bearer jg_wrong"], 400, TWICE),
        ] {
            let headers: Vec<(&str, &str)> = sent.iter().map(|value| ("authorization", *value)).collect();
            let answer = read(gate.send(method, "/mcp", &headers, (method == "POST").then(ping)).await).await;
            let error = &answer.json()["error"];
            assert_eq!((answer.status, answer.challenge.as_deref()), (status, Some(challenge)), "{method} {sent:?}");
            assert_eq!(error["code"], -32600, "{answer:?}");
            assert!(!answer.text.contains("jg_"), "{answer:?}");
        }
    }
    // Neither in the address nor in the body is a token looked for.
    let path = format!("/mcp?access_token={}", token("ann"));
    let answer = read(gate.send("POST", &path, &[], Some(ping())).await).await;
    assert_eq!((answer.status, answer.challenge.as_deref()), (401, Some(NONE)));
    gate.stop().await;
}

/// The scheme's name has no case (RFC 9110, section 11.1); and whoever looks whether the gateway lives needs no token.
#[tokio::test(flavor = "multi_thread")]
async fn a_good_token_is_let_in_and_health_needs_none() {
    let gate = Gate::new().await;
    for scheme in ["Bearer ", "bearer ", "BEARER   "] {
        let header = format!("{scheme}{}", token("ann"));
        let headers = [("authorization", header.as_str()), ("mcp-protocol-version", "2025-06-18")];
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        let answer = read(gate.send("POST", "/mcp", &headers, Some(ping)).await).await;
        assert_eq!((answer.status, answer.challenge.as_deref()), (200, None), "{scheme:?} {answer:?}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(gate.send("GET", path, &[], None).await.status(), 200, "{path}");
    }
    gate.stop().await;
}

/// I3: the token ends in mid-task; the task goes on, the next call needs a valid token, and a new one of the same principal serves.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_may_end_while_its_task_goes_on() {
    let gate = Gate::new().await;
    let task = gate.start("short").await;
    assert_eq!(gate.get("short", &task).await.status, 200);
    gate.clock.advance(EXPIRY);
    let refused = gate.get("short", &task).await;
    let expired = "Bearer realm=\"jobgate\", error=\"invalid_token\", error_description=\"this token has expired\"";
    assert_eq!((refused.status, refused.challenge.as_deref()), (401, Some(expired)));
    let seen = wait::until_async("the task to end", Duration::from_secs(60), async || {
        gate.clock.advance(Duration::from_secs(60));
        let task = gate.get("ann", &task).await.result();
        (task["status"] != "working").then_some(task)
    });
    assert_eq!(seen.await["status"], "completed");
    assert_eq!(
        gate.get("ann-new", &task).await.result()["status"],
        "completed",
        "two tokens of one principal, while they change"
    );
    gate.stop().await;
}

/// I3: a stream is one long answer; it ends with the token that it was asked for with.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_token() {
    let gate = Gate::new().await;
    let task = gate.start("ann").await;
    let listen = |holder: &'static str| {
        let filter = json!({ "notifications": { "taskIds": [task] } });
        gate.open(holder, MODERN, "subscriptions/listen", filter)
    };
    let (mut short, mut long) = (listen("short").await, listen("ann").await);
    for stream in [&mut short, &mut long] {
        let event = String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap();
        assert!(event.contains(&task), "{event}");
    }
    gate.clock.advance(EXPIRY);
    let mut rest = Vec::new();
    while let Some(chunk) = short.chunk().await.unwrap() {
        rest.extend(chunk);
    }
    assert!(!String::from_utf8(rest).unwrap().contains("\"result\""), "it was cut, not answered");
    assert!(long.chunk().await.unwrap().is_some(), "others go on");
    drop(long);
    let tasks: Value = gate.get("ann", &task).await.result();
    assert_eq!(tasks["status"], "working");
    gate.stop().await;
}
