//! The sender's side, for tests and for trying a route: the headers, and where a scheme puts it there the address or the body.

use std::fmt;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ed25519_dalek::Signer as _;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;
use x509_cert::der::Document;

use crate::jwt::Pushed;
use crate::mac::{self, Algorithm};
use crate::messages::{self, Policy};
use crate::request::Request;
use crate::scheme::{Kind, Scheme};
use crate::secret::{KeyForm, Secret, SecretProblem, mac_key, signing_key};
use crate::sns::{Message, Topic};
use crate::table::{FieldUse, Form, Piece, Read, Table};
use crate::twilio;

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    /// The receiver's public address.
    pub url: &'a str,
    /// The delivery's id, where the scheme has one.
    pub id: &'a str,
    /// The body; for `aws_sns` the message inside of it.
    pub body: &'a [u8],
}

/// What to send. `Debug` shows the headers' names alone: a shared token is a value.
#[derive(Clone, PartialEq, Eq)]
pub struct Signed {
    /// Headers to add.
    pub headers: Vec<(String, String)>,
    /// The address; Twilio's carries the body's hash.
    pub url: String,
    /// The body; SNS's carries the signature.
    pub body: Vec<u8>,
}

impl fmt::Debug for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Signed").field("headers", &names).field("url", &self.url).field("body", &self.body.len()).finish()
    }
}

/// Why nothing was signed. Never contains the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignProblem {
    /// The secret is of no use for it.
    #[error("the secret cannot sign: {0}")]
    Secret(#[from] SecretProblem),
    /// Not an RSA key in PEM (PKCS#8).
    #[error("an RSA key is needed: PKCS#8 in PEM, starting with -----BEGIN PRIVATE KEY-----")]
    PrivateKey,
    /// Something that the scheme cannot carry.
    #[error("the scheme cannot carry this {0}")]
    Content(&'static str),
}

/// Signs as the provider would at `now`, in unix seconds. Public-key schemes take the private key: for Ed25519 the seed, for RSA PEM.
///
/// # Errors
/// A secret of another kind, or content that the scheme cannot carry.
pub fn sign(scheme: &Scheme, secret: &Secret, out: &Outgoing<'_>, now: i64) -> Result<Signed, SignProblem> {
    let plain = |headers: Vec<(String, String)>| Signed { headers, url: out.url.to_owned(), body: out.body.to_vec() };
    match &scheme.kind {
        Kind::Table(table) => Ok(plain(by_table(table, secret, out, now)?)),
        Kind::Twilio => by_twilio(secret, out),
        Kind::Sns(topic) => by_sns(topic, secret, out, now),
        Kind::PubSub(pushed) => Ok(plain(by_token(pushed, secret, now)?)),
        Kind::Messages(policy) => Ok(plain(by_message(policy, secret, out, now)?)),
        Kind::Basic => {
            let text = secret.text()?;
            text.split_once(':').ok_or(SecretProblem::UserPassword)?;
            Ok(plain(vec![authorization(&format!("Basic {}", BASE64.encode(text.as_bytes())))]))
        }
        Kind::Token(place) => Ok(plain(vec![(place.header.clone(), format!("{}{}", place.prefix, secret.text()?))])),
        Kind::CloudEvents(_) => Ok(plain(vec![authorization(&format!("Bearer {}", secret.text()?))])),
    }
}

fn authorization(value: &str) -> (String, String) {
    ("Authorization".to_owned(), value.to_owned())
}

fn by_table(table: &Table, secret: &Secret, out: &Outgoing<'_>, now: i64) -> Result<Vec<(String, String)>, SignProblem> {
    let millis = table.time.as_ref().is_some_and(|time| time.millis);
    let moment = now.checked_mul(if millis { 1000 } else { 1 }).ok_or(SignProblem::Content("moment"))?.to_string();
    let field = table.field.as_ref().map(|field| match &field.use_of {
        FieldUse::MustBe(value) => value.clone(),
        FieldUse::KeyId => "key-1".to_owned(),
    });
    let read = Read { id: Some(out.id), timestamp: Some(&moment), field: field.as_deref() };
    let base = table.base(&read, out.body).map_err(|_| SignProblem::Content("content"))?;
    let private = matches!(table.key, KeyForm::Public) || secret.bytes().starts_with(b"whsk_");
    let version = table
        .versions
        .iter()
        .find(|version| (version.algorithm == Algorithm::Ed25519) == private)
        .ok_or(SecretProblem::Encoding("of a kind that the scheme signs with"))?;
    let signature = if private {
        signing_key(secret)?.sign(&base.concat()).to_bytes().to_vec()
    } else {
        version.algorithm.mac(&mac_key(&table.key, secret)?, &base).ok_or(SignProblem::Content("key"))?
    };
    let text = table.encoding.encode(&signature);
    let mut headers = Vec::new();
    if let Some(name) = table.id.as_ref().filter(|_| table.signed.contains(&Piece::Id)) {
        headers.push((name.clone(), out.id.to_owned()));
    }
    if let (Some(named), Some(value)) = (&table.field, field) {
        headers.push((named.header.clone(), value));
    }
    if let Some(name) = table.time.as_ref().and_then(|time| time.header.as_ref()) {
        headers.push((name.clone(), moment.clone()));
    }
    let value = match &table.form {
        Form::Whole(prefix) => format!("{prefix}{text}"),
        Form::Versions => format!("{},{text}", version.tag),
        Form::Pairs { timestamp: Some(name) } => format!("{name}={moment},{}={text}", version.tag),
        Form::Pairs { timestamp: None } => format!("{}={text}", version.tag),
    };
    headers.push((table.signature.clone(), value));
    Ok(headers)
}

/// A body that looks like JSON travels with its hash in the address, anything else as a form.
fn by_twilio(secret: &Secret, out: &Outgoing<'_>) -> Result<Signed, SignProblem> {
    let mut url = out.url.to_owned();
    if matches!(out.body.first(), Some(b'{' | b'[')) {
        let sign = if url.contains('?') { '&' } else { '?' };
        url = format!("{url}{sign}{}={}", twilio::BODY_HASH, mac::sha256_hex(out.body));
    }
    let fields = twilio::signed_fields(&url, out.body).map_err(|_| SignProblem::Content("address or form"))?;
    let key = mac_key(&KeyForm::Text { prefix: None }, secret)?;
    let code = Algorithm::HmacSha1.mac(&key, &[url.as_bytes(), fields.as_bytes()]).ok_or(SignProblem::Content("key"))?;
    let headers = vec![(twilio::HEADER.to_owned(), BASE64.encode(&code))];
    Ok(Signed { headers, url, body: out.body.to_vec() })
}

fn rsa(secret: &Secret, message: &[u8]) -> Result<Vec<u8>, SignProblem> {
    let pem = std::str::from_utf8(secret.bytes()).map_err(|_| SignProblem::PrivateKey)?;
    let (_, der) = Document::from_pem(pem).map_err(|_| SignProblem::PrivateKey)?;
    let pair = RsaKeyPair::from_pkcs8(der.as_bytes()).map_err(|_| SignProblem::PrivateKey)?;
    let mut signature = vec![0; pair.public().modulus_len()];
    // PKCS#1 v1.5 is deterministic; the randomness blinds the computation alone.
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).map_err(|_| SignProblem::PrivateKey)?;
    Ok(signature)
}

