//! Calls: what is asked for with them, and where it is ignored.

use jobgate::domain::Principal;
use serde_json::{Value, json};

use super::peer::{Peer, about, call};
use super::spec::{TASK, related};
use crate::client::{me, you};
use crate::rig::Rig;

/// H1: what is no task id or no keep-alive is refused before anything is started.
#[tokio::test]
async fn what_a_call_says_of_its_task_is_checked() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    for task in [
        json!("an id"),
        json!({}),
        json!({ "taskId": 7 }),
        json!({ "taskId": "" }),
        json!({ "taskId": "x".repeat(257) }),
        json!({ "taskId": format!("task_{}", "a".repeat(32)) }),
        json!({ "taskId": "a", "keepAlive": -1 }),
        json!({ "taskId": "a", "keepAlive": 0.5 }),
        json!({ "taskId": "a", "keepAlive": "60000" }),
    ] {
        let error = peer.send(&call(1, "render", json!({}), task.clone())).await["error"].clone();
        assert_eq!(error["code"], -32602, "{task}");
        assert!(error["message"].as_str().unwrap().contains(TASK), "{error}");
    }
    assert!(rig.provider.jobs().is_empty() && peer.listed().await.is_empty());
    for (nth, id) in ["x".repeat(256), "task_7".to_owned(), "ü 日本 / ?".to_owned()].iter().enumerate() {
        peer.start(u64::try_from(nth).unwrap(), "render", json!({ "taskId": id, "keepAlive": null })).await;
        assert_eq!(peer.about("tasks/get", id).await.unwrap()["taskId"], **id);
    }
}

/// H6: a tool that makes no tasks, and a method that knows none, run plainly, whatever the metadata says.
#[tokio::test]
async fn where_there_are_no_tasks_the_metadata_is_ignored() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    for task in [json!({ "taskId": "greeting" }), json!({ "taskId": 5 }), json!("?")] {
        let mut answers = peer.open_or_send(&call(1, "greet", json!({ "name": "Ann" }), task.clone())).await;
        let answer = answers.pop().unwrap();
        assert!(answers.is_empty(), "no word of a task: {answers:?}");
        assert_eq!(answer["result"]["content"][0]["text"], "Hello!");
        assert!(answer["result"]["_meta"].get(super::spec::RELATED).is_none(), "{answer}");
        for method in ["tools/list", "ping"] {
            let request = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": { "_meta": { TASK: task } } });
            assert!(peer.send(&request).await.get("result").is_some(), "{method}");
        }
    }
    assert!(peer.about("tasks/get", "greeting").await.is_err());
}

/// Unknown tools and arguments that do not fit are answered as in a plain call, and leave no task.
#[tokio::test]
async fn a_call_that_cannot_be_made_leaves_no_task() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let task = || json!({ "taskId": "a" });
    assert_eq!(peer.send(&call(1, "no such tool", json!({}), task())).await["error"]["code"], -32602);
    let mut answers = peer.open_or_send(&call(2, "render", json!({ "seconds": "four" }), task())).await;
    let answer = answers.pop().unwrap();
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answers.is_empty(), "no word of a task: {answers:?}");
    assert!(peer.about("tasks/get", "a").await.is_err() && rig.provider.jobs().is_empty());
}

/// A job that its provider refuses is a task that ended: the client chose its id and may ask for it.
#[tokio::test]
async fn a_refused_job_is_a_task_whose_result_says_so() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let mut stream = peer.open(&call(1, "render", json!({ "refuse": true }), json!({ "taskId": "a" }))).await;
    assert_eq!(stream.next().await.unwrap()["method"], "notifications/tasks/created");
    let response = stream.response().await;
    assert_eq!(response["result"]["isError"], true, "{response}");
    assert_eq!(peer.about("tasks/result", "a").await.unwrap(), response["result"]);
}

/// H7, G1: the tool's own span where nothing is asked for, what is asked for within the tool's limit; counted from the end.
#[tokio::test]
async fn the_granted_keep_alive_is_reported() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    const DAY: u64 = 24 * 3600 * 1000;
    for (nth, (asked, granted)) in
        [(json!(60_000), 60_000), (json!(0), 0), (json!(null), DAY), (json!(1e12), 7 * DAY)].into_iter().enumerate()
    {
        let id = nth.to_string();
        let task = json!({ "taskId": id, "keepAlive": asked });
        let mut stream = peer.start(nth.try_into().unwrap(), "render", task).await;
        assert_eq!(peer.about("tasks/get", &id).await.unwrap()["keepAlive"], granted, "{asked}");
        assert_eq!(stream.response().await["result"]["_meta"], related(&id), "{asked}");
    }
}

/// H8: two principals may use one id; neither sees the other's.
#[tokio::test]
async fn an_id_is_its_principals_own() {
    let rig = Rig::new().await;
    let (ann, bob) = (Peer::new(&rig).await, Peer::of(&rig, you(), "2025-06-18").await);
    ann.start(1, "render", json!({ "taskId": "mine" })).await;
    let mut stream = bob.start(1, "build", json!({ "taskId": "mine" })).await;
    assert_eq!(stream.response().await["result"]["isError"], true);
    rig.advance(60 * crate::rig::SECOND).await;
    assert_eq!(ann.about("tasks/result", "mine").await.unwrap()["content"][0]["text"], "rendered");
    ann.about("tasks/delete", "mine").await.unwrap();
    assert_eq!(bob.status("mine").await, "completed");
    assert!(ann.listed().await.is_empty());
}

