//! A real Buildbot behind the catalog's entry: from buildset to request to build, requests that Buildbot merges, steps and logs, answers
//! that are lost. Its HttpStatusPush, unsigned and never repeated, comes to an address with a token and is a reason to look; what it never
//! tells is found by looking.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

#[path = "engines_buildbot/master.rs"]
mod master;

use std::path::Path;
use std::time::Duration;

use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::{Engine, engine_port};
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::relay::{Relay, Way};
use jobgate_test_support::wait;
use master::{LIMIT, Master, TOKEN, config, recorded, says};
use serde_json::{Value, json};

const OFTEN: &str = "{ initial: 500ms, max: 500ms }";

fn setup(folder: &Path) -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder).env("BUILDBOT_HOOK_TOKEN", TOKEN)
}

/// A gateway's address for pushes.
fn hook(setup: &Setup) -> String {
    format!("http://127.0.0.1:{}/hooks/buildbot/{TOKEN}", setup.port())
}

fn wish(builder: &str, who: &str) -> Value {
    json!({ "builder": builder, "parameters": { "who": who } })
}

/// A1, J2, K1, K4: one call is one build, and a task whose job is looked at every few minutes ends within a second of its build.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_is_a_reason_to_look() {
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(folder.path());
    let Some(engine) = Engine::start_on("buildbot", engine_port(), &[&hook(&setup)]) else { return };
    let master = Master::new(&engine);
    let setup = setup.config(&config(folder.path(), engine.port(), "{ initial: 5m, max: 10m }", "10m"));
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    let id = caller.detach("run_build", &wish("ok", "Ada"));
    let request = master.request_of(0).await;
    let late = master.ended(request).await;
    let task = gateway.wire.ended(&id, LIMIT).await;
    assert!(late.elapsed() < Duration::from_secs(1), "{} ms after the end of the build", late.elapsed().as_millis());
    assert_eq!(task["status"], "completed", "{task}");
    let properties = &task["result"]["structuredContent"]["properties"];
    assert_eq!((&properties["answer"][0], &properties["who"][0]), (&json!("42"), &json!("Ada")), "{task}");
    assert!(properties.get("builddir").is_none(), "a folder of the worker's: {task}");

    // F5: the end of the failing step's log comes along, and the worker's environment, which is in that log, does not.
    let id = gateway.wire.start_task("run_build", json!({ "builder": "fail" })).await;
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!((&ended["status"], &ended["result"]["isError"]), (&json!("completed"), &json!(true)), "{ended}");
    let shown = ended.to_string();
    for said in ["failed 'sh -c ...' (failure), step test", "assertion failed", "program finished with exit code 3"] {
        assert!(shown.contains(said), "{said}: {ended}");
    }
    assert!(!shown.contains("BB_PB_PORT"), "{ended}");

    for (wish, said) in [
        (json!({ "builder": "nope" }), "the scheduler force has no builder nope"),
        (json!({ "builder": "ok", "scheduler": "nobody" }), "there is no force scheduler nobody"),
    ] {
        let (code, ended) = caller.run(&["call", "run_build", "--json", &wish.to_string()]);
        assert_eq!(code, JOB_FAILED, "{ended}");
        assert!(ended.to_string().contains(said), "{ended}");
    }

    // A forged push ends no task: at a wrong address it is nothing, at the right one a reason to look at the build, which runs on.
    let id = caller.detach("run_build", &json!({ "builder": "slow" }));
    let request = master.request_of(2).await;
    gateway.wire.task_in(&id, &["working"], LIMIT).await;
    let buildset = &master.requests().await[2]["buildsetid"];
    let forged = json!({ "buildrequest": { "buildrequestid": request, "buildsetid": buildset }, "complete": true, "results": 0 });
    let base = format!("http://127.0.0.1:{}/hooks/buildbot", setup.port());
    for (address, status) in [(base.clone(), 401), (format!("{base}/a1b2c3d4e5f6a7b8c9d1"), 401), (hook(&setup), 200)] {
        assert_eq!(gateway.wire.plain("POST", &address, &[], Some(forged.clone())).await.0, status, "{address}");
    }
    wait::pause(Duration::from_millis(500)).await;
    assert_eq!(gateway.wire.task(&id).await.unwrap()["status"], "working");

    // What is pushed of builds that others started means nothing here.
    let request = master.force("ok").await;
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
    let setup = setup(folder.path());
    let Some(engine) = Engine::start_on("buildbot", engine_port(), &[&hook(&setup)]) else { return };
    let master = Master::new(&engine);
    let setup = setup.config(&config(folder.path(), engine.port(), "{ initial: 2s, max: 2s }", "2s"));
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    // Stopped by the caller: while it runs, and while it waits for another one.
    let running = caller.detach("run_build", &json!({ "builder": "slow" }));
    master.begun(master.request_of(0).await).await;
    let waiting = caller.detach("run_build", &json!({ "builder": "slow" }));
    let request = master.request_of(1).await;
    for id in [&waiting, &running] {
        let (code, _) = caller.run(&["tasks", "cancel", id]);
        assert_eq!(code, 0);
        let (code, ended) = caller.follow(id);
        assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    }
    assert_eq!(master.count_builds(request).await, 0);

    // Stopped at Buildbot: likewise.
    let first = caller.detach("run_build", &json!({ "builder": "slow" }));
    let running = master.request_of(2).await;
    master.begun(running).await;
    let second = caller.detach("run_build", &json!({ "builder": "slow" }));
    let waiting = master.request_of(3).await;
    for (id, request) in [(&second, waiting), (&first, running)] {
        master.cancel(request).await;
        let ended = gateway.wire.ended(id, LIMIT).await;
        assert_eq!(ended["status"], "cancelled", "{ended}");
    }

    // Its end is pushed to nobody.
    let id = caller.detach("run_build", &json!({ "builder": "ok" }));
    let request = master.request_of(4).await;
    gateway.kill();
    master.ended(request).await;
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");

    assert_eq!(master.requests().await.len(), 5, "five calls, five build requests");
    assert!(gateway.stop().success());
    engine.stop();
}

