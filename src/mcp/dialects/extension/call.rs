//! `tools/call`: checked, asked back if need be, and turned into a task or answered in place.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::{Confirm, Fallback, JobOutput, TaskId, TaskMode, Timestamp, Tool, ToolName, ToolResult};
use crate::engine::{AccessError, Call, CallNames, Called};
use crate::mcp::catalog::Entry;
use crate::mcp::error::RpcError;
use crate::mcp::forms::Answers;
use crate::mcp::frontend::Reply;
use crate::mcp::headers;
use crate::mcp::limits::Slot;
use crate::mcp::own_tools::Own;
use crate::mcp::questions::{Answering, Step, beyond_questions, declined};
use crate::mcp::schema::describe;
use crate::mcp::seal::{Carried, Round};
use crate::mcp::ticket;
use crate::mcp::wire::{Around, Frame, InputRequired, ResultView, TaskView};

use super::Asked;
use super::plain::{Running, Waiting};
use super::tasks::read_answers;
use crate::mcp::dialects::said::call_error;

impl Asked<'_> {
    pub(super) async fn call(&self) -> Result<Reply, RpcError> {
        let name = self.params.required_text("name")?;
        if let Some(sent) = &self.context.headers {
            headers::check_name(sent, &name, true)?;
        }
        if let Some(own) = Own::named(&name) {
            return self.redeem(own).await;
        }
        let entry = self.shared.catalog.get_for(&self.context.caller, &name);
        let entry = entry.ok_or_else(|| RpcError::invalid_params(format!("there is no tool `{name}`")))?;
        let longest = self.shared.engine.max_argument_bytes();
        let arguments = self.params.object("arguments", longest)?.unwrap_or_default();
        let arguments = Value::Object(arguments);
        if let Some(sent) = &self.context.headers {
            headers::check_params(sent, &entry.headers, &arguments)?;
        }
        self.may_call(&entry.tool)?;
        let problems = entry.input.problems(&arguments);
        let problems = beyond_questions(&entry.tool, problems);
        if !problems.is_empty() {
            return Ok(self.tool_error(describe("the call's `arguments`", &problems)));
        }
        let Value::Object(arguments) = arguments else { return Err(RpcError::internal("arguments are an object")) };
        let answers = Answers::of(self.params)?;
        let round = match self.carried(&entry.tool.name, &arguments)? {
            Some(Carried::Running(task)) => return self.go_on(entry, arguments, &task, &answers).await,
            Some(Carried::Asked(round)) => Some(round),
            None => None,
        };
        let answering = Answering { random: &*self.shared.random, forms: self.capabilities.forms, round, answers: &answers };
        match answering.next(&entry.tool, &arguments)? {
            Step::Ask { question, round } => Ok(self.ask(&entry.tool, &arguments, question, round)),
            Step::Declined { question, action } => Ok(self.tool_error(declined(question, action))),
            Step::Go { arguments: filled, once } => {
                let filled = Value::Object(filled);
                let problems = entry.input.problems(&filled);
                if !problems.is_empty() {
                    return Ok(self.tool_error(describe("what was filled in", &problems)));
                }
                let Value::Object(filled) = filled else { return Err(RpcError::internal("arguments are an object")) };
                self.start(entry, arguments, filled, once).await
            }
        }
    }

    /// Refuses clients that could not bring the call to its end.
    fn may_call(&self, tool: &Tool) -> Result<(), RpcError> {
        let missing = self.capabilities.missing(&tool.policy.requires);
        if !missing.is_empty() {
            return Err(RpcError::capabilities_required(&format!("tool `{}`", tool.name), &missing));
        }
        let rejected = tool.policy.mode != TaskMode::Never && tool.policy.fallback == Fallback::Reject;
        if rejected && !self.capabilities.tasks {
            return Err(RpcError::tasks_required(&format!("tool `{}`", tool.name)));
        }
        Ok(())
    }

    pub(super) fn carried(&self, tool: &ToolName, arguments: &Map<String, Value>) -> Result<Option<Carried>, RpcError> {
        let Some(state) = self.params.text("requestState")? else { return Ok(None) };
        let now = self.shared.clock.now();
        self.shared.sealer.open(&state, &self.context.caller.principal, tool, arguments, now).map(Some)
    }

    fn ask(&self, tool: &Tool, arguments: &Map<String, Value>, question: &Confirm, round: Round) -> Reply {
        let until = self.shared.clock.now().plus(question.expires_after);
        let state = self.shared.sealer.seal(Carried::Asked(round), &self.context.caller.principal, &tool.name, arguments, until);
        self.result(&InputRequired::new(question, state))
    }

    async fn start(
        &self,
        entry: &Entry,
        given: Map<String, Value>,
        arguments: Map<String, Value>,
        once: Option<String>,
    ) -> Result<Reply, RpcError> {
        let tool = &entry.tool;
        let key = self.params.meta.idempotency_key()?;
        let asked_once = once.is_some();
        let call = Call {
            owner: self.context.caller.principal.clone(),
            tool: tool.name.clone(),
            arguments,
            // One run of questions is one wish, however often its last answer is sent.
            key: key.or_else(|| once.map(|nonce| format!("asked:{nonce}"))),
            ttl: self.params.meta.ttl_ms()?.map(Duration::from_millis),
            names: CallNames::default(),
        };
        if tool.policy.mode == TaskMode::Never && !asked_once {
            return self.run_plain(tool, call).await;
        }
        let holds_tasks = self.capabilities.tasks && tool.policy.mode != TaskMode::Never;
        // Whoever may not wait is told before the job starts.
        let slot = if holds_tasks { None } else { Some(self.shared.limits.waiter(self.context)?) };
        let task = match self.shared.engine.call(call).await.map_err(call_error)? {
            Called::Task(task) => task,
            Called::Refused(result) => return Ok(self.result(&ResultView { result: &result, around: Around::Answer })),
        };
        match slot {
            Some(_) if tool.policy.mode != TaskMode::Never && tool.policy.fallback == Fallback::Ticket && !task.is_ended() => {
                let interval = self.shared.engine.caller_interval(&task);
                let ticket = ticket::ticket(&task, interval, &|_| self.capabilities.forms);
                Ok(self.result(&ResultView { result: &ticket, around: Around::Answer }))
            }
            Some(slot) => self.wait(tool, given, task.id, slot).await,
            None => {
                let interval = self.shared.engine.caller_interval(&task);
                Ok(self.result(&TaskView {
                    task: &task,
                    who: &self.context.caller.principal,
                    interval,
                    result: None,
                    frame: Frame::Created,
                }))
            }
        }
    }

    /// A call is repeated to go on waiting for its job, perhaps with answers to what the job asked.
    async fn go_on(
        &self,
        entry: &Entry,
        given: Map<String, Value>,
        task: &str,
        answers: &Answers<'_>,
    ) -> Result<Reply, RpcError> {
        let id: TaskId = task.parse().map_err(|_| self.no_access(AccessError::NotFound))?;
        let slot = self.shared.limits.waiter(self.context)?;
        let owner = &self.context.caller.principal;
        let task = self.task(&id).await?;
        let answers = read_answers(&task, answers)?;
        if !answers.is_empty() {
            self.shared.engine.answer(owner, &id, answers).await.map_err(|error| self.no_access(error))?;
        }
        self.wait(&entry.tool, given, id, slot).await
    }

    async fn wait(&self, tool: &Tool, given: Map<String, Value>, task: TaskId, slot: Slot) -> Result<Reply, RpcError> {
        let waiting = Waiting {
            tool: tool.name.clone(),
            given,
            task,
            until: self.shared.clock.now().plus(tool.policy.wait),
            forms: self.capabilities.forms,
            redeems: false,
        };
        self.run(Running::Task(waiting), slot).await
    }

    async fn run_plain(&self, tool: &Tool, call: Call) -> Result<Reply, RpcError> {
        tracing::debug!(tool = %tool.name, "plain call");
        self.run(Running::Plain(call), self.shared.limits.waiter(self.context)?).await
    }

    /// The tool's own error, which the model gets to read (SEP-1303).
    pub(super) fn tool_error(&self, text: String) -> Reply {
        let result = ToolResult { output: JobOutput::text(text), is_error: true, kept: Vec::new() };
        self.result(&ResultView { result: &result, around: Around::Answer })
    }
}

/// How long a caller that waits call by call may take to come back.
pub(super) fn comes_back_until(now: Timestamp) -> Timestamp {
    now.plus(Duration::from_secs(24 * 60 * 60))
}
