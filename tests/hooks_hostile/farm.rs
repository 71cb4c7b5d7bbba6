//! A provider with jobs that a test moves: `POST /jobs` begins one, `GET /jobs/ID` shows it.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

/// What became of the jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Farm {
    jobs: Arc<Mutex<BTreeMap<String, Job>>>,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    status: &'static str,
    looks: usize,
}

impl Farm {
    /// A provider at the port; it lives as long as the test's process.
    pub(crate) fn open() -> (Self, u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let farm = Self::default();
        let serving = farm.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // One that breaks off takes nothing with it.
                serving.answer(stream).ok();
            }
        });
        (farm, port)
    }

    pub(crate) fn set(&self, id: &str, status: &'static str) {
        self.jobs.lock().unwrap().get_mut(id).unwrap().status = status;
    }

    /// How often somebody looked at the job.
    pub(crate) fn looks(&self, id: &str) -> usize {
        self.jobs.lock().unwrap()[id].looks
    }

    /// The job that was begun last.
    pub(crate) fn last(&self) -> Option<String> {
        let jobs = self.jobs.lock().unwrap();
        jobs.len().checked_sub(1).map(|last| format!("job-{last}"))
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let mut read = Vec::new();
        let mut buffer = [0; 4096];
        while !whole(&read) {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                count => read.extend_from_slice(&buffer[..count]),
            }
        }
        let text = String::from_utf8_lossy(&read).into_owned();
        let mut jobs = self.jobs.lock().unwrap();
        let (id, status) = if text.starts_with("POST /jobs ") {
            let id = format!("job-{}", jobs.len());
            jobs.insert(id.clone(), Job { status: "running", looks: 0 });
            (id, "running")
        } else {
            let id = text.split(['/', ' ']).nth(3).unwrap_or_default().to_owned();
            let Some(job) = jobs.get_mut(&id) else {
                return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            };
            job.looks += 1;
            (id, job.status)
        };
        let body = json!({ "id": id, "status": status }).to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
        stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
    }
}

/// Whether a request has come with its whole body.
fn whole(read: &[u8]) -> bool {
    let text = String::from_utf8_lossy(read);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    body.len() >= length.and_then(|(_, length)| length.trim().parse().ok()).unwrap_or(0)
}
