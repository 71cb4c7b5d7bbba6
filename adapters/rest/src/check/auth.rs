//! The words of `auth`.

use std::collections::BTreeMap;

use http::HeaderName;
use http::header::AUTHORIZATION;
use jobgate_adapter_api::{Place, SecretRef};
use url::Url;

use super::provider::header_name;
use super::{Checker, sign_in};
use crate::codes::Codes;
use crate::plan::{AuthPlan, ExchangePlan, FixedPlan, JwtPlan, SecretAt, SignaturePlan, SourcePlan, TlsPlan, TokenPlan};
use crate::words::{Auth, AwsSigv4, Basic, Jwt, Named, Oauth2, Tls};

/// Before a token or a password.
pub(super) const BEARER: &str = "Bearer ";
/// Parameters of a token request that are set by their own words.
const SET: [&str; 6] = ["assertion", "client_id", "client_secret", "grant_type", "scope", "client_assertion"];

/// Compiles `auth`.
pub(super) fn check(checker: &mut Checker<'_>, place: &Place, words: &Auth) -> Option<AuthPlan> {
    let one = |plan: FixedPlan| AuthPlan::Fixed(vec![plan]);
    match words {
        Auth::Bearer(reference) => Some(one(bearer(&place.key("bearer"), reference))),
        Auth::Basic(words) => basic(checker, &place.key("basic"), words).map(one),
        Auth::Header(words) => header(checker, &place.key("header"), words).map(one),
        Auth::Headers(values) => headers(checker, &place.key("headers"), values).map(AuthPlan::Fixed),
        Auth::Query(words) => {
            let (name, prefix, value) = named(checker, &place.key("query"), words, "parameter", "name: api_key")?;
            Some(one(FixedPlan::Query { name, prefix, value }))
        }
        Auth::Field(words) => {
            let (name, prefix, value) = named(checker, &place.key("field"), words, "field", "name: token")?;
            Some(one(FixedPlan::Field { name, prefix, value }))
        }
        Auth::Oauth2(words) => oauth2(checker, &place.key("oauth2"), words).map(AuthPlan::Token),
        Auth::Jwt(words) => granted(checker, &place.key("jwt"), words).map(AuthPlan::Token),
        Auth::Login(words) => sign_in::login(checker, &place.key("login"), words).map(AuthPlan::Token),
        Auth::Cookie(words) => sign_in::cookie(checker, &place.key("cookie"), words).map(AuthPlan::Token),
        Auth::AwsSigv4(words) => aws(checker, &place.key("aws_sigv4"), words).map(AuthPlan::Signature),
    }
}

/// A secret, named at `place`.
pub(super) fn at(place: Place, reference: &SecretRef) -> SecretAt {
    SecretAt { place, reference: reference.clone() }
}

pub(super) fn bearer(place: &Place, reference: &SecretRef) -> FixedPlan {
    FixedPlan::Header { name: AUTHORIZATION, prefix: BEARER.to_owned(), value: at(place.clone(), reference) }
}

pub(super) fn basic(checker: &mut Checker<'_>, place: &Place, words: &Basic) -> Option<FixedPlan> {
    let username = checker.constant(&place.key("username"), &words.username)?;
    if username.contains(':') {
        let message = "a user name of HTTP Basic holds no colon (RFC 7617 section 2)";
        checker.issues.add(place.key("username"), message);
        return None;
    }
    Some(FixedPlan::Basic { username, password: at(place.key("password"), &words.password) })
}

pub(super) fn header(checker: &mut Checker<'_>, place: &Place, words: &Named) -> Option<FixedPlan> {
    let name = header_name(checker, &place.key("name"), &words.name)?;
    Some(FixedPlan::Header { name, prefix: words.prefix.clone(), value: at(place.key("value"), &words.value) })
}

