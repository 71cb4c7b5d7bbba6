//! Who calls: told by `Authorization`, and by nothing else.
//!
//! An [`Authenticator`] looks at the headers of one request and says who sent it, or refuses it with what a client needs in order to
//! come back rightly (RFC 6750, section 3; RFC 9728, section 5.1 for those who will name a protected-resource document there).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use axum::http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::domain::{Caller, Clock, Timestamp, TokenHash};

/// The protection space (RFC 9110, section 11.5).
const REALM: &str = "jobgate";
/// No static token is longer; what is, is not even hashed.
const LONGEST_TOKEN: usize = 256;

/// A caller who was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Who it is.
    pub caller: Caller,
    /// When its credentials end: streams that were opened with them end then, too.
    pub until: Option<Timestamp>,
}

/// Why a request is not let in, and what the client is told beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    status: StatusCode,
    message: &'static str,
    /// Parameters of the challenge, in order.
    parameters: Vec<(&'static str, String)>,
}

/// Says who sent a request.
#[async_trait]
pub trait Authenticator: fmt::Debug + Send + Sync + 'static {
    /// # Errors
    /// A [`Refusal`], which names no part of what was sent.
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Admitted, Refusal>;
}

/// Everyone who reaches the gateway is the one local caller (requirement I2).
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAuth;

#[async_trait]
impl Authenticator for NoAuth {
    async fn authenticate(&self, _: &HeaderMap) -> Result<Admitted, Refusal> {
        Ok(Admitted { caller: Caller::local(), until: None })
    }
}

/// Who holds one of a fixed set of tokens.
pub struct Tokens {
    known: HashMap<TokenHash, Admitted>,
    clock: Arc<dyn Clock>,
}

impl Tokens {
    /// These tokens, by their hashes.
    pub fn new(known: impl IntoIterator<Item = (TokenHash, Admitted)>, clock: Arc<dyn Clock>) -> Self {
        Self { known: known.into_iter().collect(), clock }
    }
}

/// How many, not which.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl Authenticator for Tokens {
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        let token = bearer(headers)?;
        let known = (token.len() <= LONGEST_TOKEN).then(|| self.known.get(&TokenHash::of(token))).flatten();
        let admitted = known.ok_or_else(|| Refusal::invalid_token("this token is not known here"))?;
        if admitted.until.is_some_and(|until| until <= self.clock.now()) {
            return Err(Refusal::invalid_token("this token has expired"));
        }
        Ok(admitted.clone())
    }
}

/// The bearer token of a request (RFC 6750, section 2.1). Tokens in forms and in addresses are not looked for: addresses end up in
/// logs (section 5.3).
fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let value = match (sent.next(), sent.next()) {
        (None, _) => return Err(Refusal::no_credentials()),
        (Some(_), Some(_)) => return Err(Refusal::invalid_request("`Authorization` was sent more than once")),
        (Some(value), None) => value,
    };
    let malformed = || Refusal::invalid_request("`Authorization` has to be `Bearer` and a token");
    let text = value.to_str().map_err(|_| malformed())?.trim();
    let (scheme, token) = text.split_once(' ').map_or((text, ""), |(scheme, token)| (scheme, token.trim()));
    if !scheme.eq_ignore_ascii_case("bearer") {
        // A client that proves who it is in another way has sent nothing that could be wrong (section 3.1).
        return Err(Refusal::no_credentials());
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=');
    if token.is_empty() || !token.bytes().all(fits) { Err(malformed()) } else { Ok(token) }
}

impl Refusal {
    /// Nothing was sent: no error is named, so that a client that did not know finds out how (RFC 6750, section 3.1).
    fn no_credentials() -> Self {
        let message = "this gateway wants to know who calls: send `Authorization: Bearer` and a token";
        Self { status: StatusCode::UNAUTHORIZED, message, parameters: Vec::new() }
    }

    fn invalid_token(message: &'static str) -> Self {
        Self { status: StatusCode::UNAUTHORIZED, message, parameters: error("invalid_token", message) }
    }

    fn invalid_request(message: &'static str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message, parameters: error("invalid_request", message) }
    }

    /// The status of the response.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The sentence for people.
    #[must_use]
    pub const fn message(&self) -> &'static str {
        self.message
    }

    /// Adds the challenge to the response.
    pub(super) fn challenge(&self, response: &mut Response) {
        let mut challenge = format!("Bearer realm=\"{REALM}\"");
        for (name, value) in &self.parameters {
            challenge.push_str(&format!(", {name}=\"{value}\""));
        }
        let challenge = HeaderValue::try_from(challenge).expect("a challenge is made of visible ASCII");
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}

/// Neither `"` nor `\` may be in a description (RFC 6750, section 3), so it does without code marks.
fn error(code: &'static str, description: &str) -> Vec<(&'static str, String)> {
    vec![("error", code.to_owned()), ("error_description", description.replace('`', "'"))]
}
