//! JSON of which nobody knows who wrote it: one meaning, bounded in depth and number of values.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The most values, counting every element of a list and every member of an object. One level lies at most 128 deep, which is the
/// parser's own limit.
pub(crate) const MOST_VALUES: usize = 100_000;

/// Reads one value. The reason for a refusal names a position and never content.
///
/// # Errors
/// For what is no JSON, a name that an object has twice (parsers differ in which of the two counts, RFC 8259 section 4), more than 128
/// levels, more than [`MOST_VALUES`] values, and a number that no double can hold.
pub(crate) fn strict(text: &str) -> Result<Value, String> {
    let mut left = MOST_VALUES;
    let mut input = serde_json::Deserializer::from_str(text);
    Walk(&mut left).deserialize(&mut input).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Goes over a value and keeps nothing of it.
struct Walk<'a>(&'a mut usize);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        *self.0 = self.0.checked_sub(1).ok_or_else(|| D::Error::custom("it has too many values"))?;
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("an object has the same name twice"));
            }
            members.next_value_seed(Walk(self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_one_meaning_and_bounds() {
        for fine in ["{}", " [1, 2.5, -3, null, true, \"ä\"] ", "\"\"", "0", r#"{"a":{"b":1},"c":{"b":2}}"#] {
            assert_eq!(strict(fine), Ok(serde_json::from_str(fine).unwrap()), "{fine}");
        }
        for (wrong, reason) in [
            ("", "EOF"),
            ("{} {}", "trailing"),
            ("\u{feff}{}", "expected value"),
            (r#"{"status":"failed","status":"completed"}"#, "the same name twice"),
            (r#"{"a":[{"b":{"c":1,"\u0063":2}}]}"#, "the same name twice"),
            ("1e999999", "out of range"),
            (&"[".repeat(100_000), "recursion limit"),
            (&r#"{"a":"#.repeat(100_000), "recursion limit"),
            (&format!("[{}0]", "0,".repeat(MOST_VALUES)), "too many values"),
            ("{\"a\":tru}", "expected"),
        ] {
            let said = strict(wrong).unwrap_err();
            assert!(said.contains(reason), "{reason}: {said}");
        }
    }
}
