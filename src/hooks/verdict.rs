//! What became of a delivery: a word for the counters and an answer for the sender, which tells as little as it can.

use bytes::Bytes;
use jobgate_webhooks::{Answer, Refusal};

use super::answer::{HookAnswer, Unread};
use crate::engine::Ingested;

/// How long a sender is asked to wait before it tries again, in seconds.
const RETRY_AFTER: &str = "5";

/// What became of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The address names no route.
    NoRoute,
    /// The last step of the address is missing or wrong.
    Address,
    /// It does not verify.
    Refused(Refusal),
    /// A handshake; this is the answer.
    Handshake(Answer),
    /// The subscription that it asked about was confirmed.
    Confirmed,
    /// It could not be confirmed now.
    NotConfirmed,
    /// Verified, and of a charset that nobody here reads.
    Charset,
    /// Verified, and compressed or otherwise coded.
    Coding,
    /// Recorded, with whatever it caused.
    Taken(Ingested),
    /// Recorded, about a job of nobody's; the sender is told so because the operator wants it.
    UnknownJob,
    /// Verified, and of another content than the adapter reads.
    Unreadable,
    /// Nothing can be recorded now.
    Unavailable,
    /// As many deliveries as the route takes at once are being looked at.
    TooMany,
    /// It took too long.
    TooLate,
    /// A fault of ours.
    Panicked,
    /// It came no further.
    Unread(Unread),
}

impl Verdict {
    /// Its name in the counters; the set is small and fixed.
    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::NoRoute => "no_route",
            Self::Address => "address",
            Self::Refused(refusal) => refusal.label(),
            Self::Handshake(_) => "handshake",
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not_confirmed",
            Self::Charset => "charset",
            Self::Coding => "coding",
            Self::Taken(ingested) => ingested.label(),
            Self::UnknownJob => "unknown_refused",
            Self::Unreadable => "unreadable",
            Self::Unavailable => "unavailable",
            Self::TooMany => "too_many",
            Self::TooLate => "too_late",
            Self::Panicked => "panicked",
            Self::Unread(Unread::TooLarge) => "too_large",
            Self::Unread(Unread::TooSlow) => "too_slow",
            Self::Unread(Unread::CutOff) => "cut_off",
            Self::Unread(Unread::NoRoom) => "no_room",
            Self::Unread(Unread::Nobody) => "nobody",
        }
    }

    const fn status(&self) -> u16 {
        match self {
            Self::Handshake(answer) => answer.status,
            Self::Taken(_) | Self::Confirmed => 200,
            Self::Unreadable | Self::Unread(Unread::CutOff) => 400,
            Self::NoRoute | Self::Address => 401,
            Self::Refused(refusal) => refusal.status(),
            Self::UnknownJob => 404,
            Self::Unread(Unread::TooSlow) => 408,
            Self::Unread(Unread::TooLarge) => 413,
            Self::Charset | Self::Coding => 415,
            Self::Panicked => 500,
            // Each of these may succeed when it is tried again, and 4xx would tell some senders never to.
            Self::NotConfirmed
            | Self::Unavailable
            | Self::TooMany
            | Self::TooLate
            | Self::Unread(Unread::NoRoom | Unread::Nobody) => 503,
        }
    }

    /// What the sender gets.
    pub(super) fn answer(self) -> HookAnswer {
        if let Self::Handshake(Answer { status, headers, body }) = self {
            let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            return HookAnswer { status, headers, body: body.into() };
        }
        of_status(self.status())
    }
}

/// The one answer of a status, so that nothing but the status tells one refusal from another.
fn of_status(status: u16) -> HookAnswer {
    let text = match status {
        400 => "this delivery cannot be read\n",
        401 => "this delivery is not accepted\n",
        403 => "this handshake is not accepted\n",
        404 => "there is no such job\n",
        405 => "deliveries are sent with POST\n",
        408 => "this delivery did not arrive in time\n",
        413 => "this delivery is too large\n",
        415 => "deliveries are UTF-8, and not compressed\n",
        500 => "this delivery could not be looked at\n",
        503 => "deliveries cannot be taken now; send it again\n",
        _ => "",
    };
    let header = match status {
        // RFC 9110, section 15.5.2, asks for a challenge; no registered scheme says "as agreed with this route".
        401 => Some(("WWW-Authenticate", "Webhook")),
        405 => Some(("Allow", "POST")),
        // Seconds (RFC 9110, section 10.2.3).
        503 => Some(("Retry-After", RETRY_AFTER)),
        _ => None,
    };
    let kind = (!text.is_empty()).then_some(("Content-Type", "text/plain; charset=utf-8"));
    let headers = kind.into_iter().chain(header).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    HookAnswer { status, headers, body: Bytes::from_static(text.as_bytes()) }
}
