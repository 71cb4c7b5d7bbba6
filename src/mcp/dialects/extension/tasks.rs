//! `tasks/get`, `tasks/update` and `tasks/cancel`.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{InputAnswers, Task, TaskId};
use crate::engine::AccessError;
use crate::mcp::error::RpcError;
use crate::mcp::forms::{Answers, as_approval, read_answer};
use crate::mcp::frontend::Reply;
use crate::mcp::headers;
use crate::mcp::limits::Looked;
use crate::mcp::wire::{Acknowledged, Frame, TaskView};

use super::Asked;
use crate::mcp::dialects::said::access_error;
use crate::mcp::questions::place_of;

/// How long the acknowledgement of a cancel waits for the job to stop, so that a client that looks straight after sees what became of
/// it. A provider that takes longer holds nobody up: the wish is durable, and the task settles when the job does (requirement F2).
const SETTLING: Duration = Duration::from_millis(500);

impl Asked<'_> {
    pub(super) async fn get_task(&self) -> Result<Reply, RpcError> {
        let mut task = self.named().await?;
        let mut interval = self.shared.engine.caller_interval(&task);
        if self.shared.limits.polled(self.context, &task.id, interval).await? == Looked::HeldBack {
            task = self.task(&task.id).await?;
            interval = self.shared.engine.caller_interval(&task);
        }
        let (who, result) = (&self.context.caller.principal, self.shared.engine.shown_result(&task));
        Ok(self.result(&TaskView { task: &task, who, interval, result: result.as_deref(), frame: Frame::Got }))
    }

    pub(super) async fn update_task(&self) -> Result<Reply, RpcError> {
        let task = self.named().await?;
        if self.params.raw("inputResponses").is_none() {
            return Err(RpcError::invalid_params(
                "`params.inputResponses` is missing; it holds answers by the key of their question",
            ));
        }
        let given = Answers::of(self.params)?;
        let answers = read_answers(&task, &given)?;
        if !answers.is_empty() {
            self.shared.engine.answer(&self.context.caller, &task.id, answers).await.map_err(|error| self.no_access(error))?;
        }
        Ok(self.result(&Acknowledged::new()))
    }

    pub(super) async fn cancel_task(&self) -> Result<Reply, RpcError> {
        let id = self.named().await?.id;
        let (engine, caller) = (&self.shared.engine, &self.context.caller);
        let task = engine.cancel(caller, &id, false).await.map_err(|error| self.no_access(error))?;
        if !task.is_ended() {
            let until = self.shared.clock.now().plus(SETTLING);
            engine.wait(caller, &id, until, None).await.map_err(access_error)?;
        }
        Ok(self.result(&Acknowledged::new()))
    }

    /// The task that the request names, by an id of ours or by the one that a client of another dialect chose.
    async fn named(&self) -> Result<Arc<Task>, RpcError> {
        if !self.capabilities.tasks {
            return Err(RpcError::tasks_required(&format!("`{}`", self.request.method)));
        }
        let text = self.params.required_text("taskId")?;
        if let Some(sent) = &self.context.headers {
            headers::check_name(sent, &text, false)?;
        }
        let found = self.shared.engine.find(&self.context.caller, &text).await;
        found.map_err(|error| self.no_access(error))
    }

    pub(super) async fn task(&self, id: &TaskId) -> Result<Arc<Task>, RpcError> {
        self.shared.engine.get(&self.context.caller, id).await.map_err(|error| self.no_access(error))
    }

    /// What a look-up that gave nothing is answered with.
    pub(super) fn no_access(&self, error: AccessError) -> RpcError {
        match error {
            AccessError::NotFound => self.shared.limits.unknown(self.context, access_error(error)),
            AccessError::Store(_) => access_error(error),
        }
    }
}

/// The answers to what the task is waiting for; answers to anything else are left out (requirement E2).
///
/// # Errors
/// -32602 for the first that is malformed or does not fit its form.
pub(super) fn read_answers(task: &Task, given: &Answers<'_>) -> Result<InputAnswers, RpcError> {
    let mut answers = InputAnswers::new();
    for (key, slot) in task.open_inputs() {
        if let Some(raw) = given.get(key) {
            let answer = read_answer(&place_of(key), &slot.request.kind, raw)?;
            answers.insert(key.clone(), as_approval(&slot.request.kind, answer));
        }
    }
    Ok(answers)
}
