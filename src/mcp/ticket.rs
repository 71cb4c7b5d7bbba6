//! Tickets: what a caller without tasks gets instead of a result, and what it is told when it redeems one. Written for models: each
//! text says what runs, what to do next and what not to do.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::wire::{error_data, millis, status_message};
use crate::domain::{CancelProgress, InputKind, JobOutput, Outcome, Status, Task, ToolResult};

/// Whether the client can show a question of this kind to a person.
pub(crate) type CanShow<'a> = &'a (dyn Fn(&InputKind) -> bool + Sync);

/// The answer that stands for a job which has not ended; `interval` is how soon it is worth asking again.
pub(crate) fn ticket(task: &Task, interval: Duration, can_show: CanShow<'_>) -> ToolResult {
    let (id, tool) = (task.shown_id(), task.tool.as_str());
    let mut text = match task.status() {
        Status::InputRequired => format!("The job of `{tool}` waits for a person:"),
        _ if task.is_stopping() => format!("The job of `{tool}` was asked to stop and has not ended yet"),
        _ => format!("The job of `{tool}` is running and has not ended yet"),
    };
    let questions: Vec<_> = task.open_inputs().map(|(_, slot)| &slot.request).collect();
    if questions.is_empty() {
        if let Some(message) = status_message(task) {
            write!(text, ": {message}").expect("a string takes what is written");
        }
        text.push('.');
    }
    for question in &questions {
        write!(text, "\n- {}", question.message).expect("a string takes what is written");
        if let InputKind::Url { url } = &question.kind {
            write!(text, " ({url})").expect("a string takes what is written");
        }
    }
    let redeem = format!("call `job_wait` with {{\"ticket\": \"{id}\"}}");
    if questions.iter().any(|question| !can_show(&question.kind)) {
        text.push_str("\nThis client cannot show the question. Tell the person, who can answer it ");
        let at_its_page = questions.iter().any(|question| matches!(question.kind, InputKind::Url { .. }));
        text.push_str(if at_its_page { "at the address above" } else { "at the system that runs the job" });
        write!(text, ", with `jobgate tasks answer {id}` on a terminal, or in a client that shows forms; then {redeem}.")
            .expect("a string takes what is written");
    } else if questions.is_empty() {
        write!(text, "\nTo get its result, {redeem}.").expect("a string takes what is written");
    } else {
        write!(text, "\nTo have the person asked and get the result, {redeem}.").expect("a string takes what is written");
    }
    write!(text, " Do not call `{tool}` again for this: that could start a second job.").expect("a string takes what is written");
    let mut data = head(task);
    data["poll_after_ms"] = millis(interval).into();
    if !questions.is_empty() {
        data["questions"] = questions
            .iter()
            .map(|question| match &question.kind {
                InputKind::Form { .. } => json!({ "message": question.message }),
                InputKind::Url { url } => json!({ "message": question.message, "url": url }),
            })
            .collect();
    }
    said(text, data, false)
}

/// What a redeemed ticket of an ended job gives: the very result of its tool as callers see it (`shown`), or a sentence about why there is none.
pub(crate) fn redeemed(task: &Task, shown: Option<Arc<ToolResult>>) -> Option<Arc<ToolResult>> {
    let tool = task.tool.as_str();
    Some(match task.outcome()? {
        Outcome::Result(result) => shown.unwrap_or_else(|| result.clone()),
        Outcome::Error(error) => {
            let again = if error.retryable { "Calling it again may help." } else { "Calling it again will not help." };
            let mut data = head(task);
            data["error"] = error_data(error);
            Arc::new(said(format!("`{tool}` failed: {}. {again}", sentence(&error.message)), data, true))
        }
        Outcome::Cancelled => {
            let why = task.message.as_deref().map(|message| format!(" ({})", sentence(message))).unwrap_or_default();
            Arc::new(said(format!("The job of `{tool}` was cancelled{why}; there is no result."), head(task), true))
        }
    })
}

/// What became of a wish to cancel; `ended_before` where the job had ended when the wish was made.
pub(crate) fn cancelled(task: &Task, ended_before: bool) -> ToolResult {
    let tool = task.tool.as_str();
    let kept = "Its result is kept: `job_result` gives it.";
    let goes_on = "`job_wait` gives its result once it has ended.";
    let (word, text, is_error) = match (task.outcome(), task.cancellation.as_ref().map(|wish| wish.progress)) {
        (Some(Outcome::Cancelled), _) => {
            let how = task.message.as_deref().map(|message| format!(": {}", sentence(message))).unwrap_or_default();
            let when = if ended_before { "had been cancelled before" } else { "is cancelled" };
            ("cancelled", format!("The job of `{tool}` {when}{how}."), false)
        }
        (Some(_), _) if ended_before => ("too_late", format!("Too late: the job of `{tool}` had ended before. {kept}"), false),
        (Some(_), _) => ("too_late", format!("The job of `{tool}` ended before it could be stopped. {kept}"), false),
        (None, Some(CancelProgress::Taken)) => (
            "requested",
            format!("The provider took the wish to stop the job of `{tool}`, which has not ended yet. {goes_on}"),
            false,
        ),
        (None, Some(CancelProgress::TooLate)) => {
            ("too_late", format!("Too late: the job of `{tool}` is about to end by itself. {goes_on}"), false)
        }
        (None, Some(CancelProgress::Refused)) => {
            ("refused", format!("The provider refuses to stop the job of `{tool}`: it runs on. {goes_on}"), true)
        }
        (None, Some(CancelProgress::Unsupported)) => {
            ("unsupported", format!("This provider cannot stop a job: the job of `{tool}` runs on. {goes_on}"), true)
        }
        (None, Some(CancelProgress::Owed) | None) => (
            "requested",
            format!("The wish to stop the job of `{tool}` is recorded; the provider is told until it answers. {goes_on}"),
            false,
        ),
    };
    let mut data = head(task);
    data["cancel"] = word.into();
    said(text, data, is_error)
}

/// What a caller is told whose ticket opens nothing. Unknown, someone else's and expired look the same (requirement I1).
pub(crate) fn unknown() -> ToolResult {
    let text = "There is no job with this ticket: it is mistyped, or its result is no longer kept. Give the `ticket` exactly as the \
                tool gave it. If it is lost, ask the person before the job is started anew.";
    ToolResult { output: JobOutput::text(text), is_error: true, kept: Vec::new() }
}

fn head(task: &Task) -> Value {
    let mut data = json!({ "ticket": task.shown_id(), "status": task.status().as_str() });
    if let Some(message) = status_message(task) {
        data["message"] = message.into();
    }
    data
}

fn said(text: String, data: Value, is_error: bool) -> ToolResult {
    let mut output = JobOutput::text(text);
    output.data = Some(data);
    ToolResult { output, is_error, kept: Vec::new() }
}

fn sentence(text: &str) -> &str {
    text.trim_end_matches('.')
}
