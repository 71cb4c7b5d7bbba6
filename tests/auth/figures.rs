//! `GET /metrics`: who may read it, that it is OpenMetrics, that it names nobody, and that it moves with what happens.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jobgate_test_support::wait;
use serde_json::json;

use crate::gate::{Gate, read, token};

const LIMIT: Duration = Duration::from_secs(30);
/// The labels that there are; a new one has to be bounded by the configuration, too.
const LABELS: [&str; 11] =
    ["provider", "tool", "status", "reason", "event", "cause", "operation", "outcome", "limit", "version", "le"];

/// The samples of a scrape by name and labels.
#[derive(Debug)]
struct Scrape(BTreeMap<String, f64>);

impl Scrape {
    /// Reads OpenMetrics text; panics where it is none (OpenMetrics 1.0, "ABNF").
    fn parse(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").unwrap_or_else(|| panic!("no end in {text}"));
        let mut families: BTreeMap<&str, &str> = BTreeMap::new();
        let mut samples = BTreeMap::new();
        for line in body.lines() {
            if let Some(of) = line.strip_prefix("# TYPE ") {
                let (name, kind) = of.split_once(' ').unwrap();
                assert!(families.insert(name, kind).is_none(), "{name} is declared twice");
                continue;
            }
            if line.starts_with("# HELP ") || line.starts_with("# UNIT ") {
                continue;
            }
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
            let (name, labels) =
                series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.strip_suffix('}').unwrap()));
            let suffixes: &[(&str, &str)] = &[
                ("_total", "counter"),
                ("_bucket", "histogram"),
                ("_count", "histogram"),
                ("_sum", "histogram"),
                ("_info", "info"),
                ("", "gauge"),
            ];
            let declared = suffixes
                .iter()
                .any(|(suffix, kind)| name.strip_suffix(suffix).is_some_and(|family| families.get(family) == Some(kind)));
            assert!(declared, "{name} was not declared");
            for label in labels.split(',').filter(|label| !label.is_empty()) {
                let (label, value) = label.split_once('=').unwrap();
                assert!(LABELS.contains(&label), "{label} is no label that is known to be bounded: {line}");
                assert!(value.len() > 1 && value.starts_with('"') && value.ends_with('"'), "{line}");
            }
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            assert!(samples.insert(series.to_owned(), value).is_none(), "{series} comes twice");
        }
        Self(samples)
    }

    /// A series that was never counted is nothing.
    fn of(&self, series: &str) -> f64 {
        self.0.get(series).copied().unwrap_or_default()
    }

    fn values(&self, label: &str) -> BTreeSet<&str> {
        let parts = self.0.keys().flat_map(|series| series.split(['{', ',', '}']));
        parts.filter_map(|part| part.strip_prefix(label)?.strip_prefix("=\"")?.strip_suffix('"')).collect()
    }
}

async fn scrape(gate: &Gate) -> Scrape {
    let response = gate.send("GET", "/metrics", &[], None).await;
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let answer = read(response).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    Scrape::parse(&answer.text)
}

