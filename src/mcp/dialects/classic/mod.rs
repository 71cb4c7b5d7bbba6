//! Calls without tasks: the call blocks, with progress as a sign of life, or hands out a ticket (requirement A5).
//!
//! Whatever becomes of the call, its job is a task like any other: a client that gives up, leaves or cancels its request cancels no
//! job, and the ticket is the task's id.

mod own;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::said::{access_error, call_error, store_error};
use super::session::{Call as Checked, Confirmed, Follow, Followed, Form, Outlet, Prepared, Spoken, tool_error};
use crate::domain::{Fallback, InputKind, Task, TaskMode, Timestamp, Tool, ToolResult};
use crate::engine::{AccessError, Call, CallNames, Called};
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::{self, Request};
use crate::mcp::own_tools::Own;
use crate::mcp::params::Params;
use crate::mcp::sessions::Revision;
use crate::mcp::ticket;

pub(super) use own::cancel;

/// How long nothing may be heard of a job before progress is told all the same: clients that take progress for a sign of life give up
/// after a minute of silence.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// News of a plain call that may wait to be told; more are dropped, they are a courtesy.
const WAITING: usize = 16;

/// Answers a call.
///
/// # Errors
/// Whatever has to be said no to.
pub(super) async fn call(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
    let name = params.required_text("name")?;
    if let Some(own) = Own::named(&name) {
        return own::call(spoken, request, params, own).await;
    }
    let Prepared { entry, arguments } = match spoken.prepare(params)? {
        Checked::Fits(prepared) => prepared,
        Checked::Wrong(text) => return Ok(at_once(spoken, request, &tool_error(text))),
    };
    let tool = entry.tool.clone();
    if tool.policy.mode != TaskMode::Never && tool.policy.fallback == Fallback::Reject {
        return rejected(spoken, request, &tool);
    }
    let wish = Call {
        owner: spoken.context.caller.principal.clone(),
        tool: tool.name.clone(),
        arguments,
        key: params.meta.idempotency_key()?,
        ttl: params.meta.ttl_ms()?.map(Duration::from_millis),
        names: CallNames::default(),
    };
    let token = params.meta.progress_token()?;
    // Whoever may not wait is told before the job starts.
    let slot = spoken.shared.limits.waiter(&spoken.context)?;
    let work = |mut outlet: Outlet| async move {
        let _slot = slot;
        let begun = outlet.spoken.shared.clock.now();
        let arguments = match outlet.confirm(&entry, wish.arguments).await? {
            Confirmed::Go(arguments) => arguments,
            Confirmed::Not(text) => return Ok(outlet.spoken.tool_result(&tool_error(text), None)),
        };
        let wish = Call { arguments, ..wish };
        if tool.policy.mode == TaskMode::Never {
            return plain(&outlet, wish).await;
        }
        start(&mut outlet, &tool, wish, begun).await
    };
    Ok(spoken.stream(request, token, "call without tasks", work).await)
}

/// The answer to a call of a tool that serves nobody without tasks; it names what is missing.
fn rejected(spoken: &Spoken, request: &Request<'_>, tool: &Tool) -> Result<Reply, RpcError> {
    if spoken.has_tasks() {
        return Err(RpcError::only_as_task(tool.name.as_str()));
    }
    let text = format!(
        "`{}` runs as a task only, and this client speaks MCP {}, which has none. It needs a client that speaks MCP 2025-11-25 with \
         tasks, or 2026-07-28 with the extension io.modelcontextprotocol/tasks; or the operator sets `task.fallback: wait` for the \
         tool. Nothing was started.",
        tool.name,
        spoken.revision.as_str(),
    );
    Ok(at_once(spoken, request, &tool_error(text)))
}

fn at_once(spoken: &Spoken, request: &Request<'_>, result: &ToolResult) -> Reply {
    Reply::ok(jsonrpc::prepared(request.id, &spoken.tool_result(result, None)))
}

