//! The words of a provider's `webhook` section: the scheme's own, and how the gateway takes what is delivered.

use std::borrow::Cow;

use jobgate_adapter_api::{HumanDuration, SecretRef};
use jobgate_webhooks::{NAMES, SchemeConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// The scheme of a provider that signs nothing.
pub(super) const UNSIGNED: &str = "none";

/// The section: `scheme` and its words are those of the crate that verifies, so that they are worded once.
#[derive(Clone, Debug)]
pub(in crate::config) struct WebhookWords {
    pub(super) scheme: SchemeConfig,
    pub(super) route: RouteWords,
}

/// How deliveries are taken.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RouteWords {
    /// What the provider signs with, as it shows it; where it publishes a public key, that one. Several while it is changed.
    #[schemars(extend("examples" = ["env:WEBHOOK_SECRET"]))]
    pub(super) secret: Option<SecretWords>,
    /// `meta`: what the provider repeats when it asks whether this address is yours.
    #[schemars(extend("examples" = ["env:WEBHOOK_VERIFY_TOKEN"]))]
    pub(super) verify_token: Option<SecretRef>,
    /// `none`: the last step of the address, which nobody can guess: at least 16 letters, digits, `-`, `_`, `.` and `~`.
    #[schemars(extend("examples" = ["env:WEBHOOK_TOKEN"]))]
    pub(super) token: Option<SecretRef>,
    /// The provider's public keys (JWKS, RFC 7517): an `https` address, or a file. A relative path starts at the configuration file's
    /// folder. Default: where the provider of the scheme publishes them for all, that address.
    #[schemars(length(min = 1), extend("examples" = ["https://api.example.com/.well-known/jwks.json"]))]
    pub(super) key_set: Option<String>,
    /// At what age a fetched key set is fetched again, and the shortest time between two fetches, also when a delivery names a key that is
    /// unknown; after a fetch that failed it is half a minute. A set that cannot be fetched again is used for a day. Default: 5m.
    pub(super) key_set_refresh: Option<HumanDuration>,
    /// `aws_sns`: a file with the certificate that signs, in PEM, for clouds whose certificates are not on a host of AWS. Default: the
    /// one that a delivery names, fetched from AWS alone.
    #[schemars(length(min = 1), extend("examples" = ["sns.pem"]))]
    pub(super) certificate: Option<String>,
    /// What a delivery counts for. Default: hint.
    pub(super) trust: Option<TrustWord>,
    /// With `trust: payload` and callback addresses alone: takes what is delivered to one as data though its body or its moment is not
    /// signed. Whoever reads such an address in a log can end its task. Default: false.
    pub(super) allow_unsigned_payload: Option<bool>,
    /// How often a job is looked at while deliveries come. Default: 5m.
    pub(super) safety_poll: Option<HumanDuration>,
    /// What is answered to a delivery of a job that no task has. Default: accept.
    pub(super) unknown_jobs: Option<UnknownWord>,
    /// How long a delivery waits for a job that is not known yet. Default: 10m.
    pub(super) park_for: Option<HumanDuration>,
    /// How long a delivery is remembered, so that a repeat has no effect: as long as the provider tries again. Default: 72h.
    pub(super) keep_for: Option<HumanDuration>,
    /// Largest delivery, in bytes. Default: 1048576.
    #[schemars(range(min = 1024, max = 67_108_864))]
    pub(super) max_body_bytes: Option<usize>,
}

/// One secret, or several that are valid at once or one after the other.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WebhookSecrets", extend("examples" = ["env:WEBHOOK_SECRET"]))]
pub(super) enum SecretWords {
    One(SecretRef),
    Several(
        #[schemars(length(min = 1, max = 8), extend("examples" = [["env:WEBHOOK_SECRET", "env:OLD_WEBHOOK_SECRET"]]))]
        Vec<SecretWord>,
    ),
}

/// A secret, with a time in which it is valid or without.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "WebhookSecret", extend("examples" = ["env:WEBHOOK_SECRET"]))]
pub(super) enum SecretWord {
    Always(SecretRef),
    Between(TimedSecret),
}

/// A secret that is valid for a time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TimedWebhookSecret", extend("examples" = [{"secret": "env:OLD_WEBHOOK_SECRET", "until": "2027-01-31T00:00:00Z"}]))]
pub(super) struct TimedSecret {
    /// The secret.
    pub(super) secret: SecretRef,
    /// From when on it is valid. Default: always was.
    #[schemars(extend("examples" = ["2027-01-01T00:00:00Z"]))]
    pub(super) from: Option<String>,
    /// Until when it is valid. Default: for ever.
    #[schemars(extend("examples" = ["2027-01-31T00:00:00Z"]))]
    pub(super) until: Option<String>,
}

/// What a delivery counts for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Trust")]
pub(super) enum TrustWord {
    /// It says that there is something to see: the job is looked at, and the provider's own answer counts.
    Hint,
    /// What it says is what is so. Only where the scheme signs body and moment.
    Payload,
}

/// What is answered to a delivery of a job that no task has.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "UnknownJobs")]
pub(super) enum UnknownWord {
    /// HTTP 200, as for any other: for providers whose other jobs are told here, too.
    Accept,
    /// HTTP 404, and it is not kept: for providers that send it again, or show it to their operators.
    Refuse,
}

impl JsonSchema for WebhookWords {
    fn schema_name() -> Cow<'static, str> {
        "Webhook".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut names: Vec<&str> = NAMES.to_vec();
        names.push(UNSIGNED);
        let mut words = Map::new();
        words.insert(
            "scheme".to_owned(),
            json!({
                "description": "How the provider signs its deliveries; without a scheme anybody's word would be taken. `none` for providers \
                                that sign nothing: only at addresses that nobody can guess.",
                "enum": names,
                "examples": ["standard_webhooks"],
            }),
        );
        for part in [SchemeConfig::json_schema(generator), RouteWords::json_schema(generator)] {
            for (word, meaning) in part.get("properties").and_then(Value::as_object).into_iter().flatten() {
                words.entry(word.clone()).or_insert_with(|| meaning.clone());
            }
        }
        schemars::json_schema!({
            "description": "Deliveries of this provider, to `server.public_url` + `/hooks/` and the provider's name: how they are verified and \
                            what they count for.",
            "type": "object",
            "properties": words,
            "required": ["scheme"],
            "additionalProperties": false,
            "examples": [{ "scheme": "standard_webhooks", "secret": "env:WEBHOOK_SECRET" }],
        })
    }
}

impl<'de> Deserialize<'de> for WebhookWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Map::deserialize(deserializer)?;
        let schema = SchemaGenerator::default().into_root_schema_for::<RouteWords>();
        let own = |word: &String| schema.pointer("/properties").is_some_and(|words| words.get(word).is_some());
        let (route, scheme): (Map<String, Value>, Map<String, Value>) = words.into_iter().partition(|(word, _)| own(word));
        let problem = serde::de::Error::custom;
        Ok(Self {
            scheme: SchemeConfig::deserialize(Value::Object(scheme)).map_err(problem)?,
            route: RouteWords::deserialize(Value::Object(route)).map_err(problem)?,
        })
    }
}
