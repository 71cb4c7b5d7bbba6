//! The process that is killed: an engine on a real store, and a caller who wants one job done whatever happens.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jobgate::artifacts::{ArtifactLimits, Artifacts};
use jobgate::domain::{
    Clock, InputAction, InputAnswer, Outcome, PollPolicy, Principal, ProviderName, Status, SystemClock, Task, Tool, ToolName,
    ToolPolicy,
};
use jobgate::engine::{Call, CallNames, Called, Engine, EngineLimits, EngineParts, Provider, ProviderLimits, Supervisor};
use jobgate::store::sled::{SledOptions, SledStore};
use jobgate_adapter_api::OsRandom;
use serde_json::{Map, Value, json};

use crate::provider::{FolderProvider, Promise};
use crate::store::{Strike, Struck};

/// What the caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Waits for the result.
    Finish,
    /// Answers the job's question, then waits.
    Input,
    /// Cancels once the job runs.
    Cancel,
    /// Waits for the result with its files.
    Keep,
}

impl Plan {
    pub(crate) const ALL: [Self; 4] = [Self::Finish, Self::Input, Self::Cancel, Self::Keep];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Input => "input",
            Self::Cancel => "cancel",
            Self::Keep => "keep",
        }
    }
}

/// The longest the caller waits for anything.
const PATIENCE: Duration = Duration::from_secs(40);

/// Does the plan in `folder`, or dies at the strike. The caller names its wish by a key, so that a second process with the same
/// plan goes on where the first was killed. Gives what the caller saw at the end.
pub(crate) fn run(folder: &Path, plan: Plan, promise: Promise, strike: Option<Strike>) -> Value {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(caller(folder, plan, promise, strike))
}

async fn caller(folder: &Path, plan: Plan, promise: Promise, strike: Option<Strike>) -> Value {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opened = SledStore::open(SledOptions::new(folder.join("store")), clock.clone()).expect("the store opens");
    let store = Arc::new(Struck::new(opened.store, strike, &folder.join("steps")));
    let adapter = Arc::new(FolderProvider::new(&folder.join("provider"), promise, clock.clone()));
    let engine = Engine::start(EngineParts {
        store,
        providers: vec![Provider {
            name: ProviderName::new("folder"),
            kind: "folder".to_owned(),
            adapter,
            limits: ProviderLimits::default(),
            webhook: None,
        }],
        tools: vec![tool()],
        limits: EngineLimits::default(),
        clock: clock.clone(),
        random: Arc::new(OsRandom),
        supervisor: Supervisor::new(clock.clone()),
        public_url: None,
        artifacts: Some(Artifacts::open(folder.join("artifacts"), ArtifactLimits::default()).expect("the folder can be made")),
    })
    .await
    .expect("the engine starts");

    let owner = Principal::local();
    let arguments = Map::from_iter([("plan".to_owned(), Value::from(plan.word()))]);
    let call = Call {
        owner: owner.clone(),
        tool: ToolName::new("work"),
        arguments,
        key: Some("wish".to_owned()),
        ttl: None,
        names: CallNames::default(),
    };
    let called = engine.call(call).await.expect("the call is taken");
    let Called::Task(task) = called else { panic!("the provider refuses nothing") };
    let give_up = clock.now().plus(PATIENCE);
    let look = async |ready: &dyn Fn(&Task) -> bool| loop {
        let seen = engine.get(&owner, &task.id).await.expect("the task is kept");
        if seen.status().is_terminal() || ready(&seen) {
            return seen;
        }
        assert!(clock.now() < give_up, "stuck in {:?}: {:?}", seen.status(), seen.message);
        clock.sleep(Duration::from_millis(10)).await;
    };
    match plan {
        Plan::Finish | Plan::Keep => {}
        Plan::Input => {
            look(&|seen| seen.status() == Status::InputRequired || seen.inputs.contains_key("go")).await;
            let yes = InputAnswer { action: InputAction::Accept, content: Some(json!({ "go": true })) };
            let answers = BTreeMap::from([("go".to_owned(), yes)]);
            engine.answer(&owner, &task.id, answers).await.expect("the answer is taken");
        }
        Plan::Cancel => {
            look(&|seen| matches!(seen.state, jobgate::domain::TaskState::Running { .. })).await;
            engine.cancel(&owner, &task.id, false).await.expect("the wish is taken");
        }
    }
    let ended = look(&|_| false).await;
    let mut files = Vec::new();
    for number in 1..=ended.kept_artifacts().len() {
        let (_, bytes) = engine.read_artifact(&owner, &task.id, number, 1000).await.expect("what is kept is there");
        files.push(String::from_utf8(bytes).expect("a text"));
    }
    // Each file and its mark; what a crash left goes a moment after the end.
    while count(&folder.join("artifacts")) != 2 * files.len() {
        assert!(clock.now() < give_up, "{} files are there for {files:?}", count(&folder.join("artifacts")));
        clock.sleep(Duration::from_millis(10)).await;
    }
    engine.shutdown().await;
    let jobgate::domain::TaskState::Ended { outcome, .. } = &ended.state else { unreachable!("it has ended") };
    let (kind, text) = match outcome {
        Outcome::Result(result) => ("result", format!("{:?}", result.output.parts)),
        Outcome::Error(error) => (error.category.as_str(), error.message.clone()),
        Outcome::Cancelled => ("cancelled", String::new()),
    };
    json!({ "id": ended.id.to_string(), "kind": kind, "text": text, "files": files, "key": ended.submit_key.as_str() })
}

/// Every file below a folder.
fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

fn tool() -> Tool {
    let poll = PollPolicy { initial: Duration::from_millis(10), max: Duration::from_millis(30), factor: 1.5 };
    Tool {
        name: ToolName::new("work"),
        title: None,
        description: "Runs a job in a folder.".to_owned(),
        input_schema: json!({ "type": "object" }),
        fixed: serde_json::Map::new(),
        output_schema: None,
        annotations: None,
        provider: ProviderName::new("folder"),
        policy: ToolPolicy { poll, gone_grace: Duration::from_millis(500), ..ToolPolicy::default() },
    }
}
