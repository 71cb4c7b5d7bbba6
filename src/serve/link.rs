//! The other side of the socket: messages go to whoever holds the store, answers come back.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::artifacts::KeptOnLink;
use super::frames::{self, Ask, HookHead, Tell, VERSION};
use super::plan::World;
use super::socket;
use crate::domain::{Clock, KeptArtifact, Timestamp};
use crate::engine::{ArtifactAddress, Supervisor};
use crate::hooks::{HookAnswer, HookRequest};
use crate::mcp::{Message, Notes, RequestContext};

/// Frames on their way to the holder.
const WAITING: usize = 256;
/// Messages of one answer that may wait for their reader. One that falls further behind loses its stream, not the others theirs.
const BEHIND: usize = 1024;
/// How long a holder may take to say hello.
const HELLO: Duration = Duration::from_secs(5);
/// How often the holder is asked whether it is there.
const PING: Duration = Duration::from_secs(5);
/// A holder that says nothing for this long is as good as gone: stopped, or stuck.
const SILENCE: Duration = Duration::from_secs(20);

/// A connection to the holder.
#[derive(Debug)]
pub(super) struct Link {
    out: mpsc::Sender<(Ask, Bytes)>,
    pending: Mutex<HashMap<u64, mpsc::Sender<Piece>>>,
    next: AtomicU64,
    lost: CancellationToken,
    /// The holder's process.
    pub(super) pid: u32,
}

/// What comes back for one message.
#[derive(Debug)]
pub(super) enum Piece {
    Accepted,
    One {
        status: u16,
        body: Bytes,
        notes: Notes,
    },
    Hook(HookAnswer),
    /// What an address stands for; an error where nobody can tell.
    Artifact(Result<Option<KeptArtifact>, ()>),
    Part(Message),
    End,
}

/// The answer to one message as it comes in. Dropping it tells the holder that nobody waits any more.
#[derive(Debug)]
pub(super) struct Answer {
    id: u64,
    link: Arc<Link>,
    pieces: mpsc::Receiver<Piece>,
    ended: bool,
}

impl Link {
    /// Connects to the holder of `folder`.
    pub(super) async fn connect(folder: &Path, world: &World, supervisor: &Supervisor) -> io::Result<Arc<Self>> {
        let greeting = async {
            let mut stream = socket::connect(folder, &*world.random).await?;
            frames::write(&mut stream, &Ask::Hello { version: VERSION }, b"").await?;
            match frames::read::<Tell>(&mut stream).await? {
                Some((Tell::Hello { version: VERSION, pid }, _)) => Ok((stream, pid)),
                Some((Tell::Hello { version, pid }, _)) => Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    format!(
                        "process {pid} holds the store and is of another version (link {version}, here {VERSION}); use one version"
                    ),
                )),
                Some(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "the holder says no hello")),
                None => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the holder went away")),
            }
        };
        let (stream, pid) = tokio::select! {
            greeted = greeting => greeted?,
            () = world.clock.sleep(HELLO) => return Err(io::Error::new(io::ErrorKind::TimedOut, "the holder says no hello")),
        };
        let (out, asks) = mpsc::channel(WAITING);
        let link =
            Arc::new(Self { out, pending: Mutex::default(), next: AtomicU64::new(1), lost: CancellationToken::new(), pid });
        let carrying = carry(link.clone(), stream, asks, world.clock.clone(), supervisor.stopping().clone());
        supervisor.spawn("link to the holder", carrying);
        Ok(link)
    }

    /// Cancelled when the holder is gone.
    pub(super) const fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Sends a message; `None` when the holder is gone.
    pub(super) async fn ask(self: &Arc<Self>, context: &RequestContext, message: Bytes, repeatable: bool) -> Option<Answer> {
        let context = Box::new(context.into());
        self.send(|id| Ask::Message { id, context, repeatable }, message).await
    }

    /// Sends a delivery; `None` when the holder is gone.
    pub(super) async fn deliver(self: &Arc<Self>, request: &HookRequest) -> Option<Answer> {
        let head = HookHead::from(request);
        self.send(|id| Ask::Hook { id, head }, request.body.clone()).await
    }

    /// Asks what the address of a kept artifact stands for; `None` when the holder is gone.
    pub(super) async fn artifact(self: &Arc<Self>, address: &ArtifactAddress) -> Option<Answer> {
        let address = address.into();
        self.send(|id| Ask::Artifact { id, address }, Bytes::new()).await
    }

    async fn send(self: &Arc<Self>, ask: impl FnOnce(u64) -> Ask, body: Bytes) -> Option<Answer> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (pieces, incoming) = mpsc::channel(BEHIND);
        self.pending().insert(id, pieces);
        let answer = Answer { id, link: self.clone(), pieces: incoming, ended: false };
        // The check comes after the insert: a loss in between clears what was inserted.
        if self.lost.is_cancelled() || self.out.send((ask(id), body)).await.is_err() {
            return None;
        }
        Some(answer)
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, HashMap<u64, mpsc::Sender<Piece>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: u64) {
        // A full queue means that much is on its way; the holder notices a reader that is gone at the latest when it answers.
        self.out.try_send((Ask::Forget { id }, Bytes::new())).ok();
    }

    /// Hands a frame to whoever waits for it.
    fn take(&self, tell: Tell, body: Bytes) {
        let (id, piece, last) = match tell {
            Tell::Accepted { id } => (id, Piece::Accepted, true),
            Tell::One { id, status, notes } => (id, Piece::One { status, body, notes }, true),
            Tell::Hook { id, status, headers } => (id, Piece::Hook(HookAnswer { status, headers, body }), true),
            Tell::Artifact { id, failed: true, .. } => (id, Piece::Artifact(Err(())), true),
            Tell::Artifact { id, found, failed: false } => (id, Piece::Artifact(Ok(found.and_then(KeptOnLink::into_kept))), true),
            Tell::Part { id, event } => (id, Piece::Part(Message { id: event, bytes: body }), false),
            Tell::End { id } => (id, Piece::End, true),
            Tell::Hello { .. } | Tell::Operator { .. } | Tell::Pong => return,
        };
        let mut pending = self.pending();
        let taken = pending.get(&id).is_some_and(|waiting| waiting.try_send(piece).is_ok());
        if last || !taken {
            pending.remove(&id);
        }
        drop(pending);
        if !taken && !last {
            self.forget(id);
        }
    }
}

