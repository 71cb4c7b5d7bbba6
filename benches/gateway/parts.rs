//! The parts of the benchmark; each gives back a table in Markdown.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall-clock time")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::routing::post as route_post;
use bytes::Bytes;
use jobgate::domain::{
    CallerKey, Cause, IdempotencyKey, JobRef, NewTask, ProviderName, SystemClock, Task, TaskEvent, TaskId, ToolName,
};
use jobgate::engine::{Call, CallNames, Called, ProviderLimits, Rate};
use jobgate::store::{Commit, Created, TaskStore};
use jobgate_adapter_api::OsRandom;
use tokio::runtime::Runtime;

use crate::gateway::{self, BRIEF, ENDLESS, Gateway, PROVIDER};
use crate::load::{self, Connection, Load};

const SPAN: Duration = Duration::from_secs(4);
const ROUNDS: usize = 3;
const HOUR: Duration = Duration::from_secs(3600);

/// One worker thread, so that servers and load share the machine's two cores evenly.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// A request of 2026-07-28 that declares the tasks extension.
pub(crate) fn message(method: &str, params: &str) -> String {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params},{meta}}}}}"#)
}

pub(crate) fn request(method: &str, name: &str, params: &str) -> Vec<u8> {
    let body = message(method, params);
    load::post("/mcp", &[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", name)], &body)
}

pub(crate) fn get_request(id: &str) -> Vec<u8> {
    request("tasks/get", id, &format!(r#""taskId":"{id}""#))
}

fn call_request(tool: &str) -> Vec<u8> {
    request("tools/call", tool, &format!(r#""name":"{tool}","arguments":{{"title":"a clip of the sea"}}"#))
}

/// Makes `count` tasks with a job that runs, straight through the store, many at once.
pub(crate) async fn fill(store: &Arc<impl TaskStore>, count: usize, due_in: Duration) -> Vec<TaskId> {
    let mut ids = Vec::with_capacity(count);
    let mut running = tokio::task::JoinSet::new();
    for nth in 0..count {
        let store = Arc::clone(store);
        running.spawn(async move {
            let task = new_task();
            let Created::New(task) = store.create(task, None, Cause::Submit).await.unwrap() else { panic!("no key was given") };
            let accepted = TaskEvent::Accepted(JobRef::new(format!("{ENDLESS}-{nth}")));
            let now = jobgate::domain::Clock::now(&SystemClock);
            let mut commit = Commit::of(&task, &[(accepted, Cause::Submit)], now).unwrap();
            commit.next.due_at = Some(now.plus(due_in));
            store.commit(commit).await.unwrap().id
        });
        if running.len() >= 512 {
            ids.push(running.join_next().await.unwrap().unwrap());
        }
    }
    while let Some(id) = running.join_next().await {
        ids.push(id.unwrap());
    }
    ids
}

fn new_task() -> Task {
    let now = jobgate::domain::Clock::now(&SystemClock);
    let arguments = serde_json::json!({ "title": "a clip of the sea" });
    let id = TaskId::mint(&OsRandom);
    Task::new(NewTask {
        id,
        owner: gateway::owner(),
        tool: ToolName::new(ENDLESS),
        provider: ProviderName::new(PROVIDER),
        arguments: Arc::new(arguments.as_object().unwrap().clone()),
        caller_key: None::<CallerKey>,
        submit_key: IdempotencyKey::new(format!("{:032x}", u128::from_be_bytes(*id.as_bytes()))),
        created_at: now,
        ttl: Some(Duration::from_secs(24 * 3600)),
        deadline_at: now.plus(Duration::from_secs(24 * 3600)),
    })
}

pub(crate) fn median(mut runs: Vec<Load>) -> Load {
    runs.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    runs.swap_remove(runs.len() / 2)
}

async fn one_task(gateway: &Gateway) -> String {
    let mut wire = Connection::open(gateway.address).await;
    let (status, body) = wire.exchange(&call_request(ENDLESS)).await;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 200, "{body}");
    body["result"]["taskId"].as_str().unwrap().to_owned()
}

/// tasks/get over HTTP against a bare axum echo with an answer of the same size, alternating.
pub(crate) fn get() -> String {
    let (servers, clients, folder) = (runtime(), runtime(), tempfile::tempdir().unwrap());
    let gateway = gateway::start(&servers, gateway::open(folder.path()), ProviderLimits::default());
    let id = clients.block_on(one_task(&gateway));
    let wanted = Arc::new(get_request(&id));
    let (_, sample) = clients.block_on(async { Connection::open(gateway.address).await.exchange(&wanted).await });
    let answer = Bytes::from(sample);
    let bytes = answer.len();
    let echo = servers.block_on(gateway::serve(axum::Router::new().route(
        "/mcp",
        route_post(move |_: Bytes| {
            let answer = answer.clone();
            async move { ([("content-type", "application/json")], answer) }
        }),
    )));
    let mut table = format!(
        "### tasks/get over HTTP\n\n{bytes}-byte answers, keep-alive, one server thread, one client thread, medians of {ROUNDS} alternating runs of {} s.\n\n| connections | bare axum echo /s | tasks/get /s | ratio | p50 / p99 echo, µs | p50 / p99 tasks/get, µs |\n|---|---|---|---|---|---|\n",
        SPAN.as_secs()
    );
    for connections in [1, 16, 64] {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            for (address, runs) in [(echo, &mut bare), (gateway.address, &mut ours)] {
                let wanted = Arc::clone(&wanted);
                runs.push(clients.block_on(load::run(address, connections, SPAN, move |_, _| Arc::clone(&wanted))));
            }
        }
        let (bare, ours) = (median(bare), median(ours));
        writeln!(
            table,
            "| {connections} | {:.0} | {:.0} | **{:.0} %** | {} / {} | {} / {} |",
            bare.per_second,
            ours.per_second,
            100.0 * ours.per_second / bare.per_second,
            bare.quantile(0.5),
            bare.quantile(0.99),
            ours.quantile(0.5),
            ours.quantile(0.99),
        )
        .unwrap();
    }
    stop(&servers, &gateway);
    table
}

/// Durable creates over HTTP against the store's own grouped rate.
pub(crate) fn create() -> String {
    let mut table = format!(
        "### Durable create\n\nHTTP: tools/call until the task's handle is here (two durable commits: the intent, the job's id). Store: the same two commits without gateway or HTTP. Medians of {ROUNDS} alternating runs of {} s.\n\n| clients | store alone, tasks/s | tools/call, tasks/s | ratio | p50 / p99 tools/call, ms |\n|---|---|---|---|---|\n",
        SPAN.as_secs()
    );
    for clients_at_once in [1, 16, 64] {
        let (servers, clients, folder) = (runtime(), runtime(), tempfile::tempdir().unwrap());
        let limits = ProviderLimits { concurrency: 256, ..ProviderLimits::default() };
        let gateway = gateway::start(&servers, gateway::open(folder.path()), limits);
        let wanted = Arc::new(call_request(ENDLESS));
        let (mut alone, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.push(clients.block_on(store_creates(&gateway.store, clients_at_once)));
            let wanted = Arc::clone(&wanted);
            ours.push(clients.block_on(load::run(gateway.address, clients_at_once, SPAN, move |_, _| Arc::clone(&wanted))));
        }
        alone.sort_by(f64::total_cmp);
        let (alone, ours) = (alone[alone.len() / 2], median(ours));
        writeln!(
            table,
            "| {clients_at_once} | {alone:.0} | {:.0} | **{:.0} %** | {:.2} / {:.2} |",
            ours.per_second,
            100.0 * ours.per_second / alone,
            f64::from(ours.quantile(0.5)) / 1000.0,
            f64::from(ours.quantile(0.99)) / 1000.0,
        )
        .unwrap();
        stop(&servers, &gateway);
    }
    table
}

async fn store_creates(store: &Arc<impl TaskStore>, clients: usize) -> f64 {
    let began = Instant::now();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..clients {
        let store = Arc::clone(store);
        workers.spawn(async move {
            let mut made = 0_u32;
            while began.elapsed() < SPAN {
                fill(&store, 1, HOUR).await;
                made += 1;
            }
            made
        });
    }
    let mut made = 0;
    while let Some(count) = workers.join_next().await {
        made += count.unwrap();
    }
    f64::from(made) / began.elapsed().as_secs_f64()
}

/// tasks/get with 1 k, 100 k and 1 M stored tasks: the newest thousand, as callers ask for live tasks, and any of all.
pub(crate) fn sizes() -> String {
    const ASKED: usize = 1_000;
    let mut table = format!(
        "### tasks/get as the store grows\n\n16 connections. Asked for: {ASKED} tasks among all, in no order, as callers poll what is alive; and any of all, in no order, far more than the caches hold.\n\n| stored tasks | {ASKED} of them /s | p50 / p99, µs | any of them /s | p50 / p99, µs | store, MiB |\n|---|---|---|---|---|---|\n"
    );
    let (servers, clients, folder) = (runtime(), runtime(), tempfile::tempdir().unwrap());
    let gateway = gateway::start(&servers, gateway::open(folder.path()), ProviderLimits::default());
    let mut requests: Vec<Arc<Vec<u8>>> = Vec::new();
    for size in [ASKED, 100_000, 1_000_000] {
        let ids = clients.block_on(fill(&gateway.store, size - requests.len(), HOUR));
        requests.extend(ids.iter().map(|id| Arc::new(get_request(&id.to_string()))));
        let some = Arc::new(requests[requests.len() - ASKED..].to_vec());
        let all = Arc::new(requests.clone());
        let warm = clients.block_on(load::run(gateway.address, 16, SPAN / 4, picks(Arc::clone(&some))));
        assert!(warm.per_second > 0.0);
        let few = clients.block_on(load::run(gateway.address, 16, SPAN, picks(some)));
        let any = clients.block_on(load::run(gateway.address, 16, SPAN, picks(all)));
        writeln!(
            table,
            "| {size} | {:.0} | {} / {} | {:.0} | {} / {} | {:.0} |",
            few.per_second,
            few.quantile(0.5),
            few.quantile(0.99),
            any.per_second,
            any.quantile(0.5),
            any.quantile(0.99),
            folder_mib(folder.path()),
        )
        .unwrap();
    }
    stop(&servers, &gateway);
    table
}

/// Picks requests in no order. A multiplicative hash needs no generator in the loop.
fn picks(from: Arc<Vec<Arc<Vec<u8>>>>) -> impl Fn(usize, usize) -> Arc<Vec<u8>> + Send + Sync + 'static {
    move |connection, nth| Arc::clone(&from[(connection * 7_919 + nth).wrapping_mul(2_654_435_761) % from.len()])
}

/// The word that makes this program fill a store and say what memory that left it with.
pub(crate) const FILL: &str = "fill-a-store";
/// Live tasks of the restart.
const LIVE: usize = 100_000;
const LIMITS: ProviderLimits = ProviderLimits {
    concurrency: 16,
    rate: Some(Rate { calls: 50, per: Duration::from_secs(1) }),
    call_timeout: Duration::from_secs(30),
};

/// Fills a store under a running gateway; gives the memory after it, in MiB.
pub(crate) fn fill_folder(folder: &Path) -> f64 {
    let (servers, clients) = (runtime(), runtime());
    let gateway = gateway::start(&servers, gateway::open(folder), LIMITS);
    clients.block_on(fill(&gateway.store, LIVE, Duration::ZERO));
    let resident = load::resident_mib();
    stop(&servers, &gateway);
    resident
}

/// Opening a store with 100 k live tasks, all of them due, and memory. Another process fills it, so that this one starts afresh.
pub(crate) fn restart() -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let filled = std::process::Command::new(program).arg(FILL).arg(folder.path()).output().unwrap();
    assert!(filled.status.success(), "{}", String::from_utf8_lossy(&filled.stderr));
    let after_filling: f64 = String::from_utf8(filled.stdout).unwrap().trim().parse().unwrap();
    let (servers, clients) = (runtime(), runtime());
    let before = load::resident_mib();
    let began = Instant::now();
    let store = gateway::open(folder.path());
    let opened = began.elapsed();
    let gateway = gateway::start(&servers, store, LIMITS);
    let armed = began.elapsed();
    clients.block_on(async { tokio::time::sleep(Duration::from_secs(2)).await });
    let polls = gateway.adapter.polls.load(std::sync::atomic::Ordering::Relaxed);
    let resident = load::resident_mib();
    stop(&servers, &gateway);
    format!(
        "### Restart with {LIVE} live tasks\n\nAll of them due. The provider takes 50 calls/s. Memory is resident, in MiB: of the process that made the tasks, right after the last one; and of the one that took them over, 2 s later (before it opened the store: {before:.0}).\n\n| store open, ms | all re-armed and serving, ms | calls to the provider in the first 2 s | after making them | after the restart |\n|---|---|---|---|---|\n| {} | {} | {polls} | {after_filling:.0} | {resident:.0} |\n",
        opened.as_millis(),
        armed.as_millis(),
    )
}

/// From tools/call to a terminal task, seen by a caller that watches, 16 at once.
pub(crate) fn journey() -> String {
    const EACH: usize = 40;
    let (servers, clients, folder) = (runtime(), runtime(), tempfile::tempdir().unwrap());
    let gateway = gateway::start(&servers, gateway::open(folder.path()), ProviderLimits::default());
    let mut spans = clients.block_on(async {
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let engine = Arc::clone(&gateway.engine);
            workers.spawn(async move {
                let mut spans = Vec::new();
                for _ in 0..EACH {
                    let began = Instant::now();
                    let call = Call {
                        owner: gateway::owner(),
                        tool: ToolName::new(BRIEF),
                        arguments: serde_json::Map::new(),
                        key: None,
                        ttl: None,
                        names: CallNames::default(),
                    };
                    let Called::Task(task) = engine.call(call).await.unwrap() else { panic!("nothing is refused") };
                    let until = jobgate::domain::Clock::now(&SystemClock).plus(Duration::from_secs(10));
                    let task = engine.wait(&gateway::owner(), &task.id, until, None).await.unwrap();
                    assert!(task.is_ended(), "{task:?}");
                    spans.push(began.elapsed());
                }
                spans
            });
        }
        let mut spans = Vec::new();
        while let Some(some) = workers.join_next().await {
            spans.extend(some.unwrap());
        }
        spans
    });
    spans.sort_unstable();
    let ms = |share: usize| spans[spans.len() * share / 100].as_secs_f64() * 1000.0;
    stop(&servers, &gateway);
    format!(
        "### From the call to the end\n\n16 callers, a job that has ended at its first look, looked at after 10 ms.\n\n| p50, ms | p99, ms |\n|---|---|\n| {:.1} | {:.1} |\n",
        ms(50),
        ms(99),
    )
}

pub(crate) fn stop(servers: &Runtime, gateway: &Gateway) {
    servers.block_on(gateway.engine.shutdown());
}

fn folder_mib(path: &Path) -> f64 {
    fn bytes(path: &Path) -> u64 {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.metadata().map_or(0, |meta| if meta.is_dir() { bytes(&entry.path()) } else { meta.len() }))
            .sum()
    }
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let total = bytes(path) as f64;
    total / (1024.0 * 1024.0)
}
