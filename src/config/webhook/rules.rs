//! What is refused as unsafe, or as of no use, in a `webhook` section.

use std::time::Duration;

use jobgate_adapter_api::{HumanDuration, Issues, Place};
use jobgate_webhooks::{Keys, Scheme};

use super::words::{RouteWords, TrustWord, UNSIGNED};
use super::{Around, WebhookTrust};
use crate::domain::TaskMode;

/// Secrets, keys and certificates: which the scheme needs, and which are of no use to it.
pub(super) fn material(scheme: Option<&Scheme>, route: &RouteWords, place: &Place, issues: &mut Issues) {
    let name = scheme.map_or(UNSIGNED, Scheme::name);
    let keys = scheme.map(Scheme::verifies_with);
    let mut useless = |word: &str, given: bool, why: &str| {
        if given {
            issues.add_with_hint(
                place.key(word),
                format!("`{name}` does not take this word: {why}"),
                format!("leave `{word}` out"),
            );
        }
    };
    let has_secret = route.secret.is_some();
    match keys {
        None => useless("secret", has_secret, "it verifies nothing"),
        Some(Keys::KeySet) => useless("secret", has_secret, "it verifies with public keys"),
        Some(Keys::Certificate) => useless("secret", has_secret, "it verifies with a certificate"),
        Some(Keys::Secret | Keys::SecretOrKeySet) => {}
    }
    let has_keys = matches!(keys, Some(Keys::SecretOrKeySet | Keys::KeySet));
    useless("key_set", route.key_set.is_some() && !has_keys, "it verifies with no set of keys");
    let fetched = has_keys && (route.key_set.is_some() || scheme.is_some_and(|scheme| scheme.key_set_url().is_some()));
    useless("key_set_refresh", route.key_set_refresh.is_some() && !fetched, "no keys are fetched");
    useless("certificate", route.certificate.is_some() && keys != Some(Keys::Certificate), "it verifies with no certificate");
    useless("verify_token", route.verify_token.is_some() && name != "meta", "it has no such handshake");
    useless("token", route.token.is_some() && scheme.is_some(), "it says by its signature where a delivery is from");
    let known = scheme.is_some_and(|scheme| scheme.key_set_url().is_some());
    match keys {
        Some(Keys::Secret) if !has_secret => {
            let message = format!("`secret` is missing: `{name}` verifies with it");
            issues.add_with_hint(place.clone(), message, "add `secret: env:WEBHOOK_SECRET`");
        }
        Some(Keys::SecretOrKeySet) if !has_secret && route.key_set.is_none() && !known => {
            let message = format!("`secret` or `key_set` is missing: `{name}` verifies with one");
            let hint = "add `secret: env:WEBHOOK_SECRET`, or `key_set: https://api.example.com/.well-known/jwks.json`";
            issues.add_with_hint(place.clone(), message, hint);
        }
        Some(Keys::KeySet) if route.key_set.is_none() && !known => {
            let hint = "add `key_set: https://api.example.com/.well-known/jwks.json`";
            issues.add_with_hint(place.clone(), format!("`key_set` is missing: `{name}` verifies with it"), hint);
        }
        _ => {}
    }
}

/// Whether deliveries can arrive, and only where it is safe.
pub(super) fn addresses(
    scheme: Option<&Scheme>,
    route: &RouteWords,
    callbacks: Option<bool>,
    around: &Around<'_>,
    issues: &mut Issues,
) {
    let place = around.place.key("webhook");
    if scheme.is_none() && route.token.is_none() && callbacks == Some(false) {
        let message = "nothing is signed, and the address could be guessed: anybody could deliver";
        let hint = "add `token: env:WEBHOOK_TOKEN` (make one with `openssl rand -hex 32`), or give the provider an address of each task \
                    with `{{ callback.url }}` in `job`";
        issues.add_with_hint(place.key("scheme"), message, hint);
    }
    if around.public_url {
        return;
    }
    let hint = "add `public_url: https://gateway.example.com` under `server`";
    if callbacks == Some(true) {
        let message = "a tool gives this provider an address to deliver to (`callback.url`), and `server.public_url` does not say where the \
                       gateway is reached";
        issues.add_with_hint(place.clone(), message, hint);
    } else if let Some(scheme) = scheme.filter(|scheme| scheme.signs_address()) {
        let message =
            format!("`{}` signs the address, and `server.public_url` does not say where the gateway is reached", scheme.name());
        issues.add_with_hint(place.key("scheme"), message, hint);
    }
}

