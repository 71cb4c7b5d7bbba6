//! Sessions of the protocol versions before 2026-07-28: sealed into their id, so that they need no store and survive every restart.
//!
//! What a client agreed on in `initialize` is in the id itself. A task never belongs to a session, so nothing is lost with one.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::error::RpcError;
use super::frontend::RequestContext;
use super::headers::HeaderText;
use super::seal::{Purpose, Sealer};
use crate::domain::{ClientCapability, Random};

/// Ended sessions that are remembered. What falls out can be used again, to no harm: it opens nothing that its owner could not open
/// anew.
const REMEMBERED: usize = 10_000;

/// A protocol version with sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Revision {
    /// The first with Streamable HTTP.
    #[serde(rename = "2025-03-26")]
    March2025,
    /// Elicitation.
    #[serde(rename = "2025-06-18")]
    June2025,
    /// Tasks in the core.
    #[serde(rename = "2025-11-25")]
    November2025,
}

impl Revision {
    /// All, the newest first.
    pub(crate) const ALL: [Self; 3] = [Self::November2025, Self::June2025, Self::March2025];

    /// As it is written on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
        }
    }

    /// The version with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }
}

/// What a client declared in `initialize`, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Abilities {
    /// It shows forms.
    #[serde(rename = "f", default, skip_serializing_if = "is_false")]
    pub(crate) forms: bool,
    /// It opens pages.
    #[serde(rename = "u", default, skip_serializing_if = "is_false")]
    pub(crate) pages: bool,
    /// It asks a model.
    #[serde(rename = "s", default, skip_serializing_if = "is_false")]
    pub(crate) sampling: bool,
    /// It lists its folders.
    #[serde(rename = "r", default, skip_serializing_if = "is_false")]
    pub(crate) roots: bool,
    /// It never fetches the result of a failed task, so a job that ran and failed is a completed one to it.
    #[serde(rename = "x", default, skip_serializing_if = "is_false")]
    pub(crate) failed_as_completed: bool,
    /// It declared `tasks` of some kind, so it knows what they are.
    #[serde(rename = "t", default, skip_serializing_if = "is_false")]
    pub(crate) tasks: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Abilities {
    /// Those of `wanted` that the client did not declare.
    pub(crate) fn missing(self, wanted: &[ClientCapability]) -> Vec<ClientCapability> {
        let declared = |capability: &ClientCapability| match capability {
            ClientCapability::Elicitation => self.forms || self.pages,
            ClientCapability::Sampling => self.sampling,
            ClientCapability::Roots => self.roots,
        };
        wanted.iter().copied().filter(|capability| !declared(capability)).collect()
    }
}

/// What was agreed on in `initialize`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The version.
    #[serde(rename = "v")]
    pub(crate) revision: Revision,
    /// The client.
    #[serde(rename = "c")]
    pub(crate) abilities: Abilities,
    /// Tells one session of a caller from another.
    #[serde(rename = "n")]
    pub(crate) nonce: String,
}

impl Session {
    /// A new one.
    pub(crate) fn new(revision: Revision, abilities: Abilities, random: &dyn Random) -> Self {
        let mut nonce = [0; 12];
        random.fill(&mut nonce);
        Self { revision, abilities, nonce: nonce.iter().map(|byte| format!("{byte:02x}")).collect() }
    }
}

/// Opens sessions and remembers which ones have ended.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    ended: Mutex<Ended>,
}

#[derive(Debug, Default)]
struct Ended {
    order: VecDeque<String>,
    nonces: HashSet<String>,
}

impl Sessions {
    /// The session of a request; `None` where it names none.
    ///
    /// # Errors
    /// -32600 with HTTP 404 for one that is unknown, somebody else's or ended: the client then starts a new one (Streamable HTTP,
    /// "Session Management").
    pub(crate) fn of(&self, context: &RequestContext, sealer: &Sealer) -> Result<Option<Session>, RpcError> {
        let unknown = || RpcError::refused(404, "there is no such session; start a new one with `initialize`");
        let text = match &context.session {
            HeaderText::Absent => return Ok(None),
            HeaderText::One(text) => text,
            HeaderText::Repeated => return Err(RpcError::refused(400, "header `Mcp-Session-Id` was sent more than once")),
            HeaderText::Unreadable => return Err(unknown()),
        };
        let session: Session = sealer.open_for(Purpose::Session, &context.caller.principal, text).ok_or_else(unknown)?;
        if self.ended().nonces.contains(&session.nonce) { Err(unknown()) } else { Ok(Some(session)) }
    }

    /// Ends a session.
    pub(crate) fn end(&self, session: Session) {
        let mut ended = self.ended();
        if ended.nonces.insert(session.nonce.clone()) {
            ended.order.push_back(session.nonce);
        }
        if ended.order.len() > REMEMBERED
            && let Some(oldest) = ended.order.pop_front()
        {
            ended.nonces.remove(&oldest);
        }
    }

    fn ended(&self) -> std::sync::MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
