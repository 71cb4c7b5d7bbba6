//! A real Restate server behind `examples/catalog/restate.yaml`, driven through a real MCP client: success, failure, cancel, what is not
//! there, approvals, and a gateway that is killed in the middle. The engine itself is asked how many invocations it saw.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::fs;
use std::time::Duration;

use jobgate_test_support::caller::{CANCELLED, Caller, JOB_FAILED};
use jobgate_test_support::engine::Engine;
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::source::text;
use jobgate_test_support::wait;
use jobgate_test_support::wire::Wire;
use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

const LIMIT: Duration = Duration::from_secs(60);

/// The example as a gateway's configuration, with the engine's addresses and looks that come often.
fn setup(engine: &Engine, folder: &TempDir) -> Setup {
    let file = folder.path().join("restate.yaml");
    let often = "use: invocation\n    task: { gone_grace: 1s, poll: { initial: 200ms, max: 500ms } }";
    let example = text("examples/catalog/restate.yaml").unwrap().replace("use: invocation", often);
    let (ingress, admin) = (engine.port(), engine.port() + 1);
    fs::write(&file, example.replace(":8080", &format!(":{ingress}")).replace(":9070", &format!(":{admin}"))).unwrap();
    Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&file)
}

/// A1, A3, C1, C4, D5, F1, providers D1: one call is one invocation, whatever becomes of the gateway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_is_one_invocation() {
    let Some(engine) = Engine::start("restate") else { return };
    let restate = Restate::of(&engine);
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(&engine, &folder);
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    let (code, ended) = caller.run(&["call", "run_handler", "--json", &greeting("Ada").to_string()]);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")), "{ended}");
    assert_eq!(ended["result"]["structuredContent"], json!({ "greeting": "hello Ada", "answer": 42 }), "{ended}");
    let first = restate.invocations("ok").await;
    assert_eq!(first.len(), 1);

    // Whoever says the key again starts nothing, whatever else is said.
    let key = [("idempotency-key", first[0]["idempotency_key"].as_str().unwrap())];
    let (status, again) = restate.ingress("/jobs/ok/send", &key, json!({ "name": "Mallory" })).await;
    assert_eq!((status, &again["status"], &again["invocationId"]), (202, &json!("PreviouslyAccepted"), &first[0]["id"]));
    assert_eq!(restate.invocations("ok").await.len(), 1);

    let (code, ended) = caller.run(&["call", "run_handler", "--arg", "handler=fail"]);
    assert_eq!((code, &ended["status"]), (JOB_FAILED, &json!("completed")), "{ended}");
    assert_eq!(ended["result"]["isError"], true);
    assert!(ended.to_string().contains("the renderer ran out of paint"), "{ended}");

    let id = caller.detach("run_handler", &json!({ "handler": "slow" }));
    restate.running("slow").await;
    let (code, _) = caller.run(&["tasks", "cancel", &id]);
    assert_eq!(code, 0);
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["status"]), (CANCELLED, &json!("cancelled")), "{ended}");
    let slow = restate.invocations("slow").await;
    assert_eq!(slow.len(), 1);
    assert_eq!(slow[0]["completion_failure"], "[409] Cancelled", "the engine saw the cancel: {slow:?}");

    let id = caller.detach("run_handler", &greeting("Bob"));
    restate.until("ok", 2).await;
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["result"]["structuredContent"]["greeting"]), (0, &json!("hello Bob")), "{ended}");

    // The same client process lives through the kill as well.
    let following = caller.start(&["call", "run_handler", "--json", &greeting("Eve").to_string()]);
    restate.until("ok", 3).await;
    gateway.kill();
    let gateway = setup.start().await;
    let (code, ended) = following.end();
    assert_eq!((code, &ended["result"]["structuredContent"]["greeting"]), (0, &json!("hello Eve")), "{ended}");
    assert_eq!(restate.invocations("ok").await.len(), 3, "three calls, three invocations");

    assert!(gateway.stop().success());
    engine.stop();
}

