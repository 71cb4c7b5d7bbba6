//! The words of `result.artifacts`.

use jobgate_adapter_api::HumanBytes;
use schemars::JsonSchema;
use serde::Deserialize;

/// A file that a job made: kept by the gateway, or handed on as a link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Where it is, for example `{{ body.output }}`: an address, one beneath the provider's own, or a `data:` address that is the file
    /// itself. One that is undefined, null or empty is left out.
    pub uri: String,
    /// What callers see it called, for example `video.mp4`.
    pub name: String,
    /// Its media type. Without it, of a file that is kept: what it is sent as.
    pub mime_type: Option<String>,
    /// One sentence.
    pub description: Option<String>,
    /// Whether the gateway fetches it when the job has ended, and keeps it as long as the task. Without it callers get the address.
    #[serde(default)]
    pub keep: bool,
    /// Makes an artifact of each element of a list, for example `{{ body.output }}`; the texts then know `item`.
    pub each: Option<String>,
    /// Elements of `each`, 1 to 100; how many more there were is said in a text.
    #[serde(default = "super::result::twenty")]
    pub most: usize,
    /// When there is such a file: an expression without braces. With `each` it is asked for each `item`.
    pub when: Option<String>,
    /// Bytes that a kept file may have, for example `200MiB`. Without it: the gateway's own limit, which holds in any case.
    pub max_bytes: Option<HumanBytes>,
    /// Types that a kept file may have, for example `[video/*, image/png]`. Without it: any.
    #[serde(default)]
    pub types: Vec<String>,
    /// Whether a kept file is fetched with the provider's credentials. Only at the provider's own addresses, and never after a redirect from
    /// elsewhere.
    #[serde(default)]
    pub credentials: bool,
    /// Where else than at the provider's own addresses a kept file may be: `https://files.example.com`, or `https://*.example.com` for all
    /// hosts beneath. Without it: at any public address, by https. One that is written out may lie in a network of the gateway's own.
    #[serde(default)]
    pub origins: Vec<String>,
}
