//! What a command of `jobgate adapter` is about: a configuration, or one kind alone: an entry of the catalog by its name, or an adapter file.

use std::path::Path;
use std::sync::Arc;

use jobgate_adapter_api::AdapterFactory;
use serde_json::{Map, Value, json};

use super::describe::words;
use crate::cli::arguments::typed_pair;
use crate::cli::check::read;
use crate::cli::out::Failure;
use crate::config::{self, Checked};
use crate::registry::Registry;

/// The words that every provider section may have, whatever its kind.
const OF_EVERY_PROVIDER: [&str; 3] = ["concurrency", "rate", "call_timeout"];

pub(super) enum Subject {
    /// A kind without a configuration.
    Kind(Arc<dyn AdapterFactory>),
    /// A configuration, and the text of it.
    Configuration(Box<Checked>, String),
}

/// What `file` names. What is wrong in a file is told whole.
pub(super) fn subject(file: &Path) -> Result<Subject, Failure> {
    let name = file.display().to_string();
    let registry = Registry::built_in();
    if let Some(kind) = registry.shared(&name).filter(|kind| !kind.presets().is_empty()) {
        return Ok(Subject::Kind(kind));
    }
    let text = read(file).map_err(|failure| {
        if config::names_file(&name) {
            return failure;
        }
        let kinds = registry.iter().filter(|kind| !kind.presets().is_empty()).map(|kind| kind.kind().to_owned());
        failure.hint(format!("name a configuration, an adapter file, or one of: {}", kinds.collect::<Vec<_>>().join(", ")))
    })?;
    match config::entry(&text, &name) {
        Some(Ok(kind)) => Ok(Subject::Kind(kind)),
        Some(Err(problems)) => Err(Failure::usage(format!("the adapter file is wrong:\n{problems}"))),
        None => match config::load(&text, &name, &registry) {
            Ok(checked) => Ok(Subject::Configuration(Box::new(checked), text)),
            Err(problems) => Err(Failure::usage(format!("the configuration is wrong:\n{problems}"))),
        },
    }
}

/// The configuration of a kind alone, with one of its ready tools.
pub(super) fn alone(kind: &Arc<dyn AdapterFactory>, tool: &str, settings: &[String]) -> Result<(Checked, String), Failure> {
    let presets = kind.presets();
    if !presets.iter().any(|preset| preset.name == tool) {
        let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
        return Err(Failure::usage(format!("{} has no tool `{tool}`", kind.kind())).hint(format!("tools: {}", names.join(", "))));
    }
    let mut provider = said(kind.as_ref(), settings)?;
    provider.insert("adapter".to_owned(), kind.kind().into());
    let tools = json!({ tool: { "provider": PROVIDER, "use": tool } });
    let text = json!({ "providers": { PROVIDER: provider }, "tools": tools }).to_string();
    let registry = Registry::empty().with(Arc::clone(kind));
    match config::load(&text, kind.kind(), &registry) {
        Ok(checked) => Ok((checked, text)),
        Err(problems) => {
            let lines = problems.list.iter().map(|problem| {
                let place =
                    problem.path.strip_prefix("providers.").and_then(|path| path.strip_prefix(PROVIDER)).unwrap_or(&problem.path);
                let place = Some(place.trim_start_matches('.')).filter(|place| !place.is_empty());
                let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
                let hint = problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                format!("\n  {place}{}{hint}", problem.message)
            });
            let hint = format!("say it with `--set NAME=VALUE`; `jobgate adapter show {}` lists the settings", kind.kind());
            Err(Failure::usage(format!("the settings are wrong:{}", lines.collect::<String>())).hint(hint))
        }
    }
}

/// What the one provider is called.
const PROVIDER: &str = "provider";

/// A provider section of what the command line says, and of the secrets that it does not speak of, where the kind's own example is.
fn said(kind: &dyn AdapterFactory, settings: &[String]) -> Result<Map<String, Value>, Failure> {
    let schema = words(kind);
    let mut provider = Map::new();
    for pair in settings {
        let (name, value) = typed_pair(&schema, pair, "setting")?;
        let known = !schema["properties"][&name].is_null() || OF_EVERY_PROVIDER.contains(&name.as_str());
        if !known {
            let names: Vec<&str> =
                schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            return Err(Failure::usage(format!("--set: {} has no setting `{name}`", kind.kind()))
                .hint(format!("settings: {}", names.join(", "))));
        }
        provider.insert(name, value);
    }
    if provider.contains_key("auth") {
        return Ok(provider);
    }
    for (name, example) in kind.sample().unwrap_or_default() {
        let is_secret = schema["properties"][&name]["$ref"].as_str().is_some_and(|path| path.ends_with("/SecretRef"));
        if is_secret && !provider.contains_key(&name) {
            provider.insert(name, example);
        }
    }
    Ok(provider)
}
