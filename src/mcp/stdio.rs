//! Messages as lines over a pipe: many requests at once, and no line ever inside another (MCP, "stdio").

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::frontend::{Frontend, Notes, Reply, RequestContext, Streams, Verb};
use super::headers::HeaderText;
use super::jsonrpc::{self, Incoming};
use super::params::Params;
use crate::domain::{Caller, Clock};

/// The longest line that is read, in bytes.
pub const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Messages on their way out; beyond that, requests wait for the reader of our output.
const WAITING: usize = 64;
/// Messages that are being answered at once. Beyond that none is read: a client that sends and never reads would fill our memory.
const IN_FLIGHT: usize = 4096;
/// The stream that only a client's leaving ends.
const LISTEN: &str = "subscriptions/listen";

/// What a pipe is served with.
pub struct StdioParts {
    /// Who answers.
    pub frontend: Arc<dyn Frontend>,
    /// Who is at the other end.
    pub caller: Caller,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ends the service.
    pub shutdown: CancellationToken,
    /// How long requests may go on after the last line was read.
    pub grace: Duration,
}

impl fmt::Debug for StdioParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioParts").field("frontend", &self.frontend).field("grace", &self.grace).finish_non_exhaustive()
    }
}

/// Serves one pipe until its input ends or `shutdown` is cancelled; then what runs may end within the grace. Tasks go on.
///
/// # Errors
/// When the pipe breaks.
pub async fn run<I, O>(parts: StdioParts, input: I, mut output: O) -> io::Result<()>
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin,
{
    let (out, mut lines) = mpsc::channel::<Bytes>(WAITING);
    let write = async move {
        while let Some(line) = lines.recv().await {
            output.write_all(&line).await?;
            output.write_all(b"\n").await?;
            output.flush().await?;
        }
        Ok(())
    };
    let service = Service {
        parts,
        out,
        running: FuturesUnordered::new(),
        cancels: HashMap::new(),
        served: 0,
        session: Arc::default(),
        pushing: CancellationToken::new(),
    };
    let read = service.serve(input);
    tokio::try_join!(read, write).map(|((), ())| ())
}

struct Service {
    parts: StdioParts,
    out: mpsc::Sender<Bytes>,
    running: FuturesUnordered<BoxFuture<'static, Done>>,
    cancels: HashMap<u64, InFlight>,
    served: u64,
    /// The one session of the pipe, once `initialize` has begun it.
    session: Arc<Mutex<HeaderText>>,
    /// Ends the stream of messages that answer no request.
    pushing: CancellationToken,
}

/// What has been answered.
struct Done {
    number: u64,
    /// Whether that began a session.
    began: bool,
}

struct InFlight {
    /// The request's id, as it was written.
    id: String,
    listens: bool,
    cancel: CancellationToken,
}

