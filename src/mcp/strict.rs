//! JSON values without double meaning: an object that has a member twice is refused, at every depth.
//!
//! `serde_json` keeps the last of two members, others the first; a proxy, a log or a provider could believe another one than we do.

use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// A value in which every member is there once.
#[derive(Debug)]
pub(crate) struct Strict(pub(crate) Value);

/// An object in which every member is there once.
#[derive(Debug)]
pub(crate) struct StrictObject(pub(crate) Map<String, Value>);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

impl<'de> Deserialize<'de> for StrictObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object).map(Self)
    }
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Map<String, Value>, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            match object.entry(name) {
                Entry::Occupied(there) => return Err(A::Error::custom(format!("`{}` is there twice", there.key()))),
                Entry::Vacant(free) => {
                    free.insert(members.next_value::<Strict>()?.0);
                }
            }
        }
        Ok(object)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Value, A::Error> {
        Object.visit_map(members).map(Value::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_once_is_read_as_it_is() {
        let text = r#"{"a":null,"b":[true,-1,18446744073709551615,0.5,1e300,"é\n"],"c":{"a":{}},"d":[{"x":1},{"x":1}]}"#;
        let plain: Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_str::<Strict>(text).unwrap().0, plain);
        assert_eq!(Value::Object(serde_json::from_str::<StrictObject>(text).unwrap().0), plain);
    }

    #[test]
    fn a_member_that_is_there_twice_is_refused_at_every_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"{"x":{"a":1,"b":2,"a":3}}"#, r#"{"x":[[{"a":1,"a":1}]]}"#] {
            let refused = serde_json::from_str::<Strict>(text).unwrap_err().to_string();
            assert!(refused.contains("`a` is there twice"), "{text}: {refused}");
            assert!(serde_json::from_str::<StrictObject>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<StrictObject>("[]").is_err());
    }

    /// The stack is bounded whatever is sent.
    #[test]
    fn what_is_nested_too_deeply_is_refused() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(serde_json::from_str::<Strict>(&deep).is_err());
    }
}
