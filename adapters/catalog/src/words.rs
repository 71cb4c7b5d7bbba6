//! What an author writes: the words of an `adapter.yaml`.

use std::collections::BTreeMap;

use jobgate_adapter_rest::{Job, Provider};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A job API, described once for everybody.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryWords {
    /// What people call it, for example `Replicate`.
    pub title: String,
    /// One sentence: which jobs it runs.
    pub about: String,
    /// Where the API is described.
    pub facts: String,
    /// Which version of the API, and of its description, the words are of, for example `API v1, 2026-11`.
    pub as_of: String,
    /// What a provider section says beside `adapter` and the words of every provider, by name.
    #[serde(default)]
    pub settings: BTreeMap<String, Setting>,
    /// The words of a provider of `adapter: rest`. A text `setting:NAME` stands for the secret that the setting names;
    /// `{{ settings.NAME }}` for any other setting. A word (`auth`) that needs an optional secret which is not given is left out, of
    /// `tls` the part that needs it.
    #[schemars(with = "Provider")]
    pub provider: Map<String, Value>,
    /// What a provider's `webhook` section need not say. Used only where the user writes `webhook`.
    #[serde(default)]
    pub webhook: Map<String, Value>,
    /// Its tools, by name.
    pub tools: BTreeMap<String, PresetWords>,
}

/// Something that the user says of their account.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Setting {
    /// What it is, in one sentence.
    pub description: String,
    /// The value is a reference to a secret: `env:NAME` or `file:PATH`.
    pub secret: bool,
    /// It may be left out.
    pub optional: bool,
    /// What it is where the user says nothing.
    pub default: Option<Value>,
    /// A right value.
    pub example: Option<Value>,
    /// What the value is.
    #[serde(rename = "type")]
    pub kind: SettingType,
    /// The values that it may have.
    pub choices: Option<Vec<String>>,
    /// A regular expression that the whole text has to match.
    pub pattern: Option<String>,
}

/// What a setting's value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingType {
    /// Text.
    #[default]
    String,
    /// A whole number.
    Integer,
    /// Yes or no.
    Boolean,
}

/// A tool, as far as the API decides what it is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresetWords {
    /// What people see in a list of tools.
    pub title: Option<String>,
    /// What a model reads to decide on a call: what it does, how long it takes, what comes back.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments.
    pub input: Value,
    /// JSON Schema (2020-12) of the structured result.
    pub output: Option<Value>,
    /// Hints for clients.
    pub annotations: Option<Value>,
    /// How its tasks are kept, watched and ended, where the API gives a reason.
    pub task: Option<Value>,
    /// The words of a `job` section of `adapter: rest`.
    #[schemars(with = "Job")]
    pub job: Value,
}

/// The JSON Schema (draft 2020-12) of an `adapter.yaml`.
#[must_use]
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<EntryWords>().to_value();
    // Nobody's secret is the same for everybody: an entry names a setting.
    schema["$defs"]["SecretRef"] = json!({
        "description": "Which setting says where the secret is: `setting:NAME`.",
        "type": "string",
        "pattern": "^(setting:[a-z][a-z0-9_]*|env:.+|file:.+)$",
        "examples": ["setting:token"],
    });
    schema
}

impl PresetWords {
    /// As a tool section would say it.
    pub(crate) fn section(&self) -> Map<String, Value> {
        let words = [
            ("title", self.title.clone().map(Value::from)),
            ("description", Some(Value::from(self.description.clone()))),
            ("input", Some(self.input.clone())),
            ("output", self.output.clone()),
            ("annotations", self.annotations.clone()),
            ("task", self.task.clone()),
            ("job", Some(self.job.clone())),
        ];
        words.into_iter().filter_map(|(word, value)| Some((word.to_owned(), value?))).collect()
    }
}
