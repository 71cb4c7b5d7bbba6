//! The contract, clause by clause, and what it does not ask, against recorded answers of the API.
#![expect(clippy::unwrap_used, reason = "a call that fails where it must not fails its test")]

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelWish, ErrorKind, IdempotencyKey, InputAction, InputAnswer, InputAnswers, InputKind,
    Issues, JobRef, JobState, Observation, Place, Retry, SubmitRequest, Submitted, ToolWords, factory,
};
use jobgate_adapter_step_functions::StepFunctions;
use jobgate_adapter_testkit::{Case, HttpRig, Rig, RigTool, SECRET_REF, Scenario, Stubs, adapter_contract};
use serde_json::{Value, json};

/// One tool for each recorded state machine.
const MACHINES: [&str; 12] =
    ["ok", "fail", "slow", "odd", "closed", "timeout", "throttled", "full", "missing", "forbidden", "busy", "redriven"];

async fn rig() -> HttpRig {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../wiremock-fixtures/step_functions");
    let stubs = Stubs::load(folder).unwrap_or_else(|error| panic!("{error}"));
    let mut rig = HttpRig::start(factory::<StepFunctions>, stubs).await.provider(|url| {
        json!({
            "region": "eu-west-1", "account": "123456789012", "endpoint": url,
            // The id is sent with every call, the key signs. The kit has one secret for both.
            "access_key_id": SECRET_REF, "secret_access_key": SECRET_REF,
        })
    });
    for machine in MACHINES {
        rig = rig.tool(RigTool::new(machine, json!({ "state_machine": machine })));
    }
    for machine in ["quick", "quick-fail", "quick-late"] {
        rig = rig.tool(RigTool::new(machine, json!({ "state_machine": machine, "express": true })));
    }
    rig.tool(RigTool::new("approve", json!({ "state_machine": "approve", "approvals": { "AskHuman": {} } })))
        .case(Scenario::RunsToEnd, Case::new("ok", json!({ "name": "ada" })).expecting("hello ada"))
        .case(Scenario::Fails, Case::new("fail", json!({})).expecting("input asked for failure"))
        .case(Scenario::RunsLong, Case::new("slow", json!({})))
        .case(Scenario::UnknownWord, Case::new("odd", json!({})).expecting("HIBERNATING"))
        .case(Scenario::WaitsForPerson, Case::new("approve", json!({})).answering(json!({ "approved": true })))
        .unknown(JobRef::new("arn:aws:states:eu-west-1:123456789012:execution:none:jobgate-0"))
        .with_hints()
        .bad_provider("providers.kit.region", |words| words["region"] = json!("Ireland"))
        .bad_provider("providers.kit.account", |words| words["account"] = json!("12"))
        .bad_provider("providers.kit.endpoint", |words| words["endpoint"] = json!("ftp://states"))
        .bad_provider("providers.kit.access_key_id", |words| drop(words.as_object_mut().unwrap().remove("secret_access_key")))
        .bad_provider("providers.kit.secret_access_key", |words| drop(words.as_object_mut().unwrap().remove("access_key_id")))
        .bad_provider("providers.kit.profile", |words| words["profile"] = json!("ci"))
        .bad_provider("tools.ok.job.state_machine", |words| drop(words.as_object_mut().unwrap().remove("account")))
        .bad_tool("tools.ok.job.state_machine", |words| words["state_machine"] = json!("arn:aws:lambda:eu-west-1:1:function:f"))
        .bad_tool("tools.ok.job.state_machine", |words| {
            words["state_machine"] = json!("arn:aws:states:us-east-1:123456789012:stateMachine:x")
        })
        .bad_tool("tools.ok.job.state_machine", |words| words["state_machine"] = json!("deploy now"))
        .bad_tool("tools.ok.job.approvals", |words| {
            words["express"] = json!(true);
            words["approvals"] = json!({ "AskHuman": {} });
        })
        .bad_tool("tools.ok.job.approvals.AskHuman.form", |words| {
            words["approvals"] = json!({ "AskHuman": { "form": { "type": "string" } } })
        })
        .bad_tool("tools.ok.job.approvals.AskHuman.decline.error", |words| {
            words["approvals"] = json!({ "AskHuman": { "decline": { "error": "" } } });
        })
}

adapter_contract!(rig().await);

/// The adapter at work, call by call.
struct Played {
    rig: HttpRig,
    adapter: Arc<dyn Adapter>,
    cancel: OnceLock<CancelWish>,
}

