//! From a file to a task that a delivery ends: real processes, a provider that tells by webhook, and a store that changes hands.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use jobgate::domain::{Clock as _, SystemClock};
use jobgate::engine::Supervisor;
use jobgate_test_support::process::{Process, free_ports};
use jobgate_test_support::wait;
use jobgate_test_support::wire::Wire;
use jobgate_webhooks::{Outgoing, Scheme, Secret, sign};
use serde_json::{Value, json};
use tokio::net::TcpListener;

const LIMIT: Duration = Duration::from_secs(60);
const JOBGATE: &str = env!("CARGO_BIN_EXE_jobgate");
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The first provider's word counts, the second one's is a reason to ask. Both are looked at once an hour by themselves.
const CONFIG: &str = r#"
server: { public_url: "https://gateway.example.com" }
providers:
  told: &provider
    adapter: rest
    base_url: http://127.0.0.1:PORT
    webhook: { scheme: standard_webhooks, secret: env:FARM_SECRET, trust: payload, safety_poll: 1h }
    delivery: { job: "{{ body.id }}" }
  asked:
    adapter: rest
    base_url: http://127.0.0.1:PORT
    webhook: { scheme: none, token: env:FARM_TOKEN, safety_poll: 1h }
    delivery: { job: "{{ body.id }}" }
tools:
  told:
    provider: told
    description: Its jobs end when the provider says so.
    input: { type: object }
    task: { poll: { initial: 1h, max: 1h } }
    job: &job
      submit:
        request: { method: POST, path: /jobs }
        job: { id: "{{ body.id }}" }
      status:
        request: { path: "/jobs/{{ job.id }}" }
        word: "{{ body.status }}"
        rules:
          - { is: [running], state: running }
          - { is: [done], state: succeeded }
      result: { text: "{{ body.said }}" }
  asked:
    provider: asked
    description: Its jobs end when the provider is asked.
    input: { type: object }
    task: { poll: { initial: 1h, max: 1h } }
    job: *job
"#;

/// Jobs that end as soon as somebody looks, and how often somebody did.
#[derive(Debug, Default)]
struct Farm {
    jobs: AtomicUsize,
    looks: AtomicUsize,
}

