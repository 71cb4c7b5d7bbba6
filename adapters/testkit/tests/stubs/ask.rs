//! A client that sees an answer as it comes over the socket, whole or broken.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

pub(crate) fn get(path: &str) -> Ask {
    Ask { method: "GET", path: path.to_owned(), headers: Vec::new(), body: String::new() }
}

pub(crate) fn post(body: &str) -> Ask {
    get("/x").by("POST").sending(body)
}

pub(crate) fn form(body: &str) -> Ask {
    post(body).with("Content-Type", "application/x-www-form-urlencoded")
}

/// Parts as `headers`, blank line, `body`.
pub(crate) fn multipart(parts: &[(&str, &str)]) -> Ask {
    let mut body = String::new();
    for (headers, part) in parts {
        body.push_str(&format!("--B\r\n{headers}\r\n\r\n{part}\r\n"));
    }
    post(&format!("{body}--B--\r\n")).with("Content-Type", "multipart/form-data; boundary=B")
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(found, _)| found == name).map(|(_, value)| value.as_str()).collect()
    }
}

impl Ask {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn by(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn sending(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self
    }

    /// Everything that the socket gives until its end, and how it ended.
    pub(crate) async fn raw(&self, origin: &str) -> (Vec<u8>, Option<std::io::ErrorKind>) {
        let (ask, origin) = (self.clone(), origin.to_owned());
        tokio::task::spawn_blocking(move || ask.exchange(&origin)).await.expect("a request that can be sent")
    }

    fn exchange(&self, origin: &str) -> (Vec<u8>, Option<std::io::ErrorKind>) {
        let address = origin.trim_start_matches("http://");
        let mut socket = TcpStream::connect(address).expect("the server listens");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket has a deadline");
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let length = if self.body.is_empty() && self.method == "GET" {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", self.body.len())
        };
        socket.write_all(format!("{head}{length}\r\n{}", self.body).as_bytes()).expect("the request can be sent");
        let mut answer = Vec::new();
        let ended = socket.read_to_end(&mut answer).err().map(|error| error.kind());
        (answer, ended)
    }

    pub(crate) async fn send(&self, origin: &str) -> Answer {
        let (bytes, _) = self.raw(origin).await;
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or_else(|| panic!("no HTTP: {bytes:?}"));
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let first: Vec<&str> = lines.next().expect("a status line").splitn(3, ' ').collect();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
            .collect();
        let body = &bytes[end + 4..];
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { joined(body) } else { body.to_vec() };
        Answer {
            status: first[1].parse().expect("a status"),
            reason: first.get(2).copied().unwrap_or_default().to_owned(),
            headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }
}

/// A chunked body (RFC 9112, section 7.1).
fn joined(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&bytes[..end]), 16).expect("a chunk has a size");
        if size == 0 {
            break;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
    body
}
