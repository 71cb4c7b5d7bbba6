//! The words of `status.resolve`.

use std::collections::BTreeMap;

use jobgate_adapter_api::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Request, Rule};
use crate::codes::Codes;

/// Asks for something that the submit could not name yet, for example the build that a queue item becomes. Asked in each look until it is
/// known; the job is `queued` as long.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The name of what is asked for; afterwards it is `job.handles.NAME`.
    pub handle: String,
    /// The request. It knows `job`, with what was resolved before.
    pub request: Request,
    /// Status codes of an answer that is read. Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "not there yet". Without it: 404.
    #[serde(default = "not_yet")]
    pub missing: Codes,
    /// Where the answer has it, for example `{{ body.executable.number }}`. Undefined, null or empty: not there yet.
    pub value: String,
    /// What else the answer then teaches, by name.
    #[serde(default)]
    pub handles: BTreeMap<String, String>,
    /// What may become of a job before that: `when` with the state `queued`, `cancelled`, `failed` or `gone`. The first that holds decides,
    /// before `value`.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// How long this may take, counted from the first look that does not find it. A job that takes longer has failed.
    pub within: Option<HumanDuration>,
    /// With `within`: why it has failed then.
    pub late: Option<String>,
}

fn not_yet() -> Codes {
    Codes::exactly([404])
}
