//! Every field of every method of every version, filled with what it must not hold: a clear error or a harmless answer, nothing of
//! anybody else's, nothing sent back at length, and the next honest request is served.

use jobgate::domain::Caller;
use jobgate::mcp::{Frontend as _, HeaderText, McpHeaders, Reply, RequestContext, Streams, Verb};
use serde_json::{Value, json};

use crate::client::{TASKS, VERSION, me, one, you};
use crate::rig::{Rig, SECOND};

/// Stands in a message for the text that is put there, whether that is JSON or not.
const HERE: &str = "@here@";
/// In the arguments of a stranger's task.
const SECRET: &str = "bobs-secret-argument";

/// What is put where it does not belong, as it is written.
fn unwelcome() -> Vec<String> {
    let nested = |open: &str, close: &str| format!("{}{}", open.repeat(20_000), close.repeat(20_000));
    let mut texts: Vec<String> = [
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        "1e308",
        "-0",
        "18446744073709551616",
        "9223372036854775807",
        "123456789012345678901234567890",
        "\"\"",
        "\" \"",
        "\"\\u0000\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"a\\r\\nb: c\"",
        "\"../../etc/passwd\"",
        "\"%00\"",
        "\"task_00000000000000000000000000000000\"",
        "[]",
        "[null]",
        "{}",
        "{\"\":null}",
        "{\"a\":1,\"a\":2}",
        "{\"__proto__\":{\"x\":1}}",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push(format!("\"{}\"", "x".repeat(100_000)));
    texts.push(format!("\"{}\"", "\\u00e9".repeat(20_000)));
    texts.push(nested("[", "]"));
    texts.push(nested("{\"a\":", "}").replacen("}", "1}", 1));
    texts.push(format!("[{}1]", "1,".repeat(50_000)));
    let members: Vec<String> = (0..50_000).map(|nth| format!("\"m{nth}\":{nth}")).collect();
    texts.push(format!("{{{}}}", members.join(",")));
    texts
}

/// One way to ask.
struct Dialect {
    name: &'static str,
    version: Option<&'static str>,
    session: Option<String>,
    requests: Vec<(&'static str, Value)>,
}

impl Dialect {
    fn context(&self, method: &str, params: &Value) -> RequestContext {
        let name =
            params.get(if method == "tools/call" { "name" } else { "taskId" }).and_then(Value::as_str).filter(|it| *it != HERE);
        let modern = self.version == Some(VERSION);
        let headers = McpHeaders {
            protocol_version: self.version.map_or(HeaderText::Absent, one),
            method: if modern { one(method) } else { HeaderText::Absent },
            name: name.filter(|_| modern).map_or(HeaderText::Absent, one),
            params: Vec::new(),
        };
        RequestContext {
            headers: Some(headers),
            session: self.session.as_deref().map_or(HeaderText::Absent, one),
            ..RequestContext::new(Caller::new(me()), Streams::Wanted)
        }
    }
}

fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tests", "version": "1" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": { "form": {} }, "sampling": {}, "extensions": { TASKS: {} } });
    params["_meta"]["progressToken"] = json!("token");
    params
}

