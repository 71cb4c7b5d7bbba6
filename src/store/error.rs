//! What can go wrong in a store.

use crate::domain::TaskId;

/// A store's answer when it cannot do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Someone else changed the task first, or it is gone: read it again.
    #[error("task {0:?} was changed by someone else")]
    Stale(TaskId),
    /// The owner has a task with this client id already; nothing happened.
    #[error("this owner has a task with this id already")]
    NameTaken,
    /// Another process holds the store.
    #[error("the store at {path} is held by another process{}", holder.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Held {
        /// The data folder.
        path: String,
        /// The holder, where known.
        holder: Option<u32>,
    },
    /// The disk is full or refuses to write; nothing was acknowledged.
    #[error("the store cannot write: {0}")]
    Unavailable(String),
    /// What is stored cannot be read. Says what is wrong and what to do.
    #[error("the store is damaged: {what}. {advice}")]
    Corrupt {
        /// What is wrong.
        what: String,
        /// What to do.
        advice: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}
