//! From a run's snapshot to what the gateway sees of the job.

use jobgate_adapter_api::{InputKind, InputRequest, JobFailure, JobState, Observation, Progress, Timestamp};

use crate::asl::{Question, Snapshot, Status};

/// Characters of a message for people; a sentence longer than this is cut.
const LONGEST_MESSAGE: usize = 200;
/// Characters of a failure's cause.
const LONGEST_CAUSE: usize = 1000;

/// What a look at `now` shows of the job.
pub(crate) fn observe(snapshot: Snapshot, now: Timestamp) -> Observation {
    let state = match snapshot.status {
        Status::Queued => JobState::Queued,
        Status::Running => JobState::Running,
        Status::Waiting(questions) => JobState::InputRequired(questions.into_iter().map(request).collect()),
        Status::Succeeded(output) => JobState::ended_with(output),
        Status::Failed { error, cause } => {
            let message = if cause.is_empty() { format!("failed with {error}") } else { cut(&cause, LONGEST_CAUSE) };
            JobState::Failed(JobFailure { code: Some(error), ..JobFailure::new(message) })
        }
        Status::Cancelled => JobState::Cancelled,
    };
    let mut seen = Observation::new(state);
    if !snapshot.stages.is_empty() {
        seen.message = Some(cut(&snapshot.stages.join(", "), LONGEST_MESSAGE));
    }
    seen.progress = snapshot.counts.map(|counts| Progress { done: counts.done, total: counts.total });
    seen.next_poll = snapshot.next_change.map(|at| at.since(now));
    seen
}

fn request(question: Question) -> InputRequest {
    let kind = match question.url {
        Some(url) => InputKind::Url { url },
        None => InputKind::Form { schema: question.form },
    };
    InputRequest { key: question.key, message: question.message, kind }
}

/// The first characters of a text, with `…` where some are left out.
fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest { text.to_owned() } else { text.chars().take(longest - 1).chain(['…']).collect() }
}
