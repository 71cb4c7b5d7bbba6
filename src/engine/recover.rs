//! What a start finds in the store: everything due is taken up again, without a burst at any provider (requirement K4).
//!
//! Nothing is rewritten. What is due in the store is due now; looks at jobs are spread over the interval that each would have
//! had, and everything else goes as fast as the provider's limits allow. Unsettled submits are settled as they come due.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::core::{Core, Runtime};
use crate::domain::schedule::{self, Work};
use crate::domain::{Task, TaskId, Timestamp};
use crate::store::StoreError;

/// Tasks taken from the store at a time.
const BATCH: usize = 1024;
/// Readers of the store at the same time: reading and understanding the records is most of a start with many tasks.
const AT_ONCE: usize = 4;
/// Holds the tasks that are looked through; each claim is replaced at the end.
const LEASE: Duration = Duration::from_secs(60);

/// Spreads the looks at jobs that came due while nobody was here. The first few, as many as the provider takes calls at once, are
/// left to go at once.
pub(super) async fn spread(core: &Core, runtime: &Runtime) -> Result<usize, StoreError> {
    let name = &runtime.provider.name;
    let mut at_once: Vec<TaskId> = Vec::new();
    let mut looks = 0;
    let mut count = 0;
    loop {
        let claims = (0..AT_ONCE).map(|_| core.store.claim_due(name, core.started_at, LEASE, BATCH));
        let claimed = try_join_all(claims).await?;
        let before = count;
        for task in claimed.into_iter().flatten() {
            count += 1;
            match Work::of(&task) {
                Work::Poll if looks >= runtime.provider.limits.concurrency && !over(core, &task) => {
                    core.store.snooze(&task.id, core.within_interval(&task)).await?;
                }
                Work::Poll => {
                    looks += 1;
                    at_once.push(task.id);
                }
                Work::Submit | Work::Settle | Work::Provide | Work::Cancel | Work::Escalate | Work::Keep | Work::Nothing => {
                    at_once.push(task.id)
                }
            }
        }
        if count == before {
            break;
        }
    }
    core.store.release(&at_once).await?;
    Ok(count)
}

/// Whether a limit of time has struck already: that costs the provider nothing.
fn over(core: &Core, task: &Arc<Task>) -> bool {
    let (policy, now) = (core.policy(task), core.clock.now());
    schedule::limit_reached(task, policy, now).is_some() || schedule::keeping_over(task, policy, now).is_some()
}

impl Core {
    /// Some moment within the interval that the task's next look would have had.
    fn within_interval(&self, task: &Task) -> Timestamp {
        let now = self.clock.now();
        let next = schedule::next_due(task, self.policy(task), self.pace(task), now, 0.0, None).unwrap_or(now);
        now.plus(next.since(now).mul_f64(self.random.unit()))
    }

    /// Puts a task off until `until`, or ends it where a limit of time has struck.
    pub(super) async fn put_off(self: &Arc<Self>, task: &Arc<Task>, until: Timestamp) -> Result<(), StoreError> {
        if over(self, task) {
            self.work(None, task.clone(), None).await;
            return Ok(());
        }
        // Whoever works on it settles when it is due.
        let Some(_busy) = self.busy(task.id) else { return Ok(()) };
        self.store.snooze(&task.id, self.paused(task, until)).await
    }
}
