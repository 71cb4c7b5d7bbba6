//! Ten thousand who wait: what each costs, and how long after the end the last one has its answer.
//!
//! Each row is measured by a process of its own, so that no memory of an earlier row is used again; and clients over HTTP are another
//! process, so that their memory and their open files are not the gateway's.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall-clock time")]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jobgate::domain::{Caller, TaskId};
use jobgate::engine::ProviderLimits;
use jobgate::mcp::{Frontend as _, HeaderText, McpHeaders, Reply, RequestContext, Streams, Verb};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::gateway::{self, Gateway};
use crate::load::{self, Connection};
use crate::parts;

const COUNT: usize = 10_000;
/// Those that come first and are not counted: what is made once is there then.
const WARM: usize = 50;
/// The word that makes this program measure one row.
pub(crate) const MEASURE: &str = "measure-waiting";
/// The word that makes this program a crowd of clients.
pub(crate) const CROWD: &str = "crowd";

/// How somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `tasks/result` of 2025-11-25.
    Result,
    /// `subscriptions/listen` of 2026-07-28.
    Listen,
    /// The stream of a session of 2025-11-25 that follows the task.
    Session,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Result, Self::Listen, Self::Session];

    const fn word(self) -> &'static str {
        match self {
            Self::Result => "tasks/result",
            Self::Listen => "subscriptions/listen",
            Self::Session => "session GET",
        }
    }

    fn named(word: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.word() == word).unwrap()
    }

    /// What the stream holds once the wait has begun.
    const fn begun(self) -> &'static [u8] {
        match self {
            Self::Listen => b"notifications/subscriptions/acknowledged",
            Self::Result | Self::Session => b"\r\n\r\n",
        }
    }

    /// What it holds once the end has been told.
    const fn ended(self) -> &'static [u8] {
        match self {
            // What a cancelled call would have had.
            Self::Result => b"\"isError\":true",
            Self::Listen | Self::Session => b"\"status\":\"cancelled\"",
        }
    }

    fn message(self, id: &str) -> String {
        match self {
            Self::Result => format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{{"taskId":"{id}"}}}}"#),
            Self::Listen => parts::message("subscriptions/listen", &format!(r#""notifications":{{"taskIds":["{id}"]}}"#)),
            Self::Session => format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{{"taskId":"{id}"}}}}"#),
        }
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{}},"clientInfo":{"name":"bench","version":"1"}}}"#;

/// Waiters for results.
pub(crate) fn waiters() -> String {
    let mut table = format!("### {COUNT} who wait for a result\n\n{HEAD}");
    for (place, tasks) in [("in-process", 1), ("in-process", COUNT), ("HTTP", 1), ("HTTP", COUNT)] {
        table.push_str(&row(Kind::Result, place, tasks));
    }
    table
}

/// Open streams.
pub(crate) fn streams() -> String {
    let mut table = format!("### {COUNT} open streams\n\n{HEAD}");
    for kind in [Kind::Listen, Kind::Session] {
        for (place, tasks) in [("in-process", 1), ("HTTP", 1), ("HTTP", COUNT)] {
            table.push_str(&row(kind, place, tasks));
        }
    }
    table
}

const HEAD: &str = "Memory is the growth of the gateway's process, over HTTP with its connections, whose clients are a process of their own. The tasks end by a durable cancel each, many at once. Two cores for the gateway, the clients and the store.\n\n| how | where | tasks | KiB each | from the first cancel to the last answer, ms | from the last task's end to the last answer, ms |\n|---|---|---|---|---|---|\n";

fn row(kind: Kind, place: &str, tasks: usize) -> String {
    let program = std::env::current_exe().unwrap();
    let measured = Command::new(program).args([MEASURE, kind.word(), place, &tasks.to_string()]).output().unwrap();
    assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stderr));
    String::from_utf8(measured.stdout).unwrap()
}

/// Measures one row.
pub(crate) fn measure(kind: &str, place: &str, tasks: &str) -> String {
    let (kind, over_http, tasks): (_, _, usize) = (Kind::named(kind), place == "HTTP", tasks.parse().unwrap());
    let (servers, others, folder) = (parts::runtime(), parts::runtime(), tempfile::tempdir().unwrap());
    let gateway = gateway::start(&servers, gateway::open(folder.path()), ProviderLimits::default());
    let ids = others.block_on(parts::fill(&gateway.store, tasks, Duration::from_secs(3600)));
    let warm = others.block_on(parts::fill(&gateway.store, 1, Duration::from_secs(3600)));
    let (mut first, count) = (Crowd::gather(kind, &gateway, &servers, over_http, &warm, WARM, &folder), COUNT);
    let before = load::resident_mib();
    let mut crowd = Crowd::gather(kind, &gateway, &servers, over_http, &ids, count, &folder);
    let after = load::resident_mib();
    let began = Instant::now();
    let ended = others.block_on(end(&gateway, &ids));
    crowd.answered(&servers);
    let answered = began.elapsed();
    others.block_on(end(&gateway, &warm));
    first.answered(&servers);
    parts::stop(&servers, &gateway);
    #[expect(clippy::cast_precision_loss, reason = "ten thousand")]
    let each = (after - before) * 1024.0 / count as f64;
    let late = answered.saturating_sub(ended);
    format!("| {} | {place} | {tasks} | {each:.1} | {} | **{}** |\n", kind.word(), answered.as_millis(), late.as_millis())
}

