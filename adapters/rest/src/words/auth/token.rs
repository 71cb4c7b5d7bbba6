//! The words of `auth.oauth2` and `auth.jwt`.

use std::collections::BTreeMap;

use jobgate_adapter_api::{HumanDuration, SecretRef};
use schemars::JsonSchema;
use serde::Deserialize;

/// Client credentials. The token is kept until shortly before it ends, and asked for again when the API refuses it (401).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Oauth2 {
    /// Where tokens are given. A text that may name `settings`.
    pub token_url: String,
    /// The client's id. A text that may name `settings`.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: SecretRef,
    /// What the token is for. Texts that may name `settings`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Further parameters, for example `audience` or `resource`. Texts that may name `settings`.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// How id and secret are sent.
    #[serde(default)]
    pub send: ClientSecret,
}

/// How a client's id and secret are sent (RFC 6749 section 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientSecret {
    /// By HTTP Basic.
    #[default]
    Basic,
    /// In the body, as `client_id` and `client_secret`.
    Body,
}

/// A JWT that is made and signed here. With `token_url` it is exchanged for an access token; without it, it is itself the bearer token.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jwt {
    /// Where tokens are given. A text that may name `settings`.
    pub token_url: Option<String>,
    /// The claim `iss`. A text that may name `settings`.
    pub issuer: String,
    /// The claim `sub`. A text that may name `settings`.
    pub subject: Option<String>,
    /// The claim `aud`; without it, the `token_url`. A text that may name `settings`.
    pub audience: Option<String>,
    /// What the token is for: the claim `scope`, and with `token_url` also the parameter. Texts that may name `settings`.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The key: a PEM with a private key (for `ES256` and `EdDSA` in PKCS #8), or a file of Google's for a service account, in
    /// which it is `private_key`. For `HS256` the secret itself.
    pub key: SecretRef,
    /// How it is signed.
    #[serde(default)]
    pub algorithm: Algorithm,
    /// The header's `kid`. A text that may name `settings`.
    pub key_id: Option<String>,
    /// How long it is valid, from 10 seconds to a day. The claim `iat` (and `nbf`) lies a minute back, for clocks that are behind.
    #[serde(default = "five_minutes")]
    pub lifetime: HumanDuration,
    /// Further parameters of the exchange. Texts that may name `settings`.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// How a JWT is signed (RFC 7518 section 3.1, RFC 8037).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// RSA of 2048 to 8192 bits with PKCS #1 padding and SHA-256.
    #[default]
    RS256,
    /// The curve P-256 with SHA-256.
    ES256,
    /// The curve Ed25519.
    EdDSA,
    /// HMAC with SHA-256.
    HS256,
}

fn five_minutes() -> HumanDuration {
    HumanDuration::from_secs(300)
}
