//! What a look at a job costs: entries of the catalog against the bare requests that they make, of the same answers.
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall-clock time, and its server ends with the process")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{StatusCode, Uri};
use futures_util::future::join_all;
use jobgate::domain::{IdempotencyKey, JobRef, JobState, SystemClock};
use jobgate_adapter_api::{
    Adapter, CallContext, Clock as _, Deps, Issues, OsRandom, Place, Secret, SecretError, SecretRef, SecretSource, ToolWords,
    Transport, TransportLimits,
};
use serde_json::{Value, json};

const SPAN: Duration = Duration::from_secs(2);
const ROUNDS: usize = 5;
/// Looks at a time.
const AT_ONCE: usize = 16;
const TIMEOUT: Duration = Duration::from_secs(10);
const TOKEN: &str = "env:BENCH_TOKEN";

/// An entry, a job of it that runs, and what its API answers to a look.
struct Case {
    entry: &'static str,
    tool: &'static str,
    about: &'static str,
    provider: Value,
    job: JobRef,
    answers: Vec<(&'static str, Value)>,
}

/// Knows one secret.
#[derive(Debug)]
struct OneSecret;

impl SecretSource for OneSecret {
    fn read(&self, _: &SecretRef) -> Result<Secret, SecretError> {
        Ok(Secret::new("r8_0123456789abcdefghijklmnopqrstuvwxyz".to_owned()))
    }
}

/// Entries of the catalog, each at a job that runs.
pub(crate) fn polls() -> String {
    let mut table = format!(
        "### A look at a job\n\nEach at a job that runs, {AT_ONCE} at a time on one thread; bare: `reqwest` alone makes the same requests and reads the same bytes. The provider answers from a thread of its own. CPU: of the one thread. Medians of {ROUNDS} alternating runs of {} s.\n\n| entry | requests | bytes | bare, µs of CPU | a look, µs of CPU | ratio | bare /s on one core | looks /s on one core |\n|---|---|---|---|---|---|---|---|\n",
        SPAN.as_secs()
    );
    for case in cases() {
        let address = serve(&case);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let adapter = adapter(&case, address);
        let context = context(&case);
        let job = Arc::new(case.job.clone());
        let (client, urls) = (reqwest::Client::builder().no_proxy().build().unwrap(), urls(&case, address));
        let look = async || {
            let seen = adapter.poll(&context, &job).await.unwrap();
            assert!(matches!(seen.state, JobState::Running | JobState::Queued), "{seen:?}");
        };
        let bare = async || {
            for url in &urls {
                let answer = client.get(url.clone()).header("accept", "application/json").send().await.unwrap();
                assert_eq!(answer.status(), 200);
                answer.bytes().await.unwrap();
            }
        };
        let (mut looks, mut bares) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            bares.push(runtime.block_on(cost(&bare)));
            looks.push(runtime.block_on(cost(&look)));
        }
        let (bare, look) = (median(bares), median(looks));
        let bytes: usize = case.answers.iter().map(|(_, answer)| answer.to_string().len()).sum();
        writeln!(
            table,
            "| `{}`: {} | {} | {bytes} | {bare:.0} | {look:.0} | **{:.1}** | {:.0} | {:.0} |",
            case.entry,
            case.about,
            urls.len(),
            look / bare,
            1e6 / bare,
            1e6 / look,
        )
        .unwrap();
    }
    table
}

/// Microseconds of this thread's CPU that one `work` takes.
async fn cost(work: &impl AsyncFn()) -> f64 {
    // Connections are opened, and what is made once is made.
    join_all((0..AT_ONCE).map(|_| work())).await;
    let (began, before) = (Instant::now(), cpu());
    let done = join_all((0..AT_ONCE).map(async |_| {
        let mut done = 0_u32;
        while began.elapsed() < SPAN {
            work().await;
            done += 1;
        }
        done
    }));
    let done: u32 = done.await.into_iter().sum();
    (cpu() - before) / f64::from(done)
}

/// Microseconds that this thread has run.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1000.0
}

fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs.swap_remove(runs.len() / 2)
}

