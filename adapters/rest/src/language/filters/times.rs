//! Moments, spans and counts, in whatever way an API writes them.

use std::collections::BTreeMap;

use jiff::{Span, SpanRelativeTo, Timestamp, Unit};
use minijinja::Error;
use minijinja::value::Value;

use super::wrong;

/// Whole seconds since 1970 of an ISO 8601 moment.
pub(super) fn epoch_seconds(text: &str) -> Result<i64, Error> {
    text.parse::<Timestamp>().map(|at| at.as_second()).map_err(|_| wrong("`epoch_seconds` was given no ISO 8601 moment"))
}

/// An ISO 8601 moment from a count since 1970: of seconds (`'s'`, also with a fraction), milliseconds (`'ms'`) or microseconds (`'us'`).
pub(super) fn iso(count: &Value, unit: Option<&str>) -> Result<String, Error> {
    let per_second = match unit.unwrap_or("s") {
        "s" => 1.0,
        "ms" => 1e3,
        "us" => 1e6,
        _ => return Err(wrong("`iso` knows the units 's', 'ms' and 'us'")),
    };
    let seconds = number(count).ok_or_else(|| wrong("`iso` was given no count since 1970"))? / per_second;
    // Beyond milliseconds a double is not exact any more.
    let at = Timestamp::from_millisecond(whole((seconds * 1e3).round())?);
    at.map(|at| at.to_string()).map_err(|_| wrong("`iso` was given a count that is no moment"))
}

/// Seconds of a span: a number, ISO 8601 (`PT1M30S`), units (`1m30s`, `90 s`) or a clock (`1:02:03`).
pub(super) fn seconds(span: &Value) -> Result<f64, Error> {
    if let Some(seconds) = number(span) {
        return Ok(seconds);
    }
    let parsed = seconds_of(span.as_str().unwrap_or_default().trim());
    parsed.ok_or_else(|| wrong("`seconds` was given no span such as `PT1M30S`, `1m30s` or `1:02:03`"))
}

/// The seconds of a span that says its units, or is a clock.
pub(crate) fn seconds_of(text: &str) -> Option<f64> {
    let parsed = || text.parse::<Span>().ok()?.total((Unit::Second, SpanRelativeTo::days_are_24_hours())).ok();
    clock(text).or_else(parsed)
}

/// `1:02:03` and `02:03`.
fn clock(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    parts.iter().try_fold(0.0, |sum, part| {
        let digits = part.starts_with(|c: char| c.is_ascii_digit());
        digits.then(|| part.parse::<f64>().ok()).flatten().map(|value| sum * 60.0 + value)
    })
}

/// Counts in a text: `3 of 7`, `3/7` or `42%`, as a map with `done` and `total`; undefined where it holds none.
pub(super) fn ratio(text: &Value) -> Value {
    let counts = |done: f64, total: f64| Value::from(BTreeMap::from([("done", done), ("total", total)]));
    let Some(text) = text.as_str() else { return Value::UNDEFINED };
    static PATTERN: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
        regex::Regex::new(r"(?i)([0-9]+(?:\.[0-9]+)?)\s*(?:(?:/|of)\s*([0-9]+(?:\.[0-9]+)?)|%)").expect("the pattern is constant")
    });
    let Some(found) = PATTERN.captures(text) else { return Value::UNDEFINED };
    let read = |nth: usize| found.get(nth).and_then(|part| part.as_str().parse::<f64>().ok());
    match (read(1), read(2)) {
        (Some(done), Some(total)) => counts(done, total),
        (Some(percent), None) => counts(percent, 100.0),
        (None, _) => Value::UNDEFINED,
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = f64::try_from(value.clone()).ok().or_else(|| value.as_str()?.trim().parse().ok())?;
    number.is_finite().then_some(number)
}

#[expect(clippy::cast_possible_truncation, reason = "what does not fit is no moment, and is refused before")]
fn whole(number: f64) -> Result<i64, Error> {
    if number.abs() < 1e17 { Ok(number as i64) } else { Err(wrong("`iso` was given a count that is no moment")) }
}
