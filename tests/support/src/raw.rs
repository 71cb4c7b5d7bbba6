//! Bytes over a socket, and HTTP answers as they come: no library that would refuse to send what a hostile client sends.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(20);

/// One connection.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    read: Vec<u8>,
}

/// One answer.
#[derive(Debug)]
pub struct Http {
    /// The status.
    pub status: u16,
    /// The head as it came, with its empty line.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Http {
    /// The body as JSON; `null` where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The text of the JSON-RPC error.
    #[must_use]
    pub fn error(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let value = |line: &'_ str| -> Option<usize> {
            let (key, _) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(key.len() + 1)
        };
        self.head.lines().find_map(|line| value(line).map(|at| line.split_at(at).1.trim()))
    }
}

impl Raw {
    /// Connects.
    ///
    /// # Panics
    /// When nobody listens.
    #[must_use]
    pub fn open(port: u16) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the gateway listens");
        stream.set_nodelay(true).expect("a socket that works, and an answer of HTTP");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket that works, and an answer of HTTP");
        stream.set_write_timeout(Some(LIMIT)).expect("a socket that works, and an answer of HTTP");
        Self { stream, read: Vec::new() }
    }

    /// Sends bytes. A server that has had enough may close while we write; what it said is still to be read.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).ok();
    }

    /// Sends as much as the server takes within `span`.
    pub fn send_for(&mut self, bytes: &[u8], span: Duration) {
        self.stream.set_write_timeout(Some(span)).expect("a socket that works, and an answer of HTTP");
        self.send(bytes);
    }

    /// Says that nothing more will be sent.
    pub fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).ok();
    }

    /// The head of the next answer, up to the empty line; `None` when the server closes without one.
    fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = self.read.drain(..end + 4).collect();
                return Some(String::from_utf8(head).expect("a socket that works, and an answer of HTTP"));
            }
            if !self.fill() {
                return None;
            }
        }
    }

    /// The next answer; `None` when the server closes without one.
    pub fn answer(&mut self) -> Option<Http> {
        let head = self.head()?;
        let status = head
            .split(' ')
            .nth(1)
            .expect("a socket that works, and an answer of HTTP")
            .parse()
            .expect("a socket that works, and an answer of HTTP");
        let mut answer = Http { status, head, body: Vec::new() };
        if status == 100 {
            return Some(answer);
        }
        if let Some(length) = answer.header("content-length") {
            let length: usize = length.parse().expect("a socket that works, and an answer of HTTP");
            while self.read.len() < length && self.fill() {}
            answer.body = self.read.drain(..length.min(self.read.len())).collect();
        } else if answer.header("transfer-encoding").is_none() {
            // To the end of the connection, as HTTP/1.0 has it; 202 and the like have nothing.
            if answer.header("connection").is_some_and(|it| it.eq_ignore_ascii_case("close")) {
                while self.fill() {}
                answer.body = std::mem::take(&mut self.read);
            }
        }
        Some(answer)
    }

    /// The head of a stream's answer, and what follows it until `part` has come.
    pub fn stream_until(&mut self, part: &str) -> String {
        let head = self.head().expect("a socket that works, and an answer of HTTP");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        while !String::from_utf8_lossy(&self.read).contains(part) {
            assert!(self.fill(), "the stream ended: {}", String::from_utf8_lossy(&self.read));
        }
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// The next answer; `None` when the server closes without one, or says nothing for `span`.
    pub fn answer_within(&mut self, span: Duration) -> Option<Http> {
        self.stream.set_read_timeout(Some(span)).expect("a socket that works, and an answer of HTTP");
        let begun = self.fill();
        self.stream.set_read_timeout(Some(LIMIT)).expect("a socket that works, and an answer of HTTP");
        if begun { self.answer() } else { None }
    }

    /// All answers until the server closes.
    pub fn answers(&mut self) -> Vec<Http> {
        std::iter::from_fn(|| self.answer()).collect()
    }

    /// Whether the server closes, having said nothing more.
    pub fn closes(&mut self) -> bool {
        while self.fill() {}
        self.read.is_empty()
    }

    /// Reads once; `false` at the end. A reset is an end, too.
    fn fill(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.read.extend_from_slice(&buffer[..count]);
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let waited = self.stream.read_timeout().expect("a socket that works, and an answer of HTTP");
                assert!(waited != Some(LIMIT), "nothing came for {LIMIT:?}; so far: {}", String::from_utf8_lossy(&self.read));
                false
            }
            Err(_) => false,
        }
    }
}

/// A POST of `body` with these headers beside the usual ones; a header given here replaces the usual one.
#[must_use]
pub fn post(headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let length = body.len().to_string();
    let usual = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Content-Length", &length),
    ];
    let mut text = String::from("POST /mcp HTTP/1.1\r\n");
    for (name, value) in usual.iter().filter(|(name, _)| !headers.iter().any(|(it, _)| it.eq_ignore_ascii_case(name))) {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}
