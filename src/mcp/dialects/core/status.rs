//! Tasks as 2025-11-25 shows them.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::domain::{Outcome, Part, Status, Task, ToolResult};
use crate::mcp::dialects::session::Spoken;
use crate::mcp::wire::{Shown, life, millis, status_message};

/// Characters of a status message that are taken from a job's own words.
const LONGEST: usize = 300;

/// The key under which messages name the task that they are about.
pub(in crate::mcp::dialects) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The word for where a task stands. A job that ran and failed is `failed` here (requirement B4), but for clients that never fetch the
/// result of a failed task: to those it is `completed`, with `isError` in its result (`server.failed_as_completed`).
pub(in crate::mcp::dialects) fn status(task: &Task, spoken: &Spoken) -> Status {
    match task.outcome() {
        Some(Outcome::Result(result)) if result.is_error && !spoken.abilities.failed_as_completed => Status::Failed,
        Some(_) | None => task.status(),
    }
}

/// What people read of a task. Clients of this version do not fetch the result of a failed task, so the cause is in here.
fn message(task: &Task) -> Option<Cow<'_, str>> {
    match task.outcome() {
        Some(Outcome::Result(result)) if result.is_error => first_text(result).or_else(|| status_message(task)),
        Some(Outcome::Error(error)) => Some(Cow::Borrowed(&error.message)),
        Some(Outcome::Result(_) | Outcome::Cancelled) | None => status_message(task),
    }
}

fn first_text(result: &ToolResult) -> Option<Cow<'_, str>> {
    let text = result.output.parts.iter().find_map(|part| match part {
        Part::Text(text) if !text.trim().is_empty() => Some(text.trim()),
        _ => None,
    })?;
    Some(match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or(text))),
        None => Cow::Borrowed(text),
    })
}

/// What has to differ for a change of the status to be worth a notification.
pub(in crate::mcp::dialects) fn gist(task: &Task) -> (Status, Option<String>) {
    (task.status(), message(task).map(Cow::into_owned))
}

/// A task on the wire.
#[derive(Clone, Copy)]
pub(in crate::mcp::dialects) struct View<'a> {
    task: &'a Task,
    spoken: &'a Spoken,
}

impl<'a> View<'a> {
    /// What is seen of it in this session.
    pub(in crate::mcp::dialects) const fn new(task: &'a Task, spoken: &'a Spoken) -> Self {
        Self { task, spoken }
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.task;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", &task.shown_to(&self.spoken.context.caller.principal))?;
        map.serialize_entry("status", status(task, self.spoken).as_str())?;
        if let Some(message) = message(task) {
            map.serialize_entry("statusMessage", &message)?;
        }
        map.serialize_entry("createdAt", &Shown(task.created_at))?;
        map.serialize_entry("lastUpdatedAt", &Shown(task.updated_at))?;
        map.serialize_entry("ttl", &life(task))?;
        map.serialize_entry("pollInterval", &millis(self.spoken.shared.engine.caller_interval(task)).max(1))?;
        map.end()
    }
}
