//! What others see of a task and of a tool: exactly as much as of one that is not there.

use serde_json::{Value, json};

use crate::gate::{Answer, Gate, MODERN, token};

const ABSENT: &str = "task_00000000000000000000000000000000";
const DRAFT: &str = "2025-06-18";
const CORE: &str = "2025-11-25";

/// The requests about a task that need its id, in every form that is spoken.
fn about(task: &str) -> Vec<(&'static str, &'static str, Value)> {
    let related = json!({ "_meta": { "modelcontextprotocol.io/related-task": { "taskId": task } }, "taskId": task });
    vec![
        (MODERN, "tasks/get", json!({ "taskId": task })),
        (MODERN, "tasks/update", json!({ "taskId": task, "inputResponses": {} })),
        (MODERN, "tasks/cancel", json!({ "taskId": task })),
        (CORE, "tasks/get", json!({ "taskId": task })),
        (CORE, "tasks/result", json!({ "taskId": task })),
        (CORE, "tasks/cancel", json!({ "taskId": task })),
        (DRAFT, "tasks/get", related.clone()),
        (DRAFT, "tasks/result", related.clone()),
        (DRAFT, "tasks/delete", related),
    ]
}

/// An answer without what has to differ: its request's id, and the name that was asked for.
fn bytes(answer: &Answer, name: &str) -> (u16, String) {
    let id = answer.json()["id"].to_string();
    (answer.status, answer.text.replace(&format!("\"id\":{id}"), "\"id\":0").replace(name, "NAME"))
}

/// I1 and I2: knowing an id is not enough. Another principal, another tenant's principal of the same name and another tenant's admin
/// get the very bytes that they get for an id that is not there, and the task is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_gets_the_bytes_of_an_unknown_id() {
    let gate = Gate::new().await;
    let task = gate.start("ann").await;
    for stranger in ["bob", "eve", "chief"] {
        for ((version, method, foreign), (_, _, absent)) in about(&task).into_iter().zip(about(ABSENT)) {
            let foreign = gate.rpc(stranger, version, method, foreign).await;
            let absent = gate.rpc(stranger, version, method, absent).await;
            assert_eq!(foreign.json()["error"]["code"], -32602, "{version} {method}: {foreign:?}");
            assert_eq!(bytes(&foreign, &task), bytes(&absent, ABSENT), "{stranger}: {version} {method}");
        }
        let listen = |task: &str| json!({ "notifications": { "taskIds": [task] } });
        let mut acknowledged = Vec::new();
        for id in [&*task, ABSENT] {
            let mut stream = gate.open(stranger, MODERN, "subscriptions/listen", listen(id)).await;
            let first = String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap();
            let message: Value =
                serde_json::from_str(first.lines().find_map(|line| line.strip_prefix("data: ")).unwrap()).unwrap();
            acknowledged.push(message["params"]["notifications"].clone());
        }
        assert_eq!(acknowledged, [json!({ "taskIds": [] }), json!({ "taskIds": [] })]);
        let listed = gate.rpc(stranger, CORE, "tasks/list", json!({})).await.result();
        assert_eq!(listed["tasks"], json!([]), "{stranger}");
    }
    assert_eq!(gate.get("ann", &task).await.result()["status"], "working");
    gate.stop().await;
}

/// I1: an admin sees and acts on its tenant's tasks, in every form.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_sees_its_tenants_tasks() {
    let gate = Gate::new().await;
    let (ann, bob, eve) = (gate.start("ann").await, gate.start("bob").await, gate.start("eve").await);
    for task in [&ann, &bob] {
        assert_eq!(gate.get("root", task).await.result()["status"], "working");
        assert_eq!(gate.rpc("root", CORE, "tasks/get", json!({ "taskId": task })).await.result()["status"], "working");
    }
    let listed = gate.rpc("root", CORE, "tasks/list", json!({})).await.result();
    let mut ids: Vec<&str> = listed["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let mut expected = [ann.as_str(), bob.as_str()];
    expected.sort_unstable();
    assert_eq!(ids, expected, "its tenant's, and no other's");
    assert_eq!(gate.get("root", &eve).await.json()["error"]["code"], -32602);
    assert_eq!(gate.rpc("root", CORE, "tasks/cancel", json!({ "taskId": bob })).await.result()["status"], "cancelled");
    gate.modern("root", "tasks/cancel", json!({ "taskId": ann })).await.result();
    assert!(["cancelled", "working"].contains(&gate.get("ann", &ann).await.result()["status"].as_str().unwrap()));
    gate.stop().await;
}

/// I1: a tool that was not granted is neither listed nor called, and looks like one that is not there.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_was_not_granted_is_not_there() {
    let gate = Gate::new().await;
    for version in [MODERN, CORE, DRAFT] {
        let names = async |holder: &str| {
            let listed = gate.rpc(holder, version, "tools/list", json!({})).await.result();
            let names = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
            names.filter(|name| !name.starts_with("job_")).collect::<Vec<_>>()
        };
        assert_eq!(names("ann").await, ["deploy", "render"], "{version}");
        assert_eq!(names("painter").await, ["render"], "{version}");
        let call = async |tool: &str| {
            let answer = gate.rpc("painter", version, "tools/call", json!({ "name": tool, "arguments": {} })).await;
            assert_eq!(answer.json()["error"]["code"], -32602, "{version}: {answer:?}");
            bytes(&answer, tool)
        };
        assert_eq!(call("deploy").await, call("absent").await, "{version}");
    }
    assert!(gate.start("painter").await.starts_with("task_"), "{}", token("painter"));
    gate.stop().await;
}

/// H8 and I1: a client's own id counts for its owner alone; an admin sees the task by the gateway's id, in every form.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_sees_a_task_by_the_id_that_it_can_ask_for() {
    let gate = Gate::new().await;
    let meta = json!({ "modelcontextprotocol.io/task": { "taskId": "ann-1" } });
    // The call's stream stays open until the job has ended; the task is there before.
    let mut call = gate.open("ann", DRAFT, "tools/call", json!({ "name": "render", "arguments": {}, "_meta": meta })).await;
    assert!(call.chunk().await.unwrap().is_some());
    assert_eq!(gate.get("ann", "ann-1").await.result()["taskId"], "ann-1");
    assert_eq!(gate.get("root", "ann-1").await.json()["error"]["code"], -32602);
    let listed = gate.rpc("root", CORE, "tasks/list", json!({})).await.result();
    let id = listed["tasks"][0]["taskId"].as_str().unwrap();
    assert!(id.starts_with("task_"), "{listed}");
    for version in [MODERN, CORE] {
        assert_eq!(gate.rpc("root", version, "tasks/get", json!({ "taskId": id })).await.result()["taskId"], id, "{version}");
    }
    drop(call);
    gate.stop().await;
}
