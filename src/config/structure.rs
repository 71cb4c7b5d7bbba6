//! Structural problems: what JSON Schema validation found, said so that people can act on it.

use jobgate_adapter_api::Place;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::Diagnostic;
use super::yaml::Document;

/// Parts of a schema's path that name the definitions whose values may be secrets, by mistake: what stands where a reference, a
/// token's hash or its entry belongs.
const SECRET_DEFINITIONS: [&str; 3] = ["/SecretRef/", "/TokenHash/", "/Token/type"];

/// Validates one section.
#[derive(Debug)]
pub(super) struct Section {
    schema: Value,
    validator: Validator,
}

impl Section {
    pub(super) fn new(schema: Value) -> Self {
        // The schema is made by this program from types, and a test builds every one of them.
        let validator = jsonschema::draft202012::new(&schema).expect("a generated schema is valid");
        Self { schema, validator }
    }

    /// Notes what is wrong in `value`, which lies at `base`; whether nothing was.
    pub(super) fn check(&self, document: &Document, base: &Place, value: &Value, problems: &mut Vec<Diagnostic>) -> bool {
        let before = problems.len();
        let report = Report { schema: &self.schema, document, base, root: value };
        for error in self.validator.iter_errors(value) {
            report.tell(&error, problems);
        }
        problems.len() == before
    }
}

struct Report<'a> {
    schema: &'a Value,
    document: &'a Document,
    base: &'a Place,
    root: &'a Value,
}

