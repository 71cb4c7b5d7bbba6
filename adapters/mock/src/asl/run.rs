//! Walks a machine's states in virtual time, as far as a horizon.

use std::collections::HashMap;

use jobgate_adapter_api::Timestamp;
use serde_json::{Value, json};

use super::fault::Fault;
use super::machine::{Kind, Limit, Scope, Span, State, Words};
use super::path::Path;
use super::snapshot::{Counts, Happening, Question};

/// How many states one run may enter, retries and branches included; a machine that goes round without end stops here.
const MOST_STATES: u32 = 10_000;

/// How far something has come at the horizon.
pub(crate) enum Course {
    /// Ended at this moment (milliseconds), not after the horizon.
    Done { at: i64, result: Result<Value, Fault> },
    /// Goes on after the horizon.
    Open(Open),
}

/// What is going on at the horizon.
#[derive(Default)]
pub(crate) struct Open {
    pub(crate) stages: Vec<String>,
    pub(crate) questions: Vec<Question>,
    pub(crate) counts: Option<Counts>,
    /// Milliseconds.
    pub(crate) next_change: Option<i64>,
}

impl Course {
    pub(crate) const fn failed(at: i64, fault: Fault) -> Self {
        Self::Done { at, result: Err(fault) }
    }
}

/// One attempt at one state.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// Names this attempt within the run; no other attempt has the same.
    pub(crate) key: &'a str,
    /// When it began.
    pub(crate) start: i64,
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) horizon: i64,
}

