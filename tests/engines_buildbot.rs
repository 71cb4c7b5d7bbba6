//! A real Buildbot behind `examples/buildbot.yaml`: its HttpStatusPush, unsigned and never repeated, comes to an address with a token
//! and is a reason to look. What it never tells is found by looking.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::{Engine, engine_port};
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use jobgate_test_support::wire::Wire;
use serde_json::{Value, json};

const TOKEN: &str = "a1b2c3d4e5f6a7b8c9d0";

/// The example, at the engine's port and with other paces.
fn config(folder: &Path, port: u16, poll: &str, safety_poll: &str) -> std::path::PathBuf {
    let mut example = text("examples/buildbot.yaml").unwrap();
    for (from, to) in [
        // The tests look at tasks more often than callers should.
        ("\nstore:", "\nlimits: { polls_per_interval: unlimited }\n\nstore:".to_owned()),
        (":5602", format!(":{port}")),
        ("poll: { initial: 1s, max: 15s, factor: 1.5 }", format!("poll: {poll}")),
        ("safety_poll: 1m", format!("safety_poll: {safety_poll}")),
    ] {
        assert!(example.contains(from), "the example has `{from}`");
        example = example.replace(from, &to);
    }
    let file = folder.join(format!("every-{safety_poll}.yaml"));
    fs::write(&file, example).unwrap();
    file
}

/// A1, J2, K1, K4: one call is one build, and a task whose job is looked at every few minutes ends within a second of its build.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_is_a_reason_to_look() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).env("BUILDBOT_HOOK_TOKEN", TOKEN);
    let hook = format!("http://127.0.0.1:{}/hooks/buildbot/{TOKEN}", setup.port());
    let Some(engine) = Engine::start_on("buildbot", engine_port(), &[&hook]) else { return };
    let master = Master::new(&engine);
    let setup = setup.config(&config(folder.path(), engine.port(), "{ initial: 5m, max: 10m }", "10m"));
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    let id = caller.detach("run_build", &json!({ "builder": "ok", "who": "Ada" }));
    let request = master.request_of(0).await;
    let late = master.ended(request).await;
    let task = gateway.wire.ended(&id, Duration::from_secs(20)).await;
    assert!(late.elapsed() < Duration::from_secs(1), "{} ms after the end of the build", late.elapsed().as_millis());
    assert_eq!(task["status"], "completed", "{task}");
    let properties = &task["result"]["structuredContent"]["properties"];
    assert_eq!((&properties["answer"][0], &properties["who"][0]), (&json!("42"), &json!("Ada")), "{task}");

    let id = gateway.wire.start_task("run_build", json!({ "builder": "fail" })).await;
    let ended = gateway.wire.ended(&id, Duration::from_secs(20)).await;
    assert_eq!((&ended["status"], &ended["result"]["isError"]), (&json!("completed"), &json!(true)), "{ended}");
    assert!(ended.to_string().contains("failed 'sh -c ...' (failure)"), "{ended}");

    let (code, ended) = caller.run(&["call", "run_build", "--arg", "builder=nope"]);
    assert_eq!(code, JOB_FAILED, "{ended}");
    assert!(ended.to_string().contains("there is no builder nope"), "{ended}");

    // A forged push ends no task: at a wrong address it is nothing, at the right one a reason to look at the build, which runs on.
    let id = caller.detach("run_build", &json!({ "builder": "slow" }));
    let request = master.request_of(2).await;
    gateway.wire.task_in(&id, &["working"], Duration::from_secs(20)).await;
    let forged = json!({ "buildrequestid": request, "complete": true, "results": 0 });
    let base = format!("http://127.0.0.1:{}/hooks/buildbot", setup.port());
    for (address, status) in
        [(base.clone(), 401), (format!("{base}/a1b2c3d4e5f6a7b8c9d1"), 401), (format!("{base}/{TOKEN}"), 200)]
    {
        assert_eq!(gateway.wire.plain("POST", &address, &[], Some(forged.clone())).await.0, status, "{address}");
    }
    wait::pause(Duration::from_millis(500)).await;
    assert_eq!(gateway.wire.task(&id).await.unwrap()["status"], "working");

    // What is pushed of builds that others started means nothing here.
    let (status, _) = master.force("ok").await;
    assert_eq!(status, 200);
    let request = master.request_of(3).await;
    master.ended(request).await;

    assert!(gateway.output().find(TOKEN).is_none(), "the token is in the log");
    assert!(gateway.stop().success());
    engine.stop();
}

