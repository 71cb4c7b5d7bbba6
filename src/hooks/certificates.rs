//! Certificates of providers: fetched from addresses that the scheme has checked, kept, and few at a time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use jobgate_adapter_api::{Clock, Timestamp, Transport};
use jobgate_webhooks::{CertificateUrl, Certificates, MAX_CERTIFICATE};
use tokio::sync::watch;

use super::fetch::{self, WAIT};
use crate::engine::Supervisor;

/// How long a certificate is kept.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an address is left alone after a fetch of it began.
const PAUSE: Duration = Duration::from_secs(60);
/// How many fetches may begin in that time, whatever the addresses: a forged message may name any on the provider's host.
const FETCHES: usize = 6;

/// A certificate from a file, for whatever address a message names.
pub struct OneCertificate(Vec<u8>);

impl OneCertificate {
    /// Of a PEM text.
    #[must_use]
    pub fn new(pem: impl Into<Vec<u8>>) -> Arc<Self> {
        Arc::new(Self(pem.into()))
    }
}

impl fmt::Debug for OneCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneCertificate")
    }
}

impl Certificates for OneCertificate {
    fn pem(&self, _: &CertificateUrl) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

/// The certificates of one route, by address.
pub(super) struct CertificateCache {
    transport: Transport,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    known: watch::Sender<BTreeMap<String, Entry>>,
}

#[derive(Clone)]
struct Entry {
    tried: Timestamp,
    found: Found,
}

#[derive(Clone, PartialEq, Eq)]
enum Found {
    Fetching,
    Nothing,
    Pem(Bytes),
}

impl fmt::Debug for CertificateCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateCache").field("known", &self.known.borrow().len()).finish_non_exhaustive()
    }
}

impl CertificateCache {
    pub(super) fn new(transport: Transport, clock: Arc<dyn Clock>, supervisor: Supervisor) -> Arc<Self> {
        Arc::new(Self { transport, clock, supervisor, known: watch::Sender::default() })
    }

    /// For one verification.
    pub(super) fn asking(self: &Arc<Self>) -> Arc<Asking> {
        Arc::new(Asking { cache: self.clone(), missed: Mutex::default() })
    }

    /// Fetches what a verification missed; whether it is there now. The fetch goes on when the delivery that asked for it is cut off: else
    /// its sender could use up every interval and get nothing fetched.
    pub(super) async fn fetch(self: &Arc<Self>, url: &str) -> bool {
        let mut known = self.known.subscribe();
        if self.begin(url) {
            let (cache, url) = (self.clone(), url.to_owned());
            self.supervisor.spawn("certificate", async move {
                let found = match fetch::get(&cache.transport, &url, MAX_CERTIFICATE).await {
                    Ok(pem) => {
                        tracing::info!(url, "fetched a certificate");
                        Found::Pem(pem)
                    }
                    Err(reason) => {
                        tracing::warn!(url, reason, "a certificate could not be fetched");
                        Found::Nothing
                    }
                };
                cache.known.send_modify(|known| {
                    known.insert(url, Entry { tried: cache.clock.now(), found });
                });
            });
        }
        let found = |known: &BTreeMap<String, Entry>| known.get(url).map(|entry| entry.found.clone());
        tokio::select! {
            ended = known.wait_for(|known| found(known) != Some(Found::Fetching)) => {
                ended.is_ok_and(|known| matches!(found(&known), Some(Found::Pem(_))))
            }
            () = self.clock.sleep(WAIT) => false,
        }
    }

    /// Notes the beginning of a fetch, unless it began lately or there were too many.
    fn begin(&self, url: &str) -> bool {
        let now = self.clock.now();
        self.known.send_if_modified(|known| {
            known.retain(|_, entry| now.since(entry.tried) < if matches!(entry.found, Found::Pem(_)) { LIFE } else { PAUSE });
            let lately = known.values().filter(|entry| now.since(entry.tried) < PAUSE).count();
            let may = !known.contains_key(url) && lately < FETCHES;
            if may {
                known.insert(url.to_owned(), Entry { tried: now, found: Found::Fetching });
            }
            may
        })
    }
}

