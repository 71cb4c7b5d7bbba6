//! Why a request was not taken as a delivery: for counters and debug logs, never for the sender.

use std::fmt;

/// The part of a request that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The signature, or the header that carries it.
    Signature,
    /// The moment of sending.
    Timestamp,
    /// The delivery's id.
    Id,
    /// Another header that is part of what is signed, such as a user or a key id.
    Field,
    /// `Authorization`, or the header with the shared token.
    Credentials,
    /// The body.
    Body,
    /// The address.
    Url,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Signature => "signature",
            Self::Timestamp => "timestamp",
            Self::Id => "id",
            Self::Field => "signed header",
            Self::Credentials => "credentials",
            Self::Body => "body",
            Self::Url => "address",
        }
    }
}

/// Why a request was refused. Senders get one answer for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The method is not the one of deliveries.
    Method,
    /// A header or field that the scheme demands is not there.
    Missing(Part),
    /// A header that decides something is there more than once.
    Repeated(Part),
    /// Longer than the cap.
    TooLong(Part),
    /// Not the one spelling that the scheme knows.
    Malformed(Part),
    /// No signature of a version that this route takes.
    NoVersion,
    /// Sent longer ago than the tolerance.
    TooOld,
    /// Sent further ahead of the receiver's clock than the tolerance.
    TooNew,
    /// The receiver's own clock stands before 1970.
    Clock,
    /// No secret is valid now.
    NoSecret,
    /// The signature does not fit.
    Signature,
    /// The shared token, or user and password, are wrong.
    Credentials,
    /// The algorithm is not the one of this route.
    Algorithm,
    /// The key that the request names is not in the key set; fetch it again, at most once an interval.
    UnknownKey,
    /// Keys or certificate cannot be had now: answer 503, so that the sender tries again.
    KeysUnavailable,
    /// The certificate's address is not one of the provider's.
    CertificateUrl,
    /// The certificate is unreadable, too big, expired or of another kind.
    Certificate,
    /// Validly signed for somebody else: another topic, user, audience or identity.
    Recipient,
    /// The signature does not cover what the route demands.
    Coverage,
    /// The digest that is signed is not the body's.
    Digest,
    /// Validly signed, but a withdrawal, or another kind that carries no event.
    Kind,
    /// A handshake that asks for what the route does not give.
    Handshake,
    /// A CloudEvents handshake for an origin that is not configured.
    Origin,
}

impl Refusal {
    /// A short name for a counter's label; the set is small and fixed.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Missing(_) => "missing",
            Self::Repeated(_) => "repeated",
            Self::TooLong(_) => "too_long",
            Self::Malformed(_) => "malformed",
            Self::NoVersion => "no_version",
            Self::TooOld => "too_old",
            Self::TooNew => "too_new",
            Self::Clock => "clock",
            Self::NoSecret => "no_secret",
            Self::Signature => "signature",
            Self::Credentials => "credentials",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::KeysUnavailable => "keys_unavailable",
            Self::CertificateUrl => "certificate_url",
            Self::Certificate => "certificate",
            Self::Recipient => "recipient",
            Self::Coverage => "coverage",
            Self::Digest => "digest",
            Self::Kind => "kind",
            Self::Handshake => "handshake",
            Self::Origin => "origin",
        }
    }

    /// The HTTP status of the answer: 401 for whatever does not verify, so that senders learn nothing from it.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::KeysUnavailable | Self::Clock => 503,
            Self::Handshake => 403,
            Self::Method | Self::Origin => 405,
            Self::Missing(_)
            | Self::Repeated(_)
            | Self::TooLong(_)
            | Self::Malformed(_)
            | Self::NoVersion
            | Self::TooOld
            | Self::TooNew
            | Self::NoSecret
            | Self::Signature
            | Self::Credentials
            | Self::Algorithm
            | Self::UnknownKey
            | Self::CertificateUrl
            | Self::Certificate
            | Self::Recipient
            | Self::Coverage
            | Self::Digest
            | Self::Kind => 401,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Missing(part) => return write!(f, "the {} is missing", part.name()),
            Self::Repeated(part) => return write!(f, "the {} is there more than once", part.name()),
            Self::TooLong(part) => return write!(f, "the {} is too long", part.name()),
            Self::Malformed(part) => return write!(f, "the {} is not written the way the scheme writes it", part.name()),
            Self::Method => "deliveries are sent with POST",
            Self::NoVersion => "there is no signature of a version that this scheme takes",
            Self::TooOld => "it was sent longer ago than the tolerance allows",
            Self::TooNew => "it claims to be sent further in the future than the tolerance allows",
            Self::Clock => "the receiver's clock stands before 1970",
            Self::NoSecret => "no secret is valid at this moment",
            Self::Signature => "the signature does not fit the content and any valid secret",
            Self::Credentials => "the token, or user and password, are not the configured ones",
            Self::Algorithm => "the algorithm is not the one of this scheme",
            Self::UnknownKey => "the key set has no such key",
            Self::KeysUnavailable => "keys or certificate cannot be had now",
            Self::CertificateUrl => "the certificate's address is not one of the provider's",
            Self::Certificate => "the certificate is unreadable, expired or of another kind",
            Self::Recipient => "it is validly signed for somebody else (topic, user, audience or identity)",
            Self::Coverage => "the signature does not cover what has to be covered",
            Self::Digest => "the signed digest is not the body's",
            Self::Kind => "it is validly signed, but carries no event",
            Self::Handshake => "the handshake asks for something that is not given",
            Self::Origin => "the handshake's origin is not configured",
        };
        f.write_str(text)
    }
}

impl std::error::Error for Refusal {}
