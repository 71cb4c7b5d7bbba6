//! Whether what was accepted is what was signed. Written against the providers' documents and not against the verifiers: they are on trial.

use std::collections::BTreeSet;

use jobgate_webhooks::{Scheme, Verified};
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::rig::Good;
use crate::sent::Sent;

/// How the value of a header may differ from the signed one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Not at all.
    Exact,
    /// Nobody looks at it.
    Ignored,
    /// More signatures may stand beside the good one.
    Versions,
    /// More pairs may stand beside the good ones.
    Pairs,
    /// The name of the kind of credentials has no case.
    Credentials,
    /// The label may be another, and more may be in the dictionary.
    Labelled,
}

/// The roles of a good delivery's headers, in their order.
pub(crate) fn roles(scheme: &str, good: &Good) -> Vec<Role> {
    let role = |(name, value): &(String, Vec<u8>)| match scheme {
        "aws_sns" => Role::Ignored,
        "standard_webhooks" | "svix" | "openai" | "replicate" | "anthropic" | "gemini" | "gitlab"
            if name.ends_with("-signature") =>
        {
            Role::Versions
        }
        "stripe" | "mux" | "elevenlabs" | "buildkite" | "circleci" => Role::Pairs,
        "hmac" if value.starts_with(b"t=") => Role::Pairs,
        "basic" | "google_pubsub" | "cloudevents" => Role::Credentials,
        "rfc9421" if name.starts_with("Signature") => Role::Labelled,
        _ => Role::Exact,
    };
    good.sent.headers.iter().map(role).collect()
}

/// How long ago, and how far ahead, a delivery may be signed, in seconds.
pub(crate) const fn window(scheme: &str) -> (i64, i64) {
    match scheme.as_bytes() {
        b"elevenlabs" => (1800, 1800),
        b"cloudinary" => (7200, 300),
        b"aws_sns" => (3600, 300),
        // An hour of the token's own, and a minute between the clocks.
        b"google_pubsub" => (3660, 60),
        _ => (300, 300),
    }
}

/// Whether a delivery may be taken at `now`.
pub(crate) fn in_time(scheme: &Scheme, good: &Good, now: i64) -> bool {
    let (past, future) = good.window;
    let age = i128::from(now) - i128::from(good.moment);
    let fresh = !scheme.binds().time || (now >= 0 && age <= i128::from(past) && -age <= i128::from(future));
    // The secret of before is valid from 1970 on.
    fresh && (good.until == i64::MAX || (0..=good.until).contains(&now))
}

/// What is wrong with taking `sent` for the delivery that was signed.
pub(crate) fn difference(scheme: &Scheme, good: &Good, sent: &Sent, verified: &Verified<'_>, now: i64) -> Option<String> {
    if sent.method != "POST" {
        return Some(format!("the method {}", sent.method));
    }
    if !in_time(scheme, good, now) {
        return Some(format!("the clock: {now} for {}", good.moment));
    }
    if scheme.binds().time && verified.sent_at() != Some(good.moment) {
        return Some(format!("the moment {:?}", verified.sent_at()));
    }
    if verified.body() != sent.body {
        return Some("another body than the request's".to_owned());
    }
    for (role, (name, value)) in roles(scheme.name(), good).into_iter().zip(&good.sent.headers) {
        if role == Role::Ignored {
            continue;
        }
        let Some(offered) = sent.one(name) else { return Some(format!("{name}, which is not there once")) };
        if !carries(role, value, offered) {
            return Some(format!("{name}: {:?}", String::from_utf8_lossy(offered)));
        }
    }
    if scheme.binds().body && !same_content(scheme.name(), &good.sent, sent) {
        return Some("the content".to_owned());
    }
    let address = match scheme.name() {
        "twilio" => plain_address(&good.sent.url) == plain_address(&sent.url),
        "rfc9421" => same_target(good, &sent.url),
        _ => true,
    };
    (!address).then(|| format!("the address {}", sent.url))
}

fn carries(role: Role, value: &[u8], offered: &[u8]) -> bool {
    match role {
        Role::Ignored => true,
        Role::Exact => value == offered,
        Role::Versions => offered.split(|byte| *byte == b' ').any(|entry| entry == value),
        Role::Pairs => value.split(|byte| *byte == b',').all(|pair| {
            let name = pair.split_inclusive(|byte| *byte == b'=').next().unwrap_or_default();
            let mut entries = offered.split(|byte| *byte == b',').filter(|entry| entry.starts_with(name));
            // The moment is there once.
            let moment = [&b"t="[..], b"timestamp="].contains(&name);
            if moment { entries.next() == Some(pair) && entries.next().is_none() } else { entries.any(|entry| entry == pair) }
        }),
        Role::Credentials => {
            let at = value.iter().position(|byte| *byte == b' ').unwrap_or_default();
            value.len() == offered.len() && value[..at].eq_ignore_ascii_case(&offered[..at]) && value[at..] == offered[at..]
        }
        Role::Labelled => {
            let at = value.iter().position(|byte| *byte == b'=').unwrap_or_default();
            let member = &value[at..];
            offered.windows(member.len()).any(|part| part == member)
        }
    }
}

fn same_content(scheme: &str, good: &Sent, sent: &Sent) -> bool {
    match scheme {
        "twilio" if !good.url.contains("bodySHA256") => form(&good.body) == form(&sent.body),
        "aws_sns" => {
            let fields = ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"];
            let read = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap_or_default();
            let (left, right) = (read(&good.body), read(&sent.body));
            // `null` is how some write that a field is not there.
            fields.iter().all(|field| left[field] == right[field])
        }
        _ => good.body == sent.body,
    }
}

/// What Twilio signs of a form: names and values, sorted, repeated ones once, with nothing between them.
fn form(body: &[u8]) -> String {
    let fields: BTreeSet<_> = form_urlencoded::parse(body).collect();
    fields.into_iter().map(|(name, value)| format!("{name}{value}")).collect()
}

/// The spellings of an address that Twilio takes for one: with any port or none, and `'` escaped in the query or not.
fn plain_address(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(at);
    let host = authority.trim_end_matches(|letter: char| letter.is_ascii_digit()).strip_suffix(':').unwrap_or(authority);
    let tail = match tail.split_once('?') {
        Some((path, query)) => format!("{path}?{}", query.replace('\'', "%27")),
        None => tail.to_owned(),
    };
    format!("{scheme}://{host}{tail}")
}

/// The whole address is signed, or its parts, as a parser reads them.
fn same_target(good: &Good, url: &str) -> bool {
    if good.sent.one("Signature-Input").is_some_and(|value| value.windows(11).any(|part| part == b"@target-uri")) {
        return good.sent.url == url;
    }
    let parts = |text: &str| {
        let url = Url::parse(text).ok()?;
        Some((url.host_str()?.to_owned(), url.port(), url.path().to_owned(), url.query().unwrap_or_default().to_owned()))
    };
    parts(&good.sent.url) == parts(url)
}
