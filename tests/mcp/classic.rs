//! Calls without tasks (requirement A5): what blocks, for how long, with which signs of life, and what is given instead of a result.

use jobgate::mcp::Streams;
use serde_json::{Value, json};

use crate::client::{self, me, you};
use crate::provider::{counted, done, failed, running};
use crate::rig::{Rig, SECOND};
use crate::session_client::{call, redeem, request};

const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
pub(crate) const JUNE: &str = "2025-06-18";

pub(crate) fn seconds_since(rig: &Rig, begun: jobgate::domain::Timestamp) -> u64 {
    use jobgate::domain::Clock as _;
    rig.clock.now().since(begun).as_secs()
}

pub(crate) fn now(rig: &Rig) -> jobgate::domain::Timestamp {
    use jobgate::domain::Clock as _;
    rig.clock.now()
}

/// A5: a job that ends in time gives its result, in every version and outside of sessions, too.
#[tokio::test]
async fn a_call_blocks_until_its_job_ends() {
    let rig = Rig::new().await;
    for version in VERSIONS {
        let session = rig.session(version, json!({})).await;
        for session in [session.clone(), session.without_session()] {
            let heard = rig.ask(&session, call("render", json!({}))).await;
            assert_eq!(heard.text(), ("rendered", false), "{version}");
            assert!(heard.before.is_empty(), "nobody asked for progress");
            let one = rig.ask(&session, call("render", json!({})).streams(Streams::Refused)).await;
            assert_eq!(one.text(), ("rendered", false), "{version}: a client that takes no stream");
        }
    }
}

/// A5, field reports 14 and 26: when the time is up there is a ticket, before common clients give up, and never a lost job.
#[tokio::test]
async fn a_job_that_takes_longer_leaves_a_ticket() {
    let rig = Rig::new().await;
    rig.provider.plan("render", [running().with_message("frame 7")]);
    for version in VERSIONS {
        let session = rig.session(version, json!({})).await;
        let begun = now(&rig);
        let heard = rig.ask(&session, call("render", json!({}))).await;
        assert_eq!(seconds_since(&rig, begun), 45, "{version}");
        let (text, is_error) = heard.text();
        for part in ["frame 7", "job_wait", "task_", "Do not call `render` again"] {
            assert!(text.contains(part), "`{part}` is missing: {text}");
        }
        assert!(!is_error);
        if version == "2025-03-26" {
            assert!(heard.result().get("structuredContent").is_none(), "that version knows none");
        } else {
            assert_eq!(heard.result()["structuredContent"]["status"], "working");
            heard.ticket();
        }
    }
}

/// A5: `fallback: ticket` waits for nothing but the provider's first word.
#[tokio::test]
async fn a_ticket_can_be_given_at_once() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    let begun = now(&rig);
    let ticket = rig.ask(&session, call("film", json!({}))).await.ticket();
    assert!(seconds_since(&rig, begun) <= 2);
    let result = rig.ask(&session, redeem("job_wait", &ticket)).await;
    assert_eq!(result.result()["structuredContent"], json!({ "url": "https://films.example.com/1" }));
    rig.provider.plan("film", [done("refused")]);
    let refused = rig.ask(&session, call("film", json!({ "refuse": true }))).await;
    assert_eq!(refused.text(), ("the farm takes no such job", true), "there is no job to give a ticket for");
}

/// A5 and 2025-11-25, "Tool-Level Negotiation": a tool that serves nobody without tasks says what is missing.
#[tokio::test]
async fn a_rejected_call_says_what_is_missing() {
    let rig = Rig::new().await;
    for capabilities in [json!({}), json!({ "tasks": { "requests": { "tools": { "call": {} } } } })] {
        let session = rig.session("2025-11-25", capabilities).await;
        let heard = rig.ask(&session, call("build", json!({}))).await;
        assert_eq!(heard.error(), (-32601, 200));
        assert!(heard.answer["error"]["message"].as_str().unwrap().contains("\"task\": {}"), "{heard:?}");
    }
    for version in [JUNE, "2025-03-26"] {
        let session = rig.session(version, json!({})).await;
        let heard = rig.ask(&session, call("build", json!({}))).await;
        let (text, is_error) = heard.text();
        assert!(is_error && text.contains(version) && text.contains("task.fallback: wait"), "{text}");
    }
    assert!(rig.provider.jobs().is_empty(), "nothing was started");
}