/// Ends all tasks; how long that took.
async fn end(gateway: &Gateway, ids: &[TaskId]) -> Duration {
    let began = Instant::now();
    let mut running = JoinSet::new();
    for id in ids {
        let (id, engine) = (*id, Arc::clone(&gateway.engine));
        running.spawn(async move { engine.cancel(&gateway::owner(), &id, true).await.unwrap() });
        if running.len() >= 512 {
            running.join_next().await;
        }
    }
    while running.join_next().await.is_some() {}
    began.elapsed()
}

/// Those who wait.
enum Crowd {
    Here(JoinSet<()>),
    There { child: Child, said: BufReader<std::process::ChildStdout> },
}

impl Crowd {
    /// Returns once all of them wait.
    fn gather(
        kind: Kind,
        gateway: &Gateway,
        servers: &Runtime,
        over_http: bool,
        ids: &[TaskId],
        count: usize,
        folder: &tempfile::TempDir,
    ) -> Self {
        if !over_http {
            return Self::Here(servers.block_on(gather_here(kind, gateway, ids, count)));
        }
        let list = folder.path().join(format!("ids-{count}"));
        std::fs::write(&list, ids.iter().map(|id| format!("{id}\n")).collect::<String>()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([CROWD, kind.word(), &gateway.address.to_string(), &count.to_string()]).arg(&list).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        read_word(&mut said, "open");
        Self::There { child, said }
    }

    /// Returns once each has its answer.
    fn answered(&mut self, servers: &Runtime) {
        match self {
            Self::Here(running) => servers.block_on(async {
                while let Some(one) = running.join_next().await {
                    one.unwrap();
                }
            }),
            Self::There { child, said } => {
                read_word(said, "done");
                child.wait().unwrap();
            }
        }
    }
}

fn read_word(said: &mut BufReader<std::process::ChildStdout>, word: &str) {
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), word);
}

/// Without sockets: the front end is asked, and its streams are held.
async fn gather_here(kind: Kind, gateway: &Gateway, ids: &[TaskId], count: usize) -> JoinSet<()> {
    let (begun, mut all) = tokio::sync::mpsc::unbounded_channel();
    let mut running = JoinSet::new();
    for nth in 0..count {
        let (dispatcher, id, begun) = (Arc::clone(&gateway.dispatcher), ids[nth % ids.len()].to_string(), begun.clone());
        running.spawn(async move {
            let mut context = context(kind, &id);
            if kind != Kind::Listen {
                let Reply::One { notes, .. } = dispatcher.handle(context.clone(), INITIALIZE.into()).await else {
                    panic!("no session")
                };
                context.session = HeaderText::One(notes.session.unwrap());
            }
            let mut reply = dispatcher.handle(context.clone(), kind.message(&id).into()).await;
            if kind == Kind::Session {
                context.verb = Verb::Get { resume: HeaderText::Absent };
                reply = dispatcher.handle(context, bytes::Bytes::new()).await;
            }
            let Reply::Stream(mut messages) = reply else { panic!("no stream") };
            begun.send(()).unwrap();
            while let Some(message) = messages.recv().await {
                if holds(&message.bytes, kind.ended()) {
                    return;
                }
            }
            panic!("a stream ended without the end");
        });
    }
    for _ in 0..count {
        all.recv().await.unwrap();
    }
    // Streams that have begun are read to where they wait.
    tokio::time::sleep(Duration::from_millis(300)).await;
    running
}

fn context(kind: Kind, id: &str) -> RequestContext {
    let one = |text: &str| HeaderText::One(text.to_owned());
    let headers = match kind {
        Kind::Listen => McpHeaders {
            protocol_version: one("2026-07-28"),
            method: one("subscriptions/listen"),
            name: one(id),
            params: Vec::new(),
        },
        Kind::Result | Kind::Session => McpHeaders::default(),
    };
    RequestContext { headers: Some(headers), ..RequestContext::new(Caller::local(), Streams::Wanted) }
}

/// The clients over HTTP: connect, say that all wait, and say when all have their answer.
pub(crate) fn crowd(kind: &str, address: &str, count: &str, list: &str, say: impl Fn(&str)) {
    let (kind, address, count): (_, SocketAddr, usize) = (Kind::named(kind), address.parse().unwrap(), count.parse().unwrap());
    let ids: Vec<String> = std::fs::read_to_string(list).unwrap().lines().map(str::to_owned).collect();
    parts::runtime().block_on(async {
        let mut waiting: Vec<Connection> = Vec::with_capacity(count);
        let mut opening = JoinSet::new();
        for nth in 0..count {
            let id = ids[nth % ids.len()].clone();
            opening.spawn(async move { open(kind, address, &id).await });
            if opening.len() >= 128 {
                waiting.push(opening.join_next().await.unwrap().unwrap());
            }
        }
        while let Some(one) = opening.join_next().await {
            waiting.push(one.unwrap());
        }
        say("open");
        let mut running = JoinSet::new();
        for mut connection in waiting {
            running.spawn(async move { connection.until(|seen| holds(seen, kind.ended())).await });
        }
        while let Some(one) = running.join_next().await {
            one.unwrap();
        }
        say("done");
    });
}

async fn open(kind: Kind, address: SocketAddr, id: &str) -> Connection {
    let mut connection = Connection::open(address).await;
    let mut headers = Vec::new();
    let session = if kind == Kind::Listen { None } else { Some(connection.begin(&load::post("/mcp", &[], INITIALIZE)).await) };
    match &session {
        Some(session) => headers.push(("Mcp-Session-Id", session.as_str())),
        None => headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")]),
    }
    let mut request = load::post("/mcp", &headers, &kind.message(id));
    if kind == Kind::Session {
        let (status, body) = connection.exchange(&request).await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let session = session.unwrap_or_default();
        request =
            format!("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n")
                .into();
    }
    connection.stream(&request, |seen| holds(seen, kind.begun())).await;
    connection
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