impl Report<'_> {
    fn tell(&self, error: &ValidationError<'_>, problems: &mut Vec<Diagnostic>) {
        let place = self.place(error);
        let words = self.words(error);
        let secret = may_be_secret(error);
        let found = found(error.instance());
        let mut add = |message: String, hint: Option<String>| {
            problems.push(Diagnostic::at(self.document.spot(&place), &place, message, hint));
        };
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let allowed = keys(&words["properties"]);
                for key in unexpected {
                    let inner = place.key(key);
                    let message = format!("unknown key `{key}`");
                    let spot = self.document.key_spot(&inner);
                    problems.push(Diagnostic::at(spot, &inner, message, choice(key, &allowed, "allowed here")));
                }
            }
            ValidationErrorKind::Required { property } => {
                let key = property.as_str().unwrap_or_default();
                let word = self.resolve(&words["properties"][key]);
                let example = self.example(word).map(|example| format!("{key}: {example}"));
                let about = word["description"].as_str().map(first_sentence);
                let hint = match (example, about) {
                    (Some(example), Some(about)) => Some(format!("add `{example}` ({about})")),
                    (Some(example), None) => Some(format!("add `{example}`")),
                    (None, about) => about.map(|about| format!("add `{key}: ...` ({about})")),
                };
                add(format!("`{key}` is missing"), hint);
            }
            ValidationErrorKind::Type { kind } => {
                let hint = unit_hint(words, error.instance()).or_else(|| self.example_hint(words));
                let found = if secret { "something else" } else { &found };
                add(format!("has to be {}, not {found}", types(kind)), hint);
            }
            ValidationErrorKind::Enum { options } => {
                let allowed: Vec<String> = options.as_array().into_iter().flatten().map(text).collect();
                add(format!("{found} is no allowed word"), choice(&text(error.instance()), &allowed, "allowed"));
            }
            ValidationErrorKind::Constant { expected_value } => {
                add(format!("has to be {}, not {found}", inline(expected_value)), None);
            }
            ValidationErrorKind::Pattern { .. } => {
                let about = words["description"].as_str().map_or_else(|| "text of another form".to_owned(), first_sentence);
                let about = about.trim_end_matches('.');
                let found = if secret { "this" } else { &found };
                add(format!("{found} is not what is expected here: {about}"), self.example_hint(words));
            }
            ValidationErrorKind::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default();
                let inner = place.key(name);
                let message = format!("the name `{name}` has a character that clients do not accept, or is too long");
                let hint = "a name has 1 to 64 letters, digits, `_` and `-`, for example `render_video`";
                problems.push(Diagnostic::at(self.document.key_spot(&inner), &inner, message, Some(hint.to_owned())));
            }
            ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
                self.tell_branches(error, context, problems);
            }
            ValidationErrorKind::MinProperties { .. } => add("must not be empty".to_owned(), self.example_hint(words)),
            ValidationErrorKind::Minimum { limit } => add(format!("has to be at least {limit}, not {found}"), None),
            ValidationErrorKind::Maximum { limit } => add(format!("has to be at most {limit}, not {found}"), None),
            ValidationErrorKind::MinLength { .. } | ValidationErrorKind::MinItems { .. } => {
                add("must not be empty".to_owned(), self.example_hint(words));
            }
            ValidationErrorKind::FalseSchema => add("is not allowed here".to_owned(), None),
            _ if secret => add("is not what is expected here".to_owned(), None),
            _ => add(error.to_string(), self.example_hint(words)),
        }
    }

    /// Of several forms a value may have, tells what is wrong with the one that was meant.
    fn tell_branches(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
        problems: &mut Vec<Diagnostic>,
    ) {
        let here = error.instance_path().as_str();
        let of_other_type = |branch: &&Vec<ValidationError<'static>>| {
            branch
                .iter()
                .any(|error| matches!(error.kind(), ValidationErrorKind::Type { .. }) && error.instance_path().as_str() == here)
        };
        let of_other_word = |branch: &&Vec<ValidationError<'static>>| constant(branch).is_some();
        if self.tell_wrong_form(error, context, problems) {
            return;
        }
        // The form whose keys are there is the one that was meant, whatever is wrong deeper down.
        let at_the_top =
            |branch: &Vec<ValidationError<'static>>| branch.iter().any(|error| error.instance_path().as_str() == here);
        let meant = context.iter().filter(|branch| !of_other_type(branch) && !of_other_word(branch));
        let meant = meant.min_by_key(|branch| (at_the_top(branch), branch.len()));
        if let Some(branch) = meant {
            branch.iter().for_each(|error| self.tell(error, problems));
            return;
        }
        let place = self.place(error);
        if let Some((at, value, _)) = context.iter().find_map(|branch| constant(branch)) {
            let place = self.place_of(at);
            let allowed: Vec<String> =
                context.iter().filter_map(|branch| constant(branch)).flat_map(|(_, _, words)| words).collect();
            let message = format!("{} is no allowed word", found(value));
            // Where a word is one of several forms, what was meant may be another of them.
            let other =
                context.iter().any(|branch| branch.iter().any(is_type_error)).then(|| self.example_hint(self.words(error)));
            let hint = choice(&text(value), &allowed, "allowed").into_iter().chain(other.flatten());
            let hint = Some(hint.collect::<Vec<_>>().join("; or "));
            problems.push(Diagnostic::at(self.document.spot(&place), &place, message, hint));
            return;
        }
        let mut expected: Vec<String> = Vec::new();
        for error in context.iter().flatten().filter(|error| error.instance_path().as_str() == here) {
            if let ValidationErrorKind::Type { kind } = error.kind() {
                let name = types(kind);
                if name != "null" && !expected.contains(&name) {
                    expected.push(name);
                }
            }
        }
        let secret = context.iter().flatten().any(may_be_secret);
        let found = if secret { "something else".to_owned() } else { found(error.instance()) };
        let message = format!("has to be {}, not {found}", expected.join(" or "));
        let words = self.words(error);
        let hint = self.example_hint(words).or_else(|| {
            let first = context.iter().flatten().find(|error| self.example_hint(self.words(error)).is_some())?;
            self.example_hint(self.words(first))
        });
        problems.push(Diagnostic::at(self.document.spot(&place), &place, message, hint));
    }

    /// Forms that are told apart by their one key: tells which keys there are. Whether this was such a case.
    fn tell_wrong_form(
        &self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
        problems: &mut Vec<Diagnostic>,
    ) -> bool {
        let here = error.instance_path().as_str();
        let missing = |branch: &Vec<ValidationError<'static>>| {
            branch.iter().find_map(|error| match error.kind() {
                ValidationErrorKind::Required { property } if error.instance_path().as_str() == here => {
                    property.as_str().map(str::to_owned)
                }
                _ => None,
            })
        };
        let forms: Vec<String> = context.iter().filter_map(missing).collect();
        if forms.len() < 2 || !context.iter().all(|branch| missing(branch).is_some() || branch.iter().any(is_type_error)) {
            return false;
        }
        let place = self.place(error);
        let written = keys(error.instance());
        let list = format!("one of: {}", forms.join(", "));
        if written.is_empty() {
            problems.push(Diagnostic::at(self.document.spot(&place), &place, "says nothing", Some(list)));
        }
        for key in &written {
            let inner = place.key(key);
            let spot = self.document.key_spot(&inner);
            problems.push(Diagnostic::at(spot, &inner, format!("unknown key `{key}`"), choice(key, &forms, "one of")));
        }
        true
    }

    /// The schema that holds the keyword which failed.
    fn words(&self, error: &ValidationError<'_>) -> &Value {
        let path = error.schema_path().as_str();
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.schema.pointer(parent).unwrap_or(&Value::Null)
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        match pointer.and_then(|pointer| self.schema.pointer(pointer)) {
            // What is said beside the reference is nearer to the word than what the definition says.
            Some(target) if schema.get("description").is_none() && schema.get("examples").is_none() => target,
            Some(_) | None => schema,
        }
    }

    /// The first example of a word, or of the definition it refers to.
    fn example(&self, schema: &Value) -> Option<String> {
        let first = |schema: &Value| schema["examples"].get(0).map(inline);
        first(schema).or_else(|| schema["enum"].get(0).map(inline)).or_else(|| schema.get("const").map(inline)).or_else(|| {
            let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
            first(self.schema.pointer(pointer)?)
        })
    }

    fn example_hint(&self, schema: &Value) -> Option<String> {
        Some(format!("for example `{}`", self.example(schema)?))
    }

    fn place(&self, error: &ValidationError<'_>) -> Place {
        self.place_of(error.instance_path().as_str())
    }

    /// A JSON pointer (RFC 6901) into the section as a place in the whole.
    fn place_of(&self, pointer: &str) -> Place {
        let mut place = self.base.clone();
        let mut value = self.root;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            (place, value) = match (value, step.parse()) {
                (Value::Array(items), Ok(index)) => (place.index(index), items.get(index).unwrap_or(&Value::Null)),
                _ => (place.key(step.as_str()), &value[step.as_str()]),
            };
        }
        place
    }
}

