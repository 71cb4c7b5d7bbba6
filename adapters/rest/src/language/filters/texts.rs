//! Texts: parts of them, names that fit a place, paths of several segments.

use minijinja::Error;
use minijinja::value::{Kwargs, Value};
use sha2::{Digest as _, Sha256};

use super::wrong;
use crate::language::engine::escape_segment;

/// Characters of the mark by which shortened names stay apart.
const MARK: usize = 8;

/// The last part of a path or address that is not empty: `https://ci.example.com/queue/item/17/` gives `17`.
pub(super) fn last_segment(text: &str) -> Result<String, Error> {
    let path = text.split(['?', '#']).next().unwrap_or(text);
    path.rsplit('/').find(|step| !step.is_empty()).map(str::to_owned).ok_or_else(|| wrong("`last_segment` was given no path"))
}

/// The first group of a regular expression's first match, or the match where it has no group; undefined where none matches.
pub(super) fn regex_extract(text: &str, pattern: &str) -> Result<Value, Error> {
    let regex = regex::Regex::new(pattern).map_err(|_| wrong("`regex_extract` was given what is no regular expression"))?;
    Ok(regex
        .captures(text)
        .and_then(|found| found.get(1).or_else(|| found.get(0)))
        .map_or(Value::UNDEFINED, |part| Value::from(part.as_str())))
}

/// A name of at most `most` characters. `kind='word'` (the usual one) has letters, digits, `-` and `_`; `kind='dns'` is a label of a DNS
/// name (RFC 1123): small letters, digits and `-`, none of them at an end. What does not fit becomes `-`, and a name that was changed ends
/// in a mark of its own, so that two of them never become one.
pub(super) fn name(text: &str, most: usize, options: Kwargs) -> Result<String, Error> {
    let kind: Option<&str> = options.get("kind")?;
    options.assert_all_used()?;
    let dns = match kind.unwrap_or("word") {
        "dns" => true,
        "word" => false,
        _ => return Err(wrong("`name` knows the kinds 'word' and 'dns'")),
    };
    if most <= MARK + 1 {
        return Err(wrong("`name` needs room for at least 10 characters"));
    }
    let fits = |c: char| match c {
        '0'..='9' | 'a'..='z' | '-' => true,
        'A'..='Z' | '_' => !dns,
        _ => false,
    };
    let at_ends = |text: &str| !dns || !(text.starts_with('-') || text.ends_with('-'));
    if !text.is_empty() && text.len() <= most && text.chars().all(fits) && at_ends(text) {
        return Ok(text.to_owned());
    }
    let lower = if dns { text.to_lowercase() } else { text.to_owned() };
    let kept: String = lower.chars().map(|c| if fits(c) { c } else { '-' }).take(most - MARK - 1).collect();
    let mark: String = Sha256::digest(text).iter().take(MARK / 2).map(|byte| format!("{byte:02x}")).collect();
    let kept = if dns { kept.trim_start_matches('-') } else { kept.as_str() };
    Ok(if kept.is_empty() { mark } else { format!("{kept}-{mark}") })
}

/// A path whose every segment is preceded by `word`: `a/b | folders('job')` gives `job/a/job/b`. For paths: it is escaped already.
pub(super) fn folders(text: &str, word: &str) -> Result<Value, Error> {
    let steps = steps(text)?;
    let steps: Vec<String> = steps.map(|step| format!("{}/{}", escape_segment(word), escape_segment(step))).collect();
    Ok(Value::from_safe_string(steps.join("/")))
}

/// A path that keeps its slashes, while each segment is escaped: for resource names such as `projects/p/locations/l`.
pub(super) fn segments(text: &str) -> Result<Value, Error> {
    let steps: Vec<String> = steps(text)?.map(escape_segment).collect();
    Ok(Value::from_safe_string(steps.join("/")))
}

fn steps(text: &str) -> Result<impl Iterator<Item = &str>, Error> {
    let text = text.trim_matches('/');
    if text.is_empty() || text.split('/').any(|step| matches!(step, "" | "." | "..")) {
        return Err(wrong("a path was wanted whose segments are neither empty nor `.` nor `..`"));
    }
    Ok(text.split('/'))
}

/// The last `lines` lines.
pub(super) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
}

/// The last line that is not blank; undefined where there is none.
pub(super) fn last_line(text: &str) -> Value {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map_or(Value::UNDEFINED, Value::from)
}
