//! `tools/call` where it becomes a task, or is refused.

use jobgate::engine::EngineLimits;
use serde_json::{Value, json};

use crate::client::{TASKS, call, you};
use crate::rig::{Rig, SECOND};

/// Tasks extension, "Task Creation": flat, durable before the answer, without the payload of any status.
#[tokio::test]
async fn a_call_becomes_a_task_that_can_be_read_at_once() {
    let rig = Rig::new().await;
    let answer = rig.send(call("render", json!({ "seconds": 5 }))).await;
    let id = answer.task_id();
    assert_eq!(answer.result()["status"], "working");
    assert_eq!(answer.result()["ttlMs"], 24 * 3600 * 1000);
    assert_eq!(rig.task(&id).await["taskId"], id);
    assert_eq!(rig.provider.jobs()[0].arguments, json!({ "seconds": 5 }).as_object().cloned().unwrap());
}

/// Dialect trap: a stray `params.task` of 2025-11-25 is ignored; it makes no task of a plain tool.
#[tokio::test]
async fn a_stray_task_parameter_is_ignored() {
    let rig = Rig::new().await;
    let plain = rig.send(call("greet", json!({ "name": "Ann" })).with("task", json!({ "ttl": 60_000 }))).await;
    assert_eq!(plain.text(), ("Hello!", false));
    rig.send(call("render", json!({})).with("task", json!({ "ttl": 60_000 }))).await.task_id();
    rig.send(call("render", json!({})).with("task", "nonsense")).await.task_id();
}

/// Requirement C6 and SEP-1303: wrong arguments are the tool's own error, in words that a model can act on, and start nothing.
#[tokio::test]
async fn arguments_that_break_the_schema_are_refused_in_words_and_start_nothing() {
    let rig = Rig::new().await;
    for (tool, arguments, words) in [
        ("greet", json!({}), vec!["\"name\"", "required"]),
        ("greet", json!({ "name": 5 }), vec!["`/name`", "5", "string"]),
        ("greet", json!({ "name": "A" }), vec!["`/name`", "\"A\"", "2"]),
        ("greet", json!({ "name": "Ann", "nmae": 1 }), vec!["nmae"]),
        ("render", json!({ "seconds": "ten" }), vec!["`/seconds`", "\"ten\"", "integer"]),
    ] {
        let answer = rig.send(call(tool, arguments)).await;
        let (text, is_error) = answer.text();
        assert!(is_error);
        for word in words {
            assert!(text.contains(word), "{word} is not in: {text}");
        }
    }
    assert!(rig.provider.jobs().is_empty());
}

#[tokio::test]
async fn calls_that_are_no_calls_are_invalid_params() {
    let rig = Rig::new().await;
    let unknown = rig.send(call("rendr", json!({}))).await;
    assert_eq!(unknown.error(), (-32602, 200));
    assert!(unknown.error_text().contains("rendr"));
    for (member, value) in [
        ("arguments", json!([])),
        ("arguments", json!("x")),
        ("inputResponses", json!([])),
        ("requestState", json!(5)),
        ("requestState", json!("forged")),
    ] {
        assert_eq!(
            rig.send(call("render", json!({})).with(member, value.clone())).await.error(),
            (-32602, 200),
            "{member} {value}"
        );
    }
    assert_eq!(rig.send(call("render", json!({})).meta("idempotencyKey", "")).await.error(), (-32602, 200));
    assert_eq!(rig.send(call("render", json!({})).meta("idempotencyKey", 5)).await.error(), (-32602, 200));
    assert_eq!(rig.send(call("render", json!({})).meta("io.jobgate/ttlMs", "1h")).await.error(), (-32602, 200));
    assert!(rig.provider.jobs().is_empty());
    rig.send(call("render", Value::Null)).await.task_id();
}

/// Requirement C7; tasks extension, "Capability Negotiation": -32021 with the extension named, and nothing is started.
#[tokio::test]
async fn a_tool_that_is_only_a_task_is_refused_to_clients_without_the_extension() {
    let rig = Rig::new().await;
    for capabilities in [json!({}), json!({ "extensions": {} }), json!({ "extensions": { "com.example/tasks": {} } })] {
        let answer = rig.send(call("build", json!({})).capabilities(capabilities)).await;
        assert_eq!(answer.error(), (-32021, 400));
        assert_eq!(answer.message["error"]["data"], json!({ "requiredCapabilities": { "extensions": { TASKS: {} } } }));
    }
    assert!(rig.provider.jobs().is_empty());
    rig.send(call("build", json!({})).capabilities(json!({ "extensions": { TASKS: {} } }))).await.task_id();
}