/// C1, C6, providers E1, E8: a handler that is not there is refused in Restate's words; one that breaks is shown as tried again until it is
/// stopped; an invocation that Restate no longer knows is gone, and is not started again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_and_what_never_ends() {
    let Some(engine) = Engine::start("restate") else { return };
    let restate = Restate::of(&engine);
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(&engine, &folder);
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    let (code, ended) = caller.run(&["call", "run_handler", "--arg", "handler=nope"]);
    assert_ne!(code, 0, "{ended}");
    assert!(ended.to_string().contains("the handler 'nope' was not found"), "{ended}");

    let id = caller.detach("run_handler", &json!({ "handler": "flaky" }));
    wait::until_async("the reason to be shown", LIMIT, async || {
        let task = gateway.wire.task(&id).await.unwrap();
        assert_eq!(task["status"], "working", "{task}");
        task.to_string().contains("is made again: connection refused by the GPU").then_some(())
    })
    .await;
    gateway.wire.cancel(&id).await.unwrap();
    assert_eq!(gateway.wire.ended(&id, LIMIT).await["status"], "cancelled");

    let id = caller.detach("run_handler", &json!({ "handler": "slow" }));
    restate.running("slow").await;
    gateway.kill();
    let slow = restate.invocations("slow").await.remove(0);
    for change in ["kill", "purge"] {
        let path = format!("/invocations/{}/{change}", slow["id"].as_str().unwrap());
        wait::until_async(change, LIMIT, async || (restate.admin("PATCH", &path, None).await.0 == 200).then_some(())).await;
    }
    let gateway = setup.start().await;
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert_eq!(restate.invocations("slow").await, Vec::<Value>::new(), "it is not started again");

    assert!(gateway.stop().success());
    engine.stop();
}

/// E1, E3, F1, providers G3, G4: a yes and a no reach the handler that waits, through the form of the call; an answer that came by another
/// way takes the question back; a question outlives the gateway.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_answer_awakeables() {
    let Some(engine) = Engine::start("restate") else { return };
    let restate = Restate::of(&engine);
    // A handler that waits is suspended at once, and not after a minute.
    let at_once = json!({ "inactivity_timeout": "200ms" });
    assert_eq!(restate.admin("PATCH", "/services/jobs", Some(at_once)).await.0, 200);
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(&engine, &folder);
    let gateway = setup.start().await;

    let id = gateway.wire.start_task("deploy", json!({ "input": {} })).await;
    let (key, question) = asked(&gateway, &id).await;
    assert_eq!(question["params"]["message"], "Shall it be deployed?", "{question}");
    assert_eq!(question["params"]["requestedSchema"]["properties"]["approved"]["type"], "boolean", "{question}");
    let yes = json!({ key: { "action": "accept", "content": { "approved": true, "note": "on a Friday" } } });
    gateway.wire.answer(&id, yes).await.unwrap();
    let ended = gateway.wire.ended(&id, LIMIT).await;
    let answer = json!({ "answer": { "approved": true, "note": "on a Friday" } });
    assert_eq!((&ended["status"], &ended["result"]["structuredContent"]), (&json!("completed"), &answer), "{ended}");

    let id = gateway.wire.start_task("deploy", json!({ "input": {} })).await;
    let (key, _) = asked(&gateway, &id).await;
    gateway.wire.answer(&id, json!({ key: { "action": "decline" } })).await.unwrap();
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!((&ended["status"], &ended["result"]["isError"]), (&json!("completed"), &json!(true)), "{ended}");
    assert!(ended.to_string().contains("The answer was no."), "{ended}");
    let failures = restate.invocations("approval").await;
    assert!(failures.iter().any(|it| it["completion_failure"] == "[500] The answer was no."), "{failures:?}");

    // The handler itself tells its awakeable to whoever shall answer.
    let hook = MockServer::start().await;
    Mock::given(any()).respond_with(ResponseTemplate::new(200)).mount(&hook).await;
    let told = json!({ "input": { "question": "deploy?", "askUrl": hook.uri() } });
    let id = gateway.wire.start_task("deploy", told).await;
    asked(&gateway, &id).await;
    let delivery: Value = hook.received_requests().await.unwrap()[0].body_json().unwrap();
    let path = format!("/restate/awakeables/{}/resolve", delivery["awakeable"].as_str().unwrap());
    let (status, _) = restate.ingress(&path, &[], json!({ "by": "curl" })).await;
    assert_eq!(status, 202);
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!(ended["result"]["structuredContent"], json!({ "answer": { "by": "curl" } }), "{ended}");
    assert!(ended.get("inputRequests").is_none_or(|it| *it == json!({})), "{ended}");

    let id = gateway.wire.start_task("deploy", json!({ "input": {} })).await;
    let before = asked(&gateway, &id).await;
    gateway.kill();
    let gateway = setup.start().await;
    let after = asked(&gateway, &id).await;
    assert_eq!(before, after, "it is the same question");
    gateway.wire.answer(&id, json!({ after.0: { "action": "accept", "content": { "approved": true } } })).await.unwrap();
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!(ended["result"]["structuredContent"], json!({ "answer": { "approved": true } }), "{ended}");
    assert_eq!(restate.invocations("approval").await.len(), 4, "four calls, four invocations");

    assert!(gateway.stop().success());
    engine.stop();
}

