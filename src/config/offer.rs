//! The tool sections that there are: those of the file, each filled in with the ready tool that it uses, and the ready tools of providers
//! that no tool names.

use jobgate_adapter_api::{AdapterFactory, Place, Preset};
use serde_json::{Map, Value, json};

use super::Loader;
use super::structure::choice;

/// A tool section with everything in it.
#[derive(Debug)]
pub(super) struct ToolSection {
    /// The tool's name.
    pub(super) name: String,
    /// Where it is written; for a ready tool that nobody wrote, its provider's place.
    pub(super) place: Place,
    /// Its words.
    pub(super) words: Value,
    /// The kind of its provider, where there is one.
    pub(super) kind: Option<String>,
}

impl Loader<'_> {
    /// All of them, in the order of the file; what cannot be filled in is told and left as it is.
    pub(super) fn tool_sections(&mut self, providers: &Map<String, Value>, tools: &Map<String, Value>) -> Vec<ToolSection> {
        let names: Vec<String> = providers.keys().cloned().collect();
        let of = |tool: &Value| tool["provider"].as_str().and_then(|name| providers.get(name)).cloned().unwrap_or_default();
        let mut sections = Vec::new();
        for (name, written) in tools {
            let place = Place::root().key("tools").key(name.as_str());
            let factory = self.factory_of(&written["provider"], providers, &names, &place);
            let words = factory.map(|factory| self.filled(name, written, factory, &place));
            // What could not be filled in is told; without its kind nothing more is asked of its job.
            let kind = factory.filter(|_| matches!(words, Some(Some(_)))).map(|factory| factory.kind().to_owned());
            let unusable = || of(written)["adapter"].as_str().is_some_and(|kind| self.unusable.contains(kind));
            let words = words.flatten();
            let words =
                words.unwrap_or_else(|| if factory.is_some() || unusable() { with_stand_in(written) } else { written.clone() });
            sections.push(ToolSection { name: name.clone(), place, words, kind });
        }
        for provider in names.iter().filter(|provider| !tools.values().any(|tool| tool["provider"] == **provider)) {
            self.offer(provider, &providers[provider], tools, &mut sections);
        }
        sections
    }

    /// Every ready tool of a provider that no tool names.
    fn offer(&mut self, provider: &str, section: &Value, tools: &Map<String, Value>, sections: &mut Vec<ToolSection>) {
        let place = Place::root().key("providers").key(provider);
        let Some(factory) = section["adapter"].as_str().and_then(|kind| self.registry.get(kind)) else { return };
        for preset in factory.presets() {
            let name = format!("{provider}_{}", preset.name);
            if tools.contains_key(&name) {
                let message = format!("offers its ready tool as `{name}`, and another tool has that name");
                let hint = format!("write `tools: {{ my_tool: {{ provider: {provider}, use: {} }} }}`", preset.name);
                self.issues.add_with_hint(place.clone(), message, hint);
                continue;
            }
            let mut words = preset.words;
            words.insert("provider".to_owned(), json!(provider));
            let place = place.clone();
            sections.push(ToolSection { name, place, words: Value::Object(words), kind: Some(factory.kind().to_owned()) });
        }
    }

    /// A section with what the ready tool says that it uses: by `use`, or by its name. `None` where there is no such ready tool.
    fn filled(&mut self, name: &str, written: &Value, factory: &dyn AdapterFactory, place: &Place) -> Option<Value> {
        let presets = factory.presets();
        let wanted = written["use"].as_str();
        if let Some(preset) = presets.iter().find(|preset| preset.name == wanted.unwrap_or(name)) {
            return Some(over(preset, written));
        }
        let names: Vec<String> = presets.iter().map(|preset| preset.name.clone()).collect();
        let kind = factory.kind();
        match wanted {
            Some(wanted) if names.is_empty() => {
                let hint = "leave out `use`, and say with `description`, `input` and `job` what the tool is";
                let message = format!("`{kind}` has no ready tools, so none is called `{}`", wanted.escape_debug());
                self.issues.add_with_hint(place.key("use"), message, hint);
            }
            Some(wanted) => {
                let message = format!("`{kind}` has no ready tool `{}`", wanted.escape_debug());
                self.issues.add_with_hint(place.key("use"), message, choice(wanted, &names, "ready tools").unwrap_or_default());
            }
            None if !names.is_empty() && written.is_object() && written.get("job").is_none() => {
                let message =
                    format!("says neither with `use` which ready tool of `{kind}` this is, nor with `job` what its jobs are");
                let hint = format!("use: {} (ready tools: {})", names.first().map_or("", String::as_str), names.join(", "));
                self.issues.add_with_hint(place.clone(), message, hint);
            }
            None => return Some(written.clone()),
        }
        None
    }
}

/// What the section itself says wins: whole words, but in `task` and `annotations` each word of theirs, and in `job` each part of a job.
fn over(preset: &Preset, written: &Value) -> Value {
    let Value::Object(own) = written else { return written.clone() };
    let mut words = preset.words.clone();
    for (word, value) in own {
        match (words.get_mut(word), value) {
            (Some(ready), _) if word == "task" => deepen(ready, value),
            (Some(Value::Object(ready)), Value::Object(own)) if matches!(word.as_str(), "annotations" | "job") => {
                ready.extend(own.iter().map(|(word, value)| (word.clone(), value.clone())));
            }
            (_, value) => drop(words.insert(word.clone(), value.clone())),
        }
    }
    Value::Object(words)
}

/// Puts mappings into mappings, and anything else in the place of what is there.
fn deepen(ready: &mut Value, own: &Value) {
    match (ready, own) {
        (Value::Object(ready), Value::Object(own)) => {
            for (word, value) in own {
                deepen(ready.entry(word.clone()).or_insert(Value::Null), value);
            }
        }
        (ready, own) => *ready = own.clone(),
    }
}

/// A provider section whose `webhook`, if it has one, says what every webhook of the kind has in common.
pub(super) fn with_webhook(section: &Value, factory: &dyn AdapterFactory) -> Value {
    let mut section = section.clone();
    if let Some(Value::Object(webhook)) = section.get_mut("webhook") {
        let own = std::mem::replace(webhook, factory.webhook());
        webhook.extend(own);
    }
    section
}

/// A section that lacks what its ready tool would have said, so that nothing but the wrong name is told.
fn with_stand_in(written: &Value) -> Value {
    let mut words = written.clone();
    if let Some(words) = words.as_object_mut() {
        words.entry("description").or_insert_with(|| json!("-"));
    }
    words
}
