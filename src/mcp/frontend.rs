//! The seam between those who carry messages and those who answer them.

use std::fmt;
use std::net::IpAddr;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::RpcError;
use super::headers::{HeaderText, McpHeaders};
use super::jsonrpc;
use crate::domain::Caller;

/// What is known of a message beside its bytes.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Who sent it.
    pub caller: Caller,
    /// From where, if over a network.
    pub address: Option<IpAddr>,
    /// What is wanted of the endpoint.
    pub verb: Verb,
    /// The headers that mirror it, where it came over HTTP; there they are checked.
    pub headers: Option<McpHeaders>,
    /// `Mcp-Session-Id`, or the one session of a pipe.
    pub session: HeaderText,
    /// Whether the sender takes more than one message as the answer.
    pub streams: Streams,
    /// Cancelled when nobody waits for the answer any more. Never cancels a task.
    pub cancel: CancellationToken,
}

impl RequestContext {
    /// A message of this caller that came over no network and in no session.
    #[must_use]
    pub fn new(caller: Caller, streams: Streams) -> Self {
        Self {
            caller,
            address: None,
            verb: Verb::Post,
            headers: None,
            session: HeaderText::Absent,
            streams,
            cancel: CancellationToken::new(),
        }
    }
}

/// What is wanted of the endpoint (Streamable HTTP; a pipe says the same in its own way).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verb {
    /// A message is to be answered.
    Post,
    /// A stream for messages that answer no request is to be opened; there is no message.
    Get {
        /// `Last-Event-ID`: the stream that broke is to go on instead.
        resume: HeaderText,
    },
    /// The session is to end; there is no message.
    Delete,
}

/// Whether several messages are taken as one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Streams {
    /// No.
    Refused,
    /// If there is no other way.
    Possible,
    /// Gladly.
    Wanted,
}

/// The answer to one message.
#[derive(Debug)]
pub enum Reply {
    /// Nothing is sent back: a notification, or a request that nobody waits for any more. HTTP 202.
    Accepted,
    /// One message.
    One {
        /// The status of the HTTP response that carries it.
        status: u16,
        /// The message.
        body: Bytes,
        /// What goes beside it.
        notes: Notes,
    },
    /// Several messages; where they answer a request, the last one is the response. HTTP 200.
    Stream(mpsc::Receiver<Message>),
}

/// What goes beside an answer, where its carrier has a place for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    /// `Mcp-Session-Id`: the session that the answer began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// `Retry-After`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

/// One message of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// What a client that loses the stream sends as `Last-Event-ID` to go on behind this message.
    pub id: Option<String>,
    /// The message; empty for an event that only carries its id, or only says that the stream is there.
    pub bytes: Bytes,
}

impl From<Bytes> for Message {
    fn from(bytes: Bytes) -> Self {
        Self { id: None, bytes }
    }
}

impl Reply {
    /// One message with status 200.
    #[must_use]
    pub const fn ok(body: Bytes) -> Self {
        Self::One { status: 200, body, notes: Notes { session: None, retry_after: None } }
    }

    pub(crate) fn error(id: Option<&RawValue>, error: &RpcError) -> Self {
        let notes = Notes { retry_after: error.retry_after(), ..Notes::default() };
        Self::One { status: error.http(), body: jsonrpc::failure(id, error), notes }
    }

    /// A message that could not even be given to a front end: too large, cut off.
    #[must_use]
    pub fn refused(status: u16, message: &str) -> Self {
        Self::error(None, &RpcError::refused(status, message.to_owned()))
    }
}

/// Answers messages.
#[async_trait]
pub trait Frontend: fmt::Debug + Send + Sync + 'static {
    /// Answers one message, or does what the context's verb wants; `message` is empty where the verb brings none. Whatever the bytes
    /// are, the answer is a message of the protocol.
    async fn handle(&self, context: RequestContext, message: Bytes) -> Reply;
}
