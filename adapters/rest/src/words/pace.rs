//! The words of `errors` and `pace`.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::codes::Codes;

/// An answer that means something else than HTTP says. At least one of `code` and `when`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRule {
    /// Status codes of such an answer. Without it: any.
    pub code: Option<Codes>,
    /// When it is one: an expression without braces over `code`, `headers`, `body` and `text`, for example
    /// `body.error.type == 'throttled'`. Where a value it asks for is missing, it does not hold.
    pub when: Option<String>,
    /// What it means.
    pub means: Meaning,
    /// The seconds for which the provider wants to be left alone, for example `{{ body.retry_in }}`; with `rate_limited` and
    /// `unavailable`. Without it: what `Retry-After` or the provider's `pace` say.
    pub after: Option<String>,
    /// What is said of it. Without it: the provider's `error_message`.
    pub message: Option<String>,
}

/// What went wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// The provider allows no more calls now; nothing was done.
    RateLimited,
    /// The provider is down or busy; nothing was done, and the call is made again later.
    Unavailable,
    /// The provider understood the call and refuses it.
    Rejected,
    /// The provider does not know the job.
    NotFound,
    /// The provider does not accept the credentials.
    Unauthorized,
    /// It is no answer of this API. For a submit: nobody knows whether a job was started.
    Unreadable,
}

/// Where the provider says how many calls it allows. `Retry-After` is obeyed in any case.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// When calls are allowed again: read in answers that say "too many", and in good ones once `remaining` says 0.
    pub reset: Reset,
    /// How many calls are left. At 0 the provider is left alone until the reset, for an hour at most.
    pub remaining: Option<Remaining>,
}

/// The header that says when calls are allowed again.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Its name, for example `RateLimit-Reset`.
    pub header: String,
    /// What its value is. APIs use the same name for different units, so it has to be said.
    pub unit: ResetUnit,
}

/// What a reset is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResetUnit {
    /// Seconds left.
    Seconds,
    /// Milliseconds left.
    Milliseconds,
    /// Seconds since 1970.
    Epoch,
    /// Milliseconds since 1970.
    EpochMilliseconds,
    /// A date, as in HTTP or in RFC 3339.
    Date,
    /// A span of time with its units: `6m0s`, `1.5s`, `250ms`.
    Span,
}

/// The header that says how many calls are left.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remaining {
    /// Its name, for example `RateLimit-Remaining`.
    pub header: String,
}
