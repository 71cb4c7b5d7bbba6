//! Limits per principal and per address (requirements D1, G4, L5): who asks for too much is told so, and when to come back.
//!
//! The dispatcher asks [`Limits::called`] for every message and [`Limits::asked`] for every method; a dialect asks
//! [`Limits::polled`] before it shows a task, turns "not found" into an answer by [`Limits::unknown`], and holds a
//! [`Limits::stream`] or [`Limits::waiter`] for as long as it keeps one open.

mod buckets;
mod counters;
mod slots;

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

pub use counters::{Counters, LimitKind};
pub(crate) use slots::Slot;

use buckets::{Buckets, Elapsed};
use slots::Slots;

use super::error::RpcError;
use super::frontend::RequestContext;
use crate::domain::{CallerLimits, Clock, OWN_TOOLS, Principal, Quota, TaskId};

/// Looks at one task that may come at once: clients look several times while a task is young.
const POLL_BURST: u32 = 20;
/// The shortest interval of a class of tasks; each class has one twice as long.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(250);
/// Classes of tasks by their interval: up to 128 s.
const CLASSES: u32 = 10;
/// How long an answer that comes too soon is held back. Clients take a late answer for what it is, and a refusal often for the end.
const HELD_BACK: Duration = Duration::from_secs(10);
/// When to come back where nobody knows when there will be room.
const SOON: Duration = Duration::from_secs(5);

/// All limits of a gateway.
#[derive(Debug)]
pub struct Limits {
    clock: Arc<dyn Clock>,
    calls: Pair,
    creations: Pair,
    lists: Pair,
    results: Pair,
    unknown_ids: Pair,
    bad_tokens: Option<Buckets>,
    /// By the length of the interval.
    polls: Vec<Buckets>,
    streams: Slots,
    waiters: Slots,
    counters: Counters,
}

/// One limit for principals and one for addresses.
#[derive(Debug)]
struct Pair {
    principals: Option<Buckets>,
    addresses: Option<Buckets>,
}

/// Whether a look at a task was in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It was.
    InTime,
    /// It came too soon and was held back: what was read before is old.
    HeldBack,
}

/// Who is limited: a principal, and where it calls from.
struct Whose<'a> {
    principal: &'a Principal,
    network: Option<IpAddr>,
}

impl Limits {
    /// Limits with nothing used up.
    #[must_use]
    pub fn new(limits: &CallerLimits, clock: Arc<dyn Clock>) -> Self {
        let elapsed = Elapsed::new(clock.clone());
        let buckets = |quota: Option<Quota>| quota.map(|quota| Buckets::new(quota, elapsed.clone()));
        let pair = |quota: Option<Quota>| Pair {
            principals: buckets(quota),
            addresses: buckets(quota.zip(limits.principals_per_address).map(|(quota, share)| Quota {
                count: quota.count.saturating_mul(share),
                burst: quota.burst.saturating_mul(share),
                ..quota
            })),
        };
        let polls = limits.polls_per_interval.map(|count| {
            (0..CLASSES).map(move |class| Quota { count, per: SHORTEST_INTERVAL * (1 << class), burst: count.max(POLL_BURST) })
        });
        Self {
            calls: pair(limits.calls),
            creations: pair(limits.creations),
            lists: pair(limits.lists),
            results: pair(limits.results),
            unknown_ids: pair(limits.unknown_ids),
            bad_tokens: buckets(limits.bad_tokens),
            polls: polls.into_iter().flatten().filter_map(|quota| buckets(Some(quota))).collect(),
            streams: Slots::new(limits.streams),
            waiters: Slots::new(limits.waiters),
            counters: Counters::default(),
            clock,
        }
    }

    /// What was asked for and what was refused.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Streams that are open now, everybody's.
    #[must_use]
    pub fn open_streams(&self) -> u64 {
        self.streams.in_all()
    }

    /// Requests that wait for a task's end now, everybody's.
    #[must_use]
    pub fn open_waiters(&self) -> u64 {
        self.waiters.in_all()
    }

    /// Counts a message of any kind, before it is read.
    ///
    /// # Errors
    /// 429 beyond the limit.
    pub(crate) fn called(&self, context: &RequestContext) -> Result<(), RpcError> {
        self.take(LimitKind::Calls, &self.calls, context)
    }

    /// Counts a request by its method, and a call by its tool.
    ///
    /// # Errors
    /// 429 beyond the limit.
    pub(crate) fn asked(&self, context: &RequestContext, method: &str, tool: Option<&str>) -> Result<(), RpcError> {
        match method {
            // The gateway's own tools ask after a job and start none.
            "tools/call" if tool.is_some_and(|tool| OWN_TOOLS.contains(&tool)) => {
                self.take(LimitKind::Results, &self.results, context)
            }
            "tools/call" => self.take(LimitKind::Creations, &self.creations, context),
            "tools/list" | "tasks/list" | "resources/list" | "resources/templates/list" => {
                self.take(LimitKind::Lists, &self.lists, context)
            }
            "tasks/result" | "resources/read" => self.take(LimitKind::Results, &self.results, context),
            _ => Ok(()),
        }
    }