fn headers(checker: &mut Checker<'_>, place: &Place, values: &BTreeMap<String, SecretRef>) -> Option<Vec<FixedPlan>> {
    if values.is_empty() {
        checker.issues.add_with_hint(place.clone(), "no header is named", "X-Api-Key: env:API_KEY");
        return None;
    }
    let mut plans: Vec<(HeaderName, FixedPlan)> = Vec::new();
    for (name, reference) in values {
        let place = place.key(name);
        let name = header_name(checker, &place, name)?;
        if plans.iter().any(|(known, _)| *known == name) {
            checker.issues.add(place, format!("the header `{name}` is named twice: upper and lower case are the same"));
            return None;
        }
        let value = at(place, reference);
        plans.push((name.clone(), FixedPlan::Header { name, prefix: String::new(), value }));
    }
    Some(plans.into_iter().map(|(_, plan)| plan).collect())
}

fn named(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &Named,
    what: &str,
    example: &str,
) -> Option<(String, String, SecretAt)> {
    if words.name.is_empty() {
        checker.issues.add_with_hint(place.key("name"), format!("the {what}'s name is empty"), example);
        return None;
    }
    Some((words.name.clone(), words.prefix.clone(), at(place.key("value"), &words.value)))
}

fn oauth2(checker: &mut Checker<'_>, place: &Place, words: &Oauth2) -> Option<TokenPlan> {
    let url = token_url(checker, &place.key("token_url"), &words.token_url);
    let id = filled(checker, &place.key("client_id"), &words.client_id, "client_id: jobgate");
    let mut params = params(checker, &place.key("params"), &words.params);
    params.extend(scope(checker, &place.key("scopes"), &words.scopes).map(|scope| ("scope".to_owned(), scope)));
    let secret = at(place.key("client_secret"), &words.client_secret);
    Some(carried(SourcePlan::Client { url: url?, id: id?, secret, send: words.send, params }))
}

/// A token that `Authorization: Bearer` carries.
fn carried(source: SourcePlan) -> TokenPlan {
    TokenPlan { source, header: AUTHORIZATION, prefix: BEARER.to_owned(), expired: Codes::exactly([401]) }
}

fn granted(checker: &mut Checker<'_>, place: &Place, words: &Jwt) -> Option<TokenPlan> {
    let given = words.token_url.as_ref();
    let url = given.map(|source| token_url(checker, &place.key("token_url"), source));
    let mut params = params(checker, &place.key("params"), &words.params);
    let scope = scope(checker, &place.key("scopes"), &words.scopes);
    let jwt = jwt(checker, place, words, url.as_ref().and_then(Option::as_ref), scope.clone())?;
    let exchange = match url {
        Some(url) => {
            params.extend(scope.map(|scope| ("scope".to_owned(), scope)));
            Some(ExchangePlan { url: url?, params })
        }
        None if params.is_empty() => None,
        None => {
            checker.issues.add(place.key("params"), "parameters go to a `token_url`, and there is none");
            return None;
        }
    };
    Some(carried(SourcePlan::Jwt { jwt, exchange }))
}

/// A JWT that is itself what is sent.
pub(super) fn bare_jwt(checker: &mut Checker<'_>, place: &Place, words: &Jwt) -> Option<JwtPlan> {
    if words.token_url.is_some() {
        checker.issues.add(place.key("token_url"), "the sign-in request is what the JWT is exchanged by: leave this out");
        return None;
    }
    let scope = scope(checker, &place.key("scopes"), &words.scopes);
    jwt(checker, place, words, None, scope)
}

