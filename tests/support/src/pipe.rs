//! A raw client over a pipe: `jobgate stdio` as a child of the test, one JSON message a line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::wait::Watch;

/// A gateway at the other end of a pipe. Dropping it kills it.
#[derive(Debug)]
pub struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that came while another one was waited for.
    early: Vec<Value>,
    next: u64,
}

impl Pipe {
    /// Starts `command`; its standard error is the test's.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the gateway can be started");
        let output = BufReader::new(child.stdout.take().expect("it was piped"));
        let (lines_in, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| lines_in.send(line)));
        Self { input: child.stdin.take(), child, lines, early: Vec::new(), next: 1 }
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().expect("a killed child can be waited for");
    }

    /// Ends the input, as a client that leaves does, and waits for the process to end.
    ///
    /// # Panics
    /// When it does not.
    pub fn leave(&mut self) -> std::process::ExitStatus {
        self.input = None;
        crate::wait::until("the gateway to end with its input", Duration::from_secs(30), || self.child.try_wait().ok().flatten())
    }

    /// Sends a request and waits for nothing; gives its id. `tasks` is whether the client can hold tasks.
    ///
    /// # Panics
    /// When the gateway reads no more.
    pub fn send(&mut self, method: &str, mut params: Value, tasks: bool) -> u64 {
        let id = self.next;
        self.next += 1;
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "jobgate-tests", "version": "1" });
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            if tasks { json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }) } else { json!({}) };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&message);
        id
    }

    /// Sends a request as it is, without metadata, and waits for nothing; gives its id. Versions with sessions speak so.
    ///
    /// # Panics
    /// When the gateway reads no more.
    pub fn plain(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&message);
        id
    }

    /// Sends a message as it is.
    ///
    /// # Panics
    /// When the gateway reads no more.
    pub fn write(&mut self, message: &Value) {
        writeln!(self.input.as_mut().expect("the pipe is open"), "{message}").expect("the gateway reads");
    }

    /// The first message that `wanted` takes, of those that came and those that come.
    ///
    /// # Panics
    /// When none comes within `limit`, or the gateway ends.
    pub fn message(&mut self, what: &str, limit: Duration, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&mut wanted) {
            return self.early.remove(at);
        }
        let watch = Watch::start();
        loop {
            let line = match self.lines.recv_timeout(limit.saturating_sub(watch.elapsed())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("waited {} s in vain for {what}; there is {:?}", limit.as_secs(), self.early)
                }
                Err(RecvTimeoutError::Disconnected) => panic!("the gateway ended while {what} was waited for"),
            };
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON on stdout ({error}): {line}"));
            if wanted(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// The answer to the request `id`: a result, or the whole message where it is an error.
    ///
    /// # Panics
    /// As [`Pipe::message`].
    pub fn answer(&mut self, id: u64, limit: Duration) -> Value {
        let mut message = self.message(&format!("the answer to request {id}"), limit, |message| message["id"] == id);
        match message.get_mut("result") {
            Some(result) => result.take(),
            None => message,
        }
    }

    /// Sends a request of a client that can hold tasks and waits for its answer.
    ///
    /// # Panics
    /// As [`Pipe::answer`].
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params, true);
        self.answer(id, Duration::from_secs(60))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
