//! Whoever holds the store answers: this process, or another one over its socket; and when that one goes, one of us takes over.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::frames::OperatorQuestion;
use super::holder::{Holder, HolderError};
use super::link::{Answer, Link, Next, Piece};
use super::message::Outgoing;
use super::operator;
use super::plan::Plan;
use crate::engine::Supervisor;
use crate::http::Health;
use crate::mcp::{Frontend, Message, Reply, RequestContext, RpcError};

/// How long a store may be held by someone who does not answer: longer than any shutdown or start takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause before the store is tried again: between one and two of these, so that not everybody comes at once.
const PAUSE: Duration = Duration::from_millis(60);
/// Messages of a stream between the link and its reader.
const WAITING: usize = 64;

/// Who holds the store now.
#[derive(Clone, Debug)]
pub(super) enum Current {
    /// Nobody that we know: it is being settled.
    Nobody,
    /// This process.
    Here(Arc<Holder>),
    /// Another process.
    There(Arc<Link>),
}

/// A front end over whoever holds the store.
#[derive(Clone)]
pub struct Switch {
    pub(super) plan: Arc<Plan>,
    current: watch::Sender<Current>,
    supervisor: Supervisor,
    /// Cancelled when streams over the link have to end, because their readers are asked to go.
    hung_up: CancellationToken,
    /// Cancelled when this process cannot go on: no holder, and no way to become one.
    failed: CancellationToken,
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switch").field("current", &*self.current.borrow()).finish_non_exhaustive()
    }
}

/// Why nobody can answer.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The store is free, and cannot be used.
    #[error(transparent)]
    Holder(#[from] HolderError),
    /// The store is held, and its holder does not answer.
    #[error("{held}, which does not answer on its socket: {reason}")]
    Silent {
        /// Who holds it.
        held: String,
        /// What the socket says.
        reason: String,
    },
}

impl Switch {
    /// Takes the store, or finds whoever has it, and keeps doing so until shutdown.
    pub(super) async fn start(plan: Arc<Plan>, supervisor: &Supervisor) -> Result<Self, SwitchError> {
        let switch = Self {
            plan,
            current: watch::Sender::new(Current::Nobody),
            supervisor: supervisor.part(),
            hung_up: CancellationToken::new(),
            failed: CancellationToken::new(),
        };
        switch.settle().await?;
        let keeper = switch.clone();
        switch.supervisor.spawn("keeper of the store", async move { keeper.keep().await });
        Ok(switch)
    }

    /// Cancelled when nobody will answer any more.
    pub(super) const fn failed(&self) -> &CancellationToken {
        &self.failed
    }

    /// Whether this process holds the store; else the process that does.
    pub(super) fn holder(&self) -> Option<u32> {
        match &*self.current.borrow() {
            Current::There(link) => Some(link.pid),
            Current::Here(_) | Current::Nobody => None,
        }
    }

    /// Ends streams over the link; single answers may still come.
    pub(super) fn hang_up(&self) {
        self.hung_up.cancel();
    }

    /// Lets go of the store or of its holder.
    pub(super) async fn shutdown(&self, grace: Duration) {
        let current = self.current.borrow().clone();
        if let Current::Here(holder) = &current {
            // Before anything here stops: what others asked must not be answered with that.
            holder.hand_over();
        }
        self.supervisor.stopping().cancel();
        if let Current::Here(holder) = &current {
            holder.shutdown().await;
        }
        self.supervisor.shutdown(grace).await;
    }

    /// Becomes the holder, or finds it.
    async fn settle(&self) -> Result<(), SwitchError> {
        let world = &self.plan.world;
        let since = world.clock.now();
        loop {
            let held = match Holder::open(&self.plan, &self.supervisor).await {
                Ok(holder) => {
                    self.current.send_replace(Current::Here(Arc::new(holder)));
                    return Ok(());
                }
                Err(error) if error.is_held() => error,
                Err(error) => return Err(error.into()),
            };
            match Link::connect(&self.plan.store.path, world, &self.supervisor).await {
                Ok(link) => {
                    self.current.send_replace(Current::There(link));
                    return Ok(());
                }
                // The holder is starting or stopping: the lock decides, soon.
                Err(error) if error.kind() != std::io::ErrorKind::Unsupported && world.clock.now().since(since) < PATIENCE => {
                    world.clock.sleep(PAUSE.mul_f64(1.0 + world.random.unit())).await;
                }
                Err(error) => return Err(SwitchError::Silent { held: held.to_string(), reason: error.to_string() }),
            }
        }
    }

