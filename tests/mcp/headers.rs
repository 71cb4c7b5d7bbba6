//! The headers that mirror the body (SEP-2243), as a table.

use jobgate::mcp::{HeaderText, McpHeaders};
use serde_json::{Value, json};

use crate::client::{Ask, ask, call, get, one};
use crate::rig::Rig;

fn headers(mut request: Ask, change: impl FnOnce(&mut McpHeaders)) -> Ask {
    change(request.headers.as_mut().unwrap());
    request
}

/// Streamable HTTP, "Server Validation": missing, differing, repeated and unreadable headers are -32020 and HTTP 400.
#[tokio::test]
async fn standard_headers_have_to_be_there_and_to_say_what_the_body_says() {
    let rig = Rig::new().await;
    let id = rig.start("render", json!({})).await;
    let list = || ask("tools/list", json!({}));
    let greet = || call("greet", json!({ "name": "Ann" }));
    type Change = fn(&mut McpHeaders);
    let encoded_greet: Change = |it| it.name = one("=?base64?Z3JlZXQ=?=");
    let table: Vec<(&str, Ask, Change, bool)> = vec![
        ("as it should be", list(), |_| {}, true),
        ("no version", list(), |it| it.protocol_version = HeaderText::Absent, false),
        ("another version", list(), |it| it.protocol_version = one("2025-11-25"), false),
        ("two versions", list(), |it| it.protocol_version = HeaderText::Repeated, false),
        ("unreadable version", list(), |it| it.protocol_version = HeaderText::Unreadable, false),
        ("no method", list(), |it| it.method = HeaderText::Absent, false),
        ("another method", list(), |it| it.method = one("prompts/list"), false),
        ("method in capitals", list(), |it| it.method = one("TOOLS/LIST"), false),
        ("two methods", list(), |it| it.method = HeaderText::Repeated, false),
        ("unreadable method", list(), |it| it.method = HeaderText::Unreadable, false),
        ("a name where none is wanted", list(), |it| it.name = one("x"), true),
        ("name as it should be", greet(), |_| {}, true),
        ("no name", greet(), |it| it.name = HeaderText::Absent, false),
        ("another name", greet(), |it| it.name = one("grEET"), false),
        ("two names", greet(), |it| it.name = HeaderText::Repeated, false),
        ("unreadable name", greet(), |it| it.name = HeaderText::Unreadable, false),
        ("name in base64", greet(), encoded_greet, true),
        ("another name in base64", greet(), |it| it.name = one("=?base64?eA==?="), false),
        ("broken base64", greet(), |it| it.name = one("=?base64?Z3JlZXQ?="), false),
        ("base64 of no text", greet(), |it| it.name = one("=?base64?/w==?="), false),
        ("task id as it should be", get(&id), |_| {}, true),
        ("no task id, as clients in the field send it", get(&id), |it| it.name = HeaderText::Absent, true),
        ("another task id", get(&id), |it| it.name = one("task_0"), false),
        ("two task ids", get(&id), |it| it.name = HeaderText::Repeated, false),
        ("another cancel", ask("tasks/cancel", json!({ "taskId": id })), |it| it.name = one("x"), false),
        ("another update", crate::client::update(&id, json!({})), |it| it.name = one("x"), false),
    ];
    for (what, request, change, served) in table {
        let answer = rig.send(headers(request, change)).await;
        if served {
            answer.result();
        } else {
            assert_eq!(answer.error(), (-32020, 400), "{what}: {answer:?}");
        }
    }
    assert!(rig.provider.jobs().iter().all(|job| !job.cancelled), "a refused cancel cancels nothing");
}

/// Streamable HTTP, "Custom Headers from Tool Parameters".
#[tokio::test]
async fn parameter_headers_have_to_say_what_the_arguments_say() {
    let rig = Rig::new().await;
    type Sent = Vec<(&'static str, HeaderText)>;
    let table: Vec<(Value, Sent, bool)> = vec![
        (json!({}), vec![], true),
        (json!({ "region": "eu" }), vec![("region", one("eu"))], true),
        (json!({ "region": "eu" }), vec![], false),
        (json!({ "region": "eu" }), vec![("region", one("us"))], false),
        (json!({ "region": "eu" }), vec![("region", HeaderText::Repeated)], false),
        (json!({ "region": "eu" }), vec![("region", HeaderText::Unreadable)], false),
        (json!({ "region": "Hello" }), vec![("region", one("=?base64?SGVsbG8=?="))], true),
        (json!({ "region": "Hello" }), vec![("region", one("=?base64?SGVsbG8?="))], false),
        (json!({ "region": "Hello" }), vec![("region", one("=?base64?SGVs!!!bG8=?="))], false),
        (json!({ "region": "SGVsbG8=" }), vec![("region", one("SGVsbG8="))], true),
        (json!({ "region": "=?base64?SGVsbG8=" }), vec![("region", one("=?base64?SGVsbG8="))], true),
        (json!({}), vec![("region", one("eu"))], false),
        (json!({ "limit": 42 }), vec![("limit", one("42"))], true),
        (json!({ "limit": 42 }), vec![("limit", one("42.0"))], true),
        (json!({ "limit": 42 }), vec![("limit", one("43"))], false),
        (json!({ "limit": -7 }), vec![("limit", one("-7"))], true),
        (json!({ "dry": true }), vec![("dry", one("true"))], true),
        (json!({ "dry": false }), vec![("dry", one("False"))], false),
        (json!({ "deep": { "tenant": "a" } }), vec![("tenant", one("a"))], true),
        (json!({ "deep": { "tenant": "a" } }), vec![], false),
        (json!({ "list": [{ "x": 1 }] }), vec![], true),
        (json!({}), vec![("unknown", one("x"))], true),
    ];
    for (arguments, sent, served) in table {
        let mut request = call("query", arguments.clone());
        request.headers.as_mut().unwrap().params = sent.iter().map(|(name, text)| ((*name).to_owned(), text.clone())).collect();
        let answer = rig.send(request).await;
        if served {
            assert_eq!(answer.text(), ("query", false), "{arguments} {sent:?}");
        } else {
            assert_eq!(answer.error(), (-32020, 400), "{arguments} {sent:?}");
        }
    }
}

/// A value that is null is as good as absent, so no header is expected for it.
#[tokio::test]
async fn no_header_is_expected_for_null() {
    let rig = Rig::new().await;
    let answer = rig.send(call("query", json!({ "region": null }))).await;
    assert!(answer.text().0.contains("/region"), "it is the schema that refuses it: {answer:?}");
}

/// Over stdio there are no headers, and none are missed.
#[tokio::test]
async fn without_http_there_are_no_headers() {
    let rig = Rig::new().await;
    let mut request = call("query", json!({ "region": "eu" }));
    request.headers = None;
    assert_eq!(rig.send(request).await.text(), ("query", false));
}
