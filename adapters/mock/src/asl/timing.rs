//! How long things take: waits, pauses between attempts, counts that climb.

use jobgate_adapter_api::Timestamp;
use serde_json::Value;

use super::fault::Fault;
use super::machine::{Retrier, StatedProgress, WaitFor};
use super::run::Runner;

impl Runner<'_> {
    /// The moment at which a Wait state ends.
    pub(crate) fn wait_end(&self, wait: &WaitFor, input: &Value, start: i64) -> Result<i64, Fault> {
        let until = match wait {
            WaitFor::Span(span) => start.saturating_add(self.span(span, input)?),
            WaitFor::Until(moment) => *moment,
            WaitFor::UntilPath(path) => {
                let moment: Option<Timestamp> = self.look(path, input)?.as_str().and_then(|text| text.parse().ok());
                moment.ok_or_else(|| Fault::runtime(format!("what `{path}` names is no moment")))?.as_millis()
            }
        };
        // A moment that has passed already is not waited for.
        Ok(until.max(start))
    }
}

impl Retrier {
    /// Milliseconds before the next attempt when `used` retries were made already.
    pub(crate) fn pause(&self, used: u64) -> i64 {
        let factor = self.rate.powf(used as f64);
        // The cast saturates, and the cap keeps the sum of many pauses countable.
        let pause = (self.interval as f64 * factor).round() as i64;
        pause.min(self.longest.unwrap_or(i64::MAX)).clamp(1, i64::MAX / 1024)
    }
}

impl StatedProgress {
    /// The count at `now` on the way from `start` to `end`, and when it changes next.
    pub(crate) fn at(self, start: i64, end: i64, now: i64) -> (f64, i64) {
        let (steps, span) = (i128::from(self.steps), i128::from(end) - i128::from(start));
        if span <= 0 {
            return (self.done, end);
        }
        let step = (i128::from(now) - i128::from(start)) * steps / span;
        let done = self.from + (self.done - self.from) * (step as f64) / f64::from(self.steps);
        // Rounded up, so that a look at that moment sees the new count.
        let next = i128::from(start) + ((step + 1) * span + steps - 1) / steps;
        (done, i64::try_from(next).unwrap_or(end).min(end))
    }
}
