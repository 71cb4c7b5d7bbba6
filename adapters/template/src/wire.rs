//! The service's own JSON, and what it means here.

use jobgate_adapter_api::{JobFailure, JobOutput, JobState, Observation, Progress};
use serde::Deserialize;
use serde_json::{Number, Value};

/// A job, as the service shows it.
#[derive(Debug, Deserialize)]
pub(crate) struct WireJob {
    /// A number past 2^53: kept digit for digit.
    id: Number,
    status: String,
    progress: Option<WireProgress>,
    result: Option<Value>,
    error: Option<WireError>,
}

#[derive(Debug, Deserialize)]
struct WireProgress {
    done: f64,
    total: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct WireError {
    code: Option<String>,
}

/// A delivery: the job is under `job`, as `GET` shows it. Other kinds of events have other fields.
#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
pub(crate) enum WireDelivery {
    #[serde(rename = "job.updated")]
    JobUpdated { job: WireJob },
    #[serde(rename = "ping")]
    Ping,
}

impl WireJob {
    pub(crate) fn id(&self) -> String {
        self.id.to_string()
    }

    /// Every word that the service documents, and `Unrecognized` for those it will invent.
    pub(crate) fn observation(self) -> Observation {
        let state = match self.status.as_str() {
            "queued" => JobState::Queued,
            "running" => JobState::Running,
            "succeeded" => JobState::Succeeded(output(self.result)),
            "failed" => JobState::Failed(failure(self.error)),
            "cancelled" => JobState::Cancelled,
            _ => JobState::Unrecognized(self.status),
        };
        let seen = Observation::new(state);
        match self.progress {
            Some(WireProgress { done, total }) => seen.with_progress(Progress { done, total }),
            None => seen,
        }
    }
}

fn output(result: Option<Value>) -> JobOutput {
    match result {
        Some(data) => JobOutput::text(data.to_string()).with_data(data),
        None => JobOutput::text("The job ended well."),
    }
}

/// The service's error words are documented, its sentences are not: only the words go to the caller.
fn failure(error: Option<WireError>) -> JobFailure {
    let code = error.and_then(|error| error.code);
    let message = match code.as_deref() {
        Some("E_DISK") => "The job failed: the disk is full.",
        _ => "The job failed.",
    };
    JobFailure { code, ..JobFailure::new(message) }
}
