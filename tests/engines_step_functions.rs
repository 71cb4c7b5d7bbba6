//! State machines of AWS through the official SDK, in moto: the same scenario as on the mock by the change of one line, approvals by task token,
//! gateways that are killed, answers that are lost.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::fs;
use std::time::Duration;

use jobgate_test_support::amazon::{Amazon, ready_definition};
use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::Engine;
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::relay::{Relay, Seen, Way};
use jobgate_test_support::wait;
use serde_json::{Value, json};
use tempfile::TempDir;

const MACHINES: [&str; 3] = ["ok", "slow", "approval"];
/// The line that says where the machines are.
const LOCAL: &str = "provider: &machines local";
const AWS: &str = "provider: &machines aws";
/// Credentials lie where AWS's tools look for them.
const KEY: (&str, &str) = ("AKIDOFTHESETESTS", "what signs and is never sent");
/// Longest wait for one machine or one state.
const LIMIT: Duration = Duration::from_secs(30);

const CONFIG: &str = r#"
# The tests look at tasks more often than callers should.
limits: { polls_per_interval: unlimited }
providers:
  local:
    adapter: mock
    machines: MACHINES
  aws:
    adapter: step_functions
    region: us-east-1
    account: "123456789012"
    endpoint: http://127.0.0.1:PORT
tools:
  greet:
    provider: &machines local
    description: Greets somebody, after two seconds.
    input: { type: object, properties: { name: { type: string }, fail: { type: boolean } }, required: [name, fail] }
    task: { gone_grace: 2s, poll: { initial: 500ms, max: 500ms } }
    job: { state_machine: ok }
  greet_late:
    provider: aws
    description: Greets somebody, after eight seconds.
    input: { type: object, properties: { name: { type: string }, fail: { type: boolean } }, required: [name, fail] }
    task: { poll: { initial: 500ms, max: 500ms } }
    job: { state_machine: patient }
  wait:
    provider: *machines
    description: Waits for a minute.
    input: { type: object, properties: { nth: { type: integer } } }
    task: { gone_grace: 2s, poll: { initial: 500ms, max: 500ms } }
    job: { state_machine: slow }
  ship:
    provider: *machines
    description: Ships a version after somebody has approved it.
    input: { type: object, properties: { question: { type: string } }, required: [question] }
    task: { poll: { initial: 500ms, max: 500ms } }
    job:
      state_machine: approval
      input: { queueUrl: QUEUE }
      approvals:
        AskHuman: { form: { type: object, properties: { approved: { type: boolean } }, required: [approved] } }
"#;

/// A1, A2, E1, E3, F1: a configuration moves from the mock to AWS by one line, and everything goes as before: success, failure, cancel, a yes
/// and a no through a kill of the gateway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_line_moves_from_the_mock_to_aws() {
    let Some(moto) = Moto::start().await else { return };
    let mut told = Vec::new();
    for line in [LOCAL, AWS] {
        told.push(scenario(&moto, line).await);
    }
    let (local, aws) = (&told[0], &told[1]);
    assert_eq!(local[0]["structuredContent"], json!({ "greeting": "hello ada", "answer": 42 }));
    assert_eq!(local[3]["structuredContent"]["decision"], json!({ "approved": true }));
    for (nth, (local, aws)) in local.iter().zip(aws).enumerate() {
        assert_eq!(local, aws, "outcome {nth}");
    }
    for machine in MACHINES {
        assert!(!moto.amazon.executions(machine).await.is_empty(), "{machine} has run at AWS");
    }
    moto.engine.stop();
}

