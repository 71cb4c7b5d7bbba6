//! What two processes on one data folder say to each other: frames of a JSON head and a body of bytes.
//!
//! A frame is the length of the head (4 bytes, big-endian), the length of the body (likewise), the head, the body. The body is a
//! message of the protocol exactly as it came, so nothing is read twice. The first frame each way is a hello with a version.

use std::fmt;
use std::io;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::artifacts::{AddressOnLink, KeptOnLink};
use crate::domain::{Caller, Principal, ToolGrant};
use crate::hooks::HookRequest;
use crate::mcp::{HeaderText, McpHeaders, Notes, RequestContext, Streams, Verb};

/// Both sides have to speak the same one: the processes of one folder are usually one program.
pub(super) const VERSION: u32 = 4;
/// The longest head.
const LONGEST_HEAD: usize = 256 * 1024;
/// The longest body: more than any message that the front ends take.
const LONGEST_BODY: usize = 256 * 1024 * 1024;

/// From the one that asks to the one that holds the store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Ask {
    /// The first frame.
    Hello {
        /// See [`VERSION`].
        version: u32,
    },
    /// A message of the protocol; it is the body.
    Message {
        /// Names it on this connection.
        id: u64,
        /// What is known of it.
        context: Box<Context>,
        /// Whether it will be asked again of the next holder when this one goes.
        repeatable: bool,
    },
    /// A request to a route of a provider; its body is the body.
    Hook {
        /// Names it on this connection.
        id: u64,
        /// All of it but the body.
        head: HookHead,
    },
    /// What the address of a kept artifact stands for.
    Artifact {
        /// Names it on this connection.
        id: u64,
        /// The address.
        address: AddressOnLink,
    },
    /// Nobody waits for the answer any more.
    Forget {
        /// Which one.
        id: u64,
    },
    /// Are you there?
    Ping,
    /// An operator's question.
    Operator {
        /// Names it on this connection.
        id: u64,
        /// The question.
        question: OperatorQuestion,
    },
}

/// A [`HookRequest`] on the wire, without its body.
#[derive(Serialize, Deserialize)]
pub(super) struct HookHead {
    method: String,
    provider: String,
    token: Option<String>,
    query: Option<String>,
    /// Values in base64: they are any bytes, and a signature counts every one.
    headers: Vec<(String, String)>,
}

/// Tokens are in it.
impl fmt::Debug for HookHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookHead").field("method", &self.method).finish_non_exhaustive()
    }
}

impl From<&HookRequest> for HookHead {
    fn from(request: &HookRequest) -> Self {
        let headers = request.headers.iter();
        Self {
            method: request.method.clone(),
            provider: request.provider.clone(),
            token: request.token.clone(),
            query: request.query.clone(),
            headers: headers.map(|(name, value)| (name.clone(), STANDARD.encode(value))).collect(),
        }
    }
}

impl HookHead {
    /// The request with its body; nothing when a header is no base64.
    pub(super) fn into_request(self, body: Bytes) -> Option<HookRequest> {
        let headers = self.headers.into_iter().map(|(name, value)| Some((name, STANDARD.decode(value).ok()?.into())));
        let Self { method, provider, token, query, .. } = self;
        Some(HookRequest { method, provider, token, query, headers: headers.collect::<Option<_>>()?, body })
    }
}

/// A [`RequestContext`] on the wire.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Context {
    tenant: String,
    principal: String,
    /// The tools that the caller may use, where not all.
    tools: Option<Vec<String>>,
    admin: bool,
    address: Option<IpAddr>,
    verb: Verb,
    headers: Option<McpHeaders>,
    session: HeaderText,
    streams: Streams,
}

impl From<&RequestContext> for Context {
    fn from(context: &RequestContext) -> Self {
        let Caller { principal, tools, admin } = &context.caller;
        Self {
            tenant: principal.tenant().to_owned(),
            principal: principal.name().to_owned(),
            tools: match tools {
                ToolGrant::All => None,
                ToolGrant::Named(names) => Some(names.to_vec()),
            },
            admin: *admin,
            address: context.address,
            verb: context.verb.clone(),
            headers: context.headers.clone(),
            session: context.session.clone(),
            streams: context.streams,
        }
    }
}

impl Context {
    /// The context, cancelled by this token.
    pub(super) fn into_context(self, cancel: CancellationToken) -> RequestContext {
        RequestContext {
            caller: Caller {
                principal: Principal::new(self.tenant, self.principal),
                tools: self.tools.map_or(ToolGrant::All, |names| ToolGrant::Named(names.into())),
                admin: self.admin,
            },
            address: self.address,
            verb: self.verb,
            headers: self.headers,
            session: self.session,
            streams: self.streams,
            cancel,
        }
    }
}

/// What operators ask of whoever holds the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum OperatorQuestion {
    /// Everybody's tasks, newest first.
    Tasks {
        /// How many at most.
        limit: usize,
    },
    /// What happened to a task.
    Audit {
        /// Its id.
        task: String,
    },
    /// Deliveries that could not be used, newest first.
    Dead {
        /// How many at most.
        limit: usize,
    },
    /// One of them, with its body.
    DeadOne {
        /// Its id.
        id: String,
    },
    /// Throws them away.
    DropDead {
        /// Their ids.
        ids: Vec<String>,
    },
    /// Takes one of them again; only a running gateway can.
    Redrive {
        /// Its id.
        id: String,
    },
    /// What it has counted, as OpenMetrics text; only a running gateway knows.
    Figures,
}

