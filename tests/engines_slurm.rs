//! A real Slurm cluster of one node behind the catalog's `slurm`, as `examples/catalog/slurm.yaml` has it: how jobs end, jobs that a
//! person has to release, gateways that are killed, and submits whose answers are lost. The engine itself is asked how many jobs it saw.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::fs;
use std::time::Duration;

use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::{Engine, engine_port, skip};
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::relay::{Relay, Seen, Way};
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use jobgate_test_support::wire::Wire;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longest wait for one job or one state.
const LIMIT: Duration = Duration::from_secs(30);

const TOOL: &str = "run_batch_script";

/// A1, A2, C1, E4: an exit code is a result, a signal a failure that names it; what Slurm refuses is told in its own words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_job_ends_as_its_script_does() {
    let Some(cluster) = Cluster::start() else { return };
    let setup = cluster.setup(cluster.engine.port());
    let (caller, gateway) = (Caller::new(&setup), setup.start().await);

    let mut arguments = script("good", "sleep 1; echo answer=$ANSWER");
    arguments["environment"] = json!({ "PATH": "/usr/bin:/bin", "ANSWER": "42" });
    arguments["minutes"] = json!(5);
    let (code, ended) = call(&caller, &arguments);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");
    assert_eq!(output(&ended), "answer=42\n", "{ended}");
    assert_eq!(cluster.jobs("good").await[0]["time_limit"], 5);

    for (name, body, message) in [
        ("bad", "exit 3", "FAILED (NonZeroExitCode), exit code 3."),
        ("killed", "kill -9 $$", "FAILED (JobLaunchFailure), signal 9."),
    ] {
        let (code, ended) = call(&caller, &script(name, body));
        assert_eq!((code, &ended["result"]["isError"]), (JOB_FAILED, &json!(true)), "{ended}");
        assert!(ended.to_string().contains(message), "{ended}");
    }

    let mut nowhere = script("nowhere", "true");
    nowhere["partition"] = json!("nope");
    let (code, ended) = call(&caller, &nowhere);
    assert!(code == JOB_FAILED && ended.to_string().contains("Invalid partition name specified"), "{code}: {ended}");

    // Taken, and never started: it waits, and says why.
    let mut huge = script("huge", "true");
    huge["minutes"] = json!(600);
    let id = caller.detach(TOOL, &huge);
    let why = "Cannot start as it is: PartitionTimeLimit";
    wait::until_async("the reason", LIMIT, async || {
        gateway.wire.task(&id).await.unwrap()["statusMessage"].as_str()?.contains(why).then_some(())
    })
    .await;
    cluster.once(&["good", "bad", "killed", "huge"]).await;
    cluster.end(gateway);
}

/// F1, F2: a job is cancelled where it waits and where it runs; the task settles as the job does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_reaches_jobs_that_run_and_jobs_that_wait() {
    let Some(cluster) = Cluster::start() else { return };
    let setup = cluster.setup(cluster.engine.port());
    let (caller, gateway) = (Caller::new(&setup), setup.start().await);
    let (mut runs, mut waits) = (script("runs", "sleep 100"), script("waits", "sleep 100"));
    // Each takes the whole node.
    runs["tasks"] = json!(2);
    waits["tasks"] = json!(2);
    let runs = caller.detach(TOOL, &runs);
    cluster.until("runs", "RUNNING").await;
    let waits = caller.detach(TOOL, &waits);
    cluster.until("waits", "PENDING").await;
    for (id, name) in [(waits, "waits"), (runs, "runs")] {
        assert_eq!(caller.run(&["tasks", "cancel", &id]).0, 0);
        let (code, ended) = caller.follow(&id);
        assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
        cluster.until(name, "CANCELLED").await;
    }
    assert_eq!(cluster.jobs("waits").await[0]["batch_host"], "", "it never ran");
    cluster.once(&["runs", "waits"]).await;
    cluster.end(gateway);
}

