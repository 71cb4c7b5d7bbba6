//! Deliveries that came before their job was known: used once it is, as a way to find it, or forgotten when nobody asks for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jobgate_adapter_api::JobRef;
use sha2::{Digest as _, Sha256};

use super::core::{ChangeError, Core, Runtime};
use super::ingest::{Case, Effect, RACES, dead_letter};
use crate::domain::{Cause, Note, Task, TaskEvent, TaskId, TaskState};
use crate::store::{Addressee, Commit, DeliveryId, Intake, Parked, StoreError};

impl Core {
    /// The job that a delivery to the callback address of an unsettled task names.
    pub(super) async fn told_job(&self, runtime: &Arc<Runtime>, task: &Task) -> Result<Option<JobRef>, StoreError> {
        if runtime.provider.webhook.is_none() {
            return Ok(None);
        }
        let parked = self.store.parked(&runtime.provider.name, &Addressee::Task(task.id)).await?;
        let named = |it: &Parked| runtime.provider.adapter.jobs_in(&it.kept.verified()).ok()?.into_iter().next();
        Ok(parked.iter().find_map(named))
    }

    /// Whether a submit of this task hands the provider an address that tells of it.
    pub(super) fn has_callback(&self, runtime: &Runtime, task: &Task) -> bool {
        runtime.provider.adapter.capabilities(task.tool.as_str()).callback && self.context(runtime, task).callback_url.is_some()
    }

    /// Does what was parked until the job of this task was known. What fails is tried again by the sweep.
    pub(super) async fn use_parked(&self, runtime: &Arc<Runtime>, task: &Arc<Task>) {
        if runtime.provider.webhook.is_none() {
            return;
        }
        if let Err(error) = self.try_parked(runtime, task).await {
            self.parked_left.store(true, Ordering::Relaxed);
            tracing::warn!(task = ?task.id, %error, "what was delivered early cannot be used yet; it is tried again");
        }
    }

    async fn try_parked(&self, runtime: &Arc<Runtime>, task: &Arc<Task>) -> Result<(), ChangeError> {
        let name = &runtime.provider.name;
        let mut parked = self.store.parked(name, &Addressee::Task(task.id)).await?;
        if let Some(job) = task.job() {
            parked.extend(self.store.parked(name, &Addressee::Job(job.id().to_owned())).await?);
        }
        parked.sort_by_key(|it| it.at);
        for it in parked {
            self.use_one(runtime, task.id, it).await?;
        }
        Ok(())
    }

    /// Reads a parked delivery, and takes it away together with what it does.
    async fn use_one(&self, runtime: &Arc<Runtime>, id: TaskId, parked: Parked) -> Result<(), ChangeError> {
        let Some(webhook) = runtime.provider.webhook else { return Ok(()) };
        let verified = parked.kept.verified();
        let addressed = matches!(parked.addressee, Addressee::Task(_));
        let case = Case { runtime, webhook, verified: &verified, addressed };
        for _ in 0..RACES {
            let Some(task) = self.store.get(&id).await? else { return Ok(()) };
            if matches!(task.state, TaskState::Submitting { .. }) {
                return Ok(());
            }
            let jobs = runtime.provider.adapter.jobs_in(&verified).unwrap_or_default();
            let named = match task.job() {
                Some(known) => jobs.iter().find(|job| job.id() == known.id()),
                None => jobs.first(),
            };
            self.told_of(&case, &task);
            let events = match named.map(|job| self.effect(&case, &task, job)) {
                Some(Effect::Events(events, _)) if !events.is_empty() => events,
                // The history says that it came and changed nothing.
                Some(Effect::Events(..)) | None => vec![(TaskEvent::Delivered(Note::Early), Cause::Webhook)],
                Some(Effect::Unreadable(reason)) => {
                    // Under a name of its own: what was parked has been taken before.
                    let intake = self.intake(&case, laid_aside(parked.delivery, id), None);
                    let dead = dead_letter(&case, intake.id, addressed.then_some(id), intake.at, reason);
                    self.store.take(Intake { dead: Some(dead), ..intake }).await?;
                    vec![(TaskEvent::Delivered(Note::Early), Cause::Webhook)]
                }
            };
            let commit = Commit { unpark: vec![parked.key()], ..self.commit_of(&task, &events, None)? };
            match self.store.commit(commit).await {
                Ok(next) => {
                    self.committed(&task, &next, &events);
                    return Ok(());
                }
                Err(StoreError::Stale(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Stale(id).into())
    }

    /// The task that may be told what was parked for it.
    async fn bound(&self, id: Option<TaskId>) -> Result<Option<Arc<Task>>, StoreError> {
        let Some(id) = id else { return Ok(None) };
        Ok(self.store.get(&id).await?.filter(|task| !matches!(task.state, TaskState::Submitting { .. })))
    }

    /// Looks after what is left of deliveries: does what could not be done when its job became known, and forgets what is too old.
    pub(super) async fn sweep_deliveries(&self) -> Result<(), StoreError> {
        if self.parked_left.swap(false, Ordering::Relaxed) {
            for key in self.store.all_parked(usize::MAX).await? {
                let Some(runtime) = self.providers.get(&key.provider) else { continue };
                let id = match &key.addressee {
                    Addressee::Task(id) => Some(*id),
                    Addressee::Job(job) => self.store.find_by_job(&key.provider, job).await?,
                };
                if let Some(task) = self.bound(id).await? {
                    self.use_parked(runtime, &task).await;
                }
            }
        }
        for gone in self.store.forget(self.clock.now(), usize::MAX).await? {
            tracing::debug!(provider = %gone.provider, delivery = ?gone.delivery, "nobody asked for a delivery in time");
            if let Some(runtime) = self.providers.get(&gone.provider) {
                runtime.health.forgot(1);
            }
        }
        Ok(())
    }
}

/// The name of a dead letter that was parked for a task before.
fn laid_aside(delivery: DeliveryId, task: TaskId) -> DeliveryId {
    DeliveryId::new(Sha256::digest([&delivery.as_bytes()[..], task.as_bytes()].concat()).into())
}
