//! `basic`: HTTP Basic (RFC 7617). It protects neither body nor time: a delivery is a hint.

use data_encoding::BASE64;

use crate::mac;
use crate::refusal::{Part, Refusal};
use crate::request::Request;
use crate::secret::{Key, Secrets};
use crate::token::hint;
use crate::verified::Verified;

pub(crate) fn verify<'a>(secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
    let malformed = Refusal::Malformed(Part::Credentials);
    let value = request.one("Authorization", Part::Credentials)?;
    // The name of the scheme compares without case (RFC 9110, section 11.1).
    let (scheme, encoded) = value.split_once(' ').ok_or(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(malformed);
    }
    let decoded = BASE64.decode(encoded.as_bytes()).map_err(|_| malformed)?;
    let colon = decoded.iter().position(|byte| *byte == b':').ok_or(malformed)?;
    let (user, password) = decoded.split_at(colon);
    let offered = (mac::blind(user), mac::blind(password.get(1..).unwrap_or_default()));
    let mut any = false;
    let mut fits = false;
    for key in secrets.valid(now) {
        if let Key::Pair(user, password) = key {
            any = true;
            fits |= mac::same(&user[..], &offered.0[..]) & mac::same(&password[..], &offered.1[..]);
        }
    }
    match (any, fits) {
        (false, _) => Err(Refusal::NoSecret),
        (true, false) => Err(Refusal::Credentials),
        (true, true) => Ok(hint(request)),
    }
}