/// E1, E3, G3: a held job is a question, before and after a restart. A yes releases it, a no cancels it, and a release by somebody
/// else takes the question back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_job_waits_for_a_person() {
    let Some(cluster) = Cluster::start() else { return };
    let setup = cluster.setup(cluster.engine.port());
    let (caller, gateway) = (Caller::new(&setup), setup.start().await);
    let held = |name: &str| {
        let mut arguments = script(name, "echo $SLURM_JOB_NAME");
        arguments["hold"] = json!(true);
        caller.detach(TOOL, &arguments)
    };
    let [yes, no, elsewhere] = ["yes", "no", "elsewhere"].map(held);
    question(&gateway, &yes).await;
    gateway.kill();
    let gateway = setup.start().await;

    let key = question(&gateway, &yes).await;
    gateway.wire.answer(&yes, json!({ key: { "action": "accept", "content": {} } })).await.unwrap();
    let (code, ended) = caller.follow(&yes);
    assert_eq!((code, output(&ended).as_str()), (0, "yes\n"), "{ended}");

    let key = question(&gateway, &no).await;
    gateway.wire.answer(&no, json!({ key: { "action": "decline" } })).await.unwrap();
    let (code, ended) = caller.follow(&no);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    cluster.until("no", "CANCELLED").await;

    let key = question(&gateway, &elsewhere).await;
    let id = &cluster.jobs("elsewhere").await[0]["job_id"];
    let (status, answer) = cluster.ask("POST", &format!("/job/{id}"), Some(json!({ "hold": false }))).await;
    assert_eq!(status, 200, "{answer}");
    let task = gateway.wire.task_in(&elsewhere, &["working", "completed"], LIMIT).await;
    assert!(task.get("inputRequests").is_none_or(|left| left == &json!({})), "{task}");
    // An answer to a question that is no more changes nothing.
    gateway.wire.answer(&elsewhere, json!({ key: { "action": "decline" } })).await.unwrap();
    let (code, ended) = caller.follow(&elsewhere);
    assert_eq!((code, output(&ended).as_str()), (0, "elsewhere\n"), "{ended}");
    cluster.once(&["yes", "no", "elsewhere"]).await;
    cluster.end(gateway);
}

/// C1, C4, D4: a gateway that dies between a submit and its record finds the job by its comment, and so does one whose answer is lost;
/// what never reached Slurm is submitted again, once it is known not to be there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_is_one_job_whatever_is_lost() {
    let Some(cluster) = Cluster::start() else { return };
    let relay = Relay::before(cluster.engine.port()).await;
    let setup = cluster.setup(relay.port());
    let (caller, gateway) = (Caller::new(&setup), setup.start().await);

    relay.rule(|seen, _| if is_submit(seen) { Way::Hold } else { Way::Pass });
    let id = caller.detach(TOOL, &script("unrecorded", "sleep 2; echo survived"));
    cluster.until("unrecorded", "RUNNING").await;
    gateway.kill();
    relay.rule(|_, _| Way::Pass);
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, output(&ended).as_str()), (0, "survived\n"), "{ended}");

    for (name, way) in [("lost", Way::Lose), ("never-there", Way::Refuse(500))] {
        let mut first = true;
        relay.rule(move |seen, _| if is_submit(seen) && std::mem::take(&mut first) { way } else { Way::Pass });
        let (code, ended) = call(&caller, &script(name, "echo there"));
        assert_eq!((code, output(&ended).as_str()), (0, "there\n"), "{ended}");
    }

    // In the middle of a job, too.
    let id = caller.detach(TOOL, &script("middle", "sleep 2; echo whole"));
    cluster.until("middle", "RUNNING").await;
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, output(&ended).as_str()), (0, "whole\n"), "{ended}");
    cluster.once(&["unrecorded", "lost", "never-there", "middle"]).await;
    cluster.end(gateway);
}

/// C5, E4, E8: a 500 is an unknown job when its number says so; then the job is believed to be gone after the grace. Where Slurm does not
/// say why, the job is looked at again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_the_cluster_has_forgotten_is_gone() {
    let port = engine_port();
    let Some(cluster) = Cluster::start_on(port) else { return };
    let relay = Relay::before(port).await;
    let setup = cluster.setup(relay.port());
    let gateway = setup.start().await;
    let id = Caller::new(&setup).detach(TOOL, &script("lost", "sleep 100"));
    cluster.until("lost", "RUNNING").await;
    let _folder = cluster.stop(gateway);

    // A cluster that was made anew, for which the old token is none.
    let Some(cluster) = Cluster::start_on(port) else { return };
    let gateway = setup.start().await;
    wait::until("looks that do not tell", LIMIT, || {
        (relay.seen().iter().filter(|seen| seen.answers == [500]).count() >= 3).then_some(())
    });
    assert_eq!(gateway.wire.task(&id).await.unwrap()["status"], "working", "that is no unknown job");
    assert!(gateway.stop().success());
    let gateway = setup.env("SLURM_TOKEN", &cluster.token).start().await;
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert!(ended["status"] == "failed" && ended.to_string().contains("gone"), "{ended}");
    cluster.end(gateway);
}

