//! What users write of deliveries: how the provider's are read, and where a tool's differ from its status answers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Failure, ProgressWords, ResultWords, Rule};

/// How the provider's deliveries are read. The texts know `body` (the delivery, parsed) and `text` (as it came), and neither headers nor
/// the task: what is read is what was verified. One of `job` and `jobs` has to be there.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// What deliveries are: `json`, or the fields of a `form` (`application/x-www-form-urlencoded`), each a text. A delivery that is
    /// something else, or that has the same name twice in one object, cannot be read.
    #[serde(default)]
    pub parse: Parse,
    /// Which deliveries tell of jobs: an expression without braces, for example `body.event is startingwith 'job.'`. All others are taken
    /// and nothing happens. Where a value it asks for is missing, it does not hold.
    pub when: Option<String>,
    /// The job's id, the same one that `submit.job.id` names, for example `{{ body.data.id }}`. With `jobs` it knows `item`; without it the
    /// item itself is the id.
    pub job: Option<String>,
    /// For deliveries that tell of several jobs: the list, for example `{{ body.events }}`. Each entry is an `item`. Of several entries
    /// for one job the last counts.
    pub jobs: Option<String>,
    /// What the tools' status rules read as `body`, for example `{{ body.data }}` or `{{ body.Message | from_json }}`. Without it: the
    /// whole delivery, or the item.
    pub body: Option<String>,
    /// Says that a delivery names its job and no more, or nothing that is to be believed: the job is then looked at, and what the delivery
    /// says besides is not read. For thin events such as `{"type": "batch.completed", "data": {"id": "batch_1"}}`.
    #[serde(default)]
    pub hint: bool,
}

/// What a delivery is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parse {
    /// One JSON value.
    #[default]
    Json,
    /// The fields of a form.
    Form,
}

/// Where a delivery's body differs from a status answer's. What is not said here is as in `status`, `result` and `failure`. The texts
/// know what those know, with `code` 200 and no headers, and `delivery`: the whole of it, where `body` is a part.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// In the place of the provider's `delivery.body`.
    pub body: Option<String>,
    /// The status word, for example `{{ delivery.event }}`.
    pub word: Option<String>,
    /// From delivery to state; the first rule that matches decides.
    pub rules: Option<Vec<Rule>>,
    /// A short sentence or stage name for people.
    pub message: Option<String>,
    /// Counts.
    pub progress: Option<ProgressWords>,
    /// Values that a delivery teaches, by name.
    pub handles: Option<BTreeMap<String, String>>,
    /// What a job that ended well hands over. Without a `request`: a delivery is read without asking anybody.
    pub result: Option<ResultWords>,
    /// What is said of a job that failed. Without a `request`.
    pub failure: Option<Failure>,
}
