//! What one value of a request must be: WireMock's text matchers, each under its own name.

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::json::{Json, Picked, pick, text_of};

/// A matcher. A value that is not there is `None`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Words")]
pub(super) enum Pattern {
    EqualTo { text: String, ignores_case: bool },
    Contains(String),
    DoesNotContain(String),
    Matches(Regex),
    DoesNotMatch(Regex),
    Absent,
    EqualToJson(Json),
    JsonPath { path: JsonPath, inner: Option<Box<Pattern>> },
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
}

/// As it is written: one operator, and what belongs to it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Words {
    equal_to: Option<String>,
    case_insensitive: Option<bool>,
    contains: Option<String>,
    does_not_contain: Option<String>,
    matches: Option<String>,
    does_not_match: Option<String>,
    absent: Option<bool>,
    equal_to_json: Option<Value>,
    ignore_array_order: Option<bool>,
    ignore_extra_elements: Option<bool>,
    matches_json_path: Option<Value>,
    and: Option<Vec<Pattern>>,
    or: Option<Vec<Pattern>>,
    not: Option<Box<Pattern>>,
}

impl TryFrom<Words> for Pattern {
    type Error = String;

    fn try_from(words: Words) -> Result<Self, String> {
        if words.case_insensitive.is_some() && words.equal_to.is_none() {
            return Err("caseInsensitive belongs to equalTo".to_owned());
        }
        if (words.ignore_array_order.is_some() || words.ignore_extra_elements.is_some()) && words.equal_to_json.is_none() {
            return Err("ignoreArrayOrder and ignoreExtraElements belong to equalToJson".to_owned());
        }
        let ignores_case = words.case_insensitive.unwrap_or(false);
        let any_order = words.ignore_array_order.unwrap_or(false);
        let extra = words.ignore_extra_elements.unwrap_or(false);
        let given = [
            words.equal_to.map(|text| Ok(Self::EqualTo { text, ignores_case })),
            words.contains.map(|text| Ok(Self::Contains(text))),
            words.does_not_contain.map(|text| Ok(Self::DoesNotContain(text))),
            words.matches.map(|text| whole(&text).map(Self::Matches)),
            words.does_not_match.map(|text| whole(&text).map(Self::DoesNotMatch)),
            words.absent.map(|absent| if absent { Ok(Self::Absent) } else { Err("absent is true, or not there".to_owned()) }),
            words.equal_to_json.map(|wanted| Json::new(wanted, any_order, extra).map(Self::EqualToJson)),
            words.matches_json_path.map(json_path),
            words.and.map(|all| Ok(Self::And(all))),
            words.or.map(|any| Ok(Self::Or(any))),
            words.not.map(|inner| Ok(Self::Not(inner))),
        ];
        let mut given: Vec<Result<Self, String>> = given.into_iter().flatten().collect();
        match (given.pop(), given.is_empty()) {
            (Some(only), true) => only,
            _ => Err(
                "a matcher has exactly one of equalTo, contains, doesNotContain, matches, doesNotMatch, absent, equalToJson, \
                      matchesJsonPath, and, or, not"
                    .to_owned(),
            ),
        }
    }
}

/// A regular expression that must match the whole text, over line ends, as in WireMock.
pub(super) fn whole(text: &str) -> Result<Regex, String> {
    Regex::new(&format!("^(?s:{text})$")).map_err(|error| format!("`{text}` is no regular expression of the subset: {error}"))
}

/// `"$.a"`, or `{"expression": "$.a", "equalTo": "x"}`.
fn json_path(words: Value) -> Result<Pattern, String> {
    let read = |text: &str| super::json::path(text);
    match words {
        Value::String(text) => Ok(Pattern::JsonPath { path: read(&text)?, inner: None }),
        Value::Object(mut words) => {
            let Some(Value::String(text)) = words.remove("expression") else {
                return Err("matchesJsonPath is a path, or has an expression and one matcher".to_owned());
            };
            let inner = serde_json::from_value(Value::Object(words)).map_err(|error| format!("matchesJsonPath: {error}"))?;
            Ok(Pattern::JsonPath { path: read(&text)?, inner: Some(Box::new(inner)) })
        }
        _ => Err("matchesJsonPath is a path, or has an expression and one matcher".to_owned()),
    }
}

