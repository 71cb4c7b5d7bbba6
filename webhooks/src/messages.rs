//! `rfc9421`: HTTP Message Signatures. The route says what has to be covered and which key signs; the request only shows it.

use data_encoding::BASE64;
use sfv::{BareItem, Dictionary, FieldType as _, InnerList, Item, ListEntry, Parser};
use sha2::{Digest as _, Sha256, Sha512};

use crate::components::{Covered, value};
use crate::config::{Problem, SchemeConfig, short};
use crate::mac::{self, Algorithm};
use crate::refusal::{Part, Refusal};
use crate::request::{Request, Window};
use crate::secret::{Key, Secrets};
use crate::verified::{Binds, ReplayId, Verified};

/// The most components of one signature.
const MAX_COMPONENTS: usize = 32;
/// What has to be covered where nothing is said.
const USUAL: [&str; 3] = ["@method", "@target-uri", "content-digest"];

/// What a route demands of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) label: Option<String>,
    pub(crate) components: Vec<String>,
    pub(crate) key_id: Option<String>,
    pub(crate) window: Window,
}

/// The parameters of a signature (section 2.3).
#[derive(Default)]
struct Parameters<'p> {
    created: Option<i64>,
    expires: Option<i64>,
    key_id: Option<&'p str>,
    algorithm: Option<&'p str>,
}

impl Policy {
    pub(crate) fn new(config: &SchemeConfig, window: Option<Window>, problems: &mut Vec<Problem>) -> Self {
        let said = !config.components.is_empty();
        let components: Vec<String> =
            if said { config.components.clone() } else { USUAL.iter().map(|it| (*it).to_owned()).collect() };
        for component in &components {
            if Covered::parse(component).is_none() {
                let why = format!("`{}` is neither a header's name nor a known derived component", short(component));
                problems.push(Problem::new("components", why, "components: ['@method', '@target-uri', content-digest]"));
            }
        }
        let key = |label: &String| label.len() <= 100 && sfv::KeyRef::from_str(label).is_ok();
        if config.label.as_ref().is_some_and(|label| !key(label)) {
            let why = "a label is made of lower-case letters, digits, `_`, `-`, `.` and `*`, and begins with a letter";
            problems.push(Problem::new("label", why, "label: sig1"));
        }
        let string = |text: &String| text.len() <= 256 && sfv::StringRef::from_str(text).is_ok();
        if config.key_id.as_ref().is_some_and(|name| !string(name)) {
            problems.push(Problem::new("key_id", "the name of a key is short and printable ASCII", "key_id: my-key"));
        }
        let window = window.unwrap_or(Window::both(300));
        Self { label: config.label.clone(), components, key_id: config.key_id.clone(), window }
    }

    pub(crate) fn binds(&self) -> Binds {
        Binds { body: self.components.iter().any(|it| it == "content-digest"), time: true }
    }

    pub(crate) fn verify<'a>(&self, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
        let malformed = Refusal::Malformed(Part::Signature);
        let input = dictionary(request.one("Signature-Input", Part::Signature)?).ok_or(malformed)?;
        let signatures = dictionary(request.one("Signature", Part::Signature)?).ok_or(malformed)?;
        let label = match &self.label {
            Some(label) => label.as_str(),
            None if input.len() == 1 && signatures.len() == 1 => input.keys().next().map(|it| it.as_str()).ok_or(malformed)?,
            None => return Err(Refusal::Repeated(Part::Signature)),
        };
        let Some(ListEntry::InnerList(list)) = input.get(label) else { return Err(Refusal::Missing(Part::Signature)) };
        let Some(ListEntry::Item(Item { bare_item: BareItem::ByteSequence(signature), .. })) = signatures.get(label) else {
            return Err(Refusal::Missing(Part::Signature));
        };
        let covered = covered(list)?;
        let parameters = parameters(list)?;
        let created = parameters.created.ok_or(Refusal::Missing(Part::Timestamp))?;
        self.window.admits(i128::from(created) * 1000, now)?;
        if parameters.expires.is_some_and(|expires| expires < now) {
            return Err(Refusal::TooOld);
        }
        if !self.components.iter().all(|wanted| covered.iter().any(|it| it.name() == *wanted)) {
            return Err(Refusal::Coverage);
        }
        let base = base(&covered, list, request)?;
        self.fits(secrets, &parameters, base.as_bytes(), signature, now)?;
        let body = covered.iter().any(|it| it.name() == "content-digest");
        if body {
            check_digest(request)?;
        }
        let replay = ReplayId::of_base([base.as_bytes()]);
        Ok(Verified::new(request.body, replay, Some(created), Binds { body, time: true }))
    }

    fn fits(&self, secrets: &Secrets, said: &Parameters<'_>, base: &[u8], signature: &[u8], now: i64) -> Result<(), Refusal> {
        let agrees = |ours: &str| said.algorithm.is_none_or(|theirs| theirs == ours);
        if let Some(key) = said.key_id.and_then(|kid| secrets.keys.named(kid)) {
            if !agrees(key.algorithm.rfc9421()) {
                return Err(Refusal::Algorithm);
            }
            return if key.verify(base, signature) { Ok(()) } else { Err(Refusal::Signature) };
        }
        let mut symmetric =
            secrets.valid(now).filter_map(|key| if let Key::Mac(key) = key { Some(key) } else { None }).peekable();
        if symmetric.peek().is_none() {
            return Err(if secrets.keys.is_empty() { Refusal::KeysUnavailable } else { Refusal::UnknownKey });
        }
        if self.key_id.as_deref() != said.key_id {
            return Err(Refusal::UnknownKey);
        }
        if !agrees("hmac-sha256") {
            return Err(Refusal::Algorithm);
        }
        let mut fits = false;
        for key in symmetric {
            let right = Algorithm::HmacSha256.mac(key, &[base]).ok_or(Refusal::Algorithm)?;
            fits |= mac::same(&right, signature);
        }
        if fits { Ok(()) } else { Err(Refusal::Signature) }
    }
}

