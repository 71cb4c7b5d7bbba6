//! Tickets of calls without tasks (requirement A5): redeemed later, elsewhere, after a crash, and by nobody else.

use jobgate::domain::Status;
use serde_json::{Value, json};

use crate::classic::{JUNE, now, seconds_since};
use crate::client::{self, me, you};
use crate::provider::{asks, done, finished, running};
use crate::rig::{Rig, SECOND, yes_or_no};
use crate::session_client::{call, redeem, request};

/// A5: a ticket is good in another session, in another version, and in another process after a crash.
#[tokio::test]
async fn a_ticket_outlives_its_session_and_its_process() {
    let rig = Rig::new().await;
    rig.provider.plan("film", [running()]);
    let session = rig.session(JUNE, json!({})).await;
    let ticket = rig.ask(&session, call("film", json!({}))).await.ticket();
    let other = rig.session("2025-11-25", json!({})).await;
    assert_eq!(rig.ask(&other, redeem("job_result", &ticket)).await.ticket(), ticket);
    let rig = rig.restarted().await;
    rig.provider.plan("film", [finished("filmed", json!({ "url": "u" }))]);
    for session in [&session, &other, &rig.session("2025-03-26", json!({})).await, &session.without_session()] {
        assert_eq!(rig.ask(session, redeem("job_wait", &ticket)).await.text(), ("filmed", false));
        assert_eq!(rig.ask(session, redeem("job_result", &ticket)).await.text(), ("filmed", false), "any number of times");
    }
    assert_eq!(rig.provider.jobs().len(), 1);
    // Who holds tasks knows the ticket as a task (one task, four views).
    assert_eq!(rig.task(&ticket).await["status"], "completed");
}

/// I1: a stranger's ticket, an unknown one and nonsense read the same, byte for byte.
#[tokio::test]
async fn a_strangers_ticket_reads_as_unknown() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    let ticket = rig.ask(&session, call("film", json!({}))).await.ticket();
    let stranger = rig.session_of(you(), JUNE, json!({})).await;
    for own in ["job_wait", "job_result", "job_cancel"] {
        let unknown = rig.ask(&stranger, redeem(own, "task_00112233445566778899aabbccddeeff")).await;
        for text in [ticket.as_str(), "x", ""] {
            assert_eq!(rig.ask(&stranger, redeem(own, text)).await.result(), unknown.result(), "{own} {text}");
        }
        let (text, is_error) = unknown.text();
        assert!(is_error && text.contains("exactly as the tool gave it"), "{text}");
    }
    let modern = rig.send(client::call("job_wait", json!({ "ticket": ticket })).without_tasks().by(you())).await;
    assert!(modern.text().1);
    rig.advance(60 * SECOND).await;
    assert_eq!(rig.tasks_of(&me()).await[0].status(), Status::Completed, "nobody cancelled it");
}

/// A5: waiting is bounded below what clients allow, and says how far the job is; looking waits for nothing.
#[tokio::test]
async fn waiting_with_a_ticket_is_bounded() {
    let rig = Rig::new().await;
    rig.provider.plan("film", [running().with_message("scene 3")]);
    let session = rig.session(JUNE, json!({})).await;
    let ticket = rig.ask(&session, call("film", json!({}))).await.ticket();
    for (wait, longest) in [(json!(5), 5), (json!(0), 0), (json!(600), 45), (Value::Null, 45)] {
        let begun = now(&rig);
        let mut arguments = json!({ "ticket": ticket });
        if !wait.is_null() {
            arguments["wait_seconds"] = wait;
        }
        let heard = rig.ask(&session, call("job_wait", arguments).progress()).await;
        assert_eq!((seconds_since(&rig, begun), heard.ticket()), (longest, ticket.clone()));
        assert_eq!(heard.result()["structuredContent"]["message"], "scene 3");
        assert!(heard.progress().len() as u64 >= longest / 10, "a sign of life every ten seconds: {heard:?}");
    }
    let begun = now(&rig);
    assert_eq!(rig.ask(&session, redeem("job_result", &ticket)).await.ticket(), ticket);
    assert_eq!(seconds_since(&rig, begun), 0);
    for wrong in [json!({}), json!({ "ticket": 5 }), json!({ "ticket": ticket, "wait_seconds": "soon" })] {
        let heard = rig.ask(&session, call("job_wait", wrong)).await;
        let (text, is_error) = heard.text();
        assert!(is_error && text.contains("A right example"), "{text}");
    }
}

