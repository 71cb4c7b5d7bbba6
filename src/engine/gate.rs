//! What a provider can bear: calls at once, calls over time, and a rest while it fails (requirement K1).

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock as GovernorClock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use jobgate_adapter_api::{AdapterError, ErrorKind, Operation, Retry};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Observer, ProviderLimits};
use crate::domain::{Clock, ProviderName, Random, Timestamp};

/// So many failures in a row, and the provider is left alone for a while.
const FAILURES: u32 = 5;
/// The first pause, and the longest after doubling.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How soon to look again while another call finds out whether the provider is back.
const PROBE_RECHECK: Duration = Duration::from_secs(1);
/// An adapter ends its calls itself; this much later the engine does.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// The way to one provider.
pub(super) struct Gate {
    provider: ProviderName,
    permits: Arc<Semaphore>,
    limiter: Option<Limiter>,
    breaker: Mutex<Breaker>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    observer: Arc<dyn Observer>,
    call_timeout: Duration,
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, EngineClock, NoOpMiddleware<Duration>>;

/// Our clock, as the rate limiter wants it.
#[derive(Clone)]
struct EngineClock(Arc<dyn Clock>);

impl GovernorClock for EngineClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.now().since(Timestamp::from_millis(0))
    }
}

#[derive(Debug, Default)]
struct Breaker {
    /// Failures in a row.
    failures: u32,
    /// Pauses in a row.
    pauses: u32,
    /// No call before this moment. Once it has come, one call finds out whether the provider is back.
    open_until: Option<Timestamp>,
    probing: bool,
}

/// A place among the calls at once; good for one call after the other.
#[derive(Debug)]
pub(super) struct Pass {
    _permit: OwnedSemaphorePermit,
    paid: bool,
}

/// The right to make one call now. Dropped unused, it leaves no trace.
pub(super) struct Turn {
    gate: Arc<Gate>,
    probe: bool,
}

impl Gate {
    pub(super) fn new(
        provider: ProviderName,
        limits: ProviderLimits,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let limiter = limits.rate.map(|rate| {
            let calls = rate.calls.max(1);
            let every = (rate.per / calls).max(Duration::from_nanos(1));
            // A tenth at once: a full window's worth would let twice the limit through in its first window.
            let burst = NonZeroU32::new(calls.div_ceil(10)).unwrap_or(NonZeroU32::MIN);
            let quota = Quota::with_period(every).expect("the period is longer than nothing").allow_burst(burst);
            RateLimiter::direct_with_clock(quota, EngineClock(clock.clone()))
        });
        let permits = Arc::new(Semaphore::new(limits.concurrency.clamp(1, Semaphore::MAX_PERMITS)));
        let (breaker, call_timeout) = (Mutex::default(), limits.call_timeout);
        Self { provider, permits, limiter, breaker, clock, random, observer, call_timeout }
    }

    /// A pass and a turn, if a call can be made this very moment.
    pub(super) fn try_turn(self: &Arc<Self>) -> Option<(Pass, Turn)> {
        if self.breaker().open_until.is_some() {
            return None;
        }
        let permit = self.permits.clone().try_acquire_owned().ok()?;
        if self.limiter.as_ref().is_some_and(|limiter| limiter.check().is_err()) {
            return None;
        }
        Some((Pass { _permit: permit, paid: false }, Turn { gate: self.clone(), probe: false }))
    }

    /// Waits for a place, and for the rate to allow a call.
    pub(super) async fn pass(&self) -> Pass {
        let permit = self.permits.clone().acquire_owned().await.expect("the semaphore is never closed");
        let mut pass = Pass { _permit: permit, paid: false };
        self.pay(&mut pass).await;
        pass
    }

    /// Further places that are free now, `limit` at most; none where calls are counted over time, since what is not used is lost.
    pub(super) fn more(&self, limit: usize) -> Vec<Pass> {
        if self.limiter.is_some() || self.breaker().open_until.is_some() {
            return Vec::new();
        }
        let free = std::iter::from_fn(|| self.permits.clone().try_acquire_owned().ok());
        free.take(limit).map(|permit| Pass { _permit: permit, paid: false }).collect()
    }

