//! The series by name, with the sentence and the unit of each. `docs/operating.md` says what an operator does with them.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry, Unit};

use super::labels::{Call, Delivery, End, Event, OfLimit, OfProvider, OfStatus, Operation, Tool};

/// Bounds for one call to a provider, in seconds.
const CALLS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Bounds for the life of a task until its end, in seconds: from a moment to three days.
const TASKS: [f64; 12] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0, 259_200.0];
/// Bounds for a durable write, in seconds.
const WRITES: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];

/// All of them. A clone of each is in the registry.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) deliveries: Family<Delivery, Counter>,
    pub(super) calls: Family<Call, Counter>,
    pub(super) call_seconds: Family<Operation, Histogram>,
    pub(super) created: Family<Tool, Counter>,
    pub(super) ended: Family<End, Counter>,
    pub(super) accept_seconds: Family<OfProvider, Histogram>,
    pub(super) task_seconds: Family<Tool, Histogram>,
    pub(super) events: Family<Event, Counter>,
    pub(super) write_seconds: Histogram,
    pub(super) refused: Family<OfLimit, Counter>,
    pub(super) tasks: Family<OfStatus, Gauge>,
    pub(super) lag: Family<OfProvider, Gauge<f64, AtomicU64>>,
    pub(super) webhooks: Family<OfProvider, Gauge>,
    pub(super) forgotten: Family<OfProvider, Counter>,
    pub(super) streams: Gauge,
    pub(super) waiters: Gauge,
    pub(super) store_bytes: Gauge,
}

impl Series {
    /// Registers each. The suffixes of counters, histograms and units are the registry's own.
    pub(super) fn register(registry: &mut Registry) -> Self {
        registry.register("build", "The gateway that answers", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let mut all = Names(registry);
        let (seconds, bytes) = (Some(Unit::Seconds), Some(Unit::Bytes));
        Self {
            tasks: all.add("tasks", "Tasks in the store, by status", None, Family::default()),
            created: all.add("tasks_created", "Tasks that were made", None, Family::default()),
            ended: all.add("tasks_ended", "Tasks that ended, by status and why", None, Family::default()),
            accept_seconds: all.add("task_accept", "From a task's creation until its job is known", seconds.clone(), tasks()),
            task_seconds: all.add("task_duration", "From a task's creation to its end", seconds.clone(), tasks()),
            events: all.add("task_events", "What happened to tasks, by what brought it", None, Family::default()),
            calls: all.add("provider_calls", "Calls to providers, by how they ended", None, Family::default()),
            call_seconds: all.add("provider_call", "How long calls to providers took", seconds.clone(), calls()),
            lag: all.add("backlog", "How long the first task in line has been due", seconds.clone(), Family::default()),
            deliveries: all.add("webhook_deliveries", "Deliveries, by what became of them", None, Family::default()),
            webhooks: all.add("webhook_healthy", "Whether a provider's webhook is relied upon", None, Family::default()),
            forgotten: all.add("webhook_forgotten", "Early deliveries whose job never became known", None, Family::default()),
            refused: all.add("requests_refused", "Requests that a limit refused or slowed down", None, Family::default()),
            streams: all.add("streams_open", "Streams that are open", None, Gauge::default()),
            waiters: all.add("waiters", "Requests that wait for a task's end", None, Gauge::default()),
            write_seconds: all.add("store_write", "How long durable writes took", seconds, Histogram::new(WRITES)),
            store_bytes: all.add("store", "Bytes of the store's database files", bytes, Gauge::default()),
        }
    }
}

fn calls<L: Clone + Eq + std::hash::Hash>() -> Family<L, Histogram> {
    Family::new_with_constructor(|| Histogram::new(CALLS))
}

fn tasks<L: Clone + Eq + std::hash::Hash>() -> Family<L, Histogram> {
    Family::new_with_constructor(|| Histogram::new(TASKS))
}

/// Where series get their names.
struct Names<'a>(&'a mut Registry);

impl Names<'_> {
    fn add<M: Metric + Clone>(&mut self, name: &str, sentence: &str, unit: Option<Unit>, series: M) -> M {
        match unit {
            Some(unit) => self.0.register_with_unit(name, sentence, unit, series.clone()),
            None => self.0.register(name, sentence, series.clone()),
        }
        series
    }
}
