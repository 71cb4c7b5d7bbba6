//! The words of a further request.

use jobgate_adapter_api::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::result::twenty;
use super::{Pages, Request};
use crate::codes::Codes;

/// A further request, made where its place says. What it gives is `steps.NAME` for all that follows.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name, in letters, digits and `_`.
    pub name: String,
    /// When it is made: an expression without braces, for example `word == 'running'`. Without it: always. Of one that is not made,
    /// `steps.NAME` is undefined. With `each` it is asked for each `item`.
    pub when: Option<String>,
    /// The request. It knows what its place knows, and the steps before it.
    pub request: Request,
    /// Status codes of an answer that is read. Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "there is nothing": `steps.NAME` stays undefined. Any other code means what HTTP says, and the whole call
    /// fails.
    #[serde(default = "Codes::none")]
    pub missing: Codes,
    /// Makes the request once for each element of a list, for example `{{ steps.children }}`. The request and `value` then know `item`, and
    /// `steps.NAME` is the list of what they gave, without those that are missing.
    pub each: Option<String>,
    /// Elements of `each`, 1 to 100. A list with more makes the call fail, as nothing true can be said of a part of it.
    #[serde(default = "twenty")]
    pub most: usize,
    /// Reads a list that comes in several answers.
    pub pages: Option<Pages>,
    /// What `steps.NAME` is, for example `{{ body.jobs }}`. Without it: the whole answer, with `code`, `headers`, `body` and `text`; with
    /// `pages` the list, which is `items`.
    pub value: Option<String>,
    /// For `lookups` alone: how long what was learned is remembered and not asked for again, for example `10m`. In memory, for the same
    /// tool and the same request.
    pub cache: Option<HumanDuration>,
}
