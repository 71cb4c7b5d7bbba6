//! The stream that messages are pushed on: news of the tasks that a session follows, and their questions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use super::Spoken;
use super::ask::Asker;
use super::stream::{Events, Form, Standing, lock};
use crate::domain::{Status, Task, TaskId};
use crate::engine::Watch;
use crate::mcp::dialects::core::status;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::{Message, Reply, Streams};
use crate::mcp::jsonrpc;
use crate::mcp::live::{Followed, Here};
use crate::mcp::progress::update_of;

/// Messages on their way to a slow reader; the watches behind them keep the newest state of each task alone.
const WAITING: usize = 8;

impl Spoken {
    /// Opens the stream of this session; the one before it ends.
    ///
    /// # Errors
    /// HTTP 405 outside of a session, 406 for a client that takes no stream, 429 for one that has too many open.
    pub(super) fn listen(&self) -> Result<Reply, RpcError> {
        let Some(here) = self.here() else {
            return Err(RpcError::refused(405, "there is no session here, so nothing to push; send messages by POST"));
        };
        if self.context.streams == Streams::Refused {
            return Err(RpcError::refused(406, "this is an event stream; accept `text/event-stream`"));
        }
        let slot = self.shared.limits.stream(&self.context)?;
        let (messages, stream) = mpsc::channel(WAITING);
        let spoken = Arc::new(self.clone());
        let events = Events::new(spoken.clone());
        if self.context.headers.is_some() {
            let standing = Standing { form: Form::Session, id: String::new(), task: String::new(), token: None, until: None };
            events.stand_for(standing);
        }
        let ends = here.open();
        let cancel = self.context.cancel.clone();
        let pushing =
            Pushing { spoken, here, events, messages: messages.clone(), tasks: HashMap::new(), watches: FuturesUnordered::new() };
        self.shared.supervisor.spawn("stream of a session", async move {
            let stopping = pushing.spoken.shared.supervisor.stopping().clone();
            tokio::select! {
                biased;
                () = messages.closed() => {}
                () = ends.cancelled() => {}
                () = cancel.cancelled() => {}
                () = stopping.cancelled() => {}
                () = pushing.run() => {}
            }
            drop(slot);
        });
        Ok(Reply::Stream(stream))
    }
}

/// The next state of a watched task, and the watch for the one after it.
type Next = (Watch, Option<Arc<Task>>);

struct Pushing {
    spoken: Arc<Spoken>,
    here: Arc<Here>,
    events: Events,
    messages: mpsc::Sender<Message>,
    tasks: HashMap<TaskId, Watched>,
    watches: FuturesUnordered<BoxFuture<'static, Next>>,
}

/// A task that is followed here.
struct Watched {
    asker: Asker,
    now: Option<Arc<Task>>,
    said: Option<(Status, Option<String>)>,
}

impl Pushing {
    async fn run(mut self) {
        // Something has to come at once, so that whoever carries the stream knows that there is one.
        self.messages.send(self.events.priming().unwrap_or_default()).await.ok();
        let mut changes = self.here.changes();
        loop {
            let followed = self.here.followed();
            self.tasks.retain(|id, _| followed.iter().any(|one| one.task == *id));
            for one in &followed {
                self.watch(one).await;
                self.ask(one).await;
            }
            tokio::select! {
                biased;
                changed = changes.changed() => if changed.is_err() { return },
                Some((watch, task)) = self.watches.next() => match task {
                    Some(task) => self.changed(watch, task).await,
                    // The engine stops.
                    None => return,
                },
            }
        }
    }

    async fn say(&mut self, bytes: Bytes) {
        // Whoever has left is noticed elsewhere.
        self.messages.send(self.events.message(bytes)).await.ok();
    }

    /// Begins to watch a task.
    async fn watch(&mut self, followed: &Followed) {
        let id = followed.task;
        let Entry::Vacant(place) = self.tasks.entry(id) else { return };
        let asker = Asker::new(self.spoken.clone(), self.here.clone(), id, followed.related);
        place.insert(Watched { asker, now: None, said: None });
        match self.spoken.shared.engine.watch(&self.spoken.context.caller, &[id]).await {
            Ok(watch) if !watch.ids().is_empty() => self.watches.push(next(watch)),
            Ok(_) => self.here.leave(id),
            // A courtesy; the client still polls.
            Err(error) => tracing::warn!(%error, "a task could not be watched"),
        }
    }

    /// Asks what the client has not been asked, unless a stream of the task's own is open for it.
    async fn ask(&mut self, followed: &Followed) {
        let Some(watched) = self.tasks.get_mut(&followed.task) else { return };
        let Some(task) = &watched.now else { return };
        watched.asker.related = followed.related;
        let messages =
            if followed.looked && followed.streams == 0 { watched.asker.news(task) } else { watched.asker.withdrawn(task) };
        for message in messages {
            self.say(message).await;
        }
    }

    async fn changed(&mut self, watch: Watch, task: Arc<Task>) {
        let id = task.id;
        let followed = self.here.followed().into_iter().find(|one| one.task == id);
        let (Some(followed), Some(watched)) = (followed, self.tasks.get_mut(&id)) else { return };
        let now = status::gist(&task);
        let before = watched.said.replace(now.clone());
        watched.now = Some(task.clone());
        // The client knows the first state from what made it follow the task. Other dialects have no such news.
        let core = followed.related == Some(status::RELATED);
        if core && followed.streams == 0 && before.is_some_and(|before| before != now) {
            let view = status::View::new(&task, &self.spoken);
            self.say(jsonrpc::notification("notifications/tasks/status", &view)).await;
        }
        if let (Some(progress), 0, false) = (&followed.progress, followed.streams, task.is_ended()) {
            let message = lock(progress).notification(&update_of(&task));
            if let Some(message) = message {
                self.messages.try_send(self.events.message(message)).ok();
            }
        }
        self.ask(&followed).await;
        if task.is_ended() {
            // Whoever waits for it on a stream of its own still holds it; until then it must not be watched anew.
            self.here.leave(id);
        } else {
            self.watches.push(next(watch));
        }
    }
}

fn next(mut watch: Watch) -> BoxFuture<'static, Next> {
    Box::pin(async move {
        let task = watch.next().await;
        (watch, task)
    })
}
