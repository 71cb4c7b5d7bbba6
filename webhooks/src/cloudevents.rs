//! `cloudevents`: a bearer token, and the handshake by which a sender asks whether it may deliver (HTTP 1.1 Web Hooks for CloudEvents).

use crate::handshake::Answer;
use crate::refusal::{Part, Refusal};
use crate::request::Request;
use crate::secret::Secrets;
use crate::token;
use crate::verified::Verified;

/// Who may deliver, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Consent {
    pub(crate) origins: Vec<String>,
    pub(crate) rate: Option<u32>,
}

impl Consent {
    pub(crate) fn verify<'a>(&self, secrets: &Secrets, request: &Request<'a>, now: i64) -> Result<Verified<'a>, Refusal> {
        let value = request.one("Authorization", Part::Credentials)?;
        let (scheme, token) = value.split_once(' ').ok_or(Refusal::Malformed(Part::Credentials))?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Refusal::Malformed(Part::Credentials));
        }
        token::check(secrets, token, now)?;
        Ok(token::hint(request))
    }

    /// Agrees to an origin that is configured. `WebHook-Request-Callback` is never followed: the sender chooses it.
    pub(crate) fn answer(&self, request: &Request<'_>) -> Result<Answer, Refusal> {
        let origin = request.one("WebHook-Request-Origin", Part::Field).map_err(|_| Refusal::Origin)?;
        if !self.origins.iter().any(|it| it == origin) {
            return Err(Refusal::Origin);
        }
        let mut headers = vec![("WebHook-Allowed-Origin", origin.to_owned()), ("Allow", "POST".to_owned())];
        if request.has("WebHook-Request-Rate") {
            let asked = request.one("WebHook-Request-Rate", Part::Field).map_err(|_| Refusal::Origin)?;
            let digits = asked.len() <= 9 && !asked.starts_with('0') && asked.bytes().all(|byte| byte.is_ascii_digit());
            let asked: u32 = asked.parse().ok().filter(|_| digits).ok_or(Refusal::Origin)?;
            headers.push(("WebHook-Allowed-Rate", self.rate.map_or(asked, |rate| rate.min(asked)).to_string()));
        } else if let Some(rate) = self.rate {
            headers.push(("WebHook-Allowed-Rate", rate.to_string()));
        }
        Ok(Answer { status: 200, headers, body: String::new() })
    }
}
