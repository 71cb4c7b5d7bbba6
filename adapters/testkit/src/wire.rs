//! The last step of an answer to the socket: what a server that speaks HTTP properly would not do. A relay stands before the kit's
//! server; an answer that bears the kit's mark is broken, renamed or dribbled on its way out.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jobgate_adapter_api::{Clock as _, SystemClock};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use wiremock::ResponseTemplate;

/// The header that carries the mark; it never leaves the relay.
const MARK: &str = "jobgate-testkit-wire";
const END_OF_HEAD: &[u8] = b"\r\n\r\n";
/// No HTTP.
const GARBAGE: &[u8] = b"\x16\x03lskdu 018973 \xff\x00 no answer of any kind";

/// A broken answer, by WireMock's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Breaks {
    /// The connection ends without an answer.
    EmptyResponse,
    /// A status line, then garbage, then the end.
    MalformedResponseChunk,
    /// Garbage, then the end.
    RandomDataThenClose,
    /// The connection is reset.
    ConnectionResetByPeer,
}

/// What happens to an answer on its way out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Wire {
    pub(crate) breaks: Option<Breaks>,
    /// The reason phrase.
    pub(crate) reason: Option<String>,
    /// Pieces of the body, and milliseconds for all of them.
    pub(crate) dribble: Option<(usize, u64)>,
}

impl Wire {
    /// The answer with this mark, where there is something to do.
    pub(crate) fn mark(&self, answer: ResponseTemplate) -> ResponseTemplate {
        if *self == Self::default() {
            return answer;
        }
        let mark = serde_json::to_string(self).expect("a mark can be written");
        // The connection ends with the answer, so the relay knows where the answer does.
        answer.insert_header(MARK, mark).insert_header("connection", "close")
    }
}

/// The relay. Dropping it ends it.
pub(crate) struct WireRelay {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl fmt::Debug for WireRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireRelay").field("address", &self.address).finish_non_exhaustive()
    }
}

impl WireRelay {
    /// Listens on a free port of loopback, before the server at `target`.
    pub(crate) async fn before(target: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        Self { address, server: spawn(serve(listener, target)) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for WireRelay {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[expect(clippy::disallowed_methods, reason = "the kit's own server, ended by its owner")]
fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(work)
}

async fn serve(listener: TcpListener, target: SocketAddr) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(async move {
            // A connection that breaks is what some tests want, and nobody else is told.
            relay(client, target).await.ok();
        });
    }
}

async fn relay(client: TcpStream, target: SocketAddr) -> std::io::Result<()> {
    let server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let fresh = Arc::new(AtomicBool::new(true));
    tokio::select! {
        done = requests(from_client, to_server, &fresh) => done,
        done = answers(from_server, to_client, &fresh) => done,
    }
}

/// Requests go through as they are; what the server sends next begins an answer.
async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, fresh: &AtomicBool) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            to.shutdown().await?;
            // The answer may still be on its way; the other half of the relay ends the connection.
            return std::future::pending().await;
        }
        fresh.store(true, Ordering::Release);
        to.write_all(&buffer[..count]).await?;
    }
}

async fn answers(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, fresh: &AtomicBool) -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        if !fresh.swap(false, Ordering::AcqRel) {
            to.write_all(&buffer[..count]).await?;
            continue;
        }
        let mut answer = buffer[..count].to_vec();
        while end_of_head(&answer).is_none() {
            let count = from.read(&mut buffer).await?;
            if count == 0 {
                break;
            }
            answer.extend_from_slice(&buffer[..count]);
        }
        let Some((wire, head)) = end_of_head(&answer).and_then(|end| marked(&answer[..end])) else {
            to.write_all(&answer).await?;
            continue;
        };
        from.read_to_end(&mut answer).await?;
        let body = end_of_head(&answer).map_or_else(Vec::new, |end| answer.split_off(end));
        return wire.send(&head, &body, to).await;
    }
}

impl Wire {
    async fn send(&self, head: &str, body: &[u8], mut to: OwnedWriteHalf) -> std::io::Result<()> {
        match self.breaks {
            Some(Breaks::EmptyResponse) => return to.shutdown().await,
            Some(Breaks::ConnectionResetByPeer) => {
                to.as_ref().set_zero_linger()?;
                // Dropped, it would end the connection in order first.
                to.forget();
                return Ok(());
            }
            Some(Breaks::RandomDataThenClose) => to.write_all(GARBAGE).await?,
            Some(Breaks::MalformedResponseChunk) => {
                to.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
                to.write_all(GARBAGE).await?;
            }
            None => {
                to.write_all(head.as_bytes()).await?;
                self.dribble(body, &mut to).await?;
            }
        }
        to.shutdown().await
    }

    async fn dribble(&self, body: &[u8], to: &mut OwnedWriteHalf) -> std::io::Result<()> {
        let Some((pieces, total)) = self.dribble else { return to.write_all(body).await };
        let pause = Duration::from_millis(total / u64::try_from(pieces).unwrap_or(1));
        for piece in body.chunks(body.len().div_ceil(pieces).max(1)) {
            to.write_all(piece).await?;
            // A slow answer is slow on the wall clock, where the client's deadline runs.
            SystemClock.sleep(pause).await;
        }
        Ok(())
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(END_OF_HEAD.len()).position(|window| window == END_OF_HEAD).map(|at| at + END_OF_HEAD.len())
}

/// The mark, and the head without it and with the reason that it wants.
fn marked(head: &[u8]) -> Option<(Wire, String)> {
    let head = String::from_utf8_lossy(head);
    let mut wire = None;
    let mut lines = Vec::new();
    for line in head.trim_end_matches("\r\n").split("\r\n") {
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case(MARK) => wire = serde_json::from_str::<Wire>(value).ok(),
            _ => lines.push(line.to_owned()),
        }
    }
    let wire = wire?;
    if let (Some(reason), Some(first)) = (&wire.reason, lines.first_mut()) {
        let status: String = first.split(' ').take(2).collect::<Vec<_>>().join(" ");
        *first = format!("{status} {reason}");
    }
    Some((wire, format!("{}\r\n\r\n", lines.join("\r\n"))))
}