impl Pattern {
    /// Whether this text fits. What is not there contains nothing and matches nothing.
    pub(super) fn fits(&self, text: Option<&str>) -> bool {
        match (self, text) {
            (Self::Absent | Self::DoesNotContain(_) | Self::DoesNotMatch(_), None) => true,
            (Self::Not(inner), text) => !inner.fits(text),
            (Self::And(all), text) => all.iter().all(|one| one.fits(text)),
            (Self::Or(any), text) => any.iter().any(|one| one.fits(text)),
            (Self::JsonPath { path, inner }, text) => Self::fits_path(path, inner.as_deref(), text),
            (Self::Absent, Some(_)) | (_, None) => false,
            (Self::EqualTo { text: wanted, ignores_case: false }, Some(text)) => wanted == text,
            (Self::EqualTo { text: wanted, ignores_case: true }, Some(text)) => wanted.to_lowercase() == text.to_lowercase(),
            (Self::Contains(part), Some(text)) => text.contains(part),
            (Self::DoesNotContain(part), Some(text)) => !text.contains(part),
            (Self::Matches(pattern), Some(text)) => pattern.is_match(text),
            (Self::DoesNotMatch(pattern), Some(text)) => !pattern.is_match(text),
            (Self::EqualToJson(wanted), Some(text)) => serde_json::from_str(text).is_ok_and(|found: Value| wanted.fits(&found)),
        }
    }

    fn fits_path(path: &JsonPath, inner: Option<&Self>, text: Option<&str>) -> bool {
        let found = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let picked = found.as_ref().map_or(Picked::Nothing, |found| pick(path, found));
        match (inner, picked) {
            (None, picked) => !matches!(picked, Picked::Nothing),
            (Some(Self::Absent), picked) => matches!(picked, Picked::Nothing),
            (Some(_), Picked::Nothing) => false,
            (Some(inner), Picked::One(value)) => inner.fits(text_of(&value).as_deref()),
            // A list as a whole for who asks for JSON, else any member of it.
            (Some(inner @ (Self::EqualToJson(_) | Self::JsonPath { .. })), Picked::List(values)) => {
                inner.fits(Some(&Value::Array(values).to_string()))
            }
            (Some(inner), Picked::List(values)) => values.iter().any(|value| inner.fits(text_of(value).as_deref())),
        }
    }
}

/// What several values of one name must be.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum Values {
    /// One of them fits; with none, what is not there fits.
    Any(Pattern),
    /// Each pattern has a value of its own, and no value is left.
    Exactly(Vec<Pattern>),
    /// Each pattern has a value.
    Includes(Vec<Pattern>),
}

impl TryFrom<Value> for Values {
    type Error = String;

    fn try_from(mut words: Value) -> Result<Self, String> {
        let all = |words: &mut Value, name: &str| {
            let others = words.as_object().map_or(0, serde_json::Map::len);
            let list = words.get_mut(name).map(Value::take)?;
            Some(if others == 1 {
                serde_json::from_value(list).map_err(|error| format!("{name}: {error}"))
            } else {
                Err(format!("{name} stands alone"))
            })
        };
        if let Some(list) = all(&mut words, "hasExactly") {
            return list.map(Self::Exactly);
        }
        if let Some(list) = all(&mut words, "includes") {
            return list.map(Self::Includes);
        }
        serde_json::from_value(words).map(Self::Any).map_err(|error| error.to_string())
    }
}

impl Values {
    pub(super) fn fits(&self, values: &[String]) -> bool {
        let has = |pattern: &Pattern| values.iter().any(|value| pattern.fits(Some(value)));
        match self {
            Self::Any(pattern) if values.is_empty() => pattern.fits(None),
            Self::Any(pattern) => has(pattern),
            Self::Exactly(all) => {
                all.len() == values.len()
                    && all.iter().all(has)
                    && values.iter().all(|it| all.iter().any(|one| one.fits(Some(it))))
            }
            Self::Includes(all) => all.iter().all(has),
        }
    }
}
