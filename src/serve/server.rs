//! The holder's side of the socket: messages of other processes are answered as if they had come here.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::figures::Figures;
use super::frames::{self, Ask, OperatorQuestion, Tell, VERSION};
use super::operator;
use super::socket;
use crate::domain::Clock;
use crate::engine::{Engine, Supervisor};
use crate::hooks::{Hooks as _, Receiver};
use crate::mcp::{Dispatcher, Frontend as _, Reply, RequestContext};
use crate::store::sled::SledStore;

/// Frames on their way out; beyond that, answers wait for the reader.
const WAITING: usize = 256;
/// The pause after an accept that failed, for example because there are too many open files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// What all connections share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) frontend: Arc<Dispatcher>,
    pub(super) receiver: Arc<Receiver>,
    pub(super) store: Arc<SledStore>,
    pub(super) engine: Arc<Engine>,
    pub(super) figures: Figures,
    pub(super) supervisor: Supervisor,
}

type Out = mpsc::Sender<(Tell, Bytes)>;

/// Accepts until the supervisor stops.
pub(super) async fn run(listener: UnixListener, shared: Shared, clock: Arc<dyn Clock>) {
    let stopping = shared.supervisor.stopping().clone();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let shared_here = shared.clone();
                shared.supervisor.spawn("link", async move {
                    if let Err(error) = connection(stream, shared_here).await {
                        tracing::debug!(%error, "a link ended badly");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a link could not be accepted");
                clock.sleep(AFTER_FAILURE).await;
            }
        }
    }
}

async fn connection(stream: UnixStream, shared: Shared) -> io::Result<()> {
    socket::same_user(&stream)?;
    let (read, write) = stream.into_split();
    let mut read = BufReader::new(read);
    let (out, frames) = mpsc::channel(WAITING);
    shared.supervisor.spawn("link writer", write_all(write, frames));
    // Whoever speaks another version sees ours and ends the connection itself.
    out.send((Tell::Hello { version: VERSION, pid: std::process::id() }, Bytes::new())).await.ok();
    let gone = CancellationToken::new();
    let ended = answer_all(&mut read, &shared, &out, &gone).await;
    if !shared.supervisor.stopping().is_cancelled() {
        gone.cancel();
    }
    ended
}

async fn answer_all(read: &mut BufReader<OwnedReadHalf>, shared: &Shared, out: &Out, gone: &CancellationToken) -> io::Result<()> {
    let mut waited_for: HashMap<u64, CancellationToken> = HashMap::new();
    let (done, mut ended) = mpsc::unbounded_channel();
    loop {
        let frame = tokio::select! {
            // The half-read frame that may be lost here is of a connection that ends.
            () = shared.supervisor.stopping().cancelled() => return Ok(()),
            frame = frames::read::<Ask>(read) => frame?,
        };
        while let Ok(id) = ended.try_recv() {
            waited_for.remove(&id);
        }
        let Some((ask, body)) = frame else { return Ok(()) };
        match ask {
            Ask::Hello { version: VERSION } => {}
            Ask::Hello { version } => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("the other side speaks version {version}")));
            }
            Ask::Message { id, context, repeatable } => {
                let cancel = gone.child_token();
                waited_for.insert(id, cancel.clone());
                let context = context.into_context(cancel);
                let (shared, out, done) = (shared.clone(), out.clone(), done.clone());
                shared.supervisor.clone().spawn("link request", async move {
                    let stopping = shared.supervisor.stopping().clone();
                    tokio::select! {
                        biased;
                        // The one that asked asks the next holder.
                        () = stopping.cancelled(), if repeatable => {}
                        () = answer(&shared, context, id, body, &out) => {}
                    }
                    done.send(id).ok();
                });
            }
            Ask::Hook { id, head } => {
                let request = head
                    .into_request(body)
                    .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a delivery has no readable headers"))?;
                let cancel = gone.child_token();
                waited_for.insert(id, cancel.clone());
                let (shared, out, done) = (shared.clone(), out.clone(), done.clone());
                shared.supervisor.clone().spawn("link delivery", async move {
                    let stopping = shared.supervisor.stopping().clone();
                    tokio::select! {
                        biased;
                        // Taking a delivery twice is taking it once: the one that asked asks the next holder.
                        () = stopping.cancelled() => {}
                        () = cancel.cancelled() => {}
                        answer = shared.receiver.receive(request) => {
                            out.send((Tell::Hook { id, status: answer.status, headers: answer.headers }, answer.body)).await.ok();
                        }
                    }
                    done.send(id).ok();
                });
            }
            Ask::Artifact { id, address } => {
                let told = shared.engine.addressed_artifact(&address.into()).await;
                let failed = told.is_err();
                let found = told.unwrap_or_default().map(Into::into);
                out.send((Tell::Artifact { id, found, failed }, Bytes::new())).await.ok();
            }
            Ask::Forget { id } => {
                if let Some(cancel) = waited_for.remove(&id) {
                    cancel.cancel();
                }
            }
            Ask::Ping => {
                out.send((Tell::Pong, Bytes::new())).await.ok();
            }
            Ask::Operator { id, question } => {
                let answer = match question {
                    OperatorQuestion::Figures => shared.figures.text().await.map(Bytes::from),
                    OperatorQuestion::Redrive { id } => operator::redrive(&shared.engine, &id).await,
                    about_tasks => operator::answer(&*shared.store, &about_tasks).await,
                };
                let (body, error) = match answer {
                    Ok(body) => (body, None),
                    Err(error) => (Bytes::new(), Some(error)),
                };
                out.send((Tell::Operator { id, error }, body)).await.ok();
            }
        }
    }
}

/// Answers one message. Once nobody reads any more there is nobody to tell.
async fn answer(shared: &Shared, context: RequestContext, id: u64, message: Bytes, out: &Out) {
    match shared.frontend.handle(context, message).await {
        Reply::Accepted => {
            out.send((Tell::Accepted { id }, Bytes::new())).await.ok();
        }
        Reply::One { status, body, notes } => {
            out.send((Tell::One { id, status, notes }, body)).await.ok();
        }
        Reply::Stream(mut messages) => {
            while let Some(message) = messages.recv().await {
                if out.send((Tell::Part { id, event: message.id }, message.bytes)).await.is_err() {
                    return;
                }
            }
            out.send((Tell::End { id }, Bytes::new())).await.ok();
        }
    }
}

async fn write_all(mut write: OwnedWriteHalf, mut frames: mpsc::Receiver<(Tell, Bytes)>) {
    while let Some((head, body)) = frames.recv().await {
        if let Err(error) = frames::write(&mut write, &head, &body).await {
            tracing::debug!(%error, "a link's reader is gone");
            return;
        }
    }
}
