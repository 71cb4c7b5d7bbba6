//! Adapter files: entries of the catalog that somebody writes beside a configuration. Each is checked as a whole, with the examples of its
//! settings, so that its problems are told in it and not where it is used.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jobgate_adapter_api::{AdapterFactory, Issues, Place, ToolWords as NamedWords};
use serde_json::{Value, json};

use super::Loader;
use super::diagnostic::{Diagnostic, Diagnostics, located};
use super::schema::Schemas;
use super::structure::Section;
use super::yaml::Document;
use crate::registry::{self, Registry};

/// Words of which each shows that a file is meant to be an adapter and no configuration.
const OF_ENTRIES: [&str; 4] = ["title", "facts", "as_of", "provider"];

/// The kinds of a configuration.
pub(super) struct Files {
    /// Those that there are anyway, and one for each adapter file.
    pub(super) registry: Registry,
    /// The files that make none.
    pub(super) unusable: BTreeSet<String>,
}

/// Whether what stands after `adapter:` is no name but a file: it has a `/`, or ends as YAML does.
#[must_use]
pub fn names_file(kind: &str) -> bool {
    kind.contains('/') || kind.ends_with(".yaml") || kind.ends_with(".yml")
}

/// The kind that `text` describes, where it is no configuration but an adapter file.
///
/// # Errors
/// All problems of the file, each with its place.
#[must_use]
pub fn entry(text: &str, file: &str) -> Option<Result<Arc<dyn AdapterFactory>, Diagnostics>> {
    let document = Document::read(text, &mut Vec::new()).ok()?;
    let is_entry = document.value.get("providers").is_none() && OF_ENTRIES.iter().any(|word| document.value.get(word).is_some());
    is_entry.then(|| read(text, file).map_err(|problems| Diagnostics::new(file, problems)))
}

/// Reads the adapter files that the provider sections of `document` name. What is wrong with them is noted.
pub(super) fn files(document: &Document, base: &Path, known: &Registry, problems: &mut Vec<Diagnostic>) -> Files {
    let mut files = Files { registry: known.clone(), unusable: BTreeSet::new() };
    for (name, section) in document.value["providers"].as_object().into_iter().flatten() {
        let Some(kind) = section["adapter"].as_str().filter(|kind| names_file(kind)) else { continue };
        let place = Place::root().key("providers").key(name).key("adapter");
        if files.registry.get(kind).is_some() || files.unusable.contains(kind) {
            continue;
        }
        let path = base.join(kind.strip_prefix("./").unwrap_or(kind));
        let file = path.display().to_string();
        match std::fs::read_to_string(&path).map(|text| read(&text, kind)) {
            Ok(Ok(factory)) => files.registry = files.registry.with(factory),
            Ok(Err(found)) => {
                problems.extend(found.into_iter().map(|problem| problem.in_file(&file)));
                files.unusable.insert(kind.to_owned());
            }
            Err(error) => {
                let message = match error.kind() {
                    io::ErrorKind::NotFound => format!("there is no file `{file}`"),
                    _ => format!("`{file}` cannot be read: {error}"),
                };
                let hint = "an adapter file is named from the folder of the configuration, for example `./my-api.yaml`";
                problems.push(Diagnostic::at(document.spot(&place), &place, message, Some(hint.to_owned())));
                files.unusable.insert(kind.to_owned());
            }
        }
    }
    files
}

/// The kind that an adapter file makes, under the name `kind`; or what is wrong in it.
fn read(text: &str, kind: &str) -> Result<Arc<dyn AdapterFactory>, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let document = Document::read(text, &mut problems).map_err(|error| vec![error.into()])?;
    let root = Place::root();
    if let Some(schema) = registry::entry_schema() {
        Section::new(schema).check(&document, &root, &document.value, &mut problems);
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let factory =
        registry::entry(kind, document.value.clone()).map_err(|issues| located(&document, issues).collect::<Vec<_>>())?;
    let registry = Registry::empty().with(factory);
    let factory = registry.shared(kind).ok_or_else(Vec::new)?;
    let schemas = Schemas::of(&registry);
    let mut loader = Loader {
        document: &document,
        schemas: &schemas,
        registry: &registry,
        unusable: &BTreeSet::new(),
        base: Path::new(""),
        problems,
        issues: Issues::new(),
        warnings: Issues::new(),
    };
    loader.entry(factory.as_ref());
    let Loader { mut problems, issues, .. } = loader;
    problems.extend(located(&document, issues));
    if problems.is_empty() { Ok(factory) } else { Err(problems) }
}

impl Loader<'_> {
    /// Checks the tools of an adapter file, and its words as a provider would have them who says what its examples say.
    fn entry(&mut self, factory: &dyn AdapterFactory) {
        let root = Place::root();
        let mut tools = Vec::new();
        for preset in factory.presets() {
            let place = root.key("tools").key(&preset.name);
            let job = preset.words.get("job").cloned().unwrap_or_default();
            let mut words = preset.words;
            words.insert("provider".to_owned(), json!("-"));
            if let Some((_, arguments)) = self.tool(&preset.name, &Value::Object(words), &place) {
                tools.push(NamedWords { name: preset.name, input_schema: arguments, place: place.key("job"), words: job });
            }
        }
        let sample = Value::Object(factory.sample().unwrap_or_default());
        let mut found = Issues::new();
        factory.check(&root.key("provider"), sample, tools, &mut found);
        self.issues.extend_under(&root, found);
    }
}
