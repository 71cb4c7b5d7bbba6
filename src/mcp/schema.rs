//! JSON Schema 2020-12: compiled once, answered with sentences that a model can act on.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

/// Problems that one answer names; the rest is counted.
const NAMED: usize = 5;
/// Problems that are looked for at all: each item of a long list may be one.
const MOST: usize = 50;
/// Characters of one problem's text, so that a large argument is not sent back whole.
const LONGEST: usize = 300;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema(Validator);

/// The schema itself is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadSchema(String);

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A JSON pointer.
    path: String,
    text: String,
    /// The member that is missing at the root.
    missing: Option<String>,
}

impl Schema {
    /// Compiles the schema of a tool's arguments. 2020-12 unless it says otherwise; nothing is fetched, a `$ref` stays inside.
    ///
    /// # Errors
    /// [`BadSchema`] with the place in the schema.
    pub(crate) fn compile(schema: &Value) -> Result<Self, BadSchema> {
        Self::build(schema, false)
    }

    /// Compiles a form's schema; `format` (`email`, `date`, ...) is held there, because a person typed the value.
    ///
    /// # Errors
    /// [`BadSchema`] with the place in the schema.
    pub(crate) fn compile_form(schema: &Value) -> Result<Self, BadSchema> {
        Self::build(schema, true)
    }

    fn build(schema: &Value, formats: bool) -> Result<Self, BadSchema> {
        let mut options = jsonschema::options();
        if schema.get("$schema").is_none() {
            options = options.with_draft(Draft::Draft202012);
        }
        let built = options.should_validate_formats(formats).build(schema);
        built.map(Self).map_err(|error| BadSchema(format!("{error} (at `{}`)", error.instance_path())))
    }

    /// What is wrong with `value`; nothing when it fits.
    pub(crate) fn problems(&self, value: &Value) -> Vec<Problem> {
        if self.0.is_valid(value) {
            return Vec::new();
        }
        self.0.iter_errors(value).take(MOST).map(|error| Problem::of(&error)).collect()
    }
}

impl Problem {
    fn of(error: &ValidationError<'_>) -> Self {
        let path = error.instance_path().to_string();
        let missing = match error.kind() {
            ValidationErrorKind::Required { property } if path.is_empty() => property.as_str().map(str::to_owned),
            _ => None,
        };
        let mut text: String = error.to_string();
        if let Some((end, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(end);
            text.push('…');
        }
        Self { path, text, missing }
    }

    /// Whether it is this member that is missing at the root.
    pub(crate) fn is_missing(&self, names: &[&str]) -> bool {
        self.missing.as_deref().is_some_and(|missing| names.contains(&missing))
    }
}

/// The problems as one text: the place, what was sent, what is wanted.
pub(crate) fn describe(what: &str, problems: &[Problem]) -> String {
    let mut text = format!("{what} does not fit the schema:");
    for problem in problems.iter().take(NAMED) {
        let path = if problem.path.is_empty() { "/" } else { &problem.path };
        text.push_str(&format!("\n- at `{path}`: {}", problem.text));
    }
    if problems.len() > NAMED {
        let at_least = if problems.len() < MOST { "" } else { "at least " };
        text.push_str(&format!("\n- and {at_least}{} more", problems.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_names_the_place_what_was_sent_and_what_is_wanted() {
        let schema = Schema::compile(&json!({
            "type": "object",
            "properties": { "seconds": { "type": "integer", "maximum": 60 }, "style": { "enum": ["flat", "round"] }, "name": true },
            "required": ["name"],
            "additionalProperties": false,
        }))
        .unwrap();
        let text = describe("the arguments", &schema.problems(&json!({ "seconds": "ten", "style": "bold", "secs": 1 })));
        for part in ["`/seconds`", "\"ten\"", "integer", "`/style`", "\"bold\"", "\"flat\"", "\"name\"", "secs"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
        assert!(schema.problems(&json!({ "name": 1 })).is_empty());
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        assert!(Schema::compile(&json!({ "type": "objekt" })).is_err());
        assert!(Schema::compile(&json!({ "$ref": "https://example.com/other.json" })).is_err());
    }

    #[test]
    fn long_values_are_not_sent_back_whole() {
        let schema = Schema::compile(&json!({ "type": "integer" })).unwrap();
        let text = describe("it", &schema.problems(&json!("x".repeat(100_000))));
        assert!(text.len() < 2 * LONGEST, "{}", text.len());
    }
}
