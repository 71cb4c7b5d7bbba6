//! `job_wait`, `job_result` and `job_cancel` for clients of 2026-07-28 that declare no tasks. What the job asks is asked by the answer to
//! `job_wait`, which is then repeated (MCP 2026-07-28, "Multi Round-Trip Requests").

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Asked;
use super::plain::{Running, Waiting};
use super::tasks::read_answers;
use crate::domain::{Task, Timestamp, ToolName, ToolResult};
use crate::engine::AccessError;
use crate::mcp::dialects::classic;
use crate::mcp::error::RpcError;
use crate::mcp::forms::Answers;
use crate::mcp::frontend::Reply;
use crate::mcp::limits::Looked;
use crate::mcp::own_tools::{Own, Redeemed};
use crate::mcp::seal::Carried;
use crate::mcp::ticket;
use crate::mcp::wire::{Around, ResultView};

impl Asked<'_> {
    /// Answers a call of one of the gateway's own tools.
    pub(super) async fn redeem(&self, own: Own) -> Result<Reply, RpcError> {
        let arguments = self.params.object("arguments", self.shared.engine.max_argument_bytes())?.unwrap_or_default();
        let arguments = Value::Object(arguments);
        let redeemed = match own.read(&arguments) {
            Ok(redeemed) => redeemed,
            Err(text) => return Ok(self.tool_error(text)),
        };
        let Some(task) = self.ticketed(own, &redeemed).await? else { return Ok(self.told(&ticket::unknown())) };
        let now = self.shared.clock.now();
        match own {
            Own::Wait => {
                let Value::Object(given) = arguments else { return Err(RpcError::internal("arguments are an object")) };
                self.wait_with_ticket(task, given, now.plus(redeemed.wait)).await
            }
            Own::Result => {
                let result = ticket::redeemed(&task, self.shared.engine.shown_result(&task)).unwrap_or_else(|| {
                    let interval = self.shared.engine.caller_interval(&task);
                    Arc::new(ticket::ticket(&task, interval, &|_| self.capabilities.forms))
                });
                Ok(self.told(&result))
            }
            Own::Cancel => {
                let caller = &self.context.caller;
                Ok(self.told(&classic::cancel(&self.shared.engine, caller, &task, now).await?))
            }
        }
    }

    async fn wait_with_ticket(&self, task: Arc<Task>, given: Map<String, Value>, until: Timestamp) -> Result<Reply, RpcError> {
        let slot = self.shared.limits.waiter(self.context)?;
        let tool = ToolName::new(crate::domain::OWN_TOOLS[0]);
        if let Some(Carried::Running(asked)) = self.carried(&tool, &given)?
            && asked == task.id.to_string()
        {
            let answers = read_answers(&task, &Answers::of(self.params)?)?;
            if !answers.is_empty() {
                let caller = &self.context.caller;
                self.shared.engine.answer(caller, &task.id, answers).await.map_err(|error| self.no_access(error))?;
            }
        }
        let forms = self.capabilities.forms;
        self.run(Running::Task(Waiting { tool, given, task: task.id, until, forms, redeems: true }), slot).await
    }

    /// The task that a ticket is for, if the caller has it.
    async fn ticketed(&self, own: Own, redeemed: &Redeemed) -> Result<Option<Arc<Task>>, RpcError> {
        let (engine, caller) = (&self.shared.engine, &self.context.caller);
        let find = async || match engine.find(caller, &redeemed.ticket).await {
            Ok(task) => Ok(Some(task)),
            Err(error @ AccessError::NotFound) => {
                let error = self.no_access(error);
                if error.retry_after().is_some() { Err(error) } else { Ok(None) }
            }
            Err(error @ AccessError::Store(_)) => Err(self.no_access(error)),
        };
        let found = find().await?;
        let (Own::Result, Some(task)) = (own, &found) else { return Ok(found) };
        let interval = engine.caller_interval(task);
        match self.shared.limits.polled(self.context, &task.id, interval).await? {
            Looked::InTime => Ok(found),
            Looked::HeldBack => find().await,
        }
    }

    fn told(&self, result: &ToolResult) -> Reply {
        self.result(&ResultView { result, around: Around::Answer })
    }
}
