//! The words of `result` and `failure`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Artifact, Request, Step};

/// What a job that ended well hands over.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultWords {
    /// Further requests of a job that ended well, before `request`. They know what the rules know.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// A second request, where the status answer does not hold the result. `body` is then its answer, and the status answer is
    /// `status` (`status.body`, `status.headers`, `status.code`).
    pub request: Option<Request>,
    /// Says that a job which ended well has an output. One without any (no text, no data, no content, no link; null and empty ones are
    /// none) then counts as failed, with a sentence that says so.
    #[serde(default)]
    pub required: bool,
    /// Text for people and models.
    pub text: Option<String>,
    /// The result as data: any tree whose texts are templates, most often `"{{ body.result }}"`.
    pub data: Option<Value>,
    /// What people and models read, see and hear, in this order, after `text`.
    #[serde(default)]
    pub content: Vec<Content>,
    /// Files: kept by the gateway, or handed on as links.
    #[serde(default)]
    pub artifacts: Vec<Artifact>,
    /// Artifacts by reference.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// One piece of a result. Exactly one of `text`, `image`, `audio`, `link` and `document`; one whose value is undefined, null or empty
/// is left out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// A text.
    pub text: Option<String>,
    /// An image: its bytes as base64 (then `mime_type` says what they are), or a `data:` address. At most 4 MiB.
    pub image: Option<String>,
    /// A sound, like `image`.
    pub audio: Option<String>,
    /// Something to fetch: its address. Needs a `name`.
    pub link: Option<String>,
    /// A text with a name of its own, for example a report. Needs a `name`.
    pub document: Option<String>,
    /// The short name of a link or document.
    pub name: Option<String>,
    /// Its media type, for example `image/png`.
    pub mime_type: Option<String>,
    /// One sentence about a link.
    pub description: Option<String>,
    /// Bytes of what a link leads to, where the provider says.
    pub size: Option<String>,
    /// Makes a piece of each element of a list, for example `{{ body.images }}`; the texts then know `item`.
    pub each: Option<String>,
    /// Elements of `each`, 1 to 100; how many more there were is said in a text.
    #[serde(default = "twenty")]
    pub most: usize,
    /// When there is such a piece: an expression without braces. With `each` it is asked for each `item`.
    pub when: Option<String>,
}

pub(super) fn twenty() -> usize {
    20
}

/// An artifact by reference.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Where it is. A link whose address is undefined, null or empty is left out.
    pub uri: String,
    /// A short name.
    pub name: String,
    /// Its media type, for example `video/mp4`.
    pub mime_type: Option<String>,
    /// One sentence.
    pub description: Option<String>,
}

/// What is said of a job that failed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Further requests of a job that failed, before `request`.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// A second request, as in `result`.
    pub request: Option<Request>,
    /// Why it failed. Cleaned like every sentence of a provider. Without it, or where the answer lacks it: one sentence.
    pub message: Option<String>,
    /// The provider's error word.
    pub code: Option<String>,
    /// What it left behind all the same.
    pub data: Option<Value>,
    /// Whether the end of the job's `log` is shown. Without it: where there is one.
    pub log: Option<bool>,
}
