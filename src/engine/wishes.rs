//! What callers want of a task they hold: a look, answers handed over, a cancel, news of it.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::AccessError;
use super::core::Core;
use super::notify::Watch;
use crate::domain::{
    CancelProgress, Cause, InputAction, InputAnswers, InputPolicy, InputProgress, Scope, Task, TaskEvent, TaskId, TaskState,
    Timestamp,
};
use crate::store::{ListQuery, StoreError};

impl Core {
    /// One read, and nobody else's task (requirement I1).
    pub(super) async fn get(&self, scope: &Scope, id: &TaskId) -> Result<Arc<Task>, AccessError> {
        match self.store.get_for(scope, id).await? {
            Some(task) if !self.is_over(&task) => Ok(task),
            Some(_) | None => Err(AccessError::NotFound),
        }
    }

    /// A full page, unless there are no more; what is over is left out even before the sweep removes it.
    pub(super) async fn list(&self, query: ListQuery) -> Result<Vec<Arc<Task>>, StoreError> {
        let ListQuery { scope, mut after, limit } = query;
        let mut page = Vec::new();
        loop {
            let wanted = limit - page.len();
            let next = self.store.list(ListQuery { scope: scope.clone(), after, limit: wanted }).await?;
            let is_last = next.len() < wanted;
            after = next.last().map(|task| (task.created_at, task.id));
            page.extend(next.into_iter().filter(|task| !self.is_over(task)));
            if is_last || page.len() == limit {
                return Ok(page);
            }
        }
    }

    pub(super) async fn answer(&self, scope: &Scope, id: &TaskId, answers: InputAnswers) -> Result<Arc<Task>, AccessError> {
        let task = self.get(scope, id).await?;
        let changed = self.change(task, None, |now| {
            let open = outstanding(now, &answers);
            if open.is_empty() || !matches!(now.state, TaskState::InputRequired { .. }) {
                return Vec::new();
            }
            let declined = open.values().any(|answer| answer.action != InputAction::Accept);
            let cause = Cause::from(scope);
            let mut events = vec![(TaskEvent::Answered(open), cause.clone())];
            if declined && self.policy(now).on_decline == InputPolicy::CancelJob {
                events.push((TaskEvent::CancelRequested { at_once: false }, cause));
            }
            events
        });
        changed.await.map_err(|error| gone_or_failed(error.into_store(*id)))
    }

    pub(super) async fn cancel(&self, scope: &Scope, id: &TaskId, at_once: bool) -> Result<Arc<Task>, AccessError> {
        let task = self.get(scope, id).await?;
        let changed = self.change(task, None, |now| {
            let again = now.cancellation.as_ref().is_some_and(|wish| wish.progress != CancelProgress::Refused);
            if now.is_ended() || (again && !at_once) {
                return Vec::new();
            }
            vec![(TaskEvent::CancelRequested { at_once }, Cause::from(scope))]
        });
        changed.await.map_err(|error| gone_or_failed(error.into_store(*id)))
    }

    pub(super) async fn watch(&self, scope: &Scope, ids: &[TaskId]) -> Result<Watch, StoreError> {
        // The watch comes first: what changes between the two is in it, or in what is read.
        let mut watch = self.hub.watch(ids, false);
        let mut known = Vec::with_capacity(ids.len());
        for id in ids {
            match self.get(scope, id).await {
                Ok(task) => {
                    known.push(*id);
                    watch.start_with(&task);
                }
                Err(AccessError::NotFound) => {}
                Err(AccessError::Store(error)) => return Err(error),
            }
        }
        watch.keep(&known);
        Ok(watch)
    }

    pub(super) async fn wait(
        &self,
        scope: &Scope,
        id: &TaskId,
        until: Timestamp,
        updates: Option<mpsc::Sender<Arc<Task>>>,
    ) -> Result<Arc<Task>, AccessError> {
        let mut wait = self.hub.wait(*id);
        let mut task = self.get(scope, id).await?;
        while !task.is_ended() {
            tokio::select! {
                biased;
                next = wait.next() => match next {
                    Some(next) if next.revision > task.revision => task = next,
                    Some(_) => continue,
                    None => break,
                },
                () = self.clock.sleep_until(until) => break,
            }
            if let Some(updates) = &updates {
                // A courtesy: when the reader is slow, the next one will do.
                drop(updates.try_send(task.clone()));
            }
        }
        Ok(task)
    }
}

/// The answers to questions that are open.
fn outstanding(task: &Task, answers: &InputAnswers) -> InputAnswers {
    let open = |key: &String| task.inputs.get(key).is_some_and(|slot| slot.progress == InputProgress::Open);
    answers.iter().filter(|(key, _)| open(key)).map(|(key, answer)| (key.clone(), answer.clone())).collect()
}

/// A task that was removed meanwhile is not found; a race that was lost too often is the store's trouble.
fn gone_or_failed(error: StoreError) -> AccessError {
    match error {
        StoreError::Stale(_) => AccessError::NotFound,
        other => AccessError::Store(other),
    }
}
