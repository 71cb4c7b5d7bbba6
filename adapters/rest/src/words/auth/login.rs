//! The words of `auth.login` and `auth.cookie`.

use std::collections::BTreeMap;

use jobgate_adapter_api::{HumanDuration, SecretRef};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Basic, Jwt, Named};
use crate::codes::Codes;
use crate::words::Request;

/// A sign-in request that gives a token.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The sign-in request. It knows `settings`, `now`, and each of `secrets` as `secret.NAME`.
    pub request: Request,
    /// Secrets that the request uses.
    #[serde(default)]
    pub secrets: BTreeMap<String, SecretRef>,
    /// How the sign-in request itself proves who it is from, where it does so other than with `secrets`.
    pub auth: Option<LoginAuth>,
    /// The token in the answer, for example `{{ body.token }}`.
    pub token: String,
    /// How long the token is good. Without this, `expires_in` and `expires_at`: until the API refuses it.
    pub lifetime: Option<HumanDuration>,
    /// The seconds that it is good, in the answer: `{{ body.expires_in }}`.
    pub expires_in: Option<String>,
    /// The moment at which it ends, in the answer: ISO 8601, or seconds since 1970.
    pub expires_at: Option<String>,
    /// The header that carries the token.
    #[serde(default = "authorization")]
    pub header: String,
    /// Text before the token.
    #[serde(default = "bearer")]
    pub prefix: String,
    /// Codes by which the API refuses a token that has ended: a new one is asked for, and the request is sent once more.
    #[serde(default = "unauthorized")]
    pub expired: Codes,
}

/// A sign-in request whose answer sets cookies; they are sent with every request, whatever their path or domain says, to the provider's own
/// addresses alone.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cookie {
    /// The sign-in request. It knows `settings`, `now`, and each of `secrets` as `secret.NAME`. A redirect is as good as a success.
    pub request: Request,
    /// Secrets that the request uses.
    #[serde(default)]
    pub secrets: BTreeMap<String, SecretRef>,
    /// How the sign-in request itself proves who it is from, where it does so other than with `secrets`.
    pub auth: Option<LoginAuth>,
    /// How long the session is good. Without it: as long as the cookie's `Max-Age` says, or until the API refuses it.
    pub lifetime: Option<HumanDuration>,
    /// Codes by which the API refuses a session that has ended: it signs in anew, and the request is sent once more.
    #[serde(default = "unauthorized")]
    pub expired: Codes,
}

/// What a sign-in request proves who it is from with.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoginAuth {
    /// `Authorization: Bearer …`
    Bearer(SecretRef),
    /// HTTP Basic (RFC 7617).
    Basic(Basic),
    /// A header of the API's own.
    Header(Named),
    /// A signed JWT as the bearer token; no `token_url`.
    Jwt(Jwt),
}

fn authorization() -> String {
    "Authorization".to_owned()
}

fn bearer() -> String {
    "Bearer ".to_owned()
}

fn unauthorized() -> Codes {
    Codes::exactly([401])
}
