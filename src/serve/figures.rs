//! What the process that holds the store has counted: the engine's work as it happens, the rest when somebody asks.

use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{ErrorKind, Operation};

use crate::domain::{Cause, Clock, ProviderName, Status, Task, TaskEvent};
use crate::engine::{Engine, Observer};
use crate::mcp::{LimitKind, Limits};
use crate::metrics::{Metrics, Standing};
use crate::store::sled::SledStore;
use crate::store::{StoreError, TaskStore as _};

const STATUSES: [Status; 5] = [Status::Working, Status::InputRequired, Status::Completed, Status::Failed, Status::Cancelled];

/// Counts what the engine does.
#[derive(Clone, Debug)]
pub(super) struct Counting(pub(super) Metrics);

impl Observer for Counting {
    fn called(&self, provider: &ProviderName, operation: Operation, failed: Option<ErrorKind>, took: Duration) {
        self.0.call(provider, operation.as_str(), failed.map_or("ok", ErrorKind::as_str), took);
    }

    fn stored(&self, took: Duration) {
        self.0.stored(took);
    }

    fn created(&self, task: &Task) {
        self.0.created(&task.provider, &task.tool);
    }

    fn changed(&self, before: &Task, now: &Task, happened: &[(TaskEvent, Cause)]) {
        for (event, cause) in happened {
            self.0.event(&now.provider, event.name(), word(cause));
        }
        self.0.changed(before, now);
    }
}

/// The kind of a cause; who it was stays out of it.
const fn word(cause: &Cause) -> &'static str {
    match cause {
        Cause::Caller(_) => "caller",
        Cause::Submit => "submit",
        Cause::Poll => "poll",
        Cause::Webhook => "webhook",
        Cause::Delivery => "delivery",
        Cause::Limit => "limit",
        Cause::Recovery => "recovery",
        Cause::Operator => "operator",
    }
}

/// All that figures are made of.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) metrics: Metrics,
    pub(super) store: Arc<SledStore>,
    pub(super) engine: Arc<Engine>,
    pub(super) limits: Arc<Limits>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Figures {
    /// As OpenMetrics text.
    pub(super) async fn text(&self) -> Result<String, String> {
        let standing = self.standing().await.map_err(|error| error.to_string())?;
        Ok(self.metrics.to_text(&standing))
    }

    async fn standing(&self) -> Result<Standing, StoreError> {
        let stats = self.store.stats().await?;
        let now = self.clock.now();
        let mut lag = Vec::new();
        for provider in self.store.providers().await? {
            let due = self.store.next_due(&provider).await?;
            lag.push((provider, due.map_or(Duration::ZERO, |due| now.since(due))));
        }
        let counters = self.limits.counters();
        Ok(Standing {
            tasks: STATUSES.map(|status| (status, stats.tasks(status))).into(),
            lag,
            webhooks: self.engine.webhook_health().into_iter().map(|(name, it)| (name, it.healthy, it.forgotten)).collect(),
            refused: LimitKind::ALL.map(|kind| (kind.as_str(), counters.refused(kind))).into(),
            streams: self.limits.open_streams(),
            waiters: self.limits.open_waiters(),
            store_bytes: stats.file_bytes,
        })
    }
}
