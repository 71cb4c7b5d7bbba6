//! The end of a task as the answer that the plain call would have had.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::Spoken;
use crate::domain::{JobOutput, Outcome, Part, Task, ToolResult};
use crate::mcp::error::RpcError;
use crate::mcp::jsonrpc;
use crate::mcp::sessions::Revision;
use crate::mcp::wire::{Around, ResultView, error_data};

impl Spoken {
    /// The result of an ended task; with `_meta` that names the task under this key, where the dialect has one.
    ///
    /// # Errors
    /// The error that the plain call would have had (requirement D2).
    pub(in crate::mcp::dialects) fn outcome(&self, task: &Task, related: Option<&'static str>) -> Result<Bytes, RpcError> {
        let result = match task.outcome() {
            Some(Outcome::Result(result)) => self.shared.engine.shown_result(task).unwrap_or_else(|| result.clone()),
            Some(Outcome::Error(error)) => {
                return Err(RpcError::internal(error.message.clone()).with_data(error_data(error)));
            }
            // How far the cancel got at the provider is for the status message, which moves on; a result stays as it is (requirement D5).
            Some(Outcome::Cancelled) if related.is_some() => Arc::new(tool_error("The task was cancelled.")),
            Some(Outcome::Cancelled) => Arc::new(tool_error(task.message.as_deref().unwrap_or("The task was cancelled."))),
            None => return Err(RpcError::internal("the task has not ended")),
        };
        Ok(self.tool_result(&result, related.map(|key| (key, task.shown_to(&self.context.caller.principal).into_owned()))))
    }

    /// A tool's result, written in the words of the session's version.
    pub(in crate::mcp::dialects) fn tool_result(&self, result: &ToolResult, related: Option<(&'static str, String)>) -> Bytes {
        let result = in_words_of(self.revision, result);
        let around = match &related {
            Some((key, task)) => Around::Related { key, task },
            None => Around::Bare,
        };
        jsonrpc::write(&ResultView { result: &result, around })
    }
}

/// The tool's own error, which the model gets to read (SEP-1303).
pub(in crate::mcp::dialects) fn tool_error(text: impl Into<String>) -> ToolResult {
    ToolResult { output: JobOutput::text(text), is_error: true, kept: Vec::new() }
}

/// Versions before 2026-07-28 have structured content that is an object, if any; the first of them has neither that nor links.
fn in_words_of(revision: Revision, result: &ToolResult) -> Cow<'_, ToolResult> {
    let data = result.output.data.as_ref();
    let data_fits = data.is_none_or(|data| data.is_object() && revision >= Revision::June2025);
    let is_link = |part: &Part| matches!(part, Part::Link { .. });
    let parts_fit = revision >= Revision::June2025 || !result.output.parts.iter().any(is_link);
    if data_fits && parts_fit {
        return Cow::Borrowed(result);
    }
    let mut told = result.clone();
    if !data_fits {
        // It is still there as text.
        if let (Some(data), true) = (told.output.data.take(), told.output.parts.is_empty()) {
            told.output.parts.push(Part::Text(data.to_string()));
        }
    }
    if !parts_fit {
        for part in told.output.parts.iter_mut().filter(|part| is_link(part)) {
            if let Part::Link { uri, name, .. } = part {
                *part = Part::Text(format!("{name}: {uri}"));
            }
        }
    }
    Cow::Owned(told)
}
