//! What proves who a call is from: texts settled, secrets still names with their places.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use jobgate_adapter_api::{Place, SecretRef};
use url::Url;

use super::RequestPlan;
use crate::codes::Codes;
use crate::language::Text;
use crate::words::{Algorithm, ClientSecret};

/// A secret, and where it is named.
#[derive(Clone, Debug)]
pub(crate) struct SecretAt {
    pub(crate) place: Place,
    pub(crate) reference: SecretRef,
}

#[derive(Debug)]
pub(crate) enum AuthPlan {
    /// The same for every request.
    Fixed(Vec<FixedPlan>),
    /// Asked for or made when it is needed, and kept while it is good.
    Token(TokenPlan),
    /// Made anew from every request.
    Signature(SignaturePlan),
}

#[derive(Debug)]
pub(crate) enum FixedPlan {
    Header { name: HeaderName, prefix: String, value: SecretAt },
    Basic { username: String, password: SecretAt },
    Query { name: String, prefix: String, value: SecretAt },
    Field { name: String, prefix: String, value: SecretAt },
}

#[derive(Debug)]
pub(crate) struct TokenPlan {
    pub(crate) source: SourcePlan,
    /// The header that carries it, and what stands before it there.
    pub(crate) header: HeaderName,
    pub(crate) prefix: String,
    /// Codes that refuse one that has ended.
    pub(crate) expired: Codes,
}

#[derive(Debug)]
pub(crate) enum SourcePlan {
    Client { url: Url, id: String, secret: SecretAt, send: ClientSecret, params: Vec<(String, String)> },
    Jwt { jwt: JwtPlan, exchange: Option<ExchangePlan> },
    SignIn(Arc<SignInPlan>),
}

/// Where a JWT is exchanged for a token.
#[derive(Clone, Debug)]
pub(crate) struct ExchangePlan {
    pub(crate) url: Url,
    pub(crate) params: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct JwtPlan {
    pub(crate) key: SecretAt,
    pub(crate) algorithm: Algorithm,
    pub(crate) key_id: Option<String>,
    pub(crate) lifetime: Duration,
    pub(crate) claims: Vec<(&'static str, String)>,
}

#[derive(Debug)]
pub(crate) struct SignInPlan {
    pub(crate) request: RequestPlan,
    pub(crate) secrets: Vec<(String, SecretAt)>,
    pub(crate) auth: Option<SignInAuthPlan>,
    pub(crate) gives: Gives,
    pub(crate) lifetime: Option<Duration>,
}

#[derive(Debug)]
pub(crate) enum SignInAuthPlan {
    Fixed(FixedPlan),
    Jwt(JwtPlan),
}

/// What a sign-in's answer holds.
#[derive(Debug)]
pub(crate) enum Gives {
    Token(Box<TokenTexts>),
    Cookies,
}

/// Where a token is, and when it ends.
#[derive(Debug)]
pub(crate) struct TokenTexts {
    pub(crate) token: Text,
    pub(crate) expires_in: Option<Text>,
    pub(crate) expires_at: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct SignaturePlan {
    pub(crate) service: String,
    pub(crate) region: String,
    pub(crate) access_key_id: SecretAt,
    pub(crate) secret_access_key: SecretAt,
    pub(crate) session_token: Option<SecretAt>,
}

#[derive(Debug, Default)]
pub(crate) struct TlsPlan {
    pub(crate) ca: Option<SecretAt>,
    pub(crate) identity: Option<(SecretAt, SecretAt)>,
}
