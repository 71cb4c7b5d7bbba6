//! A number of bytes as people write it in a configuration.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// `64KiB`, `200MiB`, `5MB` or `4096`: a whole number of bytes, or one with its unit.
///
/// Read with [`FromStr`] or serde, written back with [`fmt::Display`] in the largest unit that loses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HumanBytes(u64);

/// Bytes of each unit, largest first (IEC 80000-13 for the binary ones, SI for the others).
const UNITS: [(&str, u64); 7] =
    [("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20), ("MB", 1_000_000), ("KiB", 1 << 10), ("kB", 1000), ("B", 1)];

impl HumanBytes {
    /// This many bytes, for defaults.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for HumanBytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = || {
            format!(
                "`{text}` is no number of bytes: write a whole number and a unit (B, kB, KiB, MB, MiB, GB, GiB), for example `64KiB`"
            )
        };
        let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let number: u64 = number.parse().map_err(|_| refused())?;
        let factor = match unit {
            "" => 1,
            unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refused)?.1,
        };
        number.checked_mul(factor).map(Self).ok_or_else(|| format!("`{text}` is more than bytes can be counted here"))
    }
}

impl fmt::Display for HumanBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl<'de> Deserialize<'de> for HumanBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl serde::de::Visitor<'_> for Words {
            type Value = HumanBytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of bytes, for example `64KiB` or `4096`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<HumanBytes, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E>(self, bytes: u64) -> Result<HumanBytes, E> {
                Ok(HumanBytes(bytes))
            }
        }
        deserializer.deserialize_any(Words)
    }
}

impl JsonSchema for HumanBytes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of bytes, alone or with a unit: B, kB, KiB, MB, MiB, GB or GiB.",
            "anyOf": [{ "type": "string", "pattern": "^[0-9]+(B|kB|KiB|MB|MiB|GB|GiB)?$" }, { "type": "integer", "minimum": 0 }],
            "examples": ["64KiB", "200MiB", 4096],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read_and_written_back_in_the_largest_unit_that_fits() {
        for (text, bytes, back) in [
            ("64KiB", 65_536, "64KiB"),
            ("200MiB", 209_715_200, "200MiB"),
            ("1GiB", 1_073_741_824, "1GiB"),
            ("5MB", 5_000_000, "5MB"),
            ("2kB", 2000, "2kB"),
            ("1024KiB", 1_048_576, "1MiB"),
            ("17B", 17, "17B"),
            ("17", 17, "17B"),
            ("0", 0, "0B"),
        ] {
            let read: HumanBytes = text.parse().unwrap();
            assert_eq!((read.get(), read.to_string().as_str()), (bytes, back), "{text}");
        }
        assert_eq!(serde_json::from_str::<HumanBytes>("4096").unwrap().get(), 4096);
    }

    #[test]
    fn what_is_no_number_of_bytes_is_refused_with_an_example() {
        for text in ["", "KiB", "-1B", "1.5MiB", "2 KiB", "5mb", "3TB", "99999999999999999999"] {
            let refused = text.parse::<HumanBytes>().unwrap_err();
            assert!(refused.contains("for example `64KiB`"), "{text}: {refused}");
        }
        assert!("99999999999999GiB".parse::<HumanBytes>().unwrap_err().contains("more than"));
        let wrong = serde_json::from_str::<HumanBytes>("true").unwrap_err().to_string();
        assert!(wrong.contains("for example `64KiB`"), "{wrong}");
    }
}
