//! Webhook signatures: verify, sign, answer handshakes; without IO, clock or globals.
#![doc = include_str!("../README.md")]

mod address;
mod basic;
mod catalog;
mod cloudevents;
mod components;
mod config;
mod custom;
mod handshake;
mod jwt;
mod keys;
mod mac;
mod messages;
mod presets;
mod refusal;
mod request;
mod scheme;
mod secret;
mod sign;
mod sns;
mod table;
mod token;
mod twilio;
mod verified;

pub use address::{AddressToken, AtAddress, CallbackKey};
pub use catalog::{Entry, catalog};
pub use config::{Problem, SchemeConfig, lint};
pub use handshake::{Answer, Received};
pub use keys::{CertificateUrl, Certificates, KeyAlgorithm, KeySet, KeySetProblem, MAX_CERTIFICATE, MAX_KEY_SET, MAX_KEYS};
pub use refusal::{Part, Refusal};
pub use request::{MAX_HEADER, MAX_ID, MAX_SIGNATURES, Request};
pub use scheme::{Keys, NAMES, Scheme};
pub use secret::{Credential, MAX_SECRETS, MIN_STANDARD, MIN_TEXT, Secret, SecretProblem, Secrets};
pub use sign::{Outgoing, SignProblem, Signed, sign};
pub use verified::{Binds, Kept, Purpose, ReplayId, Verified};

/// Verifies a delivery at `now`, in unix seconds. In this order: the method, one of each header that decides something, each in its one
/// spelling, the moment inside the tolerance, the signature over the raw bytes in constant time, the recipient.
///
/// # Errors
/// The first rule that the request breaks. Senders are told none of it.
pub fn verify<'a>(scheme: &Scheme, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
    if request.method != "POST" {
        return Err(Refusal::Method);
    }
    scheme.verify(secrets, request, now)
}

/// Takes whatever arrives at a route: a handshake is answered, all else is verified.
///
/// # Errors
/// As [`verify`]; or a handshake that asks for something that is not given.
pub fn receive<'a>(scheme: &Scheme, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Received<'a>, Refusal> {
    match handshake::answer(scheme, secrets, request, now) {
        Some(answer) => answer.map(Received::Answer),
        None => verify(scheme, secrets, request, now).map(Received::Delivery),
    }
}
