//! A real Cog behind `examples/cog.yaml`. It has no request that shows a job, forgets a job at its end, and would run the same id again:
//! its jobs live by its deliveries alone, and a lost answer must never lead to a second render. Cog's own log tells how many there were.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::{Engine, engine_port, skip};
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::relay::{Relay, Seen, Way};
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use serde_json::{Value, json};

/// Longest wait for one render or one end.
const LIMIT: Duration = Duration::from_secs(30);

/// The example with Cog at one port and the gateway reached at another, and with other changes.
fn config(folder: &Path, cog: u16, public: u16, changes: &[(&str, &str)]) -> PathBuf {
    let mut example = text("examples/cog.yaml").unwrap();
    let (cog, public) = (format!(":{cog}"), format!("public_url: http://127.0.0.1:{public}"));
    let ports = [(":5640", cog.as_str()), ("public_url: http://127.0.0.1:8080", public.as_str())];
    for (from, to) in ports.iter().chain(changes) {
        assert!(example.contains(from), "the example has `{from}`");
        example = example.replace(from, to);
    }
    let file = folder.join("cog.yaml");
    fs::write(&file, example).unwrap();
    file
}

/// Cog, which renders with a program that it does not install.
fn cog(port: u16) -> Option<Engine> {
    if Command::new("ffprobe").arg("-version").output().is_err() {
        skip("there is no ffmpeg");
        return None;
    }
    Engine::start_on("cog", port, &[])
}

/// The ids of what Cog began to render since it was started, each time.
fn renders(engine: &Engine) -> Vec<String> {
    let log = engine.file("server.log");
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let begun = lines.filter(|line| line["fields"]["message"] == "Starting prediction");
    begun.map(|line| line["fields"]["prediction_id"].as_str().unwrap().to_owned()).collect()
}

/// Waits until Cog has begun `count` renders; no id may be among them twice.
fn begun(engine: &Engine, count: usize) {
    let found = wait::until("Cog to render", LIMIT, || {
        let found = renders(engine);
        (found.len() >= count).then_some(found)
    });
    assert_eq!((found.len(), found.iter().collect::<BTreeSet<_>>().len()), (count, count), "{found:?}");
}

fn arguments(seconds: f64) -> Value {
    json!({ "prompt": "a red fox", "seconds": seconds, "duration": 0.5 })
}

/// Whether a delivery tells of an end; Cog tries those again, and no others.
fn is_end(seen: &Seen) -> bool {
    seen.body["status"] != "processing" && seen.body["status"] != "starting"
}

/// The video in a task's result: real, and of the length that was asked for.
fn assert_video(folder: &Path, ended: &Value) {
    assert_eq!(ended["status"], "completed", "{ended}");
    let link = &ended["result"]["content"][0];
    assert_eq!((&link["type"], &link["mimeType"]), (&json!("resource_link"), &json!("video/mp4")), "{ended}");
    let bytes = STANDARD.decode(link["uri"].as_str().unwrap().strip_prefix("data:video/mp4;base64,").unwrap()).unwrap();
    assert_eq!(&bytes[4..8], b"ftyp", "the first box of an MP4 file");
    let file = folder.join("video.mp4");
    fs::write(&file, bytes).unwrap();
    let words = ["-v", "error", "-show_entries", "stream=codec_name,duration", "-of", "json"];
    let probe = Command::new("ffprobe").args(words).arg(&file).output().unwrap();
    assert!(probe.status.success(), "{}", String::from_utf8_lossy(&probe.stderr));
    let streams: Value = serde_json::from_slice(&probe.stdout).unwrap();
    assert_eq!(streams["streams"], json!([{ "codec_name": "h264", "duration": "0.500000" }]));
}

