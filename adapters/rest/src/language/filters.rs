//! The filters that MiniJinja lacks and job APIs need. Each is pure.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::{Object, Serde, Value};
use minijinja::{Environment, Error, ErrorKind};

use crate::json;

/// Adds all of them.
pub(crate) fn install(environment: &mut Environment<'static>) {
    environment.add_filter("optional", optional);
    environment.add_filter("to_json", to_json);
    environment.add_filter("from_json", from_json);
    environment.add_filter("base64_encode", |text: &str| STANDARD.encode(text));
    environment.add_filter("base64_decode", base64_decode);
    environment.add_filter("last_segment", last_segment);
    environment.add_filter("regex_extract", regex_extract);
    environment.add_filter("values", values);
    environment.add_filter("epoch_seconds", epoch_seconds);
}

/// The mark of a value that shall be left out.
#[derive(Debug)]
struct Omitted;

impl Object for Omitted {}

pub(crate) fn is_omitted(value: &Value) -> bool {
    value.downcast_object_ref::<Omitted>().is_some()
}

/// `args.size | optional`: where it is undefined or null, the field or parameter is left out.
fn optional(value: &Value) -> Value {
    if value.is_undefined() || value.is_none() { Value::from_dyn_object(Arc::new(Omitted)) } else { value.clone() }
}

/// JSON in a text, without the HTML escapes of `tojson`.
fn to_json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|_| wrong("`to_json` was given what is no JSON"))
}

/// A text that holds JSON, as a value; read like a delivery, as it may be one in an envelope.
fn from_json(text: &str) -> Result<Value, Error> {
    let value = json::strict(text).map_err(|_| wrong("`from_json` was given a text that is no JSON, or has a name twice"))?;
    Ok(Value::from(Serde(value)))
}

fn base64_decode(text: &str) -> Result<String, Error> {
    let bytes = STANDARD.decode(text.trim()).map_err(|_| wrong("`base64_decode` was given what is no base64"))?;
    String::from_utf8(bytes).map_err(|_| wrong("`base64_decode` gives bytes that are no text"))
}

/// The last part of a path or address that is not empty: `https://ci.example.com/queue/item/17/` gives `17`.
fn last_segment(text: &str) -> Result<String, Error> {
    let path = text.split(['?', '#']).next().unwrap_or(text);
    path.rsplit('/').find(|step| !step.is_empty()).map(str::to_owned).ok_or_else(|| wrong("`last_segment` was given no path"))
}

/// The first group of a regular expression's first match, or the match where it has no group; undefined where none matches.
fn regex_extract(text: &str, pattern: &str) -> Result<Value, Error> {
    let regex = regex::Regex::new(pattern).map_err(|_| wrong("`regex_extract` was given what is no regular expression"))?;
    Ok(regex
        .captures(text)
        .and_then(|found| found.get(1).or_else(|| found.get(0)))
        .map_or(Value::UNDEFINED, |part| Value::from(part.as_str())))
}

/// The values of a map, as a list.
fn values(map: &Value) -> Result<Value, Error> {
    let keys = map.try_iter()?;
    keys.map(|key| map.get_item(&key)).collect::<Result<Vec<Value>, Error>>().map(Value::from)
}

/// Whole seconds since 1970 of an ISO 8601 moment.
fn epoch_seconds(text: &str) -> Result<i64, Error> {
    text.parse::<jiff::Timestamp>().map(|at| at.as_second()).map_err(|_| wrong("`epoch_seconds` was given no ISO 8601 moment"))
}

/// What is wrong, without the value: it may be anything that a provider sent.
fn wrong(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
