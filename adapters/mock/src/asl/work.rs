//! What takes time: tasks, branches side by side, items side by side.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jobgate_adapter_api::{ApprovalWords, Cleaner, InputKind, TaskToken};
use serde_json::Value;

use super::fault::{self, Fault};
use super::machine::{Resource, Scope, Span, State};
use super::run::{Attempt, Course, Open, Runner, work};
use super::snapshot::{Counts, Outside, Question};
use super::task::{Callback, Canned};
use super::template::Template;

/// When a task is given up, and why.
type Limit = Option<(i64, &'static str)>;

impl Runner<'_> {
    /// A task: section "Task State". `limits` are its `TimeoutSeconds` and `HeartbeatSeconds`.
    pub(crate) fn task(
        &self,
        state: &State,
        resource: Resource,
        limits: [Option<&Span>; 2],
        effective: Value,
        attempt: Attempt<'_>,
    ) -> Result<Course, Fault> {
        let mut limit: Limit = None;
        for (span, error) in limits.into_iter().zip([fault::TIMEOUT, fault::HEARTBEAT]) {
            if let Some(span) = span {
                let at = attempt.start.saturating_add(self.span(span, &effective)?);
                limit = Some(limit.map_or((at, error), |earlier| earlier.min((at, error))));
            }
        }
        let given = state.data.parameters.is_some();
        let payload = state.data.payload(effective, &self.context)?;
        match resource {
            // A canned task sends signs of life all the time, so only its timeout can end it.
            Resource::Result => {
                let canned = if given {
                    Canned::read(&payload).map_err(Fault::runtime)?
                } else {
                    Canned { result: Some(payload), ..Canned::default() }
                };
                Ok(canned_result(state, &canned, limit.filter(|(_, error)| *error == fault::TIMEOUT), attempt))
            }
            Resource::Callback => {
                let asked = if given { Callback::read(&payload).map_err(Fault::runtime)? } else { Callback::default() };
                let question = Question {
                    key: attempt.key.to_owned(),
                    message: asked.message.unwrap_or_else(|| state.label().to_owned()),
                    form: asked.form.unwrap_or_else(|| serde_json::json!({"type": "object", "properties": {}})),
                    url: asked.url,
                };
                Ok(self.callback(state, question, |answer| Ok(answer.clone()), limit, attempt))
            }
            Resource::TaskToken => {
                let words = state.approval.clone().unwrap_or_default();
                let question = held(payload, state, &words, attempt.key)?;
                Ok(self.callback(state, question, |answer| sent_back(answer, &words), limit, attempt))
            }
        }
    }

    /// Waits for a person; nobody sends signs of life for one, so a heartbeat is a second timeout.
    fn callback(
        &self,
        state: &State,
        question: Question,
        result: impl Fn(&Value) -> Result<Value, Fault>,
        limit: Limit,
        attempt: Attempt<'_>,
    ) -> Course {
        let answers = self.journal.iter().filter_map(|happening| match &happening.what {
            Outside::Answered { key, answer } if key == attempt.key => Some((happening.at.as_millis(), answer)),
            Outside::Answered { .. } | Outside::Cancelled => None,
        });
        let last = limit.map_or(attempt.horizon, |(at, _)| at.min(attempt.horizon));
        let answer = answers.filter(|(at, _)| (attempt.start..=last).contains(at)).min_by_key(|(at, _)| *at);
        if let Some((at, answer)) = answer {
            return Course::Done { at, result: result(answer) };
        }
        if let Some(given_up) = given_up(limit, attempt.horizon) {
            return given_up;
        }
        let mut open = work(state, attempt.start, attempt.start, attempt.horizon);
        open.questions.push(question);
        open.next_change = limit.map(|(at, _)| at);
        Course::Open(open)
    }

    /// Branches side by side (section "Parallel State"): the earliest failure ends them all.
    pub(crate) fn parallel(&mut self, state: &State, branches: &[Scope], input: &Value, attempt: Attempt<'_>) -> Course {
        let crumbs = format!("{}.", attempt.key);
        let mut side = SideBySide::new(attempt);
        for branch in branches {
            let course = self.scope(branch, input.clone(), attempt.start, side.horizon, &crumbs);
            side.take(course);
        }
        side.end(state, branches.len(), |parts| match parts {
            // Counts of unlike branches do not add up; the counts of a single one are shown.
            [only] => Some(*only),
            _ => None,
        })
    }

    /// The same for every item (section "Map State"), `at_once` items at a time, all when 0.
    pub(crate) fn map(
        &mut self,
        state: &State,
        each: &Scope,
        items: &[Value],
        item: Option<(&Template, &Value)>,
        at_once: u64,
        attempt: Attempt<'_>,
    ) -> Course {
        let places = if at_once == 0 { items.len() } else { usize::try_from(at_once).unwrap_or(usize::MAX).min(items.len()) };
        let mut free: BinaryHeap<Reverse<i64>> = std::iter::repeat_n(Reverse(attempt.start), places).collect();
        let mut side = SideBySide::new(attempt);
        let outer = self.context.get("Map").cloned();
        for (nth, value) in items.iter().enumerate() {
            // An item begins when the first place is free; a place whose item is not done by the horizon never is.
            let Some(Reverse(begin)) = free.pop().filter(|Reverse(begin)| *begin <= side.horizon) else { break };
            self.context["Map"] = serde_json::json!({"Item": {"Index": nth, "Value": value}});
            let input = match item {
                Some((template, effective)) => template.fill(effective, &self.context),
                None => Ok(value.clone()),
            };
            let course = match input {
                Ok(input) => self.scope(each, input, begin, side.horizon, &format!("{}[{nth}].", attempt.key)),
                Err(fault) => Course::failed(begin, fault),
            };
            if let Course::Done { at, .. } = &course {
                free.push(Reverse(*at));
            }
            side.take(course);
        }
        self.context["Map"] = outer.unwrap_or_default();
        let done = Counts { done: side.outputs.len() as f64, total: Some(items.len() as f64) };
        side.end(state, items.len(), |_| Some(done))
    }
}

