//! What a state machine hands on at its end, as a job's end.

use serde_json::Value;

use crate::{Artifact, JobFailure, JobOutput, JobState, Part};

/// Characters of a failure's sentence that was made of an output.
const LONGEST_SENTENCE: usize = 1000;

impl JobState {
    /// The end of a job that handed on `output`: a list `content` of MCP blocks with `structuredContent` and `artifacts` as they are, a text
    /// as a text, anything else as compact JSON and as data. An output with `isError: true` is a failure that left something behind.
    #[must_use]
    pub fn ended_with(output: Value) -> Self {
        let Some(parts) = output
            .get("content")
            .and_then(Value::as_array)
            .and_then(|blocks| blocks.iter().map(part).collect::<Option<Vec<_>>>())
        else {
            return Self::Succeeded(match output {
                Value::String(text) => JobOutput::text(text),
                other => JobOutput::text(other.to_string()).with_data(other),
            });
        };
        let artifacts = output.get("artifacts").and_then(Value::as_array).into_iter().flatten().filter_map(artifact).collect();
        let given = JobOutput { parts, data: output.get("structuredContent").cloned(), artifacts };
        if output.get("isError") != Some(&Value::Bool(true)) {
            return Self::Succeeded(given);
        }
        let said = given.parts.iter().find_map(|part| match part {
            Part::Text(text) => Some(cut(text, LONGEST_SENTENCE)),
            Part::Image { .. } | Part::Audio { .. } | Part::Link { .. } | Part::Embedded { .. } => None,
        });
        Self::Failed(JobFailure { output: given, ..JobFailure::new(said.unwrap_or_else(|| "the job failed".to_owned())) })
    }
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
        let JobState::Succeeded(given) = JobState::ended_with(output) else { panic!("a failure") };
        assert_eq!(given.data, Some(json!({"n": 1})));
        assert_eq!(given.parts.len(), 5);
        assert_eq!(given.parts[0], Part::Text("done".to_owned()));
        assert!(matches!(&given.parts[3], Part::Link { size: Some(12), mime_type: None, .. }));
    }

    #[test]
    fn other_outputs_become_a_text_and_data() {
        assert_eq!(JobState::ended_with(json!("hello")), JobState::Succeeded(JobOutput::text("hello")));
        assert_eq!(
            JobState::ended_with(json!({"a": [1]})),
            JobState::Succeeded(JobOutput::text(r#"{"a":[1]}"#).with_data(json!({"a": [1]})))
        );
        let odd = json!({"content": [{"type": "hologram"}]});
        assert_eq!(JobState::ended_with(odd.clone()), JobState::Succeeded(JobOutput::text(odd.to_string()).with_data(odd)));
    }

    #[test]
    fn an_output_that_says_it_is_an_error_is_a_failure_with_what_it_left_behind() {
        let JobState::Failed(failure) =
            JobState::ended_with(json!({"isError": true, "content": [{"type": "text", "text": "3 rows were refused"}]}))
        else {
            panic!("no failure")
        };
        assert_eq!(failure.message, "3 rows were refused");
        assert_eq!(failure.output.parts.len(), 1);
    }
}
