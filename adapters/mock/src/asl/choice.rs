//! The rules of a `Choice` state.
//!
//! States Language, sections "Choice State" and "Data-test Expression".

use std::cmp::Ordering;

use jobgate_adapter_api::{Issues, Place, Timestamp};
use serde_json::{Map, Value};

use super::fault::Fault;
use super::path::Path;
use super::suggest;

/// A test of a state's data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Test {
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
    /// A value against a value.
    Compare {
        variable: Path,
        kind: Kind,
        order: Order,
        to: Operand,
    },
    /// A text against a pattern with `*`.
    Matches {
        variable: Path,
        pattern: String,
    },
    /// What a value is.
    Is {
        variable: Path,
        what: What,
        wanted: bool,
    },
}

/// Which values are compared; a value of another kind never fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Numeric,
    Boolean,
    Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Equals,
    LessThan,
    LessThanEquals,
    GreaterThan,
    GreaterThanEquals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Present,
    Null,
    Numeric,
    String,
    Boolean,
    Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Value(Value),
    Path(Path),
}

const KINDS: [(&str, Kind); 4] =
    [("String", Kind::String), ("Numeric", Kind::Numeric), ("Boolean", Kind::Boolean), ("Timestamp", Kind::Timestamp)];
const ORDERS: [(&str, Order); 5] = [
    ("Equals", Order::Equals),
    ("LessThan", Order::LessThan),
    ("LessThanEquals", Order::LessThanEquals),
    ("GreaterThan", Order::GreaterThan),
    ("GreaterThanEquals", Order::GreaterThanEquals),
];
const WHATS: [(&str, What); 6] = [
    ("IsPresent", What::Present),
    ("IsNull", What::Null),
    ("IsNumeric", What::Numeric),
    ("IsString", What::String),
    ("IsBoolean", What::Boolean),
    ("IsTimestamp", What::Timestamp),
];

impl Test {
    /// Reads a rule without its `Next`; notes what is wrong.
    pub(crate) fn parse(rule: &Map<String, Value>, place: &Place, issues: &mut Issues) -> Option<Self> {
        let words: Vec<&String> = rule.keys().filter(|key| !matches!(key.as_str(), "Next" | "Comment" | "Variable")).collect();
        let [word] = words.as_slice() else {
            let message = format!("a rule holds one test, this one holds {}", words.len());
            issues.add_with_hint(place.clone(), message, "Variable: $.size, NumericGreaterThan: 10, Next: Big");
            return None;
        };
        let value = rule.get(word.as_str())?;
        let at = place.key(word.as_str());
        match word.as_str() {
            "And" => Self::parse_list(value, &at, issues).map(Self::All),
            "Or" => Self::parse_list(value, &at, issues).map(Self::Any),
            "Not" => Self::parse_nested(value, &at, issues).map(|test| Self::Not(Box::new(test))),
            _ => {
                let variable = match rule.get("Variable") {
                    Some(Value::String(text)) => {
                        Path::parse(text).map_err(|message| issues.add(place.key("Variable"), message)).ok()
                    }
                    _ => {
                        issues.add_with_hint(place.clone(), format!("`{word}` needs a `Variable`"), "Variable: $.size");
                        None
                    }
                };
                let test = Self::parse_comparison(variable.clone(), word, value);
                let test = test.map_err(|(message, hint)| match hint {
                    Some(hint) => issues.add_with_hint(at, message, hint),
                    None => issues.add(at, message),
                });
                variable.and(test.ok().flatten())
            }
        }
    }

    fn parse_list(value: &Value, place: &Place, issues: &mut Issues) -> Option<Vec<Self>> {
        let Some(list) = value.as_array().filter(|list| !list.is_empty()) else {
            issues.add(place.clone(), "a list of at least one rule is wanted here");
            return None;
        };
        let tests: Vec<Option<Self>> =
            list.iter().enumerate().map(|(nth, rule)| Self::parse_nested(rule, &place.index(nth), issues)).collect();
        tests.into_iter().collect()
    }

