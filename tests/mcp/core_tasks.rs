//! 2025-11-25: tasks made by `task` on a call, looked at, listed and cancelled.

use std::time::Duration;

use jobgate_adapter_api::Timestamp;
use serde_json::{Value, json};

use crate::client::you;
use crate::rig::{Rig, SECOND};
use crate::session_client::{Session, about, call, request, task_call};

const CORE: &str = "2025-11-25";

async fn session(rig: &Rig) -> Session {
    rig.session(CORE, json!({ "tasks": { "requests": {} } })).await
}

/// A1, A2, D1, D5 and field report 8: the handle at once, the state from the store, the result that the plain call would have given.
#[tokio::test]
async fn a_call_becomes_a_task_and_its_result_is_fetched_later() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let made = rig.ask(&session, task_call("render", json!({ "seconds": 1 })).with("task", json!({ "ttl": 7_200_000 }))).await;
    let task = &made.result()["task"];
    assert_eq!(
        (&task["status"], &task["ttl"]),
        (&json!("working"), &json!(7_200_000)),
        "G1: the life as granted, in milliseconds"
    );
    assert!(task["pollInterval"].as_u64().is_some_and(|interval| interval > 0));
    assert_eq!(made.result().as_object().unwrap().len(), 1, "nothing beside the task");
    let id = task["taskId"].as_str().unwrap();
    assert_eq!(rig.look(&session, id).await["status"], "working");
    rig.advance(60 * SECOND).await;
    let seen = rig.look(&session, id).await;
    assert_eq!(seen["status"], "completed");
    assert!(seen.get("_meta").is_none(), "the id is there already");
    for _ in 0..2 {
        let result = rig.ask(&session, about("tasks/result", id)).await.result().clone();
        let meta = json!({ "io.modelcontextprotocol/related-task": { "taskId": id } });
        assert_eq!(result, json!({ "content": [{ "type": "text", "text": "rendered" }], "isError": false, "_meta": meta }));
    }
}

/// B4, field report 13: a job that ran and failed is `failed` here, its cause is in the status message, and its result is kept whole.
#[tokio::test]
async fn a_failed_job_is_a_failed_task_that_says_why() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("build", json!({}))).await;
    rig.advance(60 * SECOND).await;
    let seen = rig.look(&session, &id).await;
    assert_eq!((&seen["status"], &seen["statusMessage"]), (&json!("failed"), &json!("2 of 40 tests failed")));
    let result = rig.ask(&session, about("tasks/result", &id)).await;
    assert_eq!(result.text(), ("2 of 40 tests failed", true));
    assert_eq!(rig.task(&id).await["status"], "completed", "the same fact in the words of 2026-07-28");
}

/// Field report 13: a client that never fetches the result of a failed task, and is configured as such, is shown a completed one.
#[tokio::test]
async fn a_client_that_skips_the_results_of_failed_tasks_gets_to_see_them() {
    let rig = Rig::new().await;
    let (skips, other) = (rig.session_as("skips-results 1.2", CORE).await, rig.session_as("another", CORE).await);
    let id = rig.make(&skips, task_call("build", json!({}))).await;
    rig.advance(60 * SECOND).await;
    let seen = rig.look(&skips, &id).await;
    assert_eq!((&seen["status"], &seen["statusMessage"]), (&json!("completed"), &json!("2 of 40 tests failed")));
    assert_eq!(rig.ask(&skips, about("tasks/result", &id)).await.text(), ("2 of 40 tests failed", true));
    assert_eq!(rig.look(&other, &id).await["status"], "failed", "nobody else's view changes");
}

/// B5, D2: a fault of the gateway is the error that the plain call would have had, and the status message says it, too.
#[tokio::test]
async fn a_fault_is_a_failed_task_and_an_error() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("stuck", json!({}))).await;
    rig.advance(120 * SECOND).await;
    let seen = rig.look(&session, &id).await;
    assert_eq!(seen["status"], "failed");
    let heard = rig.ask(&session, about("tasks/result", &id)).await;
    assert_eq!(heard.error(), (-32603, 200));
    assert_eq!(heard.answer["error"]["data"]["category"], "deadline");
    assert_eq!(heard.answer["error"]["message"], seen["statusMessage"]);
}

/// Tools, "Tool-Level Negotiation": a tool that makes no tasks refuses to.
#[tokio::test]
async fn a_tool_without_tasks_makes_none() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let heard = rig.ask(&session, task_call("greet", json!({ "name": "Ann" }))).await;
    assert_eq!(heard.error(), (-32601, 200));
    assert!(rig.provider.jobs().is_empty());
    assert_eq!(rig.ask(&session, call("greet", json!({ "name": "Ann" }))).await.text(), ("Hello!", false));
}

