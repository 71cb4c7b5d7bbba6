//! 2025-11-25: questions of a job and before a job, asked as `elicitation/create`.

use jobgate::mcp::Streams;
use jobgate_adapter_api::{InputAction, InputKind, InputRequest, JobState, Observation};
use serde_json::{Value, json};

use crate::client::you;
use crate::provider::done;
use crate::rig::{Rig, SECOND};
use crate::session_client::{Session, about, task_call};

const CORE: &str = "2025-11-25";
const RELATED: &str = "io.modelcontextprotocol/related-task";

async fn session(rig: &Rig) -> Session {
    rig.session(CORE, json!({ "elicitation": {} })).await
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "ok": true } })
}

fn answer(asked: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })
}

fn questions(said: &[Value]) -> Vec<&Value> {
    said.iter().filter(|message| message["method"] == "elicitation/create").collect()
}

/// A task that waits for an answer.
async fn waiting(rig: &Rig, session: &Session) -> String {
    let id = rig.make(session, task_call("release", json!({}))).await;
    rig.advance(10 * SECOND).await;
    id
}

/// E1, E3: asked on the stream of `tasks/result`, with the task that it is about; the answer reaches the job once.
#[tokio::test]
async fn a_question_is_asked_where_the_result_is_waited_for() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = waiting(&rig, &session).await;
    assert_eq!(rig.look(&session, &id).await["status"], "input_required");
    let request = about("tasks/result", &id);
    let mut open = rig.open_stream(&session, &request).await;
    let asked = rig.next(&mut open).await;
    assert_eq!(asked["method"], "elicitation/create");
    let params = &asked["params"];
    assert_eq!((&params["mode"], &params["message"]), (&json!("form"), &json!("approve?")));
    assert_eq!(params["requestedSchema"]["properties"]["ok"]["type"], "boolean");
    assert_eq!(params["_meta"][RELATED]["taskId"], id);
    assert_eq!(rig.post(&session, answer(&asked, &yes())).await, (202, None));
    assert_eq!(rig.post(&session, answer(&asked, &yes())).await, (202, None), "E2: twice is once");
    let heard = rig.rest(&request, open).await;
    assert_eq!(heard.text(), ("released", false));
    assert!(questions(&heard.before).is_empty(), "never again: {heard:?}");
    assert!(heard.before.iter().all(|note| note["method"] != "notifications/cancelled"), "what was answered is not taken back");
}

/// E4: a no is an answer, too, and an `accept` that says no is one.
#[tokio::test]
async fn a_no_reaches_the_job() {
    for (said, heard) in [
        (json!({ "action": "decline" }), InputAction::Decline),
        (json!({ "action": "cancel" }), InputAction::Cancel),
        (json!({ "action": "accept", "content": { "ok": false } }), InputAction::Decline),
    ] {
        let rig = Rig::new().await;
        let session = session(&rig).await;
        let id = waiting(&rig, &session).await;
        let mut open = rig.open_stream(&session, &about("tasks/result", &id)).await;
        let asked = rig.next(&mut open).await;
        rig.post(&session, answer(&asked, &said)).await;
        rig.advance(10 * SECOND).await;
        assert_eq!(rig.provider.jobs()[0].answers["approve"].action, heard);
    }
}

/// Clients that only poll are asked on the session's stream, once they have looked at the task: before that they would not know what
/// the question is about.
#[tokio::test]
async fn a_client_that_polls_is_asked_on_the_sessions_stream() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let mut open = rig.listen(&session, None).await;
    let id = waiting(&rig, &session).await;
    assert!(questions(&rig.so_far(&mut open).await).is_empty(), "it has not looked yet");
    rig.look(&session, &id).await;
    let said = rig.so_far(&mut open).await;
    assert_eq!(questions(&said).len(), 1, "{said:?}");
    for _ in 0..3 {
        rig.look(&session, &id).await;
        rig.advance(10 * SECOND).await;
        assert!(questions(&rig.so_far(&mut open).await).is_empty(), "asked once");
    }
    let mut waiting = rig.open_stream(&session, &about("tasks/result", &id)).await;
    assert!(questions(&rig.so_far(&mut waiting).await).is_empty(), "not on another stream of the session either");
    rig.post(&session, answer(questions(&said)[0], &yes())).await;
    rig.advance(10 * SECOND).await;
    assert_eq!(rig.look(&session, &id).await["status"], "completed");
}

/// E2, E3: a stream that breaks frees its question; the other stream of the session asks it, and so does the next one.
#[tokio::test]
async fn a_question_survives_its_stream() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = waiting(&rig, &session).await;
    let request = about("tasks/result", &id);
    let mut first = rig.open_stream(&session, &request).await;
    let asked = rig.next(&mut first).await;
    let mut pushed = rig.listen(&session, None).await;
    assert!(questions(&rig.so_far(&mut pushed).await).is_empty());
    drop(first);
    let said = rig.so_far(&mut pushed).await;
    assert_eq!(questions(&said).len(), 1, "the session's stream takes over");
    assert_ne!(questions(&said)[0]["id"], asked["id"], "no id is used twice");
    drop(pushed);
    rig.settle().await;
    let mut third = rig.open_stream(&session, &about("tasks/result", &id)).await;
    let again = rig.next(&mut third).await;
    assert_eq!(rig.post(&session, answer(&again, &yes())).await, (202, None));
    rig.advance(10 * SECOND).await;
    let late = rig.post(&session, answer(&asked, &json!({ "action": "decline" }))).await;
    assert_eq!(late, (202, None), "a late answer changes nothing");
    assert_eq!(rig.look(&session, &id).await["status"], "completed");
}