/// What becomes of five calls: the texts and the data that a caller sees.
async fn scenario(moto: &Moto, line: &str) -> Vec<Value> {
    let (setup, _folder) = moto.setup(line).await;
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;
    let mut told = Vec::new();
    for (fail, wanted) in [(false, 0), (true, JOB_FAILED)] {
        let (code, ended) = caller.run(&["call", "greet", "--json", &json!({ "name": "ada", "fail": fail }).to_string()]);
        assert_eq!(code, wanted, "{line}: {ended}");
        if fail {
            assert!(ended.to_string().contains("input asked for failure"), "{line}: {ended}");
            told.push(json!("failed"));
        } else {
            told.push(ended["result"].clone());
        }
    }

    let id = caller.detach("wait", &json!({}));
    gateway.wire.task_in(&id, &["working"], LIMIT).await;
    assert_eq!(caller.run(&["tasks", "cancel", &id]).0, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{line}: {ended}");
    told.push(ended["status"].clone());

    let yes = caller.detach("ship", &json!({ "question": "Ship it?" }));
    question(&gateway, &yes, "Ship it?").await;
    gateway.kill();
    let gateway = setup.start().await;
    let key = question(&gateway, &yes, "Ship it?").await;
    gateway.wire.answer(&yes, json!({ key: { "action": "accept", "content": { "approved": true } } })).await.unwrap();
    let (code, ended) = caller.follow(&yes);
    assert_eq!(code, 0, "{line}: {ended}");
    told.push(ended["result"].clone());

    let no = caller.detach("ship", &json!({ "question": "Drop it?" }));
    let key = question(&gateway, &no, "Drop it?").await;
    gateway.wire.answer(&no, json!({ key: { "action": "decline" } })).await.unwrap();
    let (code, ended) = caller.follow(&no);
    assert!(code == JOB_FAILED && ended.to_string().contains("a human said no"), "{line}: {code}: {ended}");
    assert!(!gateway.output().contains(KEY.1), "the key is in the log");
    assert!(gateway.stop().success());
    told
}

/// C1, C4, D5: one call is one execution, whatever is lost; the state at work is shown; an answer given elsewhere clears the question; nobody
/// sees a token; an execution that is no more is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_is_one_execution() {
    let Some(moto) = Moto::start().await else { return };
    let (setup, _folder) = moto.setup(AWS).await;
    let caller = Caller::new(&setup);
    let mut gateway = setup.start().await;
    let greet = json!({ "name": "eve", "fail": false });
    moto.amazon.patient_machine().await;
    // The same name is the same execution while it runs, and afterwards it is ours.
    for (tool, machine, state) in [("greet_late", "patient", "RUNNING"), ("greet", "ok", "SUCCEEDED")] {
        moto.relay.rule(|seen, _| if is_start(seen) { Way::Hold } else { Way::Pass });
        let id = caller.detach(tool, &greet);
        moto.amazon.until(machine, 1, state).await;
        gateway.kill();
        moto.relay.rule(|_, _| Way::Pass);
        gateway = setup.start().await;
        let (code, ended) = caller.follow(&id);
        assert_eq!((code, &ended["result"]["structuredContent"]["greeting"]), (0, &json!("hello eve")), "{ended}");
        assert_eq!(moto.amazon.executions(machine).await.len(), 1, "{state}");
    }
    let mut first = true;
    moto.relay.rule(move |seen, _| if is_start(seen) && std::mem::take(&mut first) { Way::Lose } else { Way::Pass });
    assert_eq!(caller.run(&["call", "greet", "--json", &greet.to_string()]).0, 0);
    assert_eq!(moto.amazon.executions("ok").await.len(), 2);

    let elsewhere = caller.detach("ship", &json!({ "question": "Wait?" }));
    question(&gateway, &elsewhere, "Wait?").await;
    let tokens = moto.amazon.tokens("approval").await;
    assert!(!gateway.wire.task(&elsewhere).await.unwrap().to_string().contains(&tokens[0]), "the token is shown");
    moto.amazon.states("SendTaskSuccess", json!({ "taskToken": tokens[0], "output": "{\"approved\":false}" })).await;
    let ended = gateway.wire.ended(&elsewhere, LIMIT).await;
    assert_eq!(ended["result"]["structuredContent"]["decision"], json!({ "approved": false }), "{ended}");

    let id = caller.detach("wait", &json!({ "nth": 1 }));
    wait::until_async("the state at work to be shown", LIMIT, async || {
        let task = gateway.wire.task(&id).await.unwrap();
        (task["status"] == "working" && task["statusMessage"].as_str()?.contains("Long")).then_some(())
    })
    .await;
    moto.amazon.forget().await;
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(!gateway.output().contains(&tokens[0]), "a token is in the log");
    assert!(gateway.stop().success());
    moto.engine.stop();
}

fn is_start(seen: &Seen) -> bool {
    seen.headers.iter().any(|(_, value)| value.ends_with(".StartExecution"))
}

/// The key of the task's only question, which says this.
async fn question(gateway: &Gateway, id: &str, message: &str) -> String {
    let task = gateway.wire.task_in(id, &["input_required"], LIMIT).await;
    let asked = task["inputRequests"].as_object().unwrap();
    assert_eq!(asked.len(), 1, "{task}");
    let (key, request) = asked.iter().next().unwrap();
    assert!(request.to_string().contains(message), "{task}");
    key.clone()
}

/// The engine, and what stands between it and the gateway.
struct Moto {
    engine: Engine,
    amazon: Amazon,
    relay: Relay,
}

impl Moto {
    async fn start() -> Option<Self> {
        let engine = Engine::start("moto")?;
        let amazon = Amazon::new(&engine);
        for machine in MACHINES {
            amazon.ready_machine(machine).await;
        }
        let relay = Relay::before(engine.port()).await;
        Some(Self { engine, amazon, relay })
    }

    /// A gateway whose tools are where this line says.
    async fn setup(&self, line: &str) -> (Setup, TempDir) {
        let machines: Value =
            MACHINES.iter().map(|name| ((*name).to_owned(), ready_definition(name))).collect::<serde_json::Map<_, _>>().into();
        let queue = self.amazon.queue("approvals").await;
        let config = CONFIG
            .replace("MACHINES", &machines.to_string())
            .replace("PORT", &self.relay.port().to_string())
            .replace("QUEUE", &json!(queue).to_string())
            .replace(LOCAL, line);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("machines.yaml");
        fs::write(&file, config).unwrap();
        let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&file);
        (setup.env("AWS_ACCESS_KEY_ID", KEY.0).env("AWS_SECRET_ACCESS_KEY", KEY.1), folder)
    }
}
