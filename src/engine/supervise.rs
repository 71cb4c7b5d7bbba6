//! Tasks of the runtime under supervision: the only place that starts one, so that none is forgotten at shutdown.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::Clock;

/// The pause before a loop that panicked is started again: the first, and the longest after doubling.
const RESTART: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Starts work and knows of all that runs. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Supervisor {
    clock: Arc<dyn Clock>,
    /// Our own work, and the work of those that we are a part of: they wait for ours, too.
    trackers: Vec<TaskTracker>,
    stopping: CancellationToken,
    killed: CancellationToken,
}

impl Supervisor {
    /// A supervisor with nothing to do yet.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, trackers: vec![TaskTracker::new()], stopping: CancellationToken::new(), killed: CancellationToken::new() }
    }

    /// A supervisor for a part: it can be shut down alone, and it is shut down with this one.
    #[must_use]
    pub fn part(&self) -> Self {
        let mut trackers = self.trackers.clone();
        trackers.insert(0, TaskTracker::new());
        Self { clock: self.clock.clone(), trackers, stopping: self.stopping.child_token(), killed: self.killed.child_token() }
    }

    /// Cancelled when a shutdown begins: from then on nobody starts anything new.
    #[must_use]
    pub const fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Runs `work` to its end, or until the grace of a shutdown has passed: then it is dropped where it stands. A panic is logged
    /// with `name` and ends this piece of work alone.
    pub fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let killed = self.killed.clone();
        let others: Vec<_> = self.trackers.iter().skip(1).map(TaskTracker::token).collect();
        self.trackers[0].spawn(async move {
            tokio::select! {
                biased;
                () = killed.cancelled() => {}
                ended = AssertUnwindSafe(work).catch_unwind() => if ended.is_err() {
                    tracing::error!(work = name, "panicked");
                },
            }
            drop(others);
        });
    }

    /// Runs `work` in the caller's own time and has a shutdown wait for it; `None` when the grace of the shutdown passed first.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let _held: Vec<_> = self.trackers.iter().map(TaskTracker::token).collect();
        tokio::select! {
            biased;
            () = self.killed.cancelled() => None,
            value = work => Some(value),
        }
    }

    /// Runs a loop that ends by itself once [`Supervisor::stopping`] is cancelled. One that panics is started again, after a pause
    /// that grows while it keeps panicking.
    pub fn spawn_loop<F, W>(&self, name: &'static str, mut start: F)
    where
        F: FnMut() -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let (clock, stopping) = (self.clock.clone(), self.stopping.clone());
        self.spawn(name, async move {
            let mut pause = RESTART.0;
            loop {
                let began = clock.now();
                if AssertUnwindSafe(start()).catch_unwind().await.is_ok() {
                    return;
                }
                if clock.now().since(began) > RESTART.1 {
                    pause = RESTART.0;
                }
                tracing::error!(work = name, pause_s = pause.as_secs(), "panicked; it is started again after a pause");
                tokio::select! {
                    () = stopping.cancelled() => return,
                    () = clock.sleep(pause) => {}
                }
                pause = (pause * 2).min(RESTART.1);
            }
        });
    }

    /// Asks everything to end and waits for it, at most for `grace`; what still runs then is dropped where it stands. Says whether
    /// everything ended by itself.
    pub async fn shutdown(&self, grace: Duration) -> bool {
        self.stopping.cancel();
        self.trackers[0].close();
        let in_time = tokio::select! {
            () = self.trackers[0].wait() => true,
            () = self.clock.sleep(grace) => false,
        };
        self.kill().await;
        in_time
    }

    /// Drops everything where it stands, as a crash would, and waits until it is gone.
    pub async fn kill(&self) {
        self.stopping.cancel();
        self.killed.cancel();
        self.trackers[0].close();
        self.trackers[0].wait().await;
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("running", &self.trackers[0].len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::domain::{ManualClock, Timestamp};

    fn supervisor() -> (Arc<ManualClock>, Supervisor) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
        (clock.clone(), Supervisor::new(clock))
    }

    async fn settle() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    /// A loop that panics is started again, after a pause; one that returns is not.
    #[tokio::test]
    async fn a_loop_outlives_its_panics() {
        let (clock, supervisor) = supervisor();
        let starts = Arc::new(AtomicUsize::new(0));
        let counted = starts.clone();
        supervisor.spawn_loop("test", move || {
            let start = counted.fetch_add(1, Ordering::SeqCst);
            async move { assert!(start >= 2, "as the test wants it") }
        });
        settle().await;
        assert_eq!(starts.load(Ordering::SeqCst), 1);
        for (pause, expected) in [(1, 2), (1, 2), (1, 3), (3600, 3)] {
            clock.advance(Duration::from_secs(pause));
            settle().await;
            assert_eq!(starts.load(Ordering::SeqCst), expected);
        }
        assert!(supervisor.shutdown(Duration::from_secs(1)).await);
    }

    /// A shutdown waits for the work of its parts, and drops what does not end within the grace.
    #[tokio::test]
    async fn a_shutdown_waits_for_parts_and_ends_them() {
        let (clock, supervisor) = supervisor();
        let part = supervisor.part();
        let ended = Arc::new(AtomicUsize::new(0));
        let (counted, sleeper) = (ended.clone(), clock.clone());
        part.spawn("quick", async move {
            sleeper.sleep(Duration::from_secs(2)).await;
            counted.fetch_add(1, Ordering::SeqCst);
        });
        part.spawn("endless", std::future::pending());
        let shutdown = supervisor.shutdown(Duration::from_secs(5));
        tokio::pin!(shutdown);
        for (second, done) in [(0, 0), (1, 0), (2, 1), (4, 1)] {
            clock.set(Timestamp::from_millis(second * 1000));
            tokio::select! {
                biased;
                _ = &mut shutdown => panic!("ended with work to do"),
                () = settle() => {}
            }
            assert_eq!(ended.load(Ordering::SeqCst), done);
        }
        clock.set(Timestamp::from_millis(5000));
        assert!(!shutdown.await, "not everything ended by itself");
        assert!(part.stopping().is_cancelled());
    }
}