impl Played {
    async fn new() -> Self {
        let rig = rig().await;
        let mut issues = Issues::new();
        let tools = Rig::tools(&rig).into_iter().map(|tool| ToolWords {
            place: Place::root().key("tools").key(&tool.name).key("job"),
            name: tool.name,
            input_schema: tool.input_schema,
            words: tool.words,
        });
        let place = Place::root().key("providers").key("kit");
        let checked = rig.factory().check(&place, Rig::provider(&rig), tools.collect(), &mut issues);
        let adapter = checked.unwrap_or_else(|| panic!("{issues:?}")).build(&rig.deps()).unwrap();
        Self { rig, adapter, cancel: OnceLock::new() }
    }

    fn context(&self, tool: &str) -> CallContext {
        CallContext {
            tool: tool.to_owned(),
            key: IdempotencyKey::new("6a6f6267617465000000000000000001".to_owned()),
            timeout: Duration::from_secs(10),
            arguments: Arc::default(),
            started_at: self.rig.deps().clock.now(),
            callback_url: None,
            cancel: self.cancel.get().copied(),
        }
    }

    async fn submit(&self, tool: &str) -> Result<Submitted, AdapterError> {
        let cx = self.context(tool);
        let request = SubmitRequest { key: cx.key.clone(), arguments: serde_json::Map::new() };
        self.adapter.submit(&cx, request).await
    }

    async fn start(&self, tool: &str) -> JobRef {
        self.submit(tool).await.unwrap().job
    }

    async fn look(&self, tool: &str, job: &JobRef) -> Observation {
        self.adapter.poll(&self.context(tool), job).await.unwrap()
    }

    async fn answer(&self, job: &JobRef, key: &str, action: InputAction) -> Result<(), AdapterError> {
        let answer = InputAnswer { action, content: (action == InputAction::Accept).then(|| json!({ "approved": true })) };
        self.adapter.provide(&self.context("approve"), job, &InputAnswers::from([(key.to_owned(), answer)])).await
    }

    /// The bodies of what was sent to an operation.
    async fn sent(&self, operation: &str) -> Vec<Value> {
        let target = format!("AWSStepFunctions.{operation}");
        let requests = self.rig.requests().await;
        let those = requests.iter().filter(|it| it.headers.get("X-Amz-Target").is_some_and(|value| value == target.as_str()));
        those.map(|it| serde_json::from_slice(&it.body).unwrap()).collect()
    }
}

/// Gotcha 6: throttled and refused, with one status; nothing but the word in the body tells which.
#[tokio::test]
async fn one_status_says_everything() {
    let played = Played::new().await;
    let mut found = Vec::new();
    for machine in ["throttled", "full", "missing", "forbidden", "busy"] {
        let error = played.submit(machine).await.unwrap_err();
        found.push((error.kind(), error.retry()));
    }
    let after = |seconds| Retry::After(Duration::from_secs(seconds));
    let wanted = [
        (ErrorKind::RateLimited, Retry::Backoff),
        (ErrorKind::Unavailable, after(30)),
        (ErrorKind::Rejected, Retry::Never),
        (ErrorKind::Unauthorized, Retry::Never),
        (ErrorKind::RateLimited, after(7)),
    ];
    assert_eq!(found, wanted);
}

/// C4: an execution that has ended is ours by its name, whose input AWS compares no longer.
#[tokio::test]
async fn an_execution_that_exists_is_ours() {
    let played = Played::new().await;
    let job = played.start("closed").await;
    assert_eq!(job.id(), "arn:aws:states:eu-west-1:123456789012:execution:closed:jobgate-6a6f6267617465000000000000000001");
    assert!(matches!(played.look("closed", &job).await.state, JobState::Succeeded(_)));
}

/// The history is read page by page once, and afterwards from where the last look ended.
#[tokio::test]
async fn a_running_execution_tells_its_state_and_how_many_it_has_left() {
    let played = Played::new().await;
    let job = played.start("slow").await;
    let seen = played.look("slow", &job).await;
    assert_eq!((seen.message.as_deref(), seen.progress.unwrap().done), (Some("Sleep"), 1.0));
    assert_eq!(played.sent("GetExecutionHistory").await.len(), 2, "two pages");

    let kept = seen.learned.iter().fold(job, |job, (name, value)| job.with(name, value));
    let again = played.look("slow", &kept).await;
    assert_eq!((again.message.as_deref(), again.progress.unwrap().done), (Some("Sleep"), 1.0));
    assert_eq!(played.sent("GetExecutionHistory").await.len(), 3, "one more page is enough");
    assert!(again.learned.is_empty(), "nothing new was learned");
}

#[tokio::test]
async fn a_failure_tells_where_it_happened() {
    let played = Played::new().await;
    let job = played.start("timeout").await;
    let JobState::Failed(failure) = played.look("timeout", &job).await.state else { panic!("it timed out") };
    assert_eq!(
        (failure.message.as_str(), failure.code.as_deref()),
        ("The execution took longer than it may.", Some("States.Timeout"))
    );
    assert_eq!(failure.output.data, Some(json!({ "state": "Sleep", "states_done": 1 })));
}

