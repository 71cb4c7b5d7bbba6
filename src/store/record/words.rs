//! The stored words of the domain's enumerations, and of its smallest values.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::{CancelProgress, Category, ErrorKind, InputAction, Status};

/// An enumeration of words: one stored word for each variant, both ways. A variant that the domain adds does not compile here
/// until it has a word.
macro_rules! words {
    ($(#[$doc:meta])* $stored:ident = $domain:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Serialize, Deserialize)]
        pub(super) enum $stored {
            $(#[serde(rename = $word)] $variant),+
        }

        impl From<$domain> for $stored {
            fn from(value: $domain) -> Self {
                match value { $($domain::$variant => Self::$variant),+ }
            }
        }

        impl From<$stored> for $domain {
            fn from(value: $stored) -> Self {
                match value { $($stored::$variant => Self::$variant),+ }
            }
        }
    };
}

words! {
    /// A status, in the audit trail.
    StatusV1 = Status { Working = "w", InputRequired = "i", Completed = "c", Failed = "f", Cancelled = "x" }
}
words! {
    /// How far a cancel got.
    CancelV1 = CancelProgress { Owed = "o", Taken = "t", TooLate = "l", Refused = "r", Unsupported = "u" }
}
words! {
    /// What a person chose.
    ActionV1 = InputAction { Accept = "a", Decline = "d", Cancel = "c" }
}
words! {
    /// What went wrong at the provider.
    KindV1 = ErrorKind {
        RateLimited = "rate", Unavailable = "down", Rejected = "rejected", NotFound = "unknown", Unauthorized = "auth",
        Protocol = "protocol", OutcomeUnknown = "unanswered", Unsupported = "unsupported",
    }
}

/// Why a task failed.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum CategoryV1 {
    #[serde(rename = "p")]
    Provider(KindV1),
    #[serde(rename = "deadline")]
    Deadline,
    #[serde(rename = "stuck")]
    Stuck,
    #[serde(rename = "gone")]
    Gone,
    #[serde(rename = "input")]
    InputTimeout,
    #[serde(rename = "outcome")]
    UnknownOutcome,
    #[serde(rename = "expired")]
    Expired,
    #[serde(rename = "config")]
    Configuration,
}

impl From<Category> for CategoryV1 {
    fn from(category: Category) -> Self {
        match category {
            Category::Provider(kind) => Self::Provider(kind.into()),
            Category::Deadline => Self::Deadline,
            Category::Stuck => Self::Stuck,
            Category::Gone => Self::Gone,
            Category::InputTimeout => Self::InputTimeout,
            Category::UnknownOutcome => Self::UnknownOutcome,
            Category::Expired => Self::Expired,
            Category::Configuration => Self::Configuration,
        }
    }
}

impl From<CategoryV1> for Category {
    fn from(category: CategoryV1) -> Self {
        match category {
            CategoryV1::Provider(kind) => Self::Provider(kind.into()),
            CategoryV1::Deadline => Self::Deadline,
            CategoryV1::Stuck => Self::Stuck,
            CategoryV1::Gone => Self::Gone,
            CategoryV1::InputTimeout => Self::InputTimeout,
            CategoryV1::UnknownOutcome => Self::UnknownOutcome,
            CategoryV1::Expired => Self::Expired,
            CategoryV1::Configuration => Self::Configuration,
        }
    }
}

/// 32 bytes as 64 hexadecimal digits.
pub(in crate::store) fn hex(bytes: &[u8; 32]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(64), |mut digits, byte| {
        // Writing to a string does not fail.
        write!(digits, "{byte:02x}").ok();
        digits
    })
}

/// The bytes of 64 hexadecimal digits.
pub(in crate::store) fn unhex(digits: &str) -> Option<[u8; 32]> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let pairs: &[[u8; 2]; 32] = pairs.try_into().ok()?;
    let nibble = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let mut bytes = [0; 32];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

/// For `#[serde(with)]`: 32 bytes as digits.
pub(in crate::store) mod hex32 {
    use super::{Deserialize, Deserializer, Serialize, Serializer, hex, unhex};

    pub(in crate::store) fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        hex(bytes).serialize(serializer)
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let digits = String::deserialize(deserializer)?;
        unhex(&digits).ok_or_else(|| serde::de::Error::custom("64 hexadecimal digits are wanted"))
    }
}

/// For `#[serde(deserialize_with)]`: a field that is there is `Some`, also when it is `null`.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// For `#[serde(skip_serializing_if)]`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(super) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// For `#[serde(skip_serializing_if)]`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(super) const fn is_false(flag: &bool) -> bool {
    !*flag
}
