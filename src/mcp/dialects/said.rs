//! The engine's errors in the protocol's words, the same in all dialects.

use crate::engine::{AccessError, CallError};
use crate::mcp::error::RpcError;
use crate::mcp::wire::error_data;
use crate::store::StoreError;

/// Unknown, someone else's and expired look the same (requirement I1).
pub(super) fn access_error(error: AccessError) -> RpcError {
    match error {
        AccessError::NotFound => RpcError::invalid_params(AccessError::NotFound.to_string()),
        AccessError::Store(error) => store_error(&error),
    }
}

pub(super) fn store_error(error: &StoreError) -> RpcError {
    tracing::error!(%error, "the store failed");
    RpcError::internal("the gateway's store failed; try again")
}

pub(super) fn call_error(error: CallError) -> RpcError {
    match error {
        CallError::UnknownTool
        | CallError::KeyConflict
        | CallError::NameTaken
        | CallError::BadName
        | CallError::ArgumentsTooLarge { .. } => RpcError::invalid_params(error.to_string()),
        // Nobody knows when one of them ends; a client that comes back soon loses nothing.
        CallError::TooManyTasks { .. } => RpcError::limited(error.to_string(), 5),
        CallError::ShuttingDown => RpcError::shutting_down(),
        CallError::Store(error) => store_error(&error),
        CallError::Fault(error) => {
            let data = error_data(&error);
            RpcError::internal(error.message).with_data(data)
        }
    }
}
