//! Schemes that are data: which header, which algorithm, which encoding, over which content. One engine verifies them all.

use std::borrow::Cow;

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};

use crate::keys::{KeyAlgorithm, verify_ed25519};
use crate::mac::{self, Algorithm};
use crate::refusal::{Part, Refusal};
use crate::request::{self, MAX_ID, MAX_SIGNATURES, Request, Window};
use crate::secret::{Key, KeyForm, Secrets};
use crate::verified::{Binds, ReplayId, Verified};

/// How many Ed25519 signatures of one request are looked at; each costs far more than a code of a hash.
const MAX_PUBLIC: usize = 4;

/// How a signature's bytes are written. One spelling each: no upper-case hexadecimal, no other alphabet, no padding left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Hex,
    Base64,
    Base64Url,
}

impl Encoding {
    pub(crate) fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => HEXLOWER.encode(bytes),
            Self::Base64 => BASE64.encode(bytes),
            Self::Base64Url => BASE64URL_NOPAD.encode(bytes),
        }
    }

    /// Exactly `size` bytes, or nothing.
    fn decode(self, text: &str, size: usize) -> Option<Vec<u8>> {
        if text.len() > 2 * size {
            return None;
        }
        let bytes = match self {
            Self::Hex => HEXLOWER.decode(text.as_bytes()),
            Self::Base64 => BASE64.decode(text.as_bytes()),
            Self::Base64Url => BASE64URL_NOPAD.decode(text.as_bytes()),
        };
        bytes.ok().filter(|bytes| bytes.len() == size)
    }
}

/// How the signature header is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The prefix, then the one signature.
    Whole(String),
    /// Entries of version, comma and signature, with one space between them (Standard Webhooks).
    Versions,
    /// `name=value` with commas between them (Stripe). Unknown names are skipped.
    Pairs { timestamp: Option<String> },
}

/// A version of signatures: its tag in the header, and what makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) tag: String,
    pub(crate) algorithm: Algorithm,
}

/// A piece of what is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Id,
    Timestamp,
    Body,
    /// SHA-256 of the body in lower-case hexadecimal.
    BodySha256,
    Field,
}

/// A signed header beside id and moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) header: String,
    pub(crate) use_of: FieldUse,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldUse {
    /// It has to be this value.
    MustBe(String),
    /// It names the key in the key set.
    KeyId,
}

/// Where the moment of sending is, and how it is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    /// A header of its own; without one it stands in the signature's list.
    pub(crate) header: Option<String>,
    pub(crate) millis: bool,
    pub(crate) window: Window,
}

/// A scheme as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) signature: String,
    pub(crate) form: Form,
    pub(crate) versions: Vec<Version>,
    pub(crate) encoding: Encoding,
    pub(crate) signed: Vec<Piece>,
    pub(crate) time: Option<Time>,
    pub(crate) id: Option<String>,
    pub(crate) field: Option<Field>,
    pub(crate) key: KeyForm,
}

/// What was read from the headers, each in its strict grammar.
pub(crate) struct Read<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) timestamp: Option<&'a str>,
    pub(crate) field: Option<&'a str>,
}

/// What the signature header says.
struct Offered<'h> {
    signatures: Vec<(Algorithm, Vec<u8>)>,
    moment: Option<&'h str>,
}

impl Table {
    pub(crate) fn binds(&self) -> Binds {
        let body = self.signed.iter().any(|piece| matches!(piece, Piece::Body | Piece::BodySha256));
        Binds { body, time: self.time.is_some() }
    }

    /// Whether characters could move from the body to its neighbour or back: they stand side by side, or an id is the neighbour and may
    /// have in it what stands between. Then the body has to begin and end as JSON does, which no digit and no id does.
    fn needs_json(&self) -> bool {
        let free = |piece: &Piece| !matches!(piece, Piece::Text(_) | Piece::BodySha256);
        let named = |piece: &Piece| matches!(piece, Piece::Id | Piece::Field);
        let open = |triple: &[Piece]| match triple {
            [left, Piece::Text(between), right] => {
                let beside = (named(left) && *right == Piece::Body) || (*left == Piece::Body && named(right));
                beside && request::id(between).is_ok()
            }
            _ => false,
        };
        self.signed.windows(2).any(|pair| free(&pair[0]) && free(&pair[1])) || self.signed.windows(3).any(open)
    }

