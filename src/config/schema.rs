//! The JSON Schema of a whole configuration: the common words, with every adapter's own words merged in.

use jobgate_adapter_api::AdapterFactory;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::auth::AuthWords;
use super::limits::LimitWords;
use super::store::StoreWords;
use super::words::{ProviderWords, ServerWords, ToolWords};
use crate::registry::Registry;

/// Names of providers and tools: what every client accepts.
pub(super) const NAME_PATTERN: &str = "^[a-zA-Z0-9_-]{1,64}$";

/// What is no name of a kind but an adapter file.
const FILE_PATTERN: &str = r"/|\.ya?ml$";

/// The schemas of all sections over one set of definitions.
#[derive(Debug)]
pub(super) struct Schemas {
    definitions: Map<String, Value>,
    root: Value,
    /// The kinds that bring ready tools along, and what a `job` section of theirs is.
    ready: Map<String, Value>,
}

impl Schemas {
    pub(super) fn of(registry: &Registry) -> Self {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        for schema in [
            generator.subschema_for::<ServerWords>(),
            generator.subschema_for::<StoreWords>(),
            generator.subschema_for::<AuthWords>(),
            generator.subschema_for::<LimitWords>(),
            generator.subschema_for::<ToolWords>(),
        ] {
            debug_assert!(schema.as_value().get("$ref").is_some(), "sections have definitions of their own");
        }
        let common = ProviderWords::json_schema_of(&mut generator);
        let own: Vec<(&dyn AdapterFactory, Value, Value)> = registry
            .iter()
            .map(|adapter| {
                (adapter, adapter.provider_schema(&mut generator).to_value(), adapter.tool_schema(&mut generator).to_value())
            })
            .collect();
        let mut definitions = generator.take_definitions(true);
        let kinds: Vec<&str> = own.iter().map(|(adapter, ..)| adapter.kind()).collect();
        let mut provider_rules = Vec::new();
        let (mut jobs, mut ready) = (Vec::new(), Map::new());
        for (adapter, provider, job) in &own {
            let kind = adapter.kind();
            let merged = merge(kind, &common, resolve(&definitions, provider));
            definitions.insert(provider_definition(kind), merged);
            provider_rules.push(json!({
                "if": { "properties": { "adapter": { "const": kind } }, "required": ["adapter"] },
                "then": { "$ref": format!("#/$defs/{}", provider_definition(kind)) },
            }));
            if adapter.presets().is_empty() {
                definitions.insert(job_definition(kind), resolve(&definitions, job).clone());
                jobs.push(json!({ "$ref": format!("#/$defs/{}", job_definition(kind)) }));
            } else {
                ready.insert(kind.to_owned(), job.clone());
            }
        }
        // A section that uses a ready tool says what differs from it: any part of a job, each part whole.
        let parts =
            ready.values().next().map(|job| json!({ "type": "object", "properties": resolve(&definitions, job)["properties"] }));
        jobs.extend(parts);
        if let Some(Value::Object(tool)) = definitions.get_mut("Tool").and_then(|tool| tool.pointer_mut("/properties/job")) {
            tool.insert("anyOf".to_owned(), Value::Array(jobs));
        }
        let root = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "jobgate configuration",
            "description": "Tools that callers see, and the providers that run their jobs.",
            "type": "object",
            "properties": {
                "server": { "$ref": "#/$defs/Server" },
                "store": { "$ref": "#/$defs/Store" },
                "auth": { "$ref": "#/$defs/CallerAuth" },
                "limits": { "$ref": "#/$defs/Limits" },
                "providers": {
                    "description": "Accounts at external systems that run jobs, by name. A name has letters, digits, `_` and `-`.",
                    "type": "object",
                    "minProperties": 1,
                    "propertyNames": { "pattern": NAME_PATTERN },
                    "additionalProperties": {
                        "type": "object",
                        "properties": { "adapter": {
                            "description": "Which kind of job API this is: a name, or an adapter file, from the folder of the configuration.",
                            "anyOf": [{ "enum": kinds }, { "type": "string", "pattern": FILE_PATTERN }],
                            "examples": ["rest", "./my-api.yaml"],
                        } },
                        "required": ["adapter"],
                        "allOf": provider_rules,
                    },
                    "examples": [{ "render": { "adapter": "rest" } }],
                },
                "tools": {
                    "description": "Operations that callers see, by name. A name has letters, digits, `_` and `-`.",
                    "type": "object",
                    "minProperties": 1,
                    "propertyNames": { "pattern": NAME_PATTERN },
                    "additionalProperties": { "$ref": "#/$defs/Tool" },
                    "examples": [{ "render_video": { "provider": "render", "description": "Renders a video." } }],
                },
            },
            "required": ["providers"],
            "additionalProperties": false,
        });
        Self { definitions, root, ready }
    }

    /// The whole, for editors. A section that uses a ready tool need not say what that says.
    pub(super) fn document(&self) -> Value {
        let mut document = self.over_definitions(self.root.clone());
        document["$defs"]["Tool"]["required"] = json!(["provider"]);
        for kind in self.ready.keys() {
            // Nor need its `webhook` name the scheme.
            let webhook = &mut document["$defs"][provider_definition(kind)]["properties"]["webhook"];
            let whole = webhook.take();
            let description = whole["description"].clone();
            *webhook =
                json!({ "description": description, "anyOf": [whole, { "type": "object", "not": { "required": ["scheme"] } }] });
        }
        document
    }

    /// The root alone: which sections there are and what type they have. Without `tools` only where providers offer some.
    pub(super) fn shallow_root(&self, has_tools: bool) -> Value {
        let mut root = self.root.clone();
        if !has_tools {
            root["required"] = json!(["providers", "tools"]);
        }
        for (name, section) in root.pointer_mut("/properties").and_then(Value::as_object_mut).into_iter().flatten() {
            if name == "auth" {
                // A word or a mapping: its own definition tells them apart.
                *section = json!({});
                continue;
            }
            let examples = match name.as_str() {
                "server" => json!([{ "listen": "127.0.0.1:8080" }]),
                "store" => json!([{ "path": "./jobgate-data" }]),
                "limits" => json!([{ "live_tasks_per_principal": 1000 }]),
                _ => section["examples"].take(),
            };
            *section = json!({ "type": "object", "minProperties": section.get("minProperties").unwrap_or(&json!(0)), "examples": examples });
        }
        root
    }

    /// One definition as a schema of its own.
    pub(super) fn section(&self, name: &str) -> Value {
        self.over_definitions(json!({ "$ref": format!("#/$defs/{name}") }))
    }

    /// The `job` section of a kind.
    pub(super) fn job(&self, kind: &str) -> Value {
        self.ready.get(kind).map_or_else(|| self.section(&job_definition(kind)), |job| self.over_definitions(job.clone()))
    }

    /// The tool section without its adapter's part, which has a schema of its own.
    pub(super) fn tool(&self) -> Value {
        let mut schema = self.section("Tool");
        if let Some(job) = schema.pointer_mut("/$defs/Tool/properties/job").and_then(Value::as_object_mut) {
            job.remove("anyOf");
        }
        schema
    }

    fn over_definitions(&self, mut schema: Value) -> Value {
        schema["$defs"] = Value::Object(self.definitions.clone());
        schema
    }
}

