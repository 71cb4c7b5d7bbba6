//! A sign-in of the API's own, which gives a token or cookies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cookie::Cookie;
use http::HeaderMap;
use http::header::{AUTHORIZATION, SET_COOKIE};
use jobgate_adapter_api::{ERROR_CHARS, ErrorKind, Operation, Secret, Timestamp};
use serde_json::Value;

use super::jwt::Minter;
use super::piece::{Piece, put};
use super::token::{lost, minted, refusal, seconds};
use super::tokens::{Fresh, Trouble};
use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Text};
use crate::plan::{Gives, SignInPlan, TokenTexts};

/// A cookie's value is taken out of what the provider says when it is so long; shorter ones are words, and no secrets.
const SECRET_COOKIE: usize = 8;

/// Signs in.
#[derive(Debug)]
pub(crate) struct SignIn {
    pub(super) plan: Arc<SignInPlan>,
    pub(super) secrets: BTreeMap<String, Secret>,
    pub(super) auth: Option<SignInAuth>,
}

/// What the sign-in request proves who it is from with.
#[derive(Debug)]
pub(crate) enum SignInAuth {
    Fixed(Piece),
    Jwt(Box<Minter>),
}

impl SignIn {
    pub(super) async fn obtain(&self, exchange: &Exchange, timeout: Duration) -> Result<Fresh, Trouble> {
        let wrong = |message: String| Trouble::new(ErrorKind::Unauthorized, message);
        let mut context = Context::default();
        context.set("now", &exchange.clock.now().to_string());
        let secrets: BTreeMap<&str, &str> = self.secrets.iter().map(|(name, secret)| (name.as_str(), secret.expose())).collect();
        context.set("secret", &secrets);
        let mut request = exchange.build_sign_in(&self.plan.request, &context).map_err(wrong)?;
        let piece = match &self.auth {
            Some(SignInAuth::Fixed(piece)) => Some(piece.clone()),
            Some(SignInAuth::Jwt(minter)) => {
                let (jwt, _) = minted(exchange, minter)?;
                Some(Piece::Header(AUTHORIZATION, Secret::new(format!("Bearer {}", jwt.expose()))))
            }
            None => None,
        };
        put(piece.as_slice(), &mut request).map_err(wrong)?;
        let timeout = timeout.min(self.plan.request.timeout.unwrap_or(exchange.plan.timeout));
        let asked_at = exchange.clock.now();
        let answer = exchange.transport.send(Operation::Poll, request, timeout).await.map_err(|error| lost(&error))?;
        let answer = Answer::read(answer, self.plan.request.parse);
        let redirects = matches!(self.plan.gives, Gives::Cookies) && answer.status.is_redirection();
        if !answer.status.is_success() && !redirects {
            let mut context = Context::default();
            answer.describe(&mut context);
            let why = exchange.plan.error_message.as_ref().and_then(|text| exchange.sentence(text, &context, ERROR_CHARS));
            return Err(refusal("the sign-in", answer.status, &answer.headers, why, asked_at));
        }
        let mut fresh = match &self.plan.gives {
            Gives::Token(texts) => {
                let mut context = Context::default();
                answer.describe(&mut context);
                read(exchange, &context, texts, asked_at)?
            }
            Gives::Cookies => cookies(exchange, &answer.headers, asked_at)?,
        };
        if let Some(lifetime) = self.plan.lifetime {
            fresh.ends_at = Some(asked_at.plus(lifetime));
        }
        Ok(fresh)
    }
}

/// The token of an answer, and when it ends.
fn read(exchange: &Exchange, context: &Context, texts: &TokenTexts, now: Timestamp) -> Result<Fresh, Trouble> {
    let engine = &exchange.plan.engine;
    let odd = |what: &str| Trouble::new(ErrorKind::Unavailable, format!("the answer of the sign-in has no {what}"));
    let value = engine.string_if_any(&texts.token, context).ok().flatten().ok_or_else(|| odd("token where it should be"))?;
    let of = |text: &Text| engine.value(text, context).ok().flatten();
    let ends_at = match (&texts.expires_in, &texts.expires_at) {
        (Some(text), _) => {
            Some(now.plus(of(text).as_ref().and_then(seconds).ok_or_else(|| odd("number of seconds that the token is good"))?))
        }
        (None, Some(text)) => Some(of(text).as_ref().and_then(moment).ok_or_else(|| odd("moment at which the token ends"))?),
        (None, None) => None,
    };
    Ok(Fresh { value: Secret::new(value), ends_at })
}

/// ISO 8601, or seconds since 1970.
fn moment(value: &Value) -> Option<Timestamp> {
    let written = value.as_str().and_then(|text| text.parse().ok());
    written.or_else(|| seconds(value).map(|since| Timestamp::default().plus(since)))
}

/// Every cookie of an answer, as one header sends them back (RFC 6265 section 5.4).
fn cookies(exchange: &Exchange, headers: &HeaderMap, now: Timestamp) -> Result<Fresh, Trouble> {
    let mut jar: BTreeMap<String, String> = BTreeMap::new();
    let mut ends: Option<Timestamp> = None;
    for line in headers.get_all(SET_COOKIE) {
        let Some(cookie) = line.to_str().ok().and_then(|line| Cookie::parse(line.to_owned()).ok()) else { continue };
        let age = cookie.max_age().map(|age| Duration::try_from(age).unwrap_or_default());
        if age == Some(Duration::ZERO) || cookie.value().is_empty() {
            // This is how a cookie is taken back.
            jar.remove(cookie.name());
            continue;
        }
        if let Some(age) = age {
            let at = now.plus(age);
            ends = Some(ends.map_or(at, |known| known.min(at)));
        }
        if cookie.value().len() >= SECRET_COOKIE {
            exchange.cleaner.learn(Secret::new(cookie.value().to_owned()));
        }
        jar.insert(cookie.name().to_owned(), cookie.value().to_owned());
    }
    if jar.is_empty() {
        return Err(Trouble::new(ErrorKind::Unauthorized, "the sign-in gave no cookie"));
    }
    let pairs: Vec<String> = jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Ok(Fresh { value: Secret::new(pairs.join("; ")), ends_at: ends })
}