/// I1, H8: an admin finds the tasks of its tenant by the gateway's ids, as they are listed to it; others' own words stay theirs.
#[tokio::test]
async fn an_admin_finds_what_is_listed_to_it() {
    let rig = Rig::new().await;
    let root = Principal::new("acme", "root");
    let ann = Peer::new(&rig).await;
    let (admin, core) = (Peer::admin(&rig, root.clone(), "2025-06-18").await, Peer::admin(&rig, root, "2025-11-25").await);
    ann.start(1, "stuck", json!({ "taskId": "mine" })).await;
    let listed = admin.listed().await;
    assert!(listed.len() == 1 && listed[0].starts_with("task_"), "{listed:?}");
    assert_eq!(admin.status(&listed[0]).await, "working");
    assert!(admin.about("tasks/get", "mine").await.is_err());
    for method in ["tasks/list", "tasks/get"] {
        let request = json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": { "taskId": listed[0] } });
        let answer = core.raw(&request).await;
        let task = answer["result"].pointer("/tasks/0").unwrap_or(&answer["result"]);
        assert_eq!(task["taskId"], *listed[0], "{answer}");
    }
    let cancel = json!({ "jsonrpc": "2.0", "id": 6, "method": "tasks/cancel", "params": { "taskId": listed[0] } });
    assert_eq!(core.raw(&cancel).await["result"]["status"], "cancelled");
    assert_eq!(ann.status("mine").await, "cancelled");
}

/// C3: a key that named a wish before names its task still, whatever id comes with it now.
#[tokio::test]
async fn a_key_of_an_earlier_wish_starts_no_second_job() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let keyed = |request: u64, id: &str| {
        let mut message = call(request, "render", json!({}), json!({ "taskId": id }));
        message["params"]["_meta"]["idempotencyKey"] = "one wish".into();
        message
    };
    let mut first = peer.open(&keyed(1, "first")).await;
    let mut second = peer.open(&keyed(2, "second")).await;
    assert_eq!(first.next().await, second.next().await, "both say which task it is");
    assert_eq!(second.response().await["result"]["_meta"], related("first"));
    assert_eq!(rig.provider.jobs().len(), 1);
}

/// A4 of the design: the owner reads a task of any dialect under one id; the gateway's own ids work here, too.
#[tokio::test]
async fn tasks_of_other_dialects_are_read_here() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    let id = rig.start("render", json!({})).await;
    assert_eq!(peer.listed().await, [id.as_str()]);
    assert!(["submitted", "working"].contains(&peer.status(&id).await.as_str()));
    rig.advance(60 * crate::rig::SECOND).await;
    assert_eq!(peer.about("tasks/result", &id).await.unwrap()["content"][0]["text"], "rendered");
    let keep_alive = peer.about("tasks/get", &id).await.unwrap()["keepAlive"].as_u64().unwrap();
    let day = 24 * 3600 * 1000;
    assert!((day - 60_000..day).contains(&keep_alive), "what is left of a day after the end: {keep_alive}");
    peer.about("tasks/delete", &id).await.unwrap();
}

/// A task made here is read by the other dialects under the id that its client chose.
#[tokio::test]
async fn a_task_made_here_is_read_by_other_dialects() {
    let rig = Rig::new().await;
    let (peer, core) = (Peer::new(&rig).await, Peer::of(&rig, me(), "2025-11-25").await);
    rig.provider.plan("render", [crate::provider::running()]);
    peer.start(1, "render", json!({ "taskId": "mine" })).await;
    let task = rig.task("mine").await;
    assert_eq!((&task["taskId"], &task["status"]), (&json!("mine"), &json!("working")));
    let watched = json!({ "notifications": { "taskIds": ["mine", "not mine"] } });
    let mut news = rig.open(&crate::client::ask("subscriptions/listen", watched)).await;
    let granted = rig.notified(&rig.drive(news.recv()).await.unwrap());
    assert_eq!(granted["params"]["notifications"]["taskIds"], json!(["mine"]));
    assert_eq!(rig.notified(&rig.drive(news.recv()).await.unwrap())["params"]["taskId"], "mine");
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "tasks/get", "params": { "taskId": "mine" } });
    let answer = core.raw(&request).await;
    assert_eq!((&answer["result"]["taskId"], &answer["result"]["status"]), (&json!("mine"), &json!("working")), "{answer}");
    rig.send(crate::client::ask("tasks/cancel", json!({ "taskId": "mine" }))).await.result();
    rig.advance(5 * crate::rig::SECOND).await;
    assert_eq!(peer.status("mine").await, "cancelled");
}

/// The metadata chooses the dialect in every session, also in one whose version has tasks of its own.
#[tokio::test]
async fn the_dialect_is_spoken_in_sessions_of_every_version() {
    let rig = Rig::new().await;
    for (nth, revision) in ["2025-03-26", "2025-06-18", "2025-11-25"].into_iter().enumerate() {
        let peer = Peer::of(&rig, me(), revision).await;
        let mut stream = peer.start(7, "render", json!({ "taskId": revision })).await;
        assert_eq!(stream.response().await["result"]["_meta"], related(revision));
        assert_eq!(peer.status(revision).await, "completed");
        assert_eq!(peer.listed().await.len(), nth + 1);
    }
    let peer = Peer::without_session(&rig, me());
    let mut stream = peer.start(7, "render", json!({ "taskId": "none" })).await;
    assert_eq!(stream.response().await["result"]["_meta"], related("none"));
    assert_eq!(peer.send(&about("tasks/get", "none")).await["result"]["status"], "completed");
}

/// There is no `tasks/cancel` here.
#[tokio::test]
async fn there_is_no_method_to_cancel() {
    let rig = Rig::new().await;
    let peer = Peer::new(&rig).await;
    peer.start(1, "stuck", json!({ "taskId": "a" })).await;
    let answer: Value = peer.raw(&about("tasks/cancel", "a")).await;
    assert_eq!(answer["error"]["code"], -32601);
    assert_eq!(peer.status("a").await, "working");
}
