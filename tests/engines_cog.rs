//! A real Cog behind the catalog's entry `cog`. It has no request that shows a job, forgets a job at its end, and would run the same id
//! again: its jobs live by its deliveries alone, and a lost answer must never lead to a second render. Cog's own log tells how many there
//! were. What it delivers is a film, which the gateway keeps.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

#[path = "engines_cog/film.rs"]
mod film;

use std::time::Duration;

use film::{
    CATALOG, LIMIT, WATCHED, address, assert_film, begun, cog, config, delete, deliveries, input, is_end, is_start, kept_files,
    link,
};
use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::engine_port;
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::relay::{Relay, Way};
use jobgate_test_support::wait;
use jobgate_test_support::wire::get;
use serde_json::{Value, json};

const HALF: &str = "0.500000";

/// A1, B2, D6, J3, J5, K1: a tool call gives a film; deliveries that are refused at first, come twice, come again after the end or are
/// forged change nothing; failure, bad input, cancel, a cancel that is too late, and a Cog that is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_call_renders_a_film() {
    let Some(engine) = cog(engine_port()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let (calls, hooks) = (Relay::before(engine.port()).await, Relay::before(setup.port()).await);
    let setup = setup.config(&config(folder.path(), CATALOG, calls.port(), hooks.port(), &[]));
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;
    let follow = async |id: &str| {
        let (code, ended) = caller.follow(id);
        assert_eq!(code, 0, "{ended}");
        assert_film(&setup, folder.path(), id, &ended, HALF).await;
        ended
    };

    follow(&caller.detach("run", &input(0.5))).await;
    let seen = deliveries(&hooks);
    let told: Vec<_> = seen.iter().map(|seen| (seen.body["status"].as_str().unwrap(), seen.answers.as_slice())).collect();
    assert_eq!(told, [("processing", [200].as_slice()), ("succeeded", &[200])]);

    // Twice, and only at the third attempt.
    let mut ends = 0;
    hooks.rule(move |seen, _| {
        ends += usize::from(is_end(seen));
        if is_end(seen) && ends <= 2 { Way::Refuse(503) } else { Way::Twice }
    });
    let before = deliveries(&hooks).len();
    let told_badly = caller.detach("run", &input(0.2));
    let ended = follow(&told_badly).await;
    let answers: Vec<_> = deliveries(&hooks).split_off(before).into_iter().map(|seen| seen.answers).collect();
    assert_eq!(answers, [vec![200, 200], vec![], vec![], vec![200, 200]]);
    hooks.rule(|_, _| Way::Pass);

    // The end of another job, and that of a job of nobody, at this job's address; and the right one at no address.
    let end = deliveries(&hooks).pop().unwrap();
    let to = format!("http://127.0.0.1:{}{}", setup.port(), end.path);
    let (_, last) = end.path.rsplit_once('/').unwrap();
    let wrong = to.replace(last, &last.chars().rev().collect::<String>());
    let mut failed = end.body.clone();
    failed["status"] = json!("failed");
    let mut foreign = failed.clone();
    foreign["id"] = seen[0].body["id"].clone();
    for (to, body, status) in [(&to, &end.body, 200), (&to, &failed, 200), (&to, &foreign, 200), (&wrong, &end.body, 401)] {
        assert_eq!(gateway.wire.plain("POST", to, &[], Some(body.clone())).await.0, status, "{body}");
    }
    let now = gateway.wire.task(&told_badly).await.unwrap();
    assert_eq!(link(&now), link(&ended));

    let call = |input: Value| caller.run(&["call", "run", "--json", &json!({ "input": input }).to_string()]);
    let (code, ended) = call(json!({ "seconds": 0.2, "fail": true }));
    assert_eq!((code, &ended["result"]["isError"]), (JOB_FAILED, &json!(true)), "{ended}");
    let said = ended["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("ValueError: the renderer ran out of paint") && !said.contains("Prediction failed"), "{ended}");
    let (code, refused) = call(json!({ "seconds": "many" }));
    assert!(code != 0 && refused.to_string().contains("is not of type"), "{code}: {refused}");

    let id = caller.detach("run", &input(60.0));
    begun(&engine, 4);
    // Cog takes one job at a time: this one is tried again until there is room.
    let waiting = caller.detach("run", &input(0.2));
    wait::pause(Duration::from_secs(2)).await;
    assert_eq!(gateway.wire.task(&waiting).await.unwrap()["status"], "working");
    begun(&engine, 4);
    assert_eq!(caller.run(&["tasks", "cancel", &id]).0, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    follow(&waiting).await;

    // Cog has ended it and knows it no longer, and has not told so yet: the cancel is too late, and the film is there.
    hooks.rule(|seen, _| if is_end(seen) { Way::Refuse(503) } else { Way::Pass });
    let before = deliveries(&hooks).len();
    let id = caller.detach("run", &input(0.2));
    wait::until("an end that is refused", LIMIT, || deliveries(&hooks).iter().skip(before).any(is_end).then_some(()));
    assert_eq!(caller.run(&["tasks", "cancel", &id]).0, 0);
    let unknown = |seen: &jobgate_test_support::relay::Seen| seen.path.ends_with("/cancel") && seen.answers == [404];
    wait::until("Cog to be told to cancel", LIMIT, || calls.seen().iter().any(unknown).then_some(()));
    hooks.rule(|_, _| Way::Pass);
    follow(&id).await;

    begun(&engine, 6);
    assert!(!gateway.output().contains(last), "the address of a task is in the log");
    assert!(gateway.stop().success());
    engine.stop();
}

/// C2, C4, F1, J4, K2: the gateway is killed in mid-render and between submit and answer, answers and deliveries are lost, and the same
/// wish comes again: each has its one film, and Cog rendered each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_never_renders_twice() {
    let Some(engine) = cog(engine_port()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let (calls, hooks) = (Relay::before(engine.port()).await, Relay::before(setup.port()).await);
    let setup = setup.config(&config(folder.path(), CATALOG, calls.port(), hooks.port(), &[]));
    let caller = Caller::new(&setup);
    let start = |seconds| caller.detach("run", &input(seconds));
    let finish = async |id: &str| {
        let (code, ended) = caller.follow(id);
        assert_eq!(code, 0, "{ended}");
        assert_film(&setup, folder.path(), id, &ended, HALF).await;
    };

    // Killed in mid-render, and there again before its end.
    let gateway = setup.start().await;
    let id = start(4.0);
    begun(&engine, 1);
    gateway.kill();
    let gateway = setup.start().await;
    finish(&id).await;

    // Killed in mid-render, and there again after its end: Cog tries that again.
    let id = start(1.0);
    begun(&engine, 2);
    gateway.kill();
    wait::until("an end that is not delivered", LIMIT, || engine.file("server.log").contains("Terminal webhook").then_some(()));
    let gateway = setup.start().await;
    finish(&id).await;

    // Cog starts the job, and its answer never arrives: once while the gateway lives, once because it is killed, and each once with and
    // once without the delivery that tells of the start, which Cog sends a single time.
    let mut gateway = Some(gateway);
    for (nth, (way, start_is_told)) in
        [(Way::Lose, true), (Way::Lose, false), (Way::Hold, true), (Way::Hold, false)].into_iter().enumerate()
    {
        hooks.rule(move |seen, _| if is_start(seen) && !start_is_told { Way::Refuse(500) } else { Way::Pass });
        calls.rule(move |seen, _| if seen.path == "/predictions" { way } else { Way::Pass });
        let id = start(2.0);
        begun(&engine, 3 + nth);
        if way == Way::Hold {
            gateway.take().unwrap().kill();
            gateway = Some(setup.start().await);
        }
        finish(&id).await;
    }
    hooks.rule(|_, _| Way::Pass);
    calls.rule(|_, _| Way::Pass);

    // The same wish, while it is rendered and after the end, at which Cog has forgotten it.
    let wish = || {
        let (code, task) = caller.run(&["call", "run", "--json", &input(1.0).to_string(), "--key", "fox", "--detach"]);
        assert_eq!(code, 0, "{task}");
        task["taskId"].as_str().unwrap().to_owned()
    };
    let id = wish();
    assert_eq!(wish(), id);
    finish(&id).await;
    assert_eq!(wish(), id);

    begun(&engine, 7);
    assert!(gateway.unwrap().stop().success());
    engine.stop();
}

/// C4, D6, G2, K2: there is no room for a film, and the gateway is killed while it waits for some: the film is kept once another is
/// deleted, though Cog has long forgotten it; no record holds it, and with its task it is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_film_waits_for_room_through_a_kill() {
    let Some(engine) = cog(engine_port()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let words = |changes: &[(&str, &str)]| config(folder.path(), CATALOG, engine.port(), setup.port(), changes);
    let setup = setup.clone().config(&words(&[]));
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;
    let first = caller.detach("run", &json!({ "input": { "seconds": 0, "duration": 1.0 } }));
    let (_, ended) = caller.follow(&first);
    assert_film(&setup, folder.path(), &first, &ended, "1.000000").await;
    let (size, first_address) = (link(&ended)["size"].as_u64().unwrap(), address(&ended));
    assert!(gateway.stop().success());

    let room = format!("store: {{ artifacts: {{ max_bytes: {size}B, total_bytes: {}B }} }}\nproviders:", size + 100);
    words(&[("providers:", &room)]);
    let gateway = setup.start().await;
    let second = caller.detach("run", &input(0.0));
    let waits = async |gateway: &jobgate_test_support::gateway::Gateway| {
        let task = wait::until_async("the film to wait for room", LIMIT, async || {
            let task = gateway.wire.task(&second).await.unwrap();
            task["statusMessage"].as_str().is_some_and(|said| said.contains("cannot be kept yet")).then_some(task)
        });
        let task = task.await;
        assert_eq!(task["status"], "working", "{task}");
    };
    waits(&gateway).await;
    gateway.kill();
    let gateway = setup.start().await;
    waits(&gateway).await;
    assert_eq!(get(&first_address, &[]).await.0, 200);
    delete(&setup, &first).await;
    assert_eq!(get(&first_address, &[]).await.0, 404, "its address is dead at once");
    let (code, ended) = caller.follow(&second);
    assert_eq!(code, 0, "{ended}");
    assert_film(&setup, folder.path(), &second, &ended, HALF).await;
    begun(&engine, 2);
    assert_eq!(kept_files(folder.path()), 2, "the film and its mark");

    assert!(gateway.stop().success());
    let export = folder.path().join("export.jsonl");
    let command = ["store", "export", export.to_str().unwrap(), "--data", "jobgate-data"];
    assert!(setup.command(&command).output().unwrap().status.success());
    let records = std::fs::read_to_string(export).unwrap();
    assert!(records.contains(&second) && !records.contains("data:video"), "a record holds the film");
    let gateway = setup.start().await;
    delete(&setup, &second).await;
    wait::until("the film to be gone", LIMIT, || (kept_files(folder.path()) == 0).then_some(()));
    assert_eq!(gateway.wire.rpc("resources/list", json!({})).await.unwrap()["resources"], json!([]));
    assert!(gateway.stop().success());
    engine.stop();
}

/// B9: jobs that nobody will ever tell of again end at their deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cog_that_dies_ends_its_tasks_at_their_deadline() {
    let Some(engine) = cog(engine_port()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let soon = [("use: prediction", "use: prediction\n    task: { deadline: 5s }")];
    let setup = setup.clone().config(&config(folder.path(), CATALOG, engine.port(), setup.port(), &soon));
    let gateway = setup.start().await;
    let id = Caller::new(&setup).detach("run", &input(60.0));
    begun(&engine, 1);
    engine.kill();
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended.to_string().contains("deadline"), "{ended}");
    assert!(gateway.stop().success());
}

/// B9, C6, F4: with looks at its health a Cog that is out of reach, dies, or is started again without its jobs ends the tasks with a
/// reason, within their limits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cog_loses_ends_with_a_reason() {
    let port = engine_port();
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let hooks = Relay::before(setup.port()).await;
    let quick = [("initial: 2s", "initial: 500ms"), ("max: 30s }", "max: 500ms }"), ("safety_poll: 30s", "safety_poll: 1s")];
    let with = |changes: &[(&str, &str)]| config(folder.path(), WATCHED, port, hooks.port(), &[&quick, changes].concat());
    let setup = setup.config(&with(&[("submit_budget: 30m", "submit_budget: 2s")]));
    let caller = Caller::new(&setup);
    let start = |seconds: f64| caller.detach("render_video", &input(seconds)["input"]);
    let reason = |id: &str| {
        let (code, ended) = caller.follow(id);
        assert_ne!(code, 0, "{ended}");
        ended.to_string()
    };

    // Nobody is there, and nobody comes in time.
    let gateway = setup.start().await;
    let said = reason(&start(0.2));
    assert!(said.contains("out of reach") || said.contains("unavailable"), "{said}");
    assert!(gateway.stop().success());

    // It comes in time, renders, and is started again in mid-render.
    with(&[]);
    let gateway = setup.start().await;
    let id = start(0.2);
    let Some(engine) = cog(port) else { return };
    let (code, ended) = caller.follow(&id);
    assert_eq!(code, 0, "{ended}");
    assert_film(&setup, folder.path(), &id, &ended, HALF).await;
    begun(&engine, 1);
    let id = start(60.0);
    begun(&engine, 2);
    wait::pause(Duration::from_secs(2)).await;
    engine.kill();
    let engine = cog(port).unwrap();
    let said = reason(&id);
    assert!(said.contains("Cog was started again while it rendered"), "{said}");
    begun(&engine, 0);

    // It dies and does not come back.
    assert!(gateway.stop().success());
    with(&[("deadline: 1h", "deadline: 1h\n      silence_limit: 3s")]);
    let gateway = setup.start().await;
    let id = start(60.0);
    begun(&engine, 1);
    engine.kill();
    let said = reason(&id);
    assert!(said.contains("has given no usable answer"), "{said}");
    assert!(gateway.stop().success());

    // It cannot deliver an end for as long as it tries.
    let engine = cog(port).unwrap();
    with(&[("> 900", "> 1")]);
    let gateway = setup.start().await;
    hooks.rule(|seen, _| if is_end(seen) { Way::Refuse(503) } else { Way::Pass });
    let said = reason(&start(0.2));
    assert!(said.contains("could not deliver its end"), "{said}");
    assert!(gateway.stop().success());
    engine.stop();
}
