//! The words of `status`.

use std::collections::BTreeMap;

use jobgate_adapter_api::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Request, Resolve, Step};
use crate::codes::Codes;

/// Looks at a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// What the submit could not name yet and the request needs, in order: the build that a queue item becomes, the run that a build has.
    #[serde(default)]
    pub resolve: Vec<Resolve>,
    /// The request. It knows `job` and `key`. Without it the job is never looked at, and its deliveries alone tell of it.
    pub request: Option<Request>,
    /// Status codes whose answers the rules read. Without it: 2xx. An answer with another code, or with a code beyond 2xx
    /// that no rule matches, is a failed look and means what HTTP says.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "there is no such job". Without it: 404 and 410.
    #[serde(default = "not_found_or_gone")]
    pub not_found: Codes,
    /// Further requests of a look, after the status answer and before the rules. They know what the rules know.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The provider's status word, for example `{{ body.status }}`; rules compare it with `is`. A word that no rule maps is
    /// shown as it is, and the job counts as running.
    pub word: Option<String>,
    /// From answer to state; the first rule that matches decides.
    pub rules: Vec<Rule>,
    /// A short sentence or stage name for people, where the answer has one.
    pub message: Option<String>,
    /// Counts, where the answer has them.
    pub progress: Option<ProgressWords>,
    /// Further values that this answer teaches, by name; they become `job.handles.NAME` of later requests. One that the
    /// answer lacks is left out.
    #[serde(default)]
    pub handles: BTreeMap<String, String>,
    /// Values that are learned once, from the first look that has them, and stay what they are: `job.handles.NAME` from the next look on.
    /// For a run that may be started anew under its old id, for example `attempt: "{{ body.run_attempt }}"`.
    #[serde(default)]
    pub pins: BTreeMap<String, String>,
}

fn not_found_or_gone() -> Codes {
    Codes::exactly([404, 410])
}

/// One line from answer to state. At least one of `when` and `is`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A condition: an expression without braces, for example `body.done and body.error is defined`. It knows `code`,
    /// `headers`, `body`, `text`, `word`, `job`, `key`. Where a value it asks for is missing, it does not hold.
    pub when: Option<String>,
    /// Status words that this rule is for.
    #[serde(default)]
    pub is: Vec<String>,
    /// The state.
    pub state: StateWord,
    /// A sentence for people in this state, before `message` of the status.
    pub message: Option<String>,
    /// The longest that looks may find this very rule, one after the other, for example `1h`. Then the job is what `late` says.
    pub within: Option<HumanDuration>,
    /// With `within`: what a job is that took longer. Without it: failed. It may still be there at the provider.
    pub late: Option<LateWord>,
    /// With `within`: what is said of it.
    pub late_message: Option<String>,
}

/// What a job is that was in one state for too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateWord {
    /// It failed.
    #[default]
    Failed,
    /// The provider has it no longer.
    Gone,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateWord {
    /// Accepted, not yet running.
    Queued,
    /// Running.
    Running,
    /// Waiting for a person; needs `input`.
    InputRequired,
    /// Ended well.
    Succeeded,
    /// Ran and ended badly.
    Failed,
    /// Was stopped.
    Cancelled,
    /// The provider had it and has it no longer.
    Gone,
    /// The provider does not know it, though the answer's code does not say so.
    NotFound,
}

/// Counts, in one of four forms: `percent`, `of`, `done` (with `total`), or `pattern` with `text`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressWords {
    /// Per cent: a number, or a text like `42` or `42%`.
    pub percent: Option<String>,
    /// A text like `3 of 7`, `3/7` or `42%`.
    pub of: Option<String>,
    /// Done so far: a number, or a text that is one.
    pub done: Option<String>,
    /// With `done`: of how many.
    pub total: Option<String>,
    /// A regular expression for `text`, whose first group is what is done and whose second, if it has one, of how many, for example
    /// `step (\\d+) of (\\d+)`. Of several places the last counts.
    pub pattern: Option<String>,
    /// With `pattern`: where it is looked for, for example `{{ body.logs }}`.
    pub text: Option<String>,
}
