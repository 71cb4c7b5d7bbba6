//! A real Restate server behind `examples/restate.yaml`, driven through a real MCP client: success, failure, cancel, and a gateway
//! that is killed between submit and result. The engine itself is asked how many jobs it saw.

use std::fs;
use std::time::Duration;

use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::Engine;
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use serde_json::{Value, json};

/// A1, A3, C1, C4, D5, F1: one call is one invocation, whatever becomes of the gateway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_is_one_invocation() {
    let Some(engine) = Engine::start("restate") else { return };
    let (ingress, admin) = (engine.port(), engine.port() + 1);
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("restate.yaml");
    let example = text("examples/restate.yaml").unwrap();
    fs::write(&config, example.replace(":5630", &format!(":{ingress}")).replace(":5631", &format!(":{admin}"))).unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&config);
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    let (code, ended) = caller.run(&["call", "run_handler", "--arg", "handler=ok", "--arg", "name=Ada"]);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");
    assert_eq!(ended["result"]["structuredContent"], json!({ "greeting": "hello Ada", "answer": 42 }), "{ended}");
    assert_eq!(invocations(&gateway, admin, "ok").await.len(), 1);

    let (code, ended) = caller.run(&["call", "run_handler", "--arg", "handler=fail"]);
    assert_eq!((code, &ended["status"]), (JOB_FAILED, &json!("completed")), "{ended}");
    assert_eq!(ended["result"]["isError"], true);
    assert!(ended.to_string().contains("the renderer ran out of paint"), "{ended}");

    let id = caller.detach("run_handler", &json!({ "handler": "slow" }));
    running(&gateway, admin, "slow").await;
    let (code, _) = caller.run(&["tasks", "cancel", &id]);
    assert_eq!(code, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    let slow = invocations(&gateway, admin, "slow").await;
    assert_eq!(slow.len(), 1);
    assert_eq!(slow[0]["completion_failure"], "[409] Cancelled", "the engine saw the cancel: {slow:?}");

    let id = caller.detach("run_handler", &json!({ "handler": "ok", "name": "Bob" }));
    wait::until_async("the second invocation", Duration::from_secs(20), async || {
        (invocations(&gateway, admin, "ok").await.len() == 2).then_some(())
    })
    .await;
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["result"]["structuredContent"]["greeting"]), (0, &json!("hello Bob")), "{ended}");

    // The same client process lives through the kill as well.
    let following = caller.start(&["call", "run_handler", "--arg", "handler=ok", "--arg", "name=Eve"]);
    wait::until_async("the third invocation", Duration::from_secs(20), async || {
        (invocations(&gateway, admin, "ok").await.len() == 3).then_some(())
    })
    .await;
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = following.end();
    assert_eq!((code, &ended["result"]["structuredContent"]["greeting"]), (0, &json!("hello Eve")), "{ended}");
    assert_eq!(invocations(&gateway, admin, "ok").await.len(), 3, "three calls, three invocations");

    assert!(gateway.stop().success());
    engine.stop();
}

/// What the engine knows of the invocations of one handler.
async fn invocations(gateway: &Gateway, admin: u16, handler: &str) -> Vec<Value> {
    let query = format!("select id, status, completion_failure from sys_invocation where target = 'jobs/{handler}'");
    let url = format!("http://127.0.0.1:{admin}/query");
    let accept = [("accept", "application/json")];
    let (status, answer) = gateway.wire.plain("POST", &url, &accept, Some(json!({ "query": query }))).await;
    assert_eq!(status, 200, "{answer}");
    answer["rows"].as_array().cloned().unwrap_or_default()
}

async fn running(gateway: &Gateway, admin: u16, handler: &str) {
    wait::until_async("the handler to run", Duration::from_secs(20), async || {
        let invocations = invocations(gateway, admin, handler).await;
        invocations.iter().any(|it| it["status"] == "running" || it["status"] == "suspended").then_some(())
    })
    .await;
}
