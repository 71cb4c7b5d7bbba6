//! JWTs that are made here (RFC 7519), signed with `ring` in the compact form of RFC 7515 section 3.1.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jobgate_adapter_api::{Secret, Timestamp};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Map, Value, json};

use crate::words::Algorithm;

/// Clocks differ; what is valid from now on is not yet valid where the clock is behind.
const BACK: i64 = 60;

/// Makes JWTs with one key.
#[derive(Debug)]
pub(crate) struct Minter {
    key: Key,
    header: Value,
    claims: Map<String, Value>,
    lifetime: Duration,
}

enum Key {
    Rsa(Box<RsaKeyPair>),
    Ecdsa(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
    Hmac(ring::hmac::Key),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(***)")
    }
}

impl Minter {
    pub(super) fn new(
        key: &Secret,
        algorithm: Algorithm,
        key_id: Option<&str>,
        claims: &[(&'static str, String)],
        lifetime: Duration,
    ) -> Result<Self, String> {
        let name = match algorithm {
            Algorithm::RS256 => "RS256",
            Algorithm::ES256 => "ES256",
            Algorithm::EdDSA => "EdDSA",
            Algorithm::HS256 => "HS256",
        };
        let mut header = json!({ "alg": name, "typ": "JWT" });
        if let Some(key_id) = key_id {
            header["kid"] = json!(key_id);
        }
        let claims = claims.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        Ok(Self { key: read(key, algorithm)?, header, claims, lifetime })
    }

    /// A JWT that is valid from now on, and when it ends.
    pub(super) fn mint(&self, now: Timestamp) -> Result<(Secret, Timestamp), String> {
        let ends = now.plus(self.lifetime);
        let mut claims = self.claims.clone();
        let second = now.as_millis() / 1000;
        claims.insert("iat".to_owned(), json!(second - BACK));
        claims.insert("nbf".to_owned(), json!(second - BACK));
        claims.insert("exp".to_owned(), json!(ends.as_millis() / 1000));
        let part = |value: String| URL_SAFE_NO_PAD.encode(value);
        let signed = format!("{}.{}", part(self.header.to_string()), part(Value::Object(claims).to_string()));
        let signature = self.key.sign(signed.as_bytes()).ok_or("the JWT cannot be signed with this key")?;
        Ok((Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))), ends))
    }
}

impl Key {
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        // The nonce of a signature must never repeat, so it comes from the system and not from a sequence that a test repeats.
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).ok()?;
                Some(signature)
            }
            Self::Ecdsa(pair) => Some(pair.sign(&random, message).ok()?.as_ref().to_vec()),
            Self::Ed25519(pair) => Some(pair.sign(message).as_ref().to_vec()),
            Self::Hmac(key) => Some(ring::hmac::sign(key, message).as_ref().to_vec()),
        }
    }
}

/// Reads a key. The sentences hold nothing of it.
fn read(key: &Secret, algorithm: Algorithm) -> Result<Key, String> {
    if algorithm == Algorithm::HS256 {
        return Ok(Key::Hmac(ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.expose().as_bytes())));
    }
    // Google gives the key of a service account as a field of a JSON file.
    let inside = serde_json::from_str::<Value>(key.expose()).ok();
    let inside = inside.as_ref().and_then(|file| file.get("private_key")?.as_str()).map(|pem| Secret::new(pem.to_owned()));
    let pem = inside.as_ref().unwrap_or(key).expose();
    let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| "the key is no PEM with a private key".to_owned())?;
    let read = match (algorithm, &der) {
        (Algorithm::RS256, PrivateKeyDer::Pkcs8(der)) => {
            RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).ok().map(|pair| Key::Rsa(Box::new(pair)))
        }
        (Algorithm::RS256, PrivateKeyDer::Pkcs1(der)) => {
            RsaKeyPair::from_der(der.secret_pkcs1_der()).ok().map(|pair| Key::Rsa(Box::new(pair)))
        }
        (Algorithm::ES256, PrivateKeyDer::Pkcs8(der)) => {
            let random = SystemRandom::new();
            let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_pkcs8_der(), &random);
            pair.ok().map(|pair| Key::Ecdsa(Box::new(pair)))
        }
        (Algorithm::EdDSA, PrivateKeyDer::Pkcs8(der)) => {
            // OpenSSL writes the first version of PKCS #8, which has no public key in it.
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der());
            pair.ok().map(|pair| Key::Ed25519(Box::new(pair)))
        }
        _ => None,
    };
    read.ok_or_else(|| {
        let wanted = match algorithm {
            Algorithm::RS256 => "an RSA key of 2048 to 8192 bits",
            Algorithm::ES256 => "a P-256 key in PKCS #8 (`openssl pkcs8 -topk8 -nocrypt` makes it so)",
            Algorithm::EdDSA => "an Ed25519 key in PKCS #8",
            Algorithm::HS256 => "a text",
        };
        format!("the key is not {wanted}")
    })
}