/// What whoever holds the task token is asked.
fn held(parameters: Value, state: &State, words: &ApprovalWords, key: &str) -> Result<Question, Fault> {
    let token = TaskToken::find(parameters).ok_or_else(|| Fault::runtime("the parameters hand over no task token"))?;
    let asked = token.question(key.to_owned(), &state.name, words, &Cleaner::default());
    let (form, url) = match asked.kind {
        InputKind::Form { schema } => (schema, None),
        InputKind::Url { url } => (Value::Null, Some(url)),
    };
    Ok(Question { key: asked.key, message: asked.message, form, url })
}

/// The result of a task whose token was sent back: a yes with the form's content, a no as an error.
fn sent_back(answer: &Value, words: &ApprovalWords) -> Result<Value, Fault> {
    if answer["action"] == "accept" {
        return Ok(answer.get("content").filter(|content| !content.is_null()).cloned().unwrap_or_else(|| serde_json::json!({})));
    }
    Err(Fault::new(words.decline.error.clone(), words.decline.cause.clone()))
}

/// A task that takes its time and gives what it was told to.
fn canned_result(state: &State, canned: &Canned, limit: Limit, attempt: Attempt<'_>) -> Course {
    let takes = super::fields::millis(canned.duration_seconds).unwrap_or(0);
    let end = attempt.start.saturating_add(takes);
    if let Some((at, _)) = limit
        && at < end
    {
        return given_up(limit, attempt.horizon).unwrap_or_else(|| Course::Open(work(state, attempt.start, at, attempt.horizon)));
    }
    if end > attempt.horizon {
        return Course::Open(work(state, attempt.start, end, attempt.horizon));
    }
    let result = match canned.raises(attempt.number) {
        Some(error) => Err(Fault::new(error, canned.cause.clone().unwrap_or_default())),
        None => Ok(canned.result.clone().unwrap_or_else(|| serde_json::json!({}))),
    };
    Course::Done { at: end, result }
}

fn given_up(limit: Limit, horizon: i64) -> Option<Course> {
    let (at, error) = limit.filter(|(at, _)| *at <= horizon)?;
    let cause =
        if error == fault::HEARTBEAT { "no sign of life within HeartbeatSeconds" } else { "not done within TimeoutSeconds" };
    Some(Course::failed(at, Fault::new(error, cause)))
}

/// Several courses that began together.
struct SideBySide {
    start: i64,
    /// The horizon, or the earliest failure so far: nothing after it counts.
    horizon: i64,
    outputs: Vec<Value>,
    last: i64,
    failure: Option<(i64, Fault)>,
    open: Open,
    counts: Vec<Counts>,
}

impl SideBySide {
    fn new(attempt: Attempt<'_>) -> Self {
        let start = attempt.start;
        Self {
            start,
            horizon: attempt.horizon,
            outputs: Vec::new(),
            last: start,
            failure: None,
            open: Open::default(),
            counts: Vec::new(),
        }
    }

    fn take(&mut self, course: Course) {
        match course {
            Course::Done { at, result: Ok(output) } => {
                self.last = self.last.max(at);
                self.outputs.push(output);
            }
            Course::Done { at, result: Err(fault) } => {
                if self.failure.as_ref().is_none_or(|(earliest, _)| at < *earliest) {
                    self.horizon = at;
                    self.failure = Some((at, fault));
                }
            }
            Course::Open(part) => {
                for stage in part.stages {
                    if !self.open.stages.contains(&stage) {
                        self.open.stages.push(stage);
                    }
                }
                self.open.questions.extend(part.questions);
                self.counts.extend(part.counts);
                self.open.next_change = self.open.next_change.into_iter().chain(part.next_change).min();
            }
        }
    }

    /// The whole of them, which are `all`.
    fn end(mut self, state: &State, all: usize, counts: impl FnOnce(&[Counts]) -> Option<Counts>) -> Course {
        if let Some((at, fault)) = self.failure {
            return Course::failed(at, fault);
        }
        if self.outputs.len() == all {
            return Course::Done { at: self.last, result: Ok(Value::Array(self.outputs)) };
        }
        self.open.counts = match state.progress {
            Some(stated) => Some(Counts { done: stated.at(self.start, self.start, self.horizon).0, total: stated.total }),
            None => counts(&self.counts),
        };
        if let Some(comment) = &state.comment {
            self.open.stages = vec![comment.clone()];
        }
        Course::Open(self.open)
    }
}
