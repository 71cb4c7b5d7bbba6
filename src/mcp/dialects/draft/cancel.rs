//! `notifications/cancelled` for the request that made a task: cancels the task (requirement F2).

use crate::domain::RequestName;
use crate::engine::AccessError;
use crate::mcp::dialects::said::store_error;
use crate::mcp::dialects::session::Spoken;
use crate::mcp::error::RpcError;
use crate::mcp::params::Params;

/// Cancels the task of this dialect that the named request made, whenever that was: the name is stored with the task. The calls of
/// other dialects live on, because their clients send the same notification when they tire of waiting.
///
/// # Errors
/// When the store fails. What names no such task is ignored, and so is a task that has ended.
pub(in crate::mcp::dialects) async fn cancelled(spoken: &Spoken, params: &Params<'_>) -> Result<(), RpcError> {
    let Some(id) = params.raw("requestId") else { return Ok(()) };
    let (engine, owner) = (&spoken.shared.engine, &spoken.context.caller.principal);
    let found = engine.find_request(owner, &request_name(spoken, id.get())).await.map_err(|error| store_error(&error))?;
    let Some(task) = found.filter(|task| task.names.client_id.is_some() && !task.is_ended()) else { return Ok(()) };
    match engine.cancel(owner, &task.id, true).await {
        Ok(_) | Err(AccessError::NotFound) => Ok(()),
        Err(AccessError::Store(error)) => Err(store_error(&error)),
    }
}

/// How the request with this id, as it was written, is remembered: `1` and `"1"` are two.
pub(super) fn request_name(spoken: &Spoken, id: &str) -> RequestName {
    RequestName { session: spoken.session.clone(), id: id.to_owned() }
}
