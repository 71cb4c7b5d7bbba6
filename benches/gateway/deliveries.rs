//! A gateway as it is configured and served, with a provider that delivers; what the provider sends, and what a forger sends.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall-clock time, and its servers end with the process")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::routing::post;
use jobgate::config;
use jobgate::domain::SystemClock;
use jobgate::registry::Registry;
use jobgate::serve::{self, Plan, ServeError, Source, World};
use jobgate_adapter_api::{Clock as _, EnvAndFiles, OsRandom};
use jobgate_webhooks::{Outgoing, Scheme, Secret, sign};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::load::{self, Connection};
use crate::{gateway, parts};

/// How deliveries are signed: HMAC-SHA-256 over id, moment and body.
pub(crate) const SCHEME: &str = "standard_webhooks";
/// Tasks with a job that runs; deliveries go around among them.
pub(crate) const TASKS: usize = 256;
const PROVIDER: &str = "farm";
pub(crate) const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// Of a forger.
const ANOTHER: &str = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

/// A served gateway, and its tasks.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    /// The id of each task; the job of the nth is `jobN`.
    pub(crate) tasks: Vec<String>,
    stop: CancellationToken,
    ended: JoinHandle<Result<(), ServeError>>,
}

impl Served {
    /// Serves a gateway with its data in `folder` from `servers`, and starts its tasks.
    pub(crate) fn start(servers: &Runtime, clients: &Runtime, folder: &Path) -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let jobs = clients.block_on(gateway::serve(axum::Router::new().route("/jobs", post(async |job: String| job))));
        let secret = folder.join("secret");
        std::fs::write(&secret, SECRET).unwrap();
        let text = configuration(jobs, &secret);
        let mut checked = config::load(&text, "bench.yaml", &Registry::built_in()).unwrap_or_else(|error| panic!("{error}"));
        checked.store.path = folder.join("data");
        let world = World { clock: Arc::new(SystemClock), random: Arc::new(OsRandom), secrets: Arc::new(EnvAndFiles) };
        let plan = Arc::new(Plan::build(Source { checked, text, file: "bench.yaml".to_owned() }, world).unwrap());
        let stop = CancellationToken::new();
        let (told, ready) = std::sync::mpsc::channel();
        let ended = servers.spawn(serve::http(plan, stop.clone(), move |ready| told.send(ready.address).unwrap()));
        let address = ready.recv().unwrap();
        let tasks = clients.block_on(async {
            let mut wire = Connection::open(address).await;
            let mut tasks = Vec::with_capacity(TASKS);
            for nth in 0..TASKS {
                tasks.push(call(&mut wire, &job(nth)).await);
            }
            tasks
        });
        Self { address, tasks, stop, ended }
    }

    /// Ends it.
    pub(crate) fn end(self, servers: &Runtime) {
        self.stop.cancel();
        servers.block_on(self.ended).unwrap().unwrap();
    }
}

/// Jobs are looked at once an hour, so that what is seen came with a delivery.
fn configuration(jobs: SocketAddr, secret: &Path) -> String {
    let unlimited = ["calls", "creations", "lists", "results", "polls_per_interval", "streams_per_principal"];
    format!(
        r#"
server: {{ listen: "127.0.0.1:0", public_url: "https://gateway.example.com" }}
limits: {{ {} }}
providers:
  {PROVIDER}:
    adapter: rest
    base_url: http://{jobs}
    webhook: {{ scheme: {SCHEME}, secret: "file:{}", trust: payload, safety_poll: 1h }}
    delivery: {{ job: "{{{{ body.job }}}}" }}
tools:
  render:
    provider: {PROVIDER}
    description: Renders.
    input: {{ type: object, properties: {{ job: {{ type: string }} }}, required: [job] }}
    task: {{ mode: required, poll: {{ initial: 1h, max: 1h }}, deadline: 24h, silence_limit: 24h }}
    job:
      submit:
        request:
          method: POST
          path: /jobs
          headers: {{ Idempotency-Key: "{{{{ key }}}}" }}
          body: {{ job: "{{{{ args.job }}}}" }}
        job: {{ id: "{{{{ body.job }}}}" }}
      idempotent: true
      status:
        request: {{ path: "/jobs/{{{{ job.id }}}}" }}
        word: "{{{{ body.status }}}}"
        rules:
          - {{ is: [rendering], state: running }}
          - {{ is: [finished], state: succeeded }}
        message: "{{{{ body.message }}}}"
        progress: {{ done: "{{{{ body.frame }}}}", total: "{{{{ body.frames }}}}" }}
"#,
        unlimited.map(|limit| format!("{limit}: unlimited")).join(", "),
        secret.display(),
    )
}

fn job(nth: usize) -> String {
    format!("job{nth}")
}

