//! `jobgate call` and `jobgate tasks` against a real gateway: what a person and a script see, and the exit codes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use jobgate_adapter_mock::MockProvider;
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::wait;
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(60);

/// One tool for each way that a call can go.
const CONFIG: &str = r#"
providers:
  jobs: { adapter: mock }
tools:
  add:
    provider: jobs
    description: Adds; done at once.
    input: { type: object, properties: { a: { type: integer }, b: { type: integer } }, required: [a, b], additionalProperties: false }
    task: { mode: never }
    job:
      machine: { StartAt: S, States: { S: { Type: Pass, Parameters: { "sum.$": "States.MathAdd($.a, $.b)" }, End: true } } }
  work:
    provider: jobs
    description: Takes its time.
    input: { type: object, properties: { seconds: { type: number } } }
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: W
        States:
          W: { Type: Wait, SecondsPath: $.seconds, Comment: working hard, Next: D }
          D: { Type: Pass, Result: { done: true }, End: true }
  count:
    provider: jobs
    description: Counts while it works.
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: W
        States:
          W: { Type: Wait, Seconds: 1.5, Comment: loading rows, MockProgress: { from: 0, done: 1000, total: 1000, steps: 5 }, Next: D }
          D: { Type: Pass, Result: { done: true }, End: true }
  fail:
    provider: jobs
    description: Fails.
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: W
        States:
          W: { Type: Wait, Seconds: 0.2, Next: F }
          F: { Type: Fail, Error: Burst, Cause: A pipe burst. }
  vanish:
    provider: jobs
    description: Is forgotten by its provider.
    task: { gone_grace: 0s, poll: { initial: 100ms, max: 200ms } }
    job:
      faults: [{ call: poll, kind: not_found }]
      machine: { StartAt: W, States: { W: { Type: Wait, Seconds: 1, End: true } } }
  approve:
    provider: jobs
    description: Asks in the middle.
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: Ask
        States:
          Ask:
            Type: Task
            Resource: mock:callback
            TimeoutSeconds: 3600
            Parameters:
              Message: Go on?
              Form: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
            ResultPath: $.answer
            Next: Done
          Done: { Type: Pass, Parameters: { "action.$": $.answer.action }, End: true }
  guarded:
    provider: jobs
    description: Asks before anything starts.
    confirm: { message: Really? }
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine: { StartAt: D, States: { D: { Type: Pass, Result: { done: true }, End: true } } }
"#;

struct Place {
    root: tempfile::TempDir,
    setup: Setup,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let config = root.path().join("jobgate.yaml");
        std::fs::write(&config, CONFIG).unwrap();
        let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), root.path()).config(&config);
        Self { root, setup }
    }

    async fn start(&self) -> Gateway {
        self.setup.start().await
    }

    fn data(&self) -> PathBuf {
        self.root.path().join("jobgate-data")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.setup.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A command that needs no gateway.
    fn local(&self, words: &[&str]) -> Said {
        Said::of(words, &self.command(words).output().unwrap())
    }

    /// A command that asks the gateway.
    fn run(&self, words: &[&str]) -> Said {
        let url = self.setup.url();
        Said::of(words, &self.command(&[words, &["--url", &url]].concat()).output().unwrap())
    }
}

struct Said {
    what: String,
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn of(words: &[&str], output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Self { what: words.join(" "), code, out: text(&output.stdout), err: text(&output.stderr) }
    }

    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\nstdout: {}\nstderr: {}", self.what, self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{}: {error}: {}", self.what, self.out))
    }

    fn task(&self) -> String {
        let line =
            self.err.lines().find_map(|line| line.strip_prefix("task ")).unwrap_or_else(|| panic!("no task in: {}", self.err));
        line.trim().to_owned()
    }
}

