//! What the tests of Buildbot share: the catalog's example at the engine's port, the master asked past the gateway, and the transcript.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jobgate_test_support::engine::{Engine, shared};
use jobgate_test_support::gateway::Gateway;
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use jobgate_test_support::wire::Wire;
use serde_json::{Value, json};

/// Longest wait for one build, or for what the gateway makes of it.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// What nobody can guess of the address for pushes.
pub(crate) const TOKEN: &str = "a1b2c3d4e5f6a7b8c9d0";

/// The example, with Buildbot at this port and other paces.
pub(crate) fn config(folder: &Path, port: u16, poll: &str, safety_poll: &str) -> PathBuf {
    let example = "examples/catalog/buildbot.yaml";
    let mut words = text(example).unwrap();
    for (from, to) in [
        // The tests look at tasks more often than callers should.
        ("\nproviders:", "\nlimits: { polls_per_interval: unlimited }\nproviders:".to_owned()),
        (":5602", format!(":{port}")),
        ("use: build\n  release:", format!("use: build\n    task: {{ poll: {poll} }}\n  release:")),
        ("BUILDBOT_HOOK_TOKEN }", format!("BUILDBOT_HOOK_TOKEN, safety_poll: {safety_poll} }}")),
    ] {
        assert!(words.contains(from), "{example} has `{from}`");
        words = words.replace(from, &to);
    }
    let file = folder.join("buildbot.yaml");
    fs::write(&file, words).unwrap();
    file
}

/// Looks at a task until it has this sentence in its message.
pub(crate) async fn says(gateway: &Gateway, task: &str, sentence: &str) {
    wait::until_async(&format!("the task to say `{sentence}`"), LIMIT, async || {
        let task = gateway.wire.task(task).await.unwrap();
        task["statusMessage"].as_str().is_some_and(|said| said.contains(sentence)).then_some(())
    })
    .await;
}

/// The engine itself, asked past the gateway.
pub(crate) struct Master {
    port: u16,
    wire: Wire,
}

impl Master {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { port: engine.port(), wire: Wire::new(engine.ready_line()) }
    }

    async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", &format!("/api/v2/{path}"), None).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Any request, and what the master says to it.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        self.wire.plain(method, &url, &[("accept", "application/json")], body).await
    }

    /// Every build request that it ever saw, in their order.
    pub(crate) async fn requests(&self) -> Vec<Value> {
        self.get("buildrequests?order=buildrequestid").await["buildrequests"].as_array().unwrap().clone()
    }

    /// The id of the `nth` build request, once it is there.
    pub(crate) async fn request_of(&self, nth: usize) -> u64 {
        wait::until_async("the build request", LIMIT, async || self.requests().await.get(nth)?["buildrequestid"].as_u64()).await
    }

    /// How many builds a request has.
    pub(crate) async fn count_builds(&self, request: u64) -> usize {
        self.get(&format!("buildrequests/{request}/builds")).await["builds"].as_array().unwrap().len()
    }

    /// Waits for a build of a request.
    pub(crate) async fn begun(&self, request: u64) {
        wait::until_async("a build", LIMIT, async || (self.count_builds(request).await > 0).then_some(())).await;
    }

    /// Waits for the end of a request's build; the watch starts then.
    pub(crate) async fn ended(&self, request: u64) -> wait::Watch {
        wait::until_async("the end of a build", LIMIT, async || {
            let builds = self.get(&format!("buildrequests/{request}/builds")).await;
            (builds["builds"][0]["complete"] == true).then(wait::Watch::start)
        })
        .await
    }

    async fn rpc(&self, path: &str, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, answer) = self.ask("POST", &format!("/api/v2/{path}"), Some(body)).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// Somebody else builds: the request.
    pub(crate) async fn force(&self, builder: &str) -> u64 {
        let answer = self.rpc("forceschedulers/force", "force", json!({ "builderNames": [builder] })).await;
        answer["result"][1].as_object().unwrap().values().next().unwrap().as_u64().unwrap()
    }

    /// The worker takes no more builds, or takes them again: meanwhile requests wait.
    pub(crate) async fn pause_worker(&self, paused: bool) {
        self.rpc("workers/1", if paused { "pause" } else { "unpause" }, json!({ "reason": "a test" })).await;
        wait::until_async("the worker to know", LIMIT, async || {
            (self.get("workers/1").await["workers"][0]["paused"] == paused).then_some(())
        })
        .await;
    }

    /// Somebody stops a request, whatever has become of it.
    pub(crate) async fn cancel(&self, request: u64) {
        self.rpc(&format!("buildrequests/{request}"), "cancel", json!({})).await;
    }
}

/// An exchange of the transcript: its title, method, path, body, and the answer's status and body.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) title: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    pub(crate) status: u16,
    pub(crate) answer: Value,
}

/// The exchanges of one section of the transcript of Buildbot whose bodies are JSON.
pub(crate) fn recorded(section: &str) -> Vec<Recorded> {
    let all = fs::read_to_string(shared().join("engines/buildbot.http.md")).unwrap();
    let (_, rest) = all.split_once(&format!("\n## {section}\n")).unwrap();
    let section = rest.split_once("\n## ").map_or(rest, |(section, _)| section);
    let exchanges = section.split("\n**").skip(1).filter_map(|part| {
        let (title, rest) = part.split_once("**")?;
        let mut blocks = rest.split("```http\n").skip(1).filter_map(|block| block.split_once("```").map(|(block, _)| block));
        let (request, response) = (blocks.next()?, blocks.next()?);
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        if head.contains("Content-Type: text/plain") {
            return None;
        }
        let mut words = head.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let body = if body.trim().is_empty() { None } else { Some(serde_json::from_str(body).ok()?) };
        let (status, answer) = response.split_once("\n\n")?;
        let status = status.split(' ').nth(1)?.parse().ok()?;
        Some(Recorded { title: title.to_owned(), method, path, body, status, answer: serde_json::from_str(answer).ok()? })
    });
    exchanges.collect()
}
