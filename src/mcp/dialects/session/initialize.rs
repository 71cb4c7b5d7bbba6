//! `initialize`: which version is spoken, what each side can do, and the session that both keep to.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::stands_for;
use crate::mcp::dialects::INSTRUCTIONS;
use crate::mcp::dispatch::Shared;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::{Reply, RequestContext};
use crate::mcp::jsonrpc::{self, Request};
use crate::mcp::params::{Members, Params};
use crate::mcp::seal::Purpose;
use crate::mcp::sessions::{Abilities, Revision, Session};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: &'static str,
    capabilities: Value,
    server_info: Value,
    instructions: &'static str,
}

/// Begins a session.
///
/// A version that is not served is answered by the newest that is; the client goes on with it or leaves (Lifecycle, "Version
/// Negotiation").
///
/// # Errors
/// -32602 for parameters of the wrong shape.
pub(super) fn answer(
    shared: &Arc<Shared>,
    context: &RequestContext,
    request: &Request<'_>,
    params: &Params<'_>,
) -> Result<Reply, RpcError> {
    let wanted = params.required_text("protocolVersion")?;
    let revision = Revision::named(&wanted).unwrap_or(Revision::November2025);
    let mut abilities = abilities(&params.members("capabilities")?.unwrap_or_default(), revision);
    if let Some(client) = params.members("clientInfo")?.and_then(|client| client.text("name")) {
        tracing::debug!(client = %client, version = revision.as_str(), "a session begins");
        abilities.failed_as_completed = shared.failed_as_completed.iter().any(|name| stands_for(name, &client));
    }
    let session = Session::new(revision, abilities, &*shared.random);
    let result = Initialized {
        protocol_version: revision.as_str(),
        capabilities: capabilities(revision),
        server_info: json!({ "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") }),
        instructions: INSTRUCTIONS,
    };
    let mut reply = Reply::ok(jsonrpc::result(request.id, &result));
    if let Reply::One { notes, .. } = &mut reply {
        notes.session = Some(shared.sealer.seal_for(Purpose::Session, &context.caller.principal, &session));
    }
    Ok(reply)
}

/// In exactly the nested shape that clients look for: without the innermost `call` they take it that there are no tasks.
fn capabilities(revision: Revision) -> Value {
    match revision {
        Revision::November2025 => {
            json!({ "tools": {}, "resources": {}, "tasks": { "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } } })
        }
        Revision::June2025 | Revision::March2025 => json!({ "tools": {}, "resources": {} }),
    }
}

fn abilities(declared: &Members<'_>, revision: Revision) -> Abilities {
    let object = |name: &str| declared.object(name);
    let elicitation = object("elicitation").filter(|_| revision >= Revision::June2025);
    let has = |mode: &str| elicitation.as_ref().is_some_and(|modes| modes.written(mode).is_some());
    Abilities {
        // `elicitation: {}` is a client from before there were pages, so it means forms.
        forms: elicitation.is_some() && (has("form") || !has("url")),
        pages: has("url") && revision >= Revision::November2025,
        sampling: object("sampling").is_some(),
        roots: object("roots").is_some(),
        tasks: object("tasks").is_some(),
        failed_as_completed: false,
    }
}
