//! Which protocol version a message speaks, and so which dialects may answer it: decided anew for every message.

use super::error::RpcError;
use super::headers::{HeaderText, McpHeaders};
use super::params::Params;
use super::sessions::Revision;

/// The version whose tasks are the extension `io.modelcontextprotocol/tasks`.
pub(crate) const MODERN: &str = "2026-07-28";
/// Every version that is served, the newest first.
pub(crate) const SERVED: [&str; 4] =
    [MODERN, Revision::November2025.as_str(), Revision::June2025.as_str(), Revision::March2025.as_str()];

/// How a message is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28: everything in the request itself, no session.
    Stateless,
    /// Before it: agreed on in `initialize`.
    Session,
}

/// Reads a request's era off its own metadata, or its version header where it has none.
///
/// # Errors
/// -32022 for a version that is not served.
pub(crate) fn era(params: &Params<'_>, headers: Option<&McpHeaders>) -> Result<Era, RpcError> {
    let claimed = params.meta.protocol_version()?;
    let header = match (claimed.as_deref(), headers.map(|headers| &headers.protocol_version)) {
        // An intermediary may have acted on any of them. Where the body says it, too, the newest version's check of headers tells.
        (None, Some(HeaderText::Repeated | HeaderText::Unreadable)) => {
            return Err(RpcError::refused(400, "header `MCP-Protocol-Version` was sent more than once, or holds no version"));
        }
        (_, header) => header.and_then(HeaderText::one),
    };
    match (claimed.as_deref(), header) {
        // Only the newest version says it twice, so its check of headers has to say that they differ.
        (Some(body), Some(header)) if body != header => Ok(Era::Stateless),
        (version, header) => named(version.or(header)),
    }
}

/// The era of a message that has no metadata of its own.
///
/// # Errors
/// -32022 for a version that is not served.
pub(crate) fn named(version: Option<&str>) -> Result<Era, RpcError> {
    match version {
        Some(MODERN) => Ok(Era::Stateless),
        Some(version) if Revision::named(version).is_none() => Err(RpcError::unsupported_version(version)),
        Some(_) | None => Ok(Era::Session),
    }
}
