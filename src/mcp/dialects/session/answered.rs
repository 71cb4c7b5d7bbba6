//! What a client answers to a question of ours.

use serde_json::value::RawValue;

use super::Spoken;
use super::ask::QuestionId;
use crate::domain::{ConfirmPurpose, InputAnswers, InputProgress, TaskId};
use crate::engine::AccessError;
use crate::mcp::error::RpcError;
use crate::mcp::forms::{as_approval, read_answer};
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::Response;
use crate::mcp::seal::Purpose;

/// Where the answer is in the message, for sentences about it.
const PLACE: &str = "result";

impl Spoken {
    /// Takes an answer to where it belongs: the call that waits for it, or a task, in whatever process and session it was asked.
    /// What comes too late or belongs to nothing is taken and changes nothing (requirement E2).
    ///
    /// # Errors
    /// -32602 with HTTP 400 for one that is malformed or does not fit its form; the question stays open.
    pub(super) async fn answered(&self, response: &Response<'_>) -> Result<Reply, RpcError> {
        let Ok(id) = serde_json::from_str::<String>(response.id.get()) else {
            tracing::debug!("an answer to nothing that was asked");
            return Ok(Reply::Accepted);
        };
        let owner = &self.context.caller.principal;
        if let Some((purpose, kind)) = self.shared.live.expected(&id, owner) {
            let answer = match response.answer {
                Ok(raw) => {
                    let answer = read_answer(PLACE, &kind, raw).map_err(refused)?;
                    Some(if purpose == ConfirmPurpose::Approve { as_approval(&kind, answer) } else { answer })
                }
                // A client that cannot ask has approved nothing.
                Err(_) => None,
            };
            self.shared.live.answer(&id, answer);
            return Ok(Reply::Accepted);
        }
        let asked: Option<QuestionId> = self.shared.sealer.open_for(Purpose::Question, owner, &id);
        let task = asked.as_ref().and_then(|asked| asked.task.as_deref()?.parse().ok());
        if let (Some(asked), Some(task)) = (asked, task) {
            self.take(&asked, task, &id, response.answer).await?;
        }
        Ok(Reply::Accepted)
    }

    async fn take(
        &self,
        asked: &QuestionId,
        task: TaskId,
        id: &str,
        answer: Result<&RawValue, &RawValue>,
    ) -> Result<(), RpcError> {
        let (engine, caller) = (&self.shared.engine, &self.context.caller);
        let here = self.shared.live.session(&asked.session);
        let key = &asked.key;
        let Ok(raw) = answer else {
            // The client could not ask; it may be able to later, or another one is.
            here.sent_back(task, key, id);
            return Ok(());
        };
        let task = match engine.get(caller, &task).await {
            Ok(task) => task,
            Err(AccessError::NotFound) => return Ok(()),
            Err(error) => return Err(self.no_access(error).with_http(500)),
        };
        let open = task.inputs.get(key).filter(|slot| slot.progress == InputProgress::Open && !task.is_ended());
        let Some(slot) = open else {
            here.answered(task.id, key, id);
            return Ok(());
        };
        let answer = as_approval(&slot.request.kind, read_answer(PLACE, &slot.request.kind, raw).map_err(refused)?);
        // Before the task changes, so that the copy that was answered is not taken back.
        here.answered(task.id, key, id);
        let answers = InputAnswers::from([(key.clone(), answer)]);
        match engine.answer(caller, &task.id, answers).await {
            Ok(_) | Err(AccessError::NotFound) => Ok(()),
            Err(error) => {
                here.unanswered(task.id, key);
                Err(self.no_access(error).with_http(500))
            }
        }
    }
}

/// An answer that cannot be taken is an HTTP error (Streamable HTTP, "Sending Messages to the Server").
fn refused(error: RpcError) -> RpcError {
    error.with_http(400)
}
