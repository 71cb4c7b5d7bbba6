//! The words of `find`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::result::twenty;
use super::{Names, Pages, Request};
use crate::codes::Codes;

/// Looks for a job by the key of its submit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// The request. It knows `key`, `args` and what `lookups` gave.
    pub request: Request,
    /// Status codes of an answer that can be read. Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "there is none". Without it: 404.
    #[serde(default = "not_found")]
    pub not_found: Codes,
    /// Where the answer has a list of jobs, for example `{{ body.runs }}`, of which `match` finds ours.
    pub items: Option<String>,
    /// With `items`, where the list comes in several answers. `items` is said once, beside `pages`.
    pub pages: Option<Pages>,
    /// With `items`: whether an element is our job, an expression without braces that knows `item`, for example `item.name == key`. Two jobs
    /// that match are an error.
    #[serde(rename = "match")]
    pub matches: Option<String>,
    /// With `items`: what is asked about each element, where the list does not say enough.
    pub detail: Option<Detail>,
    /// When it says nothing that none was found, as the provider has forgotten jobs of that age: an expression without braces. Then nobody
    /// knows whether a job was started, and the task ends with a sentence that says so. Without it: what is not found was never started.
    pub unsure: Option<String>,
    /// Where the answer names the job; with `items` it knows `item`. An id that is undefined, null or empty means that there is none.
    pub job: Names,
}

/// A further request about one element of a list. `match` and `job` then know its answer as `detail` (`detail.body`, `detail.headers`,
/// `detail.code`, `detail.text`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detail {
    /// Which elements are asked about: an expression without braces, for example `item.created_at >= started_at`. Others are not our job.
    pub when: Option<String>,
    /// The request. It knows `item`.
    pub request: Request,
    /// Status codes of an answer that is read. Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "not our job". Without it: 404.
    #[serde(default = "not_found")]
    pub missing: Codes,
    /// Elements that are asked about, 1 to 100. Where there are more, the search fails, as our job may be among them.
    #[serde(default = "twenty")]
    pub most: usize,
}

fn not_found() -> Codes {
    Codes::exactly([404])
}
