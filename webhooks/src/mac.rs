//! Symmetric algorithms over content in parts, and comparison in constant time.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// HMAC (RFC 2104) over the parts.
macro_rules! hmac_of {
    ($hash:ty, $key:expr, $parts:expr) => {{
        let mut mac = Hmac::<$hash>::new_from_slice($key).expect("HMAC takes keys of any length");
        for part in $parts {
            mac.update(part.as_ref());
        }
        mac.finalize().into_bytes().to_vec()
    }};
}

macro_rules! suffixed_of {
    ($hash:ty, $key:expr, $parts:expr) => {{
        let mut hash = <$hash>::new();
        for part in $parts {
            hash.update(part.as_ref());
        }
        hash.update($key);
        hash.finalize().to_vec()
    }};
}
/// How content becomes a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    HmacSha1,
    HmacSha256,
    HmacSha512,
    /// A plain hash of the content followed by the secret (Cloudinary).
    Sha1Suffix,
    Sha256Suffix,
    Ed25519,
}

impl Algorithm {
    /// The signature's length in bytes.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::HmacSha1 | Self::Sha1Suffix => 20,
            Self::HmacSha256 | Self::Sha256Suffix => 32,
            Self::HmacSha512 | Self::Ed25519 => 64,
        }
    }

    /// The code of `parts` under `key`; nothing for an algorithm with public keys.
    pub(crate) fn mac(self, key: &[u8], parts: &[impl AsRef<[u8]>]) -> Option<Vec<u8>> {
        match self {
            Self::HmacSha1 => Some(hmac_of!(Sha1, key, parts)),
            Self::HmacSha256 => Some(hmac_of!(Sha256, key, parts)),
            Self::HmacSha512 => Some(hmac_of!(Sha512, key, parts)),
            Self::Sha1Suffix => Some(suffixed_of!(Sha1, key, parts)),
            Self::Sha256Suffix => Some(suffixed_of!(Sha256, key, parts)),
            Self::Ed25519 => None,
        }
    }
}

/// Whether two codes are equal, in a time that depends on their lengths alone.
pub(crate) fn same(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

/// SHA-256 of a secret text, so that a comparison tells nothing of its length.
pub(crate) fn blind(text: &[u8]) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(Sha256::digest(text).into())
}

/// SHA-256 in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}
