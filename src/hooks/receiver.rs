//! The receiver of the process that holds the store: from a request to a record, and to an answer within three seconds.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use jobgate_adapter_api::{Clock, Transport};
use jobgate_webhooks::{AtAddress, Purpose, Received, Refusal, Request, Scheme, Secrets, Verified, receive};
use tokio::sync::Semaphore;

use super::answer::{HookAnswer, HookRequest, Hooks, Unread};
use super::certificates::CertificateCache;
use super::fetch;
use super::intake::Intake;
use super::keys::KeyCache;
use super::media;
use super::route::{Route, Routes};
use super::verdict::Verdict;
use crate::domain::TaskId;
use crate::engine::Supervisor;
use crate::engine::{Delivery, IngestError, Ingested};

/// How long a delivery may take: the least patient senders wait for three seconds, and the way to them takes time as well.
const BOUND: Duration = Duration::from_millis(2500);
/// Deliveries of one route at once; one provider's flood is no other's.
const AT_ONCE: usize = 512;
/// The most bytes of what the provider says to a confirmation; nobody reads it.
const MAX_CONFIRMATION: usize = 64 * 1024;

/// Verifies deliveries and hands them to the engine.
#[derive(Debug)]
pub struct Receiver {
    routes: Arc<Routes>,
    intake: Arc<dyn Intake>,
    clock: Arc<dyn Clock>,
    live: BTreeMap<String, Live>,
}

/// What a [`Receiver`] is made of.
#[derive(Debug)]
pub struct ReceiverParts {
    /// The routes.
    pub routes: Arc<Routes>,
    /// Who takes what was verified.
    pub intake: Arc<dyn Intake>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Whose work fetches are.
    pub supervisor: Supervisor,
}

/// What is in memory of one route.
#[derive(Debug)]
struct Live {
    keys: Source,
    at_once: Semaphore,
}

/// Where a route's keys come from.
#[derive(Debug)]
enum Source {
    /// The secrets have all.
    Secrets,
    KeySet(Arc<KeyCache>),
    Certificates(Arc<CertificateCache>),
}

impl Receiver {
    /// A receiver that has fetched nothing yet.
    #[must_use]
    pub fn new(parts: ReceiverParts) -> Self {
        let ReceiverParts { routes, intake, clock, supervisor } = parts;
        let live = |route: &Route| {
            let (transport, clock, supervisor) = (route.transport.clone(), clock.clone(), supervisor.clone());
            let keys = match (&route.scheme, &route.keys) {
                (Some((_, secrets)), Some(source)) => {
                    Source::KeySet(KeyCache::new(source.clone(), secrets.clone(), transport, clock, supervisor))
                }
                (Some(_), None) if route.fetch_certificates => {
                    Source::Certificates(CertificateCache::new(transport, clock, supervisor))
                }
                (Some(_) | None, _) => Source::Secrets,
            };
            Live { keys, at_once: Semaphore::new(AT_ONCE) }
        };
        let live = routes.iter().map(|(name, route)| (name.clone(), live(route))).collect();
        Self { routes, intake, clock, live }
    }

    async fn judge(&self, request: &HookRequest) -> Result<Verdict, Verdict> {
        let route = self.routes.get(&request.provider).ok_or(Verdict::NoRoute)?;
        let live = self.live.get(&request.provider).ok_or(Verdict::NoRoute)?;
        let _one = live.at_once.try_acquire().map_err(|_| Verdict::TooMany)?;
        let at = self.address(route, request)?;
        let headers: Vec<(&str, &[u8])> = request.headers.iter().map(|(name, value)| (name.as_str(), &**value)).collect();
        let url = self.routes.url(route, request);
        let seen = Request { method: &request.method, url: &url, headers: &headers, body: &request.body };
        let received = match (&route.scheme, at) {
            (Some((scheme, secrets)), _) => self.verify(live, scheme, secrets, &seen).await,
            (None, Some(at)) => at.unsigned(&seen).map(Received::Delivery),
            (None, None) => return Err(Verdict::Address),
        };
        match received.map_err(Verdict::Refused)? {
            Received::Answer(answer) => Ok(Verdict::Handshake(answer)),
            Received::Delivery(verified) => match verified.purpose() {
                Purpose::Confirm { url } => Ok(confirm(&route.transport, url).await),
                Purpose::Event => {
                    media::check(&request.headers)?;
                    self.ingest(route, &verified, at).await
                }
            },
        }
    }

    /// What the last step of the address proves: nothing is needed where the route's scheme is proof enough.
    fn address(&self, route: &Route, request: &HookRequest) -> Result<Option<AtAddress>, Verdict> {
        let Some(token) = &request.token else {
            let open = route.scheme.is_some() && route.address.is_none();
            return if open { Ok(None) } else { Err(Verdict::Address) };
        };
        let callback = if route.callbacks { self.intake.open_callback(token) } else { None };
        let at = callback.or_else(|| route.address.as_ref()?.open(token));
        at.map(Some).ok_or(Verdict::Address)
    }