/// F1 to F3: a cancel says what became of it.
#[tokio::test]
async fn a_cancel_says_what_became_of_it() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    let ticket_of = async |tool: &str| {
        rig.provider.plan(tool, [running()]);
        rig.ask(&session, call(tool, json!({}))).await.ticket()
    };
    let cancel = async |ticket: &str| {
        let heard = rig.ask(&session, redeem("job_cancel", ticket)).await;
        let word = heard.result()["structuredContent"]["cancel"].as_str().unwrap().to_owned();
        (word, heard.text().1)
    };
    let ticket = ticket_of("film").await;
    assert_eq!(cancel(&ticket).await, ("cancelled".to_owned(), false));
    assert!(rig.provider.jobs()[0].cancelled, "the job itself was stopped");
    assert_eq!(cancel(&ticket).await, ("cancelled".to_owned(), false), "twice is harmless");
    let heard = rig.ask(&session, redeem("job_wait", &ticket)).await;
    let (text, is_error) = heard.text();
    assert!(is_error && text.contains("was cancelled"), "{text}");
    // A job that does not stop at once.
    let slow = ticket_of("stubborn").await;
    assert_eq!(cancel(&slow).await, ("requested".to_owned(), false));
    // A provider that has no cancel.
    let endless = ticket_of("endless").await;
    assert_eq!(cancel(&endless).await, ("unsupported".to_owned(), true));
    rig.provider.plan("endless", [done("ended")]);
    assert_eq!(rig.ask(&session, redeem("job_wait", &endless)).await.text(), ("ended", false));
    assert_eq!(cancel(&endless).await, ("too_late".to_owned(), false));
    assert_eq!(rig.ask(&session, redeem("job_result", &endless)).await.text(), ("ended", false));
}

/// C3: of calls that come at the same moment one starts the job, and the others join it.
#[tokio::test]
async fn calls_that_race_share_one_job() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    rig.provider.plan("film", [running(), finished("filmed", json!({ "url": "u" }))]);
    let ask = || rig.ask(&session, call("film", json!({ "scene": 1 })));
    let (a, b, c) = tokio::join!(ask(), ask(), ask());
    let tickets = [a.ticket(), b.ticket(), c.ticket()];
    assert!(tickets.iter().all(|ticket| *ticket == tickets[0]), "{tickets:?}");
    assert_eq!(rig.provider.jobs().len(), 1);
    assert_eq!(rig.ask(&session, redeem("job_wait", &tickets[0])).await.text(), ("filmed", false));
    // A job that has ended is not joined: the same call is a new wish then.
    assert_ne!(ask().await.ticket(), tickets[0]);
}

/// A5: what comes back fits what the list promised, ticket or result.
#[tokio::test]
async fn tickets_and_results_fit_the_listed_schema() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    let page = rig.ask(&session, request("tools/list", json!({}))).await;
    let film = page.result()["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "film").unwrap().clone();
    let listed = jsonschema::draft202012::new(&film["outputSchema"]).unwrap();
    let heard = rig.ask(&session, call("film", json!({}))).await;
    assert!(listed.is_valid(&heard.result()["structuredContent"]), "{heard:?}");
    let result = rig.ask(&session, redeem("job_wait", &heard.ticket())).await;
    assert!(listed.is_valid(&result.result()["structuredContent"]), "{result:?}");
    assert!(!listed.is_valid(&json!({ "url": 7 })));
}

/// C7, A5: a client of 2026-07-28 without the extension never gets a task: a ticket where the tool says so, a refusal where it says so.
#[tokio::test]
async fn a_modern_client_without_tasks_gets_tickets_too() {
    let rig = Rig::new().await;
    let ask = |tool: &str, arguments: Value| client::call(tool, arguments).without_tasks();
    let given = rig.send(ask("film", json!({}))).await;
    let data = given.result()["structuredContent"].clone();
    let ticket = data["ticket"].as_str().unwrap();
    assert_eq!((given.text().1, &data["status"]), (false, &json!("working")));
    let result = rig.send(ask("job_wait", json!({ "ticket": ticket }))).await;
    assert_eq!(result.result()["structuredContent"]["url"], "https://films.example.com/1");
    assert_eq!(rig.send(client::call("job_result", json!({ "ticket": ticket }))).await.text(), ("filmed", false));
    let late = rig.send(ask("job_cancel", json!({ "ticket": ticket }))).await;
    assert_eq!(late.result()["structuredContent"]["cancel"], "too_late");
    assert_eq!(rig.send(ask("build", json!({}))).await.error(), (-32021, 400));
    assert!(rig.send(client::call("film", json!({}))).await.task_id().starts_with("task_"), "who declares tasks gets one");
}