/// A1, C4, providers C8, D1: a workflow is started under the key of its task, lives through a kill, and is found by that key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_runs_under_the_key_of_its_task() {
    let Some(engine) = Engine::start("restate") else { return };
    let restate = Restate::of(&engine);
    let folder = tempfile::tempdir().unwrap();
    let setup = setup(&engine, &folder);
    let caller = Caller::new(&setup);
    let gateway = setup.start().await;

    let id = caller.detach("run_pipeline", &json!({ "input": { "what": "plan-18" } }));
    let mut key = String::new();
    wait::until_async("the workflow to wait for its promise", LIMIT, async || {
        let query = "select service_key from sys_promise where service_name = 'pipeline' and not completed";
        let (_, answer) = restate.admin("POST", "/query", Some(json!({ "query": query }))).await;
        key = answer["rows"][0]["service_key"].as_str()?.to_owned();
        Some(())
    })
    .await;
    gateway.kill();
    let gateway = setup.start().await;
    let (status, noted) = restate.ingress(&format!("/pipeline/{key}/approve"), &[], json!(true)).await;
    assert_eq!((status, noted), (200, json!({ "noted": true })));
    let (code, ended) = caller.follow(&id);
    assert_eq!((code, &ended["result"]["structuredContent"]), (0, &json!({ "deployed": "plan-18" })), "{ended}");
    let (status, again) = restate.ingress(&format!("/pipeline/{key}/run/send"), &[], json!({ "what": "other" })).await;
    assert_eq!((status, &again["status"]), (202, &json!("PreviouslyAccepted")), "the key of the task is the workflow's");

    assert!(gateway.stop().success());
    engine.stop();
}

fn greeting(name: &str) -> Value {
    json!({ "handler": "ok", "input": { "name": name } })
}

/// The one question of a task that waits, with its key.
async fn asked(gateway: &Gateway, id: &str) -> (String, Value) {
    let task = gateway.wire.task_in(id, &["input_required"], LIMIT).await;
    let questions = task["inputRequests"].as_object().unwrap();
    assert_eq!(questions.len(), 1, "{task}");
    questions.iter().next().map(|(key, question)| (key.clone(), question.clone())).unwrap()
}

/// The engine itself, asked past the gateway.
struct Restate {
    wire: Wire,
    port: u16,
}

impl Restate {
    fn of(engine: &Engine) -> Self {
        Self { wire: Wire::new("http://127.0.0.1:1/mcp"), port: engine.port() }
    }

    async fn ingress(&self, path: &str, headers: &[(&str, &str)], body: Value) -> (u16, Value) {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        self.wire.plain("POST", &url, headers, Some(body)).await
    }

    async fn admin(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let url = format!("http://127.0.0.1:{}{path}", self.port + 1);
        self.wire.plain(method, &url, &[("accept", "application/json")], body).await
    }

    /// What it knows of the invocations of one handler.
    async fn invocations(&self, handler: &str) -> Vec<Value> {
        let query =
            format!("select id, status, idempotency_key, completion_failure from sys_invocation where target = 'jobs/{handler}'");
        let (status, answer) = self.admin("POST", "/query", Some(json!({ "query": query }))).await;
        assert_eq!(status, 200, "{answer}");
        answer["rows"].as_array().cloned().unwrap_or_default()
    }

    async fn until(&self, handler: &str, count: usize) {
        let what = format!("invocation {count} of {handler}");
        wait::until_async(&what, LIMIT, async || (self.invocations(handler).await.len() == count).then_some(())).await;
    }

    async fn running(&self, handler: &str) {
        wait::until_async("the handler to run", LIMIT, async || {
            let invocations = self.invocations(handler).await;
            invocations.iter().any(|it| it["status"] == "running" || it["status"] == "suspended").then_some(())
        })
        .await;
    }
}
