//! `--arg name=value` to JSON, typed by the tool's schema.

use jsonschema::ValidationError;
use serde_json::{Map, Value};

use super::out::Failure;

/// The arguments of a call: `pairs` typed by `schema`, or `json` as it is. They are checked against the schema here, so that a
/// mistake is told by its name before anything is sent.
pub(super) fn arguments(schema: &Value, pairs: &[String], json: Option<&str>) -> Result<Map<String, Value>, Failure> {
    let arguments = match json {
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(map)) => map,
            Ok(_) => return Err(Failure::usage("--json takes an object, for example '{\"name\": \"Ada\"}'")),
            Err(error) => return Err(Failure::usage(format!("--json is no JSON: {error}"))),
        },
        None => pairs.iter().map(|pair| typed_pair(schema, pair, "argument")).collect::<Result<_, _>>()?,
    };
    let value = Value::Object(arguments);
    // A schema that this program cannot use is the gateway's business; it checks the arguments itself.
    let problems: Vec<String> = jsonschema::validator_for(schema)
        .map(|validator| validator.iter_errors(&value).map(|error| sentence(&error)).collect())
        .unwrap_or_default();
    match value {
        Value::Object(arguments) if problems.is_empty() => Ok(arguments),
        _ => Err(Failure::usage(format!("the arguments do not fit the tool: {}", problems.join("; "))).hint(expected(schema))),
    }
}

/// One `name=value` or `name:=json`, which is a `what`.
pub(super) fn typed_pair(schema: &Value, pair: &str, what: &str) -> Result<(String, Value), Failure> {
    let wrong = || Failure::usage(format!("`{pair}` is no {what}: write NAME=VALUE, or NAME:=JSON"));
    let (name, text) = pair.split_once('=').ok_or_else(wrong)?;
    if let Some(name) = name.strip_suffix(':') {
        let value = serde_json::from_str(text).map_err(|error| Failure::usage(format!("`{name}:=` takes JSON: {error}")))?;
        return Ok((name.to_owned(), value));
    }
    if name.is_empty() {
        return Err(wrong());
    }
    Ok((name.to_owned(), typed(&schema["properties"][name], text)))
}

/// `text` as the type that `schema` asks for; text where it fits nothing else, so that the check can say what is wrong.
pub(super) fn typed(schema: &Value, text: &str) -> Value {
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let literal = || serde_json::from_str::<Value>(text).ok();
    let fits = |kind: &str| match kind {
        "integer" => literal().filter(|value| value.is_i64() || value.is_u64()),
        "number" => literal().filter(Value::is_number),
        "boolean" => match text {
            "true" | "yes" | "y" => Some(Value::Bool(true)),
            "false" | "no" | "n" => Some(Value::Bool(false)),
            _ => None,
        },
        "null" => literal().filter(Value::is_null),
        "object" => literal().filter(Value::is_object),
        "array" => literal().filter(Value::is_array).or_else(|| Some(list(&schema["items"], text))),
        _ => None,
    };
    if types.contains(&"string") {
        return Value::String(text.to_owned());
    }
    types.iter().find_map(|kind| fits(kind)).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// `a,b,c` as a list.
fn list(items: &Value, text: &str) -> Value {
    Value::Array(text.split(',').filter(|part| !part.is_empty()).map(|part| typed(items, part)).collect())
}

/// A problem with its place in front.
pub(super) fn sentence(error: &ValidationError<'_>) -> String {
    match error.instance_path().as_str().trim_start_matches('/') {
        "" => error.to_string(),
        place => format!("{place}: {error}"),
    }
}

/// What the tool takes, in one line.
fn expected(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty()) else {
        return "this tool takes no arguments".to_owned();
    };
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let words = properties.iter().map(|(name, schema)| {
        let kind = schema["type"].as_str().unwrap_or("value");
        if required.contains(&name.as_str()) { format!("--arg {name}={kind}") } else { format!("[--arg {name}={kind}]") }
    });
    format!("it takes {}", words.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"}, "count": {"type": "integer"}, "share": {"type": "number"}, "dry": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}}, "where": {"type": "object"}, "any": {},
            },
            "required": ["name"],
        })
    }

    fn parse(pairs: &[&str]) -> Result<Value, Failure> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        arguments(&schema(), &pairs, None).map(Value::Object)
    }

    #[test]
    fn arguments_are_typed_by_the_schema() {
        let pairs = ["name=007", "count=3", "share=0.5", "dry=yes", "tags=a,b", "where={\"x\": 1}", "any=7", "free:=[1]"];
        assert_eq!(
            parse(&pairs).unwrap(),
            json!({"name": "007", "count": 3, "share": 0.5, "dry": true, "tags": ["a", "b"], "where": {"x": 1}, "any": "7", "free": [1]})
        );
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_would() {
        let failure = parse(&["name=x", "count=many"]).unwrap_err();
        assert_eq!(failure.code, super::super::out::code::USAGE);
        assert!(failure.message.contains("count"), "{}", failure.message);
        assert!(failure.hint.unwrap().contains("[--arg count=integer]"));
        assert!(parse(&["count=1"]).unwrap_err().message.contains("name"));
        assert!(parse(&["nothing"]).unwrap_err().message.contains("NAME=VALUE"));
        assert!(parse(&["name:=nonsense"]).unwrap_err().message.contains("JSON"));
    }
}
