//! The wire forms of tasks, each a projection of the same domain.

mod classic;
mod core;
mod draft;
pub(super) mod extension;
mod said;
pub(super) mod session;

/// What a model is told about all tools at once.
pub(in crate::mcp) const INSTRUCTIONS: &str = "Each tool starts a job at an external system. A job may take minutes or hours: the call then gives back a task, or a ticket for \
     job_wait to a client that knows no tasks. The job goes on without you, and its result is kept for you. Do not call a tool again \
     because its job is still running; that would start a second job.";