fn is_submit(seen: &Seen) -> bool {
    seen.path.ends_with("/job/submit")
}

fn script(name: &str, body: &str) -> Value {
    json!({ "name": name, "script": format!("#!/bin/sh\n{body}\n") })
}

fn call(caller: &Caller<'_>, arguments: &Value) -> (i32, Value) {
    caller.run(&["call", TOOL, "--json", &arguments.to_string()])
}

/// What the job has written.
fn output(ended: &Value) -> String {
    let file = ended["result"]["structuredContent"]["output"].as_str().unwrap_or_else(|| panic!("no output in {ended}"));
    fs::read_to_string(file).unwrap()
}

/// The key of the task's only question.
async fn question(gateway: &Gateway, id: &str) -> String {
    let task = gateway.wire.task_in(id, &["input_required"], LIMIT).await;
    let asked = task["inputRequests"].as_object().unwrap();
    assert_eq!(asked.len(), 1, "{task}");
    asked.keys().next().unwrap().clone()
}

/// The engine itself, asked past the gateway.
struct Cluster {
    engine: Engine,
    token: String,
    folder: TempDir,
    wire: Wire,
}

impl Cluster {
    fn start() -> Option<Self> {
        Self::start_on(engine_port())
    }

    fn start_on(port: u16) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("only root can start a Slurm cluster");
            return None;
        }
        let engine = Engine::start_on("slurm", port, &[])?;
        let token = fs::read_to_string(engine.folder().join("token")).unwrap().trim().to_owned();
        let wire = Wire::new(engine.ready_line());
        Some(Self { engine, token, folder: tempfile::tempdir().unwrap(), wire })
    }

    /// A gateway with the example's words, for which Slurm is at this port.
    fn setup(&self, port: u16) -> Setup {
        let folder = self.folder.path();
        let mut example = text("examples/catalog/slurm.yaml").unwrap();
        for (from, to) in [
            // The tests look at tasks more often than callers should.
            ("providers:", "limits: { polls_per_interval: unlimited }\nproviders:".to_owned()),
            ("http://127.0.0.1:6820", format!("http://127.0.0.1:{port}")),
            ("user: render", "user: root".to_owned()),
            ("folder: /tmp", format!("folder: {}", folder.display())),
            ("use: batch_job }", "use: batch_job, task: { gone_grace: 2s, poll: { initial: 500ms, max: 1s } } }".to_owned()),
        ] {
            assert!(example.contains(from), "the example has `{from}`");
            example = example.replace(from, &to);
        }
        let config = folder.join("slurm.yaml");
        fs::write(&config, example).unwrap();
        Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder).config(&config).env("SLURM_TOKEN", &self.token)
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("http://127.0.0.1:{}/slurm/v0.0.38{path}", self.engine.port());
        let headers = [("X-SLURM-USER-NAME", "root"), ("X-SLURM-USER-TOKEN", self.token.as_str())];
        self.wire.plain(method, &url, &headers, body).await
    }

    /// The jobs of this name that it ever saw.
    async fn jobs(&self, name: &str) -> Vec<Value> {
        let (status, answer) = self.ask("GET", "/jobs", None).await;
        assert_eq!(status, 200, "{answer}");
        answer["jobs"].as_array().unwrap().iter().filter(|job| job["name"] == name).cloned().collect()
    }

    async fn until(&self, name: &str, state: &str) {
        wait::until_async(&format!("{name} to be {state}"), LIMIT, async || {
            self.jobs(name).await.iter().any(|job| job["job_state"] == state).then_some(())
        })
        .await;
    }

    /// Each of these calls was one job.
    async fn once(&self, names: &[&str]) {
        for name in names {
            assert_eq!(self.jobs(name).await.len(), 1, "jobs named {name}");
        }
    }

    /// Stops both; the token was told to nobody.
    fn end(self, gateway: Gateway) {
        drop(self.stop(gateway));
    }

    /// As [`Cluster::end`], and keeps the gateway's folder.
    fn stop(self, gateway: Gateway) -> TempDir {
        assert!(!gateway.output().contains(&self.token), "the token is in the log");
        assert!(gateway.stop().success());
        self.engine.stop();
        self.folder
    }
}
