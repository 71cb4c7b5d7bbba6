//! JSON of requests: when two trees are equal, and what a path finds.

use regex::Regex;
use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use super::pattern::whole;

/// A tree that a body must be equal to, with the placeholders of json-unit, which WireMock compares with.
#[derive(Debug)]
pub(super) struct Json {
    wanted: Wanted,
    any_order: bool,
    extra: bool,
}

#[derive(Debug)]
enum Wanted {
    Value(Value),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
    AnyString,
    AnyNumber,
    AnyBoolean,
    /// Anything, which must be there.
    Ignore,
    /// Anything, which need not be there.
    IgnoreElement,
    Regex(Regex),
}

impl Json {
    /// From a tree, or from its text.
    pub(super) fn new(tree: Value, any_order: bool, extra: bool) -> Result<Self, String> {
        let tree = match tree {
            Value::String(text) => serde_json::from_str(&text).map_err(|error| format!("equalToJson is no JSON: {error}"))?,
            tree => tree,
        };
        Ok(Self { wanted: Wanted::new(tree)?, any_order, extra })
    }

    pub(super) fn fits(&self, found: &Value) -> bool {
        self.equal(&self.wanted, found)
    }

    fn equal(&self, wanted: &Wanted, found: &Value) -> bool {
        match (wanted, found) {
            (Wanted::Ignore | Wanted::IgnoreElement, _)
            | (Wanted::AnyString, Value::String(_))
            | (Wanted::AnyNumber, Value::Number(_))
            | (Wanted::AnyBoolean, Value::Bool(_)) => true,
            (Wanted::Regex(pattern), Value::String(text)) => pattern.is_match(text),
            (Wanted::Value(Value::Number(wanted)), Value::Number(found)) => wanted == found || wanted.as_f64() == found.as_f64(),
            (Wanted::Value(wanted), found) => wanted == found,
            (Wanted::Object(wanted), Value::Object(found)) => self.equal_objects(wanted, found),
            (Wanted::List(wanted), Value::Array(found)) => {
                let enough = if self.extra { wanted.len() <= found.len() } else { wanted.len() == found.len() };
                enough
                    && if self.any_order {
                        self.each_has_one(wanted, &found.iter().collect::<Vec<_>>())
                    } else {
                        wanted.iter().zip(found).all(|(wanted, found)| self.equal(wanted, found))
                    }
            }
            _ => false,
        }
    }

    fn equal_objects(&self, wanted: &[(String, Wanted)], found: &Map<String, Value>) -> bool {
        let all = wanted.iter().all(|(name, wanted)| match found.get(name) {
            Some(found) => self.equal(wanted, found),
            None => matches!(wanted, Wanted::IgnoreElement),
        });
        all && (self.extra || found.keys().all(|name| wanted.iter().any(|(known, _)| known == name)))
    }

    /// Whether each can be given a member of its own, in any order.
    fn each_has_one(&self, wanted: &[Wanted], found: &[&Value]) -> bool {
        let Some((first, others)) = wanted.split_first() else { return true };
        found.iter().enumerate().any(|(index, value)| {
            self.equal(first, value) && {
                let mut rest = found.to_vec();
                rest.remove(index);
                self.each_has_one(others, &rest)
            }
        })
    }
}

impl Wanted {
    fn new(tree: Value) -> Result<Self, String> {
        Ok(match tree {
            Value::Array(list) => Self::List(list.into_iter().map(Self::new).collect::<Result<_, _>>()?),
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| Ok((name, Self::new(value)?)));
                Self::Object(fields.collect::<Result<_, String>>()?)
            }
            Value::String(text) => Self::placeholder(&text)?.unwrap_or(Self::Value(Value::String(text))),
            value => Self::Value(value),
        })
    }

    fn placeholder(text: &str) -> Result<Option<Self>, String> {
        let Some((name, rest)) = text.strip_prefix("${json-unit.").and_then(|text| text.split_once('}')) else { return Ok(None) };
        Ok(Some(match (name, rest) {
            ("any-string", "") => Self::AnyString,
            ("any-number", "") => Self::AnyNumber,
            ("any-boolean", "") => Self::AnyBoolean,
            ("ignore", "") => Self::Ignore,
            ("ignore-element", "") => Self::IgnoreElement,
            ("regex", pattern) => Self::Regex(whole(pattern)?),
            _ => {
                return Err(format!(
                    "`{text}` is no placeholder of the subset: ${{json-unit.X}} with any-string, any-number, any-boolean, ignore, \
                     ignore-element, or regex with an expression behind it"
                ));
            }
        }))
    }
}

/// A path of RFC 9535.
pub(super) fn path(text: &str) -> Result<JsonPath, String> {
    // WireMock's paths ask an object itself where the standard asks its members; only lists mean the same to both.
    if text.starts_with("$[?") {
        return Err(format!(
            "`{text}`: a filter of the whole body means something else in WireMock; name the list, as in $.items[?...]"
        ));
    }
    JsonPath::parse(text).map_err(|error| format!("`{text}` is no JSONPath (RFC 9535): {error}"))
}

/// What a path finds.
#[derive(Debug, PartialEq)]
pub(super) enum Picked {
    /// Nothing, null, or an empty list.
    Nothing,
    One(Value),
    List(Vec<Value>),
}

pub(super) fn pick(path: &JsonPath, found: &Value) -> Picked {
    let mut nodes: Vec<Value> = path.query(found).all().into_iter().cloned().collect();
    if !is_definite(&path.to_string()) {
        return if nodes.is_empty() { Picked::Nothing } else { Picked::List(nodes) };
    }
    match nodes.pop() {
        None | Some(Value::Null) => Picked::Nothing,
        Some(Value::Array(list)) if list.is_empty() => Picked::Nothing,
        Some(Value::Array(list)) => Picked::List(list),
        Some(value) => Picked::One(value),
    }
}

/// Whether a path names one place: it has no wildcard, filter, slice, union or descent outside of its quoted names.
fn is_definite(path: &str) -> bool {
    let mut quote = None;
    let mut last = ' ';
    for sign in path.chars() {
        match quote {
            Some(open) if sign == open => quote = None,
            Some(_) => {}
            None if sign == '\'' || sign == '"' => quote = Some(sign),
            None if matches!(sign, '*' | '?' | ':' | ',') || (sign == '.' && last == '.') => return false,
            None => {}
        }
        last = sign;
    }
    true
}

/// A value as text: a string without its quotes; null is no text.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}