async fn call(wire: &mut Connection, job: &str) -> String {
    let params = format!(r#""name":"render","arguments":{{"job":"{job}"}}"#);
    let (status, body) = wire.exchange(&parts::request("tools/call", "render", &params)).await;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 200, "{body}");
    body["result"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {body}")).to_owned()
}

/// What signs deliveries.
pub(crate) struct Signer {
    scheme: Scheme,
    secret: Secret,
    url: String,
    next: AtomicU64,
}

impl Signer {
    /// The provider.
    pub(crate) fn provider() -> Self {
        Self::with(SECRET)
    }

    /// Somebody who knows all but the secret.
    pub(crate) fn forger() -> Self {
        Self::with(ANOTHER)
    }

    fn with(secret: &str) -> Self {
        let url = format!("https://gateway.example.com/hooks/{PROVIDER}");
        Self { scheme: Scheme::named(SCHEME).unwrap(), secret: Secret::new(secret), url, next: AtomicU64::new(1) }
    }

    /// A delivery that no other is like: the nth task's job has come to another frame, and says this.
    pub(crate) fn delivery(&self, nth: usize, message: &str) -> Vec<u8> {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        let body = body(&job(nth), count, message);
        let id = format!("msg_{count:024}");
        let out = Outgoing { url: &self.url, id: &id, body: body.as_bytes() };
        let signed = sign(&self.scheme, &self.secret, &out, SystemClock.now().as_millis() / 1000).unwrap();
        let headers: Vec<(&str, &str)> = signed.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        load::post(&format!("/hooks/{PROVIDER}"), &headers, &body)
    }
}

/// Of the size that providers send: about 400 bytes.
pub(crate) fn body(job: &str, frame: u64, message: &str) -> String {
    format!(
        r#"{{"type":"render.progress","job":"{job}","status":"rendering","frame":{frame},"frames":1000000000,"message":"{message}","region":"eu-central-1","project":"prj_01J9ZC6T7QK8W","preset":"h264-1080p-high","started_at":"2026-07-28T12:00:00Z","worker":"wrk-0a1b2c3d4e5f","queue":"default","attempt":1,"priority":5,"links":{{"self":"https://farm.example.com/v1/jobs/{job}","log":"https://farm.example.com/v1/jobs/{job}/log"}}}}"#
    )
}

/// The word that makes this program a forger.
pub(crate) const FORGE: &str = "forge";
/// Connections of a forger.
const FORGERS: usize = 64;

/// Sends `rate` forged deliveries a second until its input ends, whether they are answered or not. Says for how many milliseconds, how
/// many were sent, how many were answered 401, and how many otherwise.
pub(crate) fn forge(address: &str, rate: &str) -> String {
    let address: SocketAddr = address.parse().unwrap();
    let rate: u32 = rate.parse().unwrap();
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    std::thread::spawn(move || {
        std::io::read_to_string(std::io::stdin()).unwrap();
        stopping.cancel();
    });
    parts::runtime().block_on(async {
        let signer = Signer::forger();
        let forged: Arc<Vec<u8>> = Arc::new(signer.delivery(0, "it is all over"));
        let every = Duration::from_secs(1) * u32::try_from(FORGERS).unwrap() / rate;
        let began = Instant::now();
        let mut all = tokio::task::JoinSet::new();
        for nth in 0..FORGERS {
            let (forged, stop) = (Arc::clone(&forged), stop.clone());
            all.spawn(async move {
                let stream = TcpStream::connect(address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let (read, mut write) = stream.into_split();
                let answers = tokio::spawn(answers(read));
                let first = began + every * u32::try_from(nth).unwrap() / u32::try_from(FORGERS).unwrap();
                let mut ticks = tokio::time::interval_at(first.into(), every);
                // Who comes late catches up: the rate is what counts.
                ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
                let mut sent = 0_u64;
                while !stop.is_cancelled() {
                    ticks.tick().await;
                    if write.write_all(&forged).await.is_err() {
                        break;
                    }
                    sent += 1;
                }
                write.shutdown().await.ok();
                let (refused, others) = answers.await.unwrap();
                (sent, refused, others)
            });
        }
        let (mut sent, mut refused, mut others) = (0, 0, 0);
        while let Some(one) = all.join_next().await {
            let one = one.unwrap();
            (sent, refused, others) = (sent + one.0, refused + one.1, others + one.2);
        }
        format!("{} {sent} {refused} {others}", began.elapsed().as_millis())
    })
}

/// Counts answers until the connection ends: those that refuse, and others.
async fn answers(mut read: tokio::net::tcp::OwnedReadHalf) -> (u64, u64) {
    let (mut refused, mut others) = (0, 0);
    let mut buffer = Vec::with_capacity(64 * 1024);
    while read.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
        let mut taken = 0;
        while let Some((status, start, length)) = load::head(&buffer[taken..])
            && buffer.len() >= taken + start + length
        {
            taken += start + length;
            *(if status == 401 { &mut refused } else { &mut others }) += 1;
        }
        buffer.drain(..taken);
    }
    (refused, others)
}