    pub(crate) fn verify<'a>(&self, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
        let header = request.one(&self.signature, Part::Signature)?;
        let timestamp = match self.time.as_ref().map(|time| &time.header) {
            Some(Some(name)) => Some(request.one(name, Part::Timestamp)?),
            Some(None) | None => None,
        };
        let id = self.id.as_ref().map(|name| request.one(name, Part::Id)).transpose()?;
        let field = self.field.as_ref().map(|field| request.one(&field.header, Part::Field)).transpose()?;

        let Offered { signatures, moment } = self.offered(header)?;
        let id = id.map(request::id).transpose()?;
        if field.is_some_and(|value| value.len() > MAX_ID) {
            return Err(Refusal::TooLong(Part::Field));
        }
        if self.needs_json() && !(is_json(request.body)) {
            return Err(Refusal::Malformed(Part::Body));
        }
        let timestamp = timestamp.or(moment);
        let sent_at = self.sent_at(timestamp, now)?;

        let read = Read { id, timestamp, field };
        let base = self.base(&read, request.body)?;
        if !self.any_fits(secrets, &signatures, &base, field, now)? {
            return Err(Refusal::Signature);
        }
        if let (Some(Field { use_of: FieldUse::MustBe(wanted), .. }), Some(value)) = (&self.field, field)
            && !mac::same(wanted.as_bytes(), value.as_bytes())
        {
            return Err(Refusal::Recipient);
        }
        let signed_id = id.filter(|_| self.signed.contains(&Piece::Id));
        let replay = signed_id.map_or_else(|| ReplayId::of_base(base.iter().map(AsRef::as_ref)), ReplayId::of_id);
        Ok(Verified::new(request.body, replay, sent_at, self.binds()))
    }

    /// The moment in seconds, once it is inside the window.
    fn sent_at(&self, timestamp: Option<&str>, now: i64) -> Result<Option<i64>, Refusal> {
        let Some(time) = &self.time else { return Ok(None) };
        let count = request::decimal(timestamp.ok_or(Refusal::Missing(Part::Timestamp))?)?;
        let millis = i128::from(count) * if time.millis { 1 } else { 1000 };
        time.window.admits(millis, now)?;
        Ok(Some(if time.millis { count / 1000 } else { count }))
    }

    /// The signatures of known versions that can be decoded, and the moment where it stands in the same list.
    fn offered<'h>(&self, header: &'h str) -> Result<Offered<'h>, Refusal> {
        let wanted = |tag: &str| self.versions.iter().find(|version| version.tag == tag).map(|version| version.algorithm);
        let mut found = Vec::new();
        let mut known = 0;
        let mut moment = None;
        let mut public = 0;
        let mut take = |algorithm: Algorithm, text: &str| {
            known += 1;
            public += usize::from(algorithm == Algorithm::Ed25519);
            if algorithm == Algorithm::Ed25519 && public > MAX_PUBLIC {
                return;
            }
            found.extend(self.encoding.decode(text, algorithm.size()).map(|bytes| (algorithm, bytes)));
        };
        match &self.form {
            Form::Whole(prefix) => {
                let text = header.strip_prefix(prefix.as_str()).ok_or(Refusal::Malformed(Part::Signature))?;
                let algorithm = self.versions.first().ok_or(Refusal::NoVersion)?.algorithm;
                take(algorithm, text);
            }
            Form::Versions => {
                for entry in entries(header, ' ')? {
                    if let Some((tag, text)) = entry.split_once(',')
                        && let Some(algorithm) = wanted(tag)
                    {
                        take(algorithm, text);
                    }
                }
            }
            Form::Pairs { timestamp } => {
                for entry in entries(header, ',')? {
                    let (name, value) = entry.split_once('=').ok_or(Refusal::Malformed(Part::Signature))?;
                    if name.is_empty() {
                        return Err(Refusal::Malformed(Part::Signature));
                    }
                    if timestamp.as_deref() == Some(name) {
                        if moment.replace(value).is_some() {
                            return Err(Refusal::Repeated(Part::Timestamp));
                        }
                    } else if let Some(algorithm) = wanted(name) {
                        take(algorithm, value);
                    }
                }
            }
        }
        if known == 0 {
            Err(Refusal::NoVersion)
        } else if found.is_empty() {
            Err(Refusal::Malformed(Part::Signature))
        } else {
            Ok(Offered { signatures: found, moment })
        }
    }

    /// What is signed, in pieces.
    pub(crate) fn base<'b>(&'b self, read: &Read<'b>, body: &'b [u8]) -> Result<Vec<Cow<'b, [u8]>>, Refusal> {
        let text =
            |value: Option<&'b str>, part: Part| value.map(|it| Cow::Borrowed(it.as_bytes())).ok_or(Refusal::Missing(part));
        let pieces = self.signed.iter().map(|piece| match piece {
            Piece::Text(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Piece::Id => text(read.id, Part::Id),
            Piece::Timestamp => text(read.timestamp, Part::Timestamp),
            Piece::Field => text(read.field, Part::Field),
            Piece::Body => Ok(Cow::Borrowed(body)),
            Piece::BodySha256 => Ok(Cow::Owned(mac::sha256_hex(body).into_bytes())),
        });
        pieces.collect()
    }

    /// Whether any signature fits any valid key of its algorithm.
    fn any_fits(
        &self,
        secrets: &Secrets,
        signatures: &[(Algorithm, Vec<u8>)],
        base: &[Cow<'_, [u8]>],
        field: Option<&str>,
        now: i64,
    ) -> Result<bool, Refusal> {
        let mut fits = false;
        let mut tried = false;
        let mut whole: Option<Vec<u8>> = None;
        let mut ed25519 = |fits_key: &dyn Fn(&[u8], &[u8]) -> bool| {
            let mut any = false;
            for (algorithm, signature) in signatures {
                if *algorithm == Algorithm::Ed25519 {
                    any |= fits_key(whole.get_or_insert_with(|| base.concat()), signature);
                }
            }
            any
        };
        for key in secrets.valid(now) {
            tried = true;
            match key {
                Key::Mac(key) => {
                    for version in &self.versions {
                        let mut offered = signatures.iter().filter(|(it, _)| *it == version.algorithm).peekable();
                        if offered.peek().is_none() {
                            continue;
                        }
                        if let Some(right) = version.algorithm.mac(key, base) {
                            for (_, signature) in offered {
                                fits |= mac::same(&right, signature);
                            }
                        }
                    }
                }
                Key::Ed25519(key) => fits |= ed25519(&|message, signature| verify_ed25519(key, message, signature)),
                Key::Blind(_) | Key::Pair(..) => {}
            }
        }
        let by_name = matches!(&self.field, Some(Field { use_of: FieldUse::KeyId, .. }));
        let mut named = false;
        for key in secrets.keys.iter().filter(|key| key.algorithm == KeyAlgorithm::Ed25519) {
            tried = true;
            if !by_name || key.kid.as_deref() == field {
                named = true;
                fits |= ed25519(&|message, signature| key.verify(message, signature));
            }
        }
        if by_name && !named && !secrets.keys.is_empty() {
            return Err(Refusal::UnknownKey);
        }
        match (tried, &self.key) {
            (true, _) => Ok(fits),
            (false, KeyForm::KeySet | KeyForm::Public) => Err(Refusal::KeysUnavailable),
            (false, _) => Err(Refusal::NoSecret),
        }
    }
}

/// The entries of a list; too many are refused before any is looked at.
fn entries(text: &str, separator: char) -> Result<impl Iterator<Item = &str>, Refusal> {
    if text.matches(separator).count() >= MAX_SIGNATURES {
        return Err(Refusal::TooLong(Part::Signature));
    }
    Ok(text.split(separator))
}

/// Whether a body begins and ends as a JSON object or array does.
fn is_json(body: &[u8]) -> bool {
    matches!((body.first(), body.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}