/// Walks one run.
pub(crate) struct Runner<'a> {
    pub(crate) context: Value,
    pub(crate) journal: &'a [Happening],
    states_left: u32,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(context: Value, journal: &'a [Happening]) -> Self {
        Self { context, journal, states_left: MOST_STATES }
    }

    /// Walks the states of a scope from its start. `crumbs` begins the key of every attempt in it.
    pub(crate) fn scope(&mut self, scope: &Scope, input: Value, begin: i64, horizon: i64, crumbs: &str) -> Course {
        let mut name = scope.start.as_str();
        let (mut data, mut at) = (input, begin);
        // How often each state was tried, so that every attempt has a key of its own.
        let mut tries: HashMap<&str, u32> = HashMap::new();
        loop {
            let Some(state) = scope.states.get(name) else {
                return Course::failed(at, Fault::runtime(format!("there is no state `{name}`")));
            };
            let mut key = || {
                let nth = tries.entry(name).or_default();
                *nth += 1;
                if *nth == 1 { format!("{crumbs}{name}") } else { format!("{crumbs}{name}#{nth}") }
            };
            match self.state(state, data, at, horizon, &mut key) {
                Step::Open(open) => return Course::Open(open),
                Step::Ended(at, result) => return Course::Done { at, result },
                Step::Next(then, next, output) => match scope.states.get_key_value(next.as_str()) {
                    Some((next, _)) => (name, data, at) = (next, output, then),
                    None => return Course::failed(then, Fault::runtime(format!("there is no state `{next}`"))),
                },
            }
        }
    }

    /// One state with its retries and catchers.
    fn state(&mut self, state: &State, raw: Value, entered: i64, horizon: i64, key: &mut dyn FnMut() -> String) -> Step {
        let mut used = vec![0_u64; state.retry.len()];
        let (mut start, mut number) = (entered, 1);
        loop {
            let Some(left) = self.states_left.checked_sub(1) else {
                return Step::Ended(start, Err(Fault::runtime(format!("the run entered more than {MOST_STATES} states"))));
            };
            self.states_left = left;
            let key = key();
            let (at, fault) = match self.attempt(state, &raw, Attempt { key: &key, start, number, horizon }, entered) {
                Ok(Course::Open(open)) => return Step::Open(open),
                Ok(Course::Done { at, result: Ok(output) }) => return self.follow(state, at, output),
                Ok(Course::Done { at, result: Err(fault) }) => (at, fault),
                Err(fault) => (start, fault),
            };
            let retrier = state.retry.iter().zip(&mut used).find(|(retrier, _)| fault.is_one_of(&retrier.errors));
            match retrier {
                Some((retrier, used)) if *used < retrier.attempts => {
                    start = at.saturating_add(retrier.pause(*used));
                    *used += 1;
                    number += 1;
                    if start > horizon {
                        let stages = vec![format!("{} (trying again)", state.label())];
                        return Step::Open(Open { stages, next_change: Some(start), ..Open::default() });
                    }
                }
                _ => return Self::caught(state, raw, at, fault),
            }
        }
    }

    /// Where a state without a fault leads. A Choice decides here, with its output as the data.
    fn follow(&mut self, state: &State, at: i64, output: Value) -> Step {
        if let Kind::Choice { rules, default } = &state.kind {
            // The rules look at the effective input, which is the state's output when `OutputPath` is applied last.
            return match Self::choose(rules, default.as_deref(), &output, &self.context) {
                Ok(next) => match state.data.hand_on(&output, &self.context) {
                    Ok(output) => Step::Next(at, next, output),
                    Err(fault) => Step::Ended(at, Err(fault)),
                },
                Err(fault) => Step::Ended(at, Err(fault)),
            };
        }
        match &state.next {
            Some(next) => Step::Next(at, next.clone(), output),
            None => Step::Ended(at, Ok(output)),
        }
    }

    fn choose(
        rules: &[(super::choice::Test, String)],
        default: Option<&str>,
        input: &Value,
        context: &Value,
    ) -> Result<String, Fault> {
        for (test, next) in rules {
            if test.passes(input, context)? {
                return Ok(next.clone());
            }
        }
        default
            .map(str::to_owned)
            .ok_or_else(|| Fault::new("States.NoChoiceMatched", "no rule fits the data and there is no default"))
    }

    fn caught(state: &State, raw: Value, at: i64, fault: Fault) -> Step {
        let Some(catcher) = state.catch.iter().find(|catcher| fault.is_one_of(&catcher.errors)) else {
            return Step::Ended(at, Err(fault));
        };
        let output = json!({"Error": fault.error, "Cause": fault.cause});
        let combined = match &catcher.result {
            Some(path) => path.put(raw, output),
            None => Ok(raw),
        };
        match combined {
            Ok(output) => Step::Next(at, catcher.next.clone(), output),
            Err(cause) => Step::Ended(at, Err(Fault::new("States.ResultPathMatchFailure", cause))),
        }
    }

    /// One attempt at a state. `Err` is a fault at the attempt's very start.
    fn attempt(&mut self, state: &State, raw: &Value, attempt: Attempt<'_>, entered: i64) -> Result<Course, Fault> {
        self.enter(state, attempt, entered);
        let effective = state.data.effective(raw, &self.context)?;
        let start = attempt.start;
        let course = match &state.kind {
            Kind::Pass { result } => {
                let payload = state.data.payload(effective, &self.context)?;
                Course::Done { at: start, result: Ok(result.clone().unwrap_or(payload)) }
            }
            Kind::Choice { .. } => return Ok(Course::Done { at: start, result: Ok(effective) }),
            Kind::Succeed => return Ok(Course::Done { at: start, result: Ok(state.data.hand_on(&effective, &self.context)?) }),
            Kind::Fail { error, cause } => {
                let error = self.words(error.as_ref(), &effective)?.unwrap_or_else(|| "Failed".to_owned());
                return Err(Fault::new(error, self.words(cause.as_ref(), &effective)?.unwrap_or_default()));
            }
            Kind::Wait(wait) => {
                let end = self.wait_end(wait, &effective, start)?;
                if end > attempt.horizon {
                    return Ok(Course::Open(work(state, start, end, attempt.horizon)));
                }
                return Ok(Course::Done { at: end, result: Ok(state.data.hand_on(&effective, &self.context)?) });
            }
            Kind::Task { resource, timeout, heartbeat } => {
                self.task(state, *resource, [timeout.as_ref(), heartbeat.as_ref()], effective, attempt)?
            }
            Kind::Parallel(branches) => {
                let payload = state.data.payload(effective, &self.context)?;
                self.parallel(state, branches, &payload, attempt)
            }
            Kind::Map { items, item, each, at_once } => {
                let items = items.get(&effective, &self.context).ok_or_else(|| Fault::parameter_path(items))?;
                let Value::Array(items) = items else { return Err(Fault::runtime("the items of a Map state are no list")) };
                let at_once = self.limit(at_once, &effective)?;
                self.map(state, each, &items, item.as_ref().map(|item| (item, &effective)), at_once, attempt)
            }
        };
        Ok(match course {
            Course::Done { at, result: Ok(result) } => {
                // Branches have entered states of their own in the meantime.
                self.enter(state, attempt, entered);
                Course::Done { at, result: state.data.output(raw, result, &self.context) }
            }
            other => other,
        })
    }

    /// Puts the state into the context object.
    fn enter(&mut self, state: &State, attempt: Attempt<'_>, entered: i64) {
        self.context["State"] = json!({
            "Name": state.name,
            "EnteredTime": Timestamp::from_millis(entered).to_string(),
            "RetryCount": attempt.number - 1,
        });
        self.context["Task"] = json!({"Token": attempt.key});
    }

    fn words(&self, words: Option<&Words>, input: &Value) -> Result<Option<String>, Fault> {
        match words {
            None => Ok(None),
            Some(Words::Fixed(text)) => Ok(Some(text.clone())),
            Some(Words::From(template)) => match template.fill(input, &self.context)? {
                Value::String(text) => Ok(Some(text)),
                other => Err(Fault::runtime(format!("the error or cause of a Fail state is a text, not `{other}`"))),
            },
        }
    }

    /// The milliseconds that a span means with this data.
    pub(crate) fn span(&self, span: &Span, input: &Value) -> Result<i64, Fault> {
        match span {
            Span::Fixed(ms) => Ok(*ms),
            Span::Path(path) => {
                let seconds = self.look(path, input)?.as_f64().and_then(super::fields::millis);
                seconds.ok_or_else(|| Fault::runtime(format!("what `{path}` names is no number of seconds from 0 to 99999999")))
            }
        }
    }

    fn limit(&self, limit: &Limit, input: &Value) -> Result<u64, Fault> {
        match limit {
            Limit::Fixed(limit) => Ok(*limit),
            Limit::Path(path) => self
                .look(path, input)?
                .as_u64()
                .ok_or_else(|| Fault::runtime(format!("what `{path}` names is no whole number from 0 on"))),
        }
    }

    pub(crate) fn look(&self, path: &Path, input: &Value) -> Result<Value, Fault> {
        path.get(input, &self.context).ok_or_else(|| Fault::runtime(format!("the path `{path}` names nothing in the data")))
    }
}

/// Where a state leads.
enum Step {
    Open(Open),
    Ended(i64, Result<Value, Fault>),
    Next(i64, String, Value),
}

/// A state at work between two moments, with the counts it states of itself.
pub(crate) fn work(state: &State, start: i64, end: i64, horizon: i64) -> Open {
    let mut open = Open { stages: vec![state.label().to_owned()], next_change: Some(end), ..Open::default() };
    if let Some(stated) = state.progress {
        let (done, next) = stated.at(start, end, horizon);
        open.counts = Some(Counts { done, total: stated.total });
        open.next_change = Some(next);
    }
    open
}
