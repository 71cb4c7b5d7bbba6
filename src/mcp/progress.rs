//! Progress notifications: one number a token, and it only grows (MCP, "Progress").

use bytes::Bytes;
use serde_json::value::RawValue;

use super::jsonrpc;
use super::wire::ProgressParams;
use crate::domain::Task;
use crate::engine::Update;

/// What a heart-beat adds to a provider's own count, so that the number grows and the next real count is still above it.
const NUDGE: f64 = 0.001;

/// The notifications for one token.
#[derive(Debug)]
pub(crate) struct Progressing {
    token: Box<RawValue>,
    last: Option<f64>,
    message: Option<String>,
    /// Whether the provider counts.
    counted: Option<Option<f64>>,
}

impl Progressing {
    pub(crate) const fn new(token: Box<RawValue>) -> Self {
        Self { token, last: None, message: None, counted: None }
    }

    /// The token, as it was written.
    pub(crate) fn token(&self) -> &RawValue {
        &self.token
    }

    /// The notification of a change, if it is one.
    pub(crate) fn notification(&mut self, update: &Update) -> Option<Bytes> {
        let (progress, total) = match update.progress {
            Some(counts) => (counts.done, counts.total),
            // Where nobody counts, the notifications themselves are counted.
            None => (self.last.map_or(0.0, |last| last + 1.0), None),
        };
        if self.last.is_some_and(|last| progress <= last) {
            return None;
        }
        self.counted = update.progress.map(|counts| counts.total);
        self.message.clone_from(&update.message);
        Some(self.say(progress, total))
    }

    /// The notification that nothing has changed, for clients whose patience ends where they hear nothing.
    pub(crate) fn heartbeat(&mut self) -> Bytes {
        let (step, total) = match self.counted {
            Some(total) => (NUDGE, total),
            None => (1.0, None),
        };
        self.say(self.last.map_or(0.0, |last| last + step), total)
    }

    fn say(&mut self, progress: f64, total: Option<f64>) -> Bytes {
        self.last = Some(progress);
        let params = ProgressParams { progress_token: &self.token, progress, total, message: self.message.as_deref() };
        jsonrpc::notification("notifications/progress", &params)
    }
}

/// What there is to say of a task's progress.
pub(crate) fn update_of(task: &Task) -> Update {
    Update { message: task.message.clone(), progress: task.progress }
}

#[cfg(test)]
mod tests {
    use jobgate_adapter_api::Progress;
    use serde_json::Value;

    use super::*;

    fn number(bytes: &Bytes) -> f64 {
        let message: Value = serde_json::from_slice(bytes).unwrap();
        message["params"]["progress"].as_f64().unwrap()
    }

    /// D4: whatever a provider counts, and however often nothing happens, the number grows.
    #[test]
    fn the_number_only_grows() {
        let mut progress = Progressing::new(serde_json::value::to_raw_value("t").unwrap());
        let counted = |done: f64| Update { message: None, progress: Some(Progress { done, total: Some(10.0) }) };
        assert!((number(&progress.notification(&counted(3.0)).unwrap()) - 3.0).abs() < f64::EPSILON);
        assert!(progress.notification(&counted(3.0)).is_none());
        assert!(progress.notification(&counted(2.0)).is_none());
        let beat = number(&progress.heartbeat());
        assert!(beat > 3.0 && beat < 4.0);
        assert!(number(&progress.heartbeat()) > beat);
        assert!((number(&progress.notification(&counted(4.0)).unwrap()) - 4.0).abs() < f64::EPSILON);
        assert!((number(&progress.notification(&Update { message: None, progress: None }).unwrap()) - 5.0).abs() < f64::EPSILON);
    }
}
