//! Deliveries: taken once, whatever their order, together with what they do to their tasks.
//!
//! A delivery is recorded in one step with its effect (requirement J2), so the sender is told 2xx only for what has happened and will stay
//! so. What comes before its job is known is parked whole and read once the job is; what cannot be read is laid aside as a dead letter.

use std::sync::Arc;

use jobgate_adapter_api::JobRef;
use jobgate_webhooks::Verified;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::core::{Core, Runtime, has_live_job};
use super::delivery::{Delivery, IngestError, Ingested, RedriveError};
use super::parts::{ProviderWebhook, Trust};
use crate::domain::schedule::Pace;
use crate::domain::{Cause, JobState, Note, Task, TaskEvent, TaskId, TaskState, Timestamp};
use crate::store::{Addressee, Commit, DeadLetter, DeliveryId, Intake, Parked, StoreError, Taken};

/// How often a delivery is decided anew when others were quicker: a provider may tell many things of one job at once.
pub(super) const RACES: usize = 64;

/// What happens to a task, with what brought it.
type Events = Vec<(TaskEvent, Cause)>;

/// What is to be done about a delivery.
struct Decided {
    commits: Vec<(Arc<Task>, Commit, Events)>,
    parked: Vec<Addressee>,
    outcome: Ingested,
}

/// A delivery, its provider and what its word is worth.
pub(super) struct Case<'a> {
    pub(super) runtime: &'a Arc<Runtime>,
    pub(super) webhook: ProviderWebhook,
    pub(super) verified: &'a Verified<'a>,
    /// It came to an address that stands for one task.
    pub(super) addressed: bool,
}

/// What a delivery does to one task.
pub(super) enum Effect {
    Events(Events, Ingested),
    Unreadable(String),
}

