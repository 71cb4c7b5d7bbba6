//! One loop a provider: claims what is due, as much as the provider can bear, and has it done.

use std::sync::Arc;
use std::time::Duration;

use super::core::{Core, Runtime};
use super::gate::Pass;
use crate::domain::{ProviderName, Timestamp};
use crate::store::StoreError;

/// Tasks claimed at a time.
const BATCH: usize = 64;
/// The pause after a failure of the store.
const STORE_TROUBLE: Duration = Duration::from_secs(1);

/// Runs until the engine stops.
pub(super) async fn run(core: Arc<Core>, runtime: Arc<Runtime>) {
    let stopping = core.supervisor.stopping().clone();
    while !stopping.is_cancelled() {
        let step = tokio::select! {
            () = stopping.cancelled() => return,
            step = step(&core, &runtime) => step,
        };
        if let Err(error) = step {
            tracing::error!(provider = %runtime.provider.name, %error, "the poller cannot reach the store");
            pause(&core, core.clock.now().plus(STORE_TROUBLE)).await;
        }
    }
}

async fn step(core: &Arc<Core>, runtime: &Arc<Runtime>) -> Result<(), StoreError> {
    let name = &runtime.provider.name;
    let now = core.clock.now();
    match core.store.next_due(name).await? {
        Some(due) if due <= now => {}
        Some(due) => {
            tokio::select! {
                () = core.clock.sleep_until(due) => {}
                () = runtime.wake.notified() => {}
            }
            return Ok(());
        }
        None => {
            runtime.wake.notified().await;
            return Ok(());
        }
    }
    if let Some(until) = runtime.gate.closed_until() {
        return resting(core, runtime, until).await;
    }
    let first = runtime.gate.pass().await;
    let mut passes: Vec<Pass> = std::iter::once(first).chain(runtime.gate.more(BATCH - 1)).collect();
    for task in core.store.claim_due(name, core.clock.now(), runtime.lease(), passes.len()).await? {
        let Some(pass) = passes.pop() else { break };
        let (core, runtime) = (core.clone(), runtime.clone());
        core.supervisor.clone().spawn("work", async move { core.work(Some(&runtime), task, Some(pass)).await });
    }
    Ok(())
}

/// The provider is left alone: its tasks are put off, and only limits of time are looked after.
async fn resting(core: &Arc<Core>, runtime: &Arc<Runtime>, until: Timestamp) -> Result<(), StoreError> {
    for task in core.store.claim_due(&runtime.provider.name, core.clock.now(), runtime.lease(), BATCH).await? {
        core.put_off(&task, until).await?;
    }
    Ok(())
}

/// Looks after the tasks of a provider that the configuration no longer has.
pub(super) async fn run_without(core: Arc<Core>, name: ProviderName) {
    let stopping = core.supervisor.stopping().clone();
    while !stopping.is_cancelled() {
        match core.store.claim_due(&name, core.clock.now(), STORE_TROUBLE * 60, BATCH).await {
            Ok(claimed) if !claimed.is_empty() => {
                for task in claimed {
                    core.work(None, task, None).await;
                }
            }
            Ok(_) => match core.store.next_due(&name).await {
                Ok(Some(due)) => pause(&core, due.max(core.clock.now().plus(STORE_TROUBLE))).await,
                // No new task can get here without the provider.
                Ok(None) => return,
                Err(_) => pause(&core, core.clock.now().plus(STORE_TROUBLE)).await,
            },
            Err(error) => {
                tracing::error!(provider = %name, %error, "the poller cannot reach the store");
                pause(&core, core.clock.now().plus(STORE_TROUBLE)).await;
            }
        }
    }
}

/// Waits until `until`, or until the engine stops.
pub(super) async fn pause(core: &Core, until: Timestamp) {
    tokio::select! {
        () = core.supervisor.stopping().cancelled() => {}
        () = core.clock.sleep_until(until) => {}
    }
}
