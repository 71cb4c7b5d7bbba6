//! A delivery that was checked: a value that the verifiers alone can make.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// What the signature protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binds {
    /// The body is what the sender signed.
    pub body: bool,
    /// The moment of sending is signed and was inside the tolerance.
    pub time: bool,
}

impl Binds {
    /// Whether the content may be taken as data; else it is a hint to ask the provider.
    #[must_use]
    pub const fn trustworthy(self) -> bool {
        self.body && self.time
    }
}

/// The same for every copy of a delivery, however it is spelled or sent: a hash of the signed id, else of the canonical signed content.
/// The receiver puts its route in front.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReplayId([u8; 32]);

impl ReplayId {
    /// Of an id that is part of what is signed.
    pub(crate) fn of_id(id: &str) -> Self {
        Self::of("id", [id.as_bytes()])
    }

    /// Of the signed content.
    pub(crate) fn of_base<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        Self::of("base", parts)
    }

    fn of<'p>(kind: &str, parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut hash = Sha256::new();
        hash.update(kind.as_bytes());
        hash.update([0]);
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The bytes, for a store's key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ReplayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ReplayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplayId({self})")
    }
}

/// What a verified request is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It tells of something that happened.
    Event,
    /// The provider asks whether this route wants its deliveries (SNS `SubscriptionConfirmation`): the answer is a GET of `url`.
    Confirm {
        /// On the provider's own host, checked.
        url: String,
    },
}

/// A delivery whose signature, moment and recipient were checked. `Debug` leaves the body out.
#[derive(Clone)]
pub struct Verified<'a> {
    body: &'a [u8],
    replay: ReplayId,
    sent_at: Option<i64>,
    binds: Binds,
    purpose: Purpose,
}

impl fmt::Debug for Verified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Verified");
        shown.field("body", &self.body.len()).field("replay", &self.replay).field("sent_at", &self.sent_at);
        shown.field("binds", &self.binds).field("purpose", &self.purpose).finish()
    }
}

impl<'a> Verified<'a> {
    pub(crate) const fn new(body: &'a [u8], replay: ReplayId, sent_at: Option<i64>, binds: Binds) -> Self {
        Self { body, replay, sent_at, binds, purpose: Purpose::Event }
    }

    pub(crate) fn with_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// The bytes that were verified; parse these and no others.
    #[must_use]
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// What repeats of this delivery have in common.
    #[must_use]
    pub const fn replay_id(&self) -> ReplayId {
        self.replay
    }

    /// The signed moment of sending, in unix seconds.
    #[must_use]
    pub const fn sent_at(&self) -> Option<i64> {
        self.sent_at
    }

    /// What the signature protects.
    #[must_use]
    pub const fn binds(&self) -> Binds {
        self.binds
    }

    /// What it is for.
    #[must_use]
    pub const fn purpose(&self) -> &Purpose {
        &self.purpose
    }
}

/// A verified delivery as it is kept: parked until its job is known, or laid aside until somebody looks at it. Made from a [`Verified`]
/// alone, or read back from what it was written as.
#[derive(Clone, PartialEq, Eq)]
pub struct Kept {
    body: Vec<u8>,
    replay: ReplayId,
    sent_at: Option<i64>,
    binds: Binds,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.verified(), f)
    }
}

impl Verified<'_> {
    /// This delivery, to be read later.
    #[must_use]
    pub fn keep(&self) -> Kept {
        Kept { body: self.body.to_vec(), replay: self.replay, sent_at: self.sent_at, binds: self.binds }
    }
}

/// The first byte of a kept delivery: the form of the rest.
const FORM: u8 = 1;

impl Kept {
    /// The delivery that was kept.
    #[must_use]
    pub const fn verified(&self) -> Verified<'_> {
        Verified::new(self.body.as_slice(), self.replay, self.sent_at, self.binds)
    }

    /// For a store's own rows: a form, what is bound, the moment, the replay id, the body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let bound = u8::from(self.binds.body) | u8::from(self.binds.time) << 1 | u8::from(self.sent_at.is_some()) << 2;
        let moment = self.sent_at.unwrap_or_default().to_be_bytes();
        [&[FORM, bound][..], &moment, self.replay.as_bytes(), &self.body].concat()
    }

    /// Reads what [`Self::to_bytes`] wrote; nothing when it is something else. For a store's own rows, never for what came over a network.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&[FORM, bound], rest) = bytes.split_first_chunk()? else { return None };
        let (moment, rest) = rest.split_first_chunk()?;
        let (replay, body) = rest.split_first_chunk()?;
        let binds = Binds { body: bound & 1 != 0, time: bound & 2 != 0 };
        let sent_at = (bound & 4 != 0).then(|| i64::from_be_bytes(*moment));
        if bound > 7 || (sent_at.is_none() && *moment != [0; 8]) {
            return None;
        }
        Some(Self { body: body.to_vec(), replay: ReplayId(*replay), sent_at, binds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_delivery_is_read_as_it_was_written() {
        for (sent_at, binds) in [(None, Binds { body: false, time: false }), (Some(-5), Binds { body: true, time: true })] {
            let kept = Verified::new(b"{}", ReplayId::of_id("evt_1"), sent_at, binds).keep();
            assert_eq!(Kept::from_bytes(&kept.to_bytes()), Some(kept.clone()));
            assert_eq!(kept.verified().replay_id(), ReplayId::of_id("evt_1"));
        }
        assert_eq!(Kept::from_bytes(b""), None);
        assert_eq!(Kept::from_bytes(&[2; 60]), None);
        // A moment where none is said, and a bit that says nothing: found by the fuzzer.
        let none = [&[FORM, 0][..], &[0; 48]].concat();
        assert!(Kept::from_bytes(&none).is_some());
        for (at, byte) in [(2, 1), (9, 1), (1, 8), (1, 255)] {
            let mut other = none.clone();
            other[at] = byte;
            assert_eq!(Kept::from_bytes(&other), None, "byte {at}");
        }
    }
}
