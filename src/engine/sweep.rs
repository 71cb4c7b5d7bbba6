//! Tasks whose life has ended: kept while their job runs, ended by the tool's policy, or removed with all that belongs to them; and what
//! is left of deliveries.

use std::sync::Arc;
use std::time::Duration;

use super::core::Core;
use super::poller::pause;
use crate::domain::{Category, Cause, ExpiryPolicy, LifeFrom, Outcome, Task, TaskError, TaskEvent, TaskState};
use crate::store::StoreError;

/// Between two sweeps.
const INTERVAL: Duration = Duration::from_secs(30);
/// Tasks looked at in one go.
const BATCH: usize = 256;
/// The least by which a life is extended, so that a long job is not written about all the time.
const EXTENSION: Duration = Duration::from_secs(60 * 60);
/// How long the record of an ended task is kept for the sake of a cancel that its provider does not answer.
const OWED_LIMIT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Runs until the engine stops.
pub(super) async fn run(core: Arc<Core>) {
    while !core.supervisor.stopping().is_cancelled() {
        if let Err(error) = core.sweep_deliveries().await {
            tracing::error!(%error, "the sweep of deliveries failed; it is tried again");
        }
        match sweep(&core).await {
            Ok(BATCH) => continue,
            Ok(_) => {}
            Err(error) => tracing::error!(%error, "the sweep of expired tasks failed; it is tried again"),
        }
        pause(&core, core.clock.now().plus(INTERVAL)).await;
    }
}

/// One batch; says how many tasks it settled.
async fn sweep(core: &Arc<Core>) -> Result<usize, StoreError> {
    let now = core.clock.now();
    let mut dead = Vec::new();
    let mut settled = 0;
    for task in core.store.expired(now, BATCH).await? {
        if core.is_over(&task) {
            dead.push((task.id, task.revision));
            settled += 1;
            continue;
        }
        let id = task.id;
        let decide = |now: &Task| at_expiry(now, core).into_iter().collect();
        match core.change(task, None, decide).await {
            Ok(_) => settled += 1,
            Err(error) => tracing::warn!(task = ?id, error = %error.into_store(id), "an expired task could not be settled"),
        }
    }
    if !dead.is_empty() {
        let purged = core.store.purge(&dead).await?;
        core.let_go(dead.into_iter().map(|(id, _)| id)).await;
        tracing::info!(purged, "removed expired tasks");
    }
    Ok(settled)
}

impl Core {
    /// Whether nothing of the task is needed any more: its life and the time for fetching its result have passed, and its provider
    /// has answered. To callers such a task is gone even before the sweep removes it (requirement G2).
    pub(super) fn is_over(&self, task: &Task) -> bool {
        let TaskState::Ended { at, .. } = &task.state else { return false };
        let now = self.clock.now();
        let lived = task.expires_at().is_some_and(|end| end <= now) && at.plus(self.kept_ended(task)) <= now;
        lived && (!task.is_bound_to_stop() || at.plus(OWED_LIMIT) <= now)
    }

    /// How long an ended task is kept whatever its life. A life that counts from the end is the time for fetching the result
    /// already, so nothing is added to it (requirement H7).
    const fn kept_ended(&self, task: &Task) -> Duration {
        match task.life_from {
            LifeFrom::Creation => self.limits.keep_ended,
            LifeFrom::End => Duration::ZERO,
        }
    }
}

/// What happens to a task that has outlived its life and is still needed; nothing to one that was changed meanwhile, and lives.
fn at_expiry(task: &Task, core: &Core) -> Option<(TaskEvent, Cause)> {
    let now = core.clock.now();
    task.expires_at().filter(|end| *end <= now)?;
    if let TaskState::Ended { at, .. } = &task.state {
        let begun = match task.life_from {
            LifeFrom::Creation => task.created_at,
            LifeFrom::End => *at,
        };
        let kept = at.plus(core.kept_ended(task));
        let until = if task.is_bound_to_stop() { kept.max(now.plus(EXTENSION)) } else { kept };
        return (until > now).then(|| (TaskEvent::LifeExtended(until.since(begun)), Cause::Limit));
    }
    let age = now.since(task.created_at);
    let error = |message: &str| TaskError {
        category: Category::Expired,
        message: message.to_owned(),
        retryable: true,
        attempts: task.troubles.count,
        provider_status: None,
    };
    let is_keeping = matches!(task.state, TaskState::Keeping { .. });
    let event = match core.policy(task).on_expiry {
        ExpiryPolicy::Cancel | ExpiryPolicy::Detach if is_keeping => {
            TaskEvent::KeepGivenUp("the task's life has ended".to_owned())
        }
        // Half as long again, so that a job of days is extended a few times and not all the time.
        ExpiryPolicy::Keep => TaskEvent::LifeExtended(age + (age / 2).max(EXTENSION)),
        ExpiryPolicy::Cancel => TaskEvent::LimitStruck(error("the task's life ended before its job; the job is being cancelled")),
        ExpiryPolicy::Detach => TaskEvent::Faulted(error("the task's life ended before its job; the job runs on unwatched")),
    };
    Some((event, Cause::Limit))
}

/// Whether the provider refused the job before one was started: then the call itself is answered with the tool's own error.
pub(super) const fn was_refused(task: &Task) -> Option<&Arc<crate::domain::ToolResult>> {
    match &task.state {
        TaskState::Ended { job: None, outcome: Outcome::Result(result), .. } => Some(result),
        TaskState::Submitting { .. }
        | TaskState::Running { .. }
        | TaskState::InputRequired { .. }
        | TaskState::Keeping { .. }
        | TaskState::Ended { .. } => None,
    }
}
