//! `tasks/get`, `tasks/result`, `tasks/list` and `tasks/delete`.

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use super::view::{DraftStatus, DraftView, related};
use crate::domain::Task;
use crate::engine::{AccessError, DeleteError};
use crate::mcp::dialects::said::store_error;
use crate::mcp::dialects::session::{Spoken, result};
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::{self, Request};
use crate::mcp::params::{DRAFT_RELATED, Params};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    tasks: Vec<DraftView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// `tasks/get`.
pub(super) async fn get(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let task = spoken.look(&params.required_text("taskId")?).await?;
    if let (Some(here), false) = (spoken.here(), task.is_ended()) {
        // Where the call's own stream is gone, its questions are asked on the session's.
        here.looked(task.id, DRAFT_RELATED);
    }
    Ok(result(request, &view(spoken, &task, true)))
}

/// `tasks/result`: what the plain call would have been answered, and only that (requirement H5).
pub(super) async fn task_result(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let task = named(spoken, params).await?;
    if let Some(outcome) = spoken.shared.engine.shown_result(&task) {
        let shown = task.shown_to(&spoken.context.caller.principal);
        let written = spoken.tool_result(&outcome, Some((DRAFT_RELATED, shown.into_owned())));
        return Ok(Reply::ok(jsonrpc::prepared(request.id, &written)));
    }
    let status = DraftStatus::of(&task);
    let why = match (task.outcome(), task.message.as_deref()) {
        (Some(_), Some(message)) => format!(" ({message}), so there is no result"),
        (Some(_), None) => ", so there is no result".to_owned(),
        (None, _) => "; its result is there once it is completed".to_owned(),
    };
    Err(RpcError::invalid_params(format!("the task is {}{why}", status.as_str())).with_data(json!({ "status": status.as_str() })))
}

/// `tasks/list`: all that `tasks/get` would show, the newest first.
pub(super) async fn list(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let (tasks, next_cursor) = spoken.page(params).await?;
    let tasks = tasks.iter().map(|task| view(spoken, task, false)).collect();
    Ok(result(request, &Page { tasks, next_cursor }))
}

/// `tasks/delete`: an ended task goes at its owner's word, where the operator lets it (requirement G3).
pub(super) async fn delete(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let task = named(spoken, params).await?;
    let deleted = spoken.shared.engine.delete(&spoken.context.caller.scope(), &task.id).await;
    deleted.map_err(|error| match error {
        DeleteError::NotFound => spoken.no_access(AccessError::NotFound),
        DeleteError::Running | DeleteError::Kept => RpcError::invalid_params(error.to_string()),
        DeleteError::Store(error) => store_error(&error),
    })?;
    let shown = task.shown_to(&spoken.context.caller.principal);
    Ok(result(request, &json!({ "_meta": related(&shown) })))
}

fn view<'t>(spoken: &Spoken, task: &'t Task, alone: bool) -> DraftView<'t> {
    DraftView {
        task,
        shown: task.shown_to(&spoken.context.caller.principal),
        interval: spoken.shared.engine.caller_interval(task),
        now: spoken.shared.clock.now(),
        alone,
    }
}

/// The task that a request names; unknown, someone else's and expired are one (requirement I1).
async fn named(spoken: &Spoken, params: &Params<'_>) -> Result<Arc<Task>, RpcError> {
    let shown = params.required_text("taskId")?;
    spoken.find(&shown).await
}
