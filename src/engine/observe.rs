//! Who is told of what the engine does: for those who count, not for those who decide.

use std::fmt;
use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, Operation};

use crate::domain::{Cause, ProviderName, Task, TaskEvent};

/// Is told what has happened. The engine waits for it, so it returns at once; it hears of each thing once, after the fact.
pub trait Observer: fmt::Debug + Send + Sync + 'static {
    /// A provider was called: what for, how it failed if it did, and how long it took. A call that was dropped is not told.
    fn called(&self, provider: &ProviderName, operation: Operation, failed: Option<ErrorKind>, took: Duration);

    /// A change took so long until the store had it durable, or could not have it.
    fn stored(&self, took: Duration);

    /// A task is durable that was not there before.
    fn created(&self, task: &Task);

    /// A change of a task is durable: the task before, the task now, and what happened between, oldest first.
    fn changed(&self, before: &Task, now: &Task, happened: &[(TaskEvent, Cause)]);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn called(&self, _: &ProviderName, _: Operation, _: Option<ErrorKind>, _: Duration) {}

    fn stored(&self, _: Duration) {}

    fn created(&self, _: &Task) {}

    fn changed(&self, _: &Task, _: &Task, _: &[(TaskEvent, Cause)]) {}
}