/// A5: the sign of life in 2026-07-28, for a blocking call and for one that redeems a ticket.
#[tokio::test]
async fn a_modern_client_without_tasks_hears_a_sign_of_life() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [running()]);
    rig.provider.plan("film", [running()]);
    let given = rig.send(client::call("film", json!({})).without_tasks()).await;
    let ticket = given.result()["structuredContent"]["ticket"].clone();
    for request in [client::call("render", json!({})), client::call("job_wait", json!({ "ticket": ticket }))] {
        let (notes, _) = rig.stream(request.without_tasks().meta("progressToken", 7)).await;
        let numbers: Vec<f64> = notes.iter().map(|note| note["params"]["progress"].as_f64().unwrap()).collect();
        assert!(numbers.len() >= 4 && numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    }
}

/// A5 with E1: what the job asks is asked by `job_wait` in the way of that version, and answered once.
#[tokio::test]
async fn a_modern_client_is_asked_by_job_wait() {
    let rig = Rig::new().await;
    rig.provider.plan("film", [asks(&[("approve", yes_or_no())]), finished("filmed", json!({ "url": "u" }))]);
    let ticket = rig.send(client::call("film", json!({})).without_tasks()).await.result()["structuredContent"]["ticket"].clone();
    let wait = || client::call("job_wait", json!({ "ticket": ticket })).without_tasks();
    let asked = rig.send(wait()).await;
    assert_eq!(asked.result()["resultType"], "input_required");
    assert_eq!(asked.result()["inputRequests"]["approve"]["method"], "elicitation/create");
    let state = asked.result()["requestState"].clone();
    let answered =
        |answer: Value| wait().with("requestState", state.clone()).with("inputResponses", json!({ "approve": answer }));
    assert_eq!(rig.send(answered(json!({ "action": "accept" }))).await.error(), (-32602, 200), "the question stays open");
    let yes = json!({ "action": "accept", "content": { "ok": true } });
    assert_eq!(rig.send(answered(yes)).await.text(), ("filmed", false));
    assert_eq!(rig.provider.jobs()[0].answers["approve"].content, Some(json!({ "ok": true })));
    // A client that shows no forms is told by the ticket.
    rig.provider.plan("film", [asks(&[("approve", yes_or_no())])]);
    let blind = rig.send(client::call("film", json!({ "scene": 2 })).capabilities(json!({}))).await;
    let blind =
        client::call("job_wait", json!({ "ticket": blind.result()["structuredContent"]["ticket"] })).capabilities(json!({}));
    let told = rig.send(blind).await;
    assert!(told.text().0.contains("cannot show the question"), "{told:?}");
}

/// A5: a stream that broke goes on after a crash, with the answer to the call that began it: the result, or a ticket when its time is up.
#[tokio::test]
async fn a_blocked_call_goes_on_after_a_crash() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [running()]);
    let session = rig.session("2025-11-25", json!({})).await;
    let (first, second) = (call("render", json!({ "seconds": 1 })), call("render", json!({ "seconds": 2 })));
    let (open, open_too) = (rig.open_stream(&session, &first).await, rig.open_stream(&session, &second).await);
    let (last, last_too) = (rig.cut_off(open).await, rig.cut_off(open_too).await);
    let rig = rig.restarted().await;
    let open = rig.resume(&session, &last).await;
    rig.advance(46 * SECOND).await;
    let ticket = rig.rest(&first, open).await.ticket();
    rig.provider.plan("render", [done("rendered")]);
    assert_eq!(rig.ask(&session, redeem("job_wait", &ticket)).await.text(), ("rendered", false));
    rig.advance(60 * SECOND).await;
    let open = rig.resume(&session, &last_too).await;
    assert_eq!(rig.rest(&second, open).await.text(), ("rendered", false), "the job ended while nobody was there");
    assert_eq!(rig.provider.jobs().len(), 2);
}

/// A5: a gateway that stops gives the waiting caller something to come back with.
#[tokio::test]
async fn a_gateway_that_stops_leaves_a_ticket() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [running()]);
    let session = rig.session(JUNE, json!({})).await;
    let waiting = call("render", json!({}));
    let open = rig.open_stream(&session, &waiting).await;
    rig.drive(rig.supervisor.shutdown(SECOND)).await;
    let ticket = rig.rest(&waiting, open).await.ticket();
    let rig = rig.restarted().await;
    rig.provider.plan("render", [done("rendered")]);
    assert_eq!(rig.ask(&session, redeem("job_wait", &ticket)).await.text(), ("rendered", false));
}
