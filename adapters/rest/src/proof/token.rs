//! Where tokens come from: a token endpoint (RFC 6749, RFC 7523), a key of our own, or a sign-in.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode};
use jobgate_adapter_api::{AdapterError, ERROR_CHARS, ErrorKind, Operation, Retry, Secret, Timestamp, parse_retry_after};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::jwt::Minter;
use super::piece::{Piece, basic_pair, put};
use super::sign_in::SignIn;
use super::tokens::{Fresh, Trouble};
use crate::exchange::Exchange;
use crate::plan::ExchangePlan;
use crate::words::ClientSecret;

/// The grant of RFC 7523 section 2.1.
const JWT_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Gives tokens.
#[derive(Debug)]
pub(crate) enum Source {
    Client { endpoint: ExchangePlan, id: String, secret: Secret, send: ClientSecret },
    Jwt(Minter),
    Grant { minter: Minter, endpoint: ExchangePlan },
    SignIn(Box<SignIn>),
}

impl Source {
    pub(super) async fn obtain(&self, exchange: &Exchange, timeout: Duration) -> Result<Fresh, Trouble> {
        match self {
            Self::Client { endpoint, id, secret, send } => {
                let mut form = vec![("grant_type", "client_credentials")];
                let mut proof = None;
                match send {
                    ClientSecret::Body => form.extend([("client_id", id.as_str()), ("client_secret", secret.expose())]),
                    ClientSecret::Basic => {
                        let pair = client_pair(id, secret);
                        proof = Some(Piece::Header(AUTHORIZATION, Secret::new(format!("Basic {}", pair.expose()))));
                    }
                }
                exchange.ask_for_token(endpoint, &form, proof, timeout).await
            }
            Self::Jwt(minter) => {
                let (value, ends_at) = minted(exchange, minter)?;
                Ok(Fresh { value, ends_at: Some(ends_at) })
            }
            Self::Grant { minter, endpoint } => {
                let (assertion, _) = minted(exchange, minter)?;
                let form = [("grant_type", JWT_GRANT), ("assertion", assertion.expose())];
                exchange.ask_for_token(endpoint, &form, None, timeout).await
            }
            Self::SignIn(sign_in) => sign_in.obtain(exchange, timeout).await,
        }
    }
}

/// A JWT that shows nowhere from now on.
pub(super) fn minted(exchange: &Exchange, minter: &Minter) -> Result<(Secret, Timestamp), Trouble> {
    let minted = minter.mint(exchange.clock.now());
    let (value, ends_at) = minted.map_err(|message| Trouble::new(ErrorKind::Unauthorized, message))?;
    exchange.cleaner.learn(value.clone());
    Ok((value, ends_at))
}

/// Id and secret for HTTP Basic, each as a form writes it (RFC 6749 section 2.3.1).
pub(super) fn client_pair(id: &str, secret: &Secret) -> Secret {
    let id: String = byte_serialize(id.as_bytes()).collect();
    let secret = Secret::new(byte_serialize(secret.expose().as_bytes()).collect());
    basic_pair(&id, &secret)
}

impl Exchange {
    async fn ask_for_token(
        &self,
        endpoint: &ExchangePlan,
        form: &[(&str, &str)],
        proof: Option<Piece>,
        timeout: Duration,
    ) -> Result<Fresh, Trouble> {
        let body = Serializer::new(String::new()).extend_pairs(form).extend_pairs(&endpoint.params).finish();
        let mut request = post(&endpoint.url, body)?;
        put(proof.as_slice(), &mut request).map_err(|message| Trouble::new(ErrorKind::Unauthorized, message))?;
        let transport = if self.is_ours(&endpoint.url) { &self.transport } else { &self.elsewhere };
        let asked_at = self.clock.now();
        let answer =
            transport.send(Operation::Poll, request, timeout.min(self.plan.timeout)).await.map_err(|error| lost(&error))?;
        let said = serde_json::from_slice::<Value>(answer.body()).unwrap_or_default();
        if !answer.status().is_success() {
            let why = ["error", "error_description"].into_iter().filter_map(|name| said.get(name)?.as_str());
            let why = self.cleaner.sentence(&why.collect::<Vec<_>>().join(": "), ERROR_CHARS);
            return Err(refusal("the token endpoint", answer.status(), answer.headers(), why, asked_at));
        }
        let token = said.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            let message = "the answer of the token endpoint has no `access_token`";
            Trouble { status: Some(answer.status().as_u16()), ..Trouble::new(ErrorKind::Unavailable, message) }
        })?;
        let ends_at = said.get("expires_in").and_then(seconds).map(|life| asked_at.plus(life));
        Ok(Fresh { value: Secret::new(token.to_owned()), ends_at })
    }
}

fn post(url: &Url, body: String) -> Result<Request<Bytes>, Trouble> {
    Request::builder()
        .method(Method::POST)
        .uri(url.as_str())
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"))
        .body(body.into())
        .map_err(|_| Trouble::new(ErrorKind::Unauthorized, "the address of the token endpoint is not valid"))
}

/// A number of seconds, which some write as a text.
pub(super) fn seconds(value: &Value) -> Option<Duration> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Duration::try_from_secs_f64(number?).ok()
}

/// No answer to a request for a token. What the call itself wanted was never sent.
pub(super) fn lost(error: &AdapterError) -> Trouble {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    Trouble { cause, ..Trouble::new(ErrorKind::Unavailable, format!("no sign-in: {}", error.message())) }
}

/// What the refusal of a token means: too many asked for, the service in trouble, or credentials that are not accepted.
pub(super) fn refusal(who: &str, status: StatusCode, headers: &HeaderMap, why: Option<String>, now: Timestamp) -> Trouble {
    let (kind, message) = match status.as_u16() {
        429 => (ErrorKind::RateLimited, format!("{who} takes no more requests now")),
        408 | 500..=599 => (ErrorKind::Unavailable, format!("{who} answered with status {}", status.as_u16())),
        code => (ErrorKind::Unauthorized, format!("{who} does not accept the credentials (status {code})")),
    };
    let message = why.map_or(message.clone(), |why| format!("{message}: {why}"));
    let wait = parse_retry_after(headers, now).filter(|_| kind != ErrorKind::Unauthorized).map(Retry::After);
    Trouble { retry: wait, status: Some(status.as_u16()), ..Trouble::new(kind, message) }
}
