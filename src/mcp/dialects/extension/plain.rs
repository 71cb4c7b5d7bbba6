//! Calls that are answered in place: the caller waits, with progress notifications if it asked for them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::domain::{
    Caller, ClientCapability, JobOutput, Outcome, Principal, Status, Task, TaskId, Timestamp, ToolName, ToolResult,
};
use crate::engine::{Call, Update};
use crate::mcp::dispatch::Shared;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::{Reply, Streams};
use crate::mcp::jsonrpc;
use crate::mcp::limits::Slot;
use crate::mcp::seal::Carried;
use crate::mcp::ticket;
use crate::mcp::wire::{Around, InputRequired, ResultView, error_data};

use super::Asked;
use super::call::comes_back_until;
use crate::mcp::dialects::said::{access_error, call_error};
use crate::mcp::progress::Progressing;

/// News that may wait for the client; more are dropped, they are a courtesy.
const WAITING: usize = 16;

/// How long nothing may be heard of a job before progress is told all the same.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What is waited for.
pub(super) enum Running {
    /// A call that leaves nothing behind.
    Plain(Call),
    /// A task on behalf of a client that holds none.
    Task(Waiting),
}

/// A task that a client waits for call by call.
pub(super) struct Waiting {
    pub(super) tool: ToolName,
    /// The arguments as the client sent them: they are what it will repeat.
    pub(super) given: Map<String, Value>,
    pub(super) task: TaskId,
    pub(super) until: Timestamp,
    /// Whether the client shows forms.
    pub(super) forms: bool,
    /// The call redeems a ticket: it gives the ticket back where another call is told to repeat itself.
    pub(super) redeems: bool,
}

impl Asked<'_> {
    /// Answers in place; `slot` is the caller's for as long as it waits.
    pub(super) async fn run(&self, running: Running, slot: Slot) -> Result<Reply, RpcError> {
        let token = self.params.meta.progress_token()?.map(ToOwned::to_owned);
        let (shared, caller) = (self.shared.clone(), self.context.caller.clone());
        let cancel = self.context.cancel.clone();
        let id: Box<RawValue> = self.request.id.to_owned();
        let (Some(token), true) = (token, self.context.streams == Streams::Wanted) else {
            return tokio::select! {
                answer = wait(shared, caller, running, None) => Ok(match answer {
                    Ok(result) => Reply::ok(jsonrpc::prepared(&id, &result)),
                    Err(error) => Reply::error(Some(&id), &error),
                }),
                () = cancel.cancelled() => Ok(Reply::Accepted),
            };
        };
        let (messages, stream) = mpsc::channel(WAITING);
        self.shared.supervisor.spawn("plain call", async move {
            let _slot = slot;
            let (updates, mut news) = mpsc::channel(WAITING);
            let mut progress = Progressing::new(token);
            let clock = shared.clock.clone();
            let mut quiet_since = clock.now();
            let answer = wait(shared, caller, running, Some(updates));
            tokio::pin!(answer);
            let answer = loop {
                tokio::select! {
                    biased;
                    () = messages.closed() => return,
                    () = cancel.cancelled() => return,
                    Some(update) = news.recv() => {
                        quiet_since = clock.now();
                        if let Some(message) = progress.notification(&update) {
                            // A client that does not read gets its answer all the same, with less on the way.
                            messages.try_send(message.into()).ok();
                        }
                    }
                    answer = &mut answer => break answer,
                    () = clock.sleep_until(quiet_since.plus(HEARTBEAT)) => {
                        quiet_since = clock.now();
                        messages.try_send(progress.heartbeat().into()).ok();
                    }
                }
            };
            let last = match answer {
                Ok(result) => jsonrpc::prepared(&id, &result),
                Err(error) => jsonrpc::failure(Some(&id), &error),
            };
            // Nobody may be there any more; then nobody misses it.
            messages.send(last.into()).await.ok();
        });
        Ok(Reply::Stream(stream))
    }
}

/// The result, written.
async fn wait(
    shared: Arc<Shared>,
    caller: Caller,
    running: Running,
    updates: Option<mpsc::Sender<Update>>,
) -> Result<Bytes, RpcError> {
    match running {
        Running::Plain(call) => {
            let updates = updates.unwrap_or_else(|| mpsc::channel(1).0);
            let result = shared.engine.run_plain(call, updates).await.map_err(call_error)?;
            Ok(written(&result))
        }
        Running::Task(waiting) => {
            let task = wait_for_task(&shared, &caller, &waiting, updates).await?;
            answer(&shared, &caller.principal, waiting, &task)
        }
    }
}

fn written(result: &ToolResult) -> Bytes {
    jsonrpc::write(&ResultView { result, around: Around::Answer })
}

/// Waits until the task has ended, wants something of the client, or the wait is over.
async fn wait_for_task(
    shared: &Shared,
    caller: &Caller,
    waiting: &Waiting,
    updates: Option<mpsc::Sender<Update>>,
) -> Result<Arc<Task>, RpcError> {
    let (changes, mut changed) = mpsc::channel::<Arc<Task>>(WAITING);
    let first = shared.engine.get(caller, &waiting.task).await.map_err(access_error)?;
    if first.status() == Status::InputRequired {
        return Ok(first);
    }
    let ended = shared.engine.wait(caller, &waiting.task, waiting.until, Some(changes));
    tokio::pin!(ended);
    loop {
        tokio::select! {
            biased;
            Some(task) = changed.recv() => {
                if task.status() == Status::InputRequired {
                    return Ok(task);
                }
                if let (Some(updates), false) = (&updates, task.is_ended()) {
                    updates.try_send(Update { message: task.message.clone(), progress: task.progress }).ok();
                }
            }
            task = &mut ended => return task.map_err(access_error),
        }
    }
}

/// What the client is told: the result, or what to repeat the call with.
fn answer(shared: &Shared, owner: &Principal, waiting: Waiting, task: &Task) -> Result<Bytes, RpcError> {
    if waiting.redeems
        && let Some(result) = ticket::redeemed(task, shared.engine.shown_result(task))
    {
        return Ok(written(&result));
    }
    match task.outcome() {
        Some(Outcome::Result(result)) => Ok(written(shared.engine.shown_result(task).as_ref().unwrap_or(result))),
        Some(Outcome::Error(error)) => Err(RpcError::internal(error.message.clone()).with_data(error_data(error))),
        Some(Outcome::Cancelled) => {
            let message = task.message.as_deref().unwrap_or("cancelled");
            Ok(written(&ToolResult { output: JobOutput::text(message), is_error: true, kept: Vec::new() }))
        }
        None if waiting.redeems && !(task.status() == Status::InputRequired && waiting.forms) => {
            let interval = shared.engine.caller_interval(task);
            Ok(written(&ticket::ticket(task, interval, &|_| waiting.forms)))
        }
        None => {
            if task.status() == Status::InputRequired && !waiting.forms {
                let what = format!("the job of tool `{}` asks a person, which", waiting.tool);
                return Err(RpcError::capabilities_required(&what, &[ClientCapability::Elicitation]));
            }
            let carried = Carried::Running(task.id.to_string());
            let until = comes_back_until(shared.clock.now());
            let state = shared.sealer.seal(carried, owner, &waiting.tool, &waiting.given, until);
            Ok(jsonrpc::write(&InputRequired::of_task(task, state)))
        }
    }
}