impl Service {
    async fn serve<I: AsyncRead + Unpin>(mut self, input: I) -> io::Result<()> {
        let mut lines = Lines { input: BufReader::new(input), line: Vec::new(), too_long: false };
        let shutdown = self.parts.shutdown.clone();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => break,
                Some(done) = self.running.next() => {
                    self.cancels.remove(&done.number);
                    if done.began {
                        self.listen();
                    }
                }
                line = lines.next(), if self.running.len() < IN_FLIGHT => match line? {
                    None => {
                        // Nobody will listen any more; everything else may still be waited for.
                        self.cancels.values().filter(|request| request.listens).for_each(|request| request.cancel.cancel());
                        break;
                    }
                    Some(Line::TooLong) => {
                        let limit = LONGEST_LINE / (1024 * 1024);
                        send(&self.out, Reply::refused(413, &format!("a message is longer than {limit} MiB"))).await;
                    }
                    Some(Line::Message(line)) if line.trim_ascii().is_empty() => {}
                    Some(Line::Message(line)) => self.take(line),
                },
            }
        }
        self.pushing.cancel();
        let grace = self.parts.clock.clone();
        tokio::select! {
            () = async { while self.running.next().await.is_some() {} } => {}
            () = grace.sleep(self.parts.grace) => {}
        }
        Ok(())
    }

    /// Starts to answer one message.
    fn take(&mut self, line: Bytes) {
        let cancel = CancellationToken::new();
        let number = self.served;
        self.served += 1;
        match jsonrpc::parse(&line) {
            Ok(Incoming::Request(request)) => {
                let id = request.id.get().to_owned();
                self.cancels.insert(number, InFlight { id, listens: request.method == LISTEN, cancel: cancel.clone() });
            }
            Ok(Incoming::Notification(notification)) if notification.method == "notifications/cancelled" => {
                // The front end hears it, too: in one dialect it stands for more than the end of an answer.
                self.cancel(notification.params);
            }
            Ok(Incoming::Notification(_) | Incoming::Response(_)) | Err(_) => {}
        }
        let (frontend, out, session) = (self.parts.frontend.clone(), self.out.clone(), self.session.clone());
        let context = self.context(cancel);
        self.running.push(Box::pin(async move {
            let reply = frontend.handle(context, line).await;
            let mut began = false;
            if let Reply::One { notes: Notes { session: Some(id), .. }, .. } = &reply {
                *lock(&session) = HeaderText::One(id.clone());
                began = true;
            }
            send(&out, reply).await;
            Done { number, began }
        }));
    }

    fn context(&self, cancel: CancellationToken) -> RequestContext {
        let session = lock(&self.session).clone();
        RequestContext { cancel, session, ..RequestContext::new(self.parts.caller.clone(), Streams::Wanted) }
    }

    /// Lets messages that answer no request through: what a client on HTTP has to ask for by GET.
    fn listen(&mut self) {
        self.pushing.cancel();
        self.pushing = CancellationToken::new();
        let number = self.served;
        self.served += 1;
        let context = RequestContext { verb: Verb::Get { resume: HeaderText::Absent }, ..self.context(self.pushing.clone()) };
        let (frontend, out) = (self.parts.frontend.clone(), self.out.clone());
        self.running.push(Box::pin(async move {
            // A front end that has nothing to push says so, which is for nobody on the other side.
            if let Reply::Stream(messages) = frontend.handle(context, Bytes::new()).await {
                send(&out, Reply::Stream(messages)).await;
            }
            Done { number, began: false }
        }));
    }

    /// Stops answering a request; a task that it made goes on.
    fn cancel(&self, params: Option<&RawValue>) {
        let Ok(params) = Params::read(params) else { return };
        let Some(id) = params.raw("requestId") else { return };
        self.cancels.values().filter(|request| request.id == id.get()).for_each(|request| request.cancel.cancel());
    }
}

/// Writes an answer. Once nobody writes any more there is nobody to tell.
async fn send(out: &mpsc::Sender<Bytes>, reply: Reply) {
    match reply {
        Reply::Accepted => {}
        Reply::One { body, .. } => {
            out.send(body).await.ok();
        }
        Reply::Stream(mut messages) => {
            while let Some(message) = messages.recv().await {
                // There is no place for ids here, and nothing to resume.
                if !message.bytes.is_empty() {
                    out.send(message.bytes).await.ok();
                }
            }
        }
    }
}

enum Line {
    Message(Bytes),
    TooLong,
}

/// Lines of a bounded length. Dropping `next` half-way loses nothing.
struct Lines<I> {
    input: BufReader<I>,
    line: Vec<u8>,
    too_long: bool,
}

impl<I: AsyncRead + Unpin> Lines<I> {
    async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok((!rest.is_empty()).then(|| Line::Message(rest.into())));
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            if self.line.len() + taken > LONGEST_LINE {
                self.too_long = true;
                self.line = Vec::new();
            }
            if !self.too_long {
                self.line.extend_from_slice(&bytes[..end.unwrap_or(taken)]);
            }
            self.input.consume(taken);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Ok(Some(if std::mem::take(&mut self.too_long) { Line::TooLong } else { Line::Message(line.into()) }));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
