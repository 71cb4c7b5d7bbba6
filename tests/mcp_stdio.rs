//! Messages as lines over a pipe, around a front end that answers by the script.

#![expect(clippy::unwrap_used, reason = "a helper that cannot use its pipe has failed")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jobgate::domain::{Caller, Clock, ManualClock, Timestamp};
use jobgate::mcp::stdio::{LONGEST_LINE, StdioParts, run};
use jobgate::mcp::{Frontend, Message, Reply, RequestContext, Streams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

const GRACE: Duration = Duration::from_secs(10);

/// Answers `wait:*` methods when the test says so, `stream:*` methods with a stream of the test's, others at once.
#[derive(Debug, Default)]
struct Scripted {
    seen: Mutex<Vec<RequestContext>>,
    waiting: Mutex<HashMap<String, oneshot::Receiver<()>>>,
    streams: Mutex<HashMap<String, mpsc::Receiver<Message>>>,
}

#[async_trait]
impl Frontend for Scripted {
    async fn handle(&self, context: RequestContext, message: Bytes) -> Reply {
        self.seen.lock().unwrap().push(context.clone());
        let Ok(message) = serde_json::from_slice::<Value>(&message) else {
            return Reply::ok(Bytes::from_static(b"\"no message\""));
        };
        let (Some(method), Some(_)) = (message["method"].as_str().map(str::to_owned), message.get("id")) else {
            return Reply::Accepted;
        };
        let waiting = self.waiting.lock().unwrap().remove(&method);
        if let Some(waiting) = waiting {
            tokio::select! {
                _ = waiting => {}
                () = context.cancel.cancelled() => return Reply::Accepted,
            }
        }
        if let Some(stream) = self.streams.lock().unwrap().remove(&method) {
            return Reply::Stream(stream);
        }
        Reply::ok(json!({ "answers": message["id"] }).to_string().into())
    }
}

struct Pipe {
    frontend: Arc<Scripted>,
    clock: Arc<ManualClock>,
    shutdown: CancellationToken,
    input: Option<DuplexStream>,
    output: BufReader<DuplexStream>,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Pipe {
    #[expect(clippy::disallowed_methods, reason = "the other end of the pipe runs beside the test, which joins it")]
    fn new() -> Self {
        let frontend = Arc::new(Scripted::default());
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(0)));
        let shutdown = CancellationToken::new();
        let (input, their_input) = duplex(1 << 20);
        let (their_output, output) = duplex(1 << 20);
        let parts = StdioParts {
            frontend: frontend.clone(),
            caller: Caller::local(),
            clock: clock.clone(),
            shutdown: shutdown.clone(),
            grace: GRACE,
        };
        let served = tokio::spawn(run(parts, their_input, their_output));
        Self { frontend, clock, shutdown, input: Some(input), output: BufReader::new(output), served }
    }

    async fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    async fn request(&mut self, id: u64, method: &str) {
        self.write(&format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method }))).await;
    }

    async fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).await.unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Holds the answer to this method back until the sender is used.
    fn hold(&self, method: &str) -> oneshot::Sender<()> {
        let (go, wait) = oneshot::channel();
        self.frontend.waiting.lock().unwrap().insert(method.to_owned(), wait);
        go
    }

    fn stream(&self, method: &str) -> mpsc::Sender<Message> {
        let (messages, stream) = mpsc::channel(4);
        self.frontend.streams.lock().unwrap().insert(method.to_owned(), stream);
        messages
    }

    fn ends(&mut self) {
        self.input = None;
    }
}

#[tokio::test]
async fn a_slow_request_holds_nobody_up() {
    let mut pipe = Pipe::new();
    let go = pipe.hold("slow");
    pipe.request(1, "slow").await;
    pipe.request(2, "quick").await;
    assert_eq!(pipe.line().await, Some(json!({ "answers": 2 })));
    go.send(()).unwrap();
    assert_eq!(pipe.line().await, Some(json!({ "answers": 1 })));
    let seen = pipe.frontend.seen.lock().unwrap().clone();
    assert!(seen.iter().all(|context| context.headers.is_none() && context.streams == Streams::Wanted));
}

#[tokio::test]
async fn streams_are_interleaved_line_by_line() {
    let mut pipe = Pipe::new();
    let messages = pipe.stream("listen");
    pipe.request(1, "listen").await;
    messages.send(Bytes::from_static(b"{\"n\":1}").into()).await.unwrap();
    assert_eq!(pipe.line().await, Some(json!({ "n": 1 })));
    pipe.request(2, "quick").await;
    assert_eq!(pipe.line().await, Some(json!({ "answers": 2 })));
    messages.send(Bytes::from_static(b"{\"n\":2}").into()).await.unwrap();
    assert_eq!(pipe.line().await, Some(json!({ "n": 2 })));
}

