//! Several gateways on one data folder: real processes, one store, and whoever holds it may die at any moment.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jobgate_adapter_mock::MockProvider;
use jobgate_test_support::pipe::Pipe;
use jobgate_test_support::process::{Process, free_ports};
use jobgate_test_support::wait;
use jobgate_test_support::wire::Wire;
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(60);
const JOBGATE: &str = env!("CARGO_BIN_EXE_jobgate");

/// Tools on a provider that promises nothing about repeated submits but lets jobs be found: a job that is doubled is seen.
const CONFIG: &str = r"
providers:
  jobs: { adapter: mock, idempotent: false }
tools:
  work:
    provider: jobs
    description: Takes its time.
    input: { type: object, properties: { seconds: { type: number } } }
    # A job that is not found is looked for again until this has passed; a submit that was cut off waits for it.
    task: { gone_grace: 1s, poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: Work
        States:
          Work: { Type: Wait, SecondsPath: $.seconds, Next: Done }
          Done: { Type: Pass, Result: { done: true }, End: true }
";

struct Folder {
    root: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("jobgate.yaml"), CONFIG).unwrap();
        Self { root }
    }

    fn data(&self) -> std::path::PathBuf {
        self.root.path().join("data")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(JOBGATE);
        command.args(words).args(["--config", "jobgate.yaml", "--data", "data"]).current_dir(self.root.path());
        command
    }

    fn pipe(&self) -> Pipe {
        let mut pipe = Pipe::start(self.command(&["stdio"]));
        // It answers once the store is settled: here, or at its holder.
        assert!(pipe.ask("tools/list", json!({}))["tools"].is_array());
        pipe
    }

    async fn serve(&self) -> (Process, Wire) {
        let port = free_ports(1);
        let address = format!("127.0.0.1:{port}");
        let process =
            Process::start("the gateway", self.command(&["serve", "--listen", &address]), &self.root.path().join("serve.log"));
        let wire = Wire::new(&format!("http://{address}/mcp"));
        let ready = format!("http://{address}/readyz");
        wait::until_async("the gateway to be ready", LIMIT, async || wire.status(&ready).await.filter(|status| *status == 200))
            .await;
        (process, wire)
    }

    fn holder(&self) -> Option<u32> {
        std::fs::read_to_string(self.data().join("lock")).ok()?.trim().parse().ok()
    }

    fn jobs(&self) -> usize {
        MockProvider::at(&self.data(), "jobs").jobs().unwrap()
    }
}

fn call(seconds: f64) -> Value {
    json!({ "name": "work", "arguments": { "seconds": seconds } })
}

fn start(pipe: &mut Pipe, seconds: f64) -> String {
    let task = pipe.ask("tools/call", call(seconds));
    task["taskId"].as_str().unwrap_or_else(|| panic!("no task: {task}")).to_owned()
}

fn ended(pipe: &mut Pipe, id: &str) -> Value {
    wait::until(&format!("task {id} to end"), LIMIT, || {
        let task = pipe.ask("tasks/get", json!({ "taskId": id }));
        let status = task["status"].as_str().unwrap_or_else(|| panic!("no task: {task}"));
        matches!(status, "completed" | "failed" | "cancelled").then(|| task.clone())
    })
}

/// A1, C3: three pipes and an HTTP gateway share one folder. The holder is killed while a call blocks through the link, a stream
/// listens through it and tasks run: everything goes on at the next holder, and every call started one job.
#[tokio::test(flavor = "multi_thread")]
async fn the_holder_dies_and_everything_goes_on() {
    let folder = Folder::new();
    let mut first = folder.pipe();
    assert_eq!(folder.holder(), Some(first.pid()), "who comes first holds the store");
    let (mut second, mut third) = (folder.pipe(), folder.pipe());
    let (_http, wire) = folder.serve().await;
    assert_eq!(folder.holder(), Some(first.pid()), "who comes later does not take it");

    let mut ids = vec![start(&mut first, 3.0), start(&mut second, 3.0), start(&mut third, 0.5)];
    ids.push(wire.start_task("work", json!({ "seconds": 3.0 })).await);
    // A client without tasks blocks; another one listens.
    let blocked = second.send("tools/call", call(4.0), false);
    third.send("subscriptions/listen", json!({ "notifications": { "taskIds": [ids[0], ids[3]] } }), true);
    third.message("the acknowledgement", LIMIT, |message| message["method"] == "notifications/subscriptions/acknowledged");
    let expected = ids.len() + 1;
    wait::until("all jobs to be started", LIMIT, || (folder.jobs() == expected).then_some(()));

    first.kill();

    for id in &ids {
        assert_eq!(ended(&mut second, id)["status"], "completed", "{id}");
        assert_eq!(wire.ended(id, LIMIT).await["result"]["structuredContent"], json!({ "done": true }), "{id}");
    }
    let result = second.answer(blocked, LIMIT);
    assert_eq!(result["structuredContent"], json!({ "done": true }), "{result}");
    for id in [&ids[0], &ids[3]] {
        third.message("the news of the end", LIMIT, |message| {
            message["method"] == "notifications/tasks"
                && message["params"]["taskId"] == **id
                && message["params"]["status"] == "completed"
        });
    }
    let again = third.ask("tasks/get", json!({ "taskId": ids[0] }));
    assert_eq!(again["status"], "completed");
    assert_ne!(folder.holder(), Some(first.pid()));
    assert_eq!(folder.jobs(), expected, "one job a call");
}