/// Carries frames both ways until one side is gone or this process stops.
async fn carry(
    link: Arc<Link>,
    stream: UnixStream,
    mut asks: mpsc::Receiver<(Ask, Bytes)>,
    clock: Arc<dyn Clock>,
    stopping: CancellationToken,
) {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let heard = AtomicI64::new(clock.now().as_millis());
    let reading = async {
        while let Some((tell, body)) = frames::read::<Tell>(&mut read).await? {
            heard.store(clock.now().as_millis(), Ordering::Relaxed);
            link.take(tell, body);
        }
        io::Result::Ok(())
    };
    let listening = async {
        loop {
            clock.sleep(PING).await;
            if clock.now().since(Timestamp::from_millis(heard.load(Ordering::Relaxed))) > SILENCE {
                return io::Result::Err(io::Error::new(io::ErrorKind::TimedOut, "the holder says nothing any more"));
            }
            // Where there is no room, much has been asked, and silence tells as well.
            link.out.try_send((Ask::Ping, Bytes::new())).ok();
        }
    };
    let writing = async {
        while let Some((ask, body)) = asks.recv().await {
            frames::write(&mut write, &ask, &body).await?;
        }
        io::Result::Ok(())
    };
    let ended = tokio::select! {
        ended = reading => ended,
        ended = writing => ended,
        ended = listening => ended,
        () = stopping.cancelled() => Ok(()),
    };
    if let Err(error) = ended {
        tracing::warn!(%error, holder = link.pid, "the link to the holder broke");
    }
    link.lost.cancel();
    link.pending().clear();
}

/// What comes next of an answer.
#[derive(Debug)]
pub(super) enum Next {
    /// This.
    Piece(Piece),
    /// Nothing: the stream was cut because its reader fell behind.
    Cut,
    /// Nobody knows: the holder is gone.
    Lost,
}

impl Answer {
    pub(super) async fn next(&mut self) -> Next {
        match self.pieces.recv().await {
            Some(piece) => {
                self.ended = !matches!(piece, Piece::Part(_));
                Next::Piece(piece)
            }
            None => {
                self.ended = true;
                if self.link.lost.is_cancelled() { Next::Lost } else { Next::Cut }
            }
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if !self.ended {
            self.link.pending().remove(&self.id);
            self.link.forget(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use jobgate_adapter_api::{EnvAndFiles, ManualClock, OsRandom};

    use super::*;
    use crate::domain::Caller;
    use crate::mcp::Streams;

    /// A holder that is stopped in its tracks keeps nobody waiting for ever.
    #[tokio::test]
    async fn a_holder_that_falls_silent_is_as_good_as_gone() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
        let world = World { clock: clock.clone(), random: Arc::new(OsRandom), secrets: Arc::new(EnvAndFiles) };
        let supervisor = Supervisor::new(clock.clone());
        let listener = socket::bind(folder.path(), &OsRandom).unwrap();
        let (link, holder) = tokio::join!(Link::connect(folder.path(), &world, &supervisor), async {
            let (mut stream, _) = listener.accept().await.unwrap();
            frames::write(&mut stream, &Tell::Hello { version: VERSION, pid: 7 }, b"").await.unwrap();
            stream
        });
        let link = link.unwrap();
        let context = RequestContext::new(Caller::local(), Streams::Wanted);
        let mut answer = link.ask(&context, Bytes::from_static(b"{}"), true).await.unwrap();
        let silence = async {
            while !link.lost().is_cancelled() {
                clock.advance(PING);
                tokio::task::yield_now().await;
            }
        };
        let (next, ()) = tokio::join!(answer.next(), silence);
        assert!(matches!(next, Next::Lost), "{next:?}");
        assert!(clock.now() > Timestamp::default().plus(SILENCE), "it was given its time");
        drop(holder);
        supervisor.kill().await;
    }
}
