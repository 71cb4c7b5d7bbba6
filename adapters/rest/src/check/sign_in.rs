//! The words of `auth.login` and `auth.cookie`: a request that gives what the others are sent with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::header::COOKIE;
use jobgate_adapter_api::{HumanDuration, Place, SecretRef};

use super::auth::{at, bare_jwt, basic, bearer, header};
use super::provider::header_name;
use super::{Checker, request};
use crate::codes::Codes;
use crate::language::Scope;
use crate::plan::{Gives, RequestPlan, SecretAt, SignInAuthPlan, SignInPlan, SourcePlan, TokenPlan, TokenTexts};
use crate::words::{Cookie, Follow, Login, LoginAuth, Request};

pub(super) fn login(checker: &mut Checker<'_>, place: &Place, words: &Login) -> Option<TokenPlan> {
    let secrets = secrets(checker, &place.key("secrets"), &words.secrets);
    let scope = Scope::sign_in(words.secrets.keys().cloned().collect());
    let request = sign_in_request(checker, &place.key("request"), &words.request, &scope);
    let auth = words.auth.as_ref().map(|words| own_auth(checker, &place.key("auth"), words));
    let answered = Scope::sign_in(BTreeSet::new()).with_answer();
    let token = checker.text(&place.key("token"), &words.token, &answered);
    if token.as_ref().is_some_and(|token| !token.uses("body") && !token.uses("headers") && !token.uses("text")) {
        let message = "this does not say where in the answer the token is";
        checker.issues.add_with_hint(place.key("token"), message, "token: \"{{ body.token }}\"");
    }
    let ends = [
        ("lifetime", words.lifetime.is_some()),
        ("expires_in", words.expires_in.is_some()),
        ("expires_at", words.expires_at.is_some()),
    ];
    let mut given = ends.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        checker.issues.add(place.key(second), format!("`{first}` says already when the token ends"));
    }
    let expires_in = checker.optional_text(&place.key("expires_in"), words.expires_in.as_deref(), &answered);
    let expires_at = checker.optional_text(&place.key("expires_at"), words.expires_at.as_deref(), &answered);
    let name = header_name(checker, &place.key("header"), &words.header);
    expired(checker, &place.key("expired"), &words.expired);
    let gives = Gives::Token(Box::new(TokenTexts { token: token?, expires_in, expires_at }));
    let lifetime = words.lifetime.map(HumanDuration::get);
    let auth = super::tool::transpose(auth)?;
    let plan = SignInPlan { request: request?, secrets, auth, gives, lifetime };
    let source = SourcePlan::SignIn(Arc::new(plan));
    Some(TokenPlan { source, header: name?, prefix: words.prefix.clone(), expired: words.expired.clone() })
}

pub(super) fn cookie(checker: &mut Checker<'_>, place: &Place, words: &Cookie) -> Option<TokenPlan> {
    let secrets = secrets(checker, &place.key("secrets"), &words.secrets);
    let scope = Scope::sign_in(words.secrets.keys().cloned().collect());
    let request = sign_in_request(checker, &place.key("request"), &words.request, &scope);
    let auth = words.auth.as_ref().map(|words| own_auth(checker, &place.key("auth"), words));
    expired(checker, &place.key("expired"), &words.expired);
    let lifetime = words.lifetime.map(HumanDuration::get);
    let auth = super::tool::transpose(auth)?;
    let plan = SignInPlan { request: request?, secrets, auth, gives: Gives::Cookies, lifetime };
    let source = SourcePlan::SignIn(Arc::new(plan));
    Some(TokenPlan { source, header: COOKIE, prefix: String::new(), expired: words.expired.clone() })
}

fn sign_in_request(checker: &mut Checker<'_>, place: &Place, words: &Request, scope: &Scope) -> Option<RequestPlan> {
    if !matches!(words.follow, Follow::Anywhere(false)) {
        checker.issues.add_with_hint(place.key("follow"), "a sign-in follows no redirect", "leave it out");
    }
    request::check(checker, place, words, scope)
}

fn secrets(checker: &mut Checker<'_>, place: &Place, words: &BTreeMap<String, SecretRef>) -> Vec<(String, SecretAt)> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for name in words.keys() {
        if !name.chars().all(word) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let message = format!("`{}` is no name for a secret: it has letters, digits and `_`", name.escape_debug());
            checker.issues.add_with_hint(place.key(name), message, "password: env:API_PASSWORD");
        }
    }
    words.iter().map(|(name, reference)| (name.clone(), at(place.key(name), reference))).collect()
}

fn own_auth(checker: &mut Checker<'_>, place: &Place, words: &LoginAuth) -> Option<SignInAuthPlan> {
    match words {
        LoginAuth::Bearer(reference) => Some(SignInAuthPlan::Fixed(bearer(&place.key("bearer"), reference))),
        LoginAuth::Basic(words) => basic(checker, &place.key("basic"), words).map(SignInAuthPlan::Fixed),
        LoginAuth::Header(words) => header(checker, &place.key("header"), words).map(SignInAuthPlan::Fixed),
        LoginAuth::Jwt(words) => bare_jwt(checker, &place.key("jwt"), words).map(SignInAuthPlan::Jwt),
    }
}

/// Only what was refused is sent again: after any other code it might be done twice.
fn expired(checker: &mut Checker<'_>, place: &Place, codes: &Codes) {
    if (100..600).any(|code| codes.contains(code) && !(400..500).contains(&code)) {
        let message = "only a refusal (4xx) can mean that a session has ended: the request is sent once more then";
        checker.issues.add_with_hint(place.clone(), message, "expired: [401, 403]");
    }
}