/// C6: what is no `task` is refused before anything is started; what clients write for "no wish" is taken.
#[tokio::test]
async fn the_wish_for_a_task_is_read_as_the_schema_says() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    for wrong in [
        json!(true),
        json!("x"),
        json!([]),
        json!({ "ttl": "60000" }),
        json!({ "ttl": -1 }),
        json!({ "ttl": 1.5 }),
        json!({ "ttl": {} }),
    ] {
        let heard = rig.ask(&session, task_call("render", json!({})).with("task", wrong.clone())).await;
        assert_eq!(heard.error(), (-32602, 200), "{wrong}");
    }
    assert!(rig.provider.jobs().is_empty());
    for right in [json!({}), json!({ "ttl": null }), json!({ "ttl": 60000.0 }), json!({ "ttl": 0 }), json!({ "more": 1 })] {
        rig.make(&session, task_call("render", json!({})).with("task", right)).await;
    }
    assert_eq!(rig.provider.jobs().len(), 5);
}

/// C6: only a task or an error fits the answer to such a call, so wrong arguments are an error that a model can act on.
#[tokio::test]
async fn wrong_arguments_are_an_error_with_the_place() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    for (tool, arguments) in [("render", json!({ "seconds": "ten" })), ("nothing", json!({}))] {
        let heard = rig.ask(&session, task_call(tool, arguments)).await;
        assert_eq!(heard.error(), (-32602, 200));
        if tool == "render" {
            let message = heard.answer["error"]["message"].as_str().unwrap();
            assert!(message.contains("`/seconds`") && message.contains("integer"), "{message}");
        }
    }
    assert!(rig.provider.jobs().is_empty());
    assert!(rig.tasks_of(&crate::client::me()).await.is_empty());
}

/// A3: a job that the provider refuses at once is a task that has ended, and says why.
#[tokio::test]
async fn a_refused_job_is_a_task_that_has_failed() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let made = rig.ask(&session, task_call("render", json!({ "refuse": true }))).await;
    let task = &made.result()["task"];
    assert_eq!(task["status"], "failed");
    assert!(task["statusMessage"].as_str().unwrap().contains("takes no such job"), "{task}");
    let result = rig.ask(&session, about("tasks/result", task["taskId"].as_str().unwrap())).await;
    assert!(result.text().1);
}

/// C3: one key is one task, and with other arguments an error.
#[tokio::test]
async fn a_repeated_key_is_the_same_task() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let keyed = |seconds: u32| task_call("render", json!({ "seconds": seconds })).meta("idempotencyKey", "k");
    let id = rig.make(&session, keyed(1)).await;
    assert_eq!(rig.make(&session, keyed(1)).await, id);
    assert_eq!(rig.ask(&session, keyed(2)).await.error(), (-32602, 200));
    assert_eq!(rig.provider.jobs().len(), 1);
}

/// G1, field report 6: a life is granted within the tool's limits, and a short one never loses a running job.
#[tokio::test]
async fn a_short_life_does_not_lose_a_running_job() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("stuck", json!({})).with("task", json!({ "ttl": 1000 }))).await;
    rig.advance(30 * SECOND).await;
    let seen = rig.look(&session, &id).await;
    assert_eq!(seen["status"], "working");
    assert!(seen["ttl"].as_u64().unwrap() > 30_000, "the longer life is told: {seen}");
    let year = 365 * 24 * 3_600_000_u64;
    let long = rig.ask(&session, task_call("render", json!({})).with("task", json!({ "ttl": year }))).await;
    assert_eq!(long.result()["task"]["ttl"], 7 * 24 * 3_600_000, "the tool's limit");
}

/// G2: after its life a task is as unknown as one that never was.
#[tokio::test]
async fn a_task_that_is_over_is_unknown() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("render", json!({})).with("task", json!({ "ttl": 3_600_000 }))).await;
    rig.advance(Duration::from_secs(48 * 3600)).await;
    let unknown = rig.ask(&session, about("tasks/get", "task_00000000000000000000000000")).await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let heard = rig.ask(&session, about(method, &id)).await;
        assert_eq!((heard.error(), &heard.answer["error"]), ((-32602, 200), &unknown.answer["error"]), "{method}");
    }
}

/// F1, F2: cancelled before the reply, whatever the job does later; an ended task stays as it is.
#[tokio::test]
async fn a_cancelled_task_stays_cancelled() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("render", json!({}))).await;
    assert_eq!(rig.ask(&session, about("tasks/cancel", &id)).await.result()["status"], "cancelled");
    assert_eq!(rig.look(&session, &id).await["status"], "cancelled");
    rig.advance(60 * SECOND).await;
    assert!(rig.provider.jobs()[0].cancelled, "the job itself is stopped");
    assert_eq!(rig.look(&session, &id).await["status"], "cancelled");
    assert_eq!(rig.ask(&session, about("tasks/cancel", &id)).await.error(), (-32602, 200));
    assert!(rig.ask(&session, about("tasks/result", &id)).await.text().1);
    let done = rig.make(&session, task_call("render", json!({}))).await;
    rig.advance(60 * SECOND).await;
    assert_eq!(rig.ask(&session, about("tasks/cancel", &done)).await.error(), (-32602, 200));
    assert_eq!(rig.look(&session, &done).await["status"], "completed");
}

