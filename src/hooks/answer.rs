//! What arrives at a route and what is answered, without HTTP; and who answers.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

/// Takes deliveries: the process that holds the store, or one that hands them on to it.
#[async_trait]
pub trait Hooks: fmt::Debug + Send + Sync + 'static {
    /// Looks at a request whose body is empty because nobody has read it yet: the most bytes that it may have, or the answer where the
    /// head suffices for one.
    ///
    /// # Errors
    /// The answer.
    fn look(&self, head: &HookRequest) -> Result<usize, HookAnswer>;

    /// The answer to a request that came no further.
    fn unread(&self, head: &HookRequest, why: Unread) -> HookAnswer;

    /// The answer to a request. Never later than after three seconds, and never a panic.
    async fn receive(&self, request: HookRequest) -> HookAnswer;
}

/// A request to a route. `Debug` shows names and sizes alone: tokens are parts of addresses and values of headers.
#[derive(Clone, PartialEq, Eq)]
pub struct HookRequest {
    /// In capitals.
    pub method: String,
    /// The provider's step of the address, as it was sent.
    pub provider: String,
    /// The step behind it, as it was sent.
    pub token: Option<String>,
    /// What follows the question mark, as it was sent.
    pub query: Option<String>,
    /// Every header, as often as it came; values without the space around them.
    pub headers: Vec<(String, Bytes)>,
    /// The bytes as they came, before any decoding.
    pub body: Bytes,
}

impl fmt::Debug for HookRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<(&str, usize)> = self.headers.iter().map(|(name, value)| (name.as_str(), value.len())).collect();
        let mut shown = f.debug_struct("HookRequest");
        shown.field("method", &self.method).field("token", &self.token.is_some()).field("query", &self.query.is_some());
        shown.field("headers", &headers).field("body", &self.body.len()).finish_non_exhaustive()
    }
}

/// What the sender gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// Why a request came no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is larger than its route takes.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke, or what came was no HTTP.
    CutOff,
    /// The bodies that are being read fill the memory that there is for them.
    NoRoom,
    /// Nobody holds the store now.
    Nobody,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J1: the log sees no token, wherever the provider puts it.
    #[test]
    fn a_request_is_printed_without_what_could_be_a_secret() {
        let request = HookRequest {
            method: "POST".to_owned(),
            provider: "hunter2".to_owned(),
            token: Some("hunter2".to_owned()),
            query: Some("token=hunter2".to_owned()),
            headers: vec![("authorization".to_owned(), Bytes::from_static(b"Bearer hunter2"))],
            body: Bytes::from_static(b"hunter2"),
        };
        let printed = format!("{request:?}");
        assert!(printed.contains("authorization") && !printed.contains("hunter2"), "{printed}");
    }
}