/// C4, F1, K2: Buildbot pushes neither a build that is stopped nor a request that is cancelled before its build, and pushes nothing
/// again: polls find what became of them, also after a kill. One call is one build.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_never_pushed_is_found_by_looking() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).env("BUILDBOT_HOOK_TOKEN", TOKEN);
    let hook = format!("http://127.0.0.1:{}/hooks/buildbot/{TOKEN}", setup.port());
    let Some(engine) = Engine::start_on("buildbot", engine_port(), &[&hook]) else { return };
    let master = Master::new(&engine);
    let setup = setup.config(&config(folder.path(), engine.port(), "{ initial: 2s, max: 2s }", "2s"));
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    // Stopped by the caller, while it runs.
    let id = caller.detach("run_build", &json!({ "builder": "slow" }));
    let running = master.request_of(0).await;
    master.builds(running).await;
    let (code, _) = caller.run(&["tasks", "cancel", &id]);
    assert_eq!(code, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");

    // Stopped at Buildbot: one while it runs, one while it waits for the other.
    let first = caller.detach("run_build", &json!({ "builder": "slow" }));
    let running = master.request_of(1).await;
    master.builds(running).await;
    let second = caller.detach("run_build", &json!({ "builder": "slow" }));
    let waiting = master.request_of(2).await;
    for (id, request) in [(&second, waiting), (&first, running)] {
        master.cancel(request).await;
        let ended = gateway.wire.ended(id, Duration::from_secs(20)).await;
        assert_eq!(ended["status"], "cancelled", "{ended}");
    }

    // Its end is pushed to nobody.
    let id = caller.detach("run_build", &json!({ "builder": "ok" }));
    let request = master.request_of(3).await;
    gateway.kill();
    master.ended(request).await;
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");

    assert_eq!(master.requests().await.len(), 4, "four calls, four build requests");
    assert!(gateway.stop().success());
    engine.stop();
}

/// The engine itself, asked past the gateway.
struct Master {
    port: u16,
    wire: Wire,
}

impl Master {
    fn new(engine: &Engine) -> Self {
        Self { port: engine.port(), wire: Wire::new(engine.ready_line()) }
    }

    async fn get(&self, path: &str) -> Value {
        let url = format!("http://127.0.0.1:{}/api/v2/{path}", self.port);
        let (status, answer) = self.wire.plain("GET", &url, &[("accept", "application/json")], None).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Every build request that it ever saw, in their order.
    async fn requests(&self) -> Vec<Value> {
        self.get("buildrequests?order=buildrequestid").await["buildrequests"].as_array().unwrap().clone()
    }

    /// The id of the `nth` build request, once it is there.
    async fn request_of(&self, nth: usize) -> u64 {
        wait::until_async("the build request", Duration::from_secs(20), async || {
            self.requests().await.get(nth)?["buildrequestid"].as_u64()
        })
        .await
    }

    /// Waits for a build of a request.
    async fn builds(&self, request: u64) {
        wait::until_async("a build", Duration::from_secs(20), async || {
            let builds = self.get(&format!("buildrequests/{request}/builds")).await;
            (!builds["builds"].as_array()?.is_empty()).then_some(())
        })
        .await;
    }

    /// Waits for the end of a request's build; the watch starts then.
    async fn ended(&self, request: u64) -> wait::Watch {
        wait::until_async("the end of a build", Duration::from_secs(30), async || {
            let builds = self.get(&format!("buildrequests/{request}/builds")).await;
            (builds["builds"][0]["complete"] == true).then(wait::Watch::start)
        })
        .await
    }

    async fn rpc(&self, path: &str, method: &str, params: Value) -> (u16, Value) {
        let url = format!("http://127.0.0.1:{}/api/v2/{path}", self.port);
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.wire.plain("POST", &url, &[], Some(body)).await
    }

    async fn force(&self, builder: &str) -> (u16, Value) {
        self.rpc("forceschedulers/force", "force", json!({ "builderNames": [builder] })).await
    }

    async fn cancel(&self, request: u64) {
        let (status, answer) = self.rpc(&format!("buildrequests/{request}"), "cancel", json!({})).await;
        assert_eq!(status, 200, "{answer}");
    }
}
