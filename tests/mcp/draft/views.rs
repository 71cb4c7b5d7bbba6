//! `docs/protocol.md`: each row of its table of statuses is a task that is made here and looked at in each dialect.

use std::collections::BTreeMap;

use jobgate_test_support::source;
use serde_json::{Value, json};

use super::peer::{Peer, call, cancelled};
use crate::client::me;
use crate::provider::running;
use crate::rig::{Rig, SECOND};

/// The statuses of each row, by what the row says of the task.
fn documented() -> BTreeMap<String, [String; 3]> {
    let document = source::text("docs/protocol.md").unwrap();
    let table = document.lines().skip_while(|line| !line.starts_with("| the task |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        (cells[0].to_owned(), [1, 2, 3].map(|nth| cells[nth].to_owned()))
    });
    rows.collect()
}

/// B1, B3, B4: one fact, and each dialect's word for it.
#[tokio::test]
async fn every_dialect_shows_a_task_as_the_document_says() {
    let tasks = [
        ("taken on, its job not confirmed yet", "render", json!({ "late": true }), 2),
        ("its job runs", "render_video", json!({}), 2),
        ("its job waits for a person", "release", json!({}), 10),
        ("its job ended well", "archive", json!({}), 10),
        ("its job ran and failed", "build", json!({}), 10),
        ("it could not be brought to an end", "stuck", json!({}), 120),
        ("nobody can tell whether a job was started", "lost", json!({}), 10),
        ("it was cancelled", "render_video", json!({}), 10),
    ];
    let documented = documented();
    assert_eq!(documented.len(), tasks.len(), "{documented:?}");
    for (fact, tool, arguments, seconds) in tasks {
        let rig = Rig::new().await;
        rig.provider.plan("render_video", [running()]);
        let (draft, core) = (Peer::new(&rig).await, Peer::of(&rig, me(), "2025-11-25").await);
        drop(draft.open(&call(1, tool, arguments, json!({ "taskId": "it" }))).await);
        rig.advance(seconds * SECOND).await;
        if fact == "it was cancelled" {
            draft.notify(&cancelled(1)).await;
        }
        let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "tasks/get", "params": { "taskId": "it" } });
        let in_core: Value = core.raw(&request).await["result"]["status"].take();
        let in_extension = rig.task("it").await["status"].take();
        let seen = [Value::from(draft.status("it").await), in_core, in_extension];
        assert_eq!(seen.map(|status| status.as_str().unwrap().to_owned()), documented[fact], "{fact}");
    }
}
