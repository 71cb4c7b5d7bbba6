//! `tasks/get`, `tasks/update` and `tasks/cancel`.

use jobgate::domain::{Clock as _, InputAction};
use serde_json::{Value, json};

use crate::client::{TASKS, ask, call, get, update, you};
use crate::rig::{Rig, SECOND};

fn cancel(id: &str) -> crate::client::Ask {
    ask("tasks/cancel", json!({ "taskId": id }))
}

/// Requirements D2 and D5: the result is inline, has the shape of a plain call's, and can be read any number of times.
#[tokio::test]
async fn a_completed_task_carries_the_result_of_a_plain_call() {
    let rig = Rig::new().await;
    let id = rig.start("render", json!({})).await;
    rig.advance(10 * SECOND).await;
    let task = rig.task(&id).await;
    assert_eq!(task["status"], "completed");
    assert_eq!(
        task["result"],
        json!({ "resultType": "complete", "content": [{ "type": "text", "text": "rendered" }], "isError": false })
    );
    assert_eq!(rig.task(&id).await, task);
    let plain = rig.send(call("render", json!({})).without_tasks()).await;
    let mut plain = plain.result().clone();
    plain.as_object_mut().unwrap().remove("_meta");
    assert_eq!(plain, task["result"]);
}

/// Requirement B4; tasks extension: a job that failed is `completed` with `isError`, never `failed`.
#[tokio::test]
async fn a_failed_job_is_a_completed_task_with_an_error_in_its_result() {
    let rig = Rig::new().await;
    let id = rig.start("build", json!({})).await;
    rig.advance(2 * SECOND).await;
    assert_eq!(rig.task(&id).await["statusMessage"], "compiling");
    rig.advance(10 * SECOND).await;
    let task = rig.task(&id).await;
    assert_eq!((&task["status"], &task["result"]["isError"]), (&json!("completed"), &json!(true)));
    assert_eq!(task["result"]["content"][0]["text"], "2 of 40 tests failed");
}

/// Requirement B5: `failed` is the gateway's own, with a structured error.
#[tokio::test]
async fn a_task_that_could_not_be_brought_to_an_end_is_failed_with_a_structured_error() {
    let rig = Rig::new().await;
    let id = rig.start("stuck", json!({})).await;
    rig.advance(120 * SECOND).await;
    let task = rig.task(&id).await;
    assert_eq!((&task["status"], &task["error"]["code"]), (&json!("failed"), &json!(-32603)));
    assert_eq!(task["error"]["data"]["category"], "deadline");
    assert!(task["error"]["data"]["retryable"].is_boolean() && task["error"]["data"]["attempts"].is_u64(), "{task}");
    assert!(!task["statusMessage"].as_str().unwrap().is_empty());
}

/// Tasks extension, "Protocol Errors": non-declaring clients get -32021 from all three, before anything else is looked at.
#[tokio::test]
async fn without_the_extension_there_are_no_tasks() {
    let rig = Rig::new().await;
    let id = rig.start("render", json!({})).await;
    for request in [get(&id), cancel(&id), update(&id, json!({})), get("made-up")] {
        let answer = rig.send(request.without_tasks()).await;
        assert_eq!(answer.error(), (-32021, 400));
        assert_eq!(answer.message["error"]["data"], json!({ "requiredCapabilities": { "extensions": { TASKS: {} } } }));
    }
    assert!(!rig.provider.jobs()[0].cancelled, "a refused cancel cancels nothing");
}

/// Requirement I1: unknown, malformed and someone else's look the same, byte for byte.
#[tokio::test]
async fn a_strangers_task_looks_like_none() {
    let rig = Rig::new().await;
    let id = rig.start("release", json!({})).await;
    let unknown = format!("task_{}", "0".repeat(32));
    let mut errors = Vec::new();
    for request in
        [get(&unknown), get("made-up"), get(""), get(&id).by(you()), cancel(&id).by(you()), update(&id, json!({})).by(you())]
    {
        let answer = rig.send(request).await;
        assert_eq!(answer.error(), (-32602, 200));
        errors.push(answer.message["error"].clone());
    }
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    assert!(!rig.provider.jobs()[0].cancelled);
    for params in [json!({}), json!({ "taskId": 5 }), json!({ "taskId": null })] {
        assert_eq!(rig.send(ask("tasks/get", params)).await.error(), (-32602, 200));
    }
}

/// Requirement F2: acknowledged at once; the task settles as the job does; a terminal task is acknowledged again.
#[tokio::test]
async fn a_cancel_is_acknowledged_and_reaches_the_job() {
    let rig = Rig::new().await;
    let id = rig.start("stuck", json!({})).await;
    let began = rig.clock.now();
    let acknowledged = json!({ "resultType": "complete" });
    let mut seen = rig.send(cancel(&id)).await.result().clone();
    seen.as_object_mut().unwrap().remove("_meta");
    assert_eq!(seen, acknowledged);
    assert!(rig.clock.now().since(began) <= SECOND / 2, "it is acknowledged at once");
    rig.advance(5 * SECOND).await;
    assert_eq!(rig.task(&id).await["status"], "cancelled");
    assert!(rig.provider.jobs()[0].cancelled);
    rig.send(cancel(&id)).await.result();
    assert_eq!(rig.task(&id).await["status"], "cancelled");
}

