//! Time as a value: whoever needs "now" or a pause is given a [`Clock`].

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

/// A moment: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `ms` milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// This moment plus `span`, at most the largest moment there is.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// ISO 8601 in UTC with milliseconds, as the protocol writes it: `2026-07-28T12:00:00.000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl std::str::FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<jiff::Timestamp>().map(|at| Self(at.as_millisecond()))
    }
}

/// The only source of "now" and of pauses.
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Returns when `now` has reached `at`.
    async fn sleep_until(&self, at: Timestamp);

    /// Returns after `span`.
    async fn sleep(&self, span: Duration) {
        self.sleep_until(self.now().plus(span)).await;
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock that everyone else is given")]
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that everyone else is given")]
    async fn sleep_until(&self, at: Timestamp) {
        // The wall clock may be set back while we sleep; look again until the moment has really come.
        loop {
            let left = at.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct ManualClock {
    now: watch::Sender<Timestamp>,
    sleepers: Mutex<Vec<Timestamp>>,
}

impl ManualClock {
    /// A clock that shows `start`.
    #[must_use]
    pub fn new(start: Timestamp) -> Self {
        Self { now: watch::Sender::new(start), sleepers: Mutex::default() }
    }

    /// Moves the clock forward by `span` and wakes everyone whose moment has come.
    pub fn advance(&self, span: Duration) {
        self.now.send_modify(|now| *now = now.plus(span));
    }

    /// Moves the clock to `at`.
    pub fn set(&self, at: Timestamp) {
        self.now.send_replace(at);
    }

    /// The earliest moment that someone is waiting for.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().min()
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let _registered = Sleeper::register(&self.sleepers, at);
        let mut now = self.now.subscribe();
        // The sender lives as long as `self`, so this ends only when the moment has come.
        now.wait_for(|now| *now >= at).await.ok();
    }
}

/// Notes that someone waits, and forgets it when the wait ends or is dropped.
struct Sleeper<'a> {
    sleepers: &'a Mutex<Vec<Timestamp>>,
    at: Timestamp,
}

impl<'a> Sleeper<'a> {
    fn register(sleepers: &'a Mutex<Vec<Timestamp>>, at: Timestamp) -> Self {
        sleepers.lock().unwrap_or_else(PoisonError::into_inner).push(at);
        Self { sleepers, at }
    }
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = sleepers.iter().position(|at| *at == self.at) {
            sleepers.swap_remove(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_the_protocol_wants_them() {
        let at: Timestamp = "2026-07-28T12:00:00.5Z".parse().unwrap();
        assert_eq!(at.to_string(), "2026-07-28T12:00:00.500Z");
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_the_clock_is_moved_past_its_moment() {
        let clock = ManualClock::new(Timestamp::from_millis(0));
        let sleep = clock.sleep_until(Timestamp::from_millis(50));
        tokio::pin!(sleep);
        assert!(futures_poll(&mut sleep).await.is_pending());
        assert_eq!(clock.next_wake(), Some(Timestamp::from_millis(50)));
        clock.advance(Duration::from_millis(50));
        sleep.await;
        assert_eq!(clock.next_wake(), None);
    }

    async fn futures_poll<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
        std::future::poll_fn(|cx| std::task::Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx))).await
    }
}