/// A dictionary in its one canonical spelling, so that a doubled label or another writing of a signature is refused.
fn dictionary(text: &str) -> Option<Dictionary> {
    let parsed: Dictionary = Parser::new(text).parse().ok()?;
    (parsed.serialize()? == text).then_some(parsed)
}

/// The covered components: each known, none twice.
fn covered(list: &InnerList) -> Result<Vec<Covered>, Refusal> {
    if list.items.len() > MAX_COMPONENTS {
        return Err(Refusal::TooLong(Part::Signature));
    }
    let mut found: Vec<Covered> = Vec::new();
    for item in &list.items {
        let covered = Covered::from_item(item).ok_or(Refusal::Malformed(Part::Signature))?;
        if found.contains(&covered) {
            return Err(Refusal::Repeated(Part::Signature));
        }
        found.push(covered);
    }
    if found.is_empty() { Err(Refusal::Coverage) } else { Ok(found) }
}

fn parameters(list: &InnerList) -> Result<Parameters<'_>, Refusal> {
    let mut found = Parameters::default();
    for (name, value) in &list.params {
        match (name.as_str(), value) {
            ("created", BareItem::Integer(it)) => found.created = Some((*it).into()),
            ("expires", BareItem::Integer(it)) => found.expires = Some((*it).into()),
            ("keyid", BareItem::String(it)) => found.key_id = Some(it.as_str()),
            ("alg", BareItem::String(it)) => found.algorithm = Some(it.as_str()),
            ("nonce" | "tag", BareItem::String(_)) => {}
            _ => return Err(Refusal::Malformed(Part::Signature)),
        }
    }
    Ok(found)
}

/// The signature base (section 2.5).
fn base(covered: &[Covered], list: &InnerList, request: &Request<'_>) -> Result<String, Refusal> {
    let mut base = String::new();
    for component in covered {
        base.push_str(&component.identifier());
        base.push_str(": ");
        base.push_str(&value(component, request)?);
        base.push('\n');
    }
    let parameters = vec![ListEntry::InnerList(list.clone())].serialize().ok_or(Refusal::Malformed(Part::Signature))?;
    Ok(base + "\"@signature-params\": " + &parameters)
}

/// Whether `Content-Digest` (RFC 9530) is the body's: every digest of a known algorithm has to fit, and there is at least one.
fn check_digest(request: &Request<'_>) -> Result<(), Refusal> {
    let text = request.one("Content-Digest", Part::Field)?;
    let digests: Dictionary = Parser::new(text).parse().map_err(|_| Refusal::Malformed(Part::Field))?;
    let mut known = false;
    for (name, entry) in &digests {
        let ListEntry::Item(Item { bare_item: BareItem::ByteSequence(digest), .. }) = entry else {
            return Err(Refusal::Malformed(Part::Field));
        };
        let right = match name.as_str() {
            "sha-256" => Sha256::digest(request.body).to_vec(),
            "sha-512" => Sha512::digest(request.body).to_vec(),
            _ => continue,
        };
        known = true;
        if !mac::same(&right, digest) {
            return Err(Refusal::Digest);
        }
    }
    if known { Ok(()) } else { Err(Refusal::Digest) }
}

/// What a sender adds: the digest, what is covered, and the signature that `make` gives of the base.
pub(crate) fn sign(
    policy: &Policy,
    request: &Request<'_>,
    now: i64,
    algorithm: &str,
    make: impl FnOnce(&[u8]) -> Vec<u8>,
) -> Option<Vec<(String, String)>> {
    let digest = format!("sha-256=:{}:", BASE64.encode(&Sha256::digest(request.body)));
    let components: Option<Vec<Covered>> = policy.components.iter().map(|it| Covered::parse(it)).collect();
    let components = components?;
    let names: Vec<String> = components.iter().map(Covered::identifier).collect();
    let mut inner = format!("({});created={now}", names.join(" "));
    if let Some(key) = &policy.key_id {
        inner.push_str(&format!(";keyid=\"{key}\""));
    }
    inner.push_str(&format!(";alg=\"{algorithm}\""));
    let label = policy.label.as_deref().unwrap_or("sig1");
    let input = format!("{label}={inner}");
    let parsed = dictionary(&input)?;
    let Some(ListEntry::InnerList(list)) = parsed.get(label) else { return None };
    let mut headers = request.headers.to_vec();
    headers.push(("Content-Digest", digest.as_bytes()));
    let base = base(&components, list, &Request { headers: &headers, ..*request }).ok()?;
    let signature = format!("{label}=:{}:", BASE64.encode(&make(base.as_bytes())));
    Some(vec![
        ("Content-Digest".to_owned(), digest.clone()),
        ("Signature-Input".to_owned(), input),
        ("Signature".to_owned(), signature),
    ])
}