/// L2: calls, tasks and refusals are counted as they happen.
#[tokio::test(flavor = "multi_thread")]
async fn figures_move_with_what_happens() {
    let gate = Gate::with("limits: { lists: { count: 1, per: 30s, burst: 1 } }").await;
    let before = scrape(&gate).await;
    assert_eq!(before.of("jobgate_tasks{status=\"working\"}"), 0.0);
    assert_eq!(before.of(concat!("jobgate_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"}")), 1.0);

    let task = gate.start("ann").await;
    gate.start("bob").await;
    let running = scrape(&gate).await;
    for (series, expected) in [
        ("jobgate_tasks{status=\"working\"}", 2.0),
        ("jobgate_tasks_created_total{provider=\"farm\",tool=\"render\"}", 2.0),
        ("jobgate_provider_calls_total{provider=\"farm\",operation=\"submit\",outcome=\"ok\"}", 2.0),
        ("jobgate_provider_call_seconds_count{provider=\"farm\",operation=\"submit\"}", 2.0),
        ("jobgate_task_accept_seconds_count{provider=\"farm\"}", 2.0),
        ("jobgate_task_events_total{provider=\"farm\",event=\"accepted\",cause=\"submit\"}", 2.0),
        ("jobgate_backlog_seconds{provider=\"farm\"}", 0.0),
    ] {
        assert_eq!(running.of(series), expected, "{series} in {running:#?}");
    }
    assert!(running.of("jobgate_store_bytes") > 0.0);
    // Each of two tasks: its creation, and the job that was accepted.
    assert!(running.of("jobgate_store_write_seconds_count") >= 4.0, "{running:#?}");

    assert_eq!(gate.modern("ann", "tasks/cancel", json!({ "taskId": task })).await.status, 200);
    let ended = "jobgate_tasks_ended_total{provider=\"farm\",tool=\"render\",status=\"cancelled\",reason=\"cancelled\"}";
    wait::until_async("the end to be counted", LIMIT, async || {
        gate.clock.advance(Duration::from_secs(1));
        (scrape(&gate).await.of(ended) == 1.0).then_some(())
    })
    .await;
    let cancelled = scrape(&gate).await;
    assert_eq!(cancelled.of("jobgate_tasks{status=\"cancelled\"}"), 1.0);
    assert_eq!(cancelled.of("jobgate_tasks{status=\"working\"}"), 1.0);
    assert_eq!(cancelled.of("jobgate_task_duration_seconds_count{provider=\"farm\",tool=\"render\"}"), 1.0);
    assert!(cancelled.of("jobgate_provider_calls_total{provider=\"farm\",operation=\"cancel\",outcome=\"ok\"}") >= 1.0);

    let lists = "jobgate_requests_refused_total{limit=\"lists\"}";
    assert_eq!(cancelled.of(lists), 0.0);
    for _ in 0..3 {
        gate.modern("bob", "tools/list", json!({})).await;
    }
    assert_eq!(scrape(&gate).await.of(lists), 2.0);
    gate.stop().await;
}

/// L2: an open stream shows, and is gone with its client.
#[tokio::test(flavor = "multi_thread")]
async fn open_streams_show_while_they_are_open() {
    let gate = Gate::new().await;
    let task = gate.start("ann").await;
    let filter = json!({ "notifications": { "taskIds": [task] } });
    let stream = gate.open("ann", crate::gate::MODERN, "subscriptions/listen", filter).await;
    assert_eq!(scrape(&gate).await.of("jobgate_streams_open"), 1.0);
    drop(stream);
    wait::until_async("the stream to be gone", LIMIT, async || {
        (scrape(&gate).await.of("jobgate_streams_open") == 0.0).then_some(())
    })
    .await;
    gate.stop().await;
}

/// I1, L2: no label grows with what callers do, and none names a caller, a task or a job, whatever was sent.
#[tokio::test(flavor = "multi_thread")]
async fn labels_are_bounded_and_name_nobody() {
    let gate = Gate::new().await;
    let mut tasks = Vec::new();
    for holder in ["ann", "bob", "eve"] {
        tasks.push(gate.start(holder).await);
    }
    gate.modern("ann", "tools/call", json!({ "name": "made_up", "arguments": {} })).await;
    gate.modern("ann", "made/up", json!({})).await;
    gate.modern("ann", "tasks/cancel", json!({ "taskId": tasks[0] })).await;
    read(gate.send("POST", "/hooks/made_up", &[], Some("{}".to_owned())).await).await;
    read(gate.send("GET", "/made_up", &[("authorization", "Bearer made_up")], None).await).await;
    let response = read(gate.send("GET", "/metrics", &[], None).await).await;
    let text = &response.text;
    for strange in
        ["made_up", "acme", "ann", "bob", "eve", "jg_test", "127.0.0.1"].into_iter().chain(tasks.iter().map(|id| &**id))
    {
        let whole = text.split(|letter: char| !(letter.is_alphanumeric() || "_.".contains(letter))).any(|word| word == strange);
        assert!(!whole, "{strange} is in\n{text}");
    }
    let scrape = Scrape::parse(text);
    assert!(scrape.values("provider").into_iter().all(|provider| ["farm", ""].contains(&provider)), "{text}");
    assert!(scrape.values("tool").into_iter().all(|tool| ["render", "deploy"].contains(&tool)), "{text}");
    let words = ["status", "reason", "event", "cause", "operation", "outcome", "limit"];
    for word in words.iter().flat_map(|label| scrape.values(label)) {
        assert!(word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{word} in\n{text}");
    }
    gate.stop().await;
}

/// L2: figures are for programs on this machine and for admins; what a proxy hands on is not from this machine.
#[tokio::test(flavor = "multi_thread")]
async fn figures_are_for_this_machine_and_for_admins() {
    let gate = Gate::new().await;
    let from = |holder: &'static str| {
        let bearer = format!("Bearer {}", token(holder));
        let gate = &gate;
        async move { read(gate.send("GET", "/metrics", &[("via", "1.1 proxy"), ("authorization", &bearer)], None).await).await }
    };
    assert_eq!(read(gate.send("GET", "/metrics", &[], None).await).await.status, 200);
    for proxied in [("x-forwarded-for", "203.0.113.9"), ("forwarded", "for=203.0.113.9"), ("via", "1.1 proxy")] {
        let answer = read(gate.send("GET", "/metrics", &[proxied], None).await).await;
        assert_eq!((answer.status, answer.challenge.as_deref()), (401, Some("Bearer realm=\"jobgate\"")), "{answer:?}");
        assert!(!answer.text.contains("jobgate_tasks"), "{answer:?}");
    }
    let (admin, plain, unknown) = (from("root").await, from("ann").await, from("nobody").await);
    assert_eq!((admin.status, plain.status, unknown.status), (200, 403, 401));
    assert!(plain.text.contains("admin: true"), "{plain:?}");
    let page = read(gate.send("GET", "/metrics", &[("origin", "https://evil.example")], None).await).await;
    assert_eq!(page.status, 403);
    let rebound = read(gate.send("GET", "/metrics", &[("host", "evil.example")], None).await).await;
    assert_eq!(rebound.status, 421);
    assert_eq!(read(gate.send("POST", "/metrics", &[], Some("{}".to_owned())).await).await.status, 405);
    gate.stop().await;
}

/// L5: a token that is wrong here is counted like one that is wrong elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn guesses_of_tokens_are_limited_here_too() {
    let gate = Gate::with("limits: { bad_tokens: { count: 1, per: 30s, burst: 2 } }").await;
    let guess = || async { read(gate.send("GET", "/metrics", &[("via", "1.1 proxy")], None).await).await };
    assert_eq!((guess().await.status, guess().await.status), (401, 401));
    let limited = guess().await;
    assert_eq!((limited.status, limited.retry_after.as_deref()), (429, Some("30")));
    gate.stop().await;
}
