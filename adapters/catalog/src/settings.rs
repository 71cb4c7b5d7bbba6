//! What users say of their account, put into the words of an entry.

use jobgate_adapter_api::{Issues, Place, SecretRef};
use regex::Regex;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::words::{EntryWords, Setting, SettingType};

/// Words of a provider of `adapter: rest` that a provider section of every entry may have; they win over the entry's own.
pub(crate) const COMMON: [&str; 5] = ["timeout", "max_body_bytes", "auth", "tls", "headers"];

/// How a text stands for a secret.
const MARK: &str = "setting:";

/// Notes where the parts of an entry do not fit together.
pub(crate) fn check(words: &EntryWords, issues: &mut Issues) {
    for (name, setting) in &words.settings {
        let place = Place::root().key("settings").key(name);
        let fits = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if !fits || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
            issues.add_with_hint(place.clone(), "a setting's name has small letters, digits and `_`", "base_url");
        }
        let common = ["adapter", "concurrency", "rate", "call_timeout", "webhook"];
        if COMMON.contains(&name.as_str()) || common.contains(&name.as_str()) {
            issues.add(place.clone(), "is a word of every provider section; choose another name");
        }
        if setting.description.trim().is_empty() {
            issues.add(place.key("description"), "is missing: users choose the value by it");
        }
        if setting.secret && (setting.default.is_some() || setting.choices.is_some() || setting.pattern.is_some()) {
            issues.add(place.clone(), "a secret has neither a default nor a form: the user names where it is");
        }
        let given = setting.default.is_some() || setting.optional;
        if !given && setting.sample().is_none() {
            issues.add_with_hint(place.key("example"), "is missing, and has to be given", "example: eu-west-1");
        }
        let texts = [("default", setting.default.as_ref()), ("example", setting.example.as_ref())];
        for (word, value) in texts.into_iter().filter_map(|(word, value)| Some((word, value?))) {
            if let Some(problem) = setting.problem(value) {
                issues.add(place.key(word), problem);
            }
        }
        if let Some(Err(error)) = setting.pattern.as_deref().map(whole) {
            issues.add(place.key("pattern"), format!("is no regular expression: {error}"));
        }
    }
    let provider = Place::root().key("provider");
    for (word, value) in &words.provider {
        for name in named(value) {
            if !words.settings.get(&name).is_some_and(|setting| setting.secret) {
                let hint = format!("settings: {{ {name}: {{ secret: true, description: ..., example: env:API_TOKEN }} }}");
                issues.add_with_hint(provider.key(word), format!("`{MARK}{name}` names no secret setting"), hint);
            }
        }
    }
    if words.tools.is_empty() {
        issues.add(Place::root().key("tools"), "an entry without tools is of no use");
    }
}

/// The words of a provider of `adapter: rest` with the user's values in it. What is wrong in them is noted.
pub(crate) fn fill(words: &EntryWords, place: &Place, config: &Value, issues: &mut Issues) -> Map<String, Value> {
    let empty = Map::new();
    let config = config.as_object().unwrap_or(&empty);
    let unknown = config.keys().filter(|key| !words.settings.contains_key(*key) && !COMMON.contains(&key.as_str()));
    for key in unknown {
        let known: Vec<&str> = words.settings.keys().map(String::as_str).chain(COMMON).collect();
        issues.add_with_hint(place.key(key), format!("unknown key `{key}`"), format!("allowed here: {}", known.join(", ")));
    }
    let mut provider = words.provider.clone();
    let mut plain = Map::new();
    for (name, setting) in &words.settings {
        let given = config.get(name).filter(|value| !value.is_null());
        if let Some(problem) = given.and_then(|value| setting.problem(value)) {
            let hint = setting.sample().map_or_else(String::new, |sample| format!("{name}: {}", text(&sample)));
            issues.add_with_hint(place.key(name), problem, hint);
        }
        // Users who prove who they are in another way need not have what the entry asks for.
        let needless = setting.secret && config.contains_key("auth");
        match given.or(setting.default.as_ref()) {
            Some(value) if setting.secret => put(&mut provider, name, value),
            Some(value) => drop(plain.insert(name.clone(), value.clone())),
            None => {
                leave_out(&mut provider, name);
                if setting.optional || needless {
                    continue;
                }
                let sample = setting.sample().as_ref().map_or_else(|| "...".to_owned(), text);
                let hint = format!("add `{name}: {sample}` ({})", setting.description.trim_end_matches('.'));
                issues.add_with_hint(place.clone(), format!("`{name}` is missing"), hint);
            }
        }
    }
    for word in COMMON {
        if let Some(value) = config.get(word) {
            provider.insert(word.to_owned(), value.clone());
        }
    }
    if !plain.is_empty() {
        provider.insert("settings".to_owned(), Value::Object(plain));
    }
    provider
}

