//! State machines that really run, in moto behind the catalog's `aws_step_functions`: how executions end, approvals by task token,
//! gateways that are killed, answers that are lost. moto does not check signatures, so another implementation of them does.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::fs;
use std::process::Command;
use std::time::Duration;

use jobgate_test_support::amazon::{Amazon, machine_arn};
use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::Engine;
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::relay::{Relay, Seen, Way};
use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = r#"
# The tests look at tasks more often than callers should.
limits: { polls_per_interval: unlimited }
providers:
  machines:
    adapter: aws_step_functions
    access_key_id: env:AWS_ACCESS_KEY_ID
    secret_access_key: env:AWS_SECRET_ACCESS_KEY
    region: us-east-1
    base_url: http://127.0.0.1:PORT
tools:
  run: { provider: machines, use: execution, task: { gone_grace: 2s, poll: { initial: 500ms, max: 500ms } } }
"#;

const KEY: (&str, &str) = ("AKIDOFTHESETESTS", "what signs and is never sent");

/// Longest wait for one machine or one state.
const LIMIT: Duration = Duration::from_secs(30);

/// A1, A2, A5, B4: JSON in a text comes back as data, a failure with its error and cause, and every request is signed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_execution_ends_as_its_machine_does() {
    let Some(moto) = Moto::start(&["ok", "timeout"]).await else { return };
    let setup = moto.setup();
    let (caller, gateway) = (Caller::new(&setup), setup.start().await);

    let (code, ended) = call(&caller, "ok", &json!({ "name": "ada", "fail": false }));
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");
    let output = json!({ "output": { "greeting": "hello ada", "answer": 42 } });
    assert_eq!(ended["result"]["structuredContent"], output, "{ended}");

    let (code, ended) = call(&caller, "ok", &json!({ "name": "bob", "fail": true }));
    assert_eq!((code, &ended["result"]["isError"]), (JOB_FAILED, &json!(true)), "{ended}");
    let said = ended.to_string();
    assert!(said.contains("input asked for failure") && said.contains("RenderError"), "{ended}");

    let (code, ended) = call(&caller, "timeout", &json!({}));
    assert!(code == JOB_FAILED && ended.to_string().contains("the execution timed out"), "{code}: {ended}");

    let (code, ended) = call(&caller, "nowhere", &json!({}));
    assert!(code == JOB_FAILED && ended.to_string().contains("State Machine Does Not Exist"), "{code}: {ended}");

    moto.check_signatures();
    moto.end(gateway);
}

/// C1, C4, D1, D2, E1, F1: one call is one execution, whatever is lost; a cancel aborts it, and one that is unknown is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_is_one_execution_whatever_is_lost() {
    let Some(moto) = Moto::start(&["ok", "slow"]).await else { return };
    let setup = moto.setup();
    let caller = Caller::new(&setup);
    let mut gateway = setup.start().await;
    moto.amazon.patient_machine().await;
    let greet = |machine: &str, name: &str| arguments(machine, &json!({ "name": name, "fail": false }));

    // Killed between the submit and its record: the same name is the same execution while it runs, and afterwards it is ours.
    for (machine, name, state) in [("patient", "runs", "RUNNING"), ("ok", "ended", "SUCCEEDED")] {
        moto.relay.rule(|seen, _| if is_start(seen) { Way::Hold } else { Way::Pass });
        let id = caller.detach("run", &greet(machine, name));
        moto.amazon.until(machine, 1, state).await;
        gateway.kill();
        moto.relay.rule(|_, _| Way::Pass);
        gateway = setup.start().await;
        let (code, ended) = caller.follow(&id);
        assert_eq!((code, greeting(&ended)), (0, &json!(format!("hello {name}"))), "{ended}");
        assert_eq!(moto.amazon.executions(machine).await.len(), 1, "{name}");
    }
    let mut count = 1;

    for way in [Way::Lose, Way::Twice] {
        let mut first = true;
        moto.relay.rule(move |seen, _| if is_start(seen) && std::mem::take(&mut first) { way } else { Way::Pass });
        let (code, ended) = caller.run(&["call", "run", "--json", &greet("ok", "eve").to_string()]);
        assert_eq!((code, greeting(&ended)), (0, &json!("hello eve")), "{way:?}: {ended}");
        count += 1;
        assert_eq!(moto.amazon.executions("ok").await.len(), count, "{way:?}");
    }

    // In the middle.
    let id = caller.detach("run", &greet("ok", "middle"));
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, greeting(&ended)), (0, &json!("hello middle")), "{ended}");
    assert_eq!(moto.amazon.executions("ok").await.len(), count + 1);

    let id = caller.detach("run", &arguments("slow", &json!({})));
    moto.amazon.until("slow", 1, "RUNNING").await;
    assert_eq!(caller.run(&["tasks", "cancel", &id]).0, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    moto.amazon.until("slow", 1, "ABORTED").await;

    let id = caller.detach("run", &arguments("slow", &json!({ "again": true })));
    moto.amazon.until("slow", 2, "RUNNING").await;
    moto.amazon.forget().await;
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert!(ended["status"] == "failed" && ended.to_string().contains("gone"), "{ended}");
    moto.end(gateway);
}