/// From the one that holds the store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Tell {
    /// The first frame.
    Hello {
        /// See [`VERSION`].
        version: u32,
        /// The process, for people.
        pid: u32,
    },
    /// The answer is: nothing.
    Accepted {
        /// To which message.
        id: u64,
    },
    /// The answer is one message; it is the body.
    One {
        /// To which message.
        id: u64,
        /// The HTTP status that goes with it.
        status: u16,
        /// What goes beside it.
        notes: Notes,
    },
    /// The next of several messages; it is the body.
    Part {
        /// To which message.
        id: u64,
        /// As [`crate::mcp::Message::id`].
        event: Option<String>,
    },
    /// The last of several messages has been sent.
    End {
        /// To which message.
        id: u64,
    },
    /// The answer to a request to a route; its body is the body.
    Hook {
        /// To which request.
        id: u64,
        /// The HTTP status.
        status: u16,
        /// The headers.
        headers: Vec<(String, String)>,
    },
    /// What an address stands for.
    Artifact {
        /// To which question.
        id: u64,
        /// The artifact, if there is one.
        found: Option<KeptOnLink>,
        /// Nobody can tell.
        failed: bool,
    },
    /// I am.
    Pong,
    /// The answer to an operator: JSON in the body, or why not.
    Operator {
        /// To which question.
        id: u64,
        /// What went wrong.
        error: Option<String>,
    },
}

/// Writes one frame.
pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), head: &impl Serialize, body: &[u8]) -> io::Result<()> {
    let head = serde_json::to_vec(head)?;
    let length = |bytes: &[u8], limit: usize| match u32::try_from(bytes.len()) {
        Ok(length) if bytes.len() <= limit => Ok(length.to_be_bytes()),
        Ok(_) | Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "a frame would be too long")),
    };
    let mut frame = Vec::with_capacity(8 + head.len());
    frame.extend(length(&head, LONGEST_HEAD)?);
    frame.extend(length(body, LONGEST_BODY)?);
    frame.extend(head);
    to.write_all(&frame).await?;
    to.write_all(body).await?;
    to.flush().await
}

/// Reads one frame; `None` at a clean end. Not to be dropped half-way.
pub(super) async fn read<T: DeserializeOwned>(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<(T, Bytes)>> {
    let mut lengths = [0; 8];
    match from.read_exact(&mut lengths).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let [a, b, c, d, e, f, g, h] = lengths;
    let (head_length, body_length) = (u32::from_be_bytes([a, b, c, d]) as usize, u32::from_be_bytes([e, f, g, h]) as usize);
    if head_length > LONGEST_HEAD || body_length > LONGEST_BODY {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    let mut head = vec![0; head_length];
    from.read_exact(&mut head).await?;
    let mut body = vec![0; body_length];
    from.read_exact(&mut body).await?;
    Ok(Some((serde_json::from_slice(&head)?, body.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_frame_survives_the_wire_and_the_end_is_clean() {
        let mut wire = Vec::new();
        write(&mut wire, &Ask::Hello { version: VERSION }, b"").await.unwrap();
        write(&mut wire, &Ask::Forget { id: 7 }, "{\"any\":\"bytes \u{1F980}\"}".as_bytes()).await.unwrap();
        let mut from = wire.as_slice();
        assert!(matches!(read::<Ask>(&mut from).await.unwrap(), Some((Ask::Hello { version: VERSION }, _))));
        let (head, body) = read::<Ask>(&mut from).await.unwrap().unwrap();
        assert!(matches!(head, Ask::Forget { id: 7 }));
        assert_eq!(body, "{\"any\":\"bytes \u{1F980}\"}".as_bytes());
        assert!(read::<Ask>(&mut from).await.unwrap().is_none());
    }

    /// I1: what a caller may see and use is the same in the process that answers.
    #[test]
    fn a_caller_crosses_the_socket_as_it_is() {
        for caller in [
            Caller::local(),
            Caller {
                principal: Principal::new("acme", "ann"),
                tools: ToolGrant::Named(["render".to_owned()].into()),
                admin: true,
            },
            Caller { tools: ToolGrant::Named([].into()), ..Caller::new(Principal::new("acme", "bob")) },
        ] {
            let sent = RequestContext {
                address: Some(IpAddr::from([192, 0, 2, 1])),
                ..RequestContext::new(caller.clone(), Streams::Wanted)
            };
            let frame = serde_json::to_vec(&Context::from(&sent)).unwrap();
            let got = serde_json::from_slice::<Context>(&frame).unwrap().into_context(CancellationToken::new());
            assert_eq!((got.caller, got.address), (caller, sent.address));
        }
    }

    /// J1: a signature is over bytes, so every byte arrives, and the log sees none.
    #[test]
    fn a_delivery_crosses_the_socket_as_it_is() {
        let sent = HookRequest {
            method: "POST".to_owned(),
            provider: "farm".to_owned(),
            token: Some("hunter2".to_owned()),
            query: Some("a=%2F&b".to_owned()),
            headers: vec![
                ("x-signature".to_owned(), Bytes::from_static(&[0x80, 0xff, b' ', b'"'])),
                ("x-signature".to_owned(), Bytes::new()),
            ],
            body: Bytes::from_static(&[0, 0xff, b'\r', b'\n']),
        };
        let head = HookHead::from(&sent);
        assert!(!format!("{head:?}").contains("hunter2"));
        let wire = serde_json::to_vec(&head).unwrap();
        let got = serde_json::from_slice::<HookHead>(&wire).unwrap().into_request(sent.body.clone());
        assert!(got == Some(sent));
    }

    #[tokio::test]
    async fn nonsense_is_an_error_and_takes_no_memory() {
        assert!(read::<Ask>(&mut [0xff_u8; 64].as_slice()).await.is_err());
        assert!(read::<Ask>(&mut [0, 0, 0, 2, 0, 0, 0, 0, b'{', b'x'].as_slice()).await.is_err());
    }
}