/// The schema of a provider section's own words.
pub(crate) fn schema(words: &EntryWords, generator: &mut SchemaGenerator) -> Value {
    let mut properties = Map::new();
    for (name, setting) in &words.settings {
        let mut schema = if setting.secret {
            generator.subschema_for::<SecretRef>().to_value()
        } else {
            match setting.kind {
                SettingType::String => json!({ "type": "string" }),
                SettingType::Integer => json!({ "type": "integer" }),
                SettingType::Boolean => json!({ "type": "boolean" }),
            }
        };
        let more = match &setting.default {
            Some(value) => format!(" Default: {}.", text(value)),
            None if setting.optional => " May be left out.".to_owned(),
            None => String::new(),
        };
        schema["description"] = json!(setting.description.clone() + &more);
        if let Some(choices) = &setting.choices {
            schema["enum"] = json!(choices);
        }
        if let Some(sample) = setting.sample() {
            schema["examples"] = json!([sample]);
        }
        properties.insert(name.clone(), schema);
    }
    // A secret may be needless, where the section has an `auth` of its own; who checks the section knows.
    let required = words.settings.iter().filter(|(_, it)| !it.secret && !it.optional && it.default.is_none());
    let required: Vec<&String> = required.map(|(name, _)| name).collect();
    json!({
        "title": words.title,
        "description": words.about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

impl Setting {
    /// A right value, for people who have to give one.
    pub(crate) fn sample(&self) -> Option<Value> {
        let first = self.choices.as_ref().and_then(|choices| choices.first()).map(|first| json!(first));
        self.example.clone().or_else(|| self.default.clone()).or(first)
    }

    /// What is wrong with a value; secrets are not repeated.
    fn problem(&self, value: &Value) -> Option<String> {
        if self.secret {
            let Some(reference) = value.as_str() else {
                return Some("a secret is named by a text: `env:NAME` or `file:PATH`".to_owned());
            };
            return reference.parse::<SecretRef>().err();
        }
        let (fits, wanted) = match self.kind {
            SettingType::String => (value.is_string(), "text"),
            SettingType::Integer => (value.is_i64() || value.is_u64(), "a whole number"),
            SettingType::Boolean => (value.is_boolean(), "`true` or `false`"),
        };
        if !fits {
            return Some(format!("has to be {wanted}"));
        }
        let text = text(value);
        if let Some(choices) = self.choices.as_ref().filter(|choices| !choices.contains(&text)) {
            return Some(format!("`{text}` is none of: {}", choices.join(", ")));
        }
        let pattern = self.pattern.as_deref().and_then(|pattern| whole(pattern).ok());
        let other = pattern.is_some_and(|pattern| !pattern.is_match(&text));
        other.then(|| format!("`{text}` is not what is expected here: {}", self.description.trim_end_matches('.')))
    }
}

/// A pattern that the whole text has to match.
fn whole(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&format!("^(?:{pattern})$"))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The secret settings that a part of the provider's words names.
fn named(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.strip_prefix(MARK).map(str::to_owned).into_iter().collect(),
        Value::Array(items) => items.iter().flat_map(named).collect(),
        Value::Object(fields) => fields.values().flat_map(named).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// Takes out what needs a secret that nobody has given: of `tls` that part alone, as authorities and a client's certificate do without
/// each other; every other word as a whole.
fn leave_out(provider: &mut Map<String, Value>, name: &str) {
    if let Some(Value::Object(parts)) = provider.get_mut("tls") {
        parts.retain(|_, value| !named(value).iter().any(|needed| needed == name));
    }
    provider.retain(|word, value| {
        let empty = word == "tls" && value.as_object().is_some_and(Map::is_empty);
        !empty && !named(value).iter().any(|needed| needed == name)
    });
}

/// Puts a reference wherever the words name the setting.
fn put(words: &mut Map<String, Value>, name: &str, reference: &Value) {
    for value in words.values_mut() {
        put_into(value, name, reference);
    }
}

fn put_into(value: &mut Value, name: &str, reference: &Value) {
    match value {
        Value::String(text) if text.strip_prefix(MARK) == Some(name) => *value = reference.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| put_into(item, name, reference)),
        Value::Object(fields) => put(fields, name, reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B5: an authority and a client's certificate do without each other.
    #[test]
    fn a_part_of_tls_that_nobody_gave_is_left_out_alone() {
        let optional = || Setting { secret: true, optional: true, ..Setting::default() };
        let words: EntryWords = serde_json::from_value(json!({
            "title": "T", "about": "A", "facts": "F", "as_of": "N", "tools": {},
            "provider": {
                "auth": { "basic": { "username": "u", "password": "setting:password" } },
                "tls": { "ca": "setting:ca", "client_certificate": "setting:certificate", "client_key": "setting:key" },
            },
        }))
        .expect("the words of an entry");
        let settings = ["password", "ca", "certificate", "key"].map(|name| (name.to_owned(), optional())).into();
        let words = EntryWords { settings, ..words };
        for (given, wanted) in [
            (json!({}), json!({})),
            (json!({ "ca": "env:CA" }), json!({ "tls": { "ca": "env:CA" } })),
            (
                json!({ "certificate": "env:A", "key": "env:B" }),
                json!({ "tls": { "client_certificate": "env:A", "client_key": "env:B" } }),
            ),
        ] {
            let mut issues = Issues::new();
            let filled = fill(&words, &Place::root(), &given, &mut issues);
            assert_eq!((Value::Object(filled), issues.is_empty()), (wanted, true), "{given}");
        }
    }
}
