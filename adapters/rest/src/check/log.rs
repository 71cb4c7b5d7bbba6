//! The words of `log`.

use http::header::RANGE;
use jobgate_adapter_api::Place;
use serde_json::Value;

use super::tool::{reading, transpose};
use super::{Checker, request};
use crate::codes::Codes;
use crate::language::{Scope, Text, Tree};
use crate::plan::LogPlan;
use crate::words::{Job, Log, LogKind};

/// Lines of a log that are kept.
const MOST_LINES: usize = 500;
/// Bytes of a log's end that may be asked for.
const MOST_RANGE: u64 = 1024 * 1024;

pub(super) fn log(checker: &mut Checker<'_>, place: &Place, words: &Log, of_status: &Scope) -> Option<LogPlan> {
    if !(1..=MOST_LINES).contains(&words.lines) {
        let message = format!("`lines` is {}, and has to be 1 to {MOST_LINES}", words.lines);
        checker.issues.add_with_hint(place.key("lines"), message, "lines: 40");
    }
    let when = words.when.as_ref().map(|source| checker.condition(&place.key("when"), source, of_status));
    let is_offset = matches!(words.kind, LogKind::Offset(_));
    let of_request = if is_offset { of_status.clone().with("offset") } else { of_status.clone() };
    let answered = of_status.clone().with_answer();
    let mut request = request::check(checker, &place.key("request"), &words.request, &of_request);
    let of_kind = place.key("kind");
    let mut next = None;
    match &words.kind {
        LogKind::Whole => {}
        LogKind::Range(bytes) => {
            if !(1..=MOST_RANGE).contains(&bytes.get()) {
                let message = format!("the range is {bytes}, and has to be 1B to 1MiB");
                checker.issues.add_with_hint(of_kind.key("range"), message, "kind: { range: 64KiB }");
            }
            if let Some(request) = &mut request {
                request.headers.push((RANGE, Text::constant(format!("bytes=-{}", bytes.get()))));
            }
        }
        LogKind::Tail(tail) => {
            let lines = Tree::Constant(Value::from(words.lines));
            add_parameter(checker, &of_kind.key("tail").key("parameter"), request.as_mut(), &tail.parameter, lines);
        }
        LogKind::Offset(offset) => {
            let of_offset = of_kind.key("offset");
            next = Some(checker.text(&of_offset.key("next"), &offset.next, &answered)?);
            let of_parameter = of_offset.key("parameter");
            if let Some(parameter) = &offset.parameter {
                let value = checker.text(&of_parameter, "{{ offset | optional }}", &of_request)?;
                add_parameter(checker, &of_parameter, request.as_mut(), parameter, Tree::Text(value));
            } else if request.as_ref().is_some_and(|request| !request.uses("offset")) {
                let message = "nothing says where the log is read on: neither a `parameter` nor `offset` in the request";
                checker.issues.add_with_hint(
                    of_offset,
                    message,
                    "offset: { parameter: start, next: \"{{ headers.x_text_size }}\" }",
                );
            }
        }
    }
    let text = transpose(words.text.as_ref().map(|source| checker.text(&place.key("text"), source, &answered)))?;
    let reading = reading(&Codes::default(), |name| text.as_ref().map_or(name == "text", |text| text.uses(name)));
    let torn = matches!(words.kind, LogKind::Range(_));
    Some(LogPlan { request: request?, when: transpose(when)?, reading, next, torn, text, lines: words.lines })
}

fn add_parameter(
    checker: &mut Checker<'_>,
    place: &Place,
    request: Option<&mut crate::plan::RequestPlan>,
    name: &str,
    value: Tree,
) {
    let Some(request) = request else { return };
    if request.query.iter().any(|(known, _)| known == name) {
        checker.issues.add(place.clone(), format!("the request's `query` names `{name}`, too"));
    }
    request.query.push((name.to_owned(), value));
}

/// What goes with a log and what does not.
pub(super) fn fits(checker: &mut Checker<'_>, place: &Place, job: &Job) {
    if job.log.is_some() && job.status.request.is_none() {
        let message = "a log is read when the job is looked at, and `status` has no `request`";
        checker.issues.add_with_hint(place.key("log"), message, "request: { path: \"/jobs/{{ job.id }}\" }");
    }
    if job.log.is_none() && job.failure.log == Some(true) {
        let message = "there is no `log` section that says where the log is";
        checker.issues.add_with_hint(
            place.key("failure").key("log"),
            message,
            "log: { request: { path: \"/jobs/{{ job.id }}/log\" } }",
        );
    }
}
