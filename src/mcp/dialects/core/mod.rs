//! 2025-11-25: tasks in the core of the protocol, made by `task` on a call.

mod call;
pub(super) mod status;
mod tasks;

use super::session::Spoken;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::Request;
use crate::mcp::params::Params;

pub(super) use call::call;
pub(super) use tasks::wait;

/// Answers a request about tasks.
///
/// # Errors
/// Whatever has to be said no to.
pub(super) async fn answer(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    match &*request.method {
        "tasks/get" => tasks::get(spoken, request, params).await,
        "tasks/result" => tasks::payload(spoken, request, params).await,
        "tasks/list" => tasks::list(spoken, request, params).await,
        "tasks/cancel" => tasks::cancel(spoken, request, params).await,
        method => Err(RpcError::method_not_found(method).with_http(200)),
    }
}
