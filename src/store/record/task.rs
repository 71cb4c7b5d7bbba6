//! The first stored form of a task.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::keep::{KeepV1, KeepingV1};
use super::names::NamesV1;
use super::parts::{CancellationV1, EndV1, OutcomeV1, ResultV1, SlotV1, StateV1};
use super::troubles::TroublesV1;
use super::words::{hex32, is_false};
use super::{BodyRef, Fetch, RecordError, Role, json};
use crate::domain::{
    CallerKey, IdempotencyKey, Keeping, LifeFrom, Names, Outcome, Principal, Progress, ProviderName, Revision, Task, TaskId,
    TaskState, Timestamp, ToolName, Troubles,
};

/// A part of a record that may be a body.
#[derive(Serialize, Deserialize)]
pub(super) enum Held<T> {
    /// It is here.
    #[serde(rename = "=")]
    Here(T),
    /// It is this body.
    #[serde(rename = "@")]
    Body(BodyRef),
}

impl<T> Held<T> {
    /// Makes it a body, if it is not one.
    fn move_out(&mut self, bytes: Vec<u8>) -> (BodyRef, Vec<u8>) {
        let body = BodyRef::of(&bytes);
        *self = Self::Body(body);
        (body, bytes)
    }
}

impl<T: Serialize> Held<T> {
    /// Its bytes, if it is here.
    fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Here(value) => Some(json(value)),
            Self::Body(_) => None,
        }
    }
}

/// Reads a part from where it is. What a reader leaves out is `None`.
fn take<T, U>(
    held: Held<T>,
    bodies: &mut Vec<BodyRef>,
    fetch: Fetch<'_>,
    own: impl Fn(T) -> U,
    read: impl Fn(&[u8]) -> Result<U, serde_json::Error>,
) -> Result<Option<U>, RecordError> {
    match held {
        Held::Here(value) => Ok(Some(own(value))),
        Held::Body(body) => {
            bodies.push(body);
            let bytes = fetch(&body, Role::Part).map_err(RecordError::Body)?;
            Ok(bytes.as_deref().map(read).transpose()?)
        }
    }
}

impl StateV1<'_> {
    /// The bytes of the part that may be a body, if there is one and it is here.
    fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            StateV1::Ended(EndV1 { outcome: OutcomeV1::Result(result), .. }) => result.bytes(),
            StateV1::Keeping(keep) => keep.keeping.bytes(),
            StateV1::Ended(_) | StateV1::Submitting(..) | StateV1::Running(_) | StateV1::InputRequired(_) => None,
        }
    }

    /// Makes that part a body.
    fn move_out(&mut self, bytes: Vec<u8>) -> Option<(BodyRef, Vec<u8>)> {
        match self {
            StateV1::Ended(EndV1 { outcome: OutcomeV1::Result(result), .. }) => Some(result.move_out(bytes)),
            StateV1::Keeping(keep) => Some(keep.keeping.move_out(bytes)),
            StateV1::Ended(_) | StateV1::Submitting(..) | StateV1::Running(_) | StateV1::InputRequired(_) => None,
        }
    }
}

type Questions<'a> = BTreeMap<Cow<'a, str>, SlotV1<'a>>;

#[derive(Serialize, Deserialize)]
struct KeyV1<'a>(#[serde(borrow)] Cow<'a, str>, #[serde(with = "hex32")] [u8; 32]);

