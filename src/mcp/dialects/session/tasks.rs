//! Finding the tasks that requests of sessions name.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Spoken;
use crate::domain::{Task, TaskId, Timestamp};
use crate::engine::AccessError;
use crate::mcp::dialects::said::{access_error, store_error};
use crate::mcp::error::RpcError;
use crate::mcp::limits::Looked;
use crate::mcp::params::Params;
use crate::mcp::seal::Purpose;
use crate::store::ListQuery;

/// Tasks on one page of a list.
const PAGE: usize = 50;

/// The last task of a page. Tasks are listed by their creation, so new ones come before it and change nothing after it.
#[derive(Serialize, Deserialize)]
struct Place {
    #[serde(rename = "c")]
    created_at: i64,
    #[serde(rename = "t")]
    task: String,
}

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

    /// A page of the caller's tasks, the newest first, and the cursor of the next one where there is one: all that a look-up of one
    /// would show.
    ///
    /// # Errors
    /// -32602 for a cursor that was not given out to this caller.
    pub(in crate::mcp::dialects) async fn page(&self, params: &Params<'_>) -> Result<(Vec<Arc<Task>>, Option<String>), RpcError> {
        let caller = &self.context.caller;
        let after = params.text("cursor")?.map(|cursor| self.place(&cursor)).transpose()?;
        // One more than is shown tells whether there is another page.
        let query = ListQuery { scope: caller.scope(), after, limit: PAGE + 1 };
        let mut tasks = self.shared.engine.list(query).await.map_err(|error| store_error(&error))?;
        let more = tasks.len() > PAGE;
        tasks.truncate(PAGE);
        let next = tasks.last().filter(|_| more).map(|last| {
            let place = Place { created_at: last.created_at.as_millis(), task: last.id.to_string() };
            self.shared.sealer.seal_for(Purpose::Cursor, &caller.principal, &place)
        });
        Ok((tasks, next))
    }

    fn place(&self, cursor: &str) -> Result<(Timestamp, TaskId), RpcError> {
        let unknown = || RpcError::invalid_params("`params.cursor` is not one that this server gave out; list without it");
        let owner = &self.context.caller.principal;
        let place: Place = self.shared.sealer.open_for(Purpose::Cursor, owner, cursor).ok_or_else(unknown)?;
        Ok((Timestamp::from_millis(place.created_at), place.task.parse().map_err(|_| unknown())?))
    }

    /// What a look-up that gave nothing is answered with.
    pub(in crate::mcp::dialects) fn no_access(&self, error: AccessError) -> RpcError {
        match error {
            AccessError::NotFound => self.shared.limits.unknown(&self.context, access_error(error)),
            AccessError::Store(_) => access_error(error),
        }
    }
}