    fn parse_nested(value: &Value, place: &Place, issues: &mut Issues) -> Option<Self> {
        let Some(rule) = value.as_object() else {
            issues.add(place.clone(), "a rule is wanted here, with a `Variable` and a comparison");
            return None;
        };
        if rule.contains_key("Next") {
            issues.add(place.key("Next"), "only the outermost rule says where to go on");
        }
        Self::parse(rule, place, issues)
    }

    /// `Ok(None)` when all is well but there is no variable to compare.
    fn parse_comparison(variable: Option<Path>, word: &str, value: &Value) -> Result<Option<Self>, (String, Option<String>)> {
        if let Some(&(_, what)) = WHATS.iter().find(|(name, _)| *name == word) {
            let wanted = value.as_bool().ok_or_else(|| (format!("`{word}` is `true` or `false`, not `{value}`"), None))?;
            return Ok(variable.map(|variable| Self::Is { variable, what, wanted }));
        }
        if word == "StringMatches" {
            let pattern = value
                .as_str()
                .ok_or_else(|| (format!("`{word}` takes a pattern in quotes, not `{value}`"), Some("log-*.txt".to_owned())))?;
            return Ok(variable.map(|variable| Self::Matches { variable, pattern: pattern.to_owned() }));
        }
        let (bare, by_path) = word.strip_suffix("Path").map_or((word, false), |bare| (bare, true));
        let Some((kind, order)) = comparison(bare) else {
            let meant =
                suggest(word, comparison_words().iter().map(String::as_str)).map(|meant| format!("did you mean `{meant}`?"));
            return Err((format!("unknown comparison `{word}`"), meant));
        };
        let to = if by_path {
            let text =
                value.as_str().ok_or_else(|| (format!("`{word}` takes a path, not `{value}`"), Some("$.limit".to_owned())))?;
            Operand::Path(Path::parse(text).map_err(|message| (message, None))?)
        } else if kind.of(value).is_some() {
            Operand::Value(value.clone())
        } else {
            return Err((format!("`{word}` cannot compare with `{value}`"), Some(kind.example().to_owned())));
        };
        Ok(variable.map(|variable| Self::Compare { variable, kind, order, to }))
    }

