//! Clients without tasks, in processes of their own (requirement A5): `examples/tickets.yaml` over HTTP and over a pipe, with a gateway
//! that is killed between a ticket and its result.

use std::path::Path;
use std::time::Duration;

use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::pipe::Pipe;
use jobgate_test_support::session::SessionClient;
use jobgate_test_support::source::root;
use jobgate_test_support::wait;
use serde_json::{Value, json};

const JUNE: &str = "2025-06-18";
const LIMIT: Duration = Duration::from_secs(60);

fn setup(folder: &Path) -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder).config(&root().join("examples/tickets.yaml"))
}

fn ticket(result: &Value) -> String {
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"]["ticket"].as_str().unwrap_or_else(|| panic!("no ticket: {result}")).to_owned()
}

fn names(page: &Value) -> Vec<&str> {
    page["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

/// A5, C1, field reports 1, 14, 26: a ticket is good after `kill -9`, with the session that the client has and with a new one.
#[tokio::test]
async fn a_ticket_is_redeemed_after_the_gateway_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let setup = setup(folder.path());
    let gateway = setup.start().await;
    let client = SessionClient::begin(&setup.url(), JUNE).await;
    let page = client.ask("tools/list", json!({})).await.expect("a list");
    assert_eq!(names(&page), ["archive_films", "make_thumbnail", "render_film", "job_wait", "job_result", "job_cancel"]);
    let quick = client.call("make_thumbnail", json!({ "film": "dawn" })).await.expect("a result");
    assert_eq!(quick["content"][0]["text"], "https://studio.example.com/dawn.png");
    let given = client.call("render_film", json!({ "script": "sunrise" })).await.expect("a ticket");
    let first = ticket(&given);
    let again = client.call("render_film", json!({ "script": "sunrise" })).await.expect("a ticket");
    assert_eq!(ticket(&again), first, "the same call joins the job that runs");
    // Killed while somebody waits.
    let (waited, ()) = tokio::join!(client.call("job_wait", json!({ "ticket": first })), killed(gateway, &client, &first));
    assert_eq!(waited, None, "the connection broke");
    let _gateway = setup.start().await;
    let newcomer = SessionClient::begin(&setup.url(), JUNE).await;
    for client in [&client, &newcomer] {
        let result = client.call("job_wait", json!({ "ticket": first })).await.expect("the result");
        assert_eq!(result["structuredContent"]["url"], "https://studio.example.com/film.mp4", "{result}");
    }
    let result = newcomer.call("job_result", json!({ "ticket": first })).await.expect("the result");
    assert_eq!(result["content"][0]["text"], "rendered from sunrise");
    let late = newcomer.call("job_cancel", json!({ "ticket": first })).await.expect("an answer");
    assert_eq!(late["structuredContent"]["cancel"], "too_late");
    let refused = newcomer.call("archive_films", json!({ "year": 1999 })).await.expect("an answer");
    assert_eq!(refused["isError"], true);
}

/// Kills the gateway once the job is known to run.
async fn killed(gateway: Gateway, client: &SessionClient, first: &str) {
    wait::until_async("the job to be reported as running", LIMIT, async || {
        let seen = client.call("job_result", json!({ "ticket": first })).await?;
        (seen["structuredContent"]["status"] == "working").then_some(())
    })
    .await;
    gateway.kill();
}

/// A5: the same over a pipe, where each process is a gateway of its own, or talks to the one that holds the store.
#[test]
fn a_ticket_is_redeemed_over_another_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let setup = setup(folder.path());
    let config = root().join("examples/tickets.yaml");
    let words = ["stdio", "--config", config.to_str().expect("UTF-8"), "--data", "jobgate-data"];
    let begin = || {
        let mut pipe = Pipe::start(setup.command(&words));
        let id = pipe.plain(
            "initialize",
            json!({ "protocolVersion": JUNE, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }),
        );
        assert_eq!(pipe.answer(id, LIMIT)["protocolVersion"], JUNE);
        pipe
    };
    let call = |pipe: &mut Pipe, tool: &str, arguments: Value| {
        let id = pipe.plain("tools/call", json!({ "name": tool, "arguments": arguments }));
        pipe.answer(id, LIMIT)
    };
    let mut pipe = begin();
    let first = ticket(&call(&mut pipe, "render_film", json!({ "script": "dusk" })));
    pipe.kill();
    let mut pipe = begin();
    let running = call(&mut pipe, "job_result", json!({ "ticket": first }));
    assert!(running["structuredContent"]["status"] == "working" || running["structuredContent"]["url"].is_string(), "{running}");
    let result = call(&mut pipe, "job_wait", json!({ "ticket": first }));
    assert_eq!(result["structuredContent"]["url"], "https://studio.example.com/film.mp4", "{result}");
    // Beside the holder of the store, through it, and after it.
    let second = ticket(&call(&mut pipe, "render_film", json!({ "script": "night" })));
    let mut beside = begin();
    let joined = call(&mut beside, "render_film", json!({ "script": "night" }));
    assert_eq!(ticket(&joined), second, "the call joins the job that runs");
    pipe.kill();
    let result = call(&mut beside, "job_wait", json!({ "ticket": second }));
    assert_eq!(result["structuredContent"]["url"], "https://studio.example.com/film.mp4", "{result}");
    assert!(beside.leave().success());
}
