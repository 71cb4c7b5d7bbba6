//! Questions before a job, asked on the call's own stream while the call runs.

use serde_json::{Map, Value};

use super::stream::Outlet;
use crate::domain::{ClientCapability, Confirm, ConfirmPurpose, InputAction, InputAnswer, InputKind, Tool};
use crate::mcp::catalog::Entry;
use crate::mcp::error::RpcError;
use crate::mcp::questions::{declined, holds};
use crate::mcp::schema::describe;

/// What came of a tool's questions.
#[derive(Debug)]
pub(in crate::mcp::dialects) enum Confirmed {
    /// The job may start, with these arguments.
    Go(Map<String, Value>),
    /// It may not; the sentence says why.
    Not(String),
}

impl Outlet {
    /// Asks the tool's questions one after the other, on this very stream. A tool without questions goes on at once.
    ///
    /// # Errors
    /// -32600 for a client that cannot be asked.
    pub(in crate::mcp::dialects) async fn confirm(
        &mut self,
        entry: &Entry,
        arguments: Map<String, Value>,
    ) -> Result<Confirmed, RpcError> {
        let mut filled = Map::new();
        for question in &entry.tool.policy.confirm {
            if question.purpose == ConfirmPurpose::Fill && holds(&arguments, &filled, &question.schema) {
                continue;
            }
            let Some(answer) = self.put(&entry.tool, question).await? else {
                return Ok(Confirmed::Not(format!("\"{}\" was not answered. The job was not started.", question.message)));
            };
            match (answer.action, question.purpose, answer.content) {
                (InputAction::Decline | InputAction::Cancel, _, _) => {
                    return Ok(Confirmed::Not(declined(question, answer.action)));
                }
                (InputAction::Accept, ConfirmPurpose::Fill, Some(Value::Object(content))) => filled.extend(content),
                (InputAction::Accept, _, _) => {}
            }
        }
        let mut arguments = arguments;
        if filled.is_empty() {
            return Ok(Confirmed::Go(arguments));
        }
        arguments.extend(filled);
        let arguments = Value::Object(arguments);
        let problems = entry.input.problems(&arguments);
        match arguments {
            Value::Object(arguments) if problems.is_empty() => Ok(Confirmed::Go(arguments)),
            _ => Ok(Confirmed::Not(describe("what was filled in", &problems))),
        }
    }

    /// Asks one question; `None` where no answer came.
    async fn put(&self, tool: &Tool, question: &Confirm) -> Result<Option<InputAnswer>, RpcError> {
        let spoken = &self.spoken;
        let kind = InputKind::Form { schema: question.schema.clone() };
        let unable = || {
            let what = format!("tool `{}` asks a question before it starts, which", tool.name);
            RpcError::unable(&what, &[ClientCapability::Elicitation])
        };
        if !self.streams() || !spoken.can_show(&kind) {
            return Err(unable());
        }
        let id = spoken.question_id(None, &question.key).ok_or_else(unable)?;
        let owner = spoken.context.caller.principal.clone();
        let mut expected = spoken.shared.live.expect(id.clone(), owner, question.purpose, kind.clone());
        self.say(spoken.question(&id, &question.message, &kind, None)).await;
        tokio::select! {
            answer = &mut expected.answer => Ok(answer.ok().flatten()),
            () = spoken.shared.clock.sleep(question.expires_after) => {
                self.withdraw(&id, "no answer came in time").await;
                Ok(None)
            }
            () = spoken.shared.supervisor.stopping().cancelled() => Err(RpcError::shutting_down()),
        }
    }

    async fn withdraw(&self, id: &str, reason: &str) {
        self.notify("notifications/cancelled", &serde_json::json!({ "requestId": id, "reason": reason })).await;
    }
}
