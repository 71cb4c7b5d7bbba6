//! A gateway with tokens on loopback, in the test's own process, and a client that can leave out or garble everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jobgate::config;
use jobgate::domain::{ManualClock, Timestamp, TokenHash};
use jobgate::registry::Registry;
use jobgate::serve::{self, Plan, ServeError, Source, World};
use jobgate_adapter_api::{EnvAndFiles, OsRandom};
use jobgate_test_support::wait;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// 2027-01-15T08:00:00Z.
const START: i64 = 1_800_000_000_000;
/// When the token of `short` ends.
pub(crate) const EXPIRY: Duration = Duration::from_secs(3600);
pub(crate) const MODERN: &str = "2026-07-28";

const HOLDERS: [(&str, &str); 8] = [
    ("ann", "principal: ann, tenant: acme"),
    ("ann-new", "principal: ann, tenant: acme"),
    ("bob", "principal: bob, tenant: acme"),
    ("root", "principal: root, tenant: acme, admin: true"),
    ("eve", "principal: ann, tenant: other"),
    ("chief", "principal: chief, tenant: other, admin: true"),
    ("painter", "principal: painter, tenant: acme, tools: [ren*]"),
    ("short", "principal: ann, tenant: acme, expires: 2027-01-15T09:00:00Z"),
];

const TOOLS: &str = "
providers: { farm: { adapter: mock } }
tools:
  render: &slow
    provider: farm
    description: Renders for two hours.
    task: { mode: optional, poll: { initial: 1s, max: 60s } }
    job: { machine: { StartAt: Run, States: { Run: { Type: Wait, Seconds: 7200, End: true } } } }
  deploy: *slow
";

pub(crate) struct Gate {
    pub(crate) clock: Arc<ManualClock>,
    client: reqwest::Client,
    url: String,
    next: AtomicU64,
    stop: CancellationToken,
    served: JoinHandle<Result<(), ServeError>>,
    _folder: tempfile::TempDir,
}

/// The token of a holder.
pub(crate) fn token(holder: &str) -> String {
    format!("jg_test.{holder}")
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) challenge: Option<String>,
    pub(crate) retry_after: Option<String>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub(crate) fn result(&self) -> Value {
        let result = self.json()["result"].clone();
        assert!(self.status == 200 && !result.is_null(), "{self:?}");
        result
    }
}

impl Gate {
    pub(crate) async fn new() -> Self {
        Self::with("").await
    }

    /// With further sections of the configuration.
    pub(crate) async fn with(sections: &str) -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let folder = tempfile::tempdir().unwrap();
        let tokens: Vec<String> = HOLDERS
            .iter()
            .map(|(holder, words)| format!("    - {{ hash: \"{}\", {words} }}\n", TokenHash::of(&token(holder))))
            .collect();
        let text = format!(
            "server: {{ listen: 127.0.0.1:0, trusted_proxies: [127.0.0.1] }}\nauth:\n  tokens:\n{}{sections}\n{TOOLS}",
            tokens.concat()
        );
        let mut checked = config::load(&text, "test.yaml", &Registry::built_in()).unwrap_or_else(|error| panic!("{error}"));
        checked.store.path = folder.path().join("data");
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(START)));
        let world = World { clock: clock.clone(), random: Arc::new(OsRandom), secrets: Arc::new(EnvAndFiles) };
        let plan = Plan::build(Source { checked, text, file: "test.yaml".to_owned() }, world).unwrap();
        let stop = CancellationToken::new();
        let (told, ready) = oneshot::channel();
        let stopping = stop.clone();
        #[expect(clippy::disallowed_methods, reason = "joined by `stop`")]
        let served = tokio::spawn(async move {
            serve::http(Arc::new(plan), stopping, |ready| {
                told.send(ready.address).ok();
            })
            .await
        });
        let address = ready.await.unwrap();
        let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).no_proxy().build().unwrap();
        let url = format!("http://{address}");
        Self { clock, client, url, next: AtomicU64::new(1), stop, served, _folder: folder }
    }

    /// A request to `path`, with these headers and nothing else of ours but what every message has.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> reqwest::Response {
        let mut request = self.client.request(method.parse().unwrap(), format!("{}{path}", self.url));
        request = request.header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        request.send().await.unwrap()
    }

    /// Sends a request of the protocol's version for a holder and gives back the response, unread.
    pub(crate) async fn open(&self, holder: &str, version: &str, method: &str, mut params: Value) -> reqwest::Response {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let name = params.get(if method == "tools/call" { "name" } else { "taskId" }).and_then(Value::as_str).map(str::to_owned);
        if version == MODERN {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = version.into();
            meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tests", "version": "1" });
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        }
        let bearer = format!("Bearer {}", token(holder));
        let mut headers = vec![("mcp-protocol-version", version), ("mcp-method", method), ("authorization", bearer.as_str())];
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send("POST", "/mcp", &headers, Some(body.to_string())).await
    }

    /// Sends a request of this version for a holder.
    pub(crate) async fn rpc(&self, holder: &str, version: &str, method: &str, params: Value) -> Answer {
        read(self.open(holder, version, method, params).await).await
    }

    pub(crate) async fn modern(&self, holder: &str, method: &str, params: Value) -> Answer {
        self.rpc(holder, MODERN, method, params).await
    }

    /// Starts a task for a holder and gives back its id.
    pub(crate) async fn start(&self, holder: &str) -> String {
        let answer = self.modern(holder, "tools/call", json!({ "name": "render", "arguments": {} })).await;
        answer.result()["taskId"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
    }

    pub(crate) async fn get(&self, holder: &str, task: &str) -> Answer {
        self.modern(holder, "tasks/get", json!({ "taskId": task })).await
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        drop(self.client);
        let mut served = self.served;
        loop {
            tokio::select! {
                served = &mut served => return served.unwrap().unwrap(),
                // Whatever waits for time to pass gets it.
                () = wait::pause(Duration::from_millis(5)) => self.clock.advance(Duration::from_secs(1)),
            }
        }
    }
}

pub(crate) async fn read(response: reqwest::Response) -> Answer {
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (challenge, retry_after) = (header("www-authenticate"), header("retry-after"));
    Answer { status: response.status().as_u16(), challenge, retry_after, text: response.text().await.unwrap() }
}