/// E1, E2: the token is read from the history, and shows nowhere; a no raises the error that the configuration names.
#[tokio::test]
async fn a_state_that_waits_for_its_token_asks_and_takes_a_no() {
    let played = Played::new().await;
    let job = played.start("approve").await;
    let seen = played.look("approve", &job).await;
    assert!(!format!("{seen:?}").contains("token-of-the-kit"), "{seen:?}");
    assert_eq!(seen.next_poll, Some(Duration::from_secs(20)), "a third of the heartbeat's span");
    assert_eq!(played.sent("SendTaskHeartbeat").await.len(), 1);
    let JobState::InputRequired(questions) = seen.state else { panic!("it waits") };
    assert_eq!(questions[0].message, "Deploy 1.4.2 to production?");
    let InputKind::Form { schema } = &questions[0].kind else { panic!("it is a form") };
    assert_eq!(schema["required"], json!(["approved"]));

    played.answer(&job, &questions[0].key, InputAction::Decline).await.unwrap();
    let told = played.sent("SendTaskFailure").await;
    assert_eq!((&told[0]["error"], &told[0]["cause"]), (&json!("Rejected"), &json!("declined by the caller")));
    let JobState::Failed(failure) = played.look("approve", &job).await.state else { panic!("it was declined") };
    assert_eq!(failure.code.as_deref(), Some("Rejected"));
    // Somebody else was quicker: nothing is left to do, and nothing acts twice.
    played.answer(&job, &questions[0].key, InputAction::Accept).await.unwrap();
    let error = played.answer(&job, "AskHuman", InputAction::Accept).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Rejected);
}

/// Gotcha 11: a redrive has the same id; the task is about the run that it started.
#[tokio::test]
async fn a_redriven_execution_is_pinned_to_its_first_run() {
    let played = Played::new().await;
    let job = played.start("redriven").await;
    let seen = played.look("redriven", &job).await;
    assert_eq!(seen.message.as_deref(), Some("it was redriven since; the task is about its first run"));
    let JobState::Failed(failure) = seen.state else { panic!("its first run failed") };
    assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("out of paint", Some("RenderError")));
    assert_eq!(failure.output.data, Some(json!({ "state": "Render", "states_done": 1 })));
}

#[tokio::test]
async fn an_express_execution_ends_within_its_start() {
    let played = Played::new().await;
    let state = |submitted: Submitted| submitted.observation.unwrap().state;
    assert_eq!(state(played.submit("quick").await.unwrap()), JobState::ended_with(json!({ "greeting": "hello ada" })));
    let JobState::Failed(failure) = state(played.submit("quick-fail").await.unwrap()) else { panic!("it failed") };
    assert_eq!(failure.message, "input asked for failure");
    let JobState::Failed(failure) = state(played.submit("quick-late").await.unwrap()) else { panic!("it was late") };
    assert_eq!(failure.code.as_deref(), Some("States.Timeout"));
    assert!(!played.adapter.capabilities("quick").idempotent_submit);
    let job = JobRef::new("arn:aws:states:eu-west-1:123456789012:express:quick:jobgate:0f0e");
    let error = played.adapter.poll(&played.context("quick"), &job).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// D1: what is configured is not the caller's to change.
#[tokio::test]
async fn fixed_input_wins_over_arguments() {
    let rig = rig().await.tool(RigTool::new("fixed", json!({ "state_machine": "ok", "input": { "stage": "production" } })));
    let tools = vec![ToolWords {
        place: Place::root(),
        name: "fixed".to_owned(),
        input_schema: json!({}),
        words: json!({ "state_machine": "ok", "input": { "stage": "production" } }),
    }];
    let checked = rig.factory().check(&Place::root(), Rig::provider(&rig), tools, &mut Issues::new()).unwrap();
    let played = Played { adapter: checked.build(&rig.deps()).unwrap(), rig, cancel: OnceLock::new() };
    let cx = played.context("fixed");
    let Value::Object(arguments) = json!({ "stage": "test", "version": "1.4.2" }) else { panic!() };
    played.adapter.submit(&cx, SubmitRequest { key: cx.key.clone(), arguments }).await.unwrap();
    let sent = played.sent("StartExecution").await;
    let input: Value = serde_json::from_str(sent[0]["input"].as_str().unwrap()).unwrap();
    assert_eq!(input, json!({ "stage": "production", "version": "1.4.2" }));
    assert_eq!(sent[0]["name"], "jobgate-6a6f6267617465000000000000000001");
}