/// E3: the answer finds its way although the process that asked is gone, and the session with it.
#[tokio::test]
async fn an_answer_survives_a_restart() {
    let rig = Rig::new().await;
    let first = session(&rig).await;
    let id = waiting(&rig, &first).await;
    let mut open = rig.open_stream(&first, &about("tasks/result", &id)).await;
    let asked = rig.next(&mut open).await;
    let rig = rig.restarted().await;
    let second = session(&rig).await;
    assert_eq!(rig.post(&second, answer(&asked, &yes())).await, (202, None));
    rig.advance(20 * SECOND).await;
    assert_eq!(rig.look(&second, &id).await["status"], "completed");
}

/// E2: an answer that does not fit is refused by the status of its own request, and the question stays open.
#[tokio::test]
async fn an_answer_that_does_not_fit_leaves_the_question_open() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = waiting(&rig, &session).await;
    let mut open = rig.open_stream(&session, &about("tasks/result", &id)).await;
    let asked = rig.next(&mut open).await;
    for wrong in [
        json!(null),
        json!("yes"),
        json!({ "action": "maybe" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": null }),
        json!({ "action": "accept", "content": { "ok": "yes" } }),
    ] {
        assert_eq!(rig.post(&session, answer(&asked, &wrong)).await, (400, Some(-32602)), "{wrong}");
    }
    rig.advance(10 * SECOND).await;
    assert_eq!(rig.look(&session, &id).await["status"], "input_required");
    assert!(rig.provider.jobs()[0].answers.is_empty());
    assert_eq!(rig.post(&session, answer(&asked, &yes())).await, (202, None));
    rig.advance(10 * SECOND).await;
    assert_eq!(rig.look(&session, &id).await["status"], "completed");
}

/// A client that cannot ask has approved nothing; it is asked again when it opens another stream, not over and over.
#[tokio::test]
async fn a_question_that_is_sent_back_is_asked_again_later() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let id = waiting(&rig, &session).await;
    let mut open = rig.open_stream(&session, &about("tasks/result", &id)).await;
    let asked = rig.next(&mut open).await;
    let error = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32603, "message": "no window" } });
    assert_eq!(rig.post(&session, error).await, (202, None));
    rig.advance(20 * SECOND).await;
    assert!(questions(&rig.so_far(&mut open).await).is_empty());
    assert_eq!(rig.look(&session, &id).await["status"], "input_required");
    let mut next = rig.open_stream(&session, &about("tasks/result", &id)).await;
    assert_eq!(questions(&rig.so_far(&mut next).await).len(), 1);
}

/// Two sessions of one caller: the first answer counts, and the other copy is taken back.
#[tokio::test]
async fn what_is_answered_elsewhere_is_taken_back() {
    let rig = Rig::new().await;
    let (one, other) = (session(&rig).await, session(&rig).await);
    let id = waiting(&rig, &one).await;
    let mut here = rig.open_stream(&one, &about("tasks/result", &id)).await;
    let mut there = rig.open_stream(&other, &about("tasks/result", &id)).await;
    let (asked, copy) = (rig.next(&mut here).await, rig.next(&mut there).await);
    assert_ne!(asked["id"], copy["id"]);
    rig.post(&one, answer(&asked, &yes())).await;
    let said = rig.so_far(&mut there).await;
    let withdrawn = said.iter().find(|message| message["method"] == "notifications/cancelled").unwrap();
    assert_eq!(withdrawn["params"]["requestId"], copy["id"]);
    assert!(rig.so_far(&mut here).await.iter().all(|message| message["method"] != "notifications/cancelled"));
}

/// I1: an answer counts from the caller that was asked, and from nobody else.
#[tokio::test]
async fn a_stranger_answers_nothing() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let theirs = rig.session_of(you(), CORE, json!({ "elicitation": {} })).await;
    let id = waiting(&rig, &session).await;
    let mut open = rig.open_stream(&session, &about("tasks/result", &id)).await;
    let asked = rig.next(&mut open).await;
    assert_eq!(rig.post(&theirs, answer(&asked, &yes())).await, (202, None));
    for made_up in [json!(1), json!("x"), json!("a.b")] {
        assert_eq!(rig.post(&session, answer(&json!({ "id": made_up }), &yes())).await, (202, None));
    }
    rig.advance(10 * SECOND).await;
    assert_eq!(rig.look(&session, &id).await["status"], "input_required");
}