    /// Verifies, and once more where what is missing could be fetched.
    async fn verify<'a>(
        &self,
        live: &Live,
        scheme: &Scheme,
        secrets: &Secrets,
        request: &Request<'a>,
    ) -> Result<Received<'a>, Refusal> {
        let now = self.routes.now();
        match &live.keys {
            Source::Secrets => receive(scheme, secrets, request, now),
            Source::KeySet(cache) => {
                let held = cache.held();
                let first = receive(scheme, held.as_ref().map_or(secrets, |held| &held.secrets), request, now);
                match first {
                    // Where the request names no key, a new one shows as a signature that does not fit.
                    Err(Refusal::KeysUnavailable | Refusal::UnknownKey | Refusal::Signature) => {
                        match cache.newer(held.as_ref()).await {
                            Some(newer) => receive(scheme, &newer.secrets, request, now),
                            None => first,
                        }
                    }
                    other => other,
                }
            }
            Source::Certificates(cache) => {
                let asking = cache.asking();
                let secrets = secrets.clone().with_certificates(asking.clone());
                let first = receive(scheme, &secrets, request, now);
                match asking.missed() {
                    Some(url) if cache.fetch(&url).await => receive(scheme, &secrets, request, now),
                    Some(_) | None => first,
                }
            }
        }
    }

    async fn ingest(&self, route: &Route, verified: &Verified<'_>, at: Option<AtAddress>) -> Result<Verdict, Verdict> {
        let task = at.and_then(|at| at.subject()).map(TaskId::from_bytes);
        match self.intake.ingest(Delivery { provider: &route.provider, verified, task }).await {
            Ok(Ingested::Unknown) if route.unknown_refused => Err(Verdict::UnknownJob),
            Ok(Ingested::Repeat { conflict: true }) => {
                tracing::warn!(provider = %route.provider, "a delivery has the id of an earlier one and another body; the first counts");
                Ok(Verdict::Taken(Ingested::Repeat { conflict: true }))
            }
            Ok(ingested) => Ok(Verdict::Taken(ingested)),
            Err(IngestError::Unreadable(reason)) => {
                tracing::debug!(provider = %route.provider, reason, "a delivery cannot be read");
                Err(Verdict::Unreadable)
            }
            Err(error @ (IngestError::NoSuchProvider | IngestError::Store(_))) => {
                tracing::error!(provider = %route.provider, ?error, "a delivery cannot be recorded; its sender is asked to try again");
                Err(Verdict::Unavailable)
            }
        }
    }
}

/// Says to the provider that its deliveries are wanted, at the address that was verified.
async fn confirm(transport: &Transport, url: &str) -> Verdict {
    match fetch::get(transport, url, MAX_CONFIRMATION).await {
        Ok(_) => {
            tracing::info!("confirmed a subscription");
            Verdict::Confirmed
        }
        Err(reason) => {
            tracing::warn!(reason, "a subscription could not be confirmed");
            Verdict::NotConfirmed
        }
    }
}

#[async_trait]
impl Hooks for Receiver {
    fn look(&self, head: &HookRequest) -> Result<usize, HookAnswer> {
        self.routes.look(head)
    }

    fn unread(&self, head: &HookRequest, why: Unread) -> HookAnswer {
        self.routes.unread(head, why)
    }

    async fn receive(&self, request: HookRequest) -> HookAnswer {
        let verdict = tokio::select! {
            biased;
            judged = AssertUnwindSafe(self.judge(&request)).catch_unwind() => match judged {
                Ok(Ok(verdict) | Err(verdict)) => verdict,
                Err(_) => {
                    tracing::error!(size = request.body.len(), "looking at a delivery panicked");
                    Verdict::Panicked
                }
            },
            () = self.clock.sleep(BOUND) => Verdict::TooLate,
        };
        self.routes.conclude(&request, verdict)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::get;
    use jobgate_adapter_api::{ManualClock, TransportLimits};

    use super::*;
    use crate::domain::Timestamp;

    /// Hostile 89: a subscription is confirmed by one GET, which goes nowhere else; until then its sender comes again.
    #[tokio::test]
    async fn a_subscription_is_confirmed_by_one_request() {
        let supervisor = Supervisor::new(Arc::new(ManualClock::new(Timestamp::default())));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let app = Router::new()
            .route("/fine", get(async || "<ConfirmSubscriptionResponse/>"))
            .route("/moved", get(async || (StatusCode::FOUND, [("location", "/fine")])))
            .route("/large", get(async || vec![b'x'; MAX_CONFIRMATION + 1]));
        supervisor.spawn("server", async move {
            axum::serve(listener, app).await.ok();
        });
        let transport = Transport::new(TransportLimits::default()).unwrap();
        for (path, verdict) in [
            ("/fine?Action=ConfirmSubscription&Token=x", Verdict::Confirmed),
            ("/moved", Verdict::NotConfirmed),
            ("/large", Verdict::NotConfirmed),
            ("/nothing", Verdict::NotConfirmed),
        ] {
            assert_eq!(confirm(&transport, &format!("{base}{path}")).await, verdict, "{path}");
        }
        assert_eq!(confirm(&transport, "http://127.0.0.1:1/").await, Verdict::NotConfirmed);
        supervisor.kill().await;
    }
}
