//! A form from the list of fields that an API describes it by.

use minijinja::Error;
use minijinja::value::{Kwargs, Serde, Value};
use serde_json::{Map, Value as Json, json};

use super::wrong;

/// Where a description says what: for each, the paths of which the first that is there counts.
struct Places {
    name: Vec<String>,
    title: Vec<String>,
    description: Vec<String>,
    kind: Vec<String>,
    choices: Vec<String>,
    value: Vec<String>,
    label: Vec<String>,
    default: Vec<String>,
    required: Vec<String>,
    multiple: Vec<String>,
    /// What the API's words for types mean.
    kinds: Map<String, Json>,
    /// Whether a field has to be filled in that does not say so.
    must: bool,
}

/// The JSON Schema of a form whose fields a list describes: `body.fields | form(name='key', title='label')`. What each option is by default
/// stands in [`Places::of`].
pub(super) fn form(fields: &Value, options: Kwargs) -> Result<Value, Error> {
    let places = Places::of(&options)?;
    options.assert_all_used()?;
    let Ok(Json::Array(fields)) = serde_json::to_value(fields) else {
        return Err(wrong("`form` was given no list of fields"));
    };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in &fields {
        let name = found(field, &places.name).and_then(Json::as_str).filter(|name| !name.is_empty());
        let name =
            name.ok_or_else(|| wrong(format!("`form` was given a field without a name (`{}`)", places.name.join("` or `"))))?;
        if found(field, &places.required).map_or(places.must, is_true) {
            required.push(name);
        }
        properties.insert(name.to_owned(), places.field(field));
    }
    Ok(Value::from(Serde(json!({ "type": "object", "properties": properties, "required": required }))))
}

impl Places {
    fn of(options: &Kwargs) -> Result<Self, Error> {
        let paths = |name: &str, usual: &[&str]| -> Result<Vec<String>, Error> {
            let Some(given) = options.get::<Option<Value>>(name)? else {
                return Ok(usual.iter().map(|path| (*path).to_owned()).collect());
            };
            match serde_json::to_value(&given) {
                Ok(Json::String(path)) => Ok(vec![path]),
                Ok(Json::Array(paths)) if paths.iter().all(Json::is_string) => {
                    Ok(paths.iter().filter_map(Json::as_str).map(str::to_owned).collect())
                }
                _ => Err(wrong(format!("`form` takes for `{name}` the name of a field's part, or a list of such names"))),
            }
        };
        let kinds = options.get::<Option<Value>>("kinds")?.map(|kinds| serde_json::to_value(&kinds));
        Ok(Self {
            name: paths("name", &["name"])?,
            title: paths("title", &["label", "title"])?,
            description: paths("description", &["description"])?,
            kind: paths("type", &["type"])?,
            choices: paths("choices", &["choices", "options"])?,
            value: paths("value", &["value"])?,
            label: paths("label", &["label"])?,
            default: paths("default", &["default"])?,
            required: paths("required", &["required"])?,
            multiple: paths("multiple", &["multiple"])?,
            kinds: match kinds {
                None => Map::new(),
                Some(Ok(Json::Object(kinds))) => kinds,
                Some(_) => return Err(wrong("`form` takes for `kinds` a map from the API's words to types")),
            },
            must: options.get::<Option<bool>>("must")?.unwrap_or(false),
        })
    }

    /// The schema of one field. A type that nobody knows stays what it is: such a field is left out of forms, and refused where it has to
    /// be filled in.
    fn field(&self, field: &Json) -> Json {
        let default = found(field, &self.default).filter(|value| !value.is_null());
        let choices = found(field, &self.choices).map(|choices| self.choices(choices)).filter(|choices| !choices.is_empty());
        let mut schema = match choices {
            Some(choices) => {
                let texts: Vec<&str> = choices.iter().map(|(value, _)| value.as_str()).collect();
                let known = |value: &Json| text(value).filter(|value| texts.contains(&value.as_str())).map(Json::from);
                // Not every client shows titles, so where they say nothing there are none.
                let (word, list) = if choices.iter().all(|(value, label)| value == label) {
                    ("enum", json!(texts))
                } else {
                    let one = |(value, label): &(String, String)| json!({ "const": value, "title": label });
                    ("oneOf", choices.iter().map(one).collect())
                };
                if found(field, &self.multiple).is_some_and(is_true) {
                    let given = default.and_then(Json::as_array).map(|list| list.iter().filter_map(known).collect::<Vec<_>>());
                    json!({ "type": "array", "items": { "type": "string", word: list }, "default": given })
                } else {
                    json!({ "type": "string", word: list, "default": default.and_then(known) })
                }
            }
            None => {
                let kind = self.kind(field, default);
                json!({ "type": kind, "default": default.and_then(|value| as_kind(value, &kind)) })
            }
        };
        for (word, place) in [("title", &self.title), ("description", &self.description)] {
            if let Some(said) = found(field, place).and_then(Json::as_str).filter(|said| !said.trim().is_empty()) {
                schema[word] = said.into();
            }
        }
        if let Some(words) = schema.as_object_mut() {
            words.retain(|_, value| !value.is_null());
        }
        schema
    }

    fn kind(&self, field: &Json, default: Option<&Json>) -> String {
        let Some(said) = found(field, &self.kind).and_then(Json::as_str) else {
            return match default {
                Some(Json::Bool(_)) => "boolean",
                Some(Json::Number(_)) => "number",
                _ => "string",
            }
            .to_owned();
        };
        let said = self.kinds.get(said).and_then(Json::as_str).unwrap_or(said);
        match said.to_ascii_lowercase().as_str() {
            "text" | "str" => "string",
            "bool" | "checkbox" => "boolean",
            "int" => "integer",
            "float" | "double" => "number",
            known @ ("string" | "boolean" | "integer" | "number") => known,
            _ => said,
        }
        .to_owned()
    }

    /// Choices, each a value and its label: a list of texts, of maps with both, or a text with one in each line.
    fn choices(&self, choices: &Json) -> Vec<(String, String)> {
        let one = |choice: &Json| {
            let value = if choice.is_object() { found(choice, &self.value)? } else { choice };
            let value = text(value)?;
            let label = found(choice, &self.label).and_then(Json::as_str).unwrap_or(&value).to_owned();
            Some((value, label))
        };
        match choices {
            Json::Array(list) => list.iter().filter_map(one).collect(),
            Json::String(lines) => lines.lines().filter(|line| !line.is_empty()).filter_map(|line| one(&line.into())).collect(),
            _ => Vec::new(),
        }
    }
}

/// What is at the first of these paths that is there.
fn found<'a>(field: &'a Json, paths: &[String]) -> Option<&'a Json> {
    let at = |path: &String| path.split('.').try_fold(field, |field, step| field.get(step));
    paths.iter().find_map(at)
}

fn is_true(value: &Json) -> bool {
    value == true || value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

fn text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(value.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// A default as its field has it: APIs write numbers and yes-or-no as texts, too.
fn as_kind(value: &Json, kind: &str) -> Option<Json> {
    let read = || value.as_str().and_then(|text| serde_json::from_str::<Json>(&text.to_ascii_lowercase()).ok());
    match kind {
        "string" => text(value).map(Json::from),
        "boolean" => Some(value.clone()).filter(Json::is_boolean).or_else(|| read().filter(Json::is_boolean)),
        "integer" | "number" => Some(value.clone()).filter(Json::is_number).or_else(|| read().filter(Json::is_number)),
        _ => None,
    }
}
