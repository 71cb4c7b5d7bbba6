//! Public keys: sets of them (JWKS, RFC 7517), certificates, and the asymmetric algorithms.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use ed25519_dalek::{Signature, VerifyingKey};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use x509_cert::Certificate;
use x509_cert::der::DecodePem as _;
use x509_cert::spki::SubjectPublicKeyInfoOwned;

use crate::refusal::Refusal;
use crate::secret;

/// The most bytes of a key set's text.
pub const MAX_KEY_SET: usize = 256 * 1024;
/// The most keys that are taken from a set.
pub const MAX_KEYS: usize = 16;
/// The most bytes of a certificate's PEM text.
pub const MAX_CERTIFICATE: usize = 32 * 1024;

/// Where a certificate is: an address that was checked to be the provider's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CertificateUrl(pub(crate) String);

impl CertificateUrl {
    /// The address; https, without user, port, query or fragment.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Gives certificates; the caller's cache. It follows no redirect and reads at most [`MAX_CERTIFICATE`] bytes. One that does not have a
/// certificate yet notes the address and gives nothing: its owner fetches it, at most once an interval, and verifies again.
pub trait Certificates: Send + Sync {
    /// The PEM text at `url`, or nothing when it cannot be had now.
    fn pem(&self, url: &CertificateUrl) -> Option<Vec<u8>>;
}

/// An asymmetric algorithm, bound to a key and never chosen by a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (`RS256`, `rsa-v1_5-sha256`).
    RsaPkcs1Sha256,
    /// RSASSA-PSS with SHA-512 (`PS512`, `rsa-pss-sha512`).
    RsaPssSha512,
    /// ECDSA on P-256 with SHA-256.
    EcdsaP256Sha256,
    /// ECDSA on P-384 with SHA-384.
    EcdsaP384Sha384,
    /// Ed25519, verified strictly.
    Ed25519,
}

impl KeyAlgorithm {
    /// The name in RFC 9421, section 6.2.2.
    pub(crate) const fn rfc9421(self) -> &'static str {
        match self {
            Self::RsaPkcs1Sha256 => "rsa-v1_5-sha256",
            Self::RsaPssSha512 => "rsa-pss-sha512",
            Self::EcdsaP256Sha256 => "ecdsa-p256-sha256",
            Self::EcdsaP384Sha384 => "ecdsa-p384-sha384",
            Self::Ed25519 => "ed25519",
        }
    }
}

#[derive(Clone)]
enum Material {
    /// Modulus and exponent, big-endian.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// `RSAPublicKey` in DER, or an uncompressed point.
    Raw(Vec<u8>),
    Ed25519(VerifyingKey),
}

/// A public key with its one algorithm.
#[derive(Clone)]
pub(crate) struct PublicKey {
    pub(crate) kid: Option<String>,
    pub(crate) algorithm: KeyAlgorithm,
    material: Material,
}

impl PublicKey {
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let raw = |parameters: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(parameters, key).verify(message, signature).is_ok()
        };
        let rsa = |parameters: &'static signature::RsaParameters| match &self.material {
            Material::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok(),
            Material::Raw(der) => raw(parameters, der),
            Material::Ed25519(_) => false,
        };
        match (self.algorithm, &self.material) {
            (KeyAlgorithm::RsaPkcs1Sha256, _) => rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            (KeyAlgorithm::RsaPssSha512, _) => rsa(&signature::RSA_PSS_2048_8192_SHA512),
            (KeyAlgorithm::EcdsaP256Sha256, Material::Raw(point)) => raw(&signature::ECDSA_P256_SHA256_FIXED, point),
            (KeyAlgorithm::EcdsaP384Sha384, Material::Raw(point)) => raw(&signature::ECDSA_P384_SHA384_FIXED, point),
            (KeyAlgorithm::Ed25519, Material::Ed25519(key)) => verify_ed25519(key, message, signature),
            (KeyAlgorithm::EcdsaP256Sha256 | KeyAlgorithm::EcdsaP384Sha384 | KeyAlgorithm::Ed25519, _) => false,
        }
    }
}

/// Strictly: canonical S, no small-order points.
pub(crate) fn verify_ed25519(key: &VerifyingKey, message: &[u8], signature: &[u8]) -> bool {
    Signature::from_slice(signature).is_ok_and(|signature| key.verify_strict(message, &signature).is_ok())
}

/// A provider's public keys.
#[derive(Clone, Default)]
pub struct KeySet(Vec<PublicKey>);

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|key| (key.kid.as_deref().unwrap_or("-"), key.algorithm));
        f.debug_map().entries(names).finish()
    }
}

/// Why a text is no key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetProblem {
    /// Longer than [`MAX_KEY_SET`].
    #[error("the key set is too big")]
    TooBig,
    /// Not `{"keys": [...]}`.
    #[error("it is no key set; one looks like {{\"keys\": [{{\"kty\": \"OKP\", ...}}]}}")]
    Malformed,
    /// No key of a kind that can be used.
    #[error("the key set has no usable key for signatures")]
    Empty,
    /// Not a public key in PEM of the kind that the algorithm needs.
    #[error("it is no public key of that kind; one starts with -----BEGIN PUBLIC KEY-----")]
    Pem,
}

