//! Words to meaning to thing: a provider section, a tool's `job:` section, and the kind `mock`.

use std::collections::BTreeMap;
use std::time::Duration;

use jobgate_adapter_api::{AdapterSpec, ApprovalWords, Deps, HumanDuration, Issue, Issues, Place, ToolWords as Named};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::adapter::MockAdapter;
use crate::asl::{Machine, TASK_TOKEN};
use crate::fault::{Fault, FaultWords};
use crate::world::{Memory, World, machine_name};

/// The kind: `adapter: mock`.
#[derive(Debug)]
pub struct Mock;

/// A provider section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How long every call takes, for example `20ms`; nothing when not given.
    pub(crate) latency: HumanDuration,
    /// Trouble on request, for every tool of this provider.
    pub(crate) faults: Vec<FaultWords>,
    /// Whether a repeated submit key gives the first job; `false` makes a provider that starts a job at every submit.
    pub(crate) idempotent: bool,
    /// Whether a job can be found by its submit key.
    pub(crate) find: bool,
    /// Whether a job can be stopped.
    pub(crate) cancel: bool,
    /// State machines by name, each in the Amazon States Language (JSONPath flavour), for tools that name theirs.
    pub(crate) machines: BTreeMap<String, Map<String, Value>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            latency: HumanDuration::default(),
            faults: Vec::new(),
            idempotent: true,
            find: true,
            cancel: true,
            machines: BTreeMap::new(),
        }
    }
}

/// A tool's `job:` section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolWords {
    /// What the job does: a state machine in the Amazon States Language (JSONPath flavour). The caller's arguments are its
    /// input, what its last state hands on is the result.
    pub(crate) machine: Option<Map<String, Value>>,
    /// Instead of `machine`: the name of one of the provider's `machines`. With `input` and `approvals` these are the words of
    /// `adapter: step_functions`, so that a tool moves there by the name of its provider.
    pub(crate) state_machine: Option<String>,
    /// Fields of the input that callers cannot change; the caller's arguments are the rest of it.
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// States that wait for a task token (`.waitForTaskToken`) until a person has answered, by their names.
    #[serde(default)]
    pub(crate) approvals: BTreeMap<String, ApprovalWords>,
    /// Trouble on request, for this tool; looked at before the provider's own.
    #[serde(default)]
    pub(crate) faults: Vec<FaultWords>,
}

/// What the words mean.
#[derive(Debug)]
pub struct Checked {
    settings: Settings,
    tools: BTreeMap<String, Tool>,
    /// The provider's memory when there is no data folder: shared by all instances that are built from these words.
    memory: Memory,
}

/// A provider's meaning.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) latency: Duration,
    pub(crate) faults: Vec<Fault>,
    pub(crate) idempotent: bool,
    pub(crate) find: bool,
    pub(crate) cancel: bool,
}

/// A tool's meaning.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) machine: Machine,
    /// The machine's words, which a run keeps, and the name they are kept under.
    pub(crate) words: Value,
    pub(crate) stored_as: String,
    /// Fields of the input that callers cannot change.
    pub(crate) input: Map<String, Value>,
    pub(crate) faults: Vec<Fault>,
}

impl AdapterSpec for Mock {
    const KIND: &'static str = "mock";
    type Config = Config;
    type Tool = ToolWords;
    type Checked = Checked;
    type Adapter = MockAdapter;

    fn check(place: &Place, config: Config, tools: Vec<Named<ToolWords>>, issues: &mut Issues) -> Option<Checked> {
        let faults = Fault::check_all(&config.faults, &place.key("faults"), issues);
        let mut meant = BTreeMap::new();
        let shared = Shared { machines: &config.machines, place: place.key("machines") };
        for Named { name, place, words, .. } in tools {
            let faults = Fault::check_all(&words.faults, &place.key("faults"), issues);
            let ToolWords { machine, state_machine, input, approvals, .. } = words;
            let Some((machine, at)) = shared.machine_of(machine, state_machine, &place, issues) else { continue };
            let words = with_approvals(machine, &approvals, &place, issues);
            match Machine::parse(&words, &at) {
                Ok(machine) => {
                    meant.insert(name, Tool { machine, stored_as: machine_name(&words), words, input, faults });
                }
                Err(found) => issues.extend_under(&Place::root(), found),
            }
        }
        let Config { latency, idempotent, find, cancel, .. } = config;
        let settings = Settings { latency: latency.get(), faults, idempotent, find, cancel };
        Some(Checked { settings, tools: meant, memory: Memory::default() })
    }