impl Core {
    /// Records a delivery together with what it does.
    pub(super) async fn ingest(
        self: &Arc<Self>,
        delivery: Delivery<'_>,
        redriven: Option<DeliveryId>,
    ) -> Result<Ingested, IngestError> {
        let runtime = self.providers.get(delivery.provider).ok_or(IngestError::NoSuchProvider)?;
        let webhook = runtime.provider.webhook.ok_or(IngestError::NoSuchProvider)?;
        let case = Case { runtime, webhook, verified: delivery.verified, addressed: delivery.task.is_some() };
        let id = redriven.unwrap_or_else(|| name(&delivery));
        if redriven.is_none() && self.store.was_taken(&id).await? {
            return self.repeated(&case, id).await;
        }
        let jobs = match runtime.provider.adapter.jobs_in(delivery.verified) {
            Ok(jobs) => jobs,
            Err(error) => return self.laid_aside(&case, &delivery, id, redriven, error.message().to_owned()).await,
        };
        for _ in 0..RACES {
            let Decided { commits, parked, outcome } = match self.decide(&case, delivery.task, &jobs).await {
                Ok(decided) => decided,
                Err(IngestError::Unreadable(reason)) => return self.laid_aside(&case, &delivery, id, redriven, reason).await,
                Err(error) => return Err(error),
            };
            if outcome == Ingested::Unknown && webhook.refuse_unknown && commits.is_empty() {
                return Ok(outcome);
            }
            let (changes, commits): (Vec<_>, Vec<_>) =
                commits.into_iter().map(|(before, commit, events)| ((before, events), commit)).unzip();
            let parked = parked.into_iter().map(|addressee| self.parked(&case, id, addressee)).collect();
            let intake = Intake { commits, parked, ..self.intake(&case, id, redriven) };
            match self.take(intake, changes).await {
                Ok(Taken::First(_)) => return Ok(outcome),
                Ok(Taken::Repeat { conflict }) => return Ok(Ingested::Repeat { conflict }),
                Ok(Taken::Bound) | Err(StoreError::Stale(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::Unavailable("the tasks of this delivery keep changing".to_owned()).into())
    }

    /// Uses a dead letter after all: read anew, with the configuration of now.
    pub(super) async fn redrive(self: &Arc<Self>, id: &DeliveryId) -> Result<Ingested, RedriveError> {
        let letter = self.store.dead_letter(id).await.map_err(IngestError::from)?.ok_or(RedriveError::NoSuchLetter)?;
        let verified = letter.kept.verified();
        let delivery = Delivery { provider: &letter.provider, verified: &verified, task: letter.task };
        Ok(self.ingest(delivery, Some(*id)).await?)
    }

    /// Has a delivery written and its changes made known; goes on when the future is dropped, so that nobody waits for news that is stored.
    async fn take(self: &Arc<Self>, intake: Intake, changes: Vec<(Arc<Task>, Events)>) -> Result<Taken, StoreError> {
        if changes.is_empty() {
            return self.timed(self.store.take(intake)).await;
        }
        let (tell, told) = oneshot::channel();
        let core = self.clone();
        self.supervisor.spawn("delivery", async move {
            let taken = core.timed(core.store.take(intake)).await;
            if let Ok(Taken::First(tasks)) = &taken {
                for ((before, events), next) in changes.iter().zip(tasks) {
                    core.committed(before, next, events);
                }
            }
            // Whoever has gone away needs no answer.
            drop(tell.send(taken));
        });
        told.await.unwrap_or(Err(StoreError::Closed))
    }

    pub(super) fn intake(&self, case: &Case<'_>, id: DeliveryId, redriven: Option<DeliveryId>) -> Intake {
        let at = self.clock.now();
        Intake {
            id,
            body_hash: Sha256::digest(case.verified.body()).into(),
            at,
            keep_until: at.plus(case.webhook.keep_for),
            redriven: redriven.is_some(),
            commits: Vec::new(),
            parked: Vec::new(),
            dead: None,
        }
    }

    fn parked(&self, case: &Case<'_>, delivery: DeliveryId, addressee: Addressee) -> Parked {
        let at = self.clock.now();
        Parked {
            provider: case.runtime.provider.name.clone(),
            addressee,
            delivery,
            at,
            until: at.plus(case.webhook.park_for),
            kept: case.verified.keep(),
        }
    }

    /// One that was taken before: the store says whether it was the same.
    async fn repeated(&self, case: &Case<'_>, id: DeliveryId) -> Result<Ingested, IngestError> {
        match self.store.take(self.intake(case, id, None)).await? {
            Taken::Repeat { conflict } => Ok(Ingested::Repeat { conflict }),
            // It was forgotten in this very moment, and is recorded anew: so old a copy has nothing to tell.
            Taken::First(_) | Taken::Bound => Ok(Ingested::Repeat { conflict: false }),
        }
    }

    async fn laid_aside(
        &self,
        case: &Case<'_>,
        delivery: &Delivery<'_>,
        id: DeliveryId,
        redriven: Option<DeliveryId>,
        reason: String,
    ) -> Result<Ingested, IngestError> {
        // A dead letter that still cannot be read stays as it is.
        if redriven.is_none() {
            let intake = self.intake(case, id, None);
            let dead = dead_letter(case, id, delivery.task, intake.at, reason.clone());
            if let Taken::Repeat { conflict } = self.store.take(Intake { dead: Some(dead), ..intake }).await? {
                return Ok(Ingested::Repeat { conflict });
            }
            tracing::warn!(provider = %delivery.provider, ?id, reason, "a delivery cannot be read; it is kept as a dead letter");
        }
        Err(IngestError::Unreadable(reason))
    }

    /// What a delivery does to the tasks of its jobs as they are now, or why it cannot be read.
    async fn decide(&self, case: &Case<'_>, addressed: Option<TaskId>, jobs: &[JobRef]) -> Result<Decided, IngestError> {
        let mut decided = Decided { commits: Vec::new(), parked: Vec::new(), outcome: Ingested::Nothing };
        if jobs.is_empty() {
            return Ok(decided);
        }
        let mut of_jobs: Vec<(Arc<Task>, &JobRef)> = Vec::new();
        if let Some(id) = addressed {
            let task = self.store.get(&id).await?.filter(|task| task.provider == case.runtime.provider.name);
            let Some(task) = task else { return Ok(Decided { outcome: Ingested::Unknown, ..decided }) };
            let named = match task.job() {
                Some(known) => jobs.iter().find(|job| job.id() == known.id()),
                None => jobs.first(),
            };
            match named {
                Some(job) => of_jobs.push((task, job)),
                None => decided.outcome = Ingested::Unknown,
            }
        } else {
            for job in jobs {
                match self.store.find_by_job(&case.runtime.provider.name, job.id()).await? {
                    Some(id) => match self.store.get(&id).await? {
                        // Two ids of one job, for example: its first word counts.
                        Some(task) if of_jobs.iter().any(|(there, _)| there.id == task.id) => {}
                        Some(task) => of_jobs.push((task, job)),
                        None => decided.outcome = decided.outcome.max(Ingested::Unknown),
                    },
                    None if case.webhook.refuse_unknown => decided.outcome = decided.outcome.max(Ingested::Unknown),
                    None => {
                        decided.parked.push(Addressee::Job(job.id().to_owned()));
                        decided.outcome = decided.outcome.max(Ingested::Parked);
                    }
                }
            }
        }
        for (task, job) in of_jobs {
            self.told_of(case, &task);
            let effect = if matches!(task.state, TaskState::Submitting { .. }) {
                decided.parked.push(Addressee::Task(task.id));
                Effect::Events(vec![(TaskEvent::Delivered(Note::Early), Cause::Webhook)], Ingested::Parked)
            } else {
                self.effect(case, &task, job)
            };
            match effect {
                Effect::Events(events, outcome) => {
                    decided.outcome = decided.outcome.max(outcome);
                    if !events.is_empty() {
                        match self.commit_of(&task, &events, None) {
                            Ok(commit) => decided.commits.push((task, commit, events)),
                            Err(error) => tracing::error!(task = ?task.id, %error, "refused what a delivery says"),
                        }
                    }
                }
                // Of several jobs the others count all the same.
                Effect::Unreadable(reason) if jobs.len() > 1 => {
                    tracing::warn!(task = ?task.id, reason, "what a delivery says of a job cannot be read");
                }
                Effect::Unreadable(reason) => return Err(IngestError::Unreadable(reason)),
            }
        }
        Ok(decided)
    }

    /// Notes that the provider tells of a task by itself.
    pub(super) fn told_of(&self, case: &Case<'_>, task: &Task) {
        if task.is_ended() {
            return;
        }
        if case.runtime.health.told(task.id, self.clock.now(), case.webhook.safety_poll) {
            tracing::info!(provider = %case.runtime.provider.name, "deliveries arrive; jobs are looked at rarely from now on");
        }
    }

    /// What a delivery does to a task whose submit is settled.
    pub(super) fn effect(&self, case: &Case<'_>, task: &Task, named: &JobRef) -> Effect {
        let note = |note, outcome| Effect::Events(vec![(TaskEvent::Delivered(note), Cause::Webhook)], outcome);
        let Some(job) = task.job() else {
            // It tells the name of the job that is still to be stopped.
            let found = task.owes_cancel().then(|| vec![(TaskEvent::Accepted(named.clone()), Cause::Webhook)]);
            return found.map_or_else(|| note(Note::Late, Ingested::Late), |events| Effect::Events(events, Ingested::Applied));
        };
        if !has_live_job(task) {
            return note(Note::Late, Ingested::Late);
        }
        let can_look = self.pace(task) != Pace::Never;
        let hint = || match can_look {
            true => note(Note::Hint, Ingested::Hinted),
            false => Effect::Events(Vec::new(), Ingested::Nothing),
        };
        let believed = case.webhook.trust == Trust::Payload && (case.verified.binds().trustworthy() || case.addressed);
        if !believed {
            return hint();
        }
        let context = self.context(case.runtime, task);
        let seen = match case.runtime.provider.adapter.read(&context, job, case.verified) {
            Ok(Some(seen)) => seen,
            Ok(None) => return hint(),
            Err(error) if can_look => {
                tracing::warn!(task = ?task.id, %error, "what a delivery says cannot be read; the provider is asked");
                return hint();
            }
            Err(error) => return Effect::Unreadable(error.message().to_owned()),
        };
        if let JobState::Unrecognized(word) = &seen.state {
            case.runtime.note_strange(task.tool.as_str(), word);
        }
        let seen = self.taken(task.tool.as_str(), seen);
        if task.is_past(&seen) {
            let mut events = vec![(TaskEvent::Delivered(Note::Stale), Cause::Webhook)];
            if can_look {
                events.push((TaskEvent::Delivered(Note::Hint), Cause::Webhook));
            }
            return Effect::Events(events, Ingested::Stale);
        }
        let event = TaskEvent::Observed(seen);
        let same = task.apply(&event, self.clock.now()).is_ok_and(|next| Task { revision: task.revision, ..next } == *task);
        if same {
            return Effect::Events(Vec::new(), Ingested::Applied);
        }
        Effect::Events(self.with_limit(task, vec![(event, Cause::Webhook)]), Ingested::Applied)
    }
}

pub(super) fn dead_letter(case: &Case<'_>, id: DeliveryId, task: Option<TaskId>, at: Timestamp, reason: String) -> DeadLetter {
    DeadLetter { id, provider: case.runtime.provider.name.clone(), task, at, reason, kept: case.verified.keep() }
}

/// Names a delivery by its route and by what its copies have in common: never by how it was spelled.
fn name(delivery: &Delivery<'_>) -> DeliveryId {
    let mut hash = Sha256::new();
    hash.update((delivery.provider.as_str().len() as u64).to_be_bytes());
    hash.update(delivery.provider.as_str());
    match delivery.task {
        Some(task) => hash.update([&[1], &task.as_bytes()[..]].concat()),
        None => hash.update([0]),
    }
    hash.update(delivery.verified.replay_id().as_bytes());
    DeliveryId::new(hash.finalize().into())
}
