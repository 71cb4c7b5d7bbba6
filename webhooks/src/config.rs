//! A scheme as an operator words it, and what is wrong with the words.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::scheme::{self, Scheme};
use crate::secret::{Credential, SecretProblem, Secrets};

/// How a provider signs its deliveries. `scheme` is a name; the other words belong to the schemes that are said with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchemeConfig {
    /// The scheme's name, for example `stripe` or `standard_webhooks`.
    pub scheme: String,
    /// How many seconds the signed moment may lie in the past or in the future. Schemes with a signed moment alone.
    pub tolerance: Option<u32>,
    /// `static_token`: the header with the token.
    pub header: Option<String>,
    /// `static_token`: what stands before the token, for example `Bearer ` with its space.
    pub prefix: Option<String>,
    /// `aws_sns`: the one topic whose messages are taken.
    pub topic_arn: Option<String>,
    /// `aws_sns`, `cloudinary`, `hmac`: also takes SHA-1, which the provider uses by default or cannot leave.
    pub allow_sha1: bool,
    /// `google_pubsub`: the subscription's audience.
    pub audience: Option<String>,
    /// `google_pubsub`: the service account that pushes.
    pub email: Option<String>,
    /// `fal`: your own user id. Every user's deliveries are signed with the same keys.
    pub user_id: Option<String>,
    /// `cloudevents`: the origins that may ask to deliver.
    pub origins: Vec<String>,
    /// `cloudevents`: deliveries a minute that are allowed.
    pub rate: Option<u32>,
    /// `rfc9421`: the label of the signature that counts; without it there may be only one.
    pub label: Option<String>,
    /// `rfc9421`: what has to be covered. Default: `@method`, `@target-uri`, `content-digest`.
    pub components: Vec<String>,
    /// `rfc9421`: the name of the symmetric key. `google_pubsub`, when signing: the name of the private key.
    pub key_id: Option<String>,
    /// `hmac`: `sha256` (default), `sha512` or `sha1`.
    pub algorithm: Option<String>,
    /// `hmac`, `ed25519`: `hex` (default), `base64` or `base64url` without padding.
    pub encoding: Option<String>,
    /// `hmac`, `ed25519`: the header with the signature.
    pub signature_header: Option<String>,
    /// `hmac`, `ed25519`: what stands before the signature, for example `sha256=`.
    pub signature_prefix: Option<String>,
    /// `hmac`, `ed25519`: the signature's name where the header is a list such as `t=1,v1=2`.
    pub signature_pair: Option<String>,
    /// `hmac`, `ed25519`: the moment's name in that list.
    pub timestamp_pair: Option<String>,
    /// `hmac`, `ed25519`: the header with the moment.
    pub timestamp_header: Option<String>,
    /// `hmac`, `ed25519`: `s` (default) or `ms` since 1970.
    pub timestamp_unit: Option<String>,
    /// `hmac`, `ed25519`: the header with the delivery's id, if it is signed.
    pub id_header: Option<String>,
    /// `ed25519`: the header with the name of the key in the key set, if it is signed.
    pub key_id_header: Option<String>,
    /// `hmac`, `ed25519`: what is signed, from `{body}`, `{body_sha256}`, `{timestamp}`, `{id}`, `{key_id}` and text between them.
    /// Default `{body}`.
    pub signed: Option<String>,
    /// `hmac`: `text` (default), `base64` or `hex`.
    pub secret_encoding: Option<String>,
    /// `hmac`: what stands before an encoded secret and is cut off.
    pub secret_prefix: Option<String>,
}

impl SchemeConfig {
    /// A scheme that needs no other word.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { scheme: name.to_owned(), ..Self::default() }
    }

    /// The words that were said, beside the name.
    #[must_use]
    pub fn given(&self) -> Vec<&'static str> {
        let words = [
            ("tolerance", self.tolerance.is_some()),
            ("header", self.header.is_some()),
            ("prefix", self.prefix.is_some()),
            ("topic_arn", self.topic_arn.is_some()),
            ("allow_sha1", self.allow_sha1),
            ("audience", self.audience.is_some()),
            ("email", self.email.is_some()),
            ("user_id", self.user_id.is_some()),
            ("origins", !self.origins.is_empty()),
            ("rate", self.rate.is_some()),
            ("label", self.label.is_some()),
            ("components", !self.components.is_empty()),
            ("key_id", self.key_id.is_some()),
            ("algorithm", self.algorithm.is_some()),
            ("encoding", self.encoding.is_some()),
            ("signature_header", self.signature_header.is_some()),
            ("signature_prefix", self.signature_prefix.is_some()),
            ("signature_pair", self.signature_pair.is_some()),
            ("timestamp_pair", self.timestamp_pair.is_some()),
            ("timestamp_header", self.timestamp_header.is_some()),
            ("timestamp_unit", self.timestamp_unit.is_some()),
            ("id_header", self.id_header.is_some()),
            ("key_id_header", self.key_id_header.is_some()),
            ("signed", self.signed.is_some()),
            ("secret_encoding", self.secret_encoding.is_some()),
            ("secret_prefix", self.secret_prefix.is_some()),
        ];
        words.into_iter().filter(|(_, given)| *given).map(|(word, _)| word).collect()
    }
}

/// Something wrong with a configuration, and a right example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The word that is wrong.
    pub word: &'static str,
    /// Why.
    pub message: String,
    /// What would be right.
    pub example: String,
}

impl Problem {
    pub(crate) fn new(word: &'static str, message: impl Into<String>, example: impl Into<String>) -> Self {
        Self { word, message: message.into(), example: example.into() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; for example `{}`", self.word, self.message, self.example)
    }
}

/// All that is unsafe or wrong about a scheme and its secrets, at once. An empty list means that a route may be opened with them.
#[must_use]
pub fn lint(config: &SchemeConfig, credentials: &[Credential]) -> Vec<Problem> {
    let scheme = match Scheme::from_config(config) {
        Ok(scheme) => scheme,
        Err(problems) => return problems,
    };
    match Secrets::new(&scheme, credentials.iter().cloned()) {
        Ok(_) => Vec::new(),
        Err(problem) => vec![secret_problem(&problem)],
    }
}

fn secret_problem(problem: &SecretProblem) -> Problem {
    let example = match problem {
        SecretProblem::Unused => "leave `secret` out",
        SecretProblem::UserPassword => "printf %s 'jobgate:a-long-random-password' > basic.txt",
        SecretProblem::None
        | SecretProblem::TooMany
        | SecretProblem::Empty
        | SecretProblem::Whitespace
        | SecretProblem::NotText
        | SecretProblem::Address
        | SecretProblem::TooShort { .. }
        | SecretProblem::Length { .. }
        | SecretProblem::Prefix(_)
        | SecretProblem::Encoding(_)
        | SecretProblem::PublicKey
        | SecretProblem::NoVerifyToken => "secret: env:WEBHOOK_SECRET",
    };
    Problem::new("secret", problem.to_string(), example)
}

/// There is no scheme of that name.
pub(crate) fn unknown(name: &str) -> Problem {
    if name.is_empty() {
        let why = "a route without a scheme would take anybody's word";
        return Problem::new("scheme", why, "scheme: standard_webhooks");
    }
    let known = scheme::NAMES.join(", ");
    Problem::new("scheme", format!("there is no scheme `{}`; known: {known}", short(name)), "scheme: standard_webhooks")
}

/// The beginning of a word that somebody typed.
pub(crate) fn short(text: &str) -> String {
    text.chars().take(40).filter(|it| !it.is_control()).collect()
}