impl ProviderWords {
    fn json_schema_of(generator: &mut SchemaGenerator) -> Value {
        <Self as schemars::JsonSchema>::json_schema(generator).to_value()
    }
}

/// The name of a provider section's definition.
pub(super) fn provider_definition(kind: &str) -> String {
    format!("Provider_{}", plain(kind))
}

/// The name of a `job` section's definition.
pub(super) fn job_definition(kind: &str) -> String {
    format!("Job_{}", plain(kind))
}

/// A kind as part of a path: one that is a file has signs which mean something there.
fn plain(kind: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-');
    kind.chars().map(|sign| if plain(sign) { sign.to_string() } else { format!("_{:x}", u32::from(sign)) }).collect()
}

/// The common words and an adapter's own in one closed mapping.
fn merge(kind: &str, common: &Value, own: &Value) -> Value {
    let mut merged = own.clone();
    let mut properties = common["properties"].as_object().cloned().unwrap_or_default();
    properties.insert("adapter".to_owned(), json!({ "description": "Which kind of job API this is.", "const": kind }));
    properties.extend(own["properties"].as_object().cloned().unwrap_or_default());
    let mut required = vec![json!("adapter")];
    required.extend(own["required"].as_array().cloned().unwrap_or_default());
    merged["type"] = json!("object");
    merged["properties"] = Value::Object(properties);
    merged["required"] = Value::Array(required);
    merged["additionalProperties"] = json!(false);
    merged
}

/// What a `$ref` to one of `definitions` stands for.
fn resolve<'a>(definitions: &'a Map<String, Value>, schema: &'a Value) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/"));
    name.and_then(|name| definitions.get(name)).unwrap_or(schema)
}

/// The JSON Schema (draft 2020-12) of a configuration with `registry`'s adapters, for editors.
#[must_use]
pub fn schema(registry: &Registry) -> Value {
    Schemas::of(registry).document()
}

/// The words that an adapter's provider section has of its own.
pub(super) fn is_common_word(word: &str) -> bool {
    matches!(word, "adapter" | "concurrency" | "rate" | "call_timeout" | "webhook")
}

/// Whether `adapter` is the kind that `name` asks for.
pub(super) fn kinds(registry: &Registry) -> Vec<&str> {
    registry.iter().map(<dyn AdapterFactory>::kind).collect()
}
