//! Kinds made of entries: their settings filled in, and all else left to `rest`.

use jobgate_adapter_api::{AdapterFactory, CheckedAdapter, Issues, Place, Preset, ToolWords, factory};
use jobgate_adapter_rest::{Job, Provider, Rest};
use schemars::{JsonSchema as _, Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::Entry;
use crate::entries::Source;
use crate::settings::{self, COMMON};

/// The kind of an entry: of the binary, or one that somebody writes.
#[derive(Debug)]
pub(crate) enum Kind {
    Built(&'static Source),
    Own(Box<Entry>),
}

impl Kind {
    fn entry(&self) -> &Entry {
        match self {
            Self::Built(source) => source.entry(),
            Self::Own(entry) => entry,
        }
    }
}

impl AdapterFactory for Kind {
    fn kind(&self) -> &str {
        match self {
            // Without reading it.
            Self::Built(source) => source.name,
            Self::Own(entry) => entry.name(),
        }
    }

    fn provider_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        Delegate(self.entry()).provider_schema(generator)
    }

    fn tool_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Job>()
    }

    fn presets(&self) -> Vec<Preset> {
        Delegate(self.entry()).presets()
    }

    fn sample(&self) -> Option<Map<String, Value>> {
        Some(self.entry().example())
    }

    fn webhook(&self) -> Map<String, Value> {
        self.entry().words().webhook.clone()
    }

    fn check(
        &self,
        place: &Place,
        config: Value,
        tools: Vec<ToolWords<Value>>,
        issues: &mut Issues,
    ) -> Option<Box<dyn CheckedAdapter>> {
        Delegate(self.entry()).check(place, config, tools, issues)
    }
}

/// What an entry does, wherever it was read from.
#[derive(Debug)]
pub(crate) struct Delegate<'a>(pub(crate) &'a Entry);

impl Delegate<'_> {
    pub(crate) fn presets(&self) -> Vec<Preset> {
        let tools = self.0.words().tools.iter();
        tools.map(|(name, tool)| Preset { name: name.clone(), words: tool.section() }).collect()
    }

    pub(crate) fn provider_schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let rest = Provider::json_schema(generator);
        let mut schema = settings::schema(self.0.words(), generator);
        for word in COMMON {
            if let Some(of_rest) = rest.get("properties").and_then(|words| words.get(word)) {
                schema["properties"][word] = of_rest.clone();
            }
        }
        Schema::try_from(schema).unwrap_or_default()
    }

    pub(crate) fn check(
        &self,
        place: &Place,
        config: Value,
        tools: Vec<ToolWords<Value>>,
        issues: &mut Issues,
    ) -> Option<Box<dyn CheckedAdapter>> {
        let before = issues.iter().count();
        let provider = settings::fill(self.0.words(), place, &config, issues);
        let checked = factory::<Rest>().check(place, Value::Object(provider), tools, issues);
        checked.filter(|_| issues.iter().count() == before)
    }
}
