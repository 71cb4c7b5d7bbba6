//! `job_wait`, `job_result` and `job_cancel`: the gateway's own tools, by which tickets are redeemed. A ticket is good for whoever got
//! it, in any session, after any restart.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::super::said::access_error;
use super::super::session::{Outlet, Spoken, tool_error};
use super::{Waited, at_once, wait};
use crate::domain::{Caller, Task, Timestamp, ToolResult};
use crate::engine::Engine;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::Request;
use crate::mcp::own_tools::{Own, Redeemed};
use crate::mcp::params::Params;
use crate::mcp::ticket;

/// How long `job_cancel` waits for the job to stop, so that it can say what became of the wish. A provider that takes longer holds
/// nobody up: the wish is durable.
const SETTLING: Duration = Duration::from_secs(2);

/// Answers a call of one of them.
///
/// # Errors
/// -32602 for arguments that are no object, -32603 when the store fails; everything else is the tool's own error.
pub(super) async fn call(spoken: &Spoken, request: &Request<'_>, params: &Params<'_>, own: Own) -> Result<Reply, RpcError> {
    let arguments = params.object("arguments", spoken.shared.engine.max_argument_bytes())?.unwrap_or_default();
    let redeemed = match own.read(&Value::Object(arguments)) {
        Ok(redeemed) => redeemed,
        Err(text) => return Ok(at_once(spoken, request, &tool_error(text))),
    };
    let token = params.meta.progress_token()?;
    let slot = if own == Own::Wait { Some(spoken.shared.limits.waiter(&spoken.context)?) } else { None };
    let work = |mut outlet: Outlet| async move {
        let _slot = slot;
        let result = redeem(&mut outlet, own, redeemed).await?;
        Ok(outlet.spoken.tool_result(&result, None))
    };
    Ok(spoken.stream(request, token, "call with a ticket", work).await)
}

async fn redeem(outlet: &mut Outlet, own: Own, redeemed: Redeemed) -> Result<Arc<ToolResult>, RpcError> {
    let (engine, clock) = (outlet.spoken.shared.engine.clone(), outlet.spoken.shared.clock.clone());
    let caller = outlet.spoken.context.caller.clone();
    let found = match own {
        // Whoever looks instead of waiting is slowed down like everybody who polls (requirement D1).
        Own::Result => outlet.spoken.look(&redeemed.ticket).await,
        Own::Wait | Own::Cancel => outlet.spoken.find(&redeemed.ticket).await,
    };
    let task = match found {
        Ok(task) => task,
        Err(error) if error.code() == RpcError::INVALID_PARAMS => return Ok(Arc::new(ticket::unknown())),
        Err(error) => return Err(error),
    };
    let until = match own {
        Own::Wait => clock.now().plus(redeemed.wait),
        Own::Result => clock.now(),
        Own::Cancel => return cancel(&engine, &caller, &task, clock.now()).await.map(Arc::new),
    };
    match wait(outlet, task, until).await? {
        Waited::Ticket(ticket) => Ok(Arc::new(ticket)),
        Waited::Ended(task) => {
            ticket::redeemed(&task, engine.shown_result(&task)).ok_or_else(|| RpcError::internal("the task has not ended"))
        }
    }
}

/// Asks for the job of a task to be stopped and says what became of that, some moments after `now`.
///
/// # Errors
/// -32603 when the store fails, -32602 for a task that is gone meanwhile.
pub(in crate::mcp::dialects) async fn cancel(
    engine: &Engine,
    caller: &Caller,
    task: &Task,
    now: Timestamp,
) -> Result<ToolResult, RpcError> {
    let ended_before = task.is_ended();
    let mut task = engine.cancel(caller, &task.id, false).await.map_err(access_error)?;
    if !task.is_ended() {
        task = engine.wait(caller, &task.id, now.plus(SETTLING), None).await.map_err(access_error)?;
    }
    Ok(ticket::cancelled(&task, ended_before))
}
