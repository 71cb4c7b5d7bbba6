//! Static tokens: random text that a caller shows, and the hash of it that may be kept.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jobgate_adapter_api::{Random, Secret};
use sha2::{Digest as _, Sha256};

/// What tokens begin with, so that people and scanners for leaked secrets know them.
pub const TOKEN_PREFIX: &str = "jg_";
/// What hashes begin with.
const SCHEME: &str = "sha256:";

/// A new token: 256 random bits, written as `jg_` and 43 characters of URL-safe base64.
#[must_use]
pub fn mint_token(random: &dyn Random) -> Secret {
    let mut bytes = [0; 32];
    random.fill(&mut bytes);
    Secret::new(format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// SHA-256 of a token.
///
/// A hash that is slow on purpose protects passwords, which can be guessed. A token of 256 random bits cannot: whoever has its hash is
/// no nearer to it, however fast the hash is. And since what is looked up is a hash, how long it takes says nothing about how much of
/// a token is right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of what a caller showed.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

/// `sha256:` and 64 lower-case hexadecimal digits, as a configuration has it.
impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is no hash of a token. The text may be the token itself, so it is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTokenHash {
    /// It looks like one of our tokens.
    #[error("is a token, and a token never belongs here: it is no secret any more")]
    Token,
    /// It begins rightly.
    #[error("is no SHA-256: `sha256:` is followed by 64 hexadecimal digits")]
    Digits,
    /// It is something else.
    #[error("is no hash of a token; the token itself never belongs here")]
    Other,
}

impl FromStr for TokenHash {
    type Err = InvalidTokenHash;

    fn from_str(text: &str) -> Result<Self, InvalidTokenHash> {
        let other = if text.starts_with(TOKEN_PREFIX) { InvalidTokenHash::Token } else { InvalidTokenHash::Other };
        let digits = text.strip_prefix(SCHEME).ok_or(other)?;
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(InvalidTokenHash::Digits);
        }
        let mut bytes = [0; 32];
        for (nth, byte) in bytes.iter_mut().enumerate() {
            let pair = digits.get(2 * nth..2 * nth + 2).ok_or(InvalidTokenHash::Digits)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| InvalidTokenHash::Digits)?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use jobgate_adapter_api::{FixedRandom, OsRandom};

    use super::*;

    #[test]
    fn a_token_is_random_url_safe_text_and_its_hash_is_known_again() {
        let (one, other) = (mint_token(&OsRandom), mint_token(&OsRandom));
        assert_ne!(one.expose(), other.expose());
        let text = one.expose();
        assert_eq!(text.len(), 46);
        let rest = text.strip_prefix(TOKEN_PREFIX).unwrap();
        assert!(rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')), "{text}");
        let hash = TokenHash::of(text);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(hash.to_string().to_uppercase().replace("SHA256", "sha256").parse(), Ok(hash));
        assert_ne!(TokenHash::of(other.expose()), hash);
        assert_eq!(format!("{:?}", mint_token(&FixedRandom::new(1))), "Secret(***)");
    }

    /// RFC 6234's first test vector.
    #[test]
    fn the_hash_is_sha_256() {
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(TokenHash::of("abc").to_string(), abc);
    }

    #[test]
    fn what_is_no_hash_is_refused_and_not_repeated() {
        for (text, why) in [
            ("jg_hunter2", InvalidTokenHash::Token),
            ("sha256:hunter2", InvalidTokenHash::Digits),
            (&format!("sha256:{}", "ü".repeat(32)), InvalidTokenHash::Digits),
            ("hunter2", InvalidTokenHash::Other),
        ] {
            let refused = text.parse::<TokenHash>().unwrap_err();
            assert_eq!(refused, why, "{text}");
            assert!(!refused.to_string().contains("hunter2"));
        }
    }
}
