//! `twilio`: HMAC-SHA1 over the public address, and over the sorted form fields or, through `bodySHA256` in the address, the body's hash.
//!
//! The address comes from the configuration. Twilio signs it with or without the port and, in old queries, with `'` escaped, so four
//! spellings of it are tried; the replay id is over one of them alone, whichever came.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use data_encoding::BASE64;
use url::{Url, form_urlencoded};

use crate::mac::{self, Algorithm};
use crate::refusal::{Part, Refusal};
use crate::request::Request;
use crate::secret::{Key, Secrets};
use crate::verified::{Binds, ReplayId, Verified};

/// The header with the signature.
pub(crate) const HEADER: &str = "X-Twilio-Signature";
/// The query's field with the hash of a body that is no form.
pub(crate) const BODY_HASH: &str = "bodySHA256";
/// The most bytes of an address.
const MAX_URL: usize = 16 * 1024;
/// The most fields of a form.
const MAX_FIELDS: usize = 1000;

pub(crate) fn verify<'a>(secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
    let text = request.one(HEADER, Part::Signature)?;
    let signature = BASE64.decode(text.as_bytes()).ok().filter(|bytes| bytes.len() == Algorithm::HmacSha1.size());
    let signature = signature.ok_or(Refusal::Malformed(Part::Signature))?;
    let fields = signed_fields(request.url, request.body)?;
    let spellings = spellings(request.url)?;
    let mut any = false;
    let mut fits = false;
    for key in secrets.valid(now) {
        if let Key::Mac(key) = key {
            any = true;
            for url in &spellings {
                let right = Algorithm::HmacSha1.mac(key, &[url.as_bytes(), fields.as_bytes()]).ok_or(Refusal::Algorithm)?;
                fits |= mac::same(&right, &signature);
            }
        }
    }
    match (any, fits) {
        (false, _) => return Err(Refusal::NoSecret),
        (true, false) => return Err(Refusal::Signature),
        (true, true) => {}
    }
    // Over one spelling, whichever it came and was signed in: else a copy with `'` for `%27` would be another delivery.
    let [bare, ..] = &spellings;
    let replay = ReplayId::of_base([bare.replace('\'', "%27").as_bytes(), fields.as_bytes()]);
    Ok(Verified::new(request.body, replay, None, Binds { body: true, time: false }))
}

/// What follows the address in the signed content: nothing when the address carries the body's hash, which is checked here, else every
/// field's name and value, sorted by name, repeated values once.
pub(crate) fn signed_fields(url: &str, body: &[u8]) -> Result<String, Refusal> {
    let parsed = parse(url)?;
    let mut hashes = parsed.query_pairs().filter(|(name, _)| name == BODY_HASH);
    if let Some((_, hash)) = hashes.next() {
        if hashes.next().is_some() {
            return Err(Refusal::Repeated(Part::Url));
        }
        let right = mac::sha256_hex(body);
        return if mac::same(right.as_bytes(), hash.as_bytes()) { Ok(String::new()) } else { Err(Refusal::Digest) };
    }
    if body.iter().filter(|byte| **byte == b'&').count() >= MAX_FIELDS {
        return Err(Refusal::TooLong(Part::Body));
    }
    if !canonical(body) {
        return Err(Refusal::Malformed(Part::Body));
    }
    let mut fields: BTreeMap<Cow<'_, str>, BTreeSet<Cow<'_, str>>> = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(body) {
        fields.entry(name).or_default().insert(value);
    }
    let mut signed = String::new();
    for (name, values) in fields {
        for value in values {
            signed.push_str(&name);
            signed.push_str(&value);
        }
    }
    Ok(signed)
}

/// Whether a form is spelled in the one way: ASCII, escapes complete and in capitals. Another spelling would have the same signature.
fn canonical(body: &[u8]) -> bool {
    let hex = |byte: Option<&u8>| byte.is_some_and(|it| it.is_ascii_digit() || (b'A'..=b'F').contains(it));
    let mut at = 0;
    while let Some(byte) = body.get(at) {
        if *byte == b'%' {
            if !hex(body.get(at + 1)) || !hex(body.get(at + 2)) {
                return false;
            }
            at += 3;
        } else if (0x21..0x7f).contains(byte) {
            at += 1;
        } else {
            return false;
        }
    }
    form_urlencoded::parse(body).all(|(name, value)| !name.contains('\u{fffd}') && !value.contains('\u{fffd}'))
}

fn parse(url: &str) -> Result<Url, Refusal> {
    if url.len() > MAX_URL {
        return Err(Refusal::TooLong(Part::Url));
    }
    Url::parse(url).ok().filter(|url| url.has_host()).ok_or(Refusal::Malformed(Part::Url))
}

/// The address without its port, with the usual one, as configured, and this also with `'` escaped in the query.
fn spellings(url: &str) -> Result<[String; 4], Refusal> {
    let parsed = parse(url)?;
    let malformed = Refusal::Malformed(Part::Url);
    let (scheme, rest) = url.split_once("://").ok_or(malformed)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let usual = if parsed.scheme() == "http" { 80 } else { 443 };
    let bare = match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => authority,
    };
    let escaped = match tail.split_once('?') {
        Some((path, query)) => format!("{scheme}://{authority}{path}?{}", query.replace('\'', "%27")),
        None => url.to_owned(),
    };
    Ok([format!("{scheme}://{bare}{tail}"), format!("{scheme}://{bare}:{usual}{tail}"), url.to_owned(), escaped])
}