/// A5: a sign of life at least every ten seconds; the number only grows, and real counts are told where there are some.
#[tokio::test]
async fn progress_is_a_sign_of_life() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    rig.provider.plan("stuck", [running()]);
    let request = call("stuck", json!({})).progress();
    let mut open = rig.open_stream(&session, &request).await;
    let mut last = (now(&rig), -1.0);
    loop {
        let message = rig.next(&mut open).await;
        assert!(now(&rig).since(last.0) <= 10 * SECOND, "a silence of more than ten seconds");
        let Some(progress) = message["params"]["progress"].as_f64() else { break };
        assert!(progress > last.1, "{message}");
        last = (now(&rig), progress);
    }
    rig.provider.plan("render", [counted(10.0, 40.0), counted(20.0, 40.0), counted(40.0, 40.0), done("rendered")]);
    let heard = rig.ask(&session, call("render", json!({})).progress()).await;
    let numbers = heard.progress();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    assert!(numbers.contains(&20.0), "{numbers:?}");
    assert!(heard.before.iter().all(|note| note["params"]["progressToken"] == "p"));
}

/// A4: a tool that never makes tasks stays a plain call, with its progress, and stores nothing.
#[tokio::test]
async fn a_fast_tool_stays_a_plain_call() {
    let rig = Rig::new().await;
    for version in VERSIONS {
        let session = rig.session(version, json!({})).await;
        assert_eq!(rig.ask(&session, call("greet", json!({ "name": "Ann" }))).await.text(), ("Hello!", false));
        let heard = rig.ask(&session, call("count", json!({})).progress()).await;
        assert_eq!((heard.text(), heard.progress()), (("counted", false), vec![0.0, 50.0, 100.0]));
    }
    let tasks = rig.tasks_of(&me()).await;
    assert!(tasks.is_empty());
}

/// C6: arguments that do not fit are the tool's own error, and start nothing.
#[tokio::test]
async fn wrong_arguments_are_explained() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    let heard = rig.ask(&session, call("render", json!({ "seconds": "ten" }))).await;
    let (text, is_error) = heard.text();
    assert!(is_error && text.contains("/seconds"), "{text}");
    assert_eq!(rig.ask(&session, call("absent", json!({}))).await.error(), (-32602, 200));
    assert!(rig.provider.jobs().is_empty());
}

/// A job that ran and failed is the tool's own error; a fault of the gateway or the provider is one of the protocol.
#[tokio::test]
async fn failures_reach_the_waiting_call() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    rig.provider.plan("render", [running(), failed("no disk")]);
    assert_eq!(rig.ask(&session, call("render", json!({}))).await.text(), ("no disk", true));
    let ticket = rig.ask(&session, call("stuck", json!({}))).await.ticket();
    let heard = rig.ask(&session, redeem("job_wait", &ticket)).await;
    let (text, is_error) = heard.text();
    assert!(is_error && text.contains("`stuck` failed"), "{text}");
    assert_eq!(heard.result()["structuredContent"]["error"]["category"], "deadline");
}