/// The holder may die again and again, also in the middle of calls: the last process answers for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn holders_die_one_after_the_other() {
    let folder = Folder::new();
    let mut pipes = vec![folder.pipe(), folder.pipe(), folder.pipe()];
    let mut ids = Vec::new();
    while pipes.len() > 1 {
        // Every process has a call under way when the holder dies.
        let mut asked: Vec<u64> = pipes.iter_mut().map(|pipe| pipe.send("tools/call", call(1.0), true)).collect();
        let holder = folder.holder().unwrap();
        let at = pipes.iter().position(|pipe| pipe.pid() == holder).unwrap_or_else(|| panic!("{holder} holds the store"));
        pipes[at].kill();
        pipes.remove(at);
        asked.remove(at);
        for (pipe, id) in pipes.iter_mut().zip(asked) {
            let task = pipe.answer(id, LIMIT);
            ids.push(task["taskId"].as_str().unwrap_or_else(|| panic!("no task: {task}")).to_owned());
        }
    }
    let last = &mut pipes[0];
    for id in &ids {
        assert_eq!(ended(last, id)["status"], "completed", "{id}");
    }
    // The calls of the processes that died may or may not have been heard; those that were answered started one job each.
    let jobs = folder.jobs();
    assert!((ids.len()..=ids.len() + 2).contains(&jobs), "{jobs} jobs for {} answered calls", ids.len());
}

/// A holder that is asked to stop hands over: nobody's call is refused because of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_stops_hands_over() {
    let folder = Folder::new();
    let (mut http, wire) = folder.serve().await;
    let mut pipe = folder.pipe();
    let id = wire.start_task("work", json!({ "seconds": 1.5 })).await;
    let blocked = pipe.send("tools/call", call(2.0), false);
    wait::until("both jobs to be started", LIMIT, || (folder.jobs() == 2).then_some(()));
    assert!(http.stop().success());
    assert_eq!(pipe.answer(blocked, LIMIT)["structuredContent"], json!({ "done": true }));
    assert_eq!(ended(&mut pipe, &id)["status"], "completed");
    assert_eq!(folder.holder(), Some(pipe.pid()));
    assert_eq!(folder.jobs(), 2, "one job a call");
    assert!(pipe.leave().success(), "a pipe whose client leaves ends by itself");
}

/// A gateway over HTTP that finds the store held by a pipe serves through it.
#[tokio::test(flavor = "multi_thread")]
async fn http_is_served_through_the_link() {
    let folder = Folder::new();
    let mut pipe = folder.pipe();
    let (mut http, wire) = folder.serve().await;
    assert!(http.output().contains(&format!("process {} holds the store", pipe.pid())), "{}", http.output());
    let id = wire.start_task("work", json!({ "seconds": 0.2 })).await;
    assert_eq!(wire.ended(&id, LIMIT).await["status"], "completed");
    assert_eq!(ended(&mut pipe, &id)["status"], "completed");
    // L2: the figures are those of the process that does the work.
    let figures = wire.text(&wire.beside("/metrics")).await;
    assert!(figures.contains("jobgate_tasks_created_total{provider=\"jobs\",tool=\"work\"} 1\n"), "{figures}");
    let unknown = wire.task("task_00000000000000000000000000000000").await.unwrap_err();
    assert_eq!(unknown.code, -32602);
    let watch = wait::Watch::start();
    assert!(http.stop().success());
    assert!(watch.elapsed() < Duration::from_secs(5), "a gateway with nothing to do stops at once");
    assert_eq!(folder.holder(), Some(pipe.pid()));
}

/// The socket is its owner's alone, whatever the folder's own permissions are.
#[test]
fn the_socket_is_for_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    let _pipe = folder.pipe();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.data().join("jobgate.sock")), 0o600);
    assert_eq!(mode(&folder.data()), 0o700);
}
