//! Which protocol version a request speaks, and so which dialect answers it: decided anew for every request.

use super::error::RpcError;
use super::headers::McpHeaders;
use super::params::Params;

/// The version whose tasks are the extension `io.modelcontextprotocol/tasks`.
pub(crate) const MODERN: &str = "2026-07-28";
/// Every version that is served, the newest first.
pub(crate) const SERVED: [&str; 1] = [MODERN];

/// The wire form of tasks that a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// 2026-07-28: everything in the request itself, no session.
    Extension,
}

/// Reads a request's dialect off its own metadata, or its version header where it has none.
///
/// # Errors
/// -32022 for a version that is not served; an `initialize` without metadata is answered so, too, because its sender speaks an
/// older version and can learn the served ones from nothing else (base protocol, "Versioning").
pub(crate) fn dialect(method: &str, params: &Params<'_>, headers: Option<&McpHeaders>) -> Result<Dialect, RpcError> {
    let claimed = params.meta.protocol_version()?;
    let header = headers.and_then(|headers| headers.protocol_version.one());
    // Where body and header differ, the dialect's own header check says so; the body decides whose check that is.
    let version = match (claimed.as_deref(), header) {
        (Some(body), Some(header)) if body != header => return Ok(Dialect::Extension),
        (Some(version), _) | (None, Some(version)) => version,
        (None, None) if method == "initialize" => {
            let requested = params.text("protocolVersion").ok().flatten();
            return Err(RpcError::unsupported_version(requested.as_deref().unwrap_or("none given")));
        }
        (None, None) => return Ok(Dialect::Extension),
    };
    if version == MODERN { Ok(Dialect::Extension) } else { Err(RpcError::unsupported_version(version)) }
}
