//! Typed looks into one mapping of a machine: what is missing or wrong is noted with its place, and reading goes on.

use jobgate_adapter_api::{Issues, Place};
use serde_json::{Map, Value};

use super::machine::{Selection, Span};
use super::path::Path;
use super::suggest;
use super::template::Template;

/// The longest time that a machine may name, in seconds; the States Language's own limit.
pub(crate) const LONGEST_SECONDS: f64 = 99_999_999.0;

/// Seconds as milliseconds; `None` for what is no span of time.
pub(crate) fn millis(seconds: f64) -> Option<i64> {
    // The limit keeps the product far below what an i64 and an f64 hold exactly.
    (0.0..=LONGEST_SECONDS).contains(&seconds).then(|| (seconds * 1000.0).round() as i64)
}

/// One mapping and where it is.
pub(crate) struct Fields<'a> {
    pub(crate) map: &'a Map<String, Value>,
    pub(crate) place: Place,
}

impl<'a> Fields<'a> {
    /// The mapping at `place`, or an issue.
    pub(crate) fn of(value: &'a Value, place: Place, what: &str, issues: &mut Issues) -> Option<Self> {
        match value {
            Value::Object(map) => Some(Self { map, place }),
            other => {
                issues.add(place, format!("{what} is a mapping, not {}", kind_of(other)));
                None
            }
        }
    }

    pub(crate) fn at(&self, key: &str) -> Place {
        self.place.key(key)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// Notes every field that is not one of `known`.
    pub(crate) fn only(&self, known: &[&str], what: &str, issues: &mut Issues) {
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let message = format!("{what} has no field `{key}`");
            match suggest(key, known.iter().copied()) {
                Some(meant) => issues.add_with_hint(self.at(key), message, format!("did you mean `{meant}`?")),
                None => issues.add_with_hint(self.at(key), message, format!("it has {}", known.join(", "))),
            }
        }
    }

    /// A field of a wanted form; an issue when it has another.
    fn typed<T>(&self, key: &str, wanted: &str, issues: &mut Issues, read: impl FnOnce(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.map.get(key)?;
        let read = read(value);
        if read.is_none() {
            issues.add(self.at(key), format!("`{key}` is {wanted}, not {}", kind_of(value)));
        }
        read
    }

    pub(crate) fn text(&self, key: &str, issues: &mut Issues) -> Option<&'a str> {
        self.typed(key, "a text", issues, |value| value.as_str().filter(|text| !text.is_empty()))
    }

    pub(crate) fn truth(&self, key: &str, issues: &mut Issues) -> Option<bool> {
        self.typed(key, "`true` or `false`", issues, Value::as_bool)
    }

    pub(crate) fn count(&self, key: &str, issues: &mut Issues) -> Option<u64> {
        self.typed(key, "a whole number from 0 on", issues, Value::as_u64)
    }

    pub(crate) fn number(&self, key: &str, issues: &mut Issues) -> Option<f64> {
        self.typed(key, "a number", issues, Value::as_f64)
    }

    /// Seconds, also fractions of one, as milliseconds.
    pub(crate) fn seconds(&self, key: &str, issues: &mut Issues) -> Option<i64> {
        self.typed(key, "a number of seconds, for example 2.5, at most 99999999", issues, |value| value.as_f64().and_then(millis))
    }

    /// `key` in seconds, or `keyPath`.
    pub(crate) fn span(&self, key: &str, issues: &mut Issues) -> Option<Span> {
        let by_path = format!("{key}Path");
        if self.has(key) && self.has(&by_path) {
            issues.add(self.at(&by_path), format!("either `{key}` or `{by_path}`, not both"));
        }
        self.seconds(key, issues).map(Span::Fixed).or_else(|| self.path(&by_path, issues).map(Span::Path))
    }

    pub(crate) fn path(&self, key: &str, issues: &mut Issues) -> Option<Path> {
        let text = self.text(key, issues)?;
        Path::parse(text).map_err(|message| issues.add(self.at(key), message)).ok()
    }

    /// `InputPath` or `OutputPath`.
    pub(crate) fn selection(&self, key: &str, issues: &mut Issues) -> Selection {
        match self.map.get(key) {
            Some(Value::Null) => Selection::Nothing,
            Some(_) => self.path(key, issues).map_or(Selection::Whole, Selection::Path),
            None => Selection::Whole,
        }
    }

    /// `ResultPath`: `$` when not given, `None` for `null`.
    pub(crate) fn result_path(&self, issues: &mut Issues) -> Option<Path> {
        if matches!(self.map.get("ResultPath"), Some(Value::Null)) {
            return None;
        }
        let text = self.text("ResultPath", issues).unwrap_or("$");
        Path::parse_reference(text).map_err(|message| issues.add(self.at("ResultPath"), message)).ok()
    }

    pub(crate) fn template(&self, key: &str, issues: &mut Issues) -> Option<Template> {
        let value = self.map.get(key)?;
        Some(Template::parse(value, &self.at(key), issues))
    }

    /// A list; empty when the field is missing.
    pub(crate) fn list(&self, key: &str, issues: &mut Issues) -> &'a [Value] {
        self.typed(key, "a list", issues, Value::as_array).map_or(&[], Vec::as_slice)
    }
}

/// What a value is, for people.
pub(crate) fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => format!("`{value}`"),
    }
}