/// One verification's look at the certificates; notes the address of the one that is not there.
#[derive(Debug)]
pub(super) struct Asking {
    cache: Arc<CertificateCache>,
    missed: Mutex<Option<String>>,
}

impl Asking {
    /// The address of the certificate that was not there.
    pub(super) fn missed(&self) -> Option<String> {
        self.missed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Certificates for Asking {
    fn pem(&self, url: &CertificateUrl) -> Option<Vec<u8>> {
        let now = self.cache.clock.now();
        let known = self.cache.known.borrow();
        match known.get(url.as_str()) {
            Some(Entry { tried, found: Found::Pem(pem) }) if now.since(*tried) < LIFE => Some(pem.to_vec()),
            Some(_) | None => {
                *self.missed.lock().unwrap_or_else(PoisonError::into_inner) = Some(url.as_str().to_owned());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::extract::State;
    use axum::http::StatusCode;
    use axum::routing::get;
    use jobgate_adapter_api::{ManualClock, TransportLimits};

    use super::*;

    struct Rig {
        cache: Arc<CertificateCache>,
        clock: Arc<ManualClock>,
        asked: Arc<AtomicUsize>,
        base: String,
        supervisor: Supervisor,
    }

    async fn rig() -> Rig {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
        let supervisor = Supervisor::new(clock.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = async |State(asked): State<Arc<AtomicUsize>>| {
            asked.fetch_add(1, Ordering::SeqCst);
            "pem"
        };
        let app = Router::new()
            .route("/fine.pem", get(count))
            .route("/large.pem", get(async || vec![b'x'; MAX_CERTIFICATE + 1]))
            .route("/moved.pem", get(async || (StatusCode::FOUND, [("location", "/fine.pem")])))
            .with_state(asked.clone());
        supervisor.spawn("server", async move {
            axum::serve(listener, app).await.ok();
        });
        let transport = Transport::new(TransportLimits::default()).unwrap();
        let cache = CertificateCache::new(transport, clock.clone(), supervisor.clone());
        Rig { cache, clock, asked, base, supervisor }
    }

    /// Hostile 89: a certificate is fetched once, whoever asks, and again when it is a day old.
    #[tokio::test]
    async fn a_certificate_is_fetched_once_and_kept() {
        let rig = rig().await;
        let url = format!("{}/fine.pem", rig.base);
        let fetched = futures_util::future::join_all((0..20).map(|_| rig.cache.fetch(&url))).await;
        assert_eq!(fetched, [true; 20]);
        rig.clock.advance(LIFE - Duration::from_secs(1));
        assert!(rig.cache.fetch(&url).await);
        assert_eq!(rig.asked.load(Ordering::SeqCst), 1);
        rig.clock.advance(Duration::from_secs(1));
        assert!(rig.cache.fetch(&url).await);
        assert_eq!(rig.asked.load(Ordering::SeqCst), 2);
        rig.supervisor.kill().await;
    }

    /// Hostile 89: no gigabytes, no redirects, and few addresses a minute, whatever forged messages name.
    #[tokio::test]
    async fn what_is_no_certificate_costs_little() {
        let rig = rig().await;
        for wrong in ["large.pem", "moved.pem", "nothing.pem"] {
            assert!(!rig.cache.fetch(&format!("{}/{wrong}", rig.base)).await, "{wrong}");
        }
        assert_eq!(rig.asked.load(Ordering::SeqCst), 0, "a redirect is not followed");
        for number in 0..100 {
            rig.cache.fetch(&format!("{}/nothing{number}.pem", rig.base)).await;
        }
        assert_eq!(rig.cache.known.borrow().len(), FETCHES);
        let fine = format!("{}/fine.pem", rig.base);
        assert!(!rig.cache.fetch(&fine).await, "a good one waits for its turn as well");
        rig.clock.advance(PAUSE);
        assert!(rig.cache.fetch(&fine).await);
        rig.supervisor.kill().await;
    }
}
