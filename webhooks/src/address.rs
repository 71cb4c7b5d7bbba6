//! Addresses that nobody can guess: for providers that sign nothing, and for those that let the gateway choose where they deliver.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use crate::mac::{self, Algorithm};
use crate::refusal::Refusal;
use crate::request::Request;
use crate::secret::{MIN_TEXT, Secret, SecretProblem};
use crate::token;
use crate::verified::Verified;

/// Bytes of a subject.
const SUBJECT: usize = 16;
/// Bytes of a token before it is written as text: nonce, subject, tag.
const TOKEN: usize = NONCE_LEN + SUBJECT + 16;

/// Makes and opens the tokens of callback addresses, one for each subject, always the same one: a submit that is repeated names the same
/// address. The subject is encrypted, so the provider does not learn it.
pub struct CallbackKey {
    sealing: LessSafeKey,
    /// Derives the nonce from the subject (a synthetic one, as in RFC 5297), so that no counter has to survive a restart.
    nonce: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for CallbackKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallbackKey")
    }
}

/// The proof that a request came to an address that nobody could guess; made here alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtAddress {
    subject: Option<[u8; SUBJECT]>,
}

impl AtAddress {
    /// What the address was made for; `None` for an address of the whole route.
    #[must_use]
    pub const fn subject(&self) -> Option<[u8; SUBJECT]> {
        self.subject
    }

    /// Takes a delivery of a provider that signs nothing. It binds neither body nor moment; copies have the same body.
    ///
    /// # Errors
    /// [`Refusal::Method`] for anything but a POST.
    pub fn unsigned<'a>(&self, request: &Request<'a>) -> Result<Verified<'a>, Refusal> {
        if request.method == "POST" { Ok(token::hint(request)) } else { Err(Refusal::Method) }
    }
}

impl CallbackKey {
    /// From a seed that stays the same for as long as addresses have to work.
    #[must_use]
    pub fn new(seed: &[u8; 32]) -> Self {
        let derive = |label: &str| Algorithm::HmacSha256.mac(seed, &[label]).expect("HMAC-SHA256 is symmetric");
        let sealing = Zeroizing::new(derive("jobgate callback token 1"));
        let key = UnboundKey::new(&AES_256_GCM, &sealing).expect("a MAC of 32 bytes is a key of 32 bytes");
        Self { sealing: LessSafeKey::new(key), nonce: Zeroizing::new(derive("jobgate callback nonce 1")) }
    }

    /// The token of a subject: 59 characters of `A-Z`, `a-z`, `0-9`, `-` and `_`.
    #[must_use]
    pub fn token(&self, subject: [u8; SUBJECT]) -> String {
        let code = Algorithm::HmacSha256.mac(&self.nonce, &[subject]).expect("HMAC-SHA256 is symmetric");
        let nonce: [u8; NONCE_LEN] = *code.first_chunk().expect("a MAC of 32 bytes has 12");
        let mut sealed = subject.to_vec();
        self.sealing
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed)
            .expect("sixteen bytes are not too many");
        BASE64URL_NOPAD.encode(&[&nonce[..], &sealed].concat())
    }

    /// What a token was made for; nothing for one that was not made with this key.
    #[must_use]
    pub fn open(&self, token: &str) -> Option<AtAddress> {
        let bytes: [u8; TOKEN] = BASE64URL_NOPAD.decode(token.as_bytes()).ok()?.try_into().ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let mut sealed = sealed.to_vec();
        let opened = self.sealing.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::empty(), &mut sealed).ok()?;
        Some(AtAddress { subject: Some(opened.try_into().ok()?) })
    }
}

/// The unguessable last step of a whole route's address, as an operator chose it.
pub struct AddressToken(Zeroizing<[u8; 32]>);

impl fmt::Debug for AddressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressToken")
    }
}

impl AddressToken {
    /// Takes a token of at least 16 characters that fit an address: letters, digits, `-`, `_`, `.` and `~` (RFC 3986, section 2.3).
    ///
    /// # Errors
    /// When it is short, or has other characters.
    pub fn new(token: &Secret) -> Result<Self, SecretProblem> {
        let text = token.text()?;
        if text.len() < MIN_TEXT {
            return Err(SecretProblem::TooShort { found: text.len(), least: MIN_TEXT });
        }
        let fine = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
        if fine { Ok(Self(mac::blind(text.as_bytes()))) } else { Err(SecretProblem::Address) }
    }

    /// Whether an address ends with this token, in a time that does not depend on it.
    #[must_use]
    pub fn open(&self, token: &str) -> Option<AtAddress> {
        mac::same(&self.0[..], &mac::blind(token.as_bytes())[..]).then_some(AtAddress { subject: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J2: an address works after a restart, and opens to nothing when one character is another.
    #[test]
    fn a_callback_token_is_durable_and_cannot_be_changed() {
        let key = CallbackKey::new(&[7; 32]);
        let token = key.token([1; 16]);
        assert_eq!((token.len(), &token), (59, &CallbackKey::new(&[7; 32]).token([1; 16])));
        assert_eq!(key.open(&token).and_then(|at| at.subject()), Some([1; 16]));
        assert_ne!(token, key.token([2; 16]));
        assert_eq!(CallbackKey::new(&[8; 32]).open(&token), None);
        for place in 0..token.len() {
            let mut other = token.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.open(std::str::from_utf8(&other).unwrap()), None, "character {place}");
        }
        for odd in ["", "A", &format!("{token}A"), token.get(1..).unwrap(), "ä"] {
            assert_eq!(key.open(odd), None, "{odd}");
        }
        assert!(!format!("{key:?}").contains('7'));
    }

    #[test]
    fn a_routes_token_is_long_and_fits_an_address() {
        let token = AddressToken::new(&Secret::new("0123456789abcdef")).unwrap();
        assert!(token.open("0123456789abcdef").is_some() && token.open("0123456789abcdeg").is_none());
        for wrong in ["", "short", "0123456789abcde/", "0123456789abcde "] {
            assert!(AddressToken::new(&Secret::new(wrong)).is_err(), "{wrong}");
        }
    }
}
