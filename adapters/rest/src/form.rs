//! From a JSON Schema of a provider's to a form that MCP allows: flat, with texts, numbers, yes-or-no and choices.
//!
//! What a form may hold: MCP 2025-11-25, elicitation, "Requested Schema".

use serde_json::{Map, Value, json};

/// Fields of a form: a person fills it in.
const MOST_FIELDS: usize = 50;
/// Characters of a title or description.
const MOST_CHARS: usize = 1_000;
/// References that lead from one to the next.
const MOST_HOPS: usize = 8;

/// The flat form.
///
/// # Errors
/// What cannot be shown, as the end of a sentence.
pub(crate) fn flat(schema: &Value) -> Result<Value, String> {
    let Some(root) = schema.as_object() else { return Err("it is no JSON Schema".to_owned()) };
    if root.get("type").is_some_and(|kind| kind != "object") {
        return Err("its `type` has to be `object`".to_owned());
    }
    let none = Map::new();
    let given = match root.get("properties") {
        None => &none,
        Some(Value::Object(given)) => given,
        Some(_) => return Err("its `properties` have to be an object".to_owned()),
    };
    let required: Vec<&str> =
        root.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut properties = Map::new();
    for (name, field) in given {
        match self::field(schema, field, MOST_HOPS) {
            Ok(field) => {
                properties.insert(name.clone(), Value::Object(field));
            }
            Err(what) if required.contains(&name.as_str()) => {
                let name = shortened(name);
                return Err(format!(
                    "the field `{name}` has to be filled in and is {what}; a form holds texts, numbers, yes-or-no and choices"
                ));
            }
            Err(_) => {}
        }
    }
    if properties.len() > MOST_FIELDS {
        return Err(format!("it has more than {MOST_FIELDS} fields"));
    }
    let required: Vec<&str> = required.into_iter().filter(|name| properties.contains_key(*name)).collect();
    let mut form = Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), Value::Object(properties))]);
    if !required.is_empty() {
        form.insert("required".to_owned(), json!(required));
    }
    Ok(Value::Object(form))
}

/// One field; the reason for which there is none is the end of a sentence.
fn field(root: &Value, schema: &Value, hops: usize) -> Result<Map<String, Value>, &'static str> {
    let known = schema.as_object().ok_or("no JSON Schema")?;
    let left = hops.checked_sub(1).ok_or("a reference that leads nowhere")?;
    if let Some(reference) = known.get("$ref") {
        let target = reference.as_str().and_then(|text| text.strip_prefix('#')).and_then(|path| root.pointer(path));
        return field(root, target.ok_or("a reference that leads nowhere")?, left).map(|field| described(field, known));
    }
    if let Some([only]) = known.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        return field(root, only, left).map(|field| described(field, known));
    }
    for word in ["oneOf", "anyOf"] {
        let Some(ways) = known.get(word).and_then(Value::as_array) else { continue };
        let ways: Vec<&Value> = ways.iter().filter(|way| way.get("type").is_none_or(|kind| kind != "null")).collect();
        if let Some(mut choices) = titled(&ways) {
            let given = known.get("default").filter(|given| ways.iter().any(|way| way.get("const") == Some(given)));
            choices.extend(given.map(|given| ("default".to_owned(), given.clone())));
            return Ok(described(choices, known));
        }
        let [only] = ways[..] else { return Err("one of several kinds") };
        return field(root, only, left).map(|field| described(field, known));
    }
    let field = match kind(known) {
        Some("string") => text(known),
        Some(kind @ ("integer" | "number")) => match choices(known) {
            // A choice is a text in MCP.
            Some(choices) => Map::from_iter([("type".to_owned(), json!("string")), ("enum".to_owned(), choices)]),
            None => with(known, kind, &["default", "minimum", "maximum"], |value| value.is_number()),
        },
        Some("boolean") => with(known, "boolean", &["default"], Value::is_boolean),
        Some("array") => list(root, known, left)?,
        Some("object") => return Err("an object"),
        Some(_) | None => return Err("of no known type"),
    };
    Ok(described(field, known))
}

