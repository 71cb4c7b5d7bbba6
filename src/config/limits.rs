//! The words of `limits` and what they mean.

use std::time::Duration;

use jobgate_adapter_api::{HumanDuration, Issues, Place};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::{CallerLimits, Quota};

/// What one caller may use up. What is counted over time is counted for each principal and, with the numbers times
/// `principals_per_address`, for each address; whoever goes beyond is answered HTTP 429 with `Retry-After`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Limits")]
pub(super) struct LimitWords {
    /// Tasks of one principal that have not ended. Default: 1000.
    live_tasks_per_principal: Option<Count>,
    /// Largest arguments of one call, in bytes of JSON. Default: 262144.
    #[schemars(range(min = 1024))]
    argument_bytes: Option<usize>,
    /// Largest result of one job, in bytes of JSON. Default: 1048576.
    #[schemars(range(min = 1024))]
    result_bytes: Option<usize>,
    /// Requests of any kind. Default: 6000 in 1m, 3000 at once.
    calls: Option<QuotaOrUnlimited>,
    /// Calls of tools that start jobs. Default: 600 in 1m, 600 at once.
    creations: Option<QuotaOrUnlimited>,
    /// Lists of tools and of tasks. Default: 600 in 1m, 300 at once.
    lists: Option<QuotaOrUnlimited>,
    /// Requests for a task's result that may block, the gateway's own tools among them. Default: 1200 in 1m, 600 at once.
    results: Option<QuotaOrUnlimited>,
    /// Look-ups of tasks that are not there, or not the caller's. Default: 60 in 1m, 60 at once.
    unknown_ids: Option<QuotaOrUnlimited>,
    /// Requests without a valid token, counted for each address alone. Default: 30 in 1m, 30 at once.
    bad_tokens: Option<QuotaOrUnlimited>,
    /// Looks at one task in the interval that its answers ask for, after 20 at once; further answers are held back until they are
    /// due. Default: 4.
    polls_per_interval: Option<Count>,
    /// Streams of one principal that are open at once. Default: 1000.
    streams_per_principal: Option<Count>,
    /// Requests of one principal that wait for a task's end at once. Default: 1000.
    waiters_per_principal: Option<Count>,
    /// How many principals one address may be, at their limits. Default: 4.
    principals_per_address: Option<Count>,
}

/// So many in a span of time, or no limit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "QuotaOrUnlimited", extend("examples" = [{"count": 600, "per": "1m", "burst": 200}]))]
enum QuotaOrUnlimited {
    Quota(QuotaWords),
    Word(Unlimited),
}

/// So many in a span of time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Quota", extend("examples" = [{"count": 600, "per": "1m"}]))]
struct QuotaWords {
    /// How many come back in each span.
    #[schemars(range(min = 1), extend("examples" = [600]))]
    count: u32,
    /// The span.
    #[schemars(extend("examples" = ["1m"]))]
    per: HumanDuration,
    /// How many may come at once. Default: `count`.
    #[schemars(range(min = 1))]
    burst: Option<u32>,
}

/// A number, or no limit.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "CountOrUnlimited", extend("examples" = [1000]))]
enum Count {
    Number(#[schemars(range(min = 1))] u32),
    Word(Unlimited),
}

/// No limit.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unlimited {
    Unlimited,
}

/// What one caller may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tasks of one principal that have not ended.
    pub live_tasks_per_principal: usize,
    /// Largest arguments, in bytes of JSON.
    pub argument_bytes: usize,
    /// Largest result, in bytes of JSON.
    pub result_bytes: usize,
    /// What one caller may ask for.
    pub callers: CallerLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            live_tasks_per_principal: 1000,
            argument_bytes: 256 * 1024,
            result_bytes: 1024 * 1024,
            callers: CallerLimits::default(),
        }
    }
}

impl Limits {
    pub(super) fn from_words(words: LimitWords, place: &Place, issues: &mut Issues) -> Self {
        let default = Self::default();
        let mut quota = |word: &str, words: Option<QuotaOrUnlimited>, default: Option<Quota>| match words {
            None => default,
            Some(QuotaOrUnlimited::Word(Unlimited::Unlimited)) => None,
            Some(QuotaOrUnlimited::Quota(words)) => {
                let per = words.per.get();
                if per.is_zero() {
                    issues.add_with_hint(place.key(word).key("per"), "has to be longer than nothing", "for example `1m`");
                }
                let per = per.max(Duration::from_millis(1));
                Some(Quota { count: words.count, per, burst: words.burst.unwrap_or(words.count) })
            }
        };
        let usual = default.callers;
        let callers = CallerLimits {
            calls: quota("calls", words.calls, usual.calls),
            creations: quota("creations", words.creations, usual.creations),
            lists: quota("lists", words.lists, usual.lists),
            results: quota("results", words.results, usual.results),
            unknown_ids: quota("unknown_ids", words.unknown_ids, usual.unknown_ids),
            bad_tokens: quota("bad_tokens", words.bad_tokens, usual.bad_tokens),
            polls_per_interval: count(words.polls_per_interval, usual.polls_per_interval),
            streams: size(words.streams_per_principal, usual.streams),
            waiters: size(words.waiters_per_principal, usual.waiters),
            principals_per_address: count(words.principals_per_address, usual.principals_per_address),
        };
        Self {
            live_tasks_per_principal: size(words.live_tasks_per_principal, Some(default.live_tasks_per_principal))
                .unwrap_or(usize::MAX),
            argument_bytes: words.argument_bytes.unwrap_or(default.argument_bytes),
            result_bytes: words.result_bytes.unwrap_or(default.result_bytes),
            callers,
        }
    }
}

fn count(words: Option<Count>, default: Option<u32>) -> Option<u32> {
    match words {
        None => default,
        Some(Count::Number(number)) => Some(number),
        Some(Count::Word(Unlimited::Unlimited)) => None,
    }
}

fn size(words: Option<Count>, default: Option<usize>) -> Option<usize> {
    match words {
        None => default,
        Some(words) => count(Some(words), None).map(|number| usize::try_from(number).unwrap_or(usize::MAX)),
    }
}
