//! Questions before a job (`confirm:`): asked one after the other, answered by calls that are repeated.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Ask, TASKS, call, you};
use crate::rig::{Rig, SECOND};

#[track_caller]
fn question(answer: &Answer, key: &str) -> String {
    assert_eq!(answer.result()["resultType"], "input_required", "{answer:?}");
    let asked: Vec<&String> = answer.result()["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(asked, [key]);
    answer.result()["requestState"].as_str().unwrap().to_owned()
}

fn answered(request: Ask, state: &str, key: &str, answer: Value) -> Ask {
    request.with("requestState", state).with("inputResponses", json!({ key: answer }))
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

fn remove() -> Ask {
    call("remove", json!({ "path": "a" }))
}

#[tokio::test]
async fn a_job_starts_only_after_the_person_said_yes() {
    let rig = Rig::new().await;
    let asked = rig.send(remove()).await;
    let state = question(&asked, "really");
    assert_eq!(
        asked.result()["inputRequests"]["really"]["params"],
        json!({ "mode": "form", "message": "Really remove it?",
            "requestedSchema": { "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] } })
    );
    assert!(rig.provider.jobs().is_empty());
    let answer = rig.send(answered(remove(), &state, "really", yes())).await;
    answer.task_id();
    assert_eq!(rig.provider.jobs().len(), 1);
    assert_eq!(Value::Object(rig.provider.jobs()[0].arguments.clone()), json!({ "path": "a" }), "an approval is no argument");
}

#[tokio::test]
async fn whatever_is_no_yes_starts_nothing() {
    let rig = Rig::new().await;
    let state = question(&rig.send(remove()).await, "really");
    for no in
        [json!({ "action": "decline" }), json!({ "action": "cancel" }), json!({ "action": "accept", "content": { "ok": false } })]
    {
        let answer = rig.send(answered(remove(), &state, "really", no)).await;
        let (text, is_error) = answer.text();
        assert!(is_error && text.contains("not started"), "{text}");
    }
    for malformed in
        [json!(null), json!(12345), json!({ "action": "accept" }), json!({ "action": "accept", "content": { "ok": 1 } })]
    {
        assert_eq!(rig.send(answered(remove(), &state, "really", malformed)).await.error(), (-32602, 200));
    }
    // What was not answered is asked again (MRTR, "Error Handling").
    question(&rig.send(remove().with("requestState", state.as_str())).await, "really");
    question(&rig.send(answered(remove(), &state, "other", yes())).await, "really");
    assert!(rig.provider.jobs().is_empty());
}

/// MRTR, server requirements 4 and 5: integrity, principal, request, expiry.
#[tokio::test]
async fn an_approval_counts_for_the_call_it_was_given_for() {
    let rig = Rig::new().await;
    let state = question(&rig.send(remove()).await, "really");
    let approved = |request: Ask| answered(request, &state, "really", yes());
    assert_eq!(rig.send(approved(remove().by(you()))).await.error(), (-32602, 200), "another caller");
    assert_eq!(rig.send(approved(call("remove", json!({ "path": "b" })))).await.error(), (-32602, 200), "other arguments");
    assert_eq!(rig.send(approved(call("wipe", json!({ "path": "a" })))).await.error(), (-32602, 200), "another tool");
    assert_eq!(rig.send(answered(remove(), &format!("{state}-TAMPERED"), "really", yes())).await.error(), (-32602, 200));
    // An answer alone proves nothing: the question is asked.
    question(&rig.send(remove().with("inputResponses", json!({ "really": yes() }))).await, "really");
    rig.advance(600 * SECOND).await;
    let late = rig.send(approved(remove())).await;
    assert_eq!(late.error(), (-32602, 200));
    assert!(late.error_text().contains("expired"), "{late:?}");
    assert!(rig.provider.jobs().is_empty());
}

/// MRTR, server requirement 5, the warning: what must happen once is made sure of here.
#[tokio::test]
async fn a_replayed_approval_starts_no_second_job() {
    let rig = Rig::new().await;
    let state = question(&rig.send(remove()).await, "really");
    let first = rig.send(answered(remove(), &state, "really", yes())).await.task_id();
    rig.advance(10 * SECOND).await;
    assert_eq!(rig.send(answered(remove(), &state, "really", yes())).await.task_id(), first);
    assert_eq!(rig.provider.jobs().len(), 1);
    let state = question(&rig.send(call("wipe", json!({}))).await, "really");
    for _ in 0..2 {
        let answer = rig.send(answered(call("wipe", json!({})), &state, "really", yes())).await;
        assert_eq!(answer.text(), ("wipe", false), "a tool that never makes tasks gives its result");
    }
    assert_eq!(rig.provider.jobs().len(), 2);
}

/// The order of members is not part of the arguments.
#[tokio::test]
async fn arguments_in_another_order_are_the_same_call() {
    let rig = Rig::new().await;
    let state = question(&rig.send(call("remove", json!({ "path": "a", "x": 1 }))).await, "really");
    rig.send(answered(call("remove", json!({ "x": 1, "path": "a" })), &state, "really", yes())).await.task_id();
}

/// A form may fill in arguments; then it is asked only where they are missing, and needs no proof that it was asked.
#[tokio::test]
async fn a_missing_argument_is_asked_for() {
    let rig = Rig::new().await;
    let state = question(&rig.send(call("order", json!({}))).await, "name");
    let name = json!({ "action": "accept", "content": { "name": "Alice" } });
    rig.send(answered(call("order", json!({})), &state, "name", name.clone())).await.task_id();
    let unasked = call("order", json!({})).with("inputResponses", json!({ "name": name, "unknown": { "action": "accept" } }));
    rig.send(unasked).await.task_id();
    rig.send(call("order", json!({ "name": "Bob" }))).await.task_id();
    let names: Vec<Value> = rig.provider.jobs().into_iter().map(|job| job.arguments["name"].clone()).collect();
    assert_eq!(names, ["Alice", "Alice", "Bob"]);
    for malformed in [json!(12345), json!({ "action": "accept", "content": { "name": "" } })] {
        let request = call("order", json!({})).with("inputResponses", json!({ "name": malformed }));
        assert_eq!(rig.send(request).await.error(), (-32602, 200));
    }
    question(&rig.send(call("order", json!({})).with("inputResponses", Value::Null)).await, "name");
    let (text, is_error) = {
        let answer = rig.send(call("order", json!({ "name": 5 }))).await;
        let (text, is_error) = answer.text();
        (text.to_owned(), is_error)
    };
    assert!(is_error && text.contains("/name"), "a wrong argument is not asked for: {text}");
}

#[tokio::test]
async fn several_questions_follow_each_other() {
    let rig = Rig::new().await;
    let enrol = || call("enrol", json!({}));
    let first = question(&rig.send(enrol()).await, "name");
    let name = json!({ "action": "accept", "content": { "name": "Alice" } });
    let second = question(&rig.send(answered(enrol(), &first, "name", name)).await, "sure");
    assert_ne!(first, second);
    let third = question(&rig.send(answered(enrol(), &second, "sure", yes())).await, "colour");
    let colour = json!({ "action": "accept", "content": { "colour": "blue" } });
    let id = rig.send(answered(enrol(), &third, "colour", colour.clone())).await.task_id();
    assert_eq!(rig.send(answered(enrol(), &third, "colour", colour)).await.task_id(), id, "a replay gives the same task");
    let jobs = rig.provider.jobs();
    assert_eq!(Value::Object(jobs[0].arguments.clone()), json!({ "name": "Alice", "colour": "blue" }));
    assert_eq!(jobs.len(), 1);
}

/// MRTR, server requirement 7: nothing is asked of a client that did not declare it.
#[tokio::test]
async fn a_client_that_shows_no_forms_is_refused() {
    let rig = Rig::new().await;
    for capabilities in [json!({ "extensions": { TASKS: {} } }), json!({ "elicitation": { "url": {} } })] {
        let answer = rig.send(remove().capabilities(capabilities)).await;
        assert_eq!(answer.error(), (-32021, 400));
        assert_eq!(answer.message["error"]["data"], json!({ "requiredCapabilities": { "elicitation": {} } }));
    }
    for capabilities in [json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} } })] {
        question(&rig.send(remove().capabilities(capabilities)).await, "really");
    }
}

/// A key of the caller's own goes before the key of the questions.
#[tokio::test]
async fn a_callers_key_works_with_questions_too() {
    let rig = Rig::new().await;
    let keyed = || remove().meta("idempotencyKey", "wish");
    let state = question(&rig.send(keyed()).await, "really");
    let id = rig.send(answered(keyed(), &state, "really", yes())).await.task_id();
    rig.advance(Duration::from_secs(1)).await;
    let again = question(&rig.send(keyed()).await, "really");
    assert_eq!(rig.send(answered(keyed(), &again, "really", yes())).await.task_id(), id);
    assert_eq!(rig.provider.jobs().len(), 1);
}
