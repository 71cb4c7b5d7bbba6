//! The way out of one request: one answer, or a stream of messages whose last one is the answer, and which can be resumed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc, oneshot};

use super::Spoken;
use crate::domain::{Task, Timestamp};
use crate::engine::Update;
use crate::mcp::error::RpcError;
use crate::mcp::frontend::{Message, Reply, Streams};
use crate::mcp::jsonrpc;
use crate::mcp::progress::Progressing;
use crate::mcp::seal::Purpose;
use crate::mcp::sessions::Revision;

/// Messages that may wait for the client; news beyond that are dropped, they are a courtesy.
const WAITING: usize = 16;
/// How long an answer is waited for before a stream is begun for it: what is ready at once needs none.
const AT_ONCE: Duration = Duration::from_millis(200);

/// What a stream stands for: all that is needed to go on with it in another process after a restart. It is sealed into the id of every
/// event, so that nothing has to be remembered of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::mcp::dialects) struct Standing {
    /// How the answer is formed.
    #[serde(rename = "f")]
    pub(in crate::mcp::dialects) form: Form,
    /// The request's id, as it was written.
    #[serde(rename = "i", default, skip_serializing_if = "String::is_empty")]
    pub(in crate::mcp::dialects) id: String,
    /// The task.
    #[serde(rename = "t", default, skip_serializing_if = "String::is_empty")]
    pub(in crate::mcp::dialects) task: String,
    /// The progress token, as it was written.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp::dialects) token: Option<String>,
    /// When the caller is not to wait any longer, in milliseconds since the epoch.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub(in crate::mcp::dialects) until: Option<i64>,
}

/// How the answer on a stream is formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::mcp::dialects) enum Form {
    /// No answer: the stream that a session's messages are pushed on.
    #[serde(rename = "s")]
    Session,
    /// `tasks/result` of the core.
    #[serde(rename = "c")]
    Core,
    /// A call in the draft's dialect.
    #[serde(rename = "d")]
    Draft,
    /// A call without tasks.
    #[serde(rename = "w")]
    Classic,
}

/// One event of a stream.
#[derive(Serialize, Deserialize)]
pub(super) struct Event {
    #[serde(flatten)]
    pub(super) standing: Standing,
    /// Tells the stream from every other one.
    #[serde(rename = "x")]
    pub(super) stream: String,
    /// Tells the event from every other one of its stream.
    #[serde(rename = "n")]
    pub(super) number: u64,
    /// Whether the answer has been given: there is nothing after it.
    #[serde(rename = "l", default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) last: bool,
}

/// The ids of a stream's events.
#[derive(Debug)]
pub(super) struct Events {
    spoken: Arc<Spoken>,
    stands_for: OnceLock<(Standing, String)>,
    number: AtomicU64,
}

impl Events {
    pub(super) const fn new(spoken: Arc<Spoken>) -> Self {
        Self { spoken, stands_for: OnceLock::new(), number: AtomicU64::new(0) }
    }

    /// From here on, events have ids.
    pub(super) fn stand_for(&self, standing: Standing) {
        let mut name = [0; 8];
        self.spoken.shared.random.fill(&mut name);
        // The first one holds: a stream stands for one thing.
        drop(self.stands_for.set((standing, format!("{:016x}", u64::from_be_bytes(name)))));
    }

    fn is_set(&self) -> bool {
        self.stands_for.get().is_some()
    }

    fn next(&self, last: bool) -> Option<String> {
        let (standing, stream) = self.stands_for.get()?;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let event = Event { standing: standing.clone(), stream: stream.clone(), number, last };
        let owner = &self.spoken.context.caller.principal;
        Some(self.spoken.shared.sealer.seal_for(Purpose::Event, owner, &event))
    }

    /// A message with its id.
    pub(super) fn message(&self, bytes: Bytes) -> Message {
        Message { id: self.next(false), bytes }
    }

    /// The event that only tells a client where to go on, which the newest of these versions begins its streams with (Streamable HTTP,
    /// "Sending Messages to the Server"). Older clients would take it for a broken message.
    pub(super) fn priming(&self) -> Option<Message> {
        if self.spoken.revision < Revision::November2025 {
            return None;
        }
        Some(Message { id: Some(self.next(false)?), bytes: Bytes::new() })
    }
}

