//! A provider's webhook: what the words of its section mean together with its tools, and what is refused as unsafe.

mod rules;
mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jobgate_adapter_api::{CheckedAdapter, Issues, Place, SecretRef, SecretSource};
use jobgate_webhooks::{AddressToken, Credential, Scheme, Secret, SecretProblem, Secrets};
use url::{Host, Url};

pub(super) use self::words::WebhookWords;
use self::words::{SecretWord, SecretWords, TimedSecret, UNSIGNED, UnknownWord};
use super::auth::moment;
use crate::domain::{TaskMode, Timestamp};

/// A provider's webhook without problems: everything but secrets, files and network is known to fit.
#[derive(Clone, Debug)]
pub struct CheckedWebhook {
    /// How deliveries are verified. `None` for a provider that signs nothing: then they are taken at addresses alone that nobody can
    /// guess, which there are: [`Self::token`] or [`Self::callbacks`].
    pub scheme: Option<Scheme>,
    /// The secrets, at most [`jobgate_webhooks::MAX_SECRETS`].
    pub secrets: Vec<WebhookSecret>,
    /// What Meta repeats in its handshake.
    pub verify_token: Option<NamedSecret>,
    /// The last step of the whole provider's address.
    pub token: Option<NamedSecret>,
    /// Whether a tool hands the provider an address of each task.
    pub callbacks: bool,
    /// Where the provider's public keys are.
    pub key_set: Option<KeySetSource>,
    /// The age at which fetched keys are fetched again, and the shortest time between two fetches.
    pub key_set_refresh: Duration,
    /// A file with the certificate of SNS.
    pub certificate: Option<PathBuf>,
    /// What a delivery counts for.
    pub trust: WebhookTrust,
    /// How often a job is looked at while deliveries come.
    pub safety_poll: Duration,
    /// Whether a delivery of a job that no task has is answered 404, once nothing can bind it any more.
    pub unknown_refused: bool,
    /// How long a delivery waits for a job that is not known yet.
    pub park_for: Duration,
    /// How long a delivery is remembered.
    pub keep_for: Duration,
    /// Largest delivery, in bytes.
    pub max_body_bytes: usize,
    /// Where the section is, for problems that only building shows.
    pub place: Place,
}

/// What a delivery counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookTrust {
    /// It is a reason to look at the job.
    Hint,
    /// What it says is so; its scheme signs body and moment.
    Payload,
    /// As `Payload` at an address of one task, though the scheme does not sign both; as `Hint` at any other address.
    PayloadAtCallback,
}

/// A secret, and where the configuration names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSecret {
    /// Where it is.
    pub reference: SecretRef,
    /// Where it is named.
    pub place: Place,
}

impl NamedSecret {
    /// Its value, read now.
    ///
    /// # Errors
    /// A sentence for people, without the value.
    pub fn read(&self, source: &dyn SecretSource) -> Result<Secret, String> {
        source.read(&self.reference).map(|value| Secret::new(value.expose())).map_err(|error| error.to_string())
    }
}

/// A secret that deliveries are signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSecret {
    /// Which.
    pub named: NamedSecret,
    /// From when on it is valid.
    pub from: Option<Timestamp>,
    /// Until when it is valid.
    pub until: Option<Timestamp>,
}

/// Where public keys are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySetSource {
    /// `https`, or `http` on this machine.
    Url(Url),
    /// A file, read once.
    File(PathBuf),
}

impl fmt::Display for KeySetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => url.fmt(f),
            Self::File(file) => file.display().fmt(f),
        }
    }
}

/// What a webhook has to fit: the rest of the configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    /// The folder that relative paths start at.
    pub(super) base: &'a Path,
    /// The provider's name.
    pub(super) name: &'a str,
    /// Where its section is.
    pub(super) place: &'a Place,
    /// Whether `server.public_url` is there.
    pub(super) public_url: bool,
    /// What the provider's own words mean; nothing where they have problems.
    pub(super) adapter: Option<&'a dyn CheckedAdapter>,
    /// Its tools: name, section and mode.
    pub(super) tools: &'a [(String, Place, TaskMode)],
}

