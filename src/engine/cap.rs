//! A result that is too large to keep becomes one that says so (requirement G4): never a lost task.

use crate::domain::{JobOutput, JobState, Observation, Part};

/// Cuts what a job handed over to about `limit` bytes.
pub(super) fn cap(mut seen: Observation, limit: usize) -> Observation {
    match &mut seen.state {
        JobState::Succeeded(output) => cap_output(output, limit),
        JobState::Failed(failure) => cap_output(&mut failure.output, limit),
        JobState::Queued
        | JobState::Running
        | JobState::InputRequired(_)
        | JobState::Cancelled
        | JobState::Gone
        | JobState::Unrecognized(_) => {}
    }
    seen
}

fn cap_output(output: &mut JobOutput, limit: usize) {
    let size = output.parts.iter().map(size_of).sum::<usize>() + output.data.as_ref().map_or(0, |data| data.to_string().len());
    if size <= limit {
        return;
    }
    let dropped_data = output.data.take().is_some();
    let mut left = limit;
    let mut parts = Vec::new();
    for part in std::mem::take(&mut output.parts) {
        let needed = size_of(&part);
        if needed <= left {
            left -= needed;
            parts.push(part);
        } else if let Part::Text(text) = part {
            let end = (0..=left).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            left -= end;
            if let Some(start) = text.get(..end).filter(|start| !start.is_empty()) {
                parts.push(Part::Text(start.to_owned()));
            }
        }
    }
    let what = if dropped_data { "its data and the rest of its content were left out" } else { "the rest was left out" };
    parts.push(Part::Text(format!("[The result has {size} bytes; the gateway keeps {limit}, so {what}.]")));
    output.parts = parts;
}

fn size_of(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Image { data, mime_type } | Part::Audio { data, mime_type } => data.len() + mime_type.len(),
        Part::Link { uri, name, mime_type, description, size: _ } => {
            uri.len() + name.len() + mime_type.as_ref().map_or(0, String::len) + description.as_ref().map_or(0, String::len)
        }
        Part::Embedded { uri, mime_type, text } => uri.len() + mime_type.as_ref().map_or(0, String::len) + text.len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn capped(output: JobOutput, limit: usize) -> JobOutput {
        match cap(Observation::new(JobState::Succeeded(output)), limit).state {
            JobState::Succeeded(output) => output,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let output = JobOutput::text("0123456789").with_data(json!({"a": 1}));
        assert_eq!(capped(output.clone(), 17), output);
    }

    /// G4: cut at a character's edge, with a word about it.
    #[test]
    fn what_is_too_large_is_cut_and_says_so() {
        let output = capped(JobOutput::text("ä".repeat(40)).with_data(json!([1, 2, 3])), 11);
        assert_eq!(output.data, None);
        let [Part::Text(start), Part::Text(note)] = &output.parts[..] else { panic!("{output:?}") };
        assert_eq!(start, "äääää");
        assert!(note.contains("87 bytes") && note.contains("keeps 11"), "{note}");
    }
}
