//! Routes: the last step of an address selects provider, scheme and secrets, and nothing else in a request does.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jobgate_adapter_api::{Clock, Transport};
use jobgate_webhooks::{AddressToken, Part, Refusal, Request, Scheme, Secrets, verify};

use super::answer::{HookAnswer, HookRequest, Unread};
use super::keys::KeySource;
use super::verdict::Verdict;
use crate::domain::ProviderName;
use crate::metrics::Metrics;

/// How the deliveries of one provider are taken.
pub struct Route {
    /// The provider, and the step of the address behind `/hooks/`.
    pub provider: ProviderName,
    /// How deliveries are verified; `None` for a provider that signs nothing, whose address nobody can guess.
    pub scheme: Option<(Scheme, Secrets)>,
    /// The last step of the address, where the operator chose one.
    pub address: Option<AddressToken>,
    /// Whether the addresses are taken that the engine makes, one for each task.
    pub callbacks: bool,
    /// Where the provider's public keys are, if they are fetched.
    pub keys: Option<KeySource>,
    /// Whether certificates are fetched where messages say that they are; else the secrets have one, or need none.
    pub fetch_certificates: bool,
    /// Whether a delivery about a job of nobody's is answered 404.
    pub unknown_refused: bool,
    /// The most bytes of a body.
    pub max_body_bytes: usize,
    /// The client for keys, certificates and confirmations.
    pub transport: Transport,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme.as_ref().map(|(scheme, _)| scheme.name());
        f.debug_struct("Route").field("provider", &self.provider).field("scheme", &scheme).finish_non_exhaustive()
    }
}

/// All routes of a gateway, and what is known of a request before its body: the same in every process of a data folder.
#[derive(Debug)]
pub struct Routes {
    by_name: BTreeMap<String, Route>,
    public_url: String,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
}

/// What [`Routes`] are made of.
#[derive(Debug)]
pub struct RoutesParts {
    /// The routes.
    pub routes: Vec<Route>,
    /// Under which address senders reach the gateway; without a slash at its end.
    pub public_url: Option<String>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where deliveries are counted.
    pub metrics: Metrics,
}

impl Routes {
    /// Of two routes of one provider the last counts.
    #[must_use]
    pub fn new(parts: RoutesParts) -> Self {
        let RoutesParts { routes, public_url, clock, metrics } = parts;
        let by_name = routes.into_iter().map(|route| (route.provider.as_str().to_owned(), route)).collect();
        // Schemes that sign the address are refused without a public one; the others only need it to be an address.
        let public_url = public_url.unwrap_or_else(|| "https://gateway.invalid".to_owned());
        Self { by_name, public_url, clock, metrics }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Route)> {
        self.by_name.iter()
    }

    pub(super) fn get(&self, provider: &str) -> Option<&Route> {
        self.by_name.get(provider)
    }

    /// As [`super::Hooks::look`].
    ///
    /// # Errors
    /// The answer.
    pub fn look(&self, head: &HookRequest) -> Result<usize, HookAnswer> {
        let judge = || {
            let route = self.get(&head.provider).ok_or(Verdict::NoRoute)?;
            let known = match &head.token {
                // The engine alone knows the addresses that it made.
                Some(_) if route.callbacks => true,
                Some(token) => route.address.as_ref().is_some_and(|address| address.open(token).is_some()),
                None => route.scheme.is_some() && route.address.is_none(),
            };
            if !known {
                return Err(Verdict::Address);
            }
            if head.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("expect"))
                && let Some(refusal) = self.refused_by_head(route, head)
            {
                return Err(Verdict::Refused(refusal));
            }
            Ok(route.max_body_bytes)
        };
        judge().map_err(|verdict| self.conclude(head, verdict))
    }

    /// As [`super::Hooks::unread`].
    #[must_use]
    pub fn unread(&self, head: &HookRequest, why: Unread) -> HookAnswer {
        self.conclude(head, Verdict::Unread(why))
    }

    /// The rule that a request breaks whatever its body is, for senders that ask before they send it (RFC 9110, section 10.1.1).
    fn refused_by_head(&self, route: &Route, head: &HookRequest) -> Option<Refusal> {
        let (scheme, secrets) = route.scheme.as_ref()?;
        // Zoom's handshake has no signature, and only its body tells that it is one.
        if scheme.name() == "zoom" {
            return None;
        }
        let refusal = self.with_request(route, head, |request| verify(scheme, secrets, request, self.now()).err())?;
        match refusal {
            Refusal::Missing(Part::Body)
            | Refusal::Repeated(Part::Body)
            | Refusal::TooLong(Part::Body)
            | Refusal::Malformed(Part::Body)
            // The method of a handshake, or what needs the body or keys that are not here yet.
            | Refusal::Method
            | Refusal::Signature
            | Refusal::Digest
            | Refusal::UnknownKey
            | Refusal::KeysUnavailable
            | Refusal::CertificateUrl
            | Refusal::Certificate
            | Refusal::Recipient
            | Refusal::Kind
            | Refusal::Handshake
            | Refusal::Origin => None,
            Refusal::Missing(_)
            | Refusal::Repeated(_)
            | Refusal::TooLong(_)
            | Refusal::Malformed(_)
            | Refusal::NoVersion
            | Refusal::TooOld
            | Refusal::TooNew
            | Refusal::Clock
            | Refusal::NoSecret
            | Refusal::Credentials
            | Refusal::Algorithm
            | Refusal::Coverage => Some(refusal),
        }
    }

    /// Hands on the request as a scheme sees it: under the address of the configuration, never one that the sender chose.
    pub(super) fn with_request<T>(&self, route: &Route, request: &HookRequest, look: impl FnOnce(&Request<'_>) -> T) -> T {
        let headers: Vec<(&str, &[u8])> = request.headers.iter().map(|(name, value)| (name.as_str(), &**value)).collect();
        let url = self.url(route, request);
        look(&Request { method: &request.method, url: &url, headers: &headers, body: &request.body })
    }

    pub(super) fn url(&self, route: &Route, request: &HookRequest) -> String {
        let mut url = format!("{}/hooks/{}", self.public_url, route.provider);
        for (before, part) in [('/', &request.token), ('?', &request.query)] {
            if let Some(part) = part {
                url.push(before);
                url.push_str(part);
            }
        }
        url
    }

    /// Now, in unix seconds.
    pub(super) fn now(&self) -> i64 {
        self.clock.now().as_millis().div_euclid(1000)
    }

    /// Counts what became of a request, and gives the answer.
    pub(super) fn conclude(&self, request: &HookRequest, verdict: Verdict) -> HookAnswer {
        // Other methods are no deliveries, on any route: what is there and what is not gets one answer.
        let verdict = match verdict {
            Verdict::NoRoute | Verdict::Address if request.method != "POST" => Verdict::Refused(Refusal::Method),
            other => other,
        };
        let label = verdict.label();
        match self.get(&request.provider) {
            Some(route) => {
                self.metrics.delivery(&route.provider, label);
                match &verdict {
                    Verdict::Refused(refusal) => {
                        tracing::debug!(provider = %route.provider, verdict = label, reason = %refusal, "a delivery was refused");
                    }
                    _ => tracing::debug!(provider = %route.provider, verdict = label, "a delivery came"),
                }
            }
            None => {
                self.metrics.stray_delivery(label);
                tracing::debug!(verdict = label, "a delivery came to no route");
            }
        }
        verdict.answer()
    }
}
