//! The one error of the adapter boundary: what went wrong, what to do next, in which call, because of what.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The provider allows no more calls now.
    RateLimited,
    /// The provider is down or out of reach; for a submit: nothing was started.
    Unavailable,
    /// The provider understood the call and refuses it.
    Rejected,
    /// The provider does not know the job.
    NotFound,
    /// The provider does not accept our credentials.
    Unauthorized,
    /// The answer is not what this API gives: bad JSON, a sign-in page, a body over the cap.
    Protocol,
    /// Sent, but not answered: nobody knows whether it took effect.
    OutcomeUnknown,
    /// The adapter does not offer this call.
    Unsupported,
}

impl ErrorKind {
    /// The word for logs, metrics and `data.category`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Rejected => "rejected",
            Self::NotFound => "not_found",
            Self::Unauthorized => "unauthorized",
            Self::Protocol => "protocol",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Unsupported => "unsupported",
        }
    }
}

/// Whether the same call may be made again. Made where the knowledge is (the adapter), obeyed where the clock is (the engine).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same call will fail again.
    Never,
    /// Later, at the engine's own pace.
    Backoff,
    /// Not before this much time has passed, as the provider said.
    After(Duration),
}

/// The call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `Adapter::submit`
    Submit,
    /// `Adapter::find`
    Find,
    /// `Adapter::poll`
    Poll,
    /// `Adapter::cancel`
    Cancel,
    /// `Adapter::provide`
    Provide,
    /// Read a delivery.
    Read,
    /// `Adapter::fetch`
    Fetch,
}

impl Operation {
    /// The word for logs, metrics and errors.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Find => "find",
            Self::Poll => "poll",
            Self::Cancel => "cancel",
            Self::Provide => "provide",
            Self::Read => "read",
            Self::Fetch => "fetch",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed call.
///
/// `message` is a cleaned sentence that a caller may read: no secrets, no host names, no stack traces, at most a few hundred
/// characters. `source` is for the log.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {}: {message}", kind.as_str())]
pub struct AdapterError {
    kind: ErrorKind,
    retry: Retry,
    operation: Operation,
    message: String,
    status: Option<u16>,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl AdapterError {
    /// An error with the retry advice that usually goes with its kind.
    pub fn new(kind: ErrorKind, operation: Operation, message: impl Into<String>) -> Self {
        let retry = match kind {
            ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Protocol | ErrorKind::OutcomeUnknown => Retry::Backoff,
            ErrorKind::Rejected | ErrorKind::NotFound | ErrorKind::Unauthorized | ErrorKind::Unsupported => Retry::Never,
        };
        Self { kind, retry, operation, message: message.into(), status: None, source: None }
    }

    /// The answer to a call that this adapter does not offer.
    #[must_use]
    pub fn unsupported(operation: Operation) -> Self {
        Self::new(ErrorKind::Unsupported, operation, format!("this provider offers no {operation}"))
    }

    /// With other retry advice.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// With the provider's own status code, for example an HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// With the cause, for the log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What went wrong.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether to try again.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.retry
    }

    /// The call that failed.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// The sentence a caller may read.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The provider's status code, where it gave one.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        self.status
    }
}
