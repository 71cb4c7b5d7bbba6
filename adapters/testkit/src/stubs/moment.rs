//! `{{now}}` of templates: an offset, and the common letters of Java's date patterns.

use std::time::Duration;

use jobgate_adapter_api::Timestamp;

/// The moment `now`, moved by `offset`, as `format` says: ISO 8601 without it, `epoch` (milliseconds), `unix` (seconds), or a pattern.
pub(super) fn write(now: Timestamp, format: Option<&str>, offset: Option<&str>) -> Result<String, String> {
    let at = match offset {
        Some(offset) => moved(now, offset)?,
        None => now,
    };
    match format {
        Some("epoch") => Ok(at.as_millis().to_string()),
        Some("unix") => Ok(at.as_millis().div_euclid(1000).to_string()),
        None => pattern(at, "yyyy-MM-dd'T'HH:mm:ss'Z'"),
        Some(text) => pattern(at, text),
    }
}

/// `3 days`, `-1 hours`.
fn moved(now: Timestamp, offset: &str) -> Result<Timestamp, String> {
    let wrong = || format!("offset='{offset}' is no number with seconds, minutes, hours or days, as in '-3 days'");
    let (number, unit) = offset.trim().split_once(' ').ok_or_else(wrong)?;
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let unit: u64 = match unit.trim() {
        "seconds" => 1,
        "minutes" => 60,
        "hours" => 3600,
        "days" => 86_400,
        _ => return Err(wrong()),
    };
    let span = Duration::from_secs(number.unsigned_abs().saturating_mul(unit));
    if number >= 0 {
        return Ok(now.plus(span));
    }
    let back = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    Ok(Timestamp::from_millis(now.as_millis().saturating_sub(back)))
}

/// In UTC.
fn pattern(at: Timestamp, text: &str) -> Result<String, String> {
    let moment = jiff::Timestamp::from_millisecond(at.as_millis()).map_err(|error| error.to_string())?;
    let mut written = String::new();
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        if sign == '\'' {
            let (inside, after) = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).ok_or("a quote has no end")?;
            written.push_str(if inside.is_empty() { "'" } else { inside });
            rest = after;
            continue;
        }
        let (run, after) = rest.split_at(rest.find(|other| other != sign).unwrap_or(rest.len()));
        rest = after;
        let directive = match run {
            "yyyy" => "%Y",
            "yy" => "%y",
            "MM" => "%m",
            "dd" => "%d",
            "HH" => "%H",
            "mm" => "%M",
            "ss" => "%S",
            "SSS" => "%3f",
            "Z" => "+0000",
            "X" => "Z",
            run if !sign.is_ascii_alphabetic() => run,
            run => {
                return Err(format!(
                    "format='{text}': `{run}` is not in the subset; it has yyyy yy MM dd HH mm ss SSS Z X 'text'"
                ));
            }
        };
        written.push_str(&match directive.strip_prefix('%') {
            Some(_) => moment.strftime(directive).to_string(),
            None => directive.to_owned(),
        });
    }
    Ok(written)
}
