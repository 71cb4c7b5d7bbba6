//! The words of `cancel`.

use jobgate_adapter_api::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Request, Step};
use crate::codes::Codes;

/// Stops a job: by one `request`, or by the first of several `ways` that fits.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The request. It knows `job` and `key`.
    pub request: Option<Request>,
    /// Status codes that mean "asked to stop". Without it: 2xx.
    pub accept: Option<Codes>,
    /// Status codes that mean "it has ended already".
    pub already_ended: Option<Codes>,
    /// Status codes that mean "this job cannot be stopped".
    pub refused: Option<Codes>,
    /// Instead of `request`: several ways, of which the first is taken whose `when` holds. Where none does, the cancel is refused.
    #[serde(default)]
    pub ways: Vec<Way>,
    /// Looks at the job first, and sends nothing to one that has ended: for APIs where a cancel destroys what a finished job made. What
    /// follows then knows `word`, `body` and all else that a status rule knows.
    #[serde(default)]
    pub look: bool,
    /// Further requests before the cancel, for example for a job's children. What they give is `steps.NAME`.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// A harder way, for a job that took the cancel and runs on.
    pub escalate: Option<Escalate>,
}

/// One way to stop a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// When it is the one: an expression without braces, for example `job.handles.build is not defined`. Without it: always.
    pub when: Option<String>,
    /// The request. It knows `job`, `key`, what `steps` gave, and after a `look` what that showed.
    pub request: Request,
    /// Status codes that mean "asked to stop". Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "it has ended already".
    #[serde(default = "Codes::none")]
    pub already_ended: Codes,
    /// Status codes that mean "this job cannot be stopped".
    #[serde(default = "Codes::none")]
    pub refused: Codes,
    /// A list, for example `{{ steps.children }}`: the request is made for each element, its `item`.
    pub each: Option<String>,
    /// With `each`: of how many elements, 1 to 100. A longer list is an error: none of its elements may be left running.
    #[serde(default = "twenty")]
    pub most: usize,
}

/// The harder way of stopping a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Escalate {
    /// How long a job that took the cancel may run on, for example `2m`.
    pub after: HumanDuration,
    /// The request.
    pub request: Option<Request>,
    /// Status codes that mean "asked to stop". Without it: 2xx.
    pub accept: Option<Codes>,
    /// Status codes that mean "it has ended already".
    pub already_ended: Option<Codes>,
    /// Status codes that mean "this job cannot be stopped".
    pub refused: Option<Codes>,
    /// Instead of `request`: several ways.
    #[serde(default)]
    pub ways: Vec<Way>,
}

fn twenty() -> usize {
    20
}