/// A task. Moments are milliseconds since 1970, spans milliseconds.
#[derive(Serialize, Deserialize)]
pub(super) struct TaskV1<'a> {
    /// Tenant and name.
    #[serde(rename = "o", borrow)]
    owner: (Cow<'a, str>, Cow<'a, str>),
    #[serde(rename = "t", borrow)]
    tool: Cow<'a, str>,
    #[serde(rename = "p", borrow)]
    provider: Cow<'a, str>,
    #[serde(rename = "a")]
    arguments: Held<Cow<'a, Map<String, Value>>>,
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none", borrow)]
    caller_key: Option<KeyV1<'a>>,
    #[serde(rename = "y", default, skip_serializing_if = "Option::is_none", borrow)]
    names: Option<NamesV1<'a>>,
    #[serde(rename = "s", borrow)]
    submit_key: Cow<'a, str>,
    #[serde(rename = "c")]
    created_at: i64,
    #[serde(rename = "u")]
    updated_at: i64,
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
    /// The life is counted from the end.
    #[serde(rename = "h", default, skip_serializing_if = "is_false")]
    life_from_end: bool,
    #[serde(rename = "d")]
    deadline_at: i64,
    #[serde(rename = "r")]
    revision: u64,
    #[serde(rename = "x", borrow)]
    state: StateV1<'a>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none", borrow)]
    message: Option<Cow<'a, str>>,
    /// Done, and of how many.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    progress: Option<(f64, Option<f64>)>,
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none", borrow)]
    inputs: Option<Held<Questions<'a>>>,
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    cancellation: Option<CancellationV1>,
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none", borrow)]
    troubles: Option<TroublesV1<'a>>,
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    missing_since: Option<i64>,
    #[serde(rename = "z", default, skip_serializing_if = "Option::is_none")]
    due_at: Option<i64>,
}