/// Each way that a call can end has its own exit code, the result goes to stdout and nothing else does.
#[tokio::test(flavor = "multi_thread")]
async fn every_end_has_its_code() {
    let place = Place::new();
    let _gateway = place.start().await;
    assert_eq!(place.run(&["call", "add", "--arg", "a=2", "--arg", "b=40"]).ends(0).json()["sum"], 42);
    assert_eq!(place.run(&["call", "add", "--json", r#"{"a": 1, "b": 1}"#]).ends(0).json()["sum"], 2);
    assert!(place.run(&["call", "add", "--arg", "a=x", "--arg", "b=1"]).ends(2).err.contains("a: "));
    assert!(place.run(&["call", "wrok"]).ends(2).err.contains("did you mean `work`?"));

    let done = place.run(&["call", "work", "--arg", "seconds=0.5"]).ends(0);
    assert_eq!(done.json()["done"], true);
    assert!(done.err.starts_with("task task_"), "the id comes first: {}", done.err);
    assert!(done.err.contains("working hard"), "{}", done.err);

    // B7: the provider's own counts.
    let counted = place.run(&["call", "count"]).ends(0);
    assert!(counted.err.contains("loading rows (") && counted.err.contains(" of 1000)"), "{}", counted.err);

    let failed = place.run(&["call", "fail"]).ends(3);
    assert!(failed.out.contains("A pipe burst.") && failed.err.contains("the job failed"), "{}{}", failed.out, failed.err);
    assert!(place.run(&["call", "vanish"]).ends(4).err.contains("the task failed"));

    let json = place.run(&["call", "fail", "--output", "json"]).ends(3).json();
    assert_eq!((&json["status"], &json["result"]["isError"]), (&"completed".into(), &true.into()));
    let lines = place.run(&["call", "work", "--arg", "seconds=0.5", "--output", "lines"]).ends(0);
    let states: Vec<Value> = lines.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(states.first().unwrap()["status"], "working");
    assert_eq!(states.last().unwrap()["result"]["structuredContent"]["done"], true);
}

/// A task outlives the command that started it: detach, look, cancel, and look again.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_on_without_its_command() {
    let place = Place::new();
    let _gateway = place.start().await;
    let detached = place.run(&["call", "work", "--arg", "seconds=600", "--detach"]).ends(0);
    let id = detached.out.trim();
    assert!(id.starts_with("task_") && detached.err.contains(&format!("jobgate tasks get {id}")), "{}", detached.err);
    assert!(place.run(&["tasks", "get", id]).ends(0).out.contains("working"));
    assert!(place.run(&["tasks", "cancel", id]).ends(0).out.contains("cancel asked for"));
    let cancelled = place.run(&["tasks", "get", id, "--follow"]).ends(5);
    assert!(cancelled.err.contains("cancelled"), "{}", cancelled.err);
    assert!(place.run(&["tasks", "cancel", id]).ends(0).out.contains("nothing to cancel"));
    let unknown = place.run(&["tasks", "get", "task_00000000000000000000000000000000"]).ends(1);
    assert!(unknown.err.contains("jobgate tasks list"), "{}", unknown.err);
}

/// Ctrl-C in a script leaves the task running and tells the way back.
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_detaches() {
    let place = Place::new();
    let gateway = place.start().await;
    let url = place.setup.url();
    let mut child = place.command(&["call", "work", "--arg", "seconds=600", "--url", &url]).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let id = errors.next().unwrap().unwrap().trim_start_matches("task ").to_owned();
    assert!(errors.next().unwrap().unwrap().contains("working"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = wait::until("the command to end", LIMIT, || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    let rest: Vec<String> = errors.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains(&format!("jobgate tasks get {id} --url {url}"))), "{rest:?}");
    assert_eq!(gateway.wire.task(&id).await.unwrap()["status"], "working");
}

/// A script is told what is asked and how to answer; the answer may come with the call, or later.
#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_without_a_terminal() {
    let place = Place::new();
    let _gateway = place.start().await;
    let asked = place.run(&["call", "approve"]).ends(6);
    let id = asked.task();
    assert!(asked.err.contains("Go on?"), "{}", asked.err);
    assert!(asked.err.contains(&format!("jobgate tasks answer {id} --answer ok=boolean")), "{}", asked.err);
    assert!(place.run(&["tasks", "answer", &id, "--answer", "ok=perhaps"]).ends(2).err.contains("ok"));
    assert!(place.run(&["tasks", "answer", &id]).ends(6).err.contains("--answer ok=boolean"));
    place.run(&["tasks", "answer", &id, "--answer", "ok=yes"]).ends(0);
    assert_eq!(place.run(&["tasks", "get", &id, "--follow"]).ends(0).json()["action"], "accept");
    assert!(place.run(&["tasks", "answer", &id, "--answer", "ok=yes"]).ends(1).err.contains("asks nothing"));

    assert_eq!(place.run(&["call", "approve", "--answer", "ok=yes"]).ends(0).json()["action"], "accept");
    assert_eq!(place.run(&["call", "approve", "--decline"]).ends(0).json()["action"], "decline");
}

/// A question before the job: nothing is started until it is answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_comes_before_the_job() {
    let place = Place::new();
    let _gateway = place.start().await;
    let jobs = || MockProvider::at(&place.data(), "jobs").jobs().unwrap();
    let asked = place.run(&["call", "guarded"]).ends(6);
    assert!(asked.err.contains("Really?") && asked.err.contains("--answer confirm=boolean"), "{}", asked.err);
    assert_eq!(jobs(), 0);
    assert_eq!(place.run(&["call", "guarded", "--answer", "confirm=yes"]).ends(0).json()["done"], true);
    assert_eq!(jobs(), 1);
    let declined = place.run(&["call", "guarded", "--decline"]);
    assert_ne!(declined.code, 0, "{}", declined.out);
    assert_eq!(jobs(), 1);
}

/// The same key is the same wish.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_ones_own_starts_one_job() {
    let place = Place::new();
    let _gateway = place.start().await;
    let call = || place.run(&["call", "work", "--arg", "seconds=0.1", "--key", "mine", "--detach"]).ends(0).out;
    assert_eq!(call(), call());
    assert_eq!(MockProvider::at(&place.data(), "jobs").jobs().unwrap(), 1);
}

