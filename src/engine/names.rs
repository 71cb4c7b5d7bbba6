//! Tasks found by what they are called, and removed at their owner's word.

use std::sync::Arc;

use super::core::Core;
use super::{AccessError, CallError, DeleteError};
use crate::domain::{CallerKey, Cause, Principal, RequestName, Scope, Task, TaskId, ToolName};
use crate::store::StoreError;

impl Core {
    /// The task that a caller knows by `shown`: an id of ours, else a client's own id.
    pub(super) async fn find(&self, scope: &Scope, shown: &str) -> Result<Arc<Task>, AccessError> {
        let id = match (shown.parse(), scope) {
            (Ok(id), _) => Some(id),
            (Err(_), Scope::Owner(owner) | Scope::Tenant(owner)) => self.store.find_by_client_id(owner, shown).await?,
            (Err(_), Scope::Everybody) => None,
        };
        self.get(scope, &id.ok_or(AccessError::NotFound)?).await
    }

    pub(super) async fn find_request(&self, owner: &Principal, name: &RequestName) -> Result<Option<Arc<Task>>, StoreError> {
        let Some(id) = self.store.find_by_request(owner, name).await? else { return Ok(None) };
        match self.get(&owner.into(), &id).await {
            Ok(task) => Ok(Some(task)),
            Err(AccessError::NotFound) => Ok(None),
            Err(AccessError::Store(error)) => Err(error),
        }
    }

    /// Removes an ended task with all that belongs to it (requirement G3).
    pub(super) async fn delete(&self, scope: &Scope, id: &TaskId) -> Result<(), DeleteError> {
        loop {
            let task = self.get(scope, id).await?;
            if !task.is_ended() || task.is_bound_to_stop() {
                return Err(DeleteError::Running);
            }
            if !self.policy(&task).deletable {
                return Err(DeleteError::Kept);
            }
            // An ended task changes seldom; one that has changed meanwhile is looked at again.
            if self.store.purge(&[(task.id, task.revision)]).await? == 1 {
                self.let_go([task.id]).await;
                tracing::info!(task = ?id, owner = %task.owner, by = %Cause::from(scope), "task deleted");
                return Ok(());
            }
        }
    }

    /// The task that an earlier call made with this key.
    pub(super) async fn keyed(
        &self,
        owner: &Principal,
        tool: &ToolName,
        key: Option<&CallerKey>,
    ) -> Result<Option<Arc<Task>>, StoreError> {
        let Some(key) = key else { return Ok(None) };
        let id = self.store.find_by_key(owner, tool, key).await?;
        self.standing(id).await
    }

    /// The task whose job a call with this hash shares.
    pub(super) async fn joined(
        &self,
        owner: &Principal,
        tool: &ToolName,
        hash: Option<&[u8; 32]>,
    ) -> Result<Option<Arc<Task>>, StoreError> {
        let Some(hash) = hash else { return Ok(None) };
        let Some(id) = self.store.find_by_join(owner, tool, hash).await? else { return Ok(None) };
        Ok(self.store.get(&id).await?.filter(|task| task.is_joinable()))
    }

    /// Makes sure that a client's own id is free.
    pub(super) async fn is_free(&self, owner: &Principal, client_id: &str) -> Result<(), CallError> {
        let id = self.store.find_by_client_id(owner, client_id).await?;
        if self.standing(id).await?.is_some() { Err(CallError::NameTaken) } else { Ok(()) }
    }

    /// A task that has a name which is wanted again. One whose life is over gives its names up right here, before the sweep.
    async fn standing(&self, id: Option<TaskId>) -> Result<Option<Arc<Task>>, StoreError> {
        let Some(id) = id else { return Ok(None) };
        let Some(task) = self.store.get(&id).await? else { return Ok(None) };
        if self.is_over(&task) && self.store.purge(&[(task.id, task.revision)]).await? == 1 {
            self.let_go([task.id]).await;
            return Ok(None);
        }
        Ok(Some(task))
    }
}
