//! A span of time as people write it in a configuration: a whole number and a unit.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// `250ms`, `2s`, `5m`, `24h` or `7d`: a whole number and its unit, so that nobody has to guess what `30` means.
///
/// Read with [`FromStr`] or serde, written back with [`fmt::Display`] in the largest unit that loses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HumanDuration(Duration);

/// Milliseconds of each unit, largest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl HumanDuration {
    /// This many milliseconds, for defaults.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }

    /// This many seconds, for defaults.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// The span.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl From<HumanDuration> for Duration {
    fn from(words: HumanDuration) -> Self {
        words.0
    }
}

impl FromStr for HumanDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused =
            || format!("`{text}` is no span of time: write a whole number and a unit (ms, s, m, h, d), for example `30s`");
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refused)?;
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| refused())?;
        let &(_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refused)?;
        let ms = number.checked_mul(factor).ok_or_else(|| format!("`{text}` is longer than time can be counted here"))?;
        Ok(Self::from_millis(ms))
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if ms == 0 {
            return f.write_str("0s");
        }
        match UNITS.iter().find(|(_, factor)| ms % factor == 0) {
            Some((unit, factor)) => write!(f, "{}{unit}", ms / factor),
            None => write!(f, "{ms}ms"),
        }
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl serde::de::Visitor<'_> for Words {
            type Value = HumanDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span of time with its unit, for example `30s` or `5m`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<HumanDuration, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Words)
    }
}

impl JsonSchema for HumanDuration {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A whole number and a unit: ms, s, m, h or d.",
            "pattern": "^[0-9]+(ms|s|m|h|d)$",
            "examples": ["30s", "250ms", "5m", "24h", "7d"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_read_and_written_back_in_the_largest_unit_that_fits() {
        for (text, ms, back) in [
            ("250ms", 250, "250ms"),
            ("1500ms", 1500, "1500ms"),
            ("2s", 2000, "2s"),
            ("60s", 60_000, "1m"),
            ("5m", 300_000, "5m"),
            ("24h", 86_400_000, "1d"),
            ("7d", 604_800_000, "7d"),
            ("0s", 0, "0s"),
        ] {
            let read: HumanDuration = text.parse().unwrap();
            assert_eq!(read.get(), Duration::from_millis(ms), "{text}");
            assert_eq!(read.to_string(), back, "{text}");
        }
    }

    #[test]
    fn what_has_no_unit_or_no_number_is_refused_with_an_example() {
        for text in ["30", "", "s", "-1s", "1.5s", "2 s", "5min", "3w", "99999999999999999999s"] {
            let refused = text.parse::<HumanDuration>().unwrap_err();
            assert!(refused.contains("for example `30s`"), "{text}: {refused}");
        }
        assert!("999999999999999d".parse::<HumanDuration>().unwrap_err().contains("longer than"));
        let number = serde_json::from_str::<HumanDuration>("30").unwrap_err().to_string();
        assert!(number.contains("for example `30s`"), "{number}");
    }
}
