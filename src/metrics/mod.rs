//! What the gateway counts of its own work, and how it is written out: OpenMetrics text, as Prometheus reads it.
//!
//! [`Metrics`] is a value that is handed to whoever has something to count; there is no global one. A label is a name of the
//! configuration or one of a fixed set of words, so the number of series is bounded by what the operator wrote: no task, principal,
//! job, address or text from outside is ever part of one. What is counted is told as it happens; what only stands somewhere, as the
//! number of tasks, is looked up when somebody asks ([`Standing`]).

mod labels;
mod series;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use self::labels::{Call, Delivery, End, Event, OfLimit, OfProvider, OfStatus, Operation, Tool};
use self::series::Series;
use crate::domain::{Outcome, ProviderName, Status, Task, TaskState, ToolName};

/// The media type of [`Metrics::to_text`] (OpenMetrics 1.0, section "Content-Type").
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All counters of one process. Clones count together.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    series: Arc<Series>,
}

/// What stands at the moment of a look.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The tasks that are stored, by status.
    pub tasks: Vec<(Status, u64)>,
    /// By provider, how long the task that waits the longest to be worked on has been due.
    pub lag: Vec<(ProviderName, Duration)>,
    /// Whether a provider's webhook is relied upon, and how many of its deliveries were forgotten because their job never became known;
    /// only providers that have one.
    pub webhooks: Vec<(ProviderName, bool, u64)>,
    /// Refusals since the start, by the limit's word.
    pub refused: Vec<(&'static str, u64)>,
    /// Streams that are open.
    pub streams: u64,
    /// Requests that wait for a task's end.
    pub waiters: u64,
    /// Bytes of the store's files.
    pub store_bytes: u64,
}

impl Metrics {
    /// Counters that stand at nothing.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("jobgate");
        let series = Arc::new(Series::register(&mut registry));
        Self { registry: Arc::new(registry), series }
    }

    /// Counts a delivery on the route of a configured provider. `verdict` is what became of it, of a fixed set of words.
    pub fn delivery(&self, provider: &ProviderName, verdict: &'static str) {
        self.series.deliveries.get_or_create(&Delivery { provider: text_of(provider), verdict }).inc();
    }

    /// Counts a delivery that came to no provider of ours; the name that it asked for is not told, because anybody may make one up.
    pub fn stray_delivery(&self, verdict: &'static str) {
        self.series.deliveries.get_or_create(&Delivery { provider: String::new(), verdict }).inc();
    }

    /// Counts a call to a provider. `outcome` is `ok` or the word for its failure.
    pub fn call(&self, provider: &ProviderName, operation: &'static str, outcome: &'static str, took: Duration) {
        let provider = text_of(provider);
        let kind = Operation { provider: provider.clone(), operation };
        self.series.call_seconds.get_or_create(&kind).observe(took.as_secs_f64());
        self.series.calls.get_or_create(&Call { provider, operation, outcome }).inc();
    }

    /// Counts a task that was made.
    pub fn created(&self, provider: &ProviderName, tool: &ToolName) {
        self.series.created.get_or_create(&Tool { provider: text_of(provider), tool: tool.as_str().to_owned() }).inc();
    }

    /// Counts what a change of a task brought: its acceptance by the provider, its end.
    pub fn changed(&self, before: &Task, now: &Task) {
        let waits = matches!(before.state, TaskState::Submitting { .. });
        let runs = matches!(now.state, TaskState::Running { .. } | TaskState::InputRequired { .. } | TaskState::Keeping { .. });
        if waits && runs {
            let waited = now.updated_at.since(now.created_at).as_secs_f64();
            self.series.accept_seconds.get_or_create(&OfProvider { provider: text_of(&now.provider) }).observe(waited);
        }
        let TaskState::Ended { outcome, at, .. } = &now.state else { return };
        if before.is_ended() {
            return;
        }
        let (provider, tool) = (text_of(&now.provider), now.tool.as_str().to_owned());
        let ran = at.since(now.created_at).as_secs_f64();
        self.series.task_seconds.get_or_create(&Tool { provider: provider.clone(), tool: tool.clone() }).observe(ran);
        let end = End { provider, tool, status: now.status().as_str(), reason: reason(outcome) };
        self.series.ended.get_or_create(&end).inc();
    }

    /// Counts something that happened to a task of this provider: the event's name, and the word for what brought it.
    pub fn event(&self, provider: &ProviderName, event: &'static str, cause: &'static str) {
        self.series.events.get_or_create(&Event { provider: text_of(provider), event, cause }).inc();
    }

    /// Counts a write of the store that took so long until it was on the disk.
    pub fn stored(&self, took: Duration) {
        self.series.write_seconds.observe(took.as_secs_f64());
    }

    /// Everything that was counted so far and what stands now, as OpenMetrics text.
    #[must_use]
    pub fn to_text(&self, standing: &Standing) -> String {
        self.stand(standing);
        let mut written = String::new();
        text::encode(&mut written, &self.registry).expect("a string takes what is written");
        written
    }

    fn stand(&self, standing: &Standing) {
        let series = &*self.series;
        let gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for (status, count) in &standing.tasks {
            series.tasks.get_or_create(&OfStatus { status: status.as_str() }).set(gauge(*count));
        }
        for (provider, lag) in &standing.lag {
            series.lag.get_or_create(&OfProvider { provider: text_of(provider) }).set(lag.as_secs_f64());
        }
        for (provider, healthy, forgotten) in &standing.webhooks {
            let provider = OfProvider { provider: text_of(provider) };
            series.webhooks.get_or_create(&provider).set(i64::from(*healthy));
            series.forgotten.get_or_create(&provider).inner().store(*forgotten, Ordering::Relaxed);
        }
        for (limit, refused) in &standing.refused {
            series.refused.get_or_create(&OfLimit { limit }).inner().store(*refused, Ordering::Relaxed);
        }
        series.streams.set(gauge(standing.streams));
        series.waiters.set(gauge(standing.waiters));
        series.store_bytes.set(gauge(standing.store_bytes));
    }
}

