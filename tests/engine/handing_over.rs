//! How a new task passes from its call to the poller (requirements B9, C1): whoever comes first, it is looked after at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join;
use jobgate::domain::{ManualClock, Timestamp};
use jobgate::store::MemoryStore;
use jobgate_adapter_api::Operation;
use tokio::sync::Notify;

use crate::fake::running;
use crate::rig::{Rig, SECOND, call};

/// A store that answers a create late, long after the task can be claimed.
#[derive(Debug, Default)]
struct Late {
    inner: MemoryStore,
    creates: AtomicU32,
    answer: Notify,
}

impl Late {
    /// Holds up the answer to the second create: its fourth passage here.
    async fn around(&self, call: &str) {
        if call == "create" && self.creates.fetch_add(1, Ordering::SeqCst) == 3 {
            self.answer.notified().await;
        }
    }
}

wrapped_store!(Late);

/// A saturated provider becomes free while the store still answers the create: the poller claims the task, finds it busy, and must
/// not be left with a claim that nobody works on.
#[tokio::test]
async fn a_task_that_is_claimed_before_its_call_lets_go_of_it_is_submitted_at_once() {
    let store = Arc::new(Late::default());
    let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_800_000_000_000)));
    let mut rig = Rig::over(clock, store.clone());
    rig.provider.concurrency = 1;
    rig.start().await;
    rig.fake.plan([running()]);
    rig.fake.state().slow = 5 * SECOND;
    let engine = rig.engine();
    let calls = join(engine.call(call(1)), engine.call(call(2)));
    let passing = async {
        rig.settle().await;
        assert_eq!(rig.fake.calls(Operation::Submit).len(), 1, "the first call has the only place");
        rig.advance(6 * SECOND).await;
        rig.fake.state().slow = Duration::ZERO;
        store.answer.notify_one();
        rig.advance(SECOND).await;
        assert_eq!(rig.fake.calls(Operation::Submit).len(), 2, "nobody looks after the second task");
    };
    let (_, ()) = join(calls, passing).await;
}
