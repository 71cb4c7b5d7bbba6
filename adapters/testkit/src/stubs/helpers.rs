//! What the names of a template stand for, and what its helpers do.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jobgate_adapter_api::{FixedRandom, Random, Timestamp};
use serde_json::Value;

use super::asked::Asked;
use super::json::{Picked, path, pick, text_of};
use super::moment;
use super::template::Term;

/// A helper of the subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Helper {
    JsonPath,
    RandomValue,
    RandomInt,
    Now,
    Base64,
    UrlEncode,
    Upper,
    Lower,
    Trim,
}

impl Helper {
    pub(super) const KNOWN: &'static str = "jsonPath, randomValue, randomInt, now, base64, urlEncode, upper, lower, trim";

    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "jsonPath" => Self::JsonPath,
            "randomValue" => Self::RandomValue,
            "randomInt" => Self::RandomInt,
            "now" => Self::Now,
            "base64" => Self::Base64,
            "urlEncode" => Self::UrlEncode,
            "upper" => Self::Upper,
            "lower" => Self::Lower,
            "trim" => Self::Trim,
            _ => return None,
        })
    }

    /// Whether it takes these arguments; what is written out is read at once.
    pub(super) fn check(self, arguments: &[Term], options: &[(String, Term)]) -> Result<(), String> {
        let (count, known): (usize, &[&str]) = match self {
            Self::JsonPath => (2, &["default"]),
            Self::RandomValue => (0, &["length", "type", "uppercase"]),
            Self::RandomInt => (0, &["lower", "upper"]),
            Self::Now => (0, &["offset", "format"]),
            Self::Base64 | Self::UrlEncode | Self::Upper | Self::Lower | Self::Trim => (1, &[]),
        };
        if arguments.len() != count {
            return Err(format!("it takes {count} arguments, not {}", arguments.len()));
        }
        if let Some((name, _)) = options.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            return Err(format!("`{name}=` is not in the subset; it takes {known:?}"));
        }
        let literal = |name: &str| match options.iter().find(|(found, _)| found == name) {
            Some((_, Term::Literal(text))) => Some(text.as_str()),
            _ => None,
        };
        if let (Self::JsonPath, Some(Term::Literal(text))) = (self, arguments.get(1)) {
            path(text)?;
        }
        if self == Self::Now {
            moment::write(Timestamp::default(), literal("format"), literal("offset"))?;
        }
        if let (Self::RandomValue, Some(kind)) = (self, literal("type")) {
            signs(kind)?;
        }
        Ok(())
    }
}

/// What a term is.
#[derive(Debug, PartialEq)]
pub(super) enum Is {
    Nothing,
    Text(String),
    /// Prints as the first; its members have numbers.
    Many(Vec<String>),
    Json(Value),
}

impl Is {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Text(text) => text.clone(),
            Self::Many(texts) => texts.first().cloned().unwrap_or_default(),
            Self::Json(value) => text_of(value).unwrap_or_default(),
        }
    }
}

/// What a template is told: the request, and the world.
#[derive(Debug)]
pub(super) struct Told<'a> {
    pub(super) asked: &'a Asked<'a>,
    /// The names in a `urlPathTemplate`.
    pub(super) names: &'a BTreeMap<String, String>,
    pub(super) parameters: &'a Value,
    pub(super) now: Timestamp,
    pub(super) random: &'a FixedRandom,
}

