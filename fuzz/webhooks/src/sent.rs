//! A request that can be bent.

use std::fmt;

use jobgate_webhooks::Request;

/// A request with everything its own.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Sent {
    pub(crate) fn with<T>(&self, look: impl FnOnce(&Request<'_>) -> T) -> T {
        let headers: Vec<(&str, &[u8])> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        look(&Request { method: &self.method, url: &self.url, headers: &headers, body: &self.body })
    }

    /// The value of a header that is there once.
    pub(crate) fn one(&self, name: &str) -> Option<&[u8]> {
        let mut values = self.headers.iter().filter(|(it, _)| it.eq_ignore_ascii_case(name));
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value.as_slice())
    }
}

/// For the one who looks at what was found.
impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {:?}", self.method, self.url)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {}", value.escape_ascii())?;
        }
        write!(f, "{}", self.body.escape_ascii())
    }
}
