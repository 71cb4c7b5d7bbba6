//! The words of a provider section.

use http::HeaderName;
use jobgate_adapter_api::{Issues, Place};
use serde_json::Value;
use url::Url;

use super::Checker;
use crate::language::{Scope, Text};
use crate::words::Provider;

/// Headers that carry credentials; their values belong under `auth`, where they are named and not written.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];

pub(super) fn addresses(checker: &mut Checker<'_>, place: &Place, words: &Provider) {
    checker.base = address(checker, &place.key("base_url"), &words.base_url);
    for (name, text) in &words.bases {
        let url = address(checker, &place.key("bases").key(name), text);
        checker.bases.insert(name.clone(), url);
    }
}

/// Settings are plain values.
pub(super) fn settings(issues: &mut Issues, place: &Place, words: &Provider) {
    for (name, value) in &words.settings {
        let place = place.key("settings").key(name);
        if matches!(value, Value::Null | Value::Array(_) | Value::Object(_)) {
            issues.add_with_hint(place, "a setting is a text, a number, true or false", "region: eu-west-1");
        } else if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') || name.starts_with(|c: char| c.is_ascii_digit()) {
            issues.add_with_hint(place, "the name of a setting has letters, digits and `_`", "region: eu-west-1");
        }
    }
}

/// An http(s) address that paths can be put after: no query, no fragment, no credentials.
fn address(checker: &mut Checker<'_>, place: &Place, source: &str) -> Option<Url> {
    const EXAMPLE: &str = "https://api.example.com/v1";
    let text = &checker.constant(place, source)?;
    let problem = match Url::parse(text) {
        // The text may hold a password, so it is not repeated.
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            "an address holds no credentials; they belong under `auth`".to_owned()
        }
        Ok(url) if url.query().is_some() || url.fragment().is_some() => {
            format!("`{text}` has a query or fragment; query parameters belong to a request")
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") => return Some(url),
        Ok(_) | Err(_) => format!("`{text}` is no http(s) address"),
    };
    checker.issues.add_with_hint(place.clone(), problem, EXAMPLE);
    None
}

pub(super) fn headers(checker: &mut Checker<'_>, place: &Place, words: &Provider) -> Vec<(HeaderName, Text)> {
    let place = place.key("headers");
    let mut headers = Vec::new();
    for (name, source) in &words.headers {
        let place = place.key(name);
        if CREDENTIALS.contains(&name.to_ascii_lowercase().as_str()) {
            checker.issues.add_with_hint(
                place,
                "a credential is named under `auth`, not written here",
                "auth: { bearer: env:API_TOKEN }",
            );
            continue;
        }
        let text = checker.text(&place, source, &Scope::request());
        headers.extend(header_name(checker, &place, name).zip(text));
    }
    headers
}

pub(super) fn header_name(checker: &mut Checker<'_>, place: &Place, name: &str) -> Option<HeaderName> {
    HeaderName::try_from(name).map_err(|_| checker.issues.add(place.clone(), format!("`{name}` is no header name"))).ok()
}