/// A1, B2, J3, J5, K1: a tool call gives an MP4; deliveries that are refused at first, come twice, come again after the end or are
/// forged change nothing; failure, cancel and a Cog that is busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_call_renders_a_video() {
    let Some(engine) = cog(engine_port()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let hooks = Relay::before(setup.port()).await;
    let setup = setup.config(&config(folder.path(), engine.port(), hooks.port(), &[]));
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;
    let call = |arguments: &Value| caller.run(&["call", "render_video", "--json", &arguments.to_string()]);

    let (code, ended) = call(&arguments(0.5));
    assert_eq!(code, 0, "{ended}");
    assert_video(folder.path(), &ended);
    let seen = hooks.seen();
    let told: Vec<_> = seen.iter().map(|seen| (seen.body["status"].as_str().unwrap(), seen.answers.as_slice())).collect();
    assert_eq!(told, [("processing", [200].as_slice()), ("succeeded", &[200])]);

    // Twice, and only at the third attempt.
    let mut ends = 0;
    hooks.rule(move |seen, _| {
        ends += usize::from(is_end(seen));
        if is_end(seen) && ends <= 2 { Way::Refuse(503) } else { Way::Twice }
    });
    let before = hooks.seen().len();
    let told_badly = caller.detach("render_video", &arguments(0.2));
    let (code, ended) = caller.follow(&told_badly);
    assert_eq!(code, 0, "{ended}");
    assert_video(folder.path(), &ended);
    let answers: Vec<_> = hooks.seen().split_off(before).into_iter().map(|seen| seen.answers).collect();
    assert_eq!(answers, [vec![200, 200], vec![], vec![], vec![200, 200]]);
    hooks.rule(|_, _| Way::Pass);

    // The end of another job, and that of a job of nobody, at this job's address; and the right one at no address.
    let end = hooks.seen().pop().unwrap();
    let address = format!("http://127.0.0.1:{}{}", setup.port(), end.path);
    let (_, last) = end.path.rsplit_once('/').unwrap();
    let wrong = address.replace(last, &last.chars().rev().collect::<String>());
    let mut failed = end.body.clone();
    failed["status"] = json!("failed");
    let mut foreign = failed.clone();
    foreign["id"] = seen[0].body["id"].clone();
    for (to, body, status) in
        [(&address, &end.body, 200), (&address, &failed, 200), (&address, &foreign, 200), (&wrong, &end.body, 401)]
    {
        assert_eq!(gateway.wire.plain("POST", to, &[], Some(body.clone())).await.0, status, "{body}");
    }
    assert_eq!(gateway.wire.task(&told_badly).await.unwrap()["result"], ended["result"]);

    let (code, ended) = call(&json!({ "prompt": "a red fox", "seconds": 0.2, "fail": true }));
    assert_eq!((code, &ended["result"]["isError"]), (JOB_FAILED, &json!(true)), "{ended}");
    let said = ended["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("ValueError: the renderer ran out of paint") && !said.contains("Prediction failed"), "{ended}");

    let id = caller.detach("render_video", &arguments(60.0));
    begun(&engine, 4);
    // Cog takes one job at a time: this one is tried again until there is room.
    let waiting = caller.detach("render_video", &arguments(0.2));
    wait::pause(Duration::from_secs(2)).await;
    assert_eq!(gateway.wire.task(&waiting).await.unwrap()["status"], "working");
    begun(&engine, 4);
    let (code, _) = caller.run(&["tasks", "cancel", &id]);
    assert_eq!(code, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    let (code, ended) = caller.follow(&waiting);
    assert_eq!(code, 0, "{ended}");
    assert_video(folder.path(), &ended);

    begun(&engine, 5);
    assert!(!gateway.output().contains(last), "the address of a task is in the log");
    assert!(gateway.stop().success());
    engine.stop();
}

/// C2, C4, F1, J4, K2: the gateway is killed in mid-render and between submit and answer, and answers and deliveries are lost: each call
/// has its one video, and Cog rendered each once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_never_renders_twice() {
    let Some(engine) = cog(engine_port()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let (calls, hooks) = (Relay::before(engine.port()).await, Relay::before(setup.port()).await);
    let setup = setup.config(&config(folder.path(), calls.port(), hooks.port(), &[]));
    let caller = Caller::new(&setup);
    let start = |seconds| caller.detach("render_video", &arguments(seconds));
    let finish = |id: &str| {
        let (code, ended) = caller.follow(id);
        assert_eq!(code, 0, "{ended}");
        assert_video(folder.path(), &ended);
    };

    // Killed in mid-render, and there again before its end.
    let gateway = setup.start().await;
    let id = start(4.0);
    begun(&engine, 1);
    gateway.kill();
    let gateway = setup.start().await;
    finish(&id);

    // Killed in mid-render, and there again after its end: Cog tries that again.
    let id = start(1.0);
    begun(&engine, 2);
    gateway.kill();
    wait::until("an end that is not delivered", LIMIT, || engine.file("server.log").contains("Terminal webhook").then_some(()));
    let gateway = setup.start().await;
    finish(&id);

    // Cog starts the job, and its answer never arrives: once while the gateway lives, once because it is killed, and each once with and
    // once without the delivery that tells of the start, which Cog sends a single time.
    let mut gateway = Some(gateway);
    for (nth, (way, start_is_told)) in
        [(Way::Lose, true), (Way::Lose, false), (Way::Hold, true), (Way::Hold, false)].into_iter().enumerate()
    {
        hooks.rule(move |seen, _| if is_end(seen) || start_is_told { Way::Pass } else { Way::Refuse(500) });
        calls.rule(move |seen, _| if seen.method == "PUT" { way } else { Way::Pass });
        let id = start(2.0);
        begun(&engine, 3 + nth);
        if way == Way::Hold {
            gateway.take().unwrap().kill();
            gateway = Some(setup.start().await);
        }
        finish(&id);
    }

    begun(&engine, 6);
    assert!(gateway.unwrap().stop().success());
    engine.stop();
}

/// B9, C6, F4: a Cog that is out of reach, dies, or is started again without its jobs ends the tasks with a reason, within their limits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cog_loses_ends_with_a_reason() {
    let port = engine_port();
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let hooks = Relay::before(setup.port()).await;
    let quick = [("initial: 2s", "initial: 500ms"), ("max: 30s }", "max: 500ms }"), ("safety_poll: 30s", "safety_poll: 1s")];
    let with = |changes: &[(&str, &str)]| config(folder.path(), port, hooks.port(), &[&quick, changes].concat());
    let setup = setup.config(&with(&[("submit_budget: 30m", "submit_budget: 2s")]));
    let caller = Caller::new(&setup);
    let reason = |id: &str| {
        let (code, ended) = caller.follow(id);
        assert_ne!(code, 0, "{ended}");
        ended.to_string()
    };

    // Nobody is there, and nobody comes in time.
    let gateway = setup.start().await;
    let id = caller.detach("render_video", &arguments(0.2));
    let said = reason(&id);
    assert!(said.contains("out of reach") || said.contains("unavailable"), "{said}");
    assert!(gateway.stop().success());

    // It comes in time, renders, and is started again in mid-render.
    with(&[]);
    let gateway = setup.start().await;
    let id = caller.detach("render_video", &arguments(0.2));
    let Some(engine) = cog(port) else { return };
    let (code, ended) = caller.follow(&id);
    assert_eq!(code, 0, "{ended}");
    begun(&engine, 1);
    let id = caller.detach("render_video", &arguments(60.0));
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
    let id = caller.detach("render_video", &arguments(60.0));
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
    let said = reason(&caller.detach("render_video", &arguments(0.2)));
    assert!(said.contains("could not deliver its end"), "{said}");
    assert!(gateway.stop().success());
    engine.stop();
}

/// B9, K2: the same Cog without any look at its health: a job lives by deliveries alone, through a kill, and ends at its deadline when
/// they stop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_may_live_by_deliveries_alone() {
    let Some(engine) = cog(engine_port()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let file = config(folder.path(), engine.port(), setup.port(), &[("deadline: 1h", "deadline: 8s")]);
    let example = fs::read_to_string(&file).unwrap();
    let (before, rest) = example.split_once("      status:\n").unwrap();
    let (_, rest) = rest.split_once("      result:\n").unwrap();
    let (result, rest) = rest.split_once("      failure:\n").unwrap();
    let (_, rest) = rest.split_once("      cancel:\n").unwrap();
    let (cancel, told) = rest.split_once("      delivery:\n").unwrap();
    let status = told.replace("        handles: {}\n", "").replace("        failure: {", "      failure: {");
    fs::write(&file, format!("{before}      result:\n{result}      cancel:\n{cancel}      status:\n{status}")).unwrap();
    let setup = setup.config(&file);
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    let id = caller.detach("render_video", &arguments(2.0));
    begun(&engine, 1);
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!(code, 0, "{ended}");
    assert_video(folder.path(), &ended);

    let id = caller.detach("render_video", &arguments(60.0));
    begun(&engine, 2);
    engine.kill();
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended.to_string().contains("deadline"), "{ended}");
    assert!(gateway.stop().success());
}
