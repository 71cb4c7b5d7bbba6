//! `static_token`, `gitlab_token`: a shared word in a header. It protects neither body nor time: a delivery is a hint.

use crate::mac;
use crate::refusal::{Part, Refusal};
use crate::request::Request;
use crate::secret::{Key, Secrets};
use crate::verified::{Binds, ReplayId, Verified};

/// Where the token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) header: String,
    pub(crate) prefix: String,
}

impl Place {
    pub(crate) fn verify<'a>(&self, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
        let value = request.one(&self.header, Part::Credentials)?;
        let token = value.strip_prefix(self.prefix.as_str()).ok_or(Refusal::Malformed(Part::Credentials))?;
        check(secrets, token, now)?;
        Ok(hint(request))
    }
}

/// Whether the token is one of the valid ones; hashes are compared, so that not even its length shows.
pub(crate) fn check(secrets: &Secrets, token: &str, now: i64) -> Result<(), Refusal> {
    let offered = mac::blind(token.as_bytes());
    let mut any = false;
    let mut fits = false;
    for key in secrets.valid(now) {
        if let Key::Blind(right) = key {
            any = true;
            fits |= mac::same(&right[..], &offered[..]);
        }
    }
    match (any, fits) {
        (false, _) => Err(Refusal::NoSecret),
        (true, false) => Err(Refusal::Credentials),
        (true, true) => Ok(()),
    }
}

/// A delivery of which nothing is signed; its repeats have the same body.
pub(crate) fn hint<'a>(request: &Request<'a>) -> Verified<'a> {
    Verified::new(request.body, ReplayId::of_base([request.body]), None, Binds { body: false, time: false })
}