    /// Takes over, or finds the next holder, whenever the present one goes.
    async fn keep(&self) {
        loop {
            let link = match &*self.current.borrow() {
                Current::There(link) => link.clone(),
                Current::Here(_) | Current::Nobody => return,
            };
            tokio::select! {
                () = self.supervisor.stopping().cancelled() => return,
                () = link.lost().cancelled() => {}
            }
            self.current.send_replace(Current::Nobody);
            tracing::info!(holder = link.pid, "the holder of the store is gone");
            let settled = tokio::select! {
                () = self.supervisor.stopping().cancelled() => return,
                settled = self.settle() => settled,
            };
            match settled {
                Ok(()) => match self.holder() {
                    Some(pid) => tracing::info!(holder = pid, "another process holds the store now"),
                    None => tracing::info!("this process holds the store now"),
                },
                Err(error) => {
                    tracing::error!(%error, "the store cannot be taken over");
                    self.failed.cancel();
                    return;
                }
            }
        }
    }

    /// Waits until somebody holds the store; `None` when that takes too long or nobody waits for it.
    pub(super) async fn somebody(&self, cancel: &CancellationToken) -> Option<Current> {
        let mut current = self.current.subscribe();
        let known = current.wait_for(|current| match current {
            Current::Here(_) => true,
            Current::There(link) => !link.lost().is_cancelled(),
            Current::Nobody => false,
        });
        tokio::select! {
            known = known => known.ok().map(|known| known.clone()),
            () = cancel.cancelled() => None,
            () = self.supervisor.stopping().cancelled() => None,
            () = self.failed.cancelled() => None,
            () = self.plan.world.clock.sleep(PATIENCE) => None,
        }
    }

    /// Hands the message to whoever holds the store, and to the next one if that one goes before it says anything.
    async fn ask(&self, context: &RequestContext, sent: &Outgoing) -> Asked {
        loop {
            match self.somebody(&context.cancel).await {
                None => {
                    let error = RpcError::refused(503, "the gateway cannot take calls now; try again");
                    return Asked::Whole(Reply::error(sent.id.as_deref(), &error));
                }
                Some(Current::Here(holder)) => {
                    return Asked::Whole(holder.frontend.handle(context.clone(), sent.bytes.clone()).await);
                }
                Some(Current::Nobody) => {}
                Some(Current::There(link)) => {
                    let Some(mut answer) = link.ask(context, sent.bytes.clone(), sent.repeatable).await else { continue };
                    let first = tokio::select! {
                        first = answer.next() => first,
                        () = context.cancel.cancelled() => return Asked::Whole(Reply::Accepted),
                    };
                    match first {
                        Next::Piece(Piece::Accepted) => return Asked::Whole(Reply::Accepted),
                        Next::Piece(Piece::One { status, body, notes }) => {
                            return Asked::Whole(Reply::One { status, body, notes });
                        }
                        Next::Piece(Piece::Part(message)) => return Asked::Begun { message, answer },
                        Next::Lost if sent.repeatable => {}
                        Next::Piece(Piece::End | Piece::Hook(_) | Piece::Artifact(_)) | Next::Cut | Next::Lost => {
                            return Asked::Whole(outcome_unknown(sent));
                        }
                    }
                }
            }
        }
    }

