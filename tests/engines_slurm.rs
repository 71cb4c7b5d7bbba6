//! A real Slurm cluster of one node behind `examples/slurm.yaml`, driven through a real MCP client: success, failure, cancel, a job
//! held for a person, and a gateway that is killed between submit and result. Slurm keeps no keys: a job is found by its comment.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::fs;
use std::time::Duration;

use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::{Engine, skip};
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use serde_json::{Value, json};

/// A1, A3, C1, C4, E1, E3, F1: one call is one batch job, whatever becomes of the gateway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_is_one_batch_job() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can start a Slurm cluster");
    }
    let Some(engine) = Engine::start("slurm") else { return };
    let cluster =
        Cluster { token: fs::read_to_string(engine.folder().join("token")).unwrap().trim().to_owned(), port: engine.port() };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("slurm.yaml");
    fs::write(&config, text("examples/slurm.yaml").unwrap().replace(":5680", &format!(":{}", engine.port()))).unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&config).env("SLURM_TOKEN", &cluster.token);
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;
    let script = |name: &str, script: &str| {
        json!({ "name": name, "folder": folder.path(), "script": format!("#!/bin/sh\n{script}\n") }).to_string()
    };

    let (code, ended) = caller.run(&["call", "run_batch_script", "--json", &script("good", "sleep 1; echo answer=42")]);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");
    let data = &ended["result"]["structuredContent"];
    assert_eq!(fs::read_to_string(data["output"].as_str().unwrap()).unwrap(), "answer=42\n", "{ended}");

    let (code, ended) = caller.run(&["call", "run_batch_script", "--json", &script("bad", "exit 3")]);
    assert_eq!((code, &ended["status"], &ended["result"]["isError"]), (JOB_FAILED, &json!("completed"), &json!(true)), "{ended}");
    assert!(ended.to_string().contains("exit code 3"), "{ended}");

    let id = detach(&caller, &script("long", "sleep 100"));
    cluster.until(&gateway, "long", "RUNNING").await;
    let (code, _) = caller.run(&["tasks", "cancel", &id]);
    assert_eq!(code, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    cluster.until(&gateway, "long", "CANCELLED").await;

    let id = detach(&caller, &script("killed", "sleep 2; echo survived"));
    cluster.until(&gateway, "killed", "RUNNING").await;
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");
    let output = ended["result"]["structuredContent"]["output"].as_str().unwrap();
    assert_eq!(fs::read_to_string(output).unwrap(), "survived\n");

    let held = json!({ "name": "held", "folder": folder.path(), "script": "#!/bin/sh\necho released\n", "hold": true });
    let id = detach(&caller, &held.to_string());
    gateway.wire.task_in(&id, &["input_required"], Duration::from_secs(20)).await;
    gateway.kill();
    let gateway = setup.start().await;
    let task = gateway.wire.task_in(&id, &["input_required"], Duration::from_secs(20)).await;
    let key = task["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    gateway.wire.answer(&id, json!({ key: { "action": "accept", "content": {} } })).await.unwrap();
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");

    for name in ["good", "bad", "long", "killed", "held"] {
        assert_eq!(cluster.jobs(&gateway, name).await.len(), 1, "jobs named {name}");
    }
    let log = gateway.output();
    assert!(!log.contains(&cluster.token), "the token is in the log");
    assert!(gateway.stop().success());
    engine.stop();
}

fn detach(caller: &Caller<'_>, arguments: &str) -> String {
    caller.detach("run_batch_script", &serde_json::from_str(arguments).unwrap())
}

/// The engine itself, asked past the gateway.
struct Cluster {
    token: String,
    port: u16,
}

impl Cluster {
    /// The jobs of this name that it ever saw.
    async fn jobs(&self, gateway: &Gateway, name: &str) -> Vec<Value> {
        let url = format!("http://127.0.0.1:{}/slurm/v0.0.38/jobs", self.port);
        let headers = [("X-SLURM-USER-NAME", "root"), ("X-SLURM-USER-TOKEN", self.token.as_str())];
        let (status, answer) = gateway.wire.plain("GET", &url, &headers, None).await;
        assert_eq!(status, 200, "{answer}");
        answer["jobs"].as_array().unwrap().iter().filter(|job| job["name"] == name).cloned().collect()
    }

    async fn until(&self, gateway: &Gateway, name: &str, state: &str) {
        wait::until_async(&format!("{name} to be {state}"), Duration::from_secs(30), async || {
            self.jobs(gateway, name).await.iter().any(|job| job["job_state"] == state).then_some(())
        })
        .await;
    }
}