fn by_sns(topic: &Topic, secret: &Secret, out: &Outgoing<'_>, now: i64) -> Result<Signed, SignProblem> {
    let text = std::str::from_utf8(out.body).map_err(|_| SignProblem::Content("body, which is not UTF-8"))?;
    let moment = jiff::Timestamp::from_second(now).map_err(|_| SignProblem::Content("moment"))?;
    let mut message = Message::new(topic, out.id, text.to_owned(), format!("{moment:.3}"));
    let signed = message.signed().map_err(|_| SignProblem::Content("message"))?;
    message.signature = BASE64.encode(&rsa(secret, signed.as_bytes())?);
    let body = serde_json::to_vec(&message).map_err(|_| SignProblem::Content("message"))?;
    let headers = vec![
        ("x-amz-sns-message-type".to_owned(), message.r#type),
        ("x-amz-sns-message-id".to_owned(), message.message_id),
        ("x-amz-sns-topic-arn".to_owned(), message.topic_arn),
    ];
    Ok(Signed { headers, url: out.url.to_owned(), body })
}

fn by_token(pushed: &Pushed, secret: &Secret, now: i64) -> Result<Vec<(String, String)>, SignProblem> {
    let head = json!({ "alg": "RS256", "kid": pushed.key_id.as_deref().unwrap_or("key-1"), "typ": "JWT" });
    let claims = json!({
        "aud": pushed.audience,
        "email": pushed.email,
        "email_verified": true,
        "exp": now.saturating_add(3600),
        "iat": now,
        "iss": "https://accounts.google.com",
    });
    let part = |value: &serde_json::Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let content = format!("{}.{}", part(&head), part(&claims));
    let signature = BASE64URL_NOPAD.encode(&rsa(secret, content.as_bytes())?);
    Ok(vec![authorization(&format!("Bearer {content}.{signature}"))])
}

/// With an Ed25519 seed after `ed25519:`, else with a symmetric key in base64.
fn by_message(policy: &Policy, secret: &Secret, out: &Outgoing<'_>, now: i64) -> Result<Vec<(String, String)>, SignProblem> {
    let request = Request { method: "POST", url: out.url, headers: &[], body: out.body };
    let signed = if let Some(seed) = secret.text()?.strip_prefix("ed25519:") {
        let key = signing_key(&Secret::new(seed))?;
        messages::sign(policy, &request, now, "ed25519", |base| key.sign(base).to_bytes().to_vec())
    } else {
        let key = mac_key(&KeyForm::KeySetOrMac, secret)?;
        let code = |base: &[u8]| Algorithm::HmacSha256.mac(&key, &[base]).unwrap_or_default();
        messages::sign(policy, &request, now, "hmac-sha256", code)
    };
    signed.ok_or(SignProblem::Content("set of components"))
}
