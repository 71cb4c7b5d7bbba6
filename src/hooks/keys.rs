//! Key sets of providers: fetched when they are needed, kept, and fetched again at most once an interval, whoever asks.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{Clock, Timestamp, Transport};
use jobgate_webhooks::{KeySet, MAX_KEY_SET, Secrets};
use tokio::sync::watch;

use super::fetch::{self, WAIT};
use crate::engine::Supervisor;

/// The shortest time between two fetches when the first one failed: until there are keys, every delivery waits for its sender's next try.
const AGAIN: Duration = Duration::from_secs(30);
/// How long a set is used that cannot be fetched again: a withdrawn key must not be good for ever.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a provider publishes its keys (JWKS, RFC 7517).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySource {
    /// The address.
    pub url: String,
    /// The age at which a set is fetched again, and the shortest time between two fetches, whatever deliveries name: it bounds what
    /// forged ones can cause. After a fetch that failed it is half a minute, if that is shorter.
    pub refresh: Duration,
}

/// The key set of one route, beside its secrets.
pub(super) struct KeyCache {
    source: KeySource,
    secrets: Secrets,
    transport: Transport,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
    state: watch::Sender<State>,
}

#[derive(Clone, Default)]
struct State {
    held: Option<Held>,
    /// When a fetch began, unless it has ended.
    fetching: Option<Timestamp>,
    /// When the last fetch began.
    tried: Option<Timestamp>,
    /// Whether it gave nothing.
    failed: bool,
}

/// A route's secrets with a key set.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) secrets: Arc<Secrets>,
    at: Timestamp,
    number: u64,
}

impl fmt::Debug for KeyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCache").field("source", &self.source).finish_non_exhaustive()
    }
}

impl KeyCache {
    pub(super) fn new(
        source: KeySource,
        secrets: Secrets,
        transport: Transport,
        clock: Arc<dyn Clock>,
        supervisor: Supervisor,
    ) -> Arc<Self> {
        Arc::new(Self { source, secrets, transport, clock, supervisor, state: watch::Sender::new(State::default()) })
    }

    /// The set that is there, if it is not too old. One that has come of age is fetched again meanwhile.
    pub(super) fn held(self: &Arc<Self>) -> Option<Held> {
        let held = self.state.borrow().held.clone()?;
        if self.clock.now().since(held.at) >= self.source.refresh {
            self.fetch();
        }
        self.is_good(&held).then_some(held)
    }

    fn is_good(&self, held: &Held) -> bool {
        self.clock.now().since(held.at) < LONGEST.max(self.source.refresh.saturating_mul(2))
    }

    /// A newer set than `than`, fetched if none is there and the interval has passed.
    pub(super) async fn newer(self: &Arc<Self>, than: Option<&Held>) -> Option<Held> {
        let is_newer = |held: &Held| self.is_good(held) && than.is_none_or(|than| held.number > than.number);
        let newer = |state: &State| state.held.clone().filter(is_newer);
        let mut state = self.state.subscribe();
        if let Some(held) = newer(&state.borrow()) {
            return Some(held);
        }
        self.fetch();
        tokio::select! {
            ended = state.wait_for(|state| state.fetching.is_none()) => newer(&*ended.ok()?),
            () = self.clock.sleep(WAIT) => None,
        }
    }

    /// Starts a fetch, unless the last one began less than an interval ago. It goes on when the delivery that asked for it is cut off:
    /// else its sender could use up every interval and get nothing fetched.
    fn fetch(self: &Arc<Self>) {
        let now = self.clock.now();
        let began = self.state.send_if_modified(|state| {
            let pause = if state.failed { AGAIN.min(self.source.refresh) } else { self.source.refresh };
            let due = state.tried.is_none_or(|tried| now.since(tried) >= pause);
            if due {
                state.tried = Some(now);
                state.fetching = Some(now);
            }
            due
        });
        if !began {
            return;
        }
        let cache = self.clone();
        self.supervisor.spawn("key set", async move {
            let fetched = fetch::get(&cache.transport, &cache.source.url, MAX_KEY_SET).await;
            let keys = fetched.and_then(|text| KeySet::from_jwks(&text).map_err(|problem| problem.to_string()));
            cache.state.send_modify(|state| {
                state.fetching = None;
                state.failed = keys.is_err();
                match keys {
                    Ok(keys) => {
                        let secrets = Arc::new(cache.secrets.clone().with_key_set(keys));
                        let number = state.held.as_ref().map_or(0, |held| held.number) + 1;
                        state.held = Some(Held { secrets, at: cache.clock.now(), number });
                        tracing::info!(url = cache.source.url, "fetched a key set");
                    }
                    Err(reason) => tracing::warn!(url = cache.source.url, reason, "a key set could not be fetched"),
                }
            });
        });
    }
}
