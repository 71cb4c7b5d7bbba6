//! The stream of a session, and streams that go on after they broke (Streamable HTTP, "Resumability and Redelivery").

use std::collections::HashSet;

use jobgate::mcp::Reply;
use jobgate_adapter_api::Observation;
use serde_json::{Value, json};

use crate::client::you;
use crate::provider::{counted, done};
use crate::rig::{Rig, SECOND};
use crate::session_client::{Session, about, call, task_call};

const CORE: &str = "2025-11-25";
const JUNE: &str = "2025-06-18";

async fn session(rig: &Rig) -> Session {
    rig.session(CORE, json!({})).await
}

/// A job that tells how far it is.
fn slow() -> Vec<Observation> {
    (0..9).map(|step| counted(f64::from(step), 10.0)).chain([done("rendered")]).collect()
}

fn status(reply: &Reply) -> u16 {
    match reply {
        Reply::One { status, .. } => *status,
        Reply::Accepted => 202,
        Reply::Stream(_) => 200,
    }
}

/// Streamable HTTP, "Listening for Messages": a session has one stream, a new one takes its place, and both end with the session.
#[tokio::test]
async fn a_session_has_one_stream() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    assert_eq!(status(&rig.get(&session.without_session(), None).await), 405);
    let mut first = rig.listen(&session, None).await;
    assert!(!rig.has_ended(&mut first).await);
    let mut second = rig.listen(&session, None).await;
    assert!(rig.has_ended(&mut first).await);
    assert!(!rig.has_ended(&mut second).await);
    let id = rig.make(&session, task_call("stuck", json!({}))).await;
    let mut waiting = rig.open_stream(&session, &about("tasks/result", &id)).await;
    rig.end(&session).await;
    assert!(rig.has_ended(&mut second).await && rig.has_ended(&mut waiting).await);
    assert_eq!(status(&rig.get(&session, None).await), 404);
    let other = rig.session(CORE, json!({})).await;
    assert_eq!(rig.look(&other, &id).await["status"], "working", "the task is nobody's but its owner's");
}

/// Streamable HTTP, "Sending Messages to the Server": a stream begins with an event that only has an id. Older clients would take it
/// for a broken message, so there it has none.
#[tokio::test]
async fn a_stream_tells_first_where_to_go_on() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let mut pushed = rig.listen(&session, None).await;
    let id = rig.make(&session, task_call("stuck", json!({}))).await;
    let mut waiting = rig.open_stream(&session, &about("tasks/result", &id)).await;
    for open in [&mut pushed, &mut waiting] {
        assert!(rig.so_far(open).await.is_empty());
        assert_eq!(open.ids.len(), 1);
        assert!(open.last().bytes().all(|byte| byte.is_ascii_graphic()), "it is a header: {}", open.last());
    }
    let june = rig.session(JUNE, json!({})).await;
    let mut pushed = rig.listen(&june, None).await;
    assert!(rig.so_far(&mut pushed).await.is_empty() && pushed.ids.is_empty());
}

/// Ids are unique over all streams of a session.
#[tokio::test]
async fn no_event_has_the_id_of_another() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("render", json!({}))).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let mut open = rig.open_stream(&session, &about("tasks/result", &id)).await;
        rig.so_far(&mut open).await;
        ids.extend(open.ids);
        let mut pushed = rig.listen(&session, None).await;
        rig.so_far(&mut pushed).await;
        ids.extend(pushed.ids);
    }
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
}

/// D4, field reports 26 and 27: a stream that broke goes on by the id of its last event, in the next process as well; the answer has the id of
/// the first request, and comes once.
#[tokio::test]
async fn a_broken_stream_goes_on_and_answers_once() {
    for restart in [false, true] {
        let rig = Rig::new().await;
        rig.provider.plan("render", slow());
        let session = session(&rig).await;
        let id = rig.make(&session, task_call("render", json!({})).meta("progressToken", "p")).await;
        let request = about("tasks/result", &id).meta("progressToken", "q");
        let mut open = rig.open_stream(&session, &request).await;
        rig.so_far(&mut open).await;
        let last = open.last().to_owned();
        let rig = if restart { rig.restarted().await } else { rig };
        let mut resumed = rig.listen(&session, Some(&last)).await;
        if !restart {
            assert!(rig.has_ended(&mut open).await, "the connection that broke unnoticed ends");
        }
        let mut said = Vec::new();
        while !said.iter().any(|message: &Value| message.get("result").is_some()) {
            said.push(rig.next(&mut resumed).await);
        }
        let answer = said.last().unwrap();
        assert_eq!(answer["id"], request.id);
        assert_eq!(answer["result"]["content"][0]["text"], "rendered");
        assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
        assert!(said.iter().any(|message| message["params"]["progressToken"] == "q"), "the token is in the id: {said:?}");
        assert!(rig.has_ended(&mut resumed).await);
        let mut over = rig.listen(&session, Some(resumed.last())).await;
        assert!(rig.so_far(&mut over).await.is_empty() && rig.has_ended(&mut over).await, "the answer has been given");
        let again = rig.listen(&session, Some(&last)).await;
        assert_eq!(rig.rest(&request, again).await.text(), ("rendered", false), "who did not get it gets it");
    }
}

/// I1: the id of an event opens nothing for anybody else, and cannot be made up.
#[tokio::test]
async fn a_stream_is_resumed_by_its_owner_alone() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let theirs = rig.session_of(you(), CORE, json!({})).await;
    let id = rig.make(&session, task_call("render", json!({}))).await;
    let mut open = rig.open_stream(&session, &about("tasks/result", &id)).await;
    rig.so_far(&mut open).await;
    assert_eq!(status(&rig.get(&theirs, Some(open.last())).await), 400);
    for wrong in ["", "1", "a.b", &format!("{}x", open.last())] {
        assert_eq!(status(&rig.get(&session, Some(wrong)).await), 400, "{wrong}");
    }
    let mut pushed = rig.listen(&session, None).await;
    rig.so_far(&mut pushed).await;
    let mut again = rig.listen(&session, Some(pushed.last())).await;
    assert!(!rig.has_ended(&mut again).await, "the stream of a session simply opens again");
}

/// A5, H2: calls without tasks and calls of the draft go on after a cut, too, in every version with streams.
#[tokio::test]
async fn calls_of_other_dialects_go_on_as_well() {
    let rig = Rig::new().await;
    rig.provider.plan("render", slow());
    for version in [CORE, JUNE, "2025-03-26"] {
        let session = rig.session(version, json!({})).await;
        let draft = json!({ "taskId": format!("mine-{version}") });
        let classic = call("render", json!({})).progress();
        for request in [classic, call("render", json!({})).meta("modelcontextprotocol.io/task", draft)] {
            let mut open = rig.open_stream(&session, &request).await;
            while open.ids.is_empty() {
                rig.next(&mut open).await;
            }
            let resumed = rig.listen(&session, Some(open.last())).await;
            drop(open);
            assert_eq!(rig.rest(&request, resumed).await.text(), ("rendered", false), "{version}");
        }
    }
}

/// A task that is over leaves a stream that says so.
#[tokio::test]
async fn a_stream_of_a_task_that_is_over_ends_with_an_error() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = rig.make(&session, task_call("render", json!({}))).await;
    let request = about("tasks/result", &id);
    let mut open = rig.open_stream(&session, &request).await;
    rig.so_far(&mut open).await;
    rig.advance(72 * 3600 * SECOND).await;
    let resumed = rig.listen(&session, Some(open.ids.first().unwrap())).await;
    assert_eq!(rig.rest(&request, resumed).await.error(), (-32602, 200));
}
