//! `tools/call` that is to be a task: the task is durable, then the stream says so, then the job's end is the call's real response.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::asked::TaskAsked;
use super::cancel::request_name;
use super::view::related;
use crate::domain::{LifeFrom, RequestName, TaskId, TaskMode};
use crate::engine::{AccessError, Call, CallError, CallNames};
use crate::mcp::catalog::Entry;
use crate::mcp::dialects::classic;
use crate::mcp::dialects::said::{access_error, call_error};
use crate::mcp::dialects::session::{self, Confirmed, Follow, Followed, Form, Outlet, Prepared, Spoken, tool_error};
use crate::mcp::error::RpcError;
use crate::mcp::frontend::Reply;
use crate::mcp::jsonrpc::{self, Request};
use crate::mcp::limits::Slot;
use crate::mcp::params::{DRAFT_RELATED, Params};
use crate::mcp::wire::Related;

/// After so much silence, a client that asked for progress hears that nothing has changed: its patience would end there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What a call wants, checked.
struct Wish {
    asked: TaskAsked,
    request: RequestName,
    key: Option<String>,
    entry: Arc<Entry>,
    arguments: Map<String, Value>,
    /// Room for one more request that waits, until it has been answered.
    slot: Slot,
}

#[derive(Serialize)]
struct About<'a> {
    #[serde(rename = "_meta")]
    meta: Related<'a>,
}

/// Answers a call that is to be a task. A tool that makes none runs plainly, whatever the metadata says (requirement H6).
///
/// # Errors
/// -32602 for metadata that is wrong, and for an id that is in use: the client of an identical repeat takes it that the task exists.
pub(in crate::mcp::dialects) async fn call(
    spoken: &Spoken,
    request: &Request<'_>,
    params: &Params<'_>,
) -> Result<Reply, RpcError> {
    let name = params.required_text("name")?;
    let entry = spoken.shared.catalog.get_for(&spoken.context.caller, &name);
    let makes_tasks = entry.is_some_and(|entry| entry.tool.policy.mode != TaskMode::Never);
    let (true, Some(metadata)) = (makes_tasks, params.meta.draft_task()) else {
        return classic::call(spoken, request, params).await;
    };
    let asked = TaskAsked::read(metadata)?;
    let (token, key) = (params.meta.progress_token()?, params.meta.idempotency_key()?);
    let Prepared { entry, arguments } = match spoken.prepare(params)? {
        session::Call::Fits(prepared) => prepared,
        session::Call::Wrong(sentence) => {
            let result = spoken.tool_result(&tool_error(sentence), None);
            return Ok(Reply::ok(jsonrpc::prepared(request.id, &result)));
        }
    };
    if key.is_none() {
        // Before a person is asked anything for it.
        is_free(spoken, &asked.id).await?;
    }
    let slot = spoken.shared.limits.waiter(&spoken.context)?;
    let wish = Wish { asked, request: request_name(spoken, request.id.get()), key, entry, arguments, slot };
    Ok(spoken.stream(request, token, "draft call", |outlet| run(outlet, wish)).await)
}

async fn is_free(spoken: &Spoken, id: &str) -> Result<(), RpcError> {
    match spoken.shared.engine.find(&spoken.context.caller.principal, id).await {
        Ok(_) => Err(call_error(CallError::NameTaken)),
        Err(AccessError::NotFound) => Ok(()),
        Err(error) => Err(access_error(error)),
    }
}

async fn run(mut outlet: Outlet, wish: Wish) -> Result<Bytes, RpcError> {
    let spoken = outlet.spoken.clone();
    let (engine, owner) = (&spoken.shared.engine, &spoken.context.caller.principal);
    let _slot = wish.slot;
    let arguments = match outlet.confirm(&wish.entry, wish.arguments).await? {
        Confirmed::Go(arguments) => arguments,
        Confirmed::Not(sentence) => return Ok(spoken.tool_result(&tool_error(sentence), None)),
    };
    let call = Call {
        owner: owner.clone(),
        tool: wish.entry.tool.name.clone(),
        arguments,
        key: wish.key,
        ttl: wish.asked.keep_alive,
        names: CallNames { client_id: Some(wish.asked.id), request: Some(wish.request), life_from: LifeFrom::End },
    };
    let task = engine.call_for_task(call).await.map_err(call_error)?;
    outlet.resumable(Form::Draft, &task, None).await;
    outlet.notify("notifications/tasks/created", &About { meta: related(&task.shown_to(owner)) }).await;
    follow(&mut outlet, task.id).await
}

/// Tells of a task until it has ended, and gives its end as the call's own response.
///
/// # Errors
/// The error that the plain call would have had.
pub(in crate::mcp::dialects) async fn follow(outlet: &mut Outlet, task: TaskId) -> Result<Bytes, RpcError> {
    let follow =
        Follow { task, related: Some(DRAFT_RELATED), statuses: false, questions: true, heartbeat: Some(HEARTBEAT), until: None };
    match outlet.follow(follow).await? {
        Followed::Ended(task) => outlet.spoken.outcome(&task, Some(DRAFT_RELATED)),
        Followed::TimeUp(_) | Followed::Stopping => Err(RpcError::shutting_down()),
    }
}