fn older(task: &str) -> Vec<(&'static str, Value)> {
    let related = json!({ "modelcontextprotocol.io/related-task": { "taskId": task } });
    let chosen = json!({ "modelcontextprotocol.io/task": { "taskId": "mine-1", "keepAlive": 60_000 }, "progressToken": 7 });
    let client = json!({ "name": "t", "title": "T", "version": "1" });
    let capabilities =
        json!({ "elicitation": { "form": {}, "url": {} }, "tasks": { "requests": {} }, "sampling": {}, "roots": {} });
    vec![
        ("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client })),
        ("ping", json!({})),
        ("tools/list", json!({ "cursor": "x" })),
        (
            "tools/call",
            json!({ "name": "render", "arguments": { "seconds": 1 }, "_meta": { "progressToken": 7, "idempotencyKey": "k" } }),
        ),
        ("tools/call", json!({ "name": "render", "arguments": { "seconds": 1 }, "task": { "ttl": 60_000 } })),
        ("tools/call", json!({ "name": "render", "arguments": { "seconds": 1 }, "_meta": chosen })),
        ("tasks/get", json!({ "taskId": task, "_meta": related })),
        ("tasks/get", json!({ "taskId": task })),
        ("tasks/result", json!({ "taskId": task })),
        ("tasks/result", json!({ "taskId": task, "_meta": related })),
        ("tasks/list", json!({ "cursor": "x" })),
        ("tasks/list", json!({ "cursor": "x", "_meta": related })),
        ("tasks/cancel", json!({ "taskId": task })),
        ("tasks/delete", json!({ "taskId": task, "_meta": related })),
        ("job_wait", json!({ "ticket": task })),
        ("logging/setLevel", json!({ "level": "debug" })),
    ]
}

fn dialects(task: &str, session: &str, june: &str) -> Vec<Dialect> {
    let extension = vec![
        ("server/discover", modern(json!({}))),
        ("tools/list", modern(json!({ "cursor": "x" }))),
        (
            "tools/call",
            modern(json!({ "name": "render", "arguments": { "seconds": 1 }, "requestState": "x", "inputResponses": {} })),
        ),
        (
            "tools/call",
            modern(json!({ "name": "release", "arguments": {}, "_meta": { "idempotencyKey": "k", "io.jobgate/ttlMs": 5 } })),
        ),
        ("tasks/get", modern(json!({ "taskId": task }))),
        (
            "tasks/update",
            modern(json!({ "taskId": task, "inputResponses": { "approve": { "action": "accept", "content": { "ok": true } } } })),
        ),
        ("tasks/cancel", modern(json!({ "taskId": task }))),
        ("subscriptions/listen", modern(json!({ "notifications": { "taskIds": [task], "resourceSubscriptions": ["x"] } }))),
    ];
    let dialect =
        |name, version, session: Option<&str>, requests| Dialect { name, version, session: session.map(str::to_owned), requests };
    vec![
        dialect("extension", Some(VERSION), None, extension),
        dialect("core", Some("2025-11-25"), Some(session), older(task)),
        dialect("2025-06-18", Some("2025-06-18"), Some(june), older(task)),
        dialect("no session", None, None, older(task)),
    ]
}

/// Every place in a value that can hold something else: members, items, and the value itself.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    let step = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(members) => members.iter().for_each(|(name, inner)| places(inner, &step(name), found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(nth, inner)| places(inner, &step(&nth.to_string()), found)),
        _ => {}
    }
}

async fn session(rig: &Rig, version: &str) -> String {
    let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": { "name": "t", "version": "1" } });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let context =
        RequestContext { headers: Some(McpHeaders::default()), ..RequestContext::new(Caller::new(me()), Streams::Wanted) };
    let Reply::One { notes, .. } = rig.dispatcher.handle(context, message.to_string().into()).await else { panic!("no answer") };
    notes.session.unwrap()
}