/// E1, E3, E5, G3: a machine that has handed out a task token with a question asks; yes, no, and an answer given elsewhere. Nobody sees
/// the token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_token_is_a_question() {
    let Some(moto) = Moto::start(&["approval"]).await else { return };
    let queue = moto.amazon.queue("approvals").await;
    let setup = moto.setup();
    let (caller, gateway) = (Caller::new(&setup), setup.start().await);
    let ask = |question: &str| caller.detach("run", &arguments("approval", &json!({ "queueUrl": queue, "question": question })));
    let yes = ask("Ship it?");
    question(&moto, &gateway, &yes, "Ship it?").await;
    gateway.kill();
    let gateway = setup.start().await;

    let key = question(&moto, &gateway, &yes, "Ship it?").await;
    let answer = json!({ key: { "action": "accept", "content": { "approved": true, "note": "go" } } });
    gateway.wire.answer(&yes, answer).await.unwrap();
    let (code, ended) = caller.follow(&yes);
    let decision = &ended["result"]["structuredContent"]["output"]["decision"];
    assert_eq!((code, decision), (0, &json!({ "approved": true, "note": "go" })), "{ended}");

    let no = ask("Drop it?");
    let key = question(&moto, &gateway, &no, "Drop it?").await;
    gateway.wire.answer(&no, json!({ key: { "action": "decline" } })).await.unwrap();
    let (code, ended) = caller.follow(&no);
    assert!(code == JOB_FAILED && ended.to_string().contains("a human said no"), "{code}: {ended}");

    let elsewhere = ask("Wait?");
    let key = question(&moto, &gateway, &elsewhere, "Wait?").await;
    let token = moto.amazon.tokens("approval").await.pop().unwrap();
    moto.amazon.states("SendTaskSuccess", json!({ "taskToken": token, "output": "{\"approved\":false}" })).await;
    let ended = gateway.wire.ended(&elsewhere, LIMIT).await;
    let decision = &ended["result"]["structuredContent"]["output"]["decision"];
    assert_eq!(decision, &json!({ "approved": false }), "{ended}");
    // An answer to a question that is no more changes nothing.
    gateway.wire.answer(&elsewhere, json!({ key: { "action": "decline" } })).await.ok();
    assert_eq!(gateway.wire.task(&elsewhere).await.unwrap()["status"], "completed");

    assert_eq!(moto.amazon.executions("approval").await.len(), 3);
    for token in moto.amazon.tokens("approval").await {
        assert!(!gateway.output().contains(&token), "a token is in the log");
    }
    moto.check_signatures();
    moto.end(gateway);
}

fn is_start(seen: &Seen) -> bool {
    seen.headers.iter().any(|(_, value)| value.ends_with(".StartExecution"))
}

fn arguments(machine: &str, input: &Value) -> Value {
    json!({ "state_machine": machine_arn(machine), "input": input })
}

