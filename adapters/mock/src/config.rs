//! Words to meaning to thing: a provider section, a tool's `job:` section, and the kind `mock`.

use std::collections::BTreeMap;
use std::time::Duration;

use jobgate_adapter_api::{AdapterSpec, Deps, HumanDuration, Issue, Issues, Place, ToolWords as Named};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::adapter::MockAdapter;
use crate::asl::Machine;
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
}

impl Default for Config {
    fn default() -> Self {
        Self { latency: HumanDuration::default(), faults: Vec::new(), idempotent: true, find: true, cancel: true }
    }
}

/// A tool's `job:` section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolWords {
    /// What the job does: a state machine in the Amazon States Language (JSONPath flavour). The caller's arguments are its
    /// input, what its last state hands on is the result.
    pub(crate) machine: Map<String, Value>,
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
        for Named { name, place, words, .. } in tools {
            let faults = Fault::check_all(&words.faults, &place.key("faults"), issues);
            let words = Value::Object(words.machine);
            match Machine::parse(&words, &place.key("machine")) {
                Ok(machine) => {
                    meant.insert(name, Tool { machine, stored_as: machine_name(&words), words, faults });
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
