//! The words of `log`.

use jobgate_adapter_api::HumanBytes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Request;

/// The end of a job's log. It is read where a text needs it: `log` is known to the messages, the progress, the result and the failure,
/// and empty where there is none. Secrets, terminal escapes and control characters are taken out of it. A log that is not there, or that
/// cannot be read, never makes a look fail.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The request. It knows what the rules know, and with `kind: { offset: ... }` also `offset`.
    pub request: Request,
    /// When there is a log: an expression without braces, for example `word in ['running', 'failed']`. Without it: always.
    pub when: Option<String>,
    /// How the end of it is asked for. Without it: `whole`.
    #[serde(default)]
    pub kind: LogKind,
    /// Where the text is in the answer. Without it: the answer itself, `{{ text }}`.
    pub text: Option<String>,
    /// Lines that are kept, 1 to 500, from the end, and never more than 16 KiB of them.
    #[serde(default = "forty")]
    pub lines: usize,
}

fn forty() -> usize {
    40
}

/// How the end of a log is asked for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// The answer is the whole log, and its end is taken here.
    #[default]
    Whole,
    /// The API gives what follows a place in the log, and says where the next part begins.
    Offset(OffsetWords),
    /// So many bytes of the end, asked for with a `Range` header (RFC 9110 section 14).
    Range(HumanBytes),
    /// The API gives so many lines of the end.
    Tail(TailWords),
}

/// A log that is read on from where the look before ended.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OffsetWords {
    /// The query parameter that carries the place, for example `start`. Left out at the first look. Without it the request itself uses
    /// `offset`.
    pub parameter: Option<String>,
    /// Where the next part begins: a number or a token, for example `{{ headers.x_text_size }}`.
    pub next: String,
}

/// A log whose API cuts it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TailWords {
    /// The query parameter that carries the number of lines, for example `tailLines`.
    pub parameter: String,
}
