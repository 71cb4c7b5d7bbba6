//! 2026-07-28 with the extension `io.modelcontextprotocol/tasks`: every request brings all that is needed to answer it.

mod call;
mod listen;
mod own;
mod plain;
mod tasks;

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::mcp::catalog::LIST_TTL_MS;
use crate::mcp::dialects::INSTRUCTIONS;
use crate::mcp::dispatch::Shared;
use crate::mcp::error::{RpcError, TASKS_EXTENSION};
use crate::mcp::frontend::{Reply, RequestContext};
use crate::mcp::headers;
use crate::mcp::jsonrpc::{self, Request};
use crate::mcp::listing::Audience;
use crate::mcp::params::{Capabilities, Params};
use crate::mcp::resources;
use crate::mcp::versions::{Era, SERVED};
use crate::mcp::wire::ServerMeta;

/// One request that is being answered.
#[derive(Clone, Copy)]
struct Asked<'a> {
    shared: &'a Arc<Shared>,
    context: &'a RequestContext,
    request: &'a Request<'a>,
    params: &'a Params<'a>,
    capabilities: Capabilities,
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
    let version = params.meta.protocol_version()?;
    if let Some(sent) = &context.headers {
        headers::check_version(sent, version.as_deref())?;
        headers::check_method(sent, &request.method)?;
    }
    if version.is_none() {
        let message = "`params._meta[\"io.modelcontextprotocol/protocolVersion\"]` is missing, for example \"2026-07-28\"";
        return Err(RpcError::missing_meta(message));
    }
    let capabilities = params.meta.capabilities()?;
    let asked = Asked { shared, context, request, params, capabilities };
    match &*request.method {
        "server/discover" => Ok(Reply::ok(jsonrpc::prepared(request.id, &shared.discovered))),
        "tools/list" => asked.list(),
        "tools/call" => asked.call().await,
        "tasks/get" => asked.get_task().await,
        "tasks/update" => asked.update_task().await,
        "tasks/cancel" => asked.cancel_task().await,
        "subscriptions/listen" => asked.listen().await,
        method if resources::is_method(method) => resources::answer(shared, context, request, params, Era::Stateless).await,
        method => Err(RpcError::method_not_found(method)),
    }
}

impl Asked<'_> {
    fn list(&self) -> Result<Reply, RpcError> {
        let cursor = self.params.text("cursor")?;
        let audience = Audience::Stateless { tasks: self.capabilities.tasks };
        let page = self.shared.catalog.page_for(&self.context.caller, audience, cursor.as_deref())?;
        Ok(Reply::ok(jsonrpc::prepared(self.request.id, &page)))
    }

    /// The answer that consists of this result.
    fn result(&self, result: &impl Serialize) -> Reply {
        Reply::ok(jsonrpc::result(self.request.id, result))
    }
}

/// The result of `server/discover`.
pub(in crate::mcp) fn discovered() -> Bytes {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        result_type: &'static str,
        supported_versions: &'static [&'static str],
        capabilities: Value,
        instructions: &'static str,
        ttl_ms: u64,
        cache_scope: &'static str,
        #[serde(rename = "_meta")]
        meta: ServerMeta,
    }
    jsonrpc::write(&Discovered {
        result_type: "complete",
        supported_versions: &SERVED,
        // Exactly `{}` for the extension: clients read any member in it as another extension.
        capabilities: json!({ "tools": {}, "resources": {}, "extensions": { TASKS_EXTENSION: {} } }),
        instructions: INSTRUCTIONS,
        ttl_ms: LIST_TTL_MS,
        cache_scope: "public",
        meta: ServerMeta,
    })
}