/// Why a task ended as it did, in one word.
const fn reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Result(_) => "result",
        Outcome::Error(error) => error.category.as_str(),
        Outcome::Cancelled => "cancelled",
    }
}

fn text_of(provider: &ProviderName) -> String {
    provider.as_str().to_owned()
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Not its series: they are many, and there is text for that.
impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{IdempotencyKey, JobRef, NewTask, Principal, TaskId, Timestamp};

    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|it| it == line), "`{line}` is missing in\n{text}");
    }

    /// L2: what became of deliveries, a provider apart; clones count together.
    #[test]
    fn deliveries_are_counted_by_provider_and_verdict() {
        let metrics = Metrics::new();
        let farm = ProviderName::new("farm");
        metrics.delivery(&farm, "applied");
        metrics.clone().delivery(&farm, "applied");
        metrics.delivery(&farm, "bad_signature");
        metrics.stray_delivery("no_such_provider");
        let text = metrics.to_text(&Standing::default());
        has(&text, "# TYPE jobgate_webhook_deliveries counter");
        has(&text, "jobgate_webhook_deliveries_total{provider=\"farm\",verdict=\"applied\"} 2");
        has(&text, "jobgate_webhook_deliveries_total{provider=\"farm\",verdict=\"bad_signature\"} 1");
        has(&text, "jobgate_webhook_deliveries_total{provider=\"\",verdict=\"no_such_provider\"} 1");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    /// L2: calls by outcome, with how long they took.
    #[test]
    fn calls_have_an_outcome_and_a_duration() {
        let metrics = Metrics::new();
        let farm = ProviderName::new("farm");
        metrics.call(&farm, "poll", "ok", Duration::from_millis(20));
        metrics.call(&farm, "poll", "unavailable", Duration::from_secs(90));
        let text = metrics.to_text(&Standing::default());
        has(&text, "jobgate_provider_calls_total{provider=\"farm\",operation=\"poll\",outcome=\"ok\"} 1");
        has(&text, "jobgate_provider_calls_total{provider=\"farm\",operation=\"poll\",outcome=\"unavailable\"} 1");
        has(&text, "jobgate_provider_call_seconds_count{provider=\"farm\",operation=\"poll\"} 2");
        has(&text, "jobgate_provider_call_seconds_bucket{le=\"0.025\",provider=\"farm\",operation=\"poll\"} 1");
        has(&text, "jobgate_provider_call_seconds_bucket{le=\"+Inf\",provider=\"farm\",operation=\"poll\"} 2");
    }

    /// L3: the document tells of every series there is, and of none that there is not.
    #[test]
    fn the_document_names_every_series() {
        let written = every_series();
        let families = written.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        let mut there: Vec<String> = families
            .map(|family| match family.split_once(' ') {
                Some((name, "counter")) => format!("{name}_total"),
                Some((name, "info")) => format!("{name}_info"),
                Some((name, _)) => name.to_owned(),
                None => panic!("{family}"),
            })
            .collect();
        there.sort();
        let document = include_str!("../../docs/operating.md");
        let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let mut told: Vec<&str> = rows.map(|(name, _)| name).filter(|name| name.starts_with("jobgate_")).collect();
        told.sort_unstable();
        assert_eq!(told, there);
        // What alerts ask for is there, too.
        let names = document.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        for name in names.filter(|name| name.starts_with("jobgate_")) {
            let family = name.strip_suffix("_bucket").unwrap_or(name);
            assert!(there.iter().any(|it| it == family), "{name} in docs/operating.md is no series");
        }
    }

    /// Text in which each family has a sample.
    fn every_series() -> String {
        let (metrics, farm) = (Metrics::new(), ProviderName::new("farm"));
        metrics.delivery(&farm, "applied");
        metrics.call(&farm, "poll", "ok", Duration::ZERO);
        metrics.created(&farm, &ToolName::new("render"));
        metrics.event(&farm, "observed", "poll");
        metrics.stored(Duration::ZERO);
        let new = NewTask {
            id: TaskId::from_bytes([7; 16]),
            owner: Principal::local(),
            tool: ToolName::new("render"),
            provider: farm.clone(),
            arguments: Arc::default(),
            caller_key: None,
            submit_key: IdempotencyKey::new("key"),
            created_at: Timestamp::from_millis(0),
            ttl: None,
            deadline_at: Timestamp::from_millis(1),
        };
        let waits = Task::new(new);
        let runs = Task { state: TaskState::Running { job: JobRef::new("job") }, ..waits.clone() };
        let state = TaskState::Ended { job: None, outcome: Outcome::Cancelled, at: Timestamp::from_millis(5) };
        let ended = Task { state, ..runs.clone() };
        metrics.changed(&waits, &runs);
        metrics.changed(&runs, &ended);
        metrics.to_text(&Standing {
            tasks: vec![(Status::Working, 1)],
            lag: vec![(farm.clone(), Duration::ZERO)],
            webhooks: vec![(farm, true, 1)],
            refused: vec![("polls", 1)],
            ..Standing::default()
        })
    }

    /// What stands is replaced at every look, and what was refused elsewhere is a counter here.
    #[test]
    fn what_stands_is_told_as_it_is_now() {
        let metrics = Metrics::new();
        let farm = ProviderName::new("farm");
        let mut standing = Standing {
            tasks: vec![(Status::Working, 3), (Status::InputRequired, 0)],
            lag: vec![(farm.clone(), Duration::from_millis(1500))],
            webhooks: vec![(farm, true, 2)],
            refused: vec![("polls", 7)],
            streams: 2,
            waiters: 1,
            store_bytes: 4096,
        };
        let text = metrics.to_text(&standing);
        for line in [
            "jobgate_tasks{status=\"working\"} 3",
            "jobgate_tasks{status=\"input_required\"} 0",
            "jobgate_backlog_seconds{provider=\"farm\"} 1.5",
            "jobgate_webhook_healthy{provider=\"farm\"} 1",
            "jobgate_webhook_forgotten_total{provider=\"farm\"} 2",
            "jobgate_requests_refused_total{limit=\"polls\"} 7",
            "jobgate_streams_open 2",
            "jobgate_waiters 1",
            "jobgate_store_bytes 4096",
        ] {
            has(&text, line);
        }
        standing.tasks[0].1 = 0;
        has(&metrics.to_text(&standing), "jobgate_tasks{status=\"working\"} 0");
        let version = env!("CARGO_PKG_VERSION");
        has(&text, &format!("jobgate_build_info{{version=\"{version}\"}} 1"));
    }
}
