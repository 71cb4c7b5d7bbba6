//! From a run's snapshot to what the gateway sees of the job.

use jobgate_adapter_api::{
    Artifact, InputKind, InputRequest, JobFailure, JobOutput, JobState, Observation, Part, Progress, Timestamp,
};
use serde_json::Value;

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
        Status::Succeeded(output) => ended(output),
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

/// A run's output: `content` and `structuredContent` as they are, a text as a text, anything else as compact JSON and as data.
/// An output with `isError: true` is a failure that left something behind.
fn ended(output: Value) -> JobState {
    let Some(parts) =
        output.get("content").and_then(Value::as_array).and_then(|blocks| blocks.iter().map(part).collect::<Option<Vec<_>>>())
    else {
        return JobState::Succeeded(match output {
            Value::String(text) => JobOutput::text(text),
            other => JobOutput::text(other.to_string()).with_data(other),
        });
    };
    let artifacts = output.get("artifacts").and_then(Value::as_array).into_iter().flatten().filter_map(artifact).collect();
    let given = JobOutput { parts, data: output.get("structuredContent").cloned(), artifacts };
    if output.get("isError") != Some(&Value::Bool(true)) {
        return JobState::Succeeded(given);
    }
    let said = given.parts.iter().find_map(|part| match part {
        Part::Text(text) => Some(cut(text, LONGEST_CAUSE)),
        Part::Image { .. } | Part::Audio { .. } | Part::Link { .. } | Part::Embedded { .. } => None,
    });
    JobState::Failed(JobFailure { output: given, ..JobFailure::new(said.unwrap_or_else(|| "the job failed".to_owned())) })
}

/// A file for the gateway to keep, in the words of a resource link; `None` for what is none. Only a `data:` address can be kept: there is
/// nobody to ask for another one.
fn artifact(described: &Value) -> Option<Artifact> {
    let text = |key: &str| described.get(key).and_then(Value::as_str).map(str::to_owned);
    let (mime_type, description) = (text("mimeType"), text("description"));
    Some(Artifact { mime_type, description, ..Artifact::new(text("uri")?, text("name")?) })
}

/// One block in the words of MCP; `None` for what is none.
fn part(block: &Value) -> Option<Part> {
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(match block.get("type")?.as_str()? {
        "text" => Part::Text(text(block, "text")?),
        "image" => Part::Image { data: text(block, "data")?, mime_type: text(block, "mimeType")? },
        "audio" => Part::Audio { data: text(block, "data")?, mime_type: text(block, "mimeType")? },
        "resource_link" => Part::Link {
            uri: text(block, "uri")?,
            name: text(block, "name")?,
            mime_type: text(block, "mimeType"),
            description: text(block, "description"),
            size: block.get("size").and_then(Value::as_u64),
        },
        "resource" => {
            let resource = block.get("resource")?;
            Part::Embedded { uri: text(resource, "uri")?, mime_type: text(resource, "mimeType"), text: text(resource, "text")? }
        }
        _ => return None,
    })
}

/// The first characters of a text, with `…` where some are left out.
fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest { text.to_owned() } else { text.chars().take(longest - 1).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_of_every_type_become_parts_and_structured_content_becomes_data() {
        let output = json!({
            "content": [
                {"type": "text", "text": "done"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"},
                {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
                {"type": "resource_link", "uri": "https://x.example/a.mp4", "name": "a.mp4", "size": 12},
                {"type": "resource", "resource": {"uri": "log://1", "text": "line"}}
            ],
            "structuredContent": {"n": 1}
        });
        let JobState::Succeeded(given) = ended(output) else { panic!("a failure") };
        assert_eq!(given.data, Some(json!({"n": 1})));
        assert_eq!(given.parts.len(), 5);
        assert_eq!(given.parts[0], Part::Text("done".to_owned()));
        assert!(matches!(&given.parts[3], Part::Link { size: Some(12), mime_type: None, .. }));
    }

    #[test]
    fn other_outputs_become_a_text_and_data() {
        assert_eq!(ended(json!("hello")), JobState::Succeeded(JobOutput::text("hello")));
        assert_eq!(ended(json!({"a": [1]})), JobState::Succeeded(JobOutput::text(r#"{"a":[1]}"#).with_data(json!({"a": [1]}))));
        let odd = json!({"content": [{"type": "hologram"}]});
        assert_eq!(ended(odd.clone()), JobState::Succeeded(JobOutput::text(odd.to_string()).with_data(odd)));
    }

    #[test]
    fn an_output_that_says_it_is_an_error_is_a_failure_with_what_it_left_behind() {
        let JobState::Failed(failure) =
            ended(json!({"isError": true, "content": [{"type": "text", "text": "3 rows were refused"}]}))
        else {
            panic!("no failure")
        };
        assert_eq!(failure.message, "3 rows were refused");
        assert_eq!(failure.output.parts.len(), 1);
    }
}