    /// Hands on a stream that comes over the link; the next holder goes on with it when this one goes.
    async fn forward(self, context: RequestContext, sent: Outgoing, first: Message, answer: Answer, to: mpsc::Sender<Message>) {
        let mut answer = answer;
        if to.send(first).await.is_err() {
            return;
        }
        loop {
            let next = tokio::select! {
                next = answer.next() => next,
                () = context.cancel.cancelled() => return,
                () = to.closed() => return,
                () = self.hung_up.cancelled() => return,
                () = self.supervisor.stopping().cancelled() => return,
            };
            match next {
                Next::Piece(Piece::Part(message)) => {
                    if to.send(message).await.is_err() {
                        return;
                    }
                }
                Next::Piece(Piece::One { body, .. }) => {
                    to.send(body.into()).await.ok();
                    return;
                }
                Next::Piece(Piece::Accepted | Piece::End | Piece::Hook(_) | Piece::Artifact(_)) | Next::Cut => return,
                Next::Lost if sent.repeatable => match self.ask(&context, &sent).await {
                    // The caller has heard already that it is listened to.
                    Asked::Begun { answer: again, .. } if sent.listens => answer = again,
                    Asked::Begun { message, answer: again } => {
                        if to.send(message).await.is_err() {
                            return;
                        }
                        answer = again;
                    }
                    Asked::Whole(reply) => return hand_on(reply, sent.listens, &to).await,
                },
                Next::Lost => {
                    if let Reply::One { body, .. } = outcome_unknown(&sent) {
                        to.send(body.into()).await.ok();
                    }
                    return;
                }
            }
        }
    }
}

/// What came of asking.
enum Asked {
    /// The answer, or a stream of this very process.
    Whole(Reply),
    /// The first message of several over the link.
    Begun { message: Message, answer: Answer },
}

/// The rest of an answer that this process gives itself.
async fn hand_on(reply: Reply, listens: bool, to: &mpsc::Sender<Message>) {
    match reply {
        Reply::Accepted => {}
        Reply::One { body, .. } => {
            to.send(body.into()).await.ok();
        }
        Reply::Stream(mut messages) => {
            let mut heard = !listens;
            while let Some(message) = messages.recv().await {
                // The caller has heard already that it is listened to.
                if std::mem::replace(&mut heard, true) && to.send(message).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// The answer to a call that may have started something, and cannot be asked again.
fn outcome_unknown(sent: &Outgoing) -> Reply {
    let message = "the process that ran this call is gone, and nobody knows how far it got; look before you call again";
    Reply::error(sent.id.as_deref(), &RpcError::internal(message))
}

#[async_trait]
impl Frontend for Switch {
    async fn handle(&self, context: RequestContext, message: Bytes) -> Reply {
        // The usual case costs nothing more than a look.
        let here = match &*self.current.borrow() {
            Current::Here(holder) => Some(holder.clone()),
            Current::There(_) | Current::Nobody => None,
        };
        if let Some(holder) = here {
            return holder.frontend.handle(context, message).await;
        }
        let sent = Outgoing::of(&message, &self.plan.tools, &*self.plan.world.random);
        match self.ask(&context, &sent).await {
            Asked::Whole(reply) => reply,
            Asked::Begun { message, answer } => {
                let (to, messages) = mpsc::channel(WAITING);
                let switch = self.clone();
                self.supervisor.spawn("stream over the link", switch.forward(context, sent, message, answer, to));
                Reply::Stream(messages)
            }
        }
    }
}

#[async_trait]
impl Health for Switch {
    fn ready(&self) -> Result<(), String> {
        match &*self.current.borrow() {
            Current::Here(_) | Current::There(_) if !self.supervisor.stopping().is_cancelled() => Ok(()),
            Current::Here(_) | Current::There(_) => Err("the gateway is stopping".to_owned()),
            Current::Nobody => Err("nobody holds the store; one of us will".to_owned()),
        }
    }

    /// Those of the process that holds the store, where the work is done.
    async fn figures(&self) -> Result<String, String> {
        let current = self.current.borrow().clone();
        match current {
            Current::Here(holder) => holder.figures.text().await,
            Current::There(_) => {
                let (folder, world) = (&self.plan.store.path, &self.plan.world);
                let asked = operator::over_socket(folder, &OperatorQuestion::Figures, world).await;
                let figures = asked.map_err(|error| format!("the holder of the store does not answer: {error}"))??;
                String::from_utf8(figures.into()).map_err(|_| "the holder of the store answers no text".to_owned())
            }
            Current::Nobody => Err("nobody holds the store; one of us will".to_owned()),
        }
    }
}
