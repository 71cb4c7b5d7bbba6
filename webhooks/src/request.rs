//! The request as it came: raw header values, repeated ones visible, and the strict grammars of what is in them.

use std::fmt;

use crate::refusal::{Part, Refusal};

/// The longest value, in bytes, of a header that decides something.
pub const MAX_HEADER: usize = 8 * 1024;
/// The longest id, in bytes.
pub const MAX_ID: usize = 256;
/// How many signatures one request may offer.
pub const MAX_SIGNATURES: usize = 16;

/// A request to verify. Nothing in it selects the scheme or the secrets. `Debug` shows names and sizes alone: a shared token is a header's
/// value, or part of the address.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// In capitals.
    pub method: &'a str,
    /// The whole public address: scheme, host and path from the configuration, the query as received. Never from `Host` or
    /// `X-Forwarded-*`, which the sender chooses.
    pub url: &'a str,
    /// All headers in order, each as often as it came; values without the optional space around them (RFC 9110, section 5.5).
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The bytes as received, before any decoding.
    pub body: &'a [u8],
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<(&str, usize)> = self.headers.iter().map(|(name, value)| (*name, value.len())).collect();
        let mut shown = f.debug_struct("Request");
        shown.field("method", &self.method).field("headers", &headers).field("body", &self.body.len()).finish_non_exhaustive()
    }
}

impl<'a> Request<'a> {
    /// All values of a header; names compare without case.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers.iter().filter(move |(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// The one value of a header that decides something: there, once, not empty, printable ASCII, and no longer than the cap.
    pub(crate) fn one(&self, name: &str, part: Part) -> Result<&'a str, Refusal> {
        let mut values = self.all(name);
        let value = values.next().ok_or(Refusal::Missing(part))?;
        if values.next().is_some() {
            return Err(Refusal::Repeated(part));
        }
        if value.is_empty() {
            return Err(Refusal::Missing(part));
        }
        if value.len() > MAX_HEADER {
            return Err(Refusal::TooLong(part));
        }
        printable(value).ok_or(Refusal::Malformed(part))
    }

    /// Whether a header is there at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

/// Printable ASCII and spaces, as text.
pub(crate) fn printable(bytes: &[u8]) -> Option<&str> {
    let fine = bytes.iter().all(|byte| (0x20..0x7f).contains(byte));
    if fine { std::str::from_utf8(bytes).ok() } else { None }
}

/// A JSON object, all of it. A parser that fills a struct takes an array of its values, too, which no provider writes, and passes over
/// what is no JSON where it does not look; whoever reads the body later would not.
pub(crate) fn object<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let begins = bytes.trim_ascii_start().first() == Some(&b'{');
    let whole = || serde_json::from_slice::<serde_json::Value>(bytes).is_ok();
    if begins && whole() { serde_json::from_slice(bytes).ok() } else { None }
}

/// An id: a short opaque key of letters, digits and `._:+=/@~-`. Braces, brackets, quotes and spaces are refused because an id with them
/// could swallow the beginning of a JSON body at the separator of the signed content.
pub(crate) fn id(text: &str) -> Result<&str, Refusal> {
    if text.len() > MAX_ID {
        return Err(Refusal::TooLong(Part::Id));
    }
    let fine = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:+=/@~-".contains(&byte));
    if fine && !text.is_empty() { Ok(text) } else { Err(Refusal::Malformed(Part::Id)) }
}

/// A count since 1970 in its one canonical decimal spelling: digits alone, no sign, no leading zero.
pub(crate) fn decimal(text: &str) -> Result<i64, Refusal> {
    let digits = !text.is_empty() && text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || text.starts_with('0') {
        return Err(Refusal::Malformed(Part::Timestamp));
    }
    text.parse().map_err(|_| Refusal::Malformed(Part::Timestamp))
}

/// How far from the receiver's clock a moment may lie, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) past: u32,
    pub(crate) future: u32,
}

impl Window {
    pub(crate) const fn both(seconds: u32) -> Self {
        Self { past: seconds, future: seconds }
    }

    /// Looks at a moment in milliseconds since 1970; `now` is in seconds.
    pub(crate) fn admits(self, moment_ms: i128, now: i64) -> Result<(), Refusal> {
        if now < 0 {
            return Err(Refusal::Clock);
        }
        let now_ms = i128::from(now) * 1000;
        if now_ms - moment_ms > i128::from(self.past) * 1000 {
            Err(Refusal::TooOld)
        } else if moment_ms - now_ms > i128::from(self.future) * 1000 {
            Err(Refusal::TooNew)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J2: both ways, inclusive, and no arithmetic that wraps.
    #[test]
    fn the_window_is_inclusive_and_never_wraps() {
        let window = Window::both(300);
        let at = |seconds: i64| window.admits(i128::from(seconds) * 1000, 1_000_000);
        assert_eq!(at(999_700), Ok(()));
        assert_eq!(at(999_699), Err(Refusal::TooOld));
        assert_eq!(at(1_000_300), Ok(()));
        assert_eq!(at(1_000_301), Err(Refusal::TooNew));
        assert_eq!(at(i64::MAX), Err(Refusal::TooNew));
        assert_eq!(at(i64::MIN), Err(Refusal::TooOld));
        assert_eq!(window.admits(0, -1), Err(Refusal::Clock));
    }
}