/// I1, field report 10: somebody else's task is as unknown as none, byte for byte, and in nobody else's list.
#[tokio::test]
async fn a_stranger_sees_nothing() {
    let rig = Rig::new().await;
    let mine = session(&rig).await;
    let theirs = rig.session_of(you(), CORE, json!({})).await;
    let id = rig.make(&mine, task_call("render", json!({}))).await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let stranger = rig.ask(&theirs, about(method, &id)).await;
        let unknown = rig.ask(&theirs, about(method, "task_00000000000000000000000000")).await;
        assert_eq!((stranger.error(), &stranger.answer["error"]), ((-32602, 200), &unknown.answer["error"]), "{method}");
    }
    assert_eq!(rig.ask(&theirs, request("tasks/list", json!({}))).await.result(), &json!({ "tasks": [] }));
    assert_eq!(rig.look(&mine, &id).await["status"], "working");
}

async fn page(rig: &Rig, session: &Session, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let list = request("tasks/list", json!({}));
    let list = cursor.map_or(list.clone(), |cursor| list.with("cursor", cursor));
    let page = rig.ask(session, list).await.result().clone();
    let ids = page["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].as_str().unwrap().to_owned()).collect();
    (ids, page["nextCursor"].as_str().map(str::to_owned))
}

/// D3: pages follow each other although tasks are made meanwhile; a cursor is its caller's own and cannot be made up.
#[tokio::test]
async fn a_list_is_stable_while_tasks_are_made() {
    let rig = Rig::new().await;
    let mine = session(&rig).await;
    let theirs = rig.session_of(you(), CORE, json!({})).await;
    let mut made = Vec::new();
    for _ in 0..120 {
        made.push(rig.make(&mine, task_call("render", json!({}))).await);
        rig.advance(Duration::from_millis(1)).await;
    }
    let (mut seen, mut cursor) = page(&rig, &mine, None).await;
    let first = cursor.clone().unwrap();
    while let Some(next) = cursor {
        rig.make(&mine, task_call("render", json!({}))).await;
        let (more, after) = page(&rig, &mine, Some(&next)).await;
        seen.extend(more);
        cursor = after;
    }
    made.reverse();
    assert_eq!(seen, made, "every task once, the newest first");
    for (whose, wrong) in [(&theirs, first.as_str()), (&mine, "x"), (&mine, ""), (&mine, "dGFza3M6MQ")] {
        let heard = rig.ask(whose, request("tasks/list", json!({ "cursor": wrong }))).await;
        assert_eq!(heard.error(), (-32602, 200), "{wrong}");
    }
}

/// Field report 1: the session is gone, the gateway was restarted, and the task is there.
#[tokio::test]
async fn a_task_belongs_to_no_session() {
    let rig = Rig::new().await;
    let first = session(&rig).await;
    let id = rig.make(&first, task_call("render", json!({}))).await;
    rig.end(&first).await;
    let rig = rig.restarted().await;
    let second = session(&rig).await;
    rig.advance(60 * SECOND).await;
    assert_eq!(rig.look(&second, &id).await["status"], "completed");
    assert_eq!(rig.look(&second.without_session(), &id).await["status"], "completed");
    assert_eq!(rig.ask(&second, about("tasks/result", &id)).await.text(), ("rendered", false));
}

/// What this version does not have is not there, on HTTP 200; nothing of 2026-07-28 answers here.
#[tokio::test]
async fn other_methods_are_not_there() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    for method in ["logging/setLevel", "tasks/update", "server/discover", "subscriptions/listen", "resources/subscribe", "tasks/"]
    {
        assert_eq!(rig.ask(&session, request(method, json!({}))).await.error(), (-32601, 200), "{method}");
    }
    let (status, code) = rig.post(&session, json!({ "jsonrpc": "2.0", "method": "notifications/whatever", "params": {} })).await;
    assert_eq!((status, code), (202, None), "an unknown notification is ignored");
}

/// B8: moments are ISO 8601 in UTC, and the last update moves with what can be seen.
#[tokio::test]
async fn moments_are_told_as_the_store_has_them() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("render", json!({}))).await;
    let before = rig.look(&session, &id).await;
    rig.advance(60 * SECOND).await;
    let after = rig.look(&session, &id).await;
    let moment = |task: &Value, name: &str| task[name].as_str().unwrap().parse::<Timestamp>().unwrap();
    assert_eq!(before["createdAt"], after["createdAt"]);
    assert!(moment(&before, "lastUpdatedAt") < moment(&after, "lastUpdatedAt"));
}
