//! A load generator that costs little: raw HTTP/1.1 over kept-alive connections, bytes made once.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall-clock time")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What one run of load saw.
pub(crate) struct Load {
    /// Answers a second.
    pub(crate) per_second: f64,
    /// Latencies in microseconds, sorted.
    latencies: Vec<u32>,
}

impl Load {
    /// The latency that `share` of the requests did not exceed, in microseconds.
    pub(crate) fn quantile(&self, share: f64) -> u32 {
        let last = self.latencies.len().saturating_sub(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "an index")]
        let at = (last as f64 * share) as usize;
        self.latencies.get(at).copied().unwrap_or(0)
    }
}

/// One HTTP/1.1 POST, headers and all.
pub(crate) fn post(path: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

/// A kept-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::with_capacity(2 * 1024) }
    }

    /// Begins a session: its id.
    pub(crate) async fn begin(&mut self, initialize: &[u8]) -> String {
        let (status, _) = self.exchange(initialize).await;
        assert_eq!(status, 200);
        let text = String::from_utf8_lossy(&self.buffer);
        text.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned()
    }

    /// Sends `request` and reads until `marks` holds of all that has come; gives it back. For answers that are streams.
    pub(crate) async fn stream(&mut self, request: &[u8], marks: impl Fn(&[u8]) -> bool) {
        self.stream.write_all(request).await.unwrap();
        self.buffer.clear();
        self.until(marks).await;
    }

    /// Reads on until `marks` holds of all that has come since the request.
    pub(crate) async fn until(&mut self, marks: impl Fn(&[u8]) -> bool) {
        while !marks(&self.buffer) {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the server closed the connection: {}", String::from_utf8_lossy(&self.buffer));
        }
    }

    /// Forgets what has come so far.
    pub(crate) fn forget(&mut self) {
        self.buffer.clear();
    }

    /// Sends `request`, reads the whole answer and gives back its status and body.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> (u16, Vec<u8>) {
        self.stream.write_all(request).await.unwrap();
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            if let Some((status, start, length)) = head(&self.buffer)
                && self.buffer.len() >= start + length
            {
                return (status, self.buffer[start..start + length].to_vec());
            }
        }
    }
}

/// Status, where the body starts and how long it is, once the head is complete.
pub(crate) fn head(bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&bytes[..end]).unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let length = text
        .lines()
        .find_map(|line| line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length")))
        .map_or(0, |(_, value)| value.trim().parse().unwrap());
    Some((status, end + 4, length))
}

/// `connections` at once, each sending what `request(connection, nth)` gives, for `span`.
pub(crate) async fn run<F>(address: SocketAddr, connections: usize, span: Duration, request: F) -> Load
where
    F: Fn(usize, usize) -> Arc<Vec<u8>> + Send + Sync + 'static,
{
    let request = Arc::new(request);
    let stop = Arc::new(AtomicBool::new(false));
    let mut workers = Vec::new();
    let began = Instant::now();
    for connection in 0..connections {
        let (request, stop) = (Arc::clone(&request), Arc::clone(&stop));
        workers.push(tokio::spawn(async move {
            let mut wire = Connection::open(address).await;
            let mut latencies = Vec::with_capacity(100_000);
            for nth in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let bytes = request(connection, nth);
                let sent = Instant::now();
                let (status, body) = wire.exchange(&bytes).await;
                latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
                assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
            }
            latencies
        }));
    }
    tokio::time::sleep(span).await;
    stop.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await.unwrap());
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let per_second = latencies.len() as f64 / began.elapsed().as_secs_f64();
    latencies.sort_unstable();
    Load { per_second, latencies }
}

/// Resident memory of this process, in MiB.
pub(crate) fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
