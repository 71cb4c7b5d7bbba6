//! The seam between those who carry messages and those who answer them.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::error::RpcError;
use super::headers::McpHeaders;
use super::jsonrpc;
use crate::domain::Principal;

/// What is known of a message beside its bytes.
#[derive(Clone, Debug)]
pub struct RequestContext {
    /// Who sent it.
    pub principal: Principal,
    /// The headers that mirror it, where it came over HTTP; there they are checked.
    pub headers: Option<McpHeaders>,
    /// Whether the sender takes more than one message as the answer.
    pub streams: Streams,
    /// Cancelled when nobody waits for the answer any more. Never cancels a task.
    pub cancel: CancellationToken,
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
    },
    /// Several messages; the last one is the response. HTTP 200.
    Stream(mpsc::Receiver<Bytes>),
}

impl Reply {
    /// One message with status 200.
    #[must_use]
    pub const fn ok(body: Bytes) -> Self {
        Self::One { status: 200, body }
    }

    pub(crate) fn error(id: Option<&RawValue>, error: &RpcError) -> Self {
        Self::One { status: error.http(), body: jsonrpc::failure(id, error) }
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
    /// Answers one message. Whatever the bytes are, the answer is a message of the protocol.
    async fn handle(&self, context: RequestContext, message: Bytes) -> Reply;
}
