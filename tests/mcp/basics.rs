//! Versions, metadata, methods and lists.

use jobgate::domain::Caller;
use jobgate::mcp::{Frontend as _, Reply, RequestContext, Streams};
use serde_json::{Value, json};

use crate::client::{TASKS, VERSION, ask, call, me, one};
use crate::rig::Rig;

const SERVED: [&str; 4] = [VERSION, "2025-11-25", "2025-06-18", "2025-03-26"];

/// Tasks extension, "Capability Negotiation"; clients read any member of the extension's object as another extension.
#[tokio::test]
async fn discover_says_what_is_served_and_no_more() {
    let rig = Rig::new().await;
    let answer = rig.send(ask("server/discover", json!({}))).await;
    let result = answer.result();
    assert_eq!(result["supportedVersions"], json!(SERVED));
    assert_eq!(result["capabilities"], json!({ "tools": {}, "resources": {}, "extensions": { TASKS: {} } }));
    assert!(result["capabilities"].get("tasks").is_none(), "the slot of 2025-11-25 must not be there");
    assert!(result["instructions"].as_str().unwrap().len() > 50);
}

/// Base protocol, "_meta": what is required on every request; its absence is -32602 and HTTP 400.
#[tokio::test]
async fn a_request_without_its_metadata_is_malformed() {
    let rig = Rig::new().await;
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for method in ["server/discover", "tools/list", "tasks/get"] {
        let whole = ask(method, json!({ "taskId": "x" }));
        assert_eq!(rig.send(whole.clone().with("_meta", Value::Null)).await.error(), (-32602, 400), "{method}");
        assert_eq!(rig.send(whole.clone().with("_meta", 5)).await.error(), (-32602, 400), "{method}");
        assert_eq!(rig.send(whole.clone().without_meta(version)).await.error(), (-32602, 400), "{method}");
        assert_eq!(rig.send(whole.clone().meta(version, 5)).await.error(), (-32602, 400), "{method}");
        assert_eq!(rig.send(whole.clone().without_meta(capabilities)).await.error(), (-32602, 400), "{method}");
        assert_eq!(rig.send(whole.meta(capabilities, json!([]))).await.error(), (-32602, 400), "{method}");
    }
    let anonymous = ask("server/discover", json!({})).without_meta("io.modelcontextprotocol/clientInfo");
    rig.send(anonymous).await.result();
}

/// Versioning, "Protocol Version Negotiation": unknown versions are -32022 with what is served and what was asked for.
#[tokio::test]
async fn a_version_that_is_not_served_is_refused_with_those_that_are() {
    let rig = Rig::new().await;
    for version in ["v999.0.0", "2024-11-05", "2026-07-29"] {
        let mut request = ask("server/discover", json!({})).meta("io.modelcontextprotocol/protocolVersion", version);
        request.headers.as_mut().unwrap().protocol_version = one(version);
        let answer = rig.send(request).await;
        assert_eq!(answer.error(), (-32022, 400));
        assert_eq!(answer.message["error"]["data"], json!({ "supported": SERVED, "requested": version }));
    }
}

/// Streamable HTTP, "Protocol Version Header": methods that are not served are -32601 and HTTP 404; so are those of other versions.
#[tokio::test]
async fn methods_that_are_not_served_are_404() {
    let rig = Rig::new().await;
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "prompts/list",
        "tasks/result",
        "tasks/list",
        "tasks/delete",
        "unknown/method",
        "",
        "TOOLS/LIST",
    ] {
        assert_eq!(rig.send(ask(method, json!({ "taskId": "x" }))).await.error(), (-32601, 404), "{method}");
    }
}

#[tokio::test]
async fn tools_are_listed_in_one_order_with_their_whole_schemas() {
    let rig = Rig::new().await;
    let first = rig.send(ask("tools/list", json!({}))).await.message["result"].clone();
    assert_eq!(rig.send(ask("tools/list", json!({}))).await.message["result"], first);
    let names: Vec<&str> = first["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted(), "{names:?}");
    assert!(first.get("nextCursor").is_none());
    let greet = &first["tools"].as_array().unwrap()[names.iter().position(|name| *name == "greet").unwrap()];
    assert_eq!(greet["inputSchema"]["$comment"], "kept");
    assert_eq!(greet["inputSchema"]["additionalProperties"], false);
    assert_eq!(rig.send(ask("tools/list", json!({ "cursor": "made up" }))).await.error(), (-32602, 200));
    assert_eq!(rig.send(ask("tools/list", json!({ "cursor": 5 }))).await.error(), (-32602, 200));
}

/// JSON-RPC 2.0, section 5.1; the id is left out where none could be read, because MCP has no `null` ids.
#[tokio::test]
async fn what_is_no_message_is_answered_by_an_error_of_the_protocol() {
    let rig = Rig::new().await;
    for (text, code, id) in [
        ("{", -32700, None),
        ("", -32700, None),
        ("\u{0}", -32700, None),
        ("[]", -32600, None),
        ("\"tools/list\"", -32600, None),
        ("{\"jsonrpc\":\"2.0\",\"id\":5}", -32600, Some(5)),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/list\",\"params\":[1]}", -32600, Some(5)),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"a\",\"params\":{\"x\":1,\"x\":2}}", -32602, Some(5)),
    ] {
        let context = RequestContext::new(Caller::new(me()), Streams::Wanted);
        let Reply::One { status, body, .. } = rig.dispatcher.handle(context, text.to_owned().into()).await else {
            panic!("{text}")
        };
        let message: Value = serde_json::from_slice(&body).unwrap();
        rig.checker.response("", &message).unwrap();
        assert_eq!(message["error"]["code"], code, "{text}");
        assert_eq!(message.get("id").and_then(Value::as_i64), id, "{text}");
        assert_eq!(status, if code == -32602 { 200 } else { 400 }, "{text}");
    }
}

/// Tasks extension, "Task Cancellation": `notifications/cancelled` must not be used for tasks, so it changes none.
#[tokio::test]
async fn notifications_are_accepted_and_cancel_no_task() {
    let rig = Rig::new().await;
    let started = call("render", json!({}));
    let id = rig.send(started.clone()).await.task_id();
    for method in ["notifications/cancelled", "notifications/initialized", "notifications/unknown"] {
        let note = json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": started.id } });
        let context = RequestContext::new(Caller::new(me()), Streams::Wanted);
        let reply = rig.dispatcher.handle(context, note.to_string().into()).await;
        assert!(matches!(reply, Reply::Accepted), "{method}: {reply:?}");
    }
    rig.advance(crate::rig::SECOND * 10).await;
    assert_eq!(rig.task(&id).await["status"], "completed");
}