    fn build(checked: &Checked, deps: &Deps) -> Result<MockAdapter, Issue> {
        let world = match &deps.data_dir {
            Some(folder) => World::folder(folder, &deps.provider),
            None => World::Memory(checked.memory.clone()),
        };
        Ok(MockAdapter::new(checked.settings.clone(), checked.tools.clone(), world, deps.clock.clone()))
    }
}

/// The machines that a provider's tools share.
struct Shared<'a> {
    machines: &'a BTreeMap<String, Map<String, Value>>,
    place: Place,
}

impl Shared<'_> {
    /// A tool's own machine, or the one that it names, and where its words are.
    fn machine_of(
        &self,
        own: Option<Map<String, Value>>,
        named: Option<String>,
        tool: &Place,
        issues: &mut Issues,
    ) -> Option<(Map<String, Value>, Place)> {
        match (own, named) {
            (Some(own), None) => Some((own, tool.key("machine"))),
            (None, Some(name)) => {
                // An ARN names its machine last but for a version.
                let short = name.split(":stateMachine:").last().and_then(|it| it.split(':').next()).unwrap_or(&name);
                if let Some(machine) = self.machines.get(short) {
                    return Some((machine.clone(), self.place.key(short)));
                }
                let known: Vec<&str> = self.machines.keys().map(String::as_str).collect();
                let message = format!("the provider has no machine `{short}`");
                match known.as_slice() {
                    [] => issues.add_with_hint(tool.key("state_machine"), message, format!("{}: {{ {short}: … }}", self.place)),
                    _ => issues.add_with_hint(tool.key("state_machine"), message, format!("one of {}", known.join(", "))),
                }
                None
            }
            (Some(_), Some(_)) | (None, None) => {
                let message = "a job has either its own `machine`, or the name of one of the provider's: `state_machine`";
                issues.add_with_hint(tool.clone(), message, "state_machine: deploy");
                None
            }
        }
    }
}

/// The machine with what the tool says of its states that wait for a task token.
fn with_approvals(
    machine: Map<String, Value>,
    approvals: &BTreeMap<String, ApprovalWords>,
    place: &Place,
    issues: &mut Issues,
) -> Value {
    let mut machine = Value::Object(machine);
    for (state, words) in approvals {
        let words = serde_json::to_value(words).expect("words can be written as JSON");
        if !mark(&mut machine, state, &words) {
            issues.add(
                place.key("approvals").key(state),
                format!("the machine has no state `{state}` that waits for a task token"),
            );
        }
    }
    machine
}

/// Writes `words` to the state of this name, which may lie in a branch; whether there is one that waits for a task token.
fn mark(scope: &mut Value, name: &str, words: &Value) -> bool {
    let Some(states) = scope.get_mut("States").and_then(Value::as_object_mut) else { return false };
    if let Some(state) = states.get_mut(name) {
        let waits = state.get("Resource").and_then(Value::as_str).is_some_and(|resource| resource.ends_with(TASK_TOKEN));
        if waits && let Some(fields) = state.as_object_mut() {
            fields.insert("MockApproval".to_owned(), words.clone());
        }
        return waits;
    }
    states.values_mut().any(|state| {
        let branches = state.get_mut("Branches").and_then(Value::as_array_mut);
        if branches.is_some_and(|branches| branches.iter_mut().any(|branch| mark(branch, name, words))) {
            return true;
        }
        ["ItemProcessor", "Iterator"].iter().any(|inner| state.get_mut(*inner).is_some_and(|inner| mark(inner, name, words)))
    })
}
