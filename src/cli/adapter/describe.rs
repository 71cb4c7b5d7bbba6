//! `jobgate adapter list`, `show` and `explain`: which kinds of job API this program knows, what a kind needs and brings, and what will be called when.

use std::path::Path;

use jobgate_adapter_api::{AdapterFactory, CheckedAdapter, Issues, Place, ToolWords};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::super::out::{Ended, Failure, code, note, result};
use super::subject::{Subject, subject};
use crate::config;
use crate::registry::Registry;

/// Every kind, with what it is for; those of `file`, too.
pub(super) fn list(file: Option<&Path>) -> Ended {
    let registry = match file.map(subject).transpose()? {
        None => Registry::built_in(),
        Some(Subject::Kind(kind)) => Registry::built_in().with(kind),
        Some(Subject::Configuration(checked, _)) => checked.kinds,
    };
    let widest = registry.iter().map(|adapter| adapter.kind().len()).max().unwrap_or(0);
    for adapter in registry.iter() {
        let about = words(adapter)["description"].as_str().map(first_line).unwrap_or_default();
        result(format!("{:widest$}  {about}", adapter.kind()));
    }
    Ok(0)
}

/// What a kind needs and brings.
pub(super) fn show(name: &str) -> Ended {
    let registry = Registry::built_in();
    let registry = match config::names_file(name).then(|| subject(Path::new(name))).transpose()? {
        Some(Subject::Kind(kind)) => registry.with(kind),
        Some(Subject::Configuration(..)) => {
            let hint = format!("`jobgate adapter list {name}` lists the kinds that it may name");
            return Err(Failure::usage(format!("{name} is a configuration and no adapter file")).hint(hint));
        }
        None => registry,
    };
    let adapter = known(&registry, name)?;
    let words = words(adapter);
    result(words["title"].as_str().unwrap_or(name));
    result(words["description"].as_str().unwrap_or_default());
    result("\nSettings of a provider section:");
    let required: Vec<&str> = words["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (word, meaning) in words["properties"].as_object().into_iter().flatten() {
        let must = if required.contains(&word.as_str()) { " (required)" } else { "" };
        result(format!("  {word}{must}: {}", meaning["description"].as_str().map(first_line).unwrap_or_default()));
    }
    let presets = adapter.presets();
    if !presets.is_empty() {
        result("\nReady tools, for `use`:");
    }
    for preset in &presets {
        result(format!("  {}: {}", preset.name, preset.words["description"].as_str().unwrap_or_default()));
        let required = preset.words["input"]["required"].clone();
        let must = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|one| one == name));
        for (name, schema) in preset.words["input"]["properties"].as_object().into_iter().flatten() {
            let about = schema["description"].as_str().map(|about| format!(": {about}")).unwrap_or_default();
            result(format!("    {name}{}{about}", if must(name) { " (required)" } else { "" }));
        }
    }
    if let (Some(sample), Some(preset)) = (adapter.sample(), presets.first()) {
        let settings = sample.iter().map(|(word, value)| format!(", {word}: {}", plain(value))).collect::<String>();
        let provider = if config::names_file(name) { "my_provider" } else { name };
        result(format!("\nproviders:\n  {provider}: {{ adapter: {name}{settings} }}"));
        result(format!("tools:\n  my_tool: {{ provider: {provider}, use: {} }}", preset.name));
    }
    Ok(0)
}

/// What is called when: of the tools of a configuration, of an entry of the catalog, or of an adapter file.
pub(super) fn explain(file: &Path, tool: Option<&str>) -> Ended {
    let checked = match subject(file)? {
        Subject::Kind(kind) => return of_entry(kind.as_ref(), tool),
        Subject::Configuration(checked, _) => checked,
    };
    let tools: Vec<String> = checked.tools.iter().map(|tool| tool.name.to_string()).collect();
    for named in checked.tools.iter().filter(|named| tool.is_none_or(|tool| tool == named.name.as_str())) {
        let provider = checked.providers.iter().find(|provider| provider.name == named.provider);
        provider.iter().for_each(|provider| tell(named.name.as_str(), provider.adapter.as_ref()));
    }
    found(tool, &tools)
}

/// An entry's tools, with its own examples for what a user would have to say.
fn of_entry(adapter: &dyn AdapterFactory, tool: Option<&str>) -> Ended {
    let presets = adapter.presets();
    let place = Place::root();
    let tools = presets.iter().map(|preset| ToolWords {
        name: preset.name.clone(),
        input_schema: preset.words["input"].clone(),
        place: place.key("tools").key(&preset.name).key("job"),
        words: preset.words["job"].clone(),
    });
    let sample = Value::Object(adapter.sample().unwrap_or_default());
    let mut issues = Issues::new();
    let Some(checked) = adapter.check(&place.key("provider"), sample, tools.collect(), &mut issues) else {
        for issue in &issues {
            let hint = issue.hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            note(format!("{}: {}: {}{hint}", adapter.kind(), issue.place, issue.message));
        }
        return Ok(code::USAGE);
    };
    let names: Vec<String> = presets.into_iter().map(|preset| preset.name).collect();
    for name in names.iter().filter(|name| tool.is_none_or(|tool| tool == **name)) {
        tell(name, checked.as_ref());
    }
    found(tool, &names)
}

fn tell(tool: &str, adapter: &dyn CheckedAdapter) {
    result(format!("{tool}:"));
    let lines = adapter.explain(tool);
    if lines.is_empty() {
        result("  This kind says nothing of its calls.");
    }
    for line in lines {
        result(format!("  {line}"));
    }
}

fn found(tool: Option<&str>, tools: &[String]) -> Ended {
    match tool {
        Some(tool) if !tools.iter().any(|known| known == tool) => {
            Err(Failure::usage(format!("there is no tool `{tool}`")).hint(format!("tools: {}", tools.join(", "))))
        }
        Some(_) | None => Ok(0),
    }
}

fn known<'a>(registry: &'a Registry, name: &str) -> Result<&'a dyn AdapterFactory, Failure> {
    registry.get(name).ok_or_else(|| {
        let kinds: Vec<&str> = registry.iter().map(|adapter| adapter.kind()).collect();
        Failure::usage(format!("there is no adapter `{name}`")).hint(format!("adapters: {}", kinds.join(", ")))
    })
}

/// The schema of a kind's own words.
pub(super) fn words(adapter: &dyn AdapterFactory) -> Value {
    let mut generator = SchemaGenerator::default();
    let schema = adapter.provider_schema(&mut generator).to_value();
    let definitions = json!({ "$defs": generator.take_definitions(true) });
    let path = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| definitions.pointer(path)).cloned().unwrap_or(schema)
}

fn first_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