    /// Whether the data passes.
    pub(crate) fn passes(&self, input: &Value, context: &Value) -> Result<bool, Fault> {
        let look = |path: &Path| {
            path.get(input, context)
                .ok_or_else(|| Fault::runtime(format!("the path `{path}` of a choice names nothing in the data")))
        };
        match self {
            Self::All(tests) => {
                for test in tests {
                    if !test.passes(input, context)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Any(tests) => {
                for test in tests {
                    if test.passes(input, context)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Not(test) => Ok(!test.passes(input, context)?),
            Self::Compare { variable, kind, order, to } => {
                let to = match to {
                    Operand::Value(value) => value.clone(),
                    Operand::Path(path) => look(path)?,
                };
                let ordering = kind.of(&look(variable)?).zip(kind.of(&to)).and_then(|(left, right)| left.compare(&right));
                Ok(ordering.is_some_and(|ordering| order.fits(ordering)))
            }
            Self::Matches { variable, pattern } => {
                Ok(look(variable)?.as_str().is_some_and(|text| matches_pattern(pattern, text)))
            }
            Self::Is { variable, what: What::Present, wanted } => Ok(variable.get(input, context).is_some() == *wanted),
            Self::Is { variable, what, wanted } => Ok(what.is(&look(variable)?) == *wanted),
        }
    }
}

fn comparison(word: &str) -> Option<(Kind, Order)> {
    KINDS.iter().find_map(|(prefix, kind)| {
        let &(_, order) = ORDERS.iter().find(|(name, _)| word.strip_prefix(prefix) == Some(name))?;
        (*kind != Kind::Boolean || order == Order::Equals).then_some((*kind, order))
    })
}

fn comparison_words() -> Vec<String> {
    let compared = KINDS.iter().flat_map(|(kind, _)| ORDERS.iter().map(move |(order, _)| format!("{kind}{order}")));
    let compared = compared.filter(|word| comparison(word).is_some()).flat_map(|word| [format!("{word}Path"), word]);
    compared
        .chain(WHATS.iter().map(|(word, _)| (*word).to_owned()))
        .chain(["StringMatches", "And", "Or", "Not"].map(str::to_owned))
        .collect()
}

/// A value that can be compared with another of its kind.
enum Comparable<'a> {
    Text(&'a str),
    Number(&'a serde_json::Number),
    Truth(bool),
    Moment(Timestamp),
}

impl Comparable<'_> {
    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            // Whole numbers are compared as such, so that long ids stay exact.
            (Self::Number(left), Self::Number(right)) => match (left.as_i128(), right.as_i128()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
            },
            (Self::Truth(left), Self::Truth(right)) => Some(left.cmp(right)),
            (Self::Moment(left), Self::Moment(right)) => Some(left.cmp(right)),
            (Self::Text(_) | Self::Number(_) | Self::Truth(_) | Self::Moment(_), _) => None,
        }
    }
}

impl Kind {
    fn of(self, value: &Value) -> Option<Comparable<'_>> {
        match (self, value) {
            (Self::String, Value::String(text)) => Some(Comparable::Text(text)),
            (Self::Numeric, Value::Number(number)) => Some(Comparable::Number(number)),
            (Self::Boolean, Value::Bool(truth)) => Some(Comparable::Truth(*truth)),
            (Self::Timestamp, Value::String(text)) => text.parse().ok().map(Comparable::Moment),
            (Self::String | Self::Numeric | Self::Boolean | Self::Timestamp, _) => None,
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Self::String => "a text",
            Self::Numeric => "a number, for example 10",
            Self::Boolean => "true or false",
            Self::Timestamp => "a moment, for example \"2026-07-28T12:00:00Z\"",
        }
    }
}

impl Order {
    fn fits(self, ordering: Ordering) -> bool {
        match self {
            Self::Equals => ordering.is_eq(),
            Self::LessThan => ordering.is_lt(),
            Self::LessThanEquals => ordering.is_le(),
            Self::GreaterThan => ordering.is_gt(),
            Self::GreaterThanEquals => ordering.is_ge(),
        }
    }
}

impl What {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Present => true,
            Self::Null => value.is_null(),
            Self::Numeric => value.is_number(),
            Self::String => value.is_string(),
            Self::Boolean => value.is_boolean(),
            Self::Timestamp => Kind::Timestamp.of(value).is_some(),
        }
    }
}

