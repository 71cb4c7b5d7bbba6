//! Finding the tasks that requests of sessions name.

use std::sync::Arc;

use super::Spoken;
use crate::domain::Task;
use crate::engine::AccessError;
use crate::mcp::dialects::said::access_error;
use crate::mcp::error::RpcError;
use crate::mcp::limits::Looked;

impl Spoken {
    /// The caller's task with this shown id.
    ///
    /// # Errors
    /// -32602 for one that the caller does not have: unknown, someone else's and expired look the same.
    pub(in crate::mcp::dialects) async fn find(&self, shown: &str) -> Result<Arc<Task>, RpcError> {
        let found = self.shared.engine.find(&self.context.caller.scope(), shown).await;
        found.map_err(|error| self.no_access(error))
    }

    /// The same for a client that polls; one that does so too often gets its answer later (requirement D1).
    ///
    /// # Errors
    /// As [`Spoken::find`], and 429 where holding back is no help.
    pub(in crate::mcp::dialects) async fn look(&self, shown: &str) -> Result<Arc<Task>, RpcError> {
        let task = self.find(shown).await?;
        let interval = self.shared.engine.caller_interval(&task);
        match self.shared.limits.polled(&self.context, &task.id, interval).await? {
            Looked::InTime => Ok(task),
            Looked::HeldBack => self.find(shown).await,
        }
    }

    /// What a look-up that gave nothing is answered with.
    pub(in crate::mcp::dialects) fn no_access(&self, error: AccessError) -> RpcError {
        match error {
            AccessError::NotFound => self.shared.limits.unknown(&self.context, access_error(error)),
            AccessError::Store(_) => access_error(error),
        }
    }
}