async fn farm(supervisor: &Supervisor) -> (Arc<Farm>, u16) {
    let farm = Arc::new(Farm::default());
    let kind = [("content-type", "application/json")];
    let submit = async move |State(farm): State<Arc<Farm>>| {
        let number = farm.jobs.fetch_add(1, Ordering::SeqCst);
        (kind, json!({ "id": format!("job-{number}") }).to_string())
    };
    let look = async move |State(farm): State<Arc<Farm>>| {
        farm.looks.fetch_add(1, Ordering::SeqCst);
        (kind, json!({ "status": "done", "said": "asked" }).to_string())
    };
    let app = Router::new().route("/jobs", post(submit)).route("/jobs/{id}", get(look)).with_state(farm.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    supervisor.spawn("farm", async move {
        axum::serve(listener, app).await.ok();
    });
    (farm, port)
}

struct Gateway {
    process: Process,
    wire: Wire,
    base: String,
}

async fn serve(folder: &Path, name: &str) -> Gateway {
    let base = format!("http://127.0.0.1:{}", free_ports(1));
    let mut command = Command::new(JOBGATE);
    command.args(["serve", "--config", "jobgate.yaml", "--data", "data", "--listen", base.strip_prefix("http://").unwrap()]);
    command.env("JOBGATE_LOG", "info,jobgate=debug").env("FARM_SECRET", SECRET).env("FARM_TOKEN", TOKEN).current_dir(folder);
    let process = Process::start(name, command, &folder.join(format!("{name}.log")));
    let wire = Wire::new(&format!("{base}/mcp"));
    let ready = format!("{base}/readyz");
    wait::until_async("the gateway to be ready", LIMIT, async || wire.status(&ready).await.filter(|status| *status == 200)).await;
    Gateway { process, wire, base }
}

impl Gateway {
    /// The status of the answer to a delivery on `path`.
    async fn deliver(&self, path: &str, headers: &[(String, String)], body: &Value) -> u16 {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.wire.plain("POST", &format!("{}{path}", self.base), &headers, Some(body.clone())).await.0
    }

    async fn task(&self, id: &str) -> Value {
        self.wire.task(id).await.unwrap()
    }
}

/// The headers of a delivery that is signed now.
fn signed(id: &str, body: &Value) -> Vec<(String, String)> {
    let scheme = Scheme::named("standard_webhooks").unwrap();
    let (url, body) = ("https://gateway.example.com/hooks/told", body.to_string());
    let now = SystemClock.now().as_millis() / 1000;
    sign(&scheme, &Secret::new(SECRET), &Outgoing { url, id, body: body.as_bytes() }, now).unwrap().headers
}

/// J1 to J5: a delivery that verifies ends its task at once, a copy does nothing, a forged one is refused; through a process that does not
/// hold the store as well as through the one that does, and while the store changes hands. No secret is in any log.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_ends_its_task_through_whichever_process() {
    let supervisor = Supervisor::new(Arc::new(SystemClock));
    let (farm, port) = farm(&supervisor).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobgate.yaml"), CONFIG.replace("PORT", &port.to_string())).unwrap();
    let mut holder = serve(folder.path(), "holder").await;
    let other = serve(folder.path(), "other").await;

    for (number, gateway) in [&holder, &other].into_iter().enumerate() {
        let id = gateway.wire.start_task("told", json!({})).await;
        let body = json!({ "id": format!("job-{number}"), "status": "done", "said": "told" });
        let delivery = format!("msg_{number}");
        let mut forged = signed(&delivery, &body);
        forged.last_mut().unwrap().1 = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=".to_owned();
        assert_eq!(gateway.deliver("/hooks/told", &forged, &body).await, 401);
        assert_eq!(gateway.task(&id).await["status"], "working", "a forged delivery changes nothing");
        assert_eq!(gateway.deliver("/hooks/told", &signed(&delivery, &body), &body).await, 200);
        let task = gateway.task(&id).await;
        assert_eq!((&task["status"], &task["result"]["content"][0]["text"]), (&json!("completed"), &json!("told")), "{task}");
        assert_eq!(gateway.deliver("/hooks/told", &signed(&delivery, &body), &body).await, 200, "a repeat is acknowledged");
        assert_eq!(gateway.deliver("/hooks/nobody", &signed(&delivery, &body), &body).await, 401);
    }
    assert_eq!(farm.looks.load(Ordering::SeqCst), 0, "the provider's word counted, and nobody had to ask");

    // A hint: what it says is not believed, the provider is asked.
    let id = other.wire.start_task("asked", json!({})).await;
    let body = json!({ "id": "job-2", "status": "done", "said": "told" });
    assert_eq!(other.deliver("/hooks/asked/0123456789abcdef0123456789abcdeX", &[], &body).await, 401);
    assert_eq!(other.deliver(&format!("/hooks/asked/{TOKEN}"), &[], &body).await, 200);
    let task = other.wire.ended(&id, LIMIT).await;
    assert_eq!((&task["status"], &task["result"]["content"][0]["text"]), (&json!("completed"), &json!("asked")), "{task}");

    // L2: each of them was counted by what became of it, wherever it came in.
    let counted = other.wire.text(&format!("{}/metrics", other.base)).await;
    for line in [
        "jobgate_webhook_deliveries_total{provider=\"told\",verdict=\"applied\"} 2",
        "jobgate_webhook_deliveries_total{provider=\"told\",verdict=\"repeat\"} 2",
        "jobgate_webhook_deliveries_total{provider=\"told\",verdict=\"signature\"} 2",
        "jobgate_webhook_deliveries_total{provider=\"asked\",verdict=\"hinted\"} 1",
        "jobgate_task_events_total{provider=\"told\",event=\"observed\",cause=\"webhook\"} 2",
        "jobgate_tasks_ended_total{provider=\"told\",tool=\"told\",status=\"completed\",reason=\"result\"} 2",
        "jobgate_webhook_healthy{provider=\"told\"} 1",
    ] {
        assert!(counted.lines().any(|it| it == line), "`{line}` is missing in\n{counted}");
    }

    // The holder dies; what comes meanwhile is asked for again, and taken by the next one.
    let id = other.wire.start_task("told", json!({})).await;
    holder.process.kill();
    let body = json!({ "id": "job-3", "status": "done", "said": "told" });
    wait::until_async("the delivery to be taken", LIMIT, async || {
        let status = other.deliver("/hooks/told", &signed("msg_3", &body), &body).await;
        assert!([200, 503].contains(&status), "{status}");
        (status == 200).then_some(())
    })
    .await;
    assert_eq!(other.task(&id).await["status"], "completed");

    let counted = other.wire.text(&format!("{}/metrics", other.base)).await;
    let line = "jobgate_webhook_deliveries_total{provider=\"told\",verdict=\"applied\"} 1";
    assert!(counted.lines().any(|it| it == line), "{counted}");
    let log = ["holder.log", "other.log"].map(|log| std::fs::read_to_string(folder.path().join(log)).unwrap()).concat();
    assert!(log.contains("a delivery was refused"), "the log says why: {log}");
    assert!(!log.contains(SECRET) && !log.contains(TOKEN), "{log}");
    supervisor.kill().await;
}

/// L3: a secret that is not there is named with its place before anything is opened.
#[test]
fn a_secret_that_is_missing_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobgate.yaml"), CONFIG.replace("PORT", "1")).unwrap();
    let mut command = Command::new(JOBGATE);
    command.args(["serve", "--config", "jobgate.yaml", "--listen", "127.0.0.1:0"]).env("FARM_TOKEN", "short");
    let ended = command.env_remove("FARM_SECRET").current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success());
    for wanted in ["providers.told.webhook.secret", "FARM_SECRET", "providers.asked.webhook.token", "at least 16"] {
        assert!(said.contains(wanted), "`{wanted}` is missing in\n{said}");
    }
    assert!(!said.contains("short\n") && !folder.path().join("data").exists(), "{said}");
}