/// Base protocol, "_meta": what the client did not declare on this request is not relied on.
#[tokio::test]
async fn a_tool_may_require_what_a_client_declares() {
    let rig = Rig::new().await;
    let answer = rig.send(call("think", json!({})).capabilities(json!({ "elicitation": {} }))).await;
    assert_eq!(answer.error(), (-32021, 400));
    assert_eq!(answer.message["error"]["data"], json!({ "requiredCapabilities": { "sampling": {} } }));
    assert_eq!(rig.send(call("think", json!({}))).await.text(), ("think", false));
}

/// Requirement C3: one key, one task; the same key for another wish is an error.
#[tokio::test]
async fn a_repeated_key_gives_the_same_task_and_starts_nothing() {
    let rig = Rig::new().await;
    let keyed = |key: &str, seconds: u32| call("render", json!({ "seconds": seconds })).meta(key, "wish-1");
    let id = rig.send(keyed("idempotencyKey", 1)).await.task_id();
    assert_eq!(rig.send(keyed("idempotencyKey", 1)).await.task_id(), id);
    assert_eq!(rig.send(keyed("io.jobgate/idempotencyKey", 1)).await.task_id(), id);
    let conflict = rig.send(keyed("idempotencyKey", 2)).await;
    assert_eq!(conflict.error(), (-32602, 200));
    assert!(conflict.error_text().contains("key"), "{conflict:?}");
    assert_eq!(rig.provider.jobs().len(), 1);
    assert_ne!(rig.send(keyed("idempotencyKey", 1).by(you())).await.task_id(), id, "keys are the caller's own");
    assert_ne!(rig.send(call("render", json!({ "seconds": 1 }))).await.task_id(), id, "without a key it is a second wish");
}

/// Requirement G1: the life that was granted is what is reported.
#[tokio::test]
async fn a_shorter_life_may_be_asked_for() {
    let rig = Rig::new().await;
    let answer = rig.send(call("render", json!({})).meta("io.jobgate/ttlMs", 3_600_000)).await;
    assert_eq!(answer.result()["ttlMs"], 3_600_000);
    let week = 7 * 24 * 3600 * 1000_u64;
    let answer = rig.send(call("render", json!({})).meta("io.jobgate/ttlMs", week * 10)).await;
    assert_eq!(answer.result()["ttlMs"], week, "within the tool's limit");
}

/// A job that the provider refuses is the tool's own error, not a task.
#[tokio::test]
async fn a_refused_job_is_the_tools_own_error() {
    let rig = Rig::new().await;
    let answer = rig.send(call("render", json!({ "refuse": true }))).await;
    let (text, is_error) = answer.text();
    assert!(is_error && text.contains("takes no such job"), "{text}");
}

/// Requirement G4: limits are refusals in words.
#[tokio::test]
async fn limits_are_refused_in_words() {
    let rig =
        Rig::with(EngineLimits { max_live_tasks_per_principal: 1, max_argument_bytes: 100, ..EngineLimits::default() }).await;
    rig.start("stuck", json!({})).await;
    let many = rig.send(call("stuck", json!({}))).await;
    assert!(many.error_text().contains("limit"), "{many:?}");
    let large = rig.send(call("render", json!({ "note": "x".repeat(200) })).by(you())).await;
    assert_eq!(large.error(), (-32602, 200));
    assert!(large.error_text().contains("100 bytes"), "{large:?}");
}

#[tokio::test]
async fn after_a_shutdown_calls_are_refused_and_nothing_hangs() {
    let rig = Rig::new().await;
    let id = rig.start("render", json!({})).await;
    let engine = rig.engine.clone();
    rig.drive(async move { engine.shutdown().await }).await;
    assert_eq!(rig.send(call("render", json!({}))).await.error().0, -32603);
    assert_eq!(rig.send(crate::client::get(&id)).await.error().0, -32603);
    rig.advance(SECOND).await;
}
