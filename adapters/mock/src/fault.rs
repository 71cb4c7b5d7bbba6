//! Trouble on request: which call, what goes wrong, and when.

use std::time::Duration;

use jobgate_adapter_api::{AdapterError, ErrorKind, HumanDuration, Issues, Operation, Place, Retry};
use schemars::JsonSchema;
use serde::Deserialize;

/// One fault, as people write it. Without `first`, `every` or `after` it meets every call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FaultWords {
    /// The call that meets it.
    call: CallWord,
    /// What goes wrong.
    kind: KindWord,
    /// Only the first so many calls for one submit key.
    first: Option<u64>,
    /// Only every so-many-th call for one submit key: 3 means the third, the sixth and so on.
    every: Option<u64>,
    /// Only the calls for one submit key that come after the first so many.
    after: Option<u64>,
    /// With `rate_limited` and `unavailable`: when the provider says to come again, for example `7s`.
    retry_after: Option<HumanDuration>,
    /// With `slow`: how much longer the call takes, for example `2s`.
    delay: Option<HumanDuration>,
    /// With `rejected`: the provider's sentence.
    message: Option<String>,
    /// With `unrecognized`: the status word that the poll shows.
    word: Option<String>,
}

/// A call.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum CallWord {
    /// Starting a job.
    Submit,
    /// Finding a job by its key.
    Find,
    /// Looking at a job.
    Poll,
    /// Stopping a job.
    Cancel,
    /// Handing over answers.
    Provide,
    /// Each of them.
    Any,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum KindWord {
    /// The call takes longer, by `delay`; past its deadline it never arrives.
    Slow,
    /// The provider is down; nothing happens.
    Unavailable,
    /// The provider allows no more calls now; nothing happens.
    RateLimited,
    /// The connection breaks before the provider acts, and the caller cannot tell.
    Cut,
    /// The call takes effect, but the answer is lost.
    Lost,
    /// The answer cannot be read; nothing happened.
    Garbage,
    /// The provider understood and refuses, with `message`.
    Rejected,
    /// The provider does not accept the credentials.
    Unauthorized,
    /// The provider does not know the job.
    NotFound,
    /// The poll shows a status word that nobody mapped: `word`.
    Unrecognized,
    /// The poll shows that the provider no longer has the job.
    Gone,
    /// The cancel is refused; the job runs on.
    Refused,
}

/// A checked fault.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    call: CallWord,
    when: When,
    effect: Effect,
}

/// Which calls meet a fault; calls are counted from 1 for each submit key.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Always,
    First(u64),
    Every(u64),
    After(u64),
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Slow(Duration),
    Unavailable(Option<Duration>),
    RateLimited(Option<Duration>),
    Cut,
    Lost,
    Garbage,
    Rejected(String),
    Unauthorized,
    NotFound,
    Unrecognized(String),
    Gone,
    Refused,
}

impl Fault {
    /// Checks a list of faults that lies at `place`.
    pub(crate) fn check_all(words: &[FaultWords], place: &Place, issues: &mut Issues) -> Vec<Self> {
        words.iter().enumerate().map(|(nth, words)| Self::check(words, &place.index(nth), issues)).collect()
    }

