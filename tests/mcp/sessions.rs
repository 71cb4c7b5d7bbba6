//! `initialize`, sessions and what all versions before 2026-07-28 share.

use jobgate::domain::Caller;
use jobgate::mcp::{Frontend as _, HeaderText, McpHeaders, Notes, Reply, RequestContext, Streams, Verb};
use serde_json::{Value, json};

use crate::client::{me, one, you};
use crate::rig::Rig;

const CORE: &str = "2025-11-25";

/// A request of an older client.
fn context(session: Option<&str>, version: Option<&str>) -> RequestContext {
    let protocol_version = version.map_or(HeaderText::Absent, one);
    RequestContext {
        headers: Some(McpHeaders { protocol_version, ..McpHeaders::default() }),
        session: session.map_or(HeaderText::Absent, one),
        ..RequestContext::new(Caller::new(me()), Streams::Wanted)
    }
}

async fn sent(rig: &Rig, context: RequestContext, message: Value) -> (u16, Value, Notes) {
    match rig.drive(rig.dispatcher.handle(context, message.to_string().into())).await {
        Reply::One { status, body, notes } => (status, serde_json::from_slice(&body).unwrap(), notes),
        Reply::Accepted => (202, Value::Null, Notes::default()),
        Reply::Stream(_) => panic!("a stream"),
    }
}

fn initialize(version: &str, capabilities: Value) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": version, "capabilities": capabilities, "clientInfo": client } })
}

async fn session(rig: &Rig, version: &str) -> String {
    let (_, _, notes) = sent(rig, context(None, None), initialize(version, json!({}))).await;
    notes.session.unwrap()
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })
}

/// Lifecycle, "Version Negotiation": a served version is echoed, any other answered by the newest with sessions.
#[tokio::test]
async fn a_version_is_agreed_on() {
    let rig = Rig::new().await;
    for (wanted, agreed) in [(CORE, CORE), ("2025-06-18", "2025-06-18"), ("2025-03-26", "2025-03-26"), ("2024-11-05", CORE)] {
        let (status, message, notes) = sent(&rig, context(None, None), initialize(wanted, json!({}))).await;
        assert_eq!((status, &message["result"]["protocolVersion"]), (200, &json!(agreed)), "{wanted}");
        assert!(notes.session.unwrap().bytes().all(|byte| byte.is_ascii_graphic()), "visible ASCII");
    }
}

/// Dialect trap (field reports, 12): the nested shape, without which clients take it that there are no tasks; and never the slot of
/// 2026-07-28.
#[tokio::test]
async fn tasks_are_declared_where_the_version_has_them_and_nowhere_else() {
    let rig = Rig::new().await;
    let (_, message, _) = sent(&rig, context(None, None), initialize(CORE, json!({}))).await;
    let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    assert_eq!(message["result"]["capabilities"], json!({ "tools": {}, "resources": {}, "tasks": tasks }));
    for older in ["2025-06-18", "2025-03-26"] {
        let (_, message, _) = sent(&rig, context(None, None), initialize(older, json!({}))).await;
        assert_eq!(message["result"]["capabilities"], json!({ "tools": {}, "resources": {} }), "{older}");
    }
}

/// Streamable HTTP, "Session Management": a session is its caller's, and ends when it is deleted.
#[tokio::test]
async fn a_session_is_its_callers_and_ends_when_it_is_deleted() {
    let rig = Rig::new().await;
    let id = session(&rig, CORE).await;
    assert_eq!(sent(&rig, context(Some(&id), Some(CORE)), ping()).await.1["result"], json!({}));
    assert_eq!(sent(&rig, context(Some(&id), Some("2025-06-18")), ping()).await.0, 400, "another version than agreed on");
    let stranger = RequestContext { caller: Caller::new(you()), ..context(Some(&id), None) };
    assert_eq!(sent(&rig, stranger, ping()).await.0, 404);
    let forged = format!("{}x", id.get(..id.len() - 1).unwrap());
    for wrong in ["", "x", "a.b", &forged] {
        assert_eq!(sent(&rig, context(Some(wrong), None), ping()).await.0, 404, "{wrong}");
    }
    let delete = RequestContext { verb: Verb::Delete, ..context(Some(&id), None) };
    assert!(matches!(rig.dispatcher.handle(delete, bytes::Bytes::new()).await, Reply::Accepted));
    assert_eq!(sent(&rig, context(Some(&id), None), ping()).await.0, 404);
}

/// Streamable HTTP, "Protocol Version Header": a request outside a session is served, too.
#[tokio::test]
async fn a_request_without_a_session_is_served() {
    let rig = Rig::new().await;
    for version in [None, Some(CORE), Some("2025-03-26")] {
        assert_eq!(sent(&rig, context(None, version), ping()).await.1["result"], json!({}), "{version:?}");
    }
}
