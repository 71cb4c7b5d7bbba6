//! The engine: turns calls into durable tasks and keeps each in step with its job, through every crash.

mod notify;
mod parts;
mod supervise;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

pub use notify::Watch;
pub use parts::{
    AccessError, Call, CallError, Called, EngineError, EngineLimits, EngineParts, Provider, ProviderLimits, Rate, Update,
};
pub use supervise::Supervisor;

use crate::domain::{InputAnswers, Principal, Task, TaskId, Timestamp, Tool, ToolResult};
use crate::store::{AuditEntry, ListQuery, StoreError};

/// The engine.
#[derive(Debug)]
pub struct Engine;

#[expect(
    unused_variables,
    clippy::unimplemented,
    clippy::unused_async,
    reason = "the signatures come first; the bodies come with the parts"
)]
impl Engine {
    /// Takes over what the store holds and starts to work.
    ///
    /// # Errors
    /// When a tool names a provider that is not there, or the store does not answer.
    pub async fn start(parts: EngineParts) -> Result<Arc<Self>, EngineError> {
        unimplemented!()
    }

    /// A tool by its name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        unimplemented!()
    }

    /// All tools, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        std::iter::from_fn(|| unimplemented!())
    }

    /// Creates the task (durable), submits its job and waits for the provider's first answer, at most `submit_wait`.
    ///
    /// Goes on when the future is dropped: a connection that is cut cancels nothing.
    ///
    /// # Errors
    /// See [`CallError`]; never [`CallError::Fault`].
    pub async fn call(&self, call: Call) -> Result<Called, CallError> {
        unimplemented!()
    }

    /// A call of a tool that never makes tasks: submitted and watched in the caller's time, at most for the tool's `wait`; nothing
    /// is stored. News go to `updates` as far as there is room.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn run_plain(&self, call: Call, updates: mpsc::Sender<Update>) -> Result<Arc<ToolResult>, CallError> {
        unimplemented!()
    }

    /// The task as it is known. Asks nobody but the store (requirement D1).
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn get(&self, owner: &Principal, id: &TaskId) -> Result<Arc<Task>, AccessError> {
        unimplemented!()
    }

    /// How long a caller should wait before it looks again.
    #[must_use]
    pub fn caller_interval(&self, task: &Task) -> Duration {
        unimplemented!()
    }

    /// Takes answers to the job's questions; those to unknown or settled questions change nothing (requirement E2). The answers fit
    /// their forms.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn answer(&self, owner: &Principal, id: &TaskId, answers: InputAnswers) -> Result<Arc<Task>, AccessError> {
        unimplemented!()
    }

    /// Records the wish to cancel; the provider is told until it answers (requirement F1). With `at_once` the task itself is
    /// cancelled before this returns. A task that has ended stays as it is.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn cancel(&self, owner: &Principal, id: &TaskId, at_once: bool) -> Result<Arc<Task>, AccessError> {
        unimplemented!()
    }

    /// Waits until the task has ended, or `until`, and gives it back as it is then. Visible changes go to `updates` as far as there
    /// is room. Also returns when the engine stops.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn wait(
        &self,
        owner: &Principal,
        id: &TaskId,
        until: Timestamp,
        updates: Option<mpsc::Sender<Arc<Task>>>,
    ) -> Result<Arc<Task>, AccessError> {
        unimplemented!()
    }

    /// Watches those of `ids` that the owner has ([`Watch::ids`]): the present state of each, then every visible change.
    ///
    /// # Errors
    /// When the store fails; unknown ids are left out, not refused.
    pub async fn watch(&self, owner: &Principal, ids: &[TaskId]) -> Result<Watch, StoreError> {
        unimplemented!()
    }

    /// A page of tasks, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list(&self, query: ListQuery) -> Result<Vec<Arc<Task>>, StoreError> {
        unimplemented!()
    }

    /// What happened to a task, oldest first.
    ///
    /// # Errors
    /// See [`AccessError`].
    pub async fn audit(&self, owner: &Principal, id: &TaskId) -> Result<Vec<AuditEntry>, AccessError> {
        unimplemented!()
    }

    /// The key that seals what callers carry for us between two requests; the same over the store's whole life.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn seal_key(&self) -> Result<[u8; 32], StoreError> {
        unimplemented!()
    }

    /// Takes no more calls, lets running ones end within the grace, leaves the rest to the next start, and closes the store.
    pub async fn shutdown(&self) {
        unimplemented!()
    }
}
