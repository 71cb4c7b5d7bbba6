//! Each exchange of the normative file, replayed from the file itself, and each of its errors.

use serde_json::{Value, json};

use super::peer::{Peer, about, call, cancelled};
use super::spec::{RELATED, TASK, related, same_shape};
use crate::provider::{asks, done, failed, running};
use crate::rig::{Rig, SECOND};

/// The id that the file's client chose.
const ID: &str = "c0ffee00-0000-4000-8000-000000000001";

/// The call of the file, on a job that ends when it is let.
async fn created(peer: &Peer<'_>) -> Value {
    let request = peer.spec.exchange("create")["request"].clone();
    assert_eq!(request["params"]["_meta"][TASK]["taskId"], ID);
    let mut stream = peer.open(&request).await;
    stream.next().await.unwrap()
}

/// H1, H2, word for word.
#[tokio::test]
async fn create() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let exchange = peer.spec.exchange("create");
    let mut stream = peer.open(&exchange["request"]).await;
    assert_eq!(stream.next().await.unwrap(), exchange["then_notification"]);
    assert_eq!(stream.rest().await, [exchange["finally_response"].clone()]);
    assert_eq!(rig.provider.jobs()[0].arguments["seconds"], 4);
}

/// H3, H4.
#[tokio::test]
async fn get() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    rig.provider.plan("render_video", [running()]);
    created(&peer).await;
    let exchange = peer.spec.exchange("get");
    same_shape(&peer.send(&exchange["request"]).await, &exchange["response"]);
}

/// H4: a task that no provider has confirmed yet is `submitted`; so is the file's.
#[tokio::test]
async fn get_of_a_task_that_is_submitted() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let example = &peer.spec.exchange("get")["response"];
    let _stream = peer.open(&call(1, "render", json!({ "late": true }), json!({ "taskId": ID }))).await;
    let answer = peer.send(&about("tasks/get", ID)).await;
    same_shape(&answer["result"], &example["result"]);
    assert_eq!(answer["result"]["status"], example["result"]["status"]);
}

/// H3: a reason, as a text.
#[tokio::test]
async fn get_of_a_failed_task() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let _stream = peer.start(1, "stuck", json!({ "taskId": ID })).await;
    rig.advance(120 * SECOND).await;
    let example = &peer.spec.exchange("get of a failed task")["response"]["result"];
    same_shape(&peer.about("tasks/get", ID).await.unwrap(), example);
}

/// H3, D5: word for word, as often as asked.
#[tokio::test]
async fn result() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    created(&peer).await;
    rig.advance(60 * SECOND).await;
    let exchange = peer.spec.exchange("result");
    for _ in 0..3 {
        assert_eq!(peer.send(&exchange["request"]).await, exchange["response"]);
    }
}

/// D3: pages with an opaque cursor, none on the last; nobody's task twice, none left out while others are made.
#[tokio::test]
async fn list() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    rig.provider.plan("render", [running()]);
    for nth in 0..60 {
        peer.start(nth, "render", json!({ "taskId": format!("t{nth}") })).await;
        rig.advance(SECOND).await;
    }
    rig.advance(10 * SECOND).await;
    let exchange = peer.spec.exchange("list");
    let mut request = exchange["request"].clone();
    request["params"].as_object_mut().unwrap().remove("cursor");
    let first = peer.send(&request).await;
    same_shape(&first, &without(&exchange["response"], "tasks", 1));
    peer.start(100, "render", json!({ "taskId": "made meanwhile" })).await;
    request["params"]["cursor"] = first["result"]["nextCursor"].clone();
    let second = peer.send(&request).await;
    assert!(second["result"].get("nextCursor").is_none(), "{second}");
    let ids = |page: &Value| -> Vec<String> {
        page["result"]["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].as_str().unwrap().to_owned()).collect()
    };
    let seen = [ids(&first), ids(&second)].concat();
    let wanted: Vec<String> = (0..60).rev().map(|nth| format!("t{nth}")).collect();
    assert_eq!(seen, wanted, "the newest first, each once");
}

/// The example without the item that is of another shape.
fn without(example: &Value, member: &str, nth: usize) -> Value {
    let mut example = example.clone();
    example["result"][member].as_array_mut().unwrap().remove(nth);
    example
}

/// G3, H3: word for word.
#[tokio::test]
async fn delete() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    created(&peer).await;
    rig.advance(60 * SECOND).await;
    let exchange = peer.spec.exchange("delete");
    assert_eq!(peer.send(&exchange["request"]).await, exchange["response"]);
    assert!(peer.listed().await.is_empty());
}