    fn check(words: &FaultWords, place: &Place, issues: &mut Issues) -> Self {
        let FaultWords { call, kind, first, every, after, retry_after, delay, message, word } = words;
        if [first, every, after].into_iter().flatten().count() > 1 {
            issues.add(place.clone(), "a fault has at most one of `first`, `every` and `after`");
        }
        if *every == Some(0) {
            issues.add_with_hint(place.key("every"), "`every` counts from 1", "every: 3");
        }
        let belongs = [
            ("retry_after", retry_after.is_some(), matches!(kind, KindWord::RateLimited | KindWord::Unavailable)),
            ("delay", delay.is_some(), *kind == KindWord::Slow),
            ("message", message.is_some(), *kind == KindWord::Rejected),
            ("word", word.is_some(), *kind == KindWord::Unrecognized),
        ];
        for (name, given, fits) in belongs {
            if given && !fits {
                issues.add(place.key(name), format!("`{name}` does not belong to this kind of fault"));
            }
        }
        if *kind == KindWord::Slow && delay.is_none() {
            issues.add_with_hint(place.clone(), "a slow fault says how slow", "delay: 2s");
        }
        let only = match kind {
            KindWord::Unrecognized | KindWord::Gone => Some(CallWord::Poll),
            KindWord::Refused => Some(CallWord::Cancel),
            KindWord::Slow
            | KindWord::Unavailable
            | KindWord::RateLimited
            | KindWord::Cut
            | KindWord::Lost
            | KindWord::Garbage
            | KindWord::Rejected
            | KindWord::Unauthorized
            | KindWord::NotFound => None,
        };
        match only {
            Some(CallWord::Poll) if *call != CallWord::Poll => {
                issues.add_with_hint(place.key("call"), "only a poll can show this", "call: poll")
            }
            Some(CallWord::Cancel) if *call != CallWord::Cancel => {
                issues.add_with_hint(place.key("call"), "only a cancel can be refused so", "call: cancel")
            }
            _ => {}
        }
        let when = match (first, every, after) {
            (Some(first), _, _) => When::First(*first),
            (_, Some(every), _) => When::Every((*every).max(1)),
            (_, _, Some(after)) => When::After(*after),
            (None, None, None) => When::Always,
        };
        let retry_after = retry_after.map(HumanDuration::get);
        let effect = match kind {
            KindWord::Slow => Effect::Slow(delay.unwrap_or_default().get()),
            KindWord::Unavailable => Effect::Unavailable(retry_after),
            KindWord::RateLimited => Effect::RateLimited(retry_after),
            KindWord::Cut => Effect::Cut,
            KindWord::Lost => Effect::Lost,
            KindWord::Garbage => Effect::Garbage,
            KindWord::Rejected => Effect::Rejected(message.clone().unwrap_or_else(|| "the provider refuses this".to_owned())),
            KindWord::Unauthorized => Effect::Unauthorized,
            KindWord::NotFound => Effect::NotFound,
            KindWord::Unrecognized => Effect::Unrecognized(word.clone().unwrap_or_else(|| "PONDERING".to_owned())),
            KindWord::Gone => Effect::Gone,
            KindWord::Refused => Effect::Refused,
        };
        Self { call: *call, when, effect }
    }

    /// Whether this call can meet it at all.
    pub(crate) fn concerns(&self, operation: Operation) -> bool {
        match self.call {
            CallWord::Any => true,
            CallWord::Submit => operation == Operation::Submit,
            CallWord::Find => operation == Operation::Find,
            CallWord::Poll => operation == Operation::Poll,
            CallWord::Cancel => operation == Operation::Cancel,
            CallWord::Provide => operation == Operation::Provide,
        }
    }

    /// Whether calls must be counted to tell when it strikes.
    pub(crate) fn counts(&self) -> bool {
        self.when != When::Always
    }

    /// What the `nth` call meets, counted from 1.
    pub(crate) fn effect(&self, nth: u64) -> Option<&Effect> {
        let strikes = match self.when {
            When::Always => true,
            When::First(first) => nth <= first,
            When::Every(every) => nth.is_multiple_of(every),
            When::After(after) => nth > after,
        };
        strikes.then_some(&self.effect)
    }
}

