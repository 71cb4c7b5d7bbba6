//! `google_pubsub`: a signed token that says who pushes, and to whom. The body is not bound, so a delivery is a hint.

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;

use crate::keys::KeyAlgorithm;
use crate::mac;
use crate::refusal::{Part, Refusal};
use crate::request::{Request, object};
use crate::secret::Secrets;
use crate::verified::{Binds, ReplayId, Verified};

/// How far, in seconds, the clocks of issuer and receiver may differ.
const LEEWAY: i64 = 60;
/// Who issues the tokens.
const ISSUERS: [&str; 2] = ["https://accounts.google.com", "accounts.google.com"];

/// Whose pushes are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pushed {
    pub(crate) audience: String,
    pub(crate) email: String,
    pub(crate) key_id: Option<String>,
}

/// What the token's header decides: nothing. It has to say what is expected anyway. `jku`, `x5u` and `jwk` are not looked at.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
    /// Extensions that a reader has to understand (RFC 7515, section 4.1.11); none is.
    crit: Option<serde::de::IgnoredAny>,
}

/// `aud` may be a list by the standard; Google writes one string, and nothing else is taken.
#[derive(Deserialize)]
struct Claims {
    aud: String,
    email: String,
    email_verified: bool,
    exp: i64,
    iat: i64,
    iss: String,
}

impl Pushed {
    pub(crate) const fn new(audience: String, email: String, key_id: Option<String>) -> Self {
        Self { audience, email, key_id }
    }

    pub(crate) fn verify<'a>(&self, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
        let malformed = Refusal::Malformed(Part::Credentials);
        let value = request.one("Authorization", Part::Credentials)?;
        let (scheme, token) = value.split_once(' ').ok_or(malformed)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(malformed);
        }
        let (content, signature) = token.rsplit_once('.').ok_or(malformed)?;
        let (head, claims) = content.split_once('.').ok_or(malformed)?;
        let decode = |text: &str| BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| malformed);
        let head = decode(head)?;
        let head: Header = object(&head).ok_or(malformed)?;
        if head.alg != "RS256" || head.crit.is_some() {
            return Err(Refusal::Algorithm);
        }
        let claims = decode(claims)?;
        let claims: Claims = object(&claims).ok_or(malformed)?;
        let signature = decode(signature)?;
        if now < 0 {
            return Err(Refusal::Clock);
        }
        if now.saturating_sub(LEEWAY) > claims.exp {
            return Err(Refusal::TooOld);
        }
        if claims.iat > now.saturating_add(LEEWAY) || claims.iat > claims.exp {
            return Err(Refusal::TooNew);
        }
        if secrets.keys.is_empty() {
            return Err(Refusal::KeysUnavailable);
        }
        let key = secrets.keys.named(&head.kid).ok_or(Refusal::UnknownKey)?;
        if key.algorithm != KeyAlgorithm::RsaPkcs1Sha256 {
            return Err(Refusal::Algorithm);
        }
        if !key.verify(content.as_bytes(), &signature) {
            return Err(Refusal::Signature);
        }
        let same = |left: &str, right: &str| mac::same(left.as_bytes(), right.as_bytes());
        let ours = same(&claims.aud, &self.audience)
            && same(&claims.email, &self.email)
            && claims.email_verified
            && ISSUERS.contains(&claims.iss.as_str());
        if !ours {
            return Err(Refusal::Recipient);
        }
        let replay = ReplayId::of_base([request.body]);
        Ok(Verified::new(request.body, replay, Some(claims.iat), Binds { body: false, time: true }))
    }
}