/// Elicitation, "Capabilities": a client is asked only what it said it can show.
#[tokio::test]
async fn a_client_is_asked_only_what_it_can_show() {
    let rig = Rig::new().await;
    let page = InputRequest {
        key: "sign".to_owned(),
        message: "Sign in, please.".to_owned(),
        kind: InputKind::Url { url: "https://ci.example.com/approve/7".to_owned() },
    };
    rig.provider.plan("survey", [Observation::new(JobState::InputRequired(vec![page])), done("thanks")]);
    for (abilities, tool, mode) in [
        (json!({}), "release", None),
        (json!({ "elicitation": { "url": {} } }), "release", None),
        (json!({ "elicitation": { "form": {}, "url": {} } }), "release", Some("form")),
        (json!({ "elicitation": {} }), "survey", None),
        (json!({ "elicitation": { "url": {} } }), "survey", Some("url")),
    ] {
        let session = rig.session(CORE, abilities.clone()).await;
        let id = rig.make(&session, task_call(tool, json!({}))).await;
        rig.advance(10 * SECOND).await;
        let mut open = rig.open_stream(&session, &about("tasks/result", &id)).await;
        let said = rig.so_far(&mut open).await;
        let modes: Vec<Option<&str>> = questions(&said).iter().map(|asked| asked["params"]["mode"].as_str()).collect();
        assert_eq!(modes, mode.map(Some).into_iter().collect::<Vec<_>>(), "{abilities} {tool}");
        if mode == Some("url") {
            assert_eq!(rig.post(&session, answer(questions(&said)[0], &json!({ "action": "accept" }))).await, (202, None));
            rig.advance(10 * SECOND).await;
            assert_eq!(rig.look(&session, &id).await["status"], "completed");
        }
    }
}

/// E1: what a tool asks before its job is asked on the call's own stream, before there is a task; a no starts nothing.
#[tokio::test]
async fn a_question_before_the_job_is_asked_on_the_calls_own_stream() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let request = task_call("remove", json!({ "path": "/x" }));
    let mut open = rig.open_stream(&session, &request).await;
    let asked = rig.next(&mut open).await;
    assert_eq!(asked["params"]["message"], "Really remove it?");
    assert!(asked["params"].get("_meta").is_none(), "there is no task yet");
    assert!(rig.provider.jobs().is_empty());
    assert_eq!(rig.post(&session, answer(&asked, &json!({ "action": "accept", "content": {} }))).await, (400, Some(-32602)));
    assert_eq!(rig.post(&session, answer(&asked, &yes())).await, (202, None));
    let heard = rig.rest(&request, open).await;
    assert_eq!(heard.result()["task"]["status"], "working");
    for no in [json!({ "action": "decline" }), json!({ "action": "accept", "content": { "ok": false } })] {
        let request = task_call("remove", json!({ "path": "/x" }));
        let mut open = rig.open_stream(&session, &request).await;
        let asked = rig.next(&mut open).await;
        rig.post(&session, answer(&asked, &no)).await;
        let heard = rig.rest(&request, open).await;
        assert_eq!(heard.error(), (-32603, 200));
        assert_eq!(heard.answer["error"]["data"]["category"], "declined");
    }
    assert_eq!(rig.provider.jobs().len(), 1);
}

/// What fills in arguments is asked only where they are missing; nobody who cannot be asked gets a job started unasked.
#[tokio::test]
async fn a_client_that_cannot_be_asked_starts_nothing() {
    let rig = Rig::new().await;
    let silent = rig.session(CORE, json!({})).await;
    let heard = rig.ask(&silent, task_call("remove", json!({}))).await;
    assert_eq!(heard.error(), (-32600, 200));
    let asked = session(&rig).await;
    let heard = rig.ask(&asked, task_call("remove", json!({})).streams(Streams::Refused)).await;
    assert_eq!(heard.error(), (-32600, 200));
    assert!(rig.provider.jobs().is_empty());
    rig.make(&silent, task_call("order", json!({ "name": "Ann" }))).await;
    let request = task_call("order", json!({}));
    let mut open = rig.open_stream(&asked, &request).await;
    let question = rig.next(&mut open).await;
    rig.post(&asked, answer(&question, &json!({ "action": "accept", "content": { "name": "Bob" } }))).await;
    rig.rest(&request, open).await;
    assert_eq!(rig.provider.jobs()[1].arguments["name"], "Bob");
}

/// A question before a job that nobody answers in time starts nothing, and is taken back.
#[tokio::test]
async fn a_question_before_the_job_has_a_time() {
    let rig = Rig::new().await;
    let session = session(&rig).await;
    let request = task_call("remove", json!({}));
    let mut open = rig.open_stream(&session, &request).await;
    let asked = rig.next(&mut open).await;
    let heard = rig.rest(&request, open).await;
    assert_eq!(heard.before.last().unwrap()["params"]["requestId"], asked["id"]);
    assert_eq!(heard.error(), (-32603, 200));
    assert_eq!(rig.post(&session, answer(&asked, &yes())).await, (202, None));
    assert!(rig.provider.jobs().is_empty());
}