impl Effect {
    /// The error of a call that does not get through, `None` when the call goes its way all the same.
    pub(crate) fn error(&self, operation: Operation) -> Option<AdapterError> {
        let error = |kind, message: &str| Some(AdapterError::new(kind, operation, message));
        let wait = |error: Option<AdapterError>, wait: &Option<Duration>| match wait {
            Some(wait) => error.map(|error| error.with_retry(Retry::After(*wait))),
            None => error,
        };
        match self {
            Self::Slow(_) | Self::Lost | Self::Unrecognized(_) | Self::Gone | Self::Refused => None,
            Self::Unavailable(after) => wait(error(ErrorKind::Unavailable, "the provider is down"), after),
            Self::RateLimited(after) => wait(error(ErrorKind::RateLimited, "the provider allows no more calls now"), after),
            Self::Cut => Some(unanswered(operation)),
            // Whether a submit with an unreadable answer started a job is not known to the caller.
            Self::Garbage if operation == Operation::Submit => error(ErrorKind::OutcomeUnknown, "the answer cannot be read"),
            Self::Garbage => error(ErrorKind::Protocol, "the answer cannot be read"),
            Self::Rejected(message) => error(ErrorKind::Rejected, message),
            Self::Unauthorized => error(ErrorKind::Unauthorized, "the provider does not accept the credentials"),
            Self::NotFound => error(ErrorKind::NotFound, "the provider does not know this job"),
        }
    }
}

/// The error of a call that got no answer.
pub(crate) fn unanswered(operation: Operation) -> AdapterError {
    let kind = if operation == Operation::Submit { ErrorKind::OutcomeUnknown } else { ErrorKind::Unavailable };
    AdapterError::new(kind, operation, "the connection broke before the answer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(words: Value) -> Result<Fault, Vec<String>> {
        let mut issues = Issues::new();
        let words: FaultWords = serde_json::from_value(words).unwrap();
        let fault = Fault::check(&words, &Place::root().key("fault"), &mut issues);
        if issues.is_empty() {
            Ok(fault)
        } else {
            Err(issues.iter().map(|issue| format!("{}: {}", issue.place, issue.message)).collect())
        }
    }

    #[test]
    fn each_when_strikes_the_calls_it_names() {
        for (words, struck) in [
            (json!({"call": "poll", "kind": "unavailable"}), [true, true, true, true]),
            (json!({"call": "poll", "kind": "unavailable", "first": 2}), [true, true, false, false]),
            (json!({"call": "poll", "kind": "unavailable", "every": 2}), [false, true, false, true]),
            (json!({"call": "poll", "kind": "unavailable", "after": 1}), [false, true, true, true]),
        ] {
            let fault = check(words.clone()).unwrap();
            assert_eq!([1, 2, 3, 4].map(|nth| fault.effect(nth).is_some()), struck, "{words}");
            assert!(fault.concerns(Operation::Poll) && !fault.concerns(Operation::Submit));
        }
    }

    #[test]
    fn words_that_do_not_fit_together_are_all_told() {
        for (words, place) in [
            (json!({"call": "poll", "kind": "slow"}), "fault: "),
            (json!({"call": "poll", "kind": "unavailable", "delay": "2s"}), "fault.delay: "),
            (json!({"call": "poll", "kind": "slow", "delay": "2s", "word": "x"}), "fault.word: "),
            (json!({"call": "poll", "kind": "gone", "every": 0}), "fault.every: "),
            (json!({"call": "poll", "kind": "gone", "first": 1, "after": 1}), "fault: "),
            (json!({"call": "submit", "kind": "gone"}), "fault.call: "),
            (json!({"call": "any", "kind": "refused"}), "fault.call: "),
        ] {
            let found = check(words.clone()).unwrap_err();
            assert!(found.len() == 1 && found[0].starts_with(place), "{words}: {found:?}");
        }
    }

    #[test]
    fn only_a_submit_leaves_its_outcome_unknown() {
        let kind = |effect: &Effect, operation| effect.error(operation).map(|error| error.kind());
        assert_eq!(kind(&Effect::Cut, Operation::Submit), Some(ErrorKind::OutcomeUnknown));
        assert_eq!(kind(&Effect::Cut, Operation::Cancel), Some(ErrorKind::Unavailable));
        assert_eq!(kind(&Effect::Garbage, Operation::Submit), Some(ErrorKind::OutcomeUnknown));
        assert_eq!(kind(&Effect::Garbage, Operation::Poll), Some(ErrorKind::Protocol));
        assert_eq!(kind(&Effect::Lost, Operation::Submit), None);
    }
}