/// The type: without null, and guessed from the choices where it is not said.
fn kind(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
            if let [only] = kinds[..] { Some(only) } else { None }
        }
        Some(_) => None,
        None if schema.contains_key("enum") || schema.contains_key("const") => Some("string"),
        None if schema.contains_key("properties") => Some("object"),
        None => None,
    }
}

fn text(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut field = Map::from_iter([("type".to_owned(), json!("string"))]);
    match choices(schema) {
        Some(choices) => {
            field.insert("enum".to_owned(), choices);
        }
        None => {
            for word in ["minLength", "maxLength"] {
                field.extend(schema.get(word).filter(|value| value.is_u64()).map(|value| (word.to_owned(), value.clone())));
            }
            let format = schema.get("format").and_then(Value::as_str);
            let known = format.filter(|format| ["email", "uri", "date", "date-time"].contains(format));
            field.extend(known.map(|format| ("format".to_owned(), json!(format))));
        }
    }
    field.extend(schema.get("default").filter(|value| value.is_string()).map(|value| ("default".to_owned(), value.clone())));
    field
}

/// The choices of a field, each a text; `None` where anything may be filled in.
fn choices(schema: &Map<String, Value>) -> Option<Value> {
    let given = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(given)), _) => given.iter().collect(),
        (_, Some(only)) => vec![only],
        (_, None) => return None,
    };
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let choices: Vec<String> = given.into_iter().filter_map(word).collect();
    (!choices.is_empty()).then(|| json!(choices))
}

/// Choices with a title each: `{ const, title }`.
fn titled(ways: &[&Value]) -> Option<Map<String, Value>> {
    let choice = |way: &&Value| {
        let value = way.get("const")?.as_str()?;
        let title = way.get("title").and_then(Value::as_str).unwrap_or(value);
        Some(json!({ "const": value, "title": cut(title) }))
    };
    let choices: Option<Vec<Value>> = ways.iter().map(choice).collect();
    let choices = choices.filter(|choices| !choices.is_empty())?;
    Some(Map::from_iter([("type".to_owned(), json!("string")), ("oneOf".to_owned(), Value::Array(choices))]))
}

/// A list is a choice of several, and nothing else.
fn list(root: &Value, schema: &Map<String, Value>, hops: usize) -> Result<Map<String, Value>, &'static str> {
    let items = field(root, schema.get("items").ok_or("a list")?, hops)?;
    let items = match (items.get("enum"), items.get("oneOf")) {
        (Some(choices), _) => json!({ "type": "string", "enum": choices }),
        (None, Some(choices)) => json!({ "anyOf": choices }),
        (None, None) => return Err("a list of anything"),
    };
    let mut field = with(schema, "array", &["minItems", "maxItems"], Value::is_u64);
    field.insert("items".to_owned(), items);
    let texts = |value: &&Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    field.extend(schema.get("default").filter(texts).map(|value| ("default".to_owned(), value.clone())));
    Ok(field)
}

fn with(schema: &Map<String, Value>, kind: &str, words: &[&str], fits: impl Fn(&Value) -> bool) -> Map<String, Value> {
    let kept = words.iter().filter_map(|word| Some(((*word).to_owned(), schema.get(*word).filter(|value| fits(value))?.clone())));
    std::iter::once(("type".to_owned(), json!(kind))).chain(kept).collect()
}