/// What deliveries count for, and whether that may be.
pub(super) fn trust(
    scheme: Option<&Scheme>,
    route: &RouteWords,
    callbacks: Option<bool>,
    place: &Place,
    issues: &mut Issues,
) -> WebhookTrust {
    let allowed = route.allow_unsigned_payload.unwrap_or(false);
    let signed = scheme.is_some_and(|scheme| scheme.binds().trustworthy());
    let at = place.key("allow_unsigned_payload");
    let payload = matches!(route.trust, Some(TrustWord::Payload));
    if allowed {
        let leave = "leave `allow_unsigned_payload` out";
        let wrong = if !payload {
            Some(("means nothing without `trust: payload`", leave))
        } else if signed {
            Some(("means nothing: the scheme signs body and moment", leave))
        } else if callbacks == Some(false) {
            let why = "is for callback addresses alone, and no tool gives the provider one";
            Some((why, "write `{{ callback.url }}` where the submit names the address, or `trust: hint`"))
        } else if route.token.is_some() {
            let why = "is for callback addresses alone: at the address with `token` one delivery could end any task";
            Some((why, "leave `token` out, or write `trust: hint`"))
        } else {
            None
        };
        if let Some((why, hint)) = wrong {
            issues.add_with_hint(at, why, hint);
        }
    }
    match (payload, signed) {
        (false, _) => WebhookTrust::Hint,
        (true, true) => WebhookTrust::Payload,
        (true, false) => {
            if !allowed {
                let binds = scheme.map(Scheme::binds);
                let name = scheme.map_or(UNSIGNED, Scheme::name);
                let why = match binds {
                    Some(binds) if binds.body => "does not sign the moment, so an old delivery could be sent again",
                    Some(_) | None => "does not sign the body, so it could say anything",
                };
                let hint = match callbacks {
                    Some(true) => {
                        "write `trust: hint`; or, where the job cannot be looked at, `allow_unsigned_payload: true`, which takes it at callback \
                         addresses alone"
                    }
                    Some(false) | None => "write `trust: hint`: the gateway then asks the provider",
                };
                issues.add_with_hint(place.key("trust"), format!("`{name}` {why}"), hint);
            }
            WebhookTrust::PayloadAtCallback
        }
    }
}

/// A webhook whose deliveries nobody can read leads nowhere.
pub(super) fn readable(around: &Around<'_>, issues: &mut Issues) {
    if around.adapter.is_some_and(|adapter| !adapter.reads_deliveries()) {
        let message = "no delivery of this provider can be read: nothing says which job one tells of";
        let hint = "for example `delivery: { job: \"{{ body.id }}\" }` beside it, where the adapter is `rest`";
        issues.add_with_hint(around.place.key("webhook"), message, hint);
    }
}

/// Tools whose jobs cannot be looked at.
pub(super) fn pushed(trust: WebhookTrust, around: &Around<'_>, issues: &mut Issues) {
    let Some(adapter) = around.adapter else { return };
    for (tool, place, mode) in around.tools.iter().filter(|(tool, ..)| adapter.pushed_only(tool)) {
        if trust == WebhookTrust::Hint {
            let message = format!("jobs of `{tool}` cannot be looked at, so a hint to look at one is of no use");
            let hint =
                "write `trust: payload`, which takes what a delivery says; or add the request that asks for a job's status";
            issues.add_with_hint(around.place.key("webhook").key("trust"), message, hint);
        }
        if *mode == TaskMode::Never {
            let message = "jobs of this tool end by deliveries alone, which may come after the call is over";
            issues.add_with_hint(place.key("task").key("mode"), message, "write `mode: optional`");
        }
    }
}

/// The times of a section, with their defaults.
pub(super) struct Spans {
    pub(super) key_set_refresh: Duration,
    pub(super) safety_poll: Duration,
    pub(super) park_for: Duration,
    pub(super) keep_for: Duration,
}

pub(super) fn spans(route: &RouteWords, tolerance: Option<u32>, place: &Place, issues: &mut Issues) -> Spans {
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let mut span = |word: &str, said: Option<HumanDuration>, default: Duration, least: Duration, example: &str| {
        let span = said.map_or(default, HumanDuration::get);
        if span < least {
            let least = HumanDuration::from_millis(u64::try_from(least.as_millis()).unwrap_or(u64::MAX));
            issues.add_with_hint(place.key(word), format!("has to be at least {least}"), format!("for example `{example}`"));
        }
        span
    };
    let second = Duration::from_secs(1);
    let spans = Spans {
        key_set_refresh: span("key_set_refresh", route.key_set_refresh, minutes(5), minutes(1), "5m"),
        safety_poll: span("safety_poll", route.safety_poll, minutes(5), second, "5m"),
        park_for: span("park_for", route.park_for, minutes(10), second, "10m"),
        keep_for: span("keep_for", route.keep_for, minutes(72 * 60), minutes(1), "72h"),
    };
    // Both ways: a moment may lie as far ahead as it may lie behind.
    if let Some(tolerance) = tolerance.filter(|tolerance| spans.keep_for < Duration::from_secs(2 * u64::from(*tolerance))) {
        let message = format!(
            "is shorter than twice the {tolerance} s for which a delivery is accepted, so it could be repeated with effect"
        );
        issues.add_with_hint(place.key("keep_for"), message, "for example `72h`, or as long as the provider tries again");
    }
    spans
}
