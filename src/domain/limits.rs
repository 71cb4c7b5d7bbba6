//! How much of the gateway one caller may use up (requirement G4). `None` is unlimited, everywhere.

use std::time::Duration;

/// So many in a span of time, once what may come at once is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// How many come back in each span; at least 1.
    pub count: u32,
    /// The span; more than nothing.
    pub per: Duration,
    /// How many may come at once; at least 1.
    pub burst: u32,
}

/// What each principal may do; an address may do so much more as [`Self::principals_per_address`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerLimits {
    /// Requests of any kind.
    pub calls: Option<Quota>,
    /// Calls of tools that start jobs.
    pub creations: Option<Quota>,
    /// Lists of tools and of tasks.
    pub lists: Option<Quota>,
    /// Requests for a task's result that may block, the gateway's own tools among them.
    pub results: Option<Quota>,
    /// Look-ups of tasks that are not there, or not the caller's.
    pub unknown_ids: Option<Quota>,
    /// Requests without a valid token, from one address.
    pub bad_tokens: Option<Quota>,
    /// Looks at one task in the interval that its answers ask for.
    pub polls_per_interval: Option<u32>,
    /// Streams that are open at once.
    pub streams: Option<usize>,
    /// Requests that wait for a task's end at once.
    pub waiters: Option<usize>,
    /// How many principals an address may be.
    pub principals_per_address: Option<u32>,
}

impl CallerLimits {
    /// No limits: for measurements, and for whoever limits callers elsewhere.
    pub const UNLIMITED: Self = Self {
        calls: None,
        creations: None,
        lists: None,
        results: None,
        unknown_ids: None,
        bad_tokens: None,
        polls_per_interval: None,
        streams: None,
        waiters: None,
        principals_per_address: None,
    };
}

impl Default for CallerLimits {
    fn default() -> Self {
        let a_minute = |count, burst| Some(Quota { count, per: Duration::from_secs(60), burst });
        Self {
            calls: a_minute(6000, 3000),
            creations: a_minute(600, 600),
            lists: a_minute(600, 300),
            results: a_minute(1200, 600),
            unknown_ids: a_minute(60, 60),
            bad_tokens: a_minute(30, 30),
            polls_per_interval: Some(4),
            streams: Some(1000),
            waiters: Some(1000),
            principals_per_address: Some(4),
        }
    }
}
