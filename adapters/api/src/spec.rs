//! What an author writes once per kind: words, meaning, construction: three steps that cannot be mixed up.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Adapter, Clock, Issue, Issues, Place, Preset, Random, SecretSource, Transport};

/// One kind of job API.
pub trait AdapterSpec: fmt::Debug + Send + Sync + 'static {
    /// What users write after `adapter:`.
    const KIND: &'static str;
    /// The words of a provider section beyond the common ones. `deny_unknown_fields`.
    type Config: DeserializeOwned + JsonSchema;
    /// The words of a tool's `job:` section. `deny_unknown_fields`.
    type Tool: DeserializeOwned + JsonSchema;
    /// What the words mean: parsed URLs, compiled templates, total status rules.
    type Checked: Send + Sync + 'static;
    /// What it builds.
    type Adapter: Adapter;

    /// From words to meaning. Pure: no network, no environment, no clock. Collects every issue; the provider section
    /// lies at `place`, each tool's `job:` section at [`ToolWords::place`].
    fn check(
        place: &Place,
        config: Self::Config,
        tools: Vec<ToolWords<Self::Tool>>,
        issues: &mut Issues,
    ) -> Option<Self::Checked>;

    /// Whether a submit hands the provider an address to deliver to ([`crate::CallContext::callback_url`]): then a provider with a webhook
    /// needs the gateway to know its public address.
    fn uses_callback(checked: &Self::Checked) -> bool {
        let _ = checked;
        false
    }

    /// Whether a submit cannot be made without that address: then the provider has to have a webhook.
    fn needs_callback(checked: &Self::Checked) -> bool {
        Self::uses_callback(checked)
    }

    /// Whether deliveries of this provider can be read; without it a webhook would lead nowhere.
    fn reads_deliveries(checked: &Self::Checked) -> bool {
        let _ = checked;
        false
    }

    /// Whether deliveries alone tell how jobs of `tool` end well, known before anything is built: wherever
    /// [`crate::Capabilities::pushed_only`] will be true, and where a look shows no more than that a job was lost.
    fn pushed_only(checked: &Self::Checked, tool: &str) -> bool {
        let _ = (checked, tool);
        false
    }

    /// What is called when, in plain sentences: of a tool with these words, which have been checked. A kind without sentences says none.
    fn explain(config: &Value, tool: &Value) -> Vec<String> {
        let _ = (config, tool);
        Vec::new()
    }

    /// From meaning to thing. May read secrets. Must not spawn, must not call the provider.
    fn build(checked: &Self::Checked, deps: &Deps) -> Result<Self::Adapter, Issue>;
}

/// A tool's words for its adapter.
#[derive(Clone, Debug)]
pub struct ToolWords<T> {
    /// The tool's name.
    pub name: String,
    /// The tool's JSON Schema for arguments, for checks against templates.
    pub input_schema: Value,
    /// Where the section is, for issues.
    pub place: Place,
    /// The section.
    pub words: T,
}

/// The world, as values.
#[derive(Clone, Debug)]
pub struct Deps {
    /// The provider's name in the configuration.
    pub provider: String,
    /// The place of the provider's section, for issues.
    pub place: Place,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Secrets.
    pub secrets: Arc<dyn SecretSource>,
    /// HTTP.
    pub transport: Transport,
    /// A folder for adapters that are their own provider (the mock); not for per-job memory.
    pub data_dir: Option<PathBuf>,
}

/// The erased face of an [`AdapterSpec`], for the registry.
pub trait AdapterFactory: fmt::Debug + Send + Sync {
    /// What users write after `adapter:`.
    fn kind(&self) -> &str;
    /// The schema of a provider section's own words.
    fn provider_schema(&self, generator: &mut SchemaGenerator) -> Schema;
    /// The schema of a tool's `job:` section.
    fn tool_schema(&self, generator: &mut SchemaGenerator) -> Schema;
    /// The tools that this kind describes already; most kinds have none.
    fn presets(&self) -> Vec<Preset> {
        Vec::new()
    }
    /// A right provider section of this kind, without the common words: the example that people start from. Where there is none, none.
    fn sample(&self) -> Option<Map<String, Value>> {
        None
    }
    /// What a provider's `webhook` section of this kind need not say; used where the user writes one.
    fn webhook(&self) -> Map<String, Value> {
        Map::new()
    }
    /// Words to meaning; pure. `place` is where the provider section is.
    fn check(
        &self,
        place: &Place,
        config: Value,
        tools: Vec<ToolWords<Value>>,
        issues: &mut Issues,
    ) -> Option<Box<dyn CheckedAdapter>>;
}