/// Decided once: a cut connection is no cancel; nor is `notifications/cancelled`, which SDKs send when their own time is up.
#[tokio::test]
async fn a_client_that_leaves_cancels_no_job() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    rig.provider.plan("render", [running(), running(), running(), running(), running(), running(), done("rendered")]);
    let left = call("render", json!({ "seconds": 1 })).progress();
    drop(rig.open_stream(&session, &left).await);
    let cut = call("render", json!({ "seconds": 2 }));
    let open = rig.open_stream(&session, &cut).await;
    cut.cancel.cancel();
    drop(open);
    let timed_out = call("render", json!({ "seconds": 3 }));
    let open = rig.open_stream(&session, &timed_out).await;
    rig.cancel(&session, &timed_out).await;
    rig.ends_silently(open).await;
    rig.advance(300 * SECOND).await;
    assert_eq!(rig.provider.jobs().len(), 3);
    assert!(rig.provider.jobs().iter().all(|job| !job.cancelled));
    let tasks = rig.tasks_of(&me()).await;
    assert_eq!(tasks.len(), 3);
    assert!(tasks.iter().all(|task| task.status() == jobgate::domain::Status::Completed));
}

/// C3, field reports 26 and 27: a call that is repeated after the client gave up joins the running job; both waiters get the result.
#[tokio::test]
async fn a_repeated_call_joins_the_running_job() {
    let rig = Rig::new().await;
    let session = rig.session(JUNE, json!({})).await;
    let other = rig.session("2025-03-26", json!({})).await;
    rig.provider.plan("film", [running()]);
    let first = rig.ask(&session, call("film", json!({ "scene": 1, "cut": 2 }))).await.ticket();
    assert_eq!(rig.ask(&session, call("film", json!({ "cut": 2, "scene": 1 }))).await.ticket(), first, "the same arguments");
    assert_ne!(rig.ask(&session, call("film", json!({ "scene": 2 }))).await.ticket(), first, "other arguments, another wish");
    let foreign = rig.session_of(you(), JUNE, json!({})).await;
    assert_ne!(rig.ask(&foreign, call("film", json!({ "scene": 1, "cut": 2 }))).await.ticket(), first, "another caller's wish");
    // `render` joins by key alone.
    rig.provider.plan("render", [running()]);
    let keyed = || call("render", json!({})).meta("idempotencyKey", "wish");
    let waiting = keyed();
    let open = rig.open_stream(&session, &waiting).await;
    let second = keyed();
    let open_too = rig.open_stream(&other, &second).await;
    assert_eq!(rig.provider.jobs().iter().filter(|job| job.tool == "render").count(), 1);
    rig.provider.plan("render", [done("rendered")]);
    assert_eq!(rig.rest(&waiting, open).await.text(), ("rendered", false));
    assert_eq!(rig.rest(&second, open_too).await.text(), ("rendered", false));
    rig.ask(&session, call("render", json!({}))).await;
    assert_eq!(rig.provider.jobs().iter().filter(|job| job.tool == "render").count(), 2, "without a key it is a second wish");
}

/// Decision of the project: what is listed depends on what the client can do with it.
#[tokio::test]
async fn own_tools_are_listed_to_sessions_without_tasks() {
    let rig = Rig::new().await;
    let names = |page: &Value| -> Vec<String> {
        page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    for (version, capabilities, shown) in [
        ("2025-11-25", json!({ "tasks": {} }), false),
        ("2025-11-25", json!({}), true),
        (JUNE, json!({ "tasks": {} }), true),
        ("2025-03-26", json!({}), true),
    ] {
        let session = rig.session(version, capabilities).await;
        let heard = rig.ask(&session, request("tools/list", json!({}))).await;
        let names = names(heard.result());
        assert_eq!(names.iter().filter(|name| name.starts_with("job_")).count(), if shown { 3 } else { 0 }, "{version}");
        assert!(names.contains(&"render".to_owned()));
    }
    let modern = rig.send(client::ask("tools/list", json!({}))).await;
    assert!(!names(modern.result()).iter().any(|name| name.starts_with("job_")));
    let without = rig.send(client::ask("tools/list", json!({})).capabilities(json!({}))).await;
    assert!(names(without.result()).contains(&"job_wait".to_owned()), "one tool gives tickets at once");
}