/// `*` stands for any text, also none; `\*` and `\\` for themselves.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut pieces = vec![String::new()];
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => pieces.push(String::new()),
            letter => {
                let literal = if letter == '\\' { letters.next().unwrap_or('\\') } else { letter };
                if let Some(piece) = pieces.last_mut() {
                    piece.push(literal);
                }
            }
        }
    }
    let (first, rest) = pieces.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let Some(mut left) = text.strip_prefix(first) else { return false };
    let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
    for piece in middle {
        match left.split_once(piece.as_str()) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(rule: Value, input: &Value) -> Result<bool, String> {
        let mut issues = Issues::new();
        let test = Test::parse(rule.as_object().unwrap(), &Place::root(), &mut issues);
        assert!(issues.is_empty(), "{rule}: {issues:?}");
        test.unwrap().passes(input, &Value::Null).map_err(|fault| fault.error)
    }

    #[test]
    fn every_comparison_says_what_its_name_says() {
        let input = json!({
            "s": "m", "t": "n", "n": 5, "m": 5.5, "b": true, "z": null, "big": 9_007_199_254_740_993_i64,
            "at": "2026-07-28T12:00:00Z", "later": "2026-07-28T14:00:00+01:00", "file": "log-2026.txt"
        });
        for (variable, word, value, wanted) in [
            ("$.s", "StringEquals", json!("m"), true),
            ("$.s", "StringLessThan", json!("n"), true),
            ("$.s", "StringGreaterThanEquals", json!("n"), false),
            ("$.s", "StringEqualsPath", json!("$.t"), false),
            ("$.s", "StringLessThanEqualsPath", json!("$.t"), true),
            ("$.s", "StringGreaterThanPath", json!("$.t"), false),
            ("$.n", "StringEquals", json!("5"), false),
            ("$.n", "NumericEquals", json!(5.0), true),
            ("$.n", "NumericLessThan", json!(5), false),
            ("$.n", "NumericLessThanEquals", json!(5), true),
            ("$.n", "NumericGreaterThan", json!(4), true),
            ("$.m", "NumericGreaterThanEqualsPath", json!("$.n"), true),
            ("$.big", "NumericEquals", json!(9_007_199_254_740_992_i64), false),
            ("$.b", "BooleanEquals", json!(true), true),
            ("$.b", "BooleanEqualsPath", json!("$.b"), true),
            ("$.at", "TimestampEquals", json!("2026-07-28T13:00:00+01:00"), true),
            ("$.at", "TimestampLessThanPath", json!("$.later"), true),
            ("$.at", "TimestampGreaterThan", json!("2026-07-28T12:00:00Z"), false),
            ("$.file", "StringMatches", json!("log-*.txt"), true),
            ("$.file", "StringMatches", json!("*2026*"), true),
            ("$.file", "StringMatches", json!("log-*.gz"), false),
            ("$.file", "StringMatches", json!(r"log\*"), false),
            ("$.z", "IsNull", json!(true), true),
            ("$.missing", "IsPresent", json!(false), true),
            ("$.z", "IsPresent", json!(true), true),
            ("$.n", "IsNumeric", json!(true), true),
            ("$.s", "IsString", json!(false), false),
            ("$.b", "IsBoolean", json!(true), true),
            ("$.at", "IsTimestamp", json!(true), true),
            ("$.s", "IsTimestamp", json!(true), false),
        ] {
            assert_eq!(check(json!({"Variable": variable, word: value}), &input), Ok(wanted), "{variable} {word} {value}");
        }
    }

    #[test]
    fn tests_are_joined_and_stop_at_the_first_that_decides() {
        let small = json!({"Variable": "$.n", "NumericLessThan": 10});
        let there = json!({"Variable": "$.x", "IsPresent": true});
        let missing = json!({"Variable": "$.x", "NumericEquals": 1});
        let input = json!({"n": 5});
        assert_eq!(check(json!({"And": [there, missing]}), &input), Ok(false));
        assert_eq!(check(json!({"Or": [small, missing]}), &input), Ok(true));
        assert_eq!(check(json!({"Not": small}), &input), Ok(false));
        assert_eq!(check(missing, &input), Err("States.Runtime".to_owned()));
    }

    #[test]
    fn rules_that_cannot_be_read_are_noted_with_place_and_likely_meaning() {
        for (rule, place, part) in [
            (json!({"Variable": "$.n", "NumericEqual": 1}), "NumericEqual", "unknown comparison"),
            (json!({"Variable": "$.n", "BooleanLessThan": true}), "BooleanLessThan", "unknown comparison"),
            (json!({"Variable": "$.n", "NumericEquals": "1"}), "NumericEquals", "cannot compare"),
            (json!({"Variable": "n", "NumericEquals": 1}), "Variable", "begins with `$`"),
            (json!({"NumericEquals": 1}), "", "needs a `Variable`"),
            (json!({"Variable": "$.n"}), "", "holds 0"),
            (json!({"And": []}), "And", "at least one"),
            (json!({"And": [{"Variable": "$.n", "IsNull": 1}]}), "And[0].IsNull", "`true` or `false`"),
            (json!({"Not": {"Variable": "$.n", "IsNull": true, "Next": "X"}}), "Not.Next", "outermost"),
        ] {
            let mut issues = Issues::new();
            Test::parse(rule.as_object().unwrap(), &Place::root(), &mut issues);
            let found = issues.iter().next().unwrap();
            assert_eq!(found.place.to_string(), place, "{rule}");
            assert!(found.message.contains(part), "{rule}: {}", found.message);
        }
    }
}
