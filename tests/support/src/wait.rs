//! Bounded waits for what happens in another process: the one place in the tests that lets wall-clock time pass.

use std::time::{Duration, Instant};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(25);

/// Looks until there is something to see, at most for `limit`; `None` when the limit has passed.
#[expect(clippy::disallowed_methods, reason = "other processes live on the wall clock")]
pub fn within<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let watch = Watch::start();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if watch.elapsed() >= limit {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

/// As [`within`], for what must be seen.
///
/// # Panics
/// When the limit has passed; says `what` was waited for.
#[track_caller]
pub fn until<T>(what: &str, limit: Duration, look: impl FnMut() -> Option<T>) -> T {
    within(limit, look).unwrap_or_else(|| panic!("waited {} s in vain for {what}", limit.as_secs()))
}

/// As [`until`], for looks that wait for an answer themselves.
///
/// # Panics
/// When the limit has passed; says `what` was waited for.
pub async fn until_async<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let watch = Watch::start();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(watch.elapsed() < limit, "waited {} s in vain for {what}", limit.as_secs());
        pause(PAUSE).await;
    }
}

/// Lets `span` pass: for the moments at which a test strikes, never for something to have happened.
#[expect(clippy::disallowed_methods, reason = "other processes live on the wall clock")]
pub async fn pause(span: Duration) {
    tokio::time::sleep(span).await;
}

/// Measures how long something takes.
#[derive(Debug)]
pub struct Watch {
    began: Instant,
}

impl Watch {
    /// Begins now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "other processes live on the wall clock")]
    pub fn start() -> Self {
        Self { began: Instant::now() }
    }

    /// How long it has run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}