#[derive(Deserialize)]
struct Jwks {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: Option<String>,
    alg: Option<String>,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a JWKS. Keys of other kinds or uses are left out; of two with one `kid` the first counts.
    ///
    /// # Errors
    /// Too big, not a key set, or without any usable key.
    pub fn from_jwks(text: &[u8]) -> Result<Self, KeySetProblem> {
        if text.len() > MAX_KEY_SET {
            return Err(KeySetProblem::TooBig);
        }
        let set: Jwks = serde_json::from_slice(text).map_err(|_| KeySetProblem::Malformed)?;
        let mut keys: Vec<PublicKey> = Vec::new();
        for jwk in set.keys.into_iter().filter_map(|value| serde_json::from_value::<Jwk>(value).ok()) {
            let Some(key) = from_jwk(&jwk) else { continue };
            let doubled = key.kid.is_some() && keys.iter().any(|it| it.kid == key.kid);
            if keys.len() < MAX_KEYS && !doubled {
                keys.push(key);
            }
        }
        if keys.is_empty() { Err(KeySetProblem::Empty) } else { Ok(Self(keys)) }
    }

    /// With a public key in PEM (`SubjectPublicKeyInfo`, RFC 5280) under the name `kid`, for RSA alone.
    ///
    /// # Errors
    /// Not such a key.
    pub fn with_rsa_pem(mut self, kid: &str, algorithm: KeyAlgorithm, pem: &[u8]) -> Result<Self, KeySetProblem> {
        let rsa = matches!(algorithm, KeyAlgorithm::RsaPkcs1Sha256 | KeyAlgorithm::RsaPssSha512);
        let info = SubjectPublicKeyInfoOwned::from_pem(pem).map_err(|_| KeySetProblem::Pem)?;
        let material = rsa.then(|| rsa_der(&info)).flatten().ok_or(KeySetProblem::Pem)?;
        self.0.push(PublicKey { kid: Some(kid.to_owned()), algorithm, material: Material::Raw(material) });
        Ok(self)
    }

    /// The key of that name.
    pub(crate) fn named(&self, kid: &str) -> Option<&PublicKey> {
        self.0.iter().find(|key| key.kid.as_deref() == Some(kid))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PublicKey> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn from_jwk(jwk: &Jwk) -> Option<PublicKey> {
    let field = |value: &Option<String>| BASE64URL_NOPAD.decode(value.as_ref()?.as_bytes()).ok();
    if jwk.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let alg = jwk.alg.as_deref();
    let (algorithm, material) = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("OKP", Some("Ed25519")) if matches!(alg, None | Some("EdDSA" | "Ed25519")) => {
            (KeyAlgorithm::Ed25519, Material::Ed25519(secret::ed25519(&field(&jwk.x)?)?))
        }
        ("RSA", None) => {
            let algorithm = match alg {
                None | Some("RS256") => KeyAlgorithm::RsaPkcs1Sha256,
                Some("PS512") => KeyAlgorithm::RsaPssSha512,
                Some(_) => return None,
            };
            (algorithm, Material::Rsa { n: field(&jwk.n)?, e: field(&jwk.e)? })
        }
        ("EC", Some(curve @ ("P-256" | "P-384"))) => {
            let (algorithm, size, name) = match curve {
                "P-256" => (KeyAlgorithm::EcdsaP256Sha256, 32, "ES256"),
                _ => (KeyAlgorithm::EcdsaP384Sha384, 48, "ES384"),
            };
            let (x, y) = (field(&jwk.x)?, field(&jwk.y)?);
            if x.len() != size || y.len() != size || alg.is_some_and(|alg| alg != name) {
                return None;
            }
            (algorithm, Material::Raw([&[4], x.as_slice(), y.as_slice()].concat()))
        }
        _ => return None,
    };
    Some(PublicKey { kid: jwk.kid.clone(), algorithm, material })
}

/// The `RSAPublicKey` inside a key with the plain RSA identifier (1.2.840.113549.1.1.1).
fn rsa_der(info: &SubjectPublicKeyInfoOwned) -> Option<Vec<u8>> {
    let plain = info.algorithm.oid.to_string() == "1.2.840.113549.1.1.1";
    let bits = info.subject_public_key.as_bytes()?;
    plain.then(|| bits.to_vec())
}

/// An RSA certificate that is valid at `now`; of a chain the first.
pub(crate) fn certificate_key(pem: &[u8], now: i64) -> Result<Vec<u8>, Refusal> {
    if pem.len() > MAX_CERTIFICATE {
        return Err(Refusal::Certificate);
    }
    let chain = Certificate::load_pem_chain(pem).map_err(|_| Refusal::Certificate)?;
    let body = chain.first().ok_or(Refusal::Certificate)?.tbs_certificate();
    let seconds = |time: x509_cert::time::Time| i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX);
    let validity = body.validity();
    if now < seconds(validity.not_before) || now > seconds(validity.not_after) {
        return Err(Refusal::Certificate);
    }
    let info = body.subject_public_key_info();
    rsa_der(info).ok_or(Refusal::Certificate)
}

/// PKCS#1 v1.5 with SHA-256, or with SHA-1 where a route allows it. The key is an `RSAPublicKey` of 2048 to 8192 bits.
pub(crate) fn verify_rsa(key: &[u8], sha1: bool, message: &[u8], signature: &[u8]) -> bool {
    let parameters =
        if sha1 { &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY } else { &signature::RSA_PKCS1_2048_8192_SHA256 };
    UnparsedPublicKey::new(parameters, key).verify(message, signature).is_ok()
}