/// The way out of one request.
#[derive(Debug)]
pub(in crate::mcp::dialects) struct Outlet {
    pub(in crate::mcp::dialects) spoken: Arc<Spoken>,
    id: Box<RawValue>,
    /// What the request's own token is told, and what the call's that made the task.
    pub(super) progress: Vec<Arc<Mutex<Progressing>>>,
    pub(super) events: Arc<Events>,
    /// `None` where the client takes one answer and no more.
    messages: Option<mpsc::Sender<Message>>,
    begun: Arc<Begun>,
}

/// Whether anything was said before the answer.
#[derive(Debug, Default)]
struct Begun {
    said: AtomicBool,
    first: Notify,
}

/// Both ends of a stream.
type Ends = (mpsc::Sender<Message>, mpsc::Receiver<Message>);

/// The answer, and what carries it.
struct Last {
    status: u16,
    reply: Reply,
}

impl Outlet {
    /// Whether messages can be sent before the answer.
    pub(in crate::mcp::dialects) const fn streams(&self) -> bool {
        self.messages.is_some()
    }

    /// Makes the stream one that can be resumed after a cut or a restart: the answer comes from this task. Where a client would see it,
    /// this begins the stream, so a task that has ended already is better answered without.
    pub(in crate::mcp::dialects) async fn resumable(&mut self, form: Form, task: &Task, until: Option<Timestamp>) {
        // Only HTTP has a place for ids of events.
        if self.spoken.context.headers.is_none() || !self.streams() {
            return;
        }
        let token = self.progress.first().map(|progress| lock(progress).token().get().to_owned());
        let until = until.map(|until| until.as_millis());
        self.events.stand_for(Standing { form, id: self.id.get().to_owned(), task: task.id.to_string(), token, until });
        if let Some(message) = self.events.priming() {
            self.send(message).await;
        }
    }

    /// Sends a notification; waits while the client is slow.
    pub(in crate::mcp::dialects) async fn notify(&self, method: &str, params: &impl Serialize) {
        self.say(jsonrpc::notification(method, params)).await;
    }

    /// Sends a message; waits while the client is slow.
    pub(super) async fn say(&self, bytes: Bytes) {
        self.send(self.events.message(bytes)).await;
    }

    async fn send(&self, message: Message) {
        let Some(messages) = &self.messages else { return };
        self.begin();
        // Whoever has left is noticed by whoever does the work.
        messages.send(message).await.ok();
    }

    fn begin(&self) {
        if !self.begun.said.swap(true, Ordering::SeqCst) {
            self.begun.first.notify_one();
        }
    }

    /// Tells the tokens of a change; dropped when the client is slow.
    pub(in crate::mcp::dialects) fn progress(&self, update: &Update) {
        self.tell(|progress| progress.notification(update));
    }

    /// Tells the tokens that nothing has changed.
    pub(in crate::mcp::dialects) fn heartbeat(&self) {
        self.tell(|progress| Some(progress.heartbeat()));
    }

    fn tell(&self, what: impl Fn(&mut Progressing) -> Option<Bytes>) {
        let Some(messages) = &self.messages else { return };
        for progress in &self.progress {
            let news = what(&mut lock(progress));
            if let Some(bytes) = news {
                self.begin();
                messages.try_send(self.events.message(bytes)).ok();
            }
        }
    }
}

impl Spoken {
    /// Answers a request by `work`, which gives back the result object, written. It goes on in its own time and ends when it is done,
    /// when the client has left, or when it cancels the request; the job of a task goes on in any case.
    ///
    /// What is ready at once is one answer; what takes longer or has something to say before is a stream, where the client takes one.
    ///
    /// # Errors
    /// -32602 for a progress token that is none.
    pub(in crate::mcp::dialects) async fn stream<W, F>(
        &self,
        request: &jsonrpc::Request<'_>,
        token: Option<&RawValue>,
        name: &'static str,
        work: W,
    ) -> Reply
    where
        W: FnOnce(Outlet) -> F,
        F: Future<Output = Result<Bytes, RpcError>> + Send + 'static,
    {
        let clock = self.shared.clock.clone();
        let (messages, begun, mut done) = self.begin(request.id, token, name, work);
        let Some((sender, mut messages)) = messages else {
            // Without an answer it was cancelled.
            return done.await.map_or(Reply::Accepted, |last| last.reply);
        };
        tokio::select! {
            biased;
            last = &mut done => match last {
                Ok(last) => return last.reply,
                Err(_) if begun.said.load(Ordering::SeqCst) => {}
                Err(_) => return Reply::Accepted,
            },
            () = begun.first.notified() => {}
            () = clock.sleep(AT_ONCE) => {}
        }
        done.close();
        if let Ok(last) = done.try_recv() {
            messages.close();
            return last.reply;
        }
        if !begun.said.load(Ordering::SeqCst) {
            // Whoever carries the stream learns that there is one.
            sender.try_send(Message::default()).ok();
        }
        Reply::Stream(messages)
    }

