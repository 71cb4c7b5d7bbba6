//! `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use super::status::{RELATED, View, status};
use crate::domain::{Status, Task};
use crate::mcp::dialects::session::{Follow, Followed, Form, Outlet, Spoken, result};
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::{self, Request};
use crate::mcp::limits::Slot;
use crate::mcp::params::Params;

/// How long nothing may happen before progress is told all the same, to clients that gave a token and wait no longer than a minute.
const HEARTBEAT: Duration = Duration::from_secs(10);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    tasks: Vec<View<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

pub(super) async fn get(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let task = spoken.look(&params.required_text("taskId")?).await?;
    if let (Some(here), false) = (spoken.here(), task.is_ended()) {
        here.looked(task.id, RELATED);
    }
    Ok(result(request, &View::new(&task, spoken)))
}

/// Blocks until the task has ended, then answers as the plain call would have.
pub(super) async fn payload(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let task = spoken.find(&params.required_text("taskId")?).await?;
    if task.is_ended() {
        let payload = spoken.outcome(&task, Some(RELATED))?;
        return Ok(Reply::ok(jsonrpc::prepared(request.id, &payload)));
    }
    let slot = spoken.shared.limits.waiter(&spoken.context)?;
    let token = params.meta.progress_token()?;
    Ok(spoken.stream(request, token, "tasks/result", |outlet| wait(outlet, task, slot)).await)
}

/// Waits for the task's end on a stream that can be resumed.
///
/// # Errors
/// What the plain call would have had.
pub(in crate::mcp::dialects) async fn wait(mut outlet: Outlet, task: Arc<Task>, _slot: Slot) -> Result<Bytes, RpcError> {
    outlet.resumable(Form::Core, &task, None).await;
    if let Some(here) = outlet.spoken.here() {
        here.looked(task.id, RELATED);
    }
    let follow = Follow {
        task: task.id,
        related: Some(RELATED),
        statuses: true,
        questions: true,
        heartbeat: Some(HEARTBEAT),
        until: None,
    };
    drop(task);
    match outlet.follow(follow).await? {
        Followed::Ended(task) | Followed::TimeUp(task) => outlet.spoken.outcome(&task, Some(RELATED)),
        Followed::Stopping => Err(RpcError::shutting_down()),
    }
}

pub(super) async fn list(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let (tasks, next_cursor) = spoken.page(params).await?;
    let views = tasks.iter().map(|task| View::new(task, spoken)).collect();
    Ok(result(request, &Page { tasks: views, next_cursor }))
}

/// The task is cancelled before the reply, and stays so whatever becomes of the job (requirement F2).
pub(super) async fn cancel(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let task = spoken.find(&params.required_text("taskId")?).await?;
    if task.is_ended() {
        return Err(already(&task, spoken));
    }
    let (engine, caller) = (&spoken.shared.engine, &spoken.context.caller);
    let task = engine.cancel(caller, &task.id, true).await.map_err(|error| spoken.no_access(error))?;
    if task.status() != Status::Cancelled {
        // The job was quicker.
        return Err(already(&task, spoken));
    }
    Ok(result(request, &View::new(&task, spoken)))
}

fn already(task: &Task, spoken: &Spoken) -> RpcError {
    let word = status(task, spoken).as_str();
    RpcError::invalid_params(format!("the task has ended already, with status `{word}`; it stays as it is"))
}
