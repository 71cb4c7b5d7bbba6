//! Calls without tasks: the call blocks, or hands out a ticket.

use super::session::Spoken;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::Request;
use crate::mcp::params::Params;

/// Answers a call.
///
/// # Errors
/// Whatever has to be said no to.
pub(super) async fn call(_spoken: &Spoken, request: &Request<'_>, _params: &Params<'_>) -> Result<Reply, RpcError> {
    Err(RpcError::method_not_found(&request.method).with_http(200))
}
