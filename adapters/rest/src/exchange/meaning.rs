//! What an answer means before HTTP says so, and how long its provider wants to be left alone.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName};
use jobgate_adapter_api::{AdapterError, ERROR_CHARS, ErrorKind, Operation, Retry, Timestamp, parse_retry_after};

use super::{Answer, Exchange, unusable};
use crate::language::{Context, seconds_of};
use crate::plan::ErrorPlan;
use crate::words::{Meaning, ResetUnit};

/// The longest that a count of calls that has run out is believed: a wrong unit must not shut a provider out for days.
const LONGEST_REST: Duration = Duration::from_secs(60 * 60);
/// The longest that a provider is left alone at its word.
const LONGEST_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Until when the provider allows no calls: of its budget, not of any job.
#[derive(Debug, Default)]
pub(crate) struct Rest(Mutex<Option<Timestamp>>);

impl Exchange {
    /// Refuses a call that the provider would refuse.
    pub(super) fn rested(&self, operation: Operation) -> Result<(), AdapterError> {
        let until = *self.rest.0.lock().unwrap_or_else(PoisonError::into_inner);
        match until.map(|until| until.since(self.clock.now())) {
            Some(left) if !left.is_zero() => {
                let message = "the provider has said that it allows no more calls for now";
                Err(AdapterError::new(ErrorKind::RateLimited, operation, message).with_retry(Retry::After(left)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The error that the provider's words make of an answer, and a note of the calls that it has left.
    pub(super) fn mean(&self, operation: Operation, answer: &Answer, context: &Context) -> Result<(), AdapterError> {
        if let Some(left) = self.ran_out(&answer.headers) {
            let until = self.clock.now().plus(left);
            *self.rest.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
        let mut described = None;
        for error in &self.plan.errors {
            if error.code.as_ref().is_some_and(|codes| !codes.contains(answer.status.as_u16())) {
                continue;
            }
            let context: &Context = described.get_or_insert_with(|| {
                let mut context = context.clone();
                answer.describe(&mut context);
                context
            });
            let holds = |when| self.plan.engine.holds(when, context).map_err(|faulty| self.lacks(operation, &faulty));
            if error.when.as_ref().map_or(Ok(true), holds)? {
                return Err(self.meant(operation, error, answer, context));
            }
        }
        Ok(())
    }

    fn meant(&self, operation: Operation, plan: &ErrorPlan, answer: &Answer, context: &Context) -> AdapterError {
        let code = answer.status.as_u16();
        let own = [plan.message.as_ref(), self.plan.error_message.as_ref()];
        let said = own.into_iter().flatten().find_map(|text| self.sentence(text, context, ERROR_CHARS));
        let message = said.unwrap_or_else(|| format!("the provider answered with status {code}"));
        let kind = match plan.means {
            Meaning::RateLimited => ErrorKind::RateLimited,
            Meaning::Unavailable => ErrorKind::Unavailable,
            Meaning::Rejected => ErrorKind::Rejected,
            Meaning::NotFound => ErrorKind::NotFound,
            Meaning::Unauthorized => ErrorKind::Unauthorized,
            Meaning::Unreadable => return unusable(operation, message).with_status(code),
        };
        let error = AdapterError::new(kind, operation, message).with_status(code);
        if !matches!(kind, ErrorKind::RateLimited | ErrorKind::Unavailable) {
            return error;
        }
        let seconds = plan.after.as_ref().and_then(|text| self.plan.engine.string_if_any(text, context).ok().flatten());
        let after = seconds.and_then(|text| span(&text, 1.0)).map(|after| after.min(LONGEST_AFTER));
        match after.or_else(|| parse_retry_after(&answer.headers, self.clock.now())) {
            Some(after) => error.with_retry(Retry::After(after)),
            None => self.paced(error, &answer.headers),
        }
    }

    /// With the moment at which calls are allowed again, where the provider says it in a header of its own and not in `Retry-After`.
    pub(crate) fn paced(&self, error: AdapterError, headers: &HeaderMap) -> AdapterError {
        let waits = error.kind() == ErrorKind::RateLimited && error.retry() == Retry::Backoff;
        match self.reset(headers).filter(|_| waits) {
            Some(left) => error.with_retry(Retry::After(left.min(LONGEST_AFTER))),
            None => error,
        }
    }

    /// How long the provider wants to be left alone after a good answer.
    pub(crate) fn asked_for(&self, headers: &HeaderMap) -> Option<Duration> {
        parse_retry_after(headers, self.clock.now()).max(self.ran_out(headers))
    }

    /// The time until the reset, where no calls are left.
    fn ran_out(&self, headers: &HeaderMap) -> Option<Duration> {
        let remaining = self.plan.pace.as_ref()?.remaining.as_ref()?;
        let left: f64 = text(headers, remaining)?.parse().ok()?;
        self.reset(headers).filter(|_| left <= 0.0).map(|left| left.min(LONGEST_REST))
    }

    fn reset(&self, headers: &HeaderMap) -> Option<Duration> {
        let pace = self.plan.pace.as_ref()?;
        let (value, now) = (text(headers, &pace.reset)?, self.clock.now());
        let since_1970 = |unit| Some(Timestamp::default().plus(span(value, unit)?).since(now));
        match pace.unit {
            ResetUnit::Seconds => span(value, 1.0),
            // A bare number has no unit, so nobody knows what it is.
            ResetUnit::Span if value.parse::<f64>().is_ok() => None,
            ResetUnit::Span => seconds_of(value).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            ResetUnit::Milliseconds => span(value, 0.001),
            ResetUnit::Epoch => since_1970(1.0),
            ResetUnit::EpochMilliseconds => since_1970(0.001),
            ResetUnit::Date => match value.parse::<Timestamp>() {
                Ok(at) => Some(at.since(now)),
                // The form of HTTP is that of `Retry-After`.
                Err(_) if value.parse::<f64>().is_err() => {
                    let date = HeaderMap::from_iter([(RETRY_AFTER, headers.get(&pace.reset)?.clone())]);
                    parse_retry_after(&date, now)
                }
                Err(_) => None,
            },
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// A number of units of `unit` seconds; nonsense is `None`.
fn span(text: &str, unit: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse::<f64>().ok()? * unit).ok()
}