fn jwt(checker: &mut Checker<'_>, place: &Place, words: &Jwt, url: Option<&Url>, scope: Option<String>) -> Option<JwtPlan> {
    let lifetime = words.lifetime.get();
    if !(10..=86_400).contains(&lifetime.as_secs()) {
        let message = "a JWT is good for ten seconds to a day";
        checker.issues.add_with_hint(place.key("lifetime"), message, "lifetime: 5m");
    }
    let issuer = filled(checker, &place.key("issuer"), &words.issuer, "issuer: jobgate@example.com");
    let subject = words.subject.as_ref().and_then(|source| checker.constant(&place.key("subject"), source));
    let audience = match &words.audience {
        Some(source) => checker.constant(&place.key("audience"), source),
        None => url.map(Url::to_string),
    };
    let key_id = words.key_id.as_ref().and_then(|source| checker.constant(&place.key("key_id"), source));
    let claims = [("iss", Some(issuer?)), ("sub", subject), ("aud", audience), ("scope", scope)];
    let claims = claims.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let key = at(place.key("key"), &words.key);
    Some(JwtPlan { key, algorithm: words.algorithm, key_id, lifetime, claims })
}

fn token_url(checker: &mut Checker<'_>, place: &Place, source: &str) -> Option<Url> {
    let text = checker.constant(place, source)?;
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.username().is_empty());
    if url.is_none() {
        // The text may hold a password, so it is not repeated.
        let message = "this is no http(s) address without credentials in it";
        checker.issues.add_with_hint(place.clone(), message, "https://login.example.com/oauth/token");
    }
    url
}

/// A text that knows `settings` and is not empty.
pub(super) fn filled(checker: &mut Checker<'_>, place: &Place, source: &str, example: &str) -> Option<String> {
    let text = checker.constant(place, source)?;
    if text.is_empty() {
        checker.issues.add_with_hint(place.clone(), "this is empty", example);
        return None;
    }
    Some(text)
}

fn params(checker: &mut Checker<'_>, place: &Place, words: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut params = Vec::new();
    for (name, source) in words {
        let place = place.key(name);
        if SET.contains(&name.as_str()) {
            checker.issues.add(place, format!("`{name}` is set by the other words of this kind"));
            continue;
        }
        params.extend(checker.constant(&place, source).map(|value| (name.clone(), value)));
    }
    params
}

/// What a token is for, as one parameter: names with a space between them (RFC 6749 section 3.3).
fn scope(checker: &mut Checker<'_>, place: &Place, words: &[String]) -> Option<String> {
    let scopes: Vec<String> =
        words.iter().enumerate().filter_map(|(nth, source)| checker.constant(&place.index(nth), source)).collect();
    (!scopes.is_empty()).then(|| scopes.join(" "))
}

fn aws(checker: &mut Checker<'_>, place: &Place, words: &AwsSigv4) -> Option<SignaturePlan> {
    let service = filled(checker, &place.key("service"), &words.service, "service: states");
    let region = filled(checker, &place.key("region"), &words.region, "region: eu-west-1");
    Some(SignaturePlan {
        service: service?,
        region: region?,
        access_key_id: at(place.key("access_key_id"), &words.access_key_id),
        secret_access_key: at(place.key("secret_access_key"), &words.secret_access_key),
        session_token: words.session_token.as_ref().map(|reference| at(place.key("session_token"), reference)),
    })
}

/// Compiles `tls`.
pub(super) fn tls(checker: &mut Checker<'_>, place: &Place, words: &Tls) -> TlsPlan {
    let secret = |name: &str, reference: &Option<SecretRef>| reference.as_ref().map(|reference| at(place.key(name), reference));
    let pair = (secret("client_certificate", &words.client_certificate), secret("client_key", &words.client_key));
    let identity = match pair {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => {
            if words.ca.is_none() {
                checker.issues.add_with_hint(place.clone(), "nothing is named here", "ca: file:/etc/jobgate/ca.pem");
            }
            None
        }
        (Some(_), None) => {
            let message = "a client's certificate needs its private key";
            checker.issues.add_with_hint(place.clone(), message, "client_key: file:/run/secrets/client-key.pem");
            None
        }
        (None, Some(_)) => {
            let message = "a client's private key needs its certificate";
            checker.issues.add_with_hint(place.clone(), message, "client_certificate: file:/etc/jobgate/client.pem");
            None
        }
    };
    TlsPlan { ca: secret("ca", &words.ca), identity }
}