impl CheckedWebhook {
    /// What deliveries are verified with, read now; a key set and certificates are added by whoever fetches them. `None` where nothing is
    /// signed.
    ///
    /// # Errors
    /// In `issues`: each secret that cannot be read or is of no use, with the place that names it. Never with the secret.
    pub fn secrets(&self, source: &dyn SecretSource, issues: &mut Issues) -> Option<Secrets> {
        let scheme = self.scheme.as_ref()?;
        let mut tell = |place: &Place, problem: String| {
            issues.add_with_hint(place.clone(), problem, "for example `env:WEBHOOK_SECRET`");
        };
        let mut credentials = Vec::with_capacity(self.secrets.len());
        for secret in &self.secrets {
            let value = secret.named.read(source).map_err(|problem| tell(&secret.named.place, problem)).ok()?;
            let seconds = |at: Option<Timestamp>, open| at.map_or(open, |at| at.as_millis().div_euclid(1000));
            let credential = Credential::between(value, seconds(secret.from, i64::MIN), seconds(secret.until, i64::MAX));
            // Each alone, so that the one that is wrong is named.
            if let Err(problem) = Secrets::new(scheme, [credential.clone()]) {
                tell(&secret.named.place, problem.to_string());
                return None;
            }
            credentials.push(credential);
        }
        let all = Secrets::new(scheme, credentials).map_err(|problem| tell(&self.place, problem.to_string())).ok()?;
        let Some(token) = &self.verify_token else { return Some(all) };
        let value = token.read(source).map_err(|problem| tell(&token.place, problem)).ok()?;
        all.with_verify_token(&value).map_err(|problem| tell(&token.place, problem.to_string())).ok()
    }

    /// The last step of the whole provider's address, read now.
    ///
    /// # Errors
    /// As [`Self::secrets`].
    pub fn address_token(&self, source: &dyn SecretSource, issues: &mut Issues) -> Option<AddressToken> {
        let token = self.token.as_ref()?;
        let said = |problem: SecretProblem| problem.to_string();
        match token.read(source).and_then(|value| AddressToken::new(&value).map_err(said)) {
            Ok(token) => Some(token),
            Err(problem) => {
                issues.add_with_hint(token.place.clone(), problem, "make one with `openssl rand -hex 32`");
                None
            }
        }
    }
}

/// Words to meaning; `words` are of the section at `webhook` below the provider's.
pub(super) fn check(words: WebhookWords, around: &Around<'_>, issues: &mut Issues) -> Option<CheckedWebhook> {
    let before = issues.iter().len();
    let place = around.place.key("webhook");
    let WebhookWords { scheme: words, route } = words;
    let scheme = if words.scheme == UNSIGNED {
        for word in words.given() {
            let message = "`none` does not take this word: it verifies nothing";
            issues.add_with_hint(place.key(word), message, format!("leave `{word}` out"));
        }
        None
    } else {
        match Scheme::from_config(&words) {
            Ok(scheme) => Some(scheme),
            Err(problems) => {
                for problem in problems {
                    issues.add_with_hint(place.key(problem.word), problem.message, format!("for example `{}`", problem.example));
                }
                return None;
            }
        }
    };
    let callbacks = around.adapter.map(CheckedAdapter::uses_callback);
    let has_secret = route.secret.is_some();
    rules::material(scheme.as_ref(), &route, &place, issues);
    rules::addresses(scheme.as_ref(), &route, callbacks, around, issues);
    let trust = rules::trust(scheme.as_ref(), &route, callbacks, &place, issues);
    rules::readable(around, issues);
    rules::pushed(trust, around, issues);
    let tolerance = scheme.as_ref().and_then(Scheme::tolerance);
    let spans = rules::spans(&route, tolerance, &place, issues);
    let checked = CheckedWebhook {
        secrets: secrets(route.secret, &place.key("secret"), issues),
        verify_token: route.verify_token.map(|reference| NamedSecret { reference, place: place.key("verify_token") }),
        token: route.token.map(|reference| NamedSecret { reference, place: place.key("token") }),
        callbacks: callbacks.unwrap_or(false),
        key_set: key_set(route.key_set.as_deref(), scheme.as_ref(), !has_secret, around.base, &place.key("key_set"), issues),
        key_set_refresh: spans.key_set_refresh,
        certificate: route.certificate.map(|file| around.base.join(file)),
        trust,
        safety_poll: spans.safety_poll,
        unknown_refused: matches!(route.unknown_jobs, Some(UnknownWord::Refuse)),
        park_for: spans.park_for,
        keep_for: spans.keep_for,
        max_body_bytes: route.max_body_bytes.unwrap_or(1024 * 1024),
        scheme,
        place,
    };
    (issues.iter().len() == before).then_some(checked)
}