/// B7: the step that runs and how many are done, of as many as the builder's last good build had. A first build has no such count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_are_progress() {
    let Some(engine) = Engine::start("buildbot") else { return };
    let folder = tempfile::tempdir().unwrap();
    let master = Master::new(&engine);
    let setup = setup(folder.path()).config(&config(folder.path(), engine.port(), OFTEN, "1s"));
    let gateway = setup.start().await;

    let id = gateway.wire.start_task("run_build", json!({ "builder": "slow" })).await;
    says(&gateway, &id, "running long (1)").await;

    let request = master.force("ok").await;
    master.ended(request).await;
    let id = gateway.wire.start_task("run_build", json!({ "builder": "ok" })).await;
    let mut said = Vec::new();
    let ended = wait::until_async("the end of the build", LIMIT, async || {
        let task = gateway.wire.task(&id).await.unwrap();
        said.extend(task["statusMessage"].as_str().filter(|_| task["status"] == "working").map(str::to_owned));
        (task["status"] == "completed").then_some(task)
    })
    .await;
    assert_eq!(ended["result"]["structuredContent"]["ended"], "success", "{ended}");
    said.dedup();
    let step = |name: &str, counts: &str| said.iter().position(|it| it.contains(name) && it.ends_with(counts));
    let (compute, end) = (step("running compute", "(2 of 4)"), step("", "(3 of 4)"));
    assert!(compute.is_some() && (end.is_none() || compute < end), "{said:?}");

    assert!(gateway.stop().success());
    engine.stop();
}

