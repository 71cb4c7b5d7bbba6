//! What the gateway counts of its own work, and how it is written out: OpenMetrics text, as Prometheus reads it.
//!
//! [`Metrics`] is a value that is handed to whoever has something to count; there is no global one. A label is a name of the
//! configuration or one of a fixed set of words, so the number of series is bounded by what the operator wrote: no task, principal,
//! job, address or text from outside is ever part of one.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::domain::ProviderName;

/// The media type of [`Metrics::to_text`] (OpenMetrics 1.0, section "Content-Type").
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All counters of one process. Clones count together.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    deliveries: Family<Delivery, Counter>,
}

/// What tells one series of deliveries from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Delivery {
    provider: String,
    verdict: &'static str,
}

impl Metrics {
    /// Counters that stand at nothing.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("jobgate");
        let deliveries = Family::<Delivery, Counter>::default();
        registry.register("webhook_deliveries", "Deliveries to the webhook receiver, by what became of them", deliveries.clone());
        Self { registry: Arc::new(registry), deliveries }
    }

    /// Counts a delivery on the route of a configured provider. `verdict` is what became of it, of a fixed set of words.
    pub fn delivery(&self, provider: &ProviderName, verdict: &'static str) {
        self.deliveries.get_or_create(&Delivery { provider: provider.as_str().to_owned(), verdict }).inc();
    }

    /// Counts a delivery that came to no provider of ours; the name that it asked for is not told, because anybody may make one up.
    pub fn stray_delivery(&self, verdict: &'static str) {
        self.deliveries.get_or_create(&Delivery { provider: String::new(), verdict }).inc();
    }

    /// Everything that was counted so far, as OpenMetrics text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut written = String::new();
        text::encode(&mut written, &self.registry).expect("a string takes what is written");
        written
    }
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

    /// L2: what became of deliveries, a provider apart; clones count together.
    #[test]
    fn deliveries_are_counted_by_provider_and_verdict() {
        let metrics = Metrics::new();
        let farm = ProviderName::new("farm");
        metrics.delivery(&farm, "applied");
        metrics.clone().delivery(&farm, "applied");
        metrics.delivery(&farm, "bad_signature");
        metrics.stray_delivery("no_such_provider");
        let text = metrics.to_text();
        for line in [
            "# TYPE jobgate_webhook_deliveries counter",
            "jobgate_webhook_deliveries_total{provider=\"farm\",verdict=\"applied\"} 2",
            "jobgate_webhook_deliveries_total{provider=\"farm\",verdict=\"bad_signature\"} 1",
            "jobgate_webhook_deliveries_total{provider=\"\",verdict=\"no_such_provider\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "`{line}` is missing in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
