//! The words of `auth`.

mod login;
mod tls;
mod token;

use std::collections::BTreeMap;

use jobgate_adapter_api::SecretRef;
use schemars::JsonSchema;
use serde::Deserialize;

pub use login::{Cookie, Login, LoginAuth};
pub use tls::Tls;
pub use token::{Algorithm, ClientSecret, Jwt, Oauth2};

/// How calls prove who they are from. The credential itself is named, `env:NAME` or `file:PATH`, never written. It is sent to the
/// provider's own addresses (`base_url`, `bases`) and nowhere else, and taken out of whatever the provider says.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// `Authorization: Bearer …`
    Bearer(SecretRef),
    /// HTTP Basic (RFC 7617).
    Basic(Basic),
    /// A header of the API's own.
    Header(Named),
    /// Several headers, each with a value of its own.
    Headers(#[schemars(with = "SecretHeaders")] BTreeMap<String, SecretRef>),
    /// A query parameter. Many proxies log addresses: prefer a header where the API has one.
    Query(Named),
    /// A field of every JSON or form body; requests without a body carry no credential.
    Field(Named),
    /// An access token for a client's own id and secret (OAuth 2.0 client credentials, RFC 6749 section 4.4).
    Oauth2(Oauth2),
    /// A signed JWT (RFC 7519): exchanged for an access token (RFC 7523), or the bearer token itself.
    Jwt(Jwt),
    /// A token from the API's own sign-in request.
    Login(Box<Login>),
    /// A session cookie from a sign-in request (RFC 6265).
    Cookie(Box<Cookie>),
    /// A signature of every request (AWS Signature Version 4).
    AwsSigv4(AwsSigv4),
}

/// HTTP Basic.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Basic {
    /// The user, a text that may name `settings`; may be empty where the API wants the token alone.
    #[serde(default)]
    pub username: String,
    /// The password.
    pub password: SecretRef,
}

/// A credential in a place of the API's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The header's, parameter's or field's name.
    pub name: String,
    /// Its value.
    pub value: SecretRef,
    /// Text before the value, for example `Token `.
    #[serde(default)]
    pub prefix: String,
}

/// AWS Signature Version 4. Keys that change by themselves (roles of a machine) are not looked up.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwsSigv4 {
    /// The service's name in signatures, for example `states` or `batch`.
    pub service: String,
    /// The region, for example `eu-west-1` or `{{ settings.region }}`.
    pub region: String,
    /// The id of the access key.
    pub access_key_id: SecretRef,
    /// The secret access key.
    pub secret_access_key: SecretRef,
    /// The session token that belongs to temporary keys.
    pub session_token: Option<SecretRef>,
}

/// Headers by their names, each with the place of its value.
#[derive(JsonSchema)]
#[schemars(transparent)]
struct SecretHeaders(#[expect(dead_code, reason = "it is here for the schema alone")] BTreeMap<String, SecretRef>);