/// What must be true of every answer.
#[track_caller]
fn harmless(what: &str, status: u16, body: &[u8]) {
    let text = String::from_utf8(body.to_vec()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let message: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{what}: {error}: {text:.300}"));
    assert_eq!(message["jsonrpc"], "2.0", "{what}");
    for leak in [SECRET, "src/", ".rs", "panicked", "RawValue", "Mutex"] {
        assert!(!text.contains(leak), "{what}: {leak} in {text:.600}");
    }
    let error = &message["error"];
    if error.is_null() {
        assert!(
            (200..300).contains(&status) && (message.get("result").is_some() || message.get("method").is_some()),
            "{what}: {text:.300}"
        );
        return;
    }
    let code = error["code"].as_i64().unwrap();
    assert!(matches!(code, -32700 | -32602..=-32600 | -32022..=-32020), "{what}: {text:.300}");
    assert!((200..500).contains(&status), "{what}: {status}");
    assert!(error["message"].as_str().is_some_and(|said| said.len() > 8), "{what}: it says why: {text:.300}");
    assert!(text.len() < 10_000, "{what}: {} bytes back: {text:.300}", text.len());
}

/// Sends bytes and looks at what comes back, for as long as it comes by itself.
async fn throw(rig: &Rig, what: &str, context: RequestContext, bytes: Vec<u8>) -> Option<Value> {
    let cancel = context.cancel.clone();
    let last = match rig.drive(rig.dispatcher.handle(context, bytes.into())).await {
        Reply::Accepted => None,
        Reply::One { status, body, .. } => {
            harmless(what, status, &body);
            serde_json::from_slice(&body).ok()
        }
        Reply::Stream(mut messages) => {
            let mut last = None;
            rig.settle().await;
            while let Ok(message) = messages.try_recv() {
                if !message.bytes.is_empty() {
                    harmless(what, 200, &message.bytes);
                    last = serde_json::from_slice(&message.bytes).ok();
                }
                rig.settle().await;
            }
            last
        }
    };
    cancel.cancel();
    last
}

/// All methods, all fields: wrong types, numbers beyond all bounds, broken text, members twice, bottomless nesting.
#[tokio::test]
async fn no_field_of_any_method_can_be_filled_with_harm() {
    let rig = Rig::new().await;
    let mine = rig.start("stuck", json!({})).await;
    let victim = rig.start("release", json!({})).await;
    let strangers = rig.send(crate::client::call("release", json!({ "note": SECRET })).by(you())).await.task_id();
    let (core, june) = (session(&rig, "2025-11-25").await, session(&rig, "2025-06-18").await);
    let texts = unwelcome();
    let mut thrown = 0;
    for dialect in dialects(&victim, &core, &june) {
        for (method, params) in &dialect.requests {
            let mut found = Vec::new();
            places(params, "", &mut found);
            for place in found {
                let mut spoiled = params.clone();
                *spoiled.pointer_mut(&place).unwrap() = HERE.into();
                let context = dialect.context(method, &spoiled);
                let whole = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": spoiled }).to_string();
                for text in texts.iter().chain([&format!("\"{strangers}\"")]) {
                    let what = format!("{} {method} {place} = {text:.60}", dialect.name);
                    let bytes = whole.replace(&format!("\"{HERE}\""), text).into_bytes();
                    throw(&rig, &what, context.clone(), bytes).await;
                    thrown += 1;
                }
            }
        }
    }
    assert!(thrown > 5000, "{thrown} messages");
    assert_eq!(rig.task(&mine).await["status"], "working", "the next honest request is served");
    let theirs = rig.send(crate::client::get(&strangers).by(you())).await;
    assert_eq!(theirs.result()["status"], "input_required", "nobody else's task was touched: its question is open");
    rig.advance(SECOND).await;
}

/// The envelope itself.
#[tokio::test]
async fn no_part_of_the_envelope_can_be_filled_with_harm() {
    let rig = Rig::new().await;
    let (core, june) = (session(&rig, "2025-11-25").await, session(&rig, "2025-06-18").await);
    for dialect in dialects("none", &core, &june) {
        let params = if dialect.version == Some(VERSION) { modern(json!({})) } else { json!({}) };
        let context = dialect.context("tools/list", &params);
        for part in ["jsonrpc", "id", "method", "params"] {
            let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
            message[part] = HERE.into();
            for text in unwelcome() {
                let bytes = message.to_string().replace(&format!("\"{HERE}\""), &text);
                let what = format!("{} {part} = {text:.60}", dialect.name);
                let answer = throw(&rig, &what, context.clone(), bytes.into_bytes()).await;
                let answer = answer.unwrap_or_else(|| panic!("{what}: a request is answered"));
                let id = answer.get("id").map(ToString::to_string);
                assert!(id.is_none_or(|id| id.len() < 2000), "{what}: an id that is sent back is short");
            }
        }
        for (what, bytes) in [
            ("empty", &b""[..]),
            ("space", b"  \n\t "),
            ("no UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"more\":\"\xff\xfe\"}"),
            ("UTF-16", b"\xff\xfe{\0\"\0"),
            ("a mark of byte order", b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
            ("NUL", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0"),
            (
                "two messages",
                b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}",
            ),
            (
                "a batch",
                b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]",
            ),
            ("an id twice", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}"),
            ("a method twice", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}"),
            ("parameters twice", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{},\"params\":{\"a\":1}}"),
            ("an escaped name twice", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"m\\u0065thod\":\"tools/call\"}"),
            ("single quotes", b"{'jsonrpc':'2.0'}"),
            ("a comment", b"{\"jsonrpc\":\"2.0\",/* x */\"id\":1,\"method\":\"ping\"}"),
            ("NaN", b"{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"ping\"}"),
        ] {
            let answer = throw(&rig, what, context.clone(), bytes.to_vec()).await.unwrap();
            let code = answer["error"]["code"].as_i64();
            assert!(matches!(code, Some(-32700 | -32600)), "{} {what}: {answer}", dialect.name);
        }
    }
}

/// Duplicate members at every level that decides something.
#[tokio::test]
async fn what_is_said_twice_is_refused_wherever_it_decides_something() {
    let rig = Rig::new().await;
    let id = rig.start("release", json!({})).await;
    rig.advance(2 * SECOND).await;
    let meta = &modern(json!({}))["_meta"].to_string();
    let inner = meta.trim_start_matches('{').trim_end_matches('}');
    let twice = [
        ("tools/call", "render", format!(r#"{{"name":"render","name":"wipe","_meta":{meta}}}"#)),
        ("tools/call", "render", format!(r#"{{"name":"render","arguments":{{"seconds":1,"seconds":2}},"_meta":{meta}}}"#)),
        ("tools/call", "build", format!(r#"{{"name":"build","arguments":{{"deep":[{{"a":1,"a":2}}]}},"_meta":{meta}}}"#)),
        ("tools/call", "build", format!(r#"{{"name":"build","_meta":{meta},"_meta":{{}}}}"#)),
        ("tools/call", "build", format!(r#"{{"name":"build","_meta":{{{inner},"idempotencyKey":"a","idempotencyKey":"b"}}}}"#)),
        ("tasks/cancel", &*id, format!(r#"{{"taskId":"{id}","taskId":"x","_meta":{meta}}}"#)),
        (
            "tasks/update",
            &*id,
            format!(
                r#"{{"taskId":"{id}","inputResponses":{{"approve":{{"action":"decline","action":"accept","content":{{"ok":true}}}}}},"_meta":{meta}}}"#
            ),
        ),
        (
            "tasks/update",
            &*id,
            format!(
                r#"{{"taskId":"{id}","inputResponses":{{"approve":{{"action":"accept","content":{{"ok":false,"ok":true}}}}}},"_meta":{meta}}}"#
            ),
        ),
        (
            "tasks/update",
            &*id,
            format!(
                r#"{{"taskId":"{id}","inputResponses":{{"approve":{{"action":"decline"}},"approve":{{"action":"accept","content":{{"ok":true}}}}}},"_meta":{meta}}}"#
            ),
        ),
    ];
    for (method, name, params) in twice {
        let headers = McpHeaders { protocol_version: one(VERSION), method: one(method), name: one(name), params: Vec::new() };
        let context = RequestContext { headers: Some(headers), ..RequestContext::new(Caller::new(me()), Streams::Wanted) };
        let bytes = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let answer = throw(&rig, &bytes, context, bytes.clone().into_bytes()).await.unwrap();
        let said = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{bytes}: {answer}"));
        assert!(said.contains("twice") || said.contains("duplicate"), "{bytes}: {said}");
    }
    for params in [
        r#"{"name":"render","arguments":{"seconds":1,"seconds":2}}"#,
        r#"{"name":"render","arguments":{"deep":{"a":1,"a":2}},"task":{}}"#,
        r#"{"name":"render","task":{"ttl":1},"task":{}}"#,
        r#"{"name":"render","task":{"ttl":1,"ttl":2}}"#,
        r#"{"name":"render","_meta":{"modelcontextprotocol.io/task":{"taskId":"a","taskId":"b"}}}"#,
        r#"{"name":"render","_meta":{"modelcontextprotocol.io/task":{"taskId":"a"},"modelcontextprotocol.io/task":{"taskId":"b"}}}"#,
    ] {
        let bytes = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let headers = McpHeaders { protocol_version: one("2025-11-25"), ..McpHeaders::default() };
        let context = RequestContext { headers: Some(headers), ..RequestContext::new(Caller::new(me()), Streams::Wanted) };
        let answer = throw(&rig, &bytes, context, bytes.clone().into_bytes()).await.unwrap();
        let said = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{bytes}: {answer}"));
        assert!(said.contains("twice") || said.contains("duplicate"), "{bytes}: {said}");
    }
    assert_eq!(rig.task(&id).await["status"], "input_required", "nothing of it was an answer");
    assert_eq!(rig.provider.jobs().len(), 1, "nothing of it was a call");
}

/// Sessions, events and answers that were never given out.
#[tokio::test]
async fn what_was_never_given_out_opens_nothing() {
    let rig = Rig::new().await;
    let (core, _) = (session(&rig, "2025-11-25").await, 0);
    let forged = ["", ".", "a.b", "eyJ2IjoiMjAyNS0xMS0yNSJ9.AAAAAAAAAAAAAAAAAAAAAA", "\u{7f}", "=?base64?AA==?="];
    let base =
        || RequestContext { headers: Some(McpHeaders::default()), ..RequestContext::new(Caller::new(me()), Streams::Wanted) };
    for text in forged.iter().map(|text| one(text)).chain([HeaderText::Repeated, HeaderText::Unreadable]) {
        for verb in [Verb::Delete, Verb::Get { resume: HeaderText::Absent }] {
            let context = RequestContext { verb: verb.clone(), session: text.clone(), ..base() };
            let Reply::One { status, body, .. } = rig.dispatcher.handle(context, bytes::Bytes::new()).await else {
                panic!("{verb:?} {text:?} opened something")
            };
            harmless(&format!("{verb:?} {text:?}"), status, &body);
            assert!(matches!(status, 400 | 404), "{verb:?} {text:?}: {status}");
        }
        let resume = RequestContext { verb: Verb::Get { resume: text.clone() }, session: one(&core), ..base() };
        if let Reply::One { status, body, .. } = rig.drive(rig.dispatcher.handle(resume, bytes::Bytes::new())).await {
            harmless(&format!("resume {text:?}"), status, &body);
        }
        if let HeaderText::One(text) = &text {
            for answer in
                [json!({ "result": { "action": "accept", "content": {} } }), json!({ "error": { "code": 1, "message": "x" } })]
            {
                let mut message = answer;
                message["jsonrpc"] = "2.0".into();
                message["id"] = text.as_str().into();
                let context = RequestContext { session: one(&core), ..base() };
                throw(&rig, &format!("answer to {text}"), context, message.to_string().into_bytes()).await;
            }
        }
    }
}
