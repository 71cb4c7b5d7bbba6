//! 2025-11-25: tasks in the core of the protocol, made by `task` on a call.

pub(super) mod status;

use super::session::Spoken;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::Request;
use crate::mcp::params::Params;

/// Answers a call that is to be a task.
///
/// # Errors
/// Whatever has to be said no to.
pub(super) async fn call(_spoken: &Spoken, request: &Request<'_>, _params: &Params<'_>) -> Result<Reply, RpcError> {
    Err(RpcError::method_not_found(&request.method).with_http(200))
}

/// Answers a request about tasks.
///
/// # Errors
/// Whatever has to be said no to.
pub(super) async fn answer(_spoken: &Spoken, request: &Request<'_>, _params: &Params<'_>) -> Result<Reply, RpcError> {
    Err(RpcError::method_not_found(&request.method).with_http(200))
}