/// F2: the notification of the file, for the request of the file.
#[tokio::test]
async fn cancel() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    rig.provider.plan("render_video", [running()]);
    created(&peer).await;
    peer.notify(&peer.spec.exchange("cancel")["notification"]).await;
    assert_eq!(peer.status(ID).await, "cancelled");
    rig.advance(5 * SECOND).await;
    assert!(rig.provider.jobs()[0].cancelled, "the job is told");
}

/// E1: a question of the job comes on the call's stream and says which task asks.
#[tokio::test]
async fn elicitation() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let example = peer.spec.exchange("elicitation")["server_request"].clone();
    let form = example["params"]["requestedSchema"].clone();
    rig.provider.plan("render_video", [asks(&[("Deploy to production", form)]), done("rendered")]);
    let mut stream = peer.start(1, "render_video", json!({ "taskId": ID })).await;
    let question = stream.next().await.unwrap();
    same_shape(&question, &example);
    assert_eq!(question["params"], example["params"]);
    assert_eq!(peer.status(ID).await, "input_required");
    peer.answer(&question, json!({ "action": "accept", "content": { "approved": true } })).await;
    assert_eq!(stream.response().await["result"]["content"][0]["text"], "rendered");
    assert_eq!(rig.provider.jobs()[0].answers["Deploy to production"].content, Some(json!({ "approved": true })));
}

/// B2, B3, H4: whatever a job does, its task moves as the file's table says.
#[tokio::test]
async fn statuses_follow_each_other_as_the_table_says() {
    let plans = [
        ("render", json!({}), "completed"),
        ("build", json!({}), "completed"),
        ("stuck", json!({}), "failed"),
        ("render", json!({ "late": true }), "failed"),
        ("lost", json!({}), "unknown"),
        ("release", json!({}), "input_required"),
    ];
    for (tool, arguments, end) in plans {
        let rig = Rig::new().await;
        let peer = Peer::new(&rig).await;
        let _stream = peer.open(&call(1, tool, arguments, json!({ "taskId": ID }))).await;
        let mut before = "submitted".to_owned();
        for _ in 0..1000 {
            let now = peer.status(ID).await;
            assert!(peer.spec.may_follow(&before, &now), "{tool}: {before} -> {now}");
            before = now;
            rig.advance(SECOND).await;
        }
        assert_eq!(before, end, "{tool}");
    }
}

/// B4: a job that ran and failed is `completed`, and its result says so.
#[tokio::test]
async fn a_failed_job_is_a_completed_task_with_an_error_in_its_result() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.start(1, "build", json!({ "taskId": ID })).await;
    let response = stream.response().await;
    assert_eq!((&response["result"]["isError"], &response["result"]["_meta"]), (&json!(true), &related(ID)));
    assert_eq!(peer.status(ID).await, "completed");
    assert_eq!(peer.about("tasks/result", ID).await.unwrap(), response["result"]);
    rig.provider.plan("build", [failed("again")]);
}

/// Errors, first row: unknown, expired and deleted look the same, byte for byte, and so does a stranger's (I1, G2, H8).
#[tokio::test]
async fn unknown_expired_and_deleted_are_one() {
    let rig = Rig::new().await;
    let (peer, stranger) = (Peer::new(&rig).await, Peer::of(&rig, crate::client::you(), "2025-06-18").await);
    peer.start(1, "render", json!({ "taskId": "deleted" })).await;
    peer.start(2, "render", json!({ "taskId": "expired", "keepAlive": 60_000 })).await;
    peer.start(3, "render", json!({ "taskId": "kept" })).await;
    rig.advance(10 * SECOND).await;
    peer.about("tasks/delete", "deleted").await.unwrap();
    rig.advance(3600 * SECOND).await;
    let wanted = peer.about("tasks/get", "never was").await.unwrap_err();
    assert_eq!(wanted["code"], peer.spec.code("unknown, expired or deleted"));
    for method in ["tasks/get", "tasks/result", "tasks/delete"] {
        for id in ["never was", "deleted", "expired", "", "task_00000000000000000000000000000000"] {
            assert_eq!(peer.about(method, id).await.unwrap_err(), wanted, "{method} {id}");
        }
        assert_eq!(stranger.about(method, "kept").await.unwrap_err(), wanted, "{method}");
    }
    assert_eq!(peer.listed().await, ["kept"]);
    assert!(stranger.listed().await.is_empty());
    assert_eq!(peer.status("kept").await, "completed");
}

