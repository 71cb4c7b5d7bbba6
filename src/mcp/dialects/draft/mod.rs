//! SEP-1686 as first proposed: the client chooses the id of a task, hears on the call's own stream that the task exists, and gets the
//! call's real response there when the job ends.

mod asked;
mod call;
mod cancel;
mod tasks;
mod view;

pub(super) use call::{call, follow};
pub(super) use cancel::cancelled;

use super::session::Spoken;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::Request;
use crate::mcp::params::Params;

/// Answers a request about tasks.
///
/// # Errors
/// Whatever has to be said no to.
pub(super) async fn answer(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    match &*request.method {
        "tasks/get" => tasks::get(spoken, request, params).await,
        "tasks/result" => tasks::task_result(spoken, request, params).await,
        "tasks/list" => tasks::list(spoken, request, params).await,
        "tasks/delete" => tasks::delete(spoken, request, params).await,
        // There is no `tasks/cancel`: a call is cancelled by `notifications/cancelled`, which names its request.
        method => Err(RpcError::method_not_found(method).with_http(200)),
    }
}
