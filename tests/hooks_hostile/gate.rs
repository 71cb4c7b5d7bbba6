//! A gateway as a process with routes of several schemes, and what must be true of it whatever has been done to it.

use std::path::Path;
use std::time::Duration;

use jobgate::domain::{Clock as _, SystemClock};
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::raw::{Http, Raw};
use jobgate_test_support::wait;
use jobgate_webhooks::{Outgoing, Scheme, Secret, sign};
use serde_json::json;

use crate::farm::Farm;

const JOBGATE: &str = env!("CARGO_BIN_EXE_jobgate");
pub(crate) const PUBLIC: &str = "https://gateway.example/base";

/// The secrets of the routes; a test of each looks that none is printed.
const SECRETS: [(&str, &str, &str); 5] = [
    ("signed", "standard_webhooks", "whsec_p6enp6enp6enp6enp6enp6enp6enp6enp6enp6enp6c="),
    ("hub", "github", "the-secret-of-the-hub-route"),
    ("pay", "stripe", "whsec_the-secret-of-the-pay-route"),
    ("phone", "twilio", "the-secret-of-the-phone-route"),
    ("silent", "none", "the-token-of-the-silent-route"),
];

/// Jobs are looked at once an hour, so that only deliveries move them.
const CONFIG: &str = r#"
server: { public_url: "https://gateway.example/base" }
limits: { calls: unlimited, creations: unlimited, lists: unlimited, results: unlimited, unknown_ids: unlimited, polls_per_interval: unlimited }
providers:
  signed:
    adapter: rest
    base_url: "http://127.0.0.1:PORT"
    webhook: { scheme: standard_webhooks, secret: env:SECRET_SIGNED, trust: payload, max_body_bytes: 65536 }
    delivery: { job: "{{ body.id }}" }
  hub:
    adapter: rest
    base_url: "http://127.0.0.1:PORT"
    webhook: { scheme: github, secret: env:SECRET_HUB }
    delivery: { job: "{{ body.id }}" }
  pay:
    adapter: rest
    base_url: "http://127.0.0.1:PORT"
    webhook: { scheme: stripe, secret: env:SECRET_PAY, trust: payload }
    delivery: { job: "{{ body.id }}" }
  phone:
    adapter: rest
    base_url: "http://127.0.0.1:PORT"
    webhook: { scheme: twilio, secret: env:SECRET_PHONE }
    delivery: { parse: form, job: "{{ body.CallSid }}" }
  silent:
    adapter: rest
    base_url: "http://127.0.0.1:PORT"
    webhook: { scheme: none, token: env:SECRET_SILENT }
    delivery: { job: "{{ body.id }}" }
tools:
"#;

/// A tool of each provider.
const TOOL: &str = r#"
  NAME_job:
    provider: NAME
    description: A job.
    input: { type: object }
    task: { mode: required, poll: { initial: 1h, max: 1h } }
    job:
      submit: { request: { path: /jobs, body: {} }, job: { id: "{{ body.id }}" } }
      status:
        request: { path: "/jobs/{{ job.id }}" }
        word: "{{ body.status }}"
        rules:
          - { is: [running], state: running }
          - { is: [done], state: succeeded }
      result: { text: "{{ body.id }} is done" }
"#;

/// A gateway, and the provider behind all its routes.
pub(crate) struct Gate {
    pub(crate) gateway: Gateway,
    pub(crate) port: u16,
    pub(crate) farm: Farm,
    setup: Setup,
    _folder: tempfile::TempDir,
}

/// A delivery as bytes: headers and body, to be bent.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Delivery {
    pub(crate) fn set(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
        self.with(name, value)
    }

    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(name));
        self
    }

    pub(crate) fn get(&self, name: &str) -> String {
        let (_, value) = self.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).unwrap();
        String::from_utf8(value.clone()).unwrap()
    }

    /// The head up to the empty line, without a length.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut bytes = format!("POST {} HTTP/1.1\r\nHost: localhost\r\n", self.path).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let length = format!("Content-Length: {}\r\n\r\n", self.body.len());
        [self.head().as_slice(), length.as_bytes(), &self.body].concat()
    }
}

/// Now, in unix seconds.
pub(crate) fn now() -> i64 {
    SystemClock.now().as_millis().div_euclid(1000)
}

/// A delivery as the provider of the route signs it.
pub(crate) fn signed(route: &str, id: &str, body: impl AsRef<[u8]>) -> Delivery {
    signed_at(route, id, body, &format!("{PUBLIC}/hooks/{route}"), now())
}

pub(crate) fn signed_at(route: &str, id: &str, body: impl AsRef<[u8]>, url: &str, moment: i64) -> Delivery {
    let (_, scheme, secret) = SECRETS.iter().find(|(name, ..)| *name == route).unwrap();
    let path = format!("/hooks/{route}");
    let body = body.as_ref().to_vec();
    if *scheme == "none" {
        return Delivery { path: format!("{path}/{secret}"), headers: Vec::new(), body };
    }
    let out = Outgoing { url, id, body: &body };
    let signed = sign(&Scheme::named(scheme).unwrap(), &Secret::new(*secret), &out, moment).unwrap();
    let headers = signed.headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
    let query = signed.url.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
    Delivery { path: format!("{path}{query}"), headers, body: signed.body }
}

