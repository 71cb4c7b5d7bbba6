//! `tools/call` with `task`: the answer is a task, or an error; nothing else fits its schema.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::status::{RELATED, View};
use crate::domain::TaskMode;
use crate::engine::{self, CallNames};
use crate::mcp::catalog::Entry;
use crate::mcp::dialects::said::call_error;
use crate::mcp::dialects::session::{Call, Confirmed, Outlet, Prepared, Spoken};
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::{self, Request};
use crate::mcp::params::Params;
use crate::mcp::progress::Progressing;

/// The largest number that JSON carries exactly.
const LARGEST: u64 = (1 << 53) - 1;

#[derive(Serialize)]
struct Created<'a> {
    task: View<'a>,
}

/// What a call says beside its tool and arguments.
struct Wish {
    key: Option<String>,
    ttl: Option<Duration>,
    token: Option<Box<RawValue>>,
}

/// Answers a call that is to be a task.
///
/// # Errors
/// Whatever has to be said no to.
pub(in crate::mcp::dialects) async fn call(
    spoken: &Spoken,
    request: &Request<'_>,
    params: &Params<'_>,
) -> Result<Reply, RpcError> {
    let token = params.meta.progress_token()?;
    let wish = Wish { key: params.meta.idempotency_key()?, ttl: ttl(params)?, token: token.map(ToOwned::to_owned) };
    let Prepared { entry, arguments } = match spoken.prepare(params)? {
        Call::Fits(prepared) => prepared,
        Call::Wrong(text) => return Err(RpcError::invalid_params(text)),
    };
    if entry.tool.policy.mode == TaskMode::Never {
        let message = format!("tool `{}` makes no tasks; call it without `task`", entry.tool.name);
        return Err(RpcError::method_not_found(&request.method).with_http(200).with_message(message));
    }
    if entry.tool.policy.confirm.is_empty() {
        let created = start(spoken, &entry, arguments, wish).await?;
        return Ok(Reply::ok(jsonrpc::prepared(request.id, &created)));
    }
    // A person may take long, and the call waits for them.
    let slot = spoken.shared.limits.waiter(&spoken.context)?;
    let work = |mut outlet: Outlet| async move {
        let _slot = slot;
        match outlet.confirm(&entry, arguments).await? {
            Confirmed::Go(arguments) => start(&outlet.spoken, &entry, arguments, wish).await,
            Confirmed::Not(text) => Err(RpcError::declined(text)),
        }
    };
    Ok(spoken.stream(request, token, "call with questions", work).await)
}

async fn start(spoken: &Spoken, entry: &Arc<Entry>, arguments: Map<String, Value>, wish: Wish) -> Result<Bytes, RpcError> {
    let call = engine::Call {
        owner: spoken.context.caller.principal.clone(),
        tool: entry.tool.name.clone(),
        arguments,
        key: wish.key,
        ttl: wish.ttl,
        names: CallNames::default(),
    };
    let engine = &spoken.shared.engine;
    let task = engine.call_for_task(call).await.map_err(call_error)?;
    if let Some(here) = spoken.here() {
        here.made(task.id, RELATED, wish.token.map(Progressing::new));
    }
    Ok(jsonrpc::write(&Created { task: View::new(&task, spoken) }))
}

/// The life that the client asks for, which may be none in particular.
fn ttl(params: &Params<'_>) -> Result<Option<Duration>, RpcError> {
    let wrong = || RpcError::invalid_params("`params.task.ttl` has to be a whole number of milliseconds, for example 3600000");
    let Some(task) = params.members("task")? else { return Ok(None) };
    let Some(ttl) = task.written("ttl").filter(|ttl| ttl.get() != "null") else { return Ok(None) };
    let number: serde_json::Number = serde_json::from_str(ttl.get()).map_err(|_| wrong())?;
    // A client whose numbers are all of one kind writes whole ones with a point, too.
    let whole = number.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0);
    let millis = number.as_u64().or_else(|| number.as_f64().filter(|_| whole).map(|number| number as u64));
    millis.map(|millis| Some(Duration::from_millis(millis.min(LARGEST)))).ok_or_else(wrong)
}