/// With the title and description that were given where the field was named.
fn described(mut field: Map<String, Value>, schema: &Map<String, Value>) -> Map<String, Value> {
    for word in ["title", "description"] {
        field.extend(schema.get(word).and_then(Value::as_str).map(|text| (word.to_owned(), json!(cut(text)))));
    }
    field
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

fn shortened(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(field: Value) -> Result<Value, String> {
        let schema = json!({
            "properties": { "x": field }, "required": ["x"],
            "$defs": { "Size": { "enum": ["S", "L"], "title": "Size" }, "Loop": { "$ref": "#/$defs/Loop" } },
        });
        flat(&schema).map(|form| form["properties"]["x"].clone())
    }

    #[test]
    fn fields_are_brought_to_what_mcp_allows() {
        for (given, wanted) in [
            (
                json!({ "type": "string", "minLength": 1, "pattern": "^a", "format": "email" }),
                json!({ "type": "string", "minLength": 1, "format": "email" }),
            ),
            (json!({ "type": "string", "format": "hostname", "default": 3, "x-ui": 1 }), json!({ "type": "string" })),
            (
                json!({ "type": ["integer", "null"], "minimum": 1, "default": 2 }),
                json!({ "type": "integer", "default": 2, "minimum": 1 }),
            ),
            (
                json!({ "type": "boolean", "default": false, "title": "Go?" }),
                json!({ "type": "boolean", "default": false, "title": "Go?" }),
            ),
            (json!({ "enum": ["a", "b"], "default": "a" }), json!({ "type": "string", "enum": ["a", "b"], "default": "a" })),
            (json!({ "type": "integer", "enum": [1, 2] }), json!({ "type": "string", "enum": ["1", "2"] })),
            (json!({ "const": "only" }), json!({ "type": "string", "enum": ["only"] })),
            (
                json!({ "$ref": "#/$defs/Size", "title": "How large" }),
                json!({ "type": "string", "enum": ["S", "L"], "title": "How large" }),
            ),
            (
                json!({ "anyOf": [{ "type": "number" }, { "type": "null" }], "description": "d" }),
                json!({ "type": "number", "description": "d" }),
            ),
            (json!({ "allOf": [{ "$ref": "#/$defs/Size" }] }), json!({ "type": "string", "enum": ["S", "L"], "title": "Size" })),
            (
                json!({ "oneOf": [{ "const": "a", "title": "A" }, { "const": "b" }], "default": "b" }),
                json!({ "type": "string", "oneOf": [{ "const": "a", "title": "A" }, { "const": "b", "title": "b" }], "default": "b" }),
            ),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b"] }, "minItems": 1, "uniqueItems": true }),
                json!({ "type": "array", "minItems": 1, "items": { "type": "string", "enum": ["a", "b"] } }),
            ),
        ] {
            assert_eq!(one(given.clone()), Ok(wanted), "{given}");
        }
    }

    #[test]
    fn what_is_not_flat_is_left_out_and_refused_where_it_is_required() {
        for (given, reason) in [
            (json!({ "type": "object", "properties": {} }), "is an object"),
            (json!({ "properties": {} }), "is an object"),
            (json!({ "type": "array", "items": { "type": "string" } }), "is a list of anything"),
            (json!({ "type": "array" }), "is a list"),
            (json!({ "anyOf": [{ "type": "string" }, { "type": "number" }] }), "is one of several kinds"),
            (json!({ "$ref": "#/$defs/Loop" }), "leads nowhere"),
            (json!({ "$ref": "https://example.com/x.json" }), "leads nowhere"),
            (json!(true), "is no JSON Schema"),
            (json!({}), "of no known type"),
        ] {
            let said = one(given.clone()).unwrap_err();
            assert!(said.contains("the field `x`") && said.contains(reason), "{given}: {said}");
            let optional = flat(&json!({ "properties": { "x": given, "y": { "type": "string" } } })).unwrap();
            assert_eq!(optional, json!({ "type": "object", "properties": { "y": { "type": "string" } } }));
        }
        for wrong in [json!([]), json!({ "type": "string" }), json!({ "properties": [] })] {
            assert!(flat(&wrong).is_err(), "{wrong}");
        }
        let many: Map<String, Value> = (0..=MOST_FIELDS).map(|n| (n.to_string(), json!({ "type": "string" }))).collect();
        assert!(flat(&json!({ "properties": many })).unwrap_err().contains("more than 50"));
    }
}