/// L1: the store tells its tasks and their history, through its holder and without one.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_looked_into_with_and_without_a_gateway() {
    let place = Place::new();
    let gateway = place.start().await;
    let id = place.run(&["call", "work", "--arg", "seconds=0.2"]).ends(0).task();
    let look = || {
        let listed = place.local(&["tasks", "list"]).ends(0).out;
        assert!(listed.contains(&id) && listed.contains("completed") && listed.contains("work"), "{listed}");
        let json = place.local(&["tasks", "list", "--output", "json"]).ends(0).json();
        assert_eq!(json[0]["taskId"], id.as_str());
        let history = place.local(&["tasks", "audit", &id]).ends(0).out;
        assert!(history.lines().next().unwrap().contains("created"), "{history}");
        assert!(history.contains("accepted") && history.contains("caller local/local"), "{history}");
        let unknown = place.local(&["tasks", "audit", "task_00000000000000000000000000000000"]).ends(1);
        assert!(unknown.err.contains("there is no task"), "{}", unknown.err);
    };
    look();
    let held = place.local(&["store", "verify"]).ends(1);
    assert!(held.err.contains("stop the gateway first"), "{}", held.err);
    assert!(gateway.stop().success());
    look();

    assert!(place.local(&["store", "verify"]).ends(0).out.contains("read 1 tasks"));
    assert!(place.local(&["store", "export", "all.jsonl"]).ends(0).out.contains("exported 1 tasks"));
    assert!(place.local(&["store", "compact"]).ends(0).out.contains("compacted"));
    assert!(place.local(&["store", "import", "all.jsonl", "--data", "copy"]).ends(0).out.contains("imported 1 tasks"));
    assert!(place.local(&["tasks", "list", "--data", "copy"]).ends(0).out.contains(&id));
    assert!(place.local(&["store", "import", "all.jsonl"]).ends(1).err.contains("has tasks already"));
}

/// A gateway that is restarted while a command follows a task is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_is_waited_for() {
    let place = Place::new();
    let gateway = place.start().await;
    let url = place.setup.url();
    let mut child = place.command(&["call", "work", "--arg", "seconds=3", "--url", &url]).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(errors.next().unwrap().unwrap().starts_with("task task_"));
    gateway.kill();
    assert!(errors.any(|line| line.unwrap().contains("trying again")));
    let _again = place.start().await;
    let status = wait::until("the command to end", LIMIT, || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0), "{:?}", errors.map(Result::unwrap).collect::<Vec<_>>());
    assert_eq!(MockProvider::at(&place.data(), "jobs").jobs().unwrap(), 1);
}

/// A port that is taken is told with the way out, and before the store is touched.
#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_told() {
    let place = Place::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = place.local(&["serve", "--listen", &address]).ends(1);
    assert!(said.err.contains(&address) && said.err.contains("--listen 127.0.0.1:0"), "{}", said.err);
    assert!(!place.data().exists());
}