    /// Counts a look at a task whose answers ask to come back after `interval`. A client that looks more often is slowed down: its
    /// answer is held back until it is due (requirement D1).
    ///
    /// # Errors
    /// 429 where so many look at once that holding back is no help.
    pub(crate) async fn polled(&self, context: &RequestContext, task: &TaskId, interval: Duration) -> Result<Looked, RpcError> {
        self.counters.see(LimitKind::Polls);
        let Some(buckets) = self.polls.get(class(interval)) else { return Ok(Looked::InTime) };
        let until = self.clock.now().plus(HELD_BACK);
        let mut looked = Looked::InTime;
        loop {
            let Err(wait) = buckets.take(&(&context.caller.principal, task)) else { return Ok(looked) };
            if std::mem::replace(&mut looked, Looked::HeldBack) == Looked::InTime {
                self.counters.refuse(LimitKind::Polls, &Whose::of(context), &*self.clock);
            }
            if self.clock.now().plus(wait) > until {
                return Err(refusal(LimitKind::Polls, wait));
            }
            tokio::select! {
                () = self.clock.sleep(wait) => {}
                // Nobody waits for the answer any more, so it may be any.
                () = context.cancel.cancelled() => return Err(refusal(LimitKind::Polls, wait)),
            }
        }
    }

    /// The answer to a look-up that found nothing: `error`, or 429 where there were too many of them.
    pub(crate) fn unknown(&self, context: &RequestContext, error: RpcError) -> RpcError {
        match self.take(LimitKind::UnknownIds, &self.unknown_ids, context) {
            Ok(()) => error,
            Err(refusal) => refusal,
        }
    }

    /// Room for a stream, until the slot is dropped.
    ///
    /// # Errors
    /// 429 where the caller has too many open.
    pub(crate) fn stream(&self, context: &RequestContext) -> Result<Slot, RpcError> {
        self.slot(LimitKind::Streams, &self.streams, context)
    }

    /// Room for a request that waits for a task's end, until the slot is dropped.
    ///
    /// # Errors
    /// 429 where too many of the caller's wait.
    pub(crate) fn waiter(&self, context: &RequestContext) -> Result<Slot, RpcError> {
        self.slot(LimitKind::Waiters, &self.waiters, context)
    }

    /// Counts a request without a valid token from an address.
    ///
    /// # Errors
    /// 429 beyond the limit.
    pub fn bad_token(&self, address: Option<IpAddr>) -> Result<(), RpcError> {
        self.counters.see(LimitKind::BadTokens);
        let network = address.map(network);
        let Some(Err(wait)) = self.bad_tokens.as_ref().map(|buckets| buckets.take(&network)) else { return Ok(()) };
        let whose = network.map_or_else(|| "an unknown address".to_owned(), |network| network.to_string());
        self.counters.refuse(LimitKind::BadTokens, &whose, &*self.clock);
        Err(refusal(LimitKind::BadTokens, wait))
    }

    fn take(&self, kind: LimitKind, pair: &Pair, context: &RequestContext) -> Result<(), RpcError> {
        self.counters.see(kind);
        let whose = Whose::of(context);
        let of_principal = pair.principals.as_ref().map_or(Ok(()), |buckets| buckets.take(&whose.key()));
        let taken = of_principal.and_then(|()| match (&pair.addresses, whose.network) {
            (Some(buckets), Some(network)) => buckets.take(&network),
            _ => Ok(()),
        });
        taken.map_err(|wait| {
            self.counters.refuse(kind, &whose, &*self.clock);
            refusal(kind, wait)
        })
    }

    fn slot(&self, kind: LimitKind, slots: &Slots, context: &RequestContext) -> Result<Slot, RpcError> {
        self.counters.see(kind);
        let whose = Whose::of(context);
        slots.take(&whose.to_string()).ok_or_else(|| {
            self.counters.refuse(kind, &whose, &*self.clock);
            refusal(kind, SOON)
        })
    }
}

impl<'a> Whose<'a> {
    fn of(context: &'a RequestContext) -> Self {
        Self { principal: &context.caller.principal, network: context.address.map(network) }
    }

    /// Where nobody says who calls, everybody has one name, and each address counts as a principal of its own: one that asks for too
    /// much does not shut the others out.
    fn key(&self) -> (&Principal, Option<IpAddr>) {
        (self.principal, self.network.filter(|_| *self.principal == Principal::local()))
    }
}

impl fmt::Display for Whose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key() {
            (principal, Some(network)) => write!(f, "{principal} at {network}"),
            (principal, None) => principal.fmt(f),
        }
    }
}

/// The class of tasks with this interval: the longest that is not longer than it.
fn class(interval: Duration) -> usize {
    let shortest = SHORTEST_INTERVAL.as_millis();
    let times = (interval.as_millis() / shortest).max(1);
    usize::try_from(times.ilog2().min(CLASSES - 1)).unwrap_or(0)
}

/// What counts as one address: whoever has one of version 6 has the other 2^64 of its network, too (RFC 4291, section 2.5.4).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn refusal(kind: LimitKind, wait: Duration) -> RpcError {
    let seconds = u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
    RpcError::limited(format!("{}; come back in {seconds} s", kind.too_much()), seconds)
}

#[cfg(test)]
mod tests;