    /// The moment before which no call is made; `None` when one can be.
    pub(super) fn closed_until(&self) -> Option<Timestamp> {
        self.breaker().closed_until(self.clock.now())
    }

    /// The right to make a call, once the rate allows it.
    ///
    /// # Errors
    /// The moment to look again when the provider is left alone for now.
    pub(super) async fn turn(self: &Arc<Self>, pass: &mut Pass) -> Result<Turn, Timestamp> {
        self.pay(pass).await;
        let probe = {
            let mut breaker = self.breaker();
            if let Some(until) = breaker.closed_until(self.clock.now()) {
                return Err(until);
            }
            breaker.probing = breaker.open_until.is_some();
            breaker.probing
        };
        pass.paid = false;
        Ok(Turn { gate: self.clone(), probe })
    }

    async fn pay(&self, pass: &mut Pass) {
        let Some(limiter) = self.limiter.as_ref().filter(|_| !pass.paid) else { return };
        while let Err(not_yet) = limiter.check() {
            let at = Timestamp::from_millis(0).plus(not_yet.earliest_possible() + Duration::from_millis(1));
            self.clock.sleep_until(at).await;
        }
        pass.paid = true;
    }

    fn record(&self, error: Option<&AdapterError>) {
        let now = self.clock.now();
        let mut breaker = self.breaker();
        // The answer to a call that began before a pause ends no pause, and makes none longer.
        let resting = breaker.open_until.is_some_and(|until| until > now);
        let asked = match error.map(|error| (error.kind(), error.retry())) {
            Some((ErrorKind::RateLimited, Retry::After(pause))) => Some(pause),
            Some((ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::OutcomeUnknown, _)) => None,
            // Whatever else it says, it answers.
            Some(_) | None if resting => return,
            Some(_) | None => {
                *breaker = Breaker::default();
                return;
            }
        };
        breaker.failures = breaker.failures.saturating_add(1);
        let pause = match asked {
            Some(pause) => pause,
            None if !resting && (breaker.open_until.is_some() || breaker.failures >= FAILURES) => {
                let pause = PAUSE.0.saturating_mul(1 << breaker.pauses.min(10)).min(PAUSE.1);
                breaker.pauses = breaker.pauses.saturating_add(1);
                pause.mul_f64(1.0 + self.random.unit() / 10.0)
            }
            None => return,
        };
        breaker.open_until = breaker.open_until.max(Some(now.plus(pause)));
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Breaker {
    fn closed_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self.open_until {
            Some(until) if until > now => Some(until),
            Some(_) if self.probing => Some(now.plus(PROBE_RECHECK)),
            Some(_) | None => None,
        }
    }
}

impl Turn {
    /// Makes the call, and remembers whether the provider answered. A call that takes too long is dropped.
    pub(super) async fn run<T>(
        self,
        operation: Operation,
        call: impl Future<Output = Result<T, AdapterError>>,
    ) -> Result<T, AdapterError> {
        let gate = &self.gate;
        let since = gate.clock.now();
        let answer = tokio::select! {
            biased;
            answer = call => answer,
            () = gate.clock.sleep(gate.call_timeout + TIMEOUT_MARGIN) => {
                let kind = if operation == Operation::Submit { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
                let message = format!("the provider did not answer within {} s", gate.call_timeout.as_secs_f64());
                Err(AdapterError::new(kind, operation, message))
            }
        };
        let failed = answer.as_ref().err();
        gate.observer.called(&gate.provider, operation, failed.map(AdapterError::kind), gate.clock.now().since(since));
        gate.record(failed);
        if let Err(error) = &answer {
            tracing::warn!(%operation, kind = error.kind().as_str(), status = error.status(), error = %error, "call failed");
        }
        answer
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.probe {
            self.gate.breaker().probing = false;
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("free", &self.permits.available_permits()).finish_non_exhaustive()
    }
}