/// C4, F3: Buildbot drops a request that waits for a later one of the same builder, whatever its parameters. Where the later one wants the
/// same it does for both, and neither task stops the other's build; else the first says that it was never built.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_merged_request_is_followed_or_said_to_be_dropped() {
    let Some(engine) = Engine::start("buildbot") else { return };
    let folder = tempfile::tempdir().unwrap();
    let master = Master::new(&engine);
    let setup = setup(folder.path()).config(&config(folder.path(), engine.port(), OFTEN, "1s"));
    let gateway = setup.start().await;
    // Two calls of which the first waits when the second comes: each with its request.
    let both = async |first: &str, second: &str| {
        let seen = master.requests().await.len();
        let one = gateway.wire.start_task("run_build", wish("ok", first)).await;
        let dropped = master.request_of(seen).await;
        let two = gateway.wire.start_task("run_build", wish("ok", second)).await;
        ((one, dropped), (two, master.request_of(seen + 1).await))
    };

    master.pause_worker(true).await;
    let ((one, dropped), (two, built)) = both("Ada", "Ada").await;
    says(&gateway, &one, &format!("merged with build request {built}")).await;
    master.pause_worker(false).await;
    let (one, two) = (gateway.wire.ended(&one, LIMIT).await, gateway.wire.ended(&two, LIMIT).await);
    assert_eq!((master.count_builds(dropped).await, master.count_builds(built).await), (0, 1));
    assert_eq!((&one["status"], &one["result"]["isError"]), (&json!("completed"), &two["result"]["isError"]), "{one}");
    assert_eq!(one["result"]["structuredContent"], two["result"]["structuredContent"]);
    assert!(one.to_string().contains(&format!("merged this request with build request {built}")), "{one}");

    master.pause_worker(true).await;
    let ((one, dropped), (two, _)) = both("Ada", "Bob").await;
    let one = gateway.wire.ended(&one, LIMIT).await;
    assert_eq!((&one["result"]["isError"], master.count_builds(dropped).await), (&json!(true), 0), "{one}");
    assert!(one.to_string().contains("dropped this request") && one.to_string().contains("never built"), "{one}");
    master.pause_worker(false).await;
    let two = gateway.wire.ended(&two, LIMIT).await;
    assert_eq!(two["result"]["structuredContent"]["properties"]["who"][0], "Bob", "{two}");

    master.pause_worker(true).await;
    let ((one, _), (two, built)) = both("Ada", "Ada").await;
    says(&gateway, &one, &format!("merged with build request {built}")).await;
    gateway.wire.cancel(&one).await.unwrap();
    says(&gateway, &one, "refused the cancel").await;
    assert_eq!(gateway.wire.task(&two).await.unwrap()["status"], "working");
    gateway.wire.cancel(&two).await.unwrap();
    for id in [&two, &one] {
        assert_eq!(gateway.wire.ended(id, LIMIT).await["status"], "cancelled");
    }
    assert_eq!(master.count_builds(built).await, 0);

    assert!(gateway.stop().success());
    engine.stop();
}

/// C2, C3, C4, K2: the answer to a submit is lost, or the gateway is killed before it has it or while the build runs, and the same wish comes
/// again: each is built once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_never_builds_twice() {
    let Some(engine) = Engine::start("buildbot") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (master, calls) = (Master::new(&engine), Relay::before(engine.port()).await);
    let setup = setup(folder.path()).config(&config(folder.path(), calls.port(), OFTEN, "1s"));
    let caller = Caller::new(&setup);
    let mut gateway = setup.start().await;

    for (nth, way) in [Way::Pass, Way::Lose, Way::Hold].into_iter().enumerate() {
        calls.rule(move |seen, _| if seen.path.contains("/forceschedulers/") { way } else { Way::Pass });
        let id = caller.detach("run_build", &wish("ok", "Ada"));
        let request = master.request_of(nth).await;
        if way != Way::Lose {
            master.begun(request).await;
            gateway.kill();
            gateway = setup.start().await;
        }
        let (code, ended) = caller.follow(&id);
        assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{way:?}: {ended}");
        assert_eq!(ended["result"]["structuredContent"]["properties"]["answer"][0], "42", "{way:?}: {ended}");
        assert_eq!((master.requests().await.len(), master.count_builds(request).await), (nth + 1, 1), "{way:?}");
    }
    calls.rule(|_, _| Way::Pass);

    let again = || {
        let arguments = wish("ok", "Eve").to_string();
        let (code, task) = caller.run(&["call", "run_build", "--json", &arguments, "--key", "nightly", "--detach"]);
        assert_eq!(code, 0, "{task}");
        task["taskId"].as_str().unwrap().to_owned()
    };
    let id = again();
    assert_eq!(again(), id);
    assert_eq!(caller.follow(&id).0, 0);
    assert_eq!(again(), id);

    assert_eq!(master.requests().await.len(), 4, "four wishes, four build requests");
    assert!(gateway.stop().success());
    engine.stop();
}

/// A3: what the entry is made of still holds: the engine answers to each mistake as it did when it was recorded.
#[tokio::test]
async fn the_engine_is_the_one_of_the_transcript() {
    let Some(engine) = Engine::start("buildbot") else { return };
    let master = Master::new(&engine);
    let mut compared = 0;
    // What builds is left out: it depends on what was built before.
    for said in recorded("Errors").into_iter().filter(|said| said.status != 200 || said.answer["result"].is_null()) {
        let (status, answer) = master.ask(&said.method, &said.path, said.body).await;
        assert_eq!((status, answer), (said.status, said.answer), "{}", said.title);
        compared += 1;
    }
    assert!(compared >= 8, "{compared} exchanges");
    assert_eq!(master.requests().await, Vec::<Value>::new());
    engine.stop();
}
