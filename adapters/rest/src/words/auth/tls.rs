//! The words of `tls`.

use jobgate_adapter_api::SecretRef;
use schemars::JsonSchema;
use serde::Deserialize;

/// Certificates of one's own, beside any `auth`. All are PEM.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The authorities that may vouch for the provider's own addresses, in the place of the machine's; elsewhere (redirects, token
    /// endpoints, files) they count beside them.
    pub ca: Option<SecretRef>,
    /// The certificate that calls to the provider's own addresses show, with those between it and its authority.
    pub client_certificate: Option<SecretRef>,
    /// Its private key.
    pub client_key: Option<SecretRef>,
}