fn call(caller: &Caller<'_>, machine: &str, input: &Value) -> (i32, Value) {
    caller.run(&["call", "run", "--json", &arguments(machine, input).to_string()])
}

fn greeting(ended: &Value) -> &Value {
    &ended["result"]["structuredContent"]["output"]["greeting"]
}

/// The key of the task's only question, which says this.
async fn question(moto: &Moto, gateway: &Gateway, id: &str, message: &str) -> String {
    let task = gateway.wire.task_in(id, &["input_required"], LIMIT).await;
    let asked = task["inputRequests"].as_object().unwrap();
    assert_eq!(asked.len(), 1, "{task}");
    let (key, request) = asked.iter().next().unwrap();
    assert!(request.to_string().contains(message), "{task}");
    for token in moto.amazon.tokens("approval").await {
        assert!(!task.to_string().contains(&token), "the token is shown: {task}");
    }
    key.clone()
}

/// The engine, and what stands between it and the gateway.
struct Moto {
    engine: Engine,
    amazon: Amazon,
    relay: Relay,
    folder: TempDir,
}

impl Moto {
    /// With these state machines, of those that lie beside the engine.
    async fn start(machines: &[&str]) -> Option<Self> {
        let engine = Engine::start("moto")?;
        let amazon = Amazon::new(&engine);
        for machine in machines {
            amazon.ready_machine(machine).await;
        }
        let relay = Relay::before(engine.port()).await;
        Some(Self { engine, amazon, relay, folder: tempfile::tempdir().unwrap() })
    }

    fn setup(&self) -> Setup {
        let config = self.folder.path().join("states.yaml");
        fs::write(&config, CONFIG.replace("PORT", &self.relay.port().to_string())).unwrap();
        let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), self.folder.path()).config(&config);
        setup.env("AWS_ACCESS_KEY_ID", KEY.0).env("AWS_SECRET_ACCESS_KEY", KEY.1)
    }

    /// Has botocore, which moto brings along, sign every request that came, and compares.
    fn check_signatures(&self) {
        const SCRIPT: &str = r"
import json, re, sys
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
for sent in map(json.loads, open(sys.argv[1])):
    headers = dict(sent['headers'])
    scope, names, signature = re.fullmatch(
        'AWS4-HMAC-SHA256 Credential=[^/]+/(.+), SignedHeaders=(.+), Signature=(.+)', headers['authorization']).groups()
    date, region, service, end = scope.split('/')
    signed = {name: headers[name] for name in names.split(';')}
    assert {'host', 'x-amz-date', 'x-amz-target'} <= set(signed), names
    auth = SigV4Auth(Credentials(sys.argv[2], sys.argv[3]), service, region)
    request = AWSRequest(method='POST', url='http://' + headers['host'] + sent['path'], data=sent['body'].encode(), headers=signed)
    request.context['timestamp'] = headers['x-amz-date']
    ours = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    assert (service, region, end, ours) == ('states', 'us-east-1', 'aws4_request', signature), (ours, sent)
    print('checked')
";
        let seen = self.relay.seen();
        assert!(!seen.is_empty(), "nothing was sent");
        let line = |seen: &Seen| {
            let body = String::from_utf8(seen.bytes.clone()).unwrap();
            json!({ "path": seen.path, "headers": seen.headers, "body": body }).to_string()
        };
        let file = self.folder.path().join("sent");
        fs::write(&file, seen.iter().map(line).collect::<Vec<_>>().join("\n")).unwrap();
        let python = self.engine.folder().join("venv/bin/python");
        let checked = Command::new(python).args(["-c", SCRIPT]).arg(&file).args([KEY.0, KEY.1]).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        assert_eq!(String::from_utf8_lossy(&checked.stdout).lines().count(), seen.len());
    }

    fn end(self, gateway: Gateway) {
        assert!(!gateway.output().contains(KEY.1), "the key is in the log");
        assert!(gateway.stop().success());
        self.engine.stop();
    }
}