    /// Goes on with a stream that broke: whatever comes, it is a stream.
    pub(super) fn go_on<W, F>(&self, id: &RawValue, token: Option<&RawValue>, work: W) -> Reply
    where
        W: FnOnce(Outlet) -> F,
        F: Future<Output = Result<Bytes, RpcError>> + Send + 'static,
    {
        let (messages, _, done) = self.begin(id, token, "resumed stream", work);
        drop(done);
        messages.map_or(Reply::Accepted, |(_, messages)| Reply::Stream(messages))
    }

    fn begin<W, F>(
        &self,
        id: &RawValue,
        token: Option<&RawValue>,
        name: &'static str,
        work: W,
    ) -> (Option<Ends>, Arc<Begun>, oneshot::Receiver<Last>)
    where
        W: FnOnce(Outlet) -> F,
        F: Future<Output = Result<Bytes, RpcError>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(WAITING);
        let to_reader = sender.clone();
        let spoken = Arc::new(self.clone());
        let events = Arc::new(Events::new(spoken.clone()));
        let begun = Arc::<Begun>::default();
        let takes_stream = self.context.streams == Streams::Wanted;
        let progress = token.map(|token| Arc::new(Mutex::new(Progressing::new(token.to_owned()))));
        let outlet = Outlet {
            spoken,
            id: id.to_owned(),
            progress: progress.into_iter().collect(),
            events: events.clone(),
            messages: takes_stream.then(|| sender.clone()),
            begun: begun.clone(),
        };
        let (done, answer) = oneshot::channel();
        let cancel = self.context.cancel.child_token();
        let runs = self.here().map(|here| here.runs(id.get(), cancel.clone()));
        let (said, id): (_, Box<RawValue>) = (begun.clone(), id.to_owned());
        let work = work(outlet);
        let mut done = done;
        self.shared.supervisor.spawn(name, async move {
            let result = {
                tokio::pin!(work);
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => None,
                    // The reader of the stream, or the one who waits for the single answer.
                    () = gone(&sender, &mut done, takes_stream) => None,
                    result = &mut work => Some(result),
                }
            };
            drop(runs);
            let Some(result) = result else { return };
            let last = Last::of(&id, result);
            let last = if said.said.load(Ordering::SeqCst) {
                last
            } else {
                match done.send(last) {
                    Ok(()) => return,
                    Err(last) => last,
                }
            };
            // A gateway that stops ends the streams that can be resumed: the client comes back for the answer.
            if last.status == 503 && events.is_set() && events.spoken.revision >= Revision::November2025 {
                return;
            }
            if let Reply::One { body, .. } = last.reply {
                // Nobody may be there any more; then nobody misses it.
                sender.send(Message { id: events.next(true), bytes: body }).await.ok();
            }
        });
        (takes_stream.then_some((to_reader, receiver)), begun, answer)
    }
}

/// Ends when nobody waits any more.
async fn gone(stream: &mpsc::Sender<Message>, one: &mut oneshot::Sender<Last>, takes_stream: bool) {
    if takes_stream { stream.closed().await } else { one.closed().await }
}

impl Last {
    fn of(id: &RawValue, result: Result<Bytes, RpcError>) -> Self {
        match result {
            Ok(result) => Self { status: 200, reply: Reply::ok(jsonrpc::prepared(id, &result)) },
            Err(error) => Self { status: error.http(), reply: Reply::error(Some(id), &error) },
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