#[tokio::test]
async fn a_line_arrives_however_it_was_cut() {
    let mut pipe = Pipe::new();
    pipe.write("\n  \r\n{\"jsonrpc\":\"2.0\",").await;
    pipe.write("\"id\":7,\"method\"").await;
    pipe.write(":\"a\"}\r\n").await;
    assert_eq!(pipe.line().await, Some(json!({ "answers": 7 })));
}

/// The last line may lack its end.
#[tokio::test]
async fn the_end_of_input_ends_the_service_after_the_answers() {
    let mut pipe = Pipe::new();
    pipe.write("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\"}").await;
    pipe.ends();
    assert_eq!(pipe.line().await, Some(json!({ "answers": 7 })));
    assert_eq!(pipe.line().await, None);
    pipe.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn at_the_end_of_input_a_subscription_ends_at_once_and_others_within_the_grace() {
    let mut pipe = Pipe::new();
    let _never = pipe.hold("slow");
    let _also_never = pipe.hold("subscriptions/listen");
    pipe.request(1, "subscriptions/listen").await;
    pipe.request(2, "slow").await;
    pipe.request(3, "quick").await;
    assert_eq!(pipe.line().await, Some(json!({ "answers": 3 })));
    pipe.ends();
    let (seen, clock) = (pipe.frontend.clone(), pipe.clock.clone());
    let waits = async {
        while clock.next_wake().is_none() {
            tokio::task::yield_now().await;
        }
    };
    waits.await;
    let cancelled: Vec<bool> = seen.seen.lock().unwrap().iter().map(|context| context.cancel.is_cancelled()).collect();
    assert_eq!(cancelled, [true, false, false]);
    assert!(!pipe.served.is_finished());
    clock.advance(GRACE);
    pipe.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_shutdown_lets_running_requests_end() {
    let mut pipe = Pipe::new();
    let go = pipe.hold("slow");
    pipe.request(1, "slow").await;
    pipe.request(2, "quick").await;
    assert_eq!(pipe.line().await, Some(json!({ "answers": 2 })));
    pipe.shutdown.cancel();
    go.send(()).unwrap();
    assert_eq!(pipe.line().await, Some(json!({ "answers": 1 })));
    assert_eq!(pipe.line().await, None);
    pipe.served.await.unwrap().unwrap();
}

/// MCP, "Cancellation": on stdio a notification ends a request, and nothing more is sent for it.
#[tokio::test]
async fn a_cancelled_request_is_not_answered() {
    let mut pipe = Pipe::new();
    let _never = pipe.hold("slow");
    pipe.request(1, "slow").await;
    pipe.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}\n").await;
    pipe.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n").await;
    pipe.request(2, "quick").await;
    pipe.ends();
    assert_eq!(pipe.line().await, Some(json!({ "answers": 2 })));
    assert_eq!(pipe.line().await, None);
    pipe.served.await.unwrap().unwrap();
    assert_eq!(pipe.clock.now(), Timestamp::from_millis(0), "nothing waited for the grace");
}

/// Requirement G4: a message of more than 16 MiB is refused, and the next one is read.
#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_the_next_is_read() {
    let mut pipe = Pipe::new();
    let mut input = pipe.input.take().unwrap();
    let write = async move {
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..=LONGEST_LINE / piece.len() {
            input.write_all(&piece).await.unwrap();
        }
        input.write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\"}\n").await.unwrap();
        input
    };
    let (refused, input) = tokio::join!(pipe.line(), write);
    assert_eq!(refused.unwrap()["error"]["code"], -32600);
    assert_eq!(pipe.line().await, Some(json!({ "answers": 7 })));
    drop(input);
}

/// A client that sends and never reads is not read any more, either: what it costs is bounded. Nothing that was taken is lost.
#[tokio::test]
async fn a_client_that_does_not_read_is_not_read() {
    const MANY: usize = 400_000;
    let mut pipe = Pipe::new();
    let mut input = pipe.input.take().unwrap();
    let line = b"{\"id\":1,\"method\":\"x\"}\n";
    let mut sent = 0;
    let stuck = async {
        for _ in 0..5000 {
            tokio::task::yield_now().await;
        }
    };
    tokio::pin!(stuck);
    while sent < MANY {
        let before = pipe.frontend.seen.lock().unwrap().len();
        tokio::select! {
            biased;
            written = input.write_all(line) => {
                written.unwrap();
                sent += 1;
            }
            () = &mut stuck => break,
        }
        assert!(before < MANY / 2, "{before} messages were taken, and none of their answers was read");
    }
    assert!(sent < MANY, "all of them were taken");
    drop(input);
    let mut answers = 0;
    let mut text = String::new();
    while pipe.output.read_line(&mut text).await.unwrap() > 0 {
        answers += 1;
        text.clear();
    }
    assert!(answers >= sent, "{sent} whole messages, {answers} answers");
    pipe.served.await.unwrap().unwrap();
}