impl Told<'_> {
    /// Whether a name can stand for something.
    pub(super) fn knows(steps: &[String]) -> Result<(), String> {
        let known = [
            "path",
            "pathSegments",
            "query",
            "headers",
            "cookies",
            "url",
            "method",
            "host",
            "port",
            "scheme",
            "baseUrl",
            "body",
            "bodyAsBase64",
        ];
        match steps.first().map(String::as_str) {
            Some("parameters") if steps.len() > 1 => Ok(()),
            Some("request") if steps.get(1).is_some_and(|step| known.contains(&step.as_str())) => Ok(()),
            _ => Err(format!(
                "there is no name or helper `{}`; known are request.X with {}, parameters.X, and the helpers {}",
                steps.join("."),
                known.join(", "),
                Helper::KNOWN
            )),
        }
    }

    pub(super) fn value(&self, term: &Term) -> Result<Is, String> {
        match term {
            Term::Literal(text) => Ok(Is::Text(text.clone())),
            Term::Name(steps) => Ok(self.name(&steps.iter().map(String::as_str).collect::<Vec<_>>())),
            Term::Call { helper, arguments, options } => {
                let arguments = arguments.iter().map(|term| self.value(term)).collect::<Result<Vec<_>, _>>()?;
                let mut given = BTreeMap::new();
                for (name, term) in options {
                    given.insert(name.as_str(), self.value(term)?.text());
                }
                self.call(*helper, &arguments, &given)
            }
        }
    }

    fn name(&self, steps: &[&str]) -> Is {
        let asked = self.asked;
        let member = |values: Vec<String>, index: Option<&&str>| match index {
            None if values.is_empty() => Is::Nothing,
            None => Is::Many(values),
            Some(index) => index.parse().ok().and_then(|index: usize| values.get(index).cloned()).map_or(Is::Nothing, Is::Text),
        };
        match steps {
            ["parameters", steps @ ..] => {
                let found = steps.iter().try_fold(self.parameters, |value, step| match value {
                    Value::Array(list) => step.parse::<usize>().ok().and_then(|index| list.get(index)),
                    value => value.get(step),
                });
                found.map_or(Is::Nothing, |value| Is::Json(value.clone()))
            }
            ["request", "path" | "pathSegments"] => Is::Text(decoded(asked.path())),
            ["request", "path" | "pathSegments", step] => match self.names.get(*step) {
                Some(found) => Is::Text(found.clone()),
                None => {
                    let steps = asked.path().trim_start_matches('/').split('/').map(decoded).collect();
                    member(steps, Some(step))
                }
            },
            ["request", "query", name, rest @ ..] => member(asked.query(name), rest.first()),
            ["request", "headers", name, rest @ ..] => member(asked.header(name), rest.first()),
            ["request", "cookies", name, ..] => member(asked.cookie(name), Some(&"0")),
            ["request", "url"] => Is::Text(asked.url()),
            ["request", "method"] => Is::Text(asked.method().to_owned()),
            ["request", "host"] => Is::Text(asked.host()),
            ["request", "port"] => Is::Text(asked.port().to_string()),
            ["request", "scheme"] => Is::Text("http".to_owned()),
            ["request", "baseUrl"] => Is::Text(format!("http://{}:{}", asked.host(), asked.port())),
            ["request", "body"] => Is::Text(String::from_utf8_lossy(asked.body()).into_owned()),
            ["request", "bodyAsBase64"] => Is::Text(STANDARD.encode(asked.body())),
            _ => Is::Nothing,
        }
    }

    fn call(&self, helper: Helper, arguments: &[Is], options: &BTreeMap<&str, String>) -> Result<Is, String> {
        let first = || arguments.first().map(Is::text).unwrap_or_default();
        let number = |name: &str, otherwise: u64| match options.get(name) {
            Some(text) => text.parse::<u64>().map_err(|_| format!("`{name}={text}` is no whole number")),
            None => Ok(otherwise),
        };
        Ok(match helper {
            Helper::JsonPath => {
                let tree = match arguments.first() {
                    Some(Is::Json(value)) => value.clone(),
                    _ => serde_json::from_str(&first()).unwrap_or(Value::Null),
                };
                match pick(&path(&arguments.get(1).map(Is::text).unwrap_or_default())?, &tree) {
                    Picked::One(value) => Is::Json(value),
                    Picked::List(values) => Is::Json(Value::Array(values)),
                    Picked::Nothing => options.get("default").map_or(Is::Nothing, |text| Is::Text(text.clone())),
                }
            }
            Helper::RandomValue => {
                let kind = options.get("type").map_or("ALPHANUMERIC", String::as_str);
                let length = usize::try_from(number("length", 36)?).unwrap_or(36);
                let text = if kind == "UUID" { self.uuid() } else { self.random_text(signs(kind)?, length) };
                let upper = options.get("uppercase").is_some_and(|it| it == "true");
                Is::Text(if upper { text.to_uppercase() } else { text })
            }
            Helper::RandomInt => {
                let (lower, upper) = (number("lower", 0)?, number("upper", 1_000_000)?);
                let span = upper.checked_sub(lower).filter(|span| *span > 0).ok_or("randomInt: lower is less than upper")?;
                Is::Text((lower + self.random_number() % span).to_string())
            }
            Helper::Now => {
                let option = |name: &str| options.get(name).map(String::as_str);
                Is::Text(moment::write(self.now, option("format"), option("offset"))?)
            }
            Helper::Base64 => Is::Text(STANDARD.encode(first())),
            Helper::UrlEncode => Is::Text(url::form_urlencoded::byte_serialize(first().as_bytes()).collect()),
            Helper::Upper => Is::Text(first().to_uppercase()),
            Helper::Lower => Is::Text(first().to_lowercase()),
            Helper::Trim => Is::Text(first().trim().to_owned()),
        })
    }

    fn random_number(&self) -> u64 {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn random_text(&self, signs: &str, length: usize) -> String {
        let signs: Vec<char> = signs.chars().collect();
        let most = u64::try_from(signs.len()).unwrap_or(1);
        (0..length).filter_map(|_| usize::try_from(self.random_number() % most).ok().map(|index| signs[index])).collect()
    }

    /// Of version 4 (RFC 9562).
    fn uuid(&self) -> String {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let mut text = String::new();
        for (index, byte) in bytes.iter().enumerate() {
            if [4, 6, 8, 10].contains(&index) {
                text.push('-');
            }
            // Writing to a string cannot fail.
            write!(text, "{byte:02x}").ok();
        }
        text
    }
}

fn signs(kind: &str) -> Result<&'static str, String> {
    Ok(match kind {
        "ALPHANUMERIC" => "abcdefghijklmnopqrstuvwxyz0123456789",
        "ALPHABETIC" => "abcdefghijklmnopqrstuvwxyz",
        "NUMERIC" => "0123456789",
        "HEXADECIMAL" => "0123456789abcdef",
        "UUID" => "",
        _ => return Err(format!("type='{kind}' is none of ALPHANUMERIC, ALPHABETIC, NUMERIC, HEXADECIMAL, UUID")),
    })
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
