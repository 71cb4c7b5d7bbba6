//! A gateway as a process, and what must be true of it whatever has been done to it.

use std::path::PathBuf;
use std::time::Duration;

use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::raw::{Http, Raw, post};
use serde_json::{Value, json};

const JOBGATE: &str = env!("CARGO_BIN_EXE_jobgate");

/// How long an answer may take before the client says that there is nothing more to come.
const THINKING: Duration = Duration::from_secs(3);

/// Tools on a provider that needs nothing. Bodies have a second to arrive. Nobody is limited: what is looked at is what each request
/// costs, not how many of them are let in.
const CONFIG: &str = r"
server: { request_timeout: 1s }
limits:
  calls: unlimited
  creations: unlimited
  lists: unlimited
  results: unlimited
  unknown_ids: unlimited
  polls_per_interval: unlimited
  streams_per_principal: unlimited
  waiters_per_principal: unlimited
providers: { jobs: { adapter: mock } }
tools:
  work:
    provider: jobs
    description: Takes its time.
    input: { type: object, properties: { seconds: { type: number } } }
    task: { mode: optional, poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: Work
        States:
          Work: { Type: Wait, Seconds: 3600, Next: Done }
          Done: { Type: Succeed }
";

/// A gateway with one task of ours.
pub(crate) struct Gate {
    pub(crate) gateway: Gateway,
    pub(crate) port: u16,
    task: String,
    folder: tempfile::TempDir,
}

impl Gate {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("jobgate.yaml");
        std::fs::write(&config, CONFIG).unwrap();
        let setup = Setup::new(JOBGATE, folder.path()).config(&config);
        let gateway = setup.start().await;
        let task = gateway.wire.start_task("work", json!({})).await;
        Self { gateway, port: setup.port(), task, folder }
    }

    pub(crate) fn open(&self) -> Raw {
        Raw::open(self.port)
    }

    /// Sends bytes on a connection of their own, and gives all that comes back until the server closes.
    pub(crate) fn throw(&self, bytes: impl AsRef<[u8]>) -> Vec<Http> {
        let mut raw = self.open();
        raw.send(bytes);
        // A server may leave unanswered what a client that has left asked for; one that still waits for more has nothing to say.
        let first = raw.answer_within(THINKING);
        raw.finish();
        let answers: Vec<Http> = first.into_iter().chain(raw.answers()).collect();
        for answer in &answers {
            self.tells_nothing(answer);
        }
        answers
    }

    /// Answers never show where the gateway lives or what it is made of.
    fn tells_nothing(&self, answer: &Http) {
        let folder = PathBuf::from(self.folder.path());
        let said = format!("{}{}", answer.head, String::from_utf8_lossy(&answer.body));
        for secret in [&*folder.to_string_lossy(), "src/", ".rs:", "panicked", "sled", "hyper", "axum", "serde"] {
            assert!(!said.contains(secret), "`{secret}` is in: {said}");
        }
    }

    /// An honest client on a new connection finds everything as it was.
    pub(crate) async fn honest(&self) {
        let task = self.gateway.wire.task(&self.task).await.unwrap();
        assert_eq!(task["status"], "working");
        let mut old = self.open();
        old.send(post(&[], &ping(1)));
        let answer = old.answer().unwrap();
        assert_eq!((answer.status, answer.json()["result"].clone()), (200, json!({})), "{answer:?}");
    }

    /// Resident memory of the process, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.gateway.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Open files of the process: connections are among them.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.gateway.pid())).unwrap().count()
    }

    /// A listen request of our task, headers and all.
    pub(crate) fn listen(&self) -> Vec<u8> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
        });
        let body = message("subscriptions/listen", &json!({ "notifications": { "taskIds": [self.task] }, "_meta": meta }));
        post(&[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")], &body)
    }
}

pub(crate) fn message(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

pub(crate) fn ping(id: u64) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string()
}

pub(crate) fn initialize() -> String {
    let client = json!({ "name": "t", "version": "1" });
    message("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }))
}
