//! Deliveries: how many are taken, how soon they are seen, and what repeats and forgeries cost.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall-clock time")]

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use jobgate::domain::{Cause, Clock as _, JobState, Observation, Progress, SystemClock, TaskEvent};
use jobgate::store::{Commit, DeliveryId, Intake, Taken, TaskStore};
use jobgate_webhooks::{Credential, Request, Scheme, Secret, Secrets, receive};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::deliveries::{self, FORGE, SCHEME, Served, Signer, TASKS};
use crate::load::{self, Connection, Load};
use crate::{gateway, parts};

const SPAN: Duration = Duration::from_secs(4);
const ROUNDS: usize = 3;
/// Looks at how soon a delivery is seen, and the pause between two of them.
const LOOKS: usize = 400;
const PAUSE: Duration = Duration::from_millis(20);
/// Forged deliveries a second.
const FORGED: u32 = 10_000;

/// All of it.
pub(crate) fn webhooks() -> String {
    let (servers, clients, folder) = (parts::runtime(), parts::runtime(), tempfile::tempdir().unwrap());
    let served = Served::start(&servers, &clients, folder.path());
    // One provider sends them all: what it says of a job only ever goes forward.
    let signer = Arc::new(Signer::provider());
    let mut text = rates(&served, &clients, &signer);
    text.push_str(&repeats(&served, &clients, &signer));
    text.push_str(&latencies(&served, &clients, &signer));
    served.end(&servers);
    text
}

/// Accepted deliveries against what the machine can verify and what the store can write.
fn rates(served: &Served, clients: &Runtime, signer: &Arc<Signer>) -> String {
    let (mac, rules) = (bare_mac(), bare_rules());
    let mut table = format!(
        "### Deliveries\n\nSigned by HMAC-SHA-256 over id, moment and {} bytes of JSON; each is read, recorded and changes one of {TASKS} tasks, durably, before its 200. Verification alone, one thread: {mac:.0} MACs/s; {rules:.0}/s with all rules of the scheme. Store: the same record and change of a task without gateway or HTTP. Medians of {ROUNDS} alternating runs of {} s.\n\n| connections | MACs alone /s | store alone /s | deliveries /s | of the store's | p50 / p99, ms |\n|---|---|---|---|---|---|\n",
        deliveries::body("job0", 1, "frame 1").len(),
        SPAN.as_secs(),
    );
    for connections in [1, 16, 64] {
        let (mut alone, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.push(clients.block_on(store_takes(connections)));
            let signer = Arc::clone(signer);
            let send = move |connection, nth| Arc::new(signer.delivery((connection + nth * connections) % TASKS, "rendering"));
            ours.push(clients.block_on(load::run(served.address, connections, SPAN, send)));
        }
        alone.sort_by(f64::total_cmp);
        let (alone, ours) = (alone[alone.len() / 2], parts::median(ours));
        writeln!(
            table,
            "| {connections} | {mac:.0} | {alone:.0} | {:.0} | **{:.0} %** | {} |",
            ours.per_second,
            100.0 * ours.per_second / alone,
            milliseconds(&ours),
        )
        .unwrap();
    }
    table.push('\n');
    table
}

/// MACs verified a second by one thread, and nothing else.
fn bare_mac() -> f64 {
    let key = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
    let body = deliveries::body("job0", 1, "frame 1");
    let mac_of = |count: u64| key.clone().chain_update(format!("msg_{count:024}.1800000000.")).chain_update(&body);
    let tags: Vec<_> = (0..512).map(|count| mac_of(count).finalize().into_bytes()).collect();
    a_second(|count| mac_of(count % 512).verify(&tags[usize::try_from(count % 512).unwrap()]).unwrap())
}

/// Deliveries verified a second by one thread by all rules of the scheme.
fn bare_rules() -> f64 {
    let scheme = Scheme::named(SCHEME).unwrap();
    let credential = Credential::new(Secret::new(deliveries::SECRET));
    let secrets = Secrets::new(&scheme, [credential]).unwrap();
    let whole = Signer::provider().delivery(0, "rendering");
    let whole = String::from_utf8(whole).unwrap();
    let (head, body) = whole.split_once("\r\n\r\n").unwrap();
    let headers: Vec<(&str, &[u8])> =
        head.lines().skip(1).map(|line| line.split_once(": ").unwrap()).map(|(name, value)| (name, value.as_bytes())).collect();
    let now = SystemClock.now().as_millis() / 1000;
    a_second(|_| {
        let request = Request { method: "POST", url: "", headers: &headers, body: body.as_bytes() };
        receive(&scheme, &secrets, &request, now).unwrap();
    })
}

