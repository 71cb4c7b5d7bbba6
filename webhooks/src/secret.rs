//! Secrets: decoded and judged when they are loaded, never when a request comes, and never printed.

use std::fmt;
use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use crate::keys::{Certificates, KeySet};
use crate::mac;
use crate::request::printable;
use crate::scheme::Scheme;

/// How many secrets a route may hold at once.
pub const MAX_SECRETS: usize = 8;
/// The fewest bytes of a secret text.
pub const MIN_TEXT: usize = 16;
/// The fewest bytes of a Standard Webhooks key after decoding (specification, "Signature scheme").
pub const MIN_STANDARD: usize = 24;

/// A secret as the provider shows it. `Debug` is redacted; there is no `Display`.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: impl Into<Vec<u8>>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    pub(crate) fn text(&self) -> Result<&str, SecretProblem> {
        let text = std::str::from_utf8(&self.0).map_err(|_| SecretProblem::NotText)?;
        if text.is_empty() {
            return Err(SecretProblem::Empty);
        }
        if text.trim() != text { Err(SecretProblem::Whitespace) } else { Ok(text) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// A secret and when it is valid: two overlapping ones make a rotation.
#[derive(Clone, Debug)]
pub struct Credential {
    secret: Secret,
    from: i64,
    until: i64,
}

impl Credential {
    /// Valid always.
    #[must_use]
    pub const fn new(secret: Secret) -> Self {
        Self { secret, from: i64::MIN, until: i64::MAX }
    }

    /// Valid from `from` until `until`, both included, in unix seconds.
    #[must_use]
    pub const fn between(secret: Secret, from: i64, until: i64) -> Self {
        Self { secret, from, until }
    }
}

/// What is wrong with a secret. Never contains it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretProblem {
    /// No secret for a scheme that needs one.
    #[error("the scheme needs a secret, for example `secret: env:WEBHOOK_SECRET`")]
    None,
    /// A secret for a scheme that has none, or one that is of no use to it.
    #[error("the scheme takes no secret; it verifies with public keys")]
    Unused,
    /// Too many at once.
    #[error("at most 8 secrets at once; two are enough for a rotation")]
    TooMany,
    /// Nothing in it: anyone could sign with an empty key.
    #[error("it is empty, so anybody could sign; copy the whole secret from the provider")]
    Empty,
    /// Space or a line break around it.
    #[error("it has a space or a line break around it; write the file without one (`printf %s ... > FILE`)")]
    Whitespace,
    /// Not UTF-8.
    #[error("it is not text")]
    NotText,
    /// Has characters that do not fit into an address.
    #[error(
        "it becomes part of an address, so it has letters, digits, `-`, `_`, `.` and `~` alone, for example from `openssl rand -hex 32`"
    )]
    Address,
    /// Too short to be unguessable.
    #[error(
        "it has {found} bytes and needs at least {least}; let the provider make one, for example with `openssl rand -hex 32`"
    )]
    TooShort {
        /// Its length.
        found: usize,
        /// The least.
        least: usize,
    },
    /// Of a length that the provider never makes.
    #[error("it decodes to {found} bytes where the provider's have {wanted}")]
    Length {
        /// Its length.
        found: usize,
        /// The provider's.
        wanted: usize,
    },
    /// It starts otherwise than the provider's secrets do.
    #[error("the provider's secrets start with `{0}`; copy the whole of it, prefix included")]
    Prefix(&'static str),
    /// It is not of the encoding that the scheme has.
    #[error("it is not {0}; a secret of another scheme may look alike")]
    Encoding(&'static str),
    /// A public key that no signature should be checked with.
    #[error("it is not a usable Ed25519 public key")]
    PublicKey,
    /// Basic credentials without a colon.
    #[error("it is `user:password`, and the user name has no colon")]
    UserPassword,
    /// The scheme has no token of its own to greet with.
    #[error("the scheme has no verify token")]
    NoVerifyToken,
}

/// The form of a scheme's secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// The text's bytes are the key.
    Text { prefix: Option<&'static str> },
    /// `whsec_` and base64 of the key, or `whpk_` and base64 of an Ed25519 public key.
    Standard { exact: Option<usize> },
    /// The key in base64 or hexadecimal, after an optional prefix that is cut off.
    Encoded { prefix: String, hex: bool },
    /// An Ed25519 public key in hexadecimal or base64.
    Public,
    /// `user:password`.
    UserPassword,
    /// A token, compared as a whole.
    Token,
    /// No secret: a key set or a certificate.
    KeySet,
    /// A key set, or one symmetric key in base64 for HMAC.
    KeySetOrMac,
}

/// A decoded key.
#[derive(Clone)]
pub(crate) enum Key {
    Mac(Zeroizing<Vec<u8>>),
    Ed25519(VerifyingKey),
    /// SHA-256 of a token.
    Blind(Zeroizing<[u8; 32]>),
    /// SHA-256 of user and of password.
    Pair(Zeroizing<[u8; 32]>, Zeroizing<[u8; 32]>),
}

#[derive(Clone)]
struct Held {
    key: Key,
    from: i64,
    until: i64,
}

/// The secrets of one route, ready for use.
#[derive(Clone)]
pub struct Secrets {
    held: Vec<Held>,
    pub(crate) keys: KeySet,
    pub(crate) certificates: Option<Arc<dyn Certificates>>,
    pub(crate) verify_token: Option<Zeroizing<[u8; 32]>>,
}

impl Secrets {
    /// Decodes `credentials` the way `scheme` wants them.
    ///
    /// # Errors
    /// Empty, too short, of another encoding, missing or not wanted.
    pub fn new(scheme: &Scheme, credentials: impl IntoIterator<Item = Credential>) -> Result<Self, SecretProblem> {
        Self::decode(scheme, credentials, true)
    }

    /// As [`Secrets::new`], with secrets of any length but empty: providers' published examples are short. Not for routes.
    ///
    /// # Errors
    /// As [`Secrets::new`], but never [`SecretProblem::TooShort`] or [`SecretProblem::Prefix`].
    pub fn of_any_length(scheme: &Scheme, credentials: impl IntoIterator<Item = Credential>) -> Result<Self, SecretProblem> {
        Self::decode(scheme, credentials, false)
    }

    fn decode(scheme: &Scheme, credentials: impl IntoIterator<Item = Credential>, strict: bool) -> Result<Self, SecretProblem> {
        let form = scheme.key_form();
        let mut held = Vec::new();
        for credential in credentials {
            if held.len() == MAX_SECRETS {
                return Err(SecretProblem::TooMany);
            }
            let key = form.decode(&credential.secret, strict)?;
            held.push(Held { key, from: credential.from, until: credential.until });
        }
        let optional = matches!(form, KeyForm::KeySet | KeyForm::KeySetOrMac | KeyForm::Public);
        if held.is_empty() && !optional {
            return Err(SecretProblem::None);
        }
        Ok(Self { held, keys: KeySet::default(), certificates: None, verify_token: None })
    }

    /// With the provider's public keys.
    #[must_use]
    pub fn with_key_set(self, keys: KeySet) -> Self {
        Self { keys, ..self }
    }

    /// With a place to get certificates from.
    #[must_use]
    pub fn with_certificates(self, certificates: Arc<dyn Certificates>) -> Self {
        Self { certificates: Some(certificates), ..self }
    }

    /// With the token of Meta's handshake.
    ///
    /// # Errors
    /// An empty token, or one with space around it.
    pub fn with_verify_token(self, token: &Secret) -> Result<Self, SecretProblem> {
        let verify_token = Some(mac::blind(token.text()?.as_bytes()));
        Ok(Self { verify_token, ..self })
    }

    /// The keys that are valid at `now`.
    pub(crate) fn valid(&self, now: i64) -> impl Iterator<Item = &Key> {
        self.held.iter().filter(move |it| it.from <= now && now <= it.until).map(|it| &it.key)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("held", &self.held.len()).field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl KeyForm {
    fn decode(&self, secret: &Secret, strict: bool) -> Result<Key, SecretProblem> {
        let least = |bytes: &[u8], least: usize| {
            let found = bytes.len();
            let least = if strict { least } else { 1 };
            if found == 0 {
                Err(SecretProblem::Empty)
            } else if found < least {
                Err(SecretProblem::TooShort { found, least })
            } else {
                Ok(())
            }
        };
        let mac = |bytes: Vec<u8>| Key::Mac(Zeroizing::new(bytes));
        let text = secret.text()?;
        match self {
            Self::Text { prefix } => {
                let rest = match prefix {
                    Some(prefix) => match text.strip_prefix(prefix) {
                        Some(rest) => rest,
                        None if strict => return Err(SecretProblem::Prefix(prefix)),
                        None => text,
                    },
                    None => text,
                };
                least(rest.as_bytes(), MIN_TEXT)?;
                Ok(mac(text.as_bytes().to_vec()))
            }
            Self::Standard { exact } => {
                if let Some(public) = text.strip_prefix("whpk_") {
                    return public_key(&base64(public)?);
                }
                let key = base64(text.strip_prefix("whsec_").ok_or(SecretProblem::Prefix("whsec_"))?)?;
                least(&key, MIN_STANDARD)?;
                match exact {
                    Some(wanted) if key.len() != *wanted => Err(SecretProblem::Length { found: key.len(), wanted: *wanted }),
                    Some(_) | None => Ok(mac(key)),
                }
            }
            Self::Encoded { prefix, hex } => {
                let rest = text.strip_prefix(prefix.as_str()).ok_or(SecretProblem::Encoding("of the configured prefix"))?;
                let key = if *hex { hexadecimal(rest)? } else { base64(rest)? };
                least(&key, MIN_TEXT)?;
                Ok(mac(key))
            }
            Self::Public => {
                let bytes = hexadecimal(text).or_else(|_| base64(text.strip_prefix("whpk_").unwrap_or(text)))?;
                public_key(&bytes)
            }
            Self::UserPassword => {
                let (user, password) = text.split_once(':').ok_or(SecretProblem::UserPassword)?;
                least(password.as_bytes(), MIN_TEXT)?;
                Ok(Key::Pair(mac::blind(user.as_bytes()), mac::blind(password.as_bytes())))
            }
            Self::Token => {
                least(text.as_bytes(), MIN_TEXT)?;
                if printable(text.as_bytes()).is_none() {
                    return Err(SecretProblem::Encoding("printable ASCII, which is all that a header carries"));
                }
                Ok(Key::Blind(mac::blind(text.as_bytes())))
            }
            Self::KeySet => Err(SecretProblem::Unused),
            Self::KeySetOrMac => {
                let key = base64(text)?;
                least(&key, MIN_TEXT)?;
                Ok(mac(key))
            }
        }
    }
}

fn base64(text: &str) -> Result<Vec<u8>, SecretProblem> {
    BASE64.decode(text.as_bytes()).map_err(|_| SecretProblem::Encoding("base64"))
}

fn hexadecimal(text: &str) -> Result<Vec<u8>, SecretProblem> {
    HEXLOWER.decode(text.as_bytes()).map_err(|_| SecretProblem::Encoding("lower-case hexadecimal"))
}

/// A public key of 32 bytes that is no small-order point.
fn public_key(bytes: &[u8]) -> Result<Key, SecretProblem> {
    ed25519(bytes).map(Key::Ed25519).ok_or(SecretProblem::PublicKey)
}

pub(crate) fn ed25519(bytes: &[u8]) -> Option<VerifyingKey> {
    let bytes: &[u8; 32] = bytes.try_into().ok()?;
    VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak())
}

/// A private key for signing: `whsk_` and base64 of seed and public key, or the seed in hexadecimal or base64.
pub(crate) fn signing_key(secret: &Secret) -> Result<SigningKey, SecretProblem> {
    let text = secret.text()?;
    let bytes = hexadecimal(text).or_else(|_| base64(text.strip_prefix("whsk_").unwrap_or(text)))?;
    let bytes = Zeroizing::new(bytes);
    if let Ok(seed) = <&[u8; 32]>::try_from(bytes.as_slice()) {
        return Ok(SigningKey::from_bytes(seed));
    }
    let pair = <&[u8; 64]>::try_from(bytes.as_slice()).map_err(|_| SecretProblem::Length { found: bytes.len(), wanted: 32 })?;
    SigningKey::from_keypair_bytes(pair).map_err(|_| SecretProblem::Encoding("an Ed25519 key pair"))
}

/// The key that signs, decoded as the scheme decodes it.
pub(crate) fn mac_key(form: &KeyForm, secret: &Secret) -> Result<Zeroizing<Vec<u8>>, SecretProblem> {
    match form.decode(secret, false)? {
        Key::Mac(key) => Ok(key),
        Key::Ed25519(_) | Key::Blind(_) | Key::Pair(..) => Err(SecretProblem::Encoding("a symmetric key")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J1: what a log could see of a secret is nothing.
    #[test]
    fn secrets_are_never_printed() {
        let scheme = Scheme::named("github").unwrap();
        let secret = Secret::new("hunter2-hunter2-hunter2");
        let credential = Credential::new(secret.clone());
        let secrets = Secrets::new(&scheme, [credential.clone()]).unwrap();
        let printed = format!("{secret:?} {credential:?} {secrets:?}");
        assert!(!printed.contains("hunter2"), "{printed}");
    }

    /// J1: tokens travel as values of headers.
    #[test]
    fn requests_are_printed_without_values() {
        let scheme = Scheme::named("gitlab_token").unwrap();
        let secret = Secret::new("hunter2-hunter2-hunter2");
        let url = "https://gateway.example/?access_token=hunter2";
        let out = crate::Outgoing { url: "https://gateway.example/", id: "1", body: b"hunter2" };
        let signed = crate::sign(&scheme, &secret, &out, 0).unwrap();
        let headers: Vec<(&str, &[u8])> = signed.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let request = crate::Request { method: "POST", url, headers: &headers, body: &signed.body };
        let secrets = Secrets::new(&scheme, [Credential::new(secret)]).unwrap();
        let verified = crate::verify(&scheme, &secrets, &request, 0).unwrap();
        let printed = format!("{signed:?} {request:?} {verified:?}");
        assert!(printed.contains("X-Gitlab-Token") && !printed.contains("hunter2"), "{printed}");
    }
}