impl<'a> TaskV1<'a> {
    /// The form with every part in it.
    pub(super) fn of(task: &'a Task) -> Self {
        let state = match &task.state {
            TaskState::Submitting { attempt, unsettled } => StateV1::Submitting(*attempt, *unsettled),
            TaskState::Running { job } => StateV1::Running(job.into()),
            TaskState::InputRequired { job } => StateV1::InputRequired(job.into()),
            TaskState::Keeping { job, keeping } => {
                StateV1::Keeping(KeepV1 { job: job.into(), keeping: Held::Here(keeping.as_ref().into()) })
            }
            TaskState::Ended { job, outcome, at } => StateV1::Ended(EndV1 {
                job: job.as_ref().map(Into::into),
                outcome: match outcome {
                    Outcome::Result(result) => OutcomeV1::Result(Held::Here(result.as_ref().into())),
                    Outcome::Error(error) => OutcomeV1::Error(error.into()),
                    Outcome::Cancelled => OutcomeV1::Cancelled,
                },
                at: at.as_millis(),
            }),
        };
        let questions = || task.inputs.iter().map(|(key, slot)| (key.into(), slot.into())).collect();
        Self {
            owner: (task.owner.tenant().into(), task.owner.name().into()),
            tool: task.tool.as_str().into(),
            provider: task.provider.as_str().into(),
            arguments: Held::Here(Cow::Borrowed(&task.arguments)),
            caller_key: task.caller_key.as_ref().map(|key| KeyV1((&key.key).into(), key.arguments_hash)),
            names: NamesV1::of(&task.names),
            submit_key: task.submit_key.as_str().into(),
            created_at: task.created_at.as_millis(),
            updated_at: task.updated_at.as_millis(),
            ttl: task.ttl.map(|ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
            life_from_end: task.life_from == LifeFrom::End,
            deadline_at: task.deadline_at.as_millis(),
            revision: task.revision.0,
            state,
            message: task.message.as_ref().map(Into::into),
            progress: task.progress.and_then(finite),
            inputs: (!task.inputs.is_empty()).then(|| Held::Here(questions())),
            cancellation: task.cancellation.as_ref().map(Into::into),
            troubles: TroublesV1::of(&task.troubles),
            missing_since: task.missing_since.map(Timestamp::as_millis),
            due_at: task.due_at.map(Timestamp::as_millis),
        }
    }

    /// Makes the largest part that is still here a body; `None` when none is left.
    pub(super) fn move_out_largest(&mut self) -> Option<(BodyRef, Vec<u8>)> {
        let arguments = self.arguments.bytes();
        let inputs = self.inputs.as_ref().and_then(Held::bytes);
        let state = self.state.bytes();
        let len = |part: &Option<Vec<u8>>| part.as_ref().map_or(0, Vec::len);
        let largest = len(&arguments).max(len(&inputs)).max(len(&state));
        let is_largest = |bytes: &Vec<u8>| bytes.len() == largest;
        if let Some(bytes) = arguments.filter(is_largest) {
            Some(self.arguments.move_out(bytes))
        } else if let Some(bytes) = inputs.filter(is_largest) {
            self.inputs.as_mut().map(|inputs| inputs.move_out(bytes))
        } else {
            self.state.move_out(state?)
        }
    }

    /// The task. The names of its bodies are added to `bodies`.
    pub(super) fn into_task(self, id: TaskId, bodies: &mut Vec<BodyRef>, fetch: Fetch<'_>) -> Result<Task, RecordError> {
        let at = Timestamp::from_millis;
        let state = match self.state {
            StateV1::Submitting(attempt, unsettled) => TaskState::Submitting { attempt, unsettled },
            StateV1::Running(job) => TaskState::Running { job: job.into() },
            StateV1::InputRequired(job) => TaskState::InputRequired { job: job.into() },
            StateV1::Keeping(KeepV1 { job, keeping }) => {
                let read = |bytes: &[u8]| serde_json::from_slice::<KeepingV1<'_>>(bytes).map(Keeping::from);
                let keeping = take(keeping, bodies, fetch, Keeping::from, read)?;
                TaskState::Keeping { job: job.into(), keeping: Arc::new(keeping.unwrap_or_else(Keeping::unread)) }
            }
            StateV1::Ended(EndV1 { job, outcome, at: ended }) => {
                let outcome = match outcome {
                    OutcomeV1::Result(result) => {
                        let read = |bytes: &[u8]| serde_json::from_slice::<ResultV1<'_>>(bytes).map(Into::into);
                        Outcome::Result(Arc::new(take(result, bodies, fetch, Into::into, read)?.unwrap_or_default()))
                    }
                    OutcomeV1::Error(error) => Outcome::Error(error.into()),
                    OutcomeV1::Cancelled => Outcome::Cancelled,
                };
                TaskState::Ended { job: job.map(Into::into), outcome, at: at(ended) }
            }
        };
        let inputs = self.inputs.map(|inputs| {
            let own = |questions: Questions<'_>| {
                let slot = |(key, slot): (Cow<'_, str>, SlotV1<'_>)| (key.to_string(), slot.into_slot(key.into_owned()));
                questions.into_iter().map(slot).collect()
            };
            take(inputs, bodies, fetch, own, |bytes| serde_json::from_slice(bytes).map(own))
        });
        let arguments = take(self.arguments, bodies, fetch, Cow::into_owned, |bytes| serde_json::from_slice(bytes))?;
        Ok(Task {
            id,
            owner: Principal::new(self.owner.0, self.owner.1),
            tool: ToolName::new(self.tool),
            provider: ProviderName::new(self.provider),
            arguments: Arc::new(arguments.unwrap_or_default()),
            caller_key: self.caller_key.map(|key| CallerKey { key: key.0.into_owned(), arguments_hash: key.1 }),
            names: self.names.map_or_else(Names::default, Into::into),
            submit_key: IdempotencyKey::new(self.submit_key),
            created_at: at(self.created_at),
            updated_at: at(self.updated_at),
            ttl: self.ttl.map(Duration::from_millis),
            life_from: if self.life_from_end { LifeFrom::End } else { LifeFrom::Creation },
            deadline_at: at(self.deadline_at),
            revision: Revision(self.revision),
            state,
            message: self.message.map(Cow::into_owned),
            progress: self.progress.map(|(done, total)| Progress { done, total }),
            inputs: inputs.transpose()?.flatten().unwrap_or_default(),
            cancellation: self.cancellation.map(Into::into),
            troubles: self.troubles.map_or_else(Troubles::default, Into::into),
            missing_since: self.missing_since.map(at),
            due_at: self.due_at.map(at),
        })
    }
}

/// JSON has no infinity; counts that are no numbers are no counts.
fn finite(progress: Progress) -> Option<(f64, Option<f64>)> {
    progress.done.is_finite().then(|| (progress.done, progress.total.filter(|total| total.is_finite())))
}
