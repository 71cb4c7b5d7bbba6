//! Sets of HTTP status codes: `[200, 202]`, `[2xx, 409]`.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Status codes, each alone (`409`) or by class (`2xx`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes(Vec<Entry>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    One(u16),
    Class(u16),
}

impl Codes {
    /// No code.
    #[must_use]
    pub fn none() -> Self {
        Self(Vec::new())
    }

    /// These codes.
    #[must_use]
    pub fn exactly<const N: usize>(codes: [u16; N]) -> Self {
        Self(codes.map(Entry::One).to_vec())
    }

    /// Whether `code` is one of them.
    #[must_use]
    pub fn contains(&self, code: u16) -> bool {
        self.0.iter().any(|entry| match entry {
            Entry::One(one) => *one == code,
            Entry::Class(class) => *class == code / 100,
        })
    }
}

/// 2xx.
impl Default for Codes {
    fn default() -> Self {
        Self(vec![Entry::Class(2)])
    }
}

impl fmt::Display for Codes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "[{}]", entries.join(", "))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(code) => write!(f, "{code}"),
            Self::Class(class) => write!(f, "{class}xx"),
        }
    }
}

impl<'de> Deserialize<'de> for Codes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<Value>::deserialize(deserializer)?;
        list.iter().map(entry).collect::<Result<_, _>>().map(Self).map_err(serde::de::Error::custom)
    }
}

fn entry(value: &Value) -> Result<Entry, String> {
    let one = value.as_u64().and_then(|code| u16::try_from(code).ok()).filter(|code| (100..600).contains(code)).map(Entry::One);
    let class = || match value.as_str()?.as_bytes() {
        [class @ b'1'..=b'5', b'x', b'x'] => Some(Entry::Class(u16::from(class - b'0'))),
        _ => None,
    };
    one.or_else(class).ok_or_else(|| format!("{value} is no HTTP status code: write for example `[200, 202]` or `[2xx]`"))
}

impl JsonSchema for Codes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StatusCodes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "description": "HTTP status codes, each alone (`409`) or by class (`2xx`).",
            "items": { "anyOf": [{ "type": "integer", "minimum": 100, "maximum": 599 }, { "type": "string", "pattern": "^[1-5]xx$" }] },
            "examples": [[200, 202], ["2xx", 409]],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn codes_are_read_alone_and_by_class_and_nothing_else_is() {
        let codes: Codes = serde_json::from_value(json!(["2xx", 409])).unwrap();
        assert!(codes.contains(204) && codes.contains(409) && !codes.contains(404));
        assert_eq!(codes.to_string(), "[2xx, 409]");
        for wrong in [json!([20]), json!(["6xx"]), json!(["ok"]), json!([null])] {
            let error = serde_json::from_value::<Codes>(wrong).unwrap_err().to_string();
            assert!(error.contains("[200, 202]"), "{error}");
        }
    }
}
