//! The words of a provider section.

use std::collections::BTreeMap;

use jobgate_adapter_api::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Auth, Delivery, ErrorRule, Pace, Tls};

/// A provider section of `adapter: rest`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Values that the texts below name as `settings.NAME`, also the addresses: what differs from one account to the next. No secrets.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// The API's address, for example `https://api.example.com/v1`. Paths of requests are put after it.
    pub base_url: String,
    /// Further addresses by name, for APIs that live in several places; a request names one with `base`. The credential is
    /// sent to every one of them, and nowhere else.
    #[serde(default)]
    pub bases: BTreeMap<String, String>,
    /// How calls prove who they are from. Without it they carry no credential.
    pub auth: Option<Auth>,
    /// Certificates of one's own: authorities, and what calls show of themselves.
    pub tls: Option<Tls>,
    /// Headers of every request. No credentials: they belong under `auth`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The longest that one request may take; the gateway's own limit holds as well.
    #[serde(default = "thirty_seconds")]
    pub timeout: HumanDuration,
    /// Bytes of the largest answer that is read. The gateway's own limit holds as well.
    pub max_body_bytes: Option<usize>,
    /// A template for the provider's own sentence in an answer that refuses something, for example
    /// `{{ body.error.message }}`. Addresses, long tokens and credentials are taken out of it before anyone sees it.
    pub error_message: Option<String>,
    /// How the provider's deliveries are read. Without it a delivery means nothing to the tools.
    pub delivery: Option<Delivery>,
    /// Answers, to any request, that mean something else than HTTP says: throttling in a 400, an error in a 200. The first that holds
    /// decides, before anything else is read.
    #[serde(default)]
    pub errors: Vec<ErrorRule>,
    /// Where answers say how many calls are allowed.
    pub pace: Option<Pace>,
}

fn thirty_seconds() -> HumanDuration {
    HumanDuration::from_secs(30)
}