/// What a provider says of a job.
pub(crate) fn says(id: &str, status: &str) -> String {
    json!({ "id": id, "status": status }).to_string()
}

/// How to start a gateway with the secret of each route that `secret` gives.
pub(crate) fn setup(folder: &Path, provider: u16, secret: impl Fn(&str, &str) -> Option<String>) -> Setup {
    let config = folder.join("jobgate.yaml");
    let tools: String = SECRETS.iter().map(|(name, ..)| TOOL.replace("NAME", name)).collect();
    std::fs::write(&config, CONFIG.replace("PORT", &provider.to_string()) + &tools).unwrap();
    let mut setup = Setup::new(JOBGATE, folder).config(&config).env("JOBGATE_LOG", "debug");
    for (name, _, usual) in SECRETS {
        if let Some(secret) = secret(name, usual) {
            setup = setup.env(&format!("SECRET_{}", name.to_uppercase()), &secret);
        }
    }
    setup
}

impl Gate {
    pub(crate) async fn start() -> Self {
        let (farm, provider) = Farm::open();
        let folder = tempfile::tempdir().unwrap();
        let setup = setup(folder.path(), provider, |_, secret| Some(secret.to_owned()));
        let gateway = setup.start().await;
        Self { gateway, port: setup.port(), farm, setup, _folder: folder }
    }

    /// `kill -9`, and up again on the same data.
    pub(crate) async fn crash(self) -> Self {
        self.gateway.kill();
        let gateway = self.setup.start().await;
        Self { gateway, ..self }
    }

    pub(crate) fn open(&self) -> Raw {
        Raw::open(self.port)
    }

    /// Begins a job through the route's tool; gives the task's id and the job's.
    pub(crate) async fn job(&self, route: &str) -> (String, String) {
        let before = self.farm.last();
        let task = self.gateway.wire.start_task(&format!("{route}_job"), json!({})).await;
        let job = wait::until("the job to begin", Duration::from_secs(10), || {
            self.farm.last().filter(|last| Some(last) != before.as_ref())
        });
        // The answer to the submit is stored once the task shows that it runs.
        self.gateway.wire.task_in(&task, &["working"], Duration::from_secs(10)).await;
        (task, job)
    }

    /// The status of the one answer to a delivery on a connection of its own.
    pub(crate) fn send(&self, delivery: &Delivery) -> u16 {
        self.throw(delivery.bytes()).status
    }

    /// Sends bytes on a connection of their own, and gives the first answer.
    pub(crate) fn throw(&self, bytes: impl AsRef<[u8]>) -> Http {
        let mut raw = self.open();
        raw.send(bytes);
        let answer = raw.answer().unwrap();
        tells_nothing(&answer);
        answer
    }

    pub(crate) async fn status(&self, task: &str) -> String {
        self.gateway.wire.task(task).await.unwrap()["status"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn ended(&self, task: &str) -> String {
        self.gateway.wire.ended(task, Duration::from_secs(10)).await["status"].as_str().unwrap().to_owned()
    }

    /// How many deliveries of the route had this end.
    pub(crate) async fn count(&self, route: &str, verdict: &str) -> u64 {
        let text = self.gateway.wire.text(&self.gateway.wire.beside("/metrics")).await;
        let series = format!("jobgate_webhook_deliveries_total{{provider=\"{route}\",verdict=\"{verdict}\"}} ");
        text.lines().find_map(|line| line.strip_prefix(&series)).map_or(0, |count| count.parse().unwrap())
    }

    /// Resident memory of the process, in KiB.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.gateway.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// The next good delivery has its effect, and nothing that was printed has a secret in it.
    pub(crate) async fn honest(&self) {
        let (task, job) = self.job("signed").await;
        assert_eq!(self.send(&signed("signed", &format!("end-of-{job}"), says(&job, "done"))), 200);
        assert_eq!(self.ended(&task).await, "completed");
        let printed = self.gateway.output();
        for (_, _, secret) in SECRETS {
            assert!(!printed.contains(secret.trim_start_matches("whsec_")), "a secret is printed: {printed}");
        }
        assert!(!printed.contains("panicked"), "{printed}");
    }
}

/// Answers never show what the gateway is made of, nor why a delivery was refused.
fn tells_nothing(answer: &Http) {
    let said = format!("{}{}", answer.head, String::from_utf8_lossy(&answer.body));
    for word in ["src/", ".rs:", "panicked", "sled", "hyper", "axum", "serde", "signature", "timestamp", "tolerance", "secret"] {
        assert!(!said.contains(word), "`{word}` is in: {said}");
    }
}
