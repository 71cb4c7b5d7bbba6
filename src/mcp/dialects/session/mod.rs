//! What all protocol versions before 2026-07-28 share: `initialize`, `ping`, the list of tools, and which dialect of tasks a request
//! speaks.

mod answered;
mod ask;
mod confirm;
mod follow;
mod initialize;
mod listen;
mod outcome;
mod prepare;
mod resume;
mod stream;
mod tasks;

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use super::{classic, core, draft};
use crate::mcp::dispatch::Shared;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::{Reply, RequestContext, Verb};
use crate::mcp::headers::HeaderText;
use crate::mcp::jsonrpc::{self, Request, Response};
use crate::mcp::listing::Audience;
use crate::mcp::live::Here;
use crate::mcp::params::Params;
use crate::mcp::resources;
use crate::mcp::sessions::{Abilities, Revision, Session};
use crate::mcp::versions::Era;

pub(super) use confirm::Confirmed;
pub(super) use follow::{Follow, Followed};
pub(super) use outcome::tool_error;
pub(super) use prepare::{Call, Prepared};
pub(super) use stream::{Form, Outlet};

/// One request in a session, or one that names none.
#[derive(Clone, Debug)]
pub(super) struct Spoken {
    pub(super) shared: Arc<Shared>,
    pub(super) context: RequestContext,
    /// The version that was agreed on.
    pub(super) revision: Revision,
    /// What the client can do.
    pub(super) abilities: Abilities,
    /// Tells this session from the caller's other ones; `None` for a request that names no session: nothing can be asked there.
    pub(super) session: Option<String>,
}

impl Spoken {
    /// Whether the version has tasks of its own: the `core` dialect.
    pub(super) fn has_tasks(&self) -> bool {
        self.revision >= Revision::November2025
    }

    /// What is in memory of the session; `None` outside of one.
    pub(super) fn here(&self) -> Option<Arc<Here>> {
        self.session.as_deref().map(|nonce| self.shared.live.session(nonce))
    }

    /// What is agreed on with the sender of a message.
    ///
    /// # Errors
    /// HTTP 404 for a session that is none, 400 for a version header that differs from what was agreed on.
    pub(super) fn of(shared: &Arc<Shared>, context: &RequestContext) -> Result<Self, RpcError> {
        let header = context.headers.as_ref().and_then(|headers| headers.protocol_version.one());
        let session = shared.sessions.of(context, &shared.sealer)?;
        let (revision, abilities, session) = match session {
            Some(Session { revision, .. }) if header.is_some_and(|header| header != revision.as_str()) => {
                let agreed = revision.as_str();
                return Err(RpcError::refused(
                    400,
                    format!("this session speaks `{agreed}`; `MCP-Protocol-Version` says otherwise"),
                ));
            }
            Some(Session { revision, abilities, nonce }) => (revision, abilities, Some(nonce)),
            // Without a header either, the oldest version with this transport is meant (Streamable HTTP, "Protocol Version Header").
            None => (header.and_then(Revision::named).unwrap_or(Revision::March2025), Abilities::default(), None),
        };
        Ok(Self { shared: shared.clone(), context: context.clone(), revision, abilities, session })
    }
}

/// Answers one request.
///
/// # Errors
/// Whatever has to be said no to.
pub(in crate::mcp) async fn answer(
    shared: &Arc<Shared>,
    context: &RequestContext,
    request: &Request<'_>,
    params: &Params<'_>,
) -> Result<Reply, RpcError> {
    if request.method == "initialize" {
        return initialize::answer(shared, context, request, params);
    }
    let spoken = Spoken::of(shared, context)?;
    match &*request.method {
        "ping" => Ok(result(request, &json!({}))),
        "tools/list" => spoken.list(request, params),
        "tools/call" if params.meta.draft_task().is_some() => draft::call(&spoken, request, params).await,
        "tools/call" if spoken.has_tasks() && params.raw("task").is_some() => core::call(&spoken, request, params).await,
        "tools/call" => classic::call(&spoken, request, params).await,
        // Versions without tasks of their own can only mean those of the draft.
        "tasks/delete" => draft::answer(&spoken, request, params).await,
        method if method.starts_with("tasks/") && (params.meta.is_draft() || !spoken.has_tasks()) => {
            draft::answer(&spoken, request, params).await
        }
        method if method.starts_with("tasks/") => core::answer(&spoken, request, params).await,
        method if resources::is_method(method) => {
            resources::answer(&spoken.shared, &spoken.context, request, params, Era::Session).await
        }
        method => Err(RpcError::method_not_found(method).with_http(200)),
    }
}

/// Takes what a client answers to a request of ours.
///
/// # Errors
/// HTTP 404 for a session that is none, 400 for an answer that cannot be taken.
pub(in crate::mcp) async fn answered(
    shared: &Arc<Shared>,
    context: &RequestContext,
    response: &Response<'_>,
) -> Result<Reply, RpcError> {
    Spoken::of(shared, context)?.answered(response).await
}

/// Takes what a client says without waiting for an answer.
///
/// # Errors
/// HTTP 404 for a session that is none.
pub(in crate::mcp) async fn notified(
    shared: &Arc<Shared>,
    context: &RequestContext,
    method: &str,
    params: &Params<'_>,
) -> Result<Reply, RpcError> {
    let spoken = Spoken::of(shared, context)?;
    if method == "notifications/cancelled" {
        // Whatever else it stands for, nobody waits for the answer any more.
        if let (Some(id), Some(here)) = (params.raw("requestId"), spoken.here()) {
            here.cancel(id.get());
        }
        draft::cancelled(&spoken, params).await?;
    }
    Ok(Reply::Accepted)
}

/// Does what a request without a message wants.
///
/// # Errors
/// HTTP 404 for a session that is none, 405 where there is none at all.
pub(in crate::mcp) fn without_message(shared: &Arc<Shared>, context: &RequestContext) -> Result<Reply, RpcError> {
    match &context.verb {
        Verb::Delete => {
            let no_session = || RpcError::refused(405, "there is no session here that could end");
            let session = shared.sessions.of(context, &shared.sealer)?.ok_or_else(no_session)?;
            shared.live.end(&session.nonce);
            shared.sessions.end(session);
            Ok(Reply::Accepted)
        }
        Verb::Get { resume } => {
            let spoken = Spoken::of(shared, context)?;
            match resume {
                HeaderText::Absent => spoken.listen(),
                HeaderText::One(last) => spoken.resume(last),
                HeaderText::Repeated | HeaderText::Unreadable => {
                    Err(RpcError::refused(400, "header `Last-Event-ID` has to be there once, as it was given out"))
                }
            }
        }
        Verb::Post => Err(RpcError::internal("a POST has a message")),
    }
}

impl Spoken {
    fn list(&self, request: &Request<'_>, params: &Params<'_>) -> Result<Reply, RpcError> {
        let cursor = params.text("cursor")?;
        let audience = Audience::Session { revision: self.revision, tasks: self.abilities.tasks };
        let page = self.shared.catalog.page_for(&self.context.caller, audience, cursor.as_deref())?;
        Ok(Reply::ok(jsonrpc::prepared(request.id, &page)))
    }
}

/// The answer that consists of this result.
pub(super) fn result(request: &Request<'_>, result: &impl Serialize) -> Reply {
    Reply::ok(jsonrpc::result(request.id, result))
}
