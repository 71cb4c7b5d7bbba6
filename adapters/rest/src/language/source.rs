//! How sources are compiled and looked at as text, and what is said of those that cannot be read or have no value.

use std::collections::BTreeSet;

use minijinja::{Environment, ErrorKind};

use super::engine::{Faulty, RESULT, SETTINGS};
use super::{Scope, operations};

/// Compiles `source` under `name` and checks the names it uses.
pub(super) fn add(
    environment: &mut Environment<'static>,
    settings: &BTreeSet<String>,
    name: &str,
    source: String,
    scope: &Scope,
) -> Result<BTreeSet<String>, String> {
    environment.add_template_owned(name.to_owned(), source.clone()).map_err(|error| said(&error, &source))?;
    if let Some(problem) = operations::problem(environment, &source) {
        return Err(format!("`{}` cannot be read: {problem}", shown(&source)));
    }
    let template = environment.get_template(name).map_err(|error| said(&error, &source))?;
    let known: BTreeSet<String> = environment.globals().map(|(name, _)| name.to_owned()).collect();
    let mut uses = BTreeSet::new();
    let mut names: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    names.sort();
    for path in names {
        let mut steps = path.split('.');
        let first = steps.next().unwrap_or(&path).to_owned();
        if first == SETTINGS
            && let Some(setting) = steps.next()
            && !settings.contains(setting)
        {
            let known =
                if settings.is_empty() { "none".to_owned() } else { Vec::from_iter(settings.iter().cloned()).join("`, `") };
            return Err(format!("`settings.{setting}` does not exist; the provider's settings are `{known}`"));
        }
        if known.contains(&first) {
            continue;
        }
        if let Some(problem) = scope.problem(&path) {
            return Err(problem);
        }
        // A handle is known by its own name as well.
        if let ["job", "handles", handle, ..] = path.split('.').collect::<Vec<&str>>()[..] {
            uses.insert(format!("job.handles.{handle}"));
        }
        uses.insert(first);
    }
    Ok(uses)
}

/// The inside of a text that is exactly one `{{ expression }}`.
pub(super) fn lone_expression(source: &str) -> Option<&str> {
    let inside = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    // `{{ a }} and {{ b }}` begins and ends like one expression, and is none; braces in a literal are left to the template.
    let one = !inside.contains("{{") && !inside.contains("}}");
    one.then(|| inside.trim_matches('-').trim())
}

pub(super) fn has_marks(source: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| source.contains(mark))
}

/// A compile error as a sentence.
pub(super) fn said(error: &minijinja::Error, source: &str) -> String {
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    format!("`{}` cannot be read: {detail}", shown(source))
}

/// A source as its author wrote it, without what it was wrapped in.
pub(super) fn shown(source: &str) -> &str {
    let inside = source.strip_prefix(&format!("{{% set {RESULT} = ("));
    inside.and_then(|rest| rest.strip_suffix(") %}")).unwrap_or(source)
}

/// A run-time error as a sentence, without any value.
pub(super) fn fault(error: &minijinja::Error, source: &str) -> Faulty {
    let undefined = error.kind() == ErrorKind::UndefinedError;
    let why = match error.kind() {
        ErrorKind::UndefinedError | ErrorKind::OutOfFuel | ErrorKind::InvalidOperation => {
            error.detail().map_or_else(|| error.kind().to_string(), str::to_owned)
        }
        _ => error.kind().to_string(),
    };
    Faulty { message: format!("`{source}` has no value: {why}"), undefined }
}
