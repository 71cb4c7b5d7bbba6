//! Token buckets by key, in bounded memory: each key has its own as long as there is room, and then shares one of a few.

use std::fmt;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::{HashMapStateStore, ShrinkableKeyedStateStore};
use governor::{Quota as GovernorQuota, RateLimiter};

use crate::domain::{Clock, Quota, Timestamp};

/// Keys with a bucket of their own.
const OWN: usize = 16 * 1024;
/// Buckets that later keys share. Which one is not to be foretold, so that nobody can empty another one's on purpose.
const SHARED: u64 = 1024;
/// How often full buckets are forgotten.
const SWEEP: Duration = Duration::from_secs(60);

/// Buckets of one size.
pub(super) struct Buckets {
    limiter: RateLimiter<u64, Bounded, Elapsed, NoOpMiddleware<Duration>>,
    hasher: RandomState,
    elapsed: Elapsed,
    /// Milliseconds of [`Elapsed`] at which they are swept next.
    sweep_at: AtomicU64,
}

impl Buckets {
    pub(super) fn new(quota: Quota, elapsed: Elapsed) -> Self {
        let every = (quota.per / quota.count.max(1)).max(Duration::from_nanos(1));
        let burst = NonZeroU32::new(quota.burst).unwrap_or(NonZeroU32::MIN);
        let quota = GovernorQuota::with_period(every).expect("the period is longer than nothing").allow_burst(burst);
        Self {
            limiter: RateLimiter::new(quota, Bounded(HashMapStateStore::default()), elapsed.clone()),
            hasher: RandomState::new(),
            elapsed,
            sweep_at: AtomicU64::new(0),
        }
    }

    /// Takes one token of this key, or says how long until there is one. Two keys with one hash of 64 bits would share a bucket;
    /// nobody can make that happen, since the hash has a key of its own.
    pub(super) fn take(&self, key: &impl Hash) -> Result<(), Duration> {
        let now = self.elapsed.now();
        self.sweep(now);
        let taken = self.limiter.check_key(&self.hasher.hash_one(key));
        taken.map_err(|until| until.wait_time_from(now).max(Duration::from_millis(1)))
    }

    fn sweep(&self, now: Duration) {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let due = self.sweep_at.load(Ordering::Relaxed);
        let swept = || self.sweep_at.compare_exchange(due, millis(now + SWEEP), Ordering::Relaxed, Ordering::Relaxed);
        if millis(now) >= due && swept().is_ok() {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
    }

    /// Buckets that are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.limiter.len()
    }
}

impl fmt::Debug for Buckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").field("len", &self.limiter.len()).finish_non_exhaustive()
    }
}

/// The library's store by key, with a bound.
struct Bounded(HashMapStateStore<u64>);

impl StateStore for Bounded {
    type Key = u64;

    fn measure_and_replace<T, F, E>(&self, key: &u64, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let of_its_own = {
            let buckets = self.0.lock();
            buckets.len() < OWN || buckets.contains_key(key)
        };
        let key = if of_its_own { *key } else { *key % SHARED };
        self.0.measure_and_replace(&key, decide)
    }
}

impl ShrinkableKeyedStateStore<u64> for Bounded {
    fn retain_recent(&self, drop_below: Nanos) {
        self.0.retain_recent(drop_below);
    }

    fn shrink_to_fit(&self) {
        self.0.shrink_to_fit();
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Time that has passed on our clock. A clock that is set back stops it for a moment instead of closing all buckets until the old
/// time is reached again.
#[derive(Clone, Debug)]
pub(super) struct Elapsed {
    clock: Arc<dyn Clock>,
    seen: Arc<Mutex<(Timestamp, Duration)>>,
}

impl Elapsed {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let now = clock.now();
        Self { clock, seen: Arc::new(Mutex::new((now, Duration::ZERO))) }
    }
}

impl GovernorClock for Elapsed {
    type Instant = Duration;

    fn now(&self) -> Duration {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, elapsed) = &mut *seen;
        let now = self.clock.now();
        *elapsed += now.since(*last);
        *last = now;
        *elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ManualClock;

    const SECOND: Duration = Duration::from_secs(1);

    fn buckets(count: u32, burst: u32) -> (Arc<ManualClock>, Buckets) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
        let elapsed = Elapsed::new(clock.clone());
        (clock, Buckets::new(Quota { count, per: SECOND, burst }, elapsed))
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate_to_each_key() {
        let (clock, buckets) = buckets(2, 3);
        for _ in 0..3 {
            assert_eq!(buckets.take(&"ann"), Ok(()));
        }
        assert_eq!(buckets.take(&"ann"), Err(SECOND / 2));
        assert_eq!(buckets.take(&"bob"), Ok(()), "another key has its own");
        clock.advance(SECOND / 2);
        assert_eq!(buckets.take(&"ann"), Ok(()));
        assert!(buckets.take(&"ann").is_err());
    }

    #[test]
    fn a_clock_that_is_set_back_closes_no_bucket() {
        let (clock, buckets) = buckets(1, 1);
        assert_eq!(buckets.take(&1), Ok(()));
        clock.set(Timestamp::from_millis(1_700_000_000_000));
        assert_eq!(buckets.take(&1), Err(SECOND));
        clock.advance(SECOND);
        assert_eq!(buckets.take(&1), Ok(()));
    }

    /// G4: a hundred thousand addresses take no more room than some thousands, and what has rested is forgotten.
    #[test]
    fn memory_is_bounded_and_comes_back() {
        let (clock, buckets) = buckets(1, 1);
        assert_eq!(buckets.take(&"early"), Ok(()));
        for address in 0..100_000_u32 {
            buckets.take(&address).ok();
        }
        assert!(buckets.len() <= OWN + SHARED as usize, "{}", buckets.len());
        assert!(buckets.take(&"early").is_err(), "who came early keeps its own bucket");
        assert!((200_000..201_000_u32).all(|late| buckets.take(&late).is_err()), "who comes late shares emptied ones");
        clock.advance(2 * SWEEP);
        assert_eq!(buckets.take(&"late"), Ok(()));
        assert!(buckets.len() <= 1, "{}", buckets.len());
    }
}
