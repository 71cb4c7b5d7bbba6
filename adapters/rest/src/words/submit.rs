//! The words of `submit`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Request;
use crate::codes::Codes;

/// Starts a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The request. It knows `args`, `key` and `callback.url`: the address where the provider may deliver what happens to this job.
    pub request: Request,
    /// Status codes that mean "taken". Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Where the answer names the job.
    pub job: Names,
    /// What answers mean that are neither simply taken nor simply refused; the first that holds decides, before `busy`, `rejected` and
    /// `accept`.
    #[serde(default)]
    pub outcomes: Vec<Outcome>,
    /// When an answer, whatever its code, means "no room now, and nothing was started": an expression without braces, for example
    /// `code == 409`. The submit is made again later, for as long as the tool's `submit_budget`. 429 and 503 mean that anyway.
    pub busy: Option<String>,
    /// When an answer, whatever its code, means "refused"; the first that holds decides.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
}

/// Where an answer names the job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// The job's id, for example `{{ body.id }}` or `{{ headers.location | last_segment }}`.
    pub id: String,
    /// Further values that later requests need, by name; there they are `job.handles.NAME`.
    #[serde(default)]
    pub handles: BTreeMap<String, String>,
}

/// An answer that refuses a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The condition: an expression without braces, for example `code == 409`.
    pub when: String,
    /// What the caller is told. Without it: the provider's `error_message`.
    pub message: Option<String>,
}

/// What one kind of answer means. At least one of `code` and `when`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Status codes of such an answer. Without it: any.
    pub code: Option<Codes>,
    /// When it is one: an expression without braces, for example `body.__typename == 'LaunchRunSuccess'`.
    pub when: Option<String>,
    /// What became of the submit.
    pub means: OutcomeWord,
    /// What the caller is told of a submit that came to nothing. Without it: the provider's `error_message`.
    pub message: Option<String>,
    /// Where this answer, or what is read back, names the job. Without it: as in `submit.job`.
    pub job: Option<Names>,
    /// With `existing`: a request whose answer names the job, where the refusal does not.
    pub read: Option<ReadBack>,
}

/// What became of a submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeWord {
    /// A job was started.
    Started,
    /// The job is there already, from an earlier submit of this very call: the request has to say its `key`.
    Existing,
    /// A job was started and may have ended: the answer is a status answer as well, and the status rules read it.
    Finished,
    /// Nothing was started, and that is how it stays: the call fails with the message.
    Nothing,
    /// Nothing was started, as there is no room now: the submit is made again later.
    Busy,
    /// The provider refuses the job.
    Rejected,
    /// Nobody knows whether a job was started.
    Unknown,
}

/// Reads back a job that was there already.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadBack {
    /// The request. It knows what the submit's request knows, and the answer to that.
    pub request: Request,
    /// Status codes of an answer that can be read. Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
}
