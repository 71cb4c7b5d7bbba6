//! Resources where nothing is kept: lists, templates, and what is not there. What is kept is read in `tests/artifacts.rs`.

use serde_json::json;

use crate::client::{ask, you};
use crate::rig::Rig;
use crate::session_client::request;

const UNKNOWN: &str = "jobgate://tasks/task_00000000000000000000000000000000/artifacts/1";

/// Resources of both generations: the lists' shapes, one error for all that is not there (requirement I1), and no made-up cursors.
#[tokio::test]
async fn what_is_not_there_is_told_in_the_words_of_the_version() {
    let rig = Rig::new().await;
    let session = rig.session("2025-11-25", json!({})).await;
    let listed = rig.send(ask("resources/list", json!({}))).await;
    assert_eq!((&listed.result()["resources"], &listed.result()["cacheScope"]), (&json!([]), &json!("private")));
    let template = json!("jobgate://tasks/{task}/artifacts/{number}");
    assert_eq!(
        rig.send(ask("resources/templates/list", json!({}))).await.result()["resourceTemplates"][0]["uriTemplate"],
        template
    );
    let older = rig.ask(&session, request("resources/templates/list", json!({}))).await;
    assert_eq!(older.result()["resourceTemplates"][0]["uriTemplate"], template);
    assert_eq!(rig.ask(&session, request("resources/list", json!({}))).await.result(), &json!({ "resources": [] }));
    let made = rig.send(ask("tools/call", json!({ "name": "render", "arguments": {} }))).await.result()["taskId"].clone();
    let of_a_task = format!("jobgate://tasks/{}/artifacts/1", made.as_str().unwrap());
    for uri in [UNKNOWN, &of_a_task, "file:///etc/passwd", "jobgate://tasks/../artifacts/1", ""] {
        let told = rig.send(ask("resources/read", json!({ "uri": uri }))).await;
        assert_eq!((told.error(), &told.message["error"]["data"]["uri"]), ((-32602, 200), &json!(uri)));
        assert_eq!(
            rig.send(ask("resources/read", json!({ "uri": uri })).by(you())).await.message["error"],
            told.message["error"]
        );
        let told = rig.ask(&session, request("resources/read", json!({ "uri": uri }))).await;
        assert_eq!(told.error(), (-32002, 200), "{uri}");
    }
    for (method, params) in [
        ("resources/read", json!({})),
        ("resources/read", json!({ "uri": 5 })),
        ("resources/list", json!({ "cursor": "made up" })),
        ("resources/templates/list", json!({ "cursor": "made up" })),
    ] {
        assert_eq!(rig.send(ask(method, params.clone())).await.error(), (-32602, 200), "{method}");
        assert_eq!(rig.ask(&session, request(method, params)).await.error(), (-32602, 200), "{method}");
    }
}