/// A call of a tool that never makes tasks, with its progress (requirement A4).
async fn plain(outlet: &Outlet, wish: Call) -> Result<Bytes, RpcError> {
    let (engine, clock) = (outlet.spoken.shared.engine.clone(), outlet.spoken.shared.clock.clone());
    let (updates, mut news) = mpsc::channel(WAITING);
    let result = engine.run_plain(wish, updates);
    tokio::pin!(result);
    let mut quiet_since = clock.now();
    loop {
        tokio::select! {
            biased;
            Some(update) = news.recv() => {
                quiet_since = clock.now();
                outlet.progress(&update);
            }
            result = &mut result => {
                let result = result.map_err(call_error)?;
                return Ok(outlet.spoken.tool_result(&result, None));
            }
            () = clock.sleep_until(quiet_since.plus(HEARTBEAT)) => {
                quiet_since = clock.now();
                outlet.heartbeat();
            }
        }
    }
}

/// Starts the job, or joins it, and waits for it as long as the tool allows, counted from when the call `begun`.
async fn start(outlet: &mut Outlet, tool: &Tool, wish: Call, begun: Timestamp) -> Result<Bytes, RpcError> {
    let spoken = outlet.spoken.clone();
    let task = match spoken.shared.engine.call(wish).await.map_err(call_error)? {
        Called::Task(task) => task,
        Called::Refused(result) => return Ok(spoken.tool_result(&result, None)),
    };
    let until = match tool.policy.fallback {
        Fallback::Wait => begun.plus(tool.policy.wait),
        Fallback::Ticket | Fallback::Reject => begun,
    };
    if !task.is_ended() && until > spoken.shared.clock.now() {
        outlet.resumable(Form::Classic, &task, Some(until)).await;
    }
    answer(outlet, task, until).await
}

/// The answer to a call whose job is this task: its result, if it ends by then, else a ticket.
///
/// # Errors
/// The error that the job's fault is, or -32602 for a task that is gone.
pub(super) async fn answer(outlet: &mut Outlet, task: Arc<Task>, until: Timestamp) -> Result<Bytes, RpcError> {
    match wait(outlet, task, until).await? {
        Waited::Ended(task) => outlet.spoken.outcome(&task, None),
        Waited::Ticket(ticket) => Ok(outlet.spoken.tool_result(&ticket, None)),
    }
}

/// How waiting for a job ended.
enum Waited {
    /// It has ended.
    Ended(Arc<Task>),
    /// It has not, or a person is asked whom this client does not reach.
    Ticket(ToolResult),
}

async fn wait(outlet: &mut Outlet, task: Arc<Task>, until: Timestamp) -> Result<Waited, RpcError> {
    let spoken = outlet.spoken.clone();
    let reached = outlet.streams() && spoken.session.is_some();
    let can_show = |kind: &InputKind| reached && spoken.can_show(kind);
    let leave = |task: &Task| Waited::Ticket(ticket::ticket(task, spoken.shared.engine.caller_interval(task), &can_show));
    if task.is_ended() {
        return Ok(Waited::Ended(task));
    }
    if until <= spoken.shared.clock.now() {
        return Ok(leave(&task));
    }
    let follow =
        Follow { task: task.id, related: None, statuses: false, questions: true, heartbeat: Some(HEARTBEAT), until: Some(until) };
    tokio::select! {
        followed = outlet.follow(follow) => match followed? {
            Followed::Ended(task) => Ok(Waited::Ended(task)),
            Followed::TimeUp(task) => Ok(leave(&task)),
            // These clients come back to a stream that broke; the others are given something to come back with.
            Followed::Stopping if spoken.revision >= Revision::November2025 && spoken.context.headers.is_some() => {
                Err(RpcError::shutting_down())
            }
            Followed::Stopping => Ok(leave(&task)),
        },
        stuck = unanswerable(&spoken, &task, &can_show) => Ok(leave(&*stuck?)),
    }
}

/// The task once it waits for a person with no question that this client could put to one: there is no use in waiting on.
async fn unanswerable(spoken: &Spoken, task: &Task, can_show: ticket::CanShow<'_>) -> Result<Arc<Task>, RpcError> {
    let caller = &spoken.context.caller;
    let mut watch = spoken.shared.engine.watch(caller, &[task.id]).await.map_err(|error| store_error(&error))?;
    if watch.ids().is_empty() {
        return Err(access_error(AccessError::NotFound));
    }
    while let Some(task) = watch.next().await {
        let mut open = task.open_inputs().peekable();
        if open.peek().is_some() && open.all(|(_, slot)| !can_show(&slot.request.kind)) {
            drop(open);
            return Ok(task);
        }
    }
    std::future::pending().await
}