/// How often `work` is done in a second.
fn a_second(mut work: impl FnMut(u64)) -> f64 {
    let began = Instant::now();
    let mut count = 0_u64;
    while began.elapsed() < Duration::from_secs(1) {
        for _ in 0..512 {
            work(count);
            count += 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let count = count as f64;
    count / began.elapsed().as_secs_f64()
}

/// What the store alone takes: a record and a change of one task each.
async fn store_takes(clients: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let store = gateway::open(folder.path());
    let mut workers = JoinSet::new();
    for client in 0..clients {
        let ids = parts::fill(&store, TASKS / clients, Duration::from_secs(3600)).await;
        let mut tasks = Vec::new();
        for id in ids {
            tasks.push(store.get(&id).await.unwrap().unwrap());
        }
        let store = Arc::clone(&store);
        workers.spawn(async move {
            let began = Instant::now();
            let mut count = 0_u32;
            while began.elapsed() < SPAN {
                let nth = usize::try_from(count).unwrap() % tasks.len();
                count += 1;
                let now = SystemClock.now();
                let progress = Progress { done: f64::from(count), total: Some(1e9) };
                let seen = Observation::new(JobState::Running).with_message("rendering").with_progress(progress);
                let commit = Commit::of(&tasks[nth], &[(TaskEvent::Observed(seen), Cause::Webhook)], now).unwrap();
                let intake = Intake {
                    id: DeliveryId::new(Sha256::digest(format!("{client} {count}")).into()),
                    body_hash: [7; 32],
                    at: now,
                    keep_until: now.plus(Duration::from_secs(72 * 3600)),
                    redriven: false,
                    commits: vec![commit],
                    parked: Vec::new(),
                    dead: None,
                };
                let Taken::First(changed) = store.take(intake).await.unwrap() else { panic!("each is the first") };
                tasks[nth] = Arc::clone(&changed[0]);
            }
            f64::from(count) / began.elapsed().as_secs_f64()
        });
    }
    let mut sum = 0.0;
    while let Some(rate) = workers.join_next().await {
        sum += rate.unwrap();
    }
    store.close().await.unwrap();
    sum
}

/// The same delivery again and again.
fn repeats(served: &Served, clients: &Runtime, signer: &Signer) -> String {
    let again = Arc::new(signer.delivery(0, "rendering"));
    let seen = clients.block_on(load::run(served.address, 16, SPAN, move |_, _| Arc::clone(&again)));
    format!(
        "A repeat is answered 200 and changes nothing: {:.0}/s over 16 connections, p50 / p99 {} ms.\n\n",
        seen.per_second,
        milliseconds(&seen)
    )
}

fn milliseconds(load: &Load) -> String {
    let ms = |share| f64::from(load.quantile(share)) / 1000.0;
    format!("{:.2} / {:.2}", ms(0.5), ms(0.99))
}

/// From a delivery's first byte until it is seen.
#[derive(Default)]
struct Seen {
    answered: Vec<Duration>,
    by_get: Vec<Duration>,
    by_stream: Vec<Duration>,
}

/// How soon a delivery is seen, by itself, beside others, and beside forged ones.
fn latencies(served: &Served, clients: &Runtime, signer: &Arc<Signer>) -> String {
    let mut table = format!(
        "### From a delivery to who waits for it\n\n{LOOKS} deliveries, one each {} ms: from the first byte sent until the 200; until `tasks/get`, asked right after it, has shown the change; until the change came on an open `subscriptions/listen`. Forged: right in all but the secret, sent open-loop by another process over 64 connections. CPU: of the gateway's process, which is also this client, in % of one core.\n\n| beside | 200, p50 / p99 ms | tasks/get, p50 / p99 ms | stream, p50 / p99 ms | CPU | forged: sent /s, answered 401 |\n|---|---|---|---|---|---|\n",
        PAUSE.as_millis()
    );
    for (beside, forged, others) in [("nothing", 0, 0), ("1000 good /s", 0, 1000), ("10000 forged /s", FORGED, 0)] {
        let forger = (forged > 0).then(|| Forger::start(served, forged));
        let (before, began) = (cpu(), Instant::now());
        let mut seen = clients.block_on(async {
            let looks = look(served, signer);
            tokio::select! {
                seen = looks => seen,
                () = crowd(served, others, signer) => unreachable!("it goes on until it is dropped"),
            }
        });
        let share = 100.0 * (cpu() - before).as_secs_f64() / began.elapsed().as_secs_f64();
        let told = forger.map_or_else(|| "-".to_owned(), Forger::told);
        writeln!(
            table,
            "| {beside} | {} | {} | {} | {share:.0} % | {told} |",
            spread(&mut seen.answered),
            spread(&mut seen.by_get),
            spread(&mut seen.by_stream),
        )
        .unwrap();
    }
    table
}

fn spread(spans: &mut [Duration]) -> String {
    spans.sort_unstable();
    let ms = |share: usize| spans[(spans.len() * share / 100).min(spans.len() - 1)].as_secs_f64() * 1000.0;
    format!("{:.2} / {:.2}", ms(50), ms(99))
}

/// Delivers to the first task, and watches.
async fn look(served: &Served, signer: &Signer) -> Seen {
    let id = &served.tasks[0];
    let (mut sender, mut reader) = (Connection::open(served.address).await, Connection::open(served.address).await);
    let listen = parts::message("subscriptions/listen", &format!(r#""notifications":{{"taskIds":["{id}"]}}"#));
    let headers = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "subscriptions/listen")];
    let mut stream = Connection::open(served.address).await;
    stream.stream(&load::post("/mcp", &headers, &listen), |seen| holds(seen, b"acknowledged")).await;
    let (expect, mut expected) = mpsc::unbounded_channel::<String>();
    let watching = tokio::spawn(async move {
        let mut moments = Vec::with_capacity(LOOKS);
        while let Some(message) = expected.recv().await {
            stream.until(|seen| holds(seen, message.as_bytes())).await;
            moments.push(Instant::now());
            stream.forget();
        }
        moments
    });
    let get = parts::get_request(id);
    let (mut seen, mut begun) = (Seen::default(), Vec::with_capacity(LOOKS));
    let mut ticks = tokio::time::interval(PAUSE);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for nth in 0..LOOKS {
        ticks.tick().await;
        let message = format!("look {nth:06}");
        let delivery = signer.delivery(0, &message);
        expect.send(message.clone()).unwrap();
        let since = Instant::now();
        begun.push(since);
        let (status, body) = sender.exchange(&delivery).await;
        seen.answered.push(since.elapsed());
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let (_, shown) = reader.exchange(&get).await;
        seen.by_get.push(since.elapsed());
        assert!(holds(&shown, message.as_bytes()), "what is answered is there: {}", String::from_utf8_lossy(&shown));
    }
    drop(expect);
    let moments = watching.await.unwrap();
    seen.by_stream = moments.iter().zip(&begun).map(|(moment, since)| moment.duration_since(*since)).collect();
    seen
}

/// Others deliver, so many a second over 16 connections, until this is dropped.
async fn crowd(served: &Served, rate: u32, signer: &Arc<Signer>) {
    let mut all = JoinSet::new();
    for connection in 0..16.min(usize::try_from(rate).unwrap()) {
        let (signer, address) = (Arc::clone(signer), served.address);
        all.spawn(async move {
            let mut wire = Connection::open(address).await;
            let mut ticks = tokio::time::interval(Duration::from_secs(16) / rate);
            for nth in 0.. {
                ticks.tick().await;
                // The first task is the one that is looked at.
                let task = Some((connection + 16 * nth) % TASKS).filter(|task| *task > 0).unwrap_or(16);
                let (status, _) = wire.exchange(&signer.delivery(task, "rendering")).await;
                assert_eq!(status, 200);
            }
        });
    }
    while all.join_next().await.is_some() {}
    std::future::pending().await
}

/// Another process that forges.
struct Forger(Child);

impl Forger {
    /// Starts it, and waits until it is at work.
    fn start(served: &Served, rate: u32) -> Self {
        let program = std::env::current_exe().unwrap();
        let words = [FORGE.to_owned(), served.address.to_string(), rate.to_string()];
        let process = Command::new(program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        Self(process)
    }

    /// Ends it.
    fn told(self) -> String {
        // Its input ends with the wait.
        let output = self.0.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let counts: Vec<u64> = text.split_whitespace().map(|count| count.parse().unwrap()).collect();
        let [millis, sent, refused, others] = counts[..] else { panic!("{text}") };
        assert_eq!(others, 0, "a forgery was answered otherwise");
        #[expect(clippy::cast_precision_loss, reason = "counts")]
        let (rate, share) = (1000.0 * sent as f64 / millis as f64, 100.0 * refused as f64 / sent as f64);
        format!("{rate:.0}, {share:.1} %")
    }
}

/// The processor's time that this process has used (proc(5), `stat`: fields 14 and 15, in hundredths of a second).
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let ticks: u64 = rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