/// Checked words, ready to build.
pub trait CheckedAdapter: fmt::Debug + Send + Sync {
    /// Meaning to thing.
    fn build(&self, deps: &Deps) -> Result<Arc<dyn Adapter>, Issue>;
    /// See [`AdapterSpec::uses_callback`].
    fn uses_callback(&self) -> bool;
    /// See [`AdapterSpec::needs_callback`].
    fn needs_callback(&self) -> bool {
        self.uses_callback()
    }
    /// See [`AdapterSpec::reads_deliveries`].
    fn reads_deliveries(&self) -> bool;
    /// See [`AdapterSpec::pushed_only`].
    fn pushed_only(&self, tool: &str) -> bool;
    /// See [`AdapterSpec::explain`].
    fn explain(&self, tool: &str) -> Vec<String> {
        let _ = tool;
        Vec::new()
    }
}

/// The erased face of `S`.
#[must_use]
pub fn factory<S: AdapterSpec>() -> Box<dyn AdapterFactory> {
    Box::new(Erased::<S>(PhantomData))
}

struct Erased<S>(PhantomData<fn() -> S>);

impl<S: AdapterSpec> fmt::Debug for Erased<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdapterFactory({})", S::KIND)
    }
}

impl<S: AdapterSpec> AdapterFactory for Erased<S> {
    fn kind(&self) -> &str {
        S::KIND
    }

    fn provider_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<S::Config>()
    }

    fn tool_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<S::Tool>()
    }

    fn check(
        &self,
        place: &Place,
        config: Value,
        tools: Vec<ToolWords<Value>>,
        issues: &mut Issues,
    ) -> Option<Box<dyn CheckedAdapter>> {
        let words =
            Written { config: config.clone(), tools: tools.iter().map(|it| (it.name.clone(), it.words.clone())).collect() };
        let config: Option<S::Config> = typed(config, place, issues);
        let named = tools.len();
        let tools: Vec<ToolWords<S::Tool>> = tools
            .into_iter()
            .filter_map(|ToolWords { name, input_schema, place, words }| {
                typed(words, &place, issues).map(|words| ToolWords { name, input_schema, place, words })
            })
            .collect();
        let complete = tools.len() == named;
        let mut found = Issues::new();
        let checked = S::check(place, config?, tools, &mut found);
        let clean = found.is_empty();
        issues.extend_under(&Place::root(), found);
        checked.filter(|_| clean && complete).map(|checked| Box::new(Meaning::<S> { checked, words }) as Box<dyn CheckedAdapter>)
    }
}

/// Reads a section into its words, or notes why that cannot be, at the word that is wrong.
fn typed<T: DeserializeOwned>(value: Value, place: &Place, issues: &mut Issues) -> Option<T> {
    match serde_path_to_error::deserialize(value) {
        Ok(words) => Some(words),
        Err(error) => {
            let place = error.path().iter().fold(place.clone(), |place, step| match step {
                serde_path_to_error::Segment::Seq { index } => place.index(*index),
                serde_path_to_error::Segment::Map { key } => place.key(key),
                serde_path_to_error::Segment::Enum { variant } => place.key(variant),
                serde_path_to_error::Segment::Unknown => place,
            });
            issues.add(place, error.inner().to_string());
            None
        }
    }
}

struct Meaning<S: AdapterSpec> {
    checked: S::Checked,
    words: Written,
}

/// The words as they were written, for those who want them explained.
struct Written {
    config: Value,
    tools: BTreeMap<String, Value>,
}

impl<S: AdapterSpec> fmt::Debug for Meaning<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckedAdapter({})", S::KIND)
    }
}

impl<S: AdapterSpec> CheckedAdapter for Meaning<S> {
    fn build(&self, deps: &Deps) -> Result<Arc<dyn Adapter>, Issue> {
        S::build(&self.checked, deps).map(|adapter| Arc::new(adapter) as Arc<dyn Adapter>)
    }

    fn uses_callback(&self) -> bool {
        S::uses_callback(&self.checked)
    }

    fn needs_callback(&self) -> bool {
        S::needs_callback(&self.checked)
    }

    fn reads_deliveries(&self) -> bool {
        S::reads_deliveries(&self.checked)
    }

    fn pushed_only(&self, tool: &str) -> bool {
        S::pushed_only(&self.checked, tool)
    }

    fn explain(&self, tool: &str) -> Vec<String> {
        self.words.tools.get(tool).map_or_else(Vec::new, |words| S::explain(&self.words.config, words))
    }
}
