//! Questions and calls without tasks (requirements A5, E): asked while the call waits, or told by the ticket.

use serde_json::json;

use crate::classic::{JUNE, now, seconds_since};
use crate::rig::Rig;
use crate::session_client::{call, redeem};

/// A5 with E1: what the job asks is asked on the call's own stream; the answer reaches the job, and the call goes on.
#[tokio::test]
async fn a_question_of_the_job_is_asked_while_the_call_waits() {
    let rig = Rig::new().await;
    for version in ["2025-11-25", JUNE] {
        let session = rig.session(version, json!({ "elicitation": {} })).await;
        let request = call("release", json!({}));
        let mut open = rig.open_stream(&session, &request).await;
        let asked = rig.next(&mut open).await;
        assert_eq!((&asked["method"], &asked["params"]["message"]), (&json!("elicitation/create"), &json!("approve?")));
        rig.reply_to(&session, &asked, json!({ "action": "accept", "content": { "ok": true } })).await;
        assert_eq!(rig.rest(&request, open).await.text(), ("released", false), "{version}");
    }
    assert!(rig.provider.jobs().iter().all(|job| job.answers["approve"].content == Some(json!({ "ok": true }))));
}

/// A5: a client that cannot show the question is told at once what is asked and where it can be answered.
#[tokio::test]
async fn a_question_that_cannot_be_shown_is_told_by_the_ticket() {
    let rig = Rig::new().await;
    let forms = rig.session(JUNE, json!({ "elicitation": {} })).await;
    for session in [rig.session(JUNE, json!({})).await, forms.without_session(), rig.session("2025-03-26", json!({})).await] {
        let begun = now(&rig);
        let heard = rig.ask(&session, call("release", json!({}))).await;
        let (text, is_error) = heard.text();
        assert!(seconds_since(&rig, begun) < 10 && !is_error, "there is no use in waiting on");
        for part in ["approve?", "cannot show", "jobgate tasks answer task_", "job_wait"] {
            assert!(text.contains(part), "`{part}` is missing: {text}");
        }
    }
    let blind = rig.session(JUNE, json!({})).await;
    let heard = rig.ask(&blind, call("release", json!({}))).await;
    let data = &heard.result()["structuredContent"];
    assert_eq!((&data["status"], &data["questions"]), (&json!("input_required"), &json!([{ "message": "approve?" }])));
    // The same caller redeems it where a person can be asked.
    let (request, ticket) = (redeem("job_wait", &heard.ticket()), heard.ticket());
    let mut open = rig.open_stream(&forms, &request).await;
    let asked = rig.next(&mut open).await;
    rig.reply_to(&forms, &asked, json!({ "action": "accept", "content": { "ok": true } })).await;
    assert_eq!(rig.rest(&request, open).await.text(), ("released", false));
    assert_eq!(rig.ask(&blind, redeem("job_result", &ticket)).await.text(), ("released", false));
}

/// A5: a question before the job is asked on the call's own stream; a no starts nothing.
#[tokio::test]
async fn a_question_before_the_job_is_asked_on_the_calls_stream() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({ "elicitation": {} })).await;
    for (answer, jobs) in [(json!({ "action": "decline" }), 0), (json!({ "action": "accept", "content": { "ok": true } }), 1)] {
        let request = call("remove", json!({ "path": "a" }));
        let mut open = rig.open_stream(&session, &request).await;
        let asked = rig.next(&mut open).await;
        assert_eq!(asked["params"]["message"], "Really remove it?");
        rig.reply_to(&session, &asked, answer).await;
        let heard = rig.rest(&request, open).await;
        assert_eq!((heard.text().1, rig.provider.jobs().len()), (jobs == 0, jobs), "{heard:?}");
    }
    let blind = rig.session(JUNE, json!({})).await;
    let heard = rig.ask(&blind, call("remove", json!({ "path": "a" }))).await;
    assert!(heard.answer["error"]["message"].as_str().unwrap().contains("elicitation"), "{heard:?}");
    assert_eq!(rig.provider.jobs().len(), 1);
}