/// A provider of these answers, on a thread of its own.
fn serve(case: &Case) -> SocketAddr {
    let answers: BTreeMap<String, String> =
        case.answers.iter().map(|(path, answer)| ((*path).to_owned(), answer.to_string())).collect();
    let answers = Arc::new(answers);
    let app = axum::Router::new().fallback(move |uri: Uri| {
        let found = answers.get(uri.path()).cloned();
        async move {
            let status = if found.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
            (status, [("content-type", "application/json")], found.unwrap_or_default())
        }
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap()).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    receiver.recv().unwrap()
}

fn urls(case: &Case, address: SocketAddr) -> Vec<reqwest::Url> {
    case.answers.iter().map(|(path, _)| format!("http://{address}{path}").parse().unwrap()).collect()
}

fn adapter(case: &Case, address: SocketAddr) -> Arc<dyn Adapter> {
    let entry = jobgate_adapter_catalog::entries().find(|entry| entry.name() == case.entry).unwrap();
    let factory = jobgate_adapter_catalog::factories().find(|factory| factory.kind() == case.entry).unwrap();
    let preset = &entry.words().tools[case.tool];
    let tool = ToolWords {
        name: case.tool.to_owned(),
        input_schema: preset.input.clone(),
        place: Place::root().key("tools").key(case.tool).key("job"),
        words: preset.job.clone(),
    };
    let mut provider = case.provider.clone();
    provider["base_url"] = json!(format!("http://{address}"));
    let place = Place::root().key("providers").key(case.entry);
    let mut issues = Issues::new();
    let checked = factory.check(&place, provider, vec![tool], &mut issues).unwrap_or_else(|| panic!("{issues:?}"));
    let deps = Deps {
        provider: case.entry.to_owned(),
        place,
        clock: Arc::new(SystemClock),
        random: Arc::new(OsRandom),
        secrets: Arc::new(OneSecret),
        transport: Transport::new(TransportLimits::default()).unwrap(),
        data_dir: None,
    };
    checked.build(&deps).unwrap_or_else(|issue| panic!("{issue:?}"))
}

fn context(case: &Case) -> CallContext {
    CallContext {
        tool: case.tool.to_owned(),
        key: IdempotencyKey::new("6a6f6267617465000000000000000001".to_owned()),
        timeout: TIMEOUT,
        arguments: Arc::default(),
        started_at: SystemClock.now(),
        callback_url: None,
        cancel: None,
    }
}

fn cases() -> Vec<Case> {
    let log: String = (0..20).map(|nth| format!("{:3}%|#####     | {nth}/20 [00:{nth:02}<00:20, 1.02s/it]\n", nth * 5)).collect();
    let prediction = json!({
        "id": "gm3qorzdhgbfurvjtvhg6dckhu", "model": "replicate/hello-world", "version": "5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa",
        "input": { "prompt": "a lighthouse at night, oil on canvas", "steps": 20, "seed": 53168 }, "logs": log, "output": null, "error": null,
        "status": "processing", "created_at": "2026-07-28T12:00:00.000Z", "started_at": "2026-07-28T12:00:01.000Z", "data_removed": false,
        "urls": { "get": "https://api.replicate.com/v1/predictions/gm3qorzdhgbfurvjtvhg6dckhu", "cancel": "https://api.replicate.com/v1/predictions/gm3qorzdhgbfurvjtvhg6dckhu/cancel" },
    });
    let run = |nth: usize| {
        let state = if nth < 3 { "SUCCESS" } else { "RUNNING" };
        json!({
            "id": format!("run{nth}"), "executionId": "7dXk2", "namespace": "company.team", "flowId": "etl", "taskId": format!("step-{nth}"),
            "attempts": [{ "state": { "current": state, "histories": [{ "state": "CREATED", "date": "2026-07-28T12:00:00Z" }] } }], "outputs": {},
            "state": { "current": state, "histories": [{ "state": "CREATED", "date": "2026-07-28T12:00:00Z" }, { "state": state, "date": "2026-07-28T12:00:01Z" }] },
        })
    };
    let execution = json!({
        "id": "7dXk2", "namespace": "company.team", "flowId": "etl", "flowRevision": 3, "labels": [{ "key": "jobgate", "value": "0001" }],
        "taskRunList": (0..5).map(run).collect::<Vec<_>>(), "inputs": { "day": "2026-07-28" }, "url": "http://kestra.example.com/ui/executions/7dXk2",
        "state": { "current": "RUNNING", "histories": [{ "state": "CREATED", "date": "2026-07-28T12:00:00Z" }, { "state": "RUNNING", "date": "2026-07-28T12:00:01Z" }] },
    });
    let step = |nth: usize| {
        let complete = nth < 9;
        json!({ "number": nth, "name": format!("step {nth}"), "complete": complete, "results": complete.then_some(0) })
    };
    let build = json!({
        "buildid": 31, "buildrequestid": 21, "builderid": 1, "number": 7, "masterid": 1, "workerid": 1, "started_at": 1_785_240_001,
        "complete": false, "complete_at": null, "locks_duration_s": 0, "properties": {}, "results": null, "state_string": "building",
    });
    let claimed = [("request", "21"), ("claimed", "1785240001"), ("usual", "14")];
    vec![
        Case {
            entry: "replicate",
            tool: "prediction",
            about: "a word and rules",
            provider: json!({ "token": TOKEN }),
            job: JobRef::new("gm3qorzdhgbfurvjtvhg6dckhu"),
            answers: vec![("/predictions/gm3qorzdhgbfurvjtvhg6dckhu", prediction)],
        },
        Case {
            entry: "kestra",
            tool: "execution",
            about: "a message and counts out of a list",
            provider: json!({}),
            job: JobRef::new("7dXk2"),
            answers: vec![("/executions/7dXk2", execution)],
        },
        Case {
            entry: "buildbot",
            tool: "build",
            about: "twelve conditional steps, of which one is asked for",
            provider: json!({}),
            job: claimed.into_iter().fold(JobRef::new("11"), |job, (name, value)| job.with(name, value)),
            answers: vec![
                ("/api/v2/buildrequests/21/builds", json!({ "builds": [build], "meta": { "total": 1 } })),
                ("/api/v2/builds/31/steps", json!({ "steps": (0..10).map(step).collect::<Vec<_>>(), "meta": { "total": 10 } })),
            ],
        },
        Case {
            entry: "celery_flower",
            tool: "task",
            about: "a further request",
            provider: json!({}),
            job: JobRef::new("c2f1a6de"),
            answers: vec![
                ("/task/result/c2f1a6de", json!({ "task-id": "c2f1a6de", "state": "PENDING", "result": null })),
                (
                    "/task/info/c2f1a6de",
                    json!({ "uuid": "c2f1a6de", "name": "tasks.add", "state": "RECEIVED", "received": 1_785_240_000.5, "args": "(1, 2)", "kwargs": "{}" }),
                ),
            ],
        },
    ]
}