fn may_be_secret(error: &ValidationError<'_>) -> bool {
    SECRET_DEFINITIONS.iter().any(|part| error.schema_path().as_str().contains(part))
}

/// The word that a branch wanted in vain: where, what was there, what would have been right.
fn constant<'a>(branch: &'a [ValidationError<'static>]) -> Option<(&'a str, &'a Value, Vec<String>)> {
    branch.iter().find_map(|error| {
        let words = match error.kind() {
            ValidationErrorKind::Constant { expected_value } => vec![text(expected_value)],
            ValidationErrorKind::Enum { options } => options.as_array().into_iter().flatten().map(text).collect(),
            _ => return None,
        };
        Some((error.instance_path().as_str(), error.instance().as_ref(), words))
    })
}

fn is_type_error(error: &ValidationError<'static>) -> bool {
    matches!(error.kind(), ValidationErrorKind::Type { .. })
}

fn keys(properties: &Value) -> Vec<String> {
    properties.as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default()
}

/// What was meant, as far as that can be guessed, and what there is.
pub(super) fn choice(written: &str, allowed: &[String], label: &str) -> Option<String> {
    if allowed.is_empty() {
        return Some("nothing may be written here".to_owned());
    }
    let list = format!("{label}: {}", allowed.join(", "));
    Some(match nearest(written, allowed) {
        Some(near) => format!("did you mean `{near}`? ({list})"),
        None => list,
    })
}

/// The word that `written` is most like, if it is like one at all.
fn nearest<'a>(written: &str, words: &'a [String]) -> Option<&'a String> {
    let like = |word: &String| {
        // A word that only lacks its beginning or end is near, however short it is.
        let part = written.len() > 2 && (word.contains(written) || written.contains(word.as_str()));
        strsim::jaro_winkler(&written.to_lowercase(), &word.to_lowercase()).max(if part { 0.82 } else { 0.0 })
    };
    words
        .iter()
        .map(|word| (word, like(word)))
        .filter(|(_, likeness)| *likeness > 0.8)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(word, _)| word)
}

/// What a value is, in words: short, so that nothing large or secret is repeated.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(flag) => format!("`{flag}`"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= 60 => format!("`{}`", text.escape_debug()),
        Value::String(_) => "a long text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn types(kind: &TypeKind) -> String {
    let name = |kind: &str| match kind {
        "object" => "a mapping",
        "array" => "a list",
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "`true` or `false`",
        _ => "null",
    };
    match kind {
        TypeKind::Single(one) => name(&one.to_string()).to_owned(),
        TypeKind::Multiple(set) => {
            let names: Vec<&str> = set.iter().map(|one| name(&one.to_string())).filter(|name| *name != "null").collect();
            names.join(" or ")
        }
    }
}

/// A value as one would write it in one line of YAML.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}: {}", inline(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// Whether YAML reads `text` as this very text without quotes, inside a flow mapping, too.
fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '/')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(['{', '}', '[', ']', ',', '"', '\n', '`'])
        && !matches!(text, "true" | "false" | "null")
        && text.parse::<f64>().is_err()
}

/// A bare number where a span of time belongs lacks its unit.
fn unit_hint(words: &Value, instance: &Value) -> Option<String> {
    let spans = words["pattern"].as_str().is_some_and(|pattern| pattern.contains("(ms|s|m|h|d)"));
    (spans && instance.is_u64()).then(|| format!("add the unit, for example `{instance}s`"))
}

fn first_sentence(text: &str) -> String {
    let line = text.split_inclusive(". ").next().unwrap_or(text).trim();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