/// Errors, second row: made up, someone else's, and of the wrong type.
#[tokio::test]
async fn a_bad_cursor() {
    let rig = Rig::new().await;
    let (peer, stranger) = (Peer::new(&rig).await, Peer::of(&rig, crate::client::you(), "2025-06-18").await);
    for nth in 0..51 {
        peer.start(nth, "render", json!({ "taskId": format!("t{nth}") })).await;
    }
    let list = |cursor: Value| json!({ "jsonrpc": "2.0", "id": 6, "method": "tasks/list", "params": { "cursor": cursor } });
    let page = peer.send(&list(Value::Null)).await;
    let cursor = page["result"]["nextCursor"].clone();
    let code = peer.spec.code("bad cursor");
    for wrong in [json!("opaque"), json!(""), json!(5), json!({}), json!(format!("{}x", cursor.as_str().unwrap()))] {
        assert_eq!(peer.send(&list(wrong.clone())).await["error"]["code"], code, "{wrong}");
    }
    assert_eq!(stranger.send(&list(cursor.clone())).await["error"]["code"], code);
    assert_eq!(peer.send(&list(cursor)).await["result"]["tasks"].as_array().unwrap().len(), 1);
}

/// Errors, third row: also for the very same request again, whose client takes it that the task exists.
#[tokio::test]
async fn an_id_that_is_in_use() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let code = peer.spec.code("a new request uses");
    let first = call(1, "render", json!({}), json!({ "taskId": ID }));
    let _stream = peer.open(&first).await;
    for again in [&first, &call(2, "build", json!({ "other": 1 }), json!({ "taskId": ID }))] {
        assert_eq!(peer.send(again).await["error"]["code"], code, "{again}");
    }
    rig.advance(60 * SECOND).await;
    assert_eq!(peer.send(&first).await["error"]["code"], code, "also once it has ended");
    assert_eq!(rig.provider.jobs().len(), 1, "no second job");
    peer.about("tasks/delete", ID).await.unwrap();
    peer.start(3, "render", json!({ "taskId": ID })).await;
    assert_eq!(rig.provider.jobs().len(), 2, "an id that was given up can be used again");
}

/// Errors, fourth row: the answer says which status it is.
#[tokio::test]
async fn the_result_of_a_task_that_is_not_completed() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let code = peer.spec.code("tasks/result while");
    rig.provider.plan("render", [running()]);
    for (nth, tool, arguments) in [
        (1, "render", json!({ "late": true })),
        (2, "render", json!({})),
        (3, "release", json!({})),
        (4, "lost", json!({})),
        (5, "render", json!({})),
        (6, "stuck", json!({})),
    ] {
        let _stream = peer.open(&call(nth, tool, arguments, json!({ "taskId": nth.to_string() }))).await;
    }
    rig.advance(2 * SECOND).await;
    peer.notify(&cancelled(5)).await;
    let refused = async |id: &str, status: &str| {
        let error = peer.about("tasks/result", id).await.unwrap_err();
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().contains(status), "{status}: {error}");
    };
    for (id, status) in [("1", "submitted"), ("2", "working"), ("3", "input_required"), ("4", "unknown"), ("5", "cancelled")] {
        assert_eq!(peer.status(id).await, status);
        refused(id, status).await;
    }
    rig.advance(120 * SECOND).await;
    refused("6", "failed").await;
}

/// Errors, fifth row, G3: a task that runs, and one that the operator keeps.
#[tokio::test]
async fn a_delete_that_is_refused() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let code = peer.spec.code("delete refused");
    rig.provider.plan("render", [running(), done("rendered")]);
    let mut stream = peer.start(1, "render", json!({ "taskId": "runs" })).await;
    assert_eq!(peer.about("tasks/delete", "runs").await.unwrap_err()["code"], code);
    assert_eq!(stream.response().await["result"]["_meta"], related("runs"), "it goes on");
    peer.about("tasks/delete", "runs").await.unwrap();
    let mut stream = peer.start(2, "archive", json!({ "taskId": "kept" })).await;
    stream.response().await;
    assert_eq!(peer.about("tasks/delete", "kept").await.unwrap_err()["code"], code);
    assert_eq!(peer.status("kept").await, "completed");
}

/// Errors, last row.
#[tokio::test]
async fn an_internal_fault() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    peer.start(1, "render", json!({ "taskId": ID })).await;
    rig.drive(rig.engine.shutdown()).await;
    for method in ["tasks/get", "tasks/result", "tasks/delete"] {
        assert_eq!(peer.about(method, ID).await.unwrap_err()["code"], peer.spec.code("internal fault"));
    }
}

/// What a request of this dialect asks about is its `taskId`; the metadata only says again which task it is about.
#[tokio::test]
async fn a_request_without_a_task_id() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    for params in [json!({ "_meta": related(ID) }), json!({ "taskId": 5, "_meta": { RELATED: {} } })] {
        let request = json!({ "jsonrpc": "2.0", "id": 9, "method": "tasks/get", "params": params });
        assert_eq!(peer.send(&request).await["error"]["code"], -32602);
    }
}