fn secrets(words: Option<SecretWords>, place: &Place, issues: &mut Issues) -> Vec<WebhookSecret> {
    let always = |reference, place: Place| WebhookSecret { named: NamedSecret { reference, place }, from: None, until: None };
    let list = match words {
        None => return Vec::new(),
        Some(SecretWords::One(reference)) => return vec![always(reference, place.clone())],
        Some(SecretWords::Several(list)) => list,
    };
    let mut secrets = Vec::with_capacity(list.len());
    for (nth, word) in list.into_iter().enumerate() {
        let place = place.index(nth);
        let TimedSecret { secret, from, until } = match word {
            SecretWord::Always(reference) => {
                secrets.push(always(reference, place));
                continue;
            }
            SecretWord::Between(timed) => timed,
        };
        let from = from.and_then(|text| moment(&text, &place.key("from"), issues));
        let until = until.and_then(|text| moment(&text, &place.key("until"), issues));
        if let (Some(from), Some(until)) = (from, until)
            && until <= from
        {
            issues.add_with_hint(
                place.key("until"),
                "is not after `from`, so it is never valid",
                "for example `2027-01-31T00:00:00Z`",
            );
        }
        secrets.push(WebhookSecret { named: NamedSecret { reference: secret, place }, from, until });
    }
    secrets
}

/// Where the keys are: as it is said, or where the provider publishes them when there is no secret to verify with.
fn key_set(
    said: Option<&str>,
    scheme: Option<&Scheme>,
    wanted: bool,
    base: &Path,
    place: &Place,
    issues: &mut Issues,
) -> Option<KeySetSource> {
    let Some(text) = said else {
        let known = scheme.filter(|_| wanted).and_then(Scheme::key_set_url)?;
        return Url::parse(known).ok().map(KeySetSource::Url);
    };
    if !text.contains("://") {
        return Some(KeySetSource::File(base.join(text)));
    }
    let url = Url::parse(text).ok().filter(|url| url.has_host() && url.username().is_empty() && url.password().is_none());
    let safe = |url: &Url| url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(url));
    if url.as_ref().is_none_or(|url| !safe(url)) {
        let message = "is neither an `https` address nor a file: whoever changes the keys on their way can sign for the provider";
        issues.add_with_hint(place.clone(), message, "for example `https://api.example.com/.well-known/jwks.json`");
    }
    url.map(KeySetSource::Url)
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// What a provider without a webhook may not have: tools that need one.
pub(super) fn check_absent(around: &Around<'_>, issues: &mut Issues) {
    let Some(adapter) = around.adapter else { return };
    let example = "for example `webhook: { scheme: standard_webhooks, secret: env:WEBHOOK_SECRET }`";
    if adapter.needs_callback() {
        let message = "a tool gives this provider an address to deliver to (`callback.url`), and there is no `webhook` that says how to take it";
        issues.add_with_hint(around.place.clone(), message, format!("{example}, or `scheme: none` where nothing is signed"));
    }
    for (tool, place, _) in around.tools.iter().filter(|(tool, ..)| adapter.pushed_only(tool)) {
        let message =
            format!("jobs of `{tool}` cannot be looked at, so they end by deliveries alone; `{}` has no webhook", around.name);
        issues.add_with_hint(place.key("job"), message, format!("add one to the provider, {example}"));
    }
}