/// Requirement E1; MCP, "Elicitation": a waiting task shows each question as the client is to ask it.
#[tokio::test]
async fn a_waiting_task_shows_its_questions() {
    let rig = Rig::new().await;
    let id = rig.start("survey", json!({})).await;
    rig.advance(2 * SECOND).await;
    let task = rig.task(&id).await;
    assert_eq!(task["status"], "input_required");
    assert_eq!(
        task["inputRequests"]["second"],
        json!({ "method": "elicitation/create", "params": {
            "mode": "form", "message": "second?",
            "requestedSchema": { "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] }
        } })
    );
    assert_eq!(task["inputRequests"].as_object().unwrap().len(), 2);
}

/// Requirement E2: answers may come in parts; unknown and answered keys are acknowledged and change nothing.
#[tokio::test]
async fn answers_come_in_parts_and_only_open_questions_count() {
    let rig = Rig::new().await;
    let id = rig.start("survey", json!({})).await;
    rig.advance(2 * SECOND).await;
    rig.send(update(&id, json!({ "unknown": { "ignored": true }, "other": 5 }))).await.result();
    rig.send(update(&id, json!({}))).await.result();
    assert_eq!(rig.task(&id).await["inputRequests"].as_object().unwrap().len(), 2);
    let first = json!({ "first": { "action": "accept", "content": { "name": "Ann" } } });
    rig.send(update(&id, first.clone())).await.result();
    let task = rig.task(&id).await;
    assert_eq!(task["status"], "input_required");
    let open: Vec<&String> = task["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(open, ["second"]);
    let again = json!({ "first": { "action": "accept", "content": { "name": "Bob" } }, "second": { "action": "accept", "content": { "ok": true } } });
    rig.send(update(&id, again)).await.result();
    rig.advance(10 * SECOND).await;
    assert_eq!(rig.task(&id).await["status"], "completed");
    let answers = rig.provider.jobs()[0].answers.clone();
    assert_eq!(answers["first"].content, Some(json!({ "name": "Ann" })), "the first answer stands");
    rig.send(update(&id, first)).await.result();
}

/// Decided once: a malformed answer to an outstanding key is -32602 and the request stays open.
#[tokio::test]
async fn a_malformed_answer_is_refused_and_the_question_stays_open() {
    let rig = Rig::new().await;
    let id = rig.start("release", json!({})).await;
    rig.advance(2 * SECOND).await;
    for answer in [
        json!(null),
        json!(5),
        json!({ "action": "maybe" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": null }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "accept", "content": { "ok": "yes" } }),
    ] {
        let refused = rig.send(update(&id, json!({ "approve": answer, "unknown": 1 }))).await;
        assert_eq!(refused.error(), (-32602, 200), "{answer}");
        assert!(refused.error_text().contains("approve"), "{refused:?}");
        assert_eq!(rig.task(&id).await["status"], "input_required");
    }
    assert_eq!(rig.send(ask("tasks/update", json!({ "taskId": id }))).await.error(), (-32602, 200));
    assert_eq!(rig.send(update(&id, json!([]))).await.error(), (-32602, 200));
    rig.advance(5 * SECOND).await;
    assert!(rig.provider.jobs()[0].answers.is_empty());
}

/// Decided once: `accept` whose content says no is not an approval.
#[tokio::test]
async fn an_accept_that_says_no_reaches_the_job_as_a_no() {
    let rig = Rig::new().await;
    for (answer, action) in [
        (json!({ "action": "accept", "content": { "ok": false } }), InputAction::Decline),
        (json!({ "action": "decline" }), InputAction::Decline),
        (json!({ "action": "cancel" }), InputAction::Cancel),
        (json!({ "action": "accept", "content": { "ok": true } }), InputAction::Accept),
    ] {
        let id = rig.start("release", json!({})).await;
        rig.advance(2 * SECOND).await;
        rig.send(update(&id, json!({ "approve": answer }))).await.result();
        rig.advance(5 * SECOND).await;
        let job = rig.provider.jobs().pop().unwrap();
        assert_eq!(job.answers["approve"].action, action);
    }
}

/// Requirement D1: `pollIntervalMs` follows the job and is always there.
#[tokio::test]
async fn the_interval_grows_with_a_quiet_job() {
    let rig = Rig::new().await;
    let id = rig.start("render", json!({})).await;
    rig.provider.plan("render", [crate::provider::running()]);
    let young = rig.task(&id).await["pollIntervalMs"].as_u64().unwrap();
    rig.advance(300 * SECOND).await;
    let old = rig.task(&id).await["pollIntervalMs"].as_u64().unwrap();
    assert!(young <= 2000 && old > young, "{young} then {old}");
    assert_eq!(rig.task(&id).await["lastUpdatedAt"], Value::from("2027-01-15T08:00:00.000Z"), "nothing visible changed");
}
