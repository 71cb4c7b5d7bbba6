//! How an execution ended, in the gateway's words.

use jobgate_adapter_api::{Cleaner, JobFailure, JobOutput, JobState};
use serde_json::{Map, Value, json};

use crate::story::Story;

/// Characters of a failure's sentence.
const CAUSE_CHARS: usize = 1000;

/// The output of an execution is JSON in a text.
pub(crate) fn succeeded(output: Option<&str>) -> JobState {
    match output {
        // An output of more than 256 KiB is left out of the answer.
        None => JobState::Succeeded(JobOutput::text("The execution ended well; its output is not in the answer.")),
        Some(text) => JobState::ended_with(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))),
    }
}

/// What a failed execution says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trouble<'a> {
    pub(crate) error: Option<&'a str>,
    pub(crate) cause: Option<&'a str>,
}

/// A failure, with the state it happened in where the history tells.
pub(crate) fn failed(trouble: Trouble<'_>, timed_out: bool, story: Option<&Story>, cleaner: &Cleaner) -> JobState {
    let said = trouble.cause.and_then(|cause| cleaner.sentence(&sentence_in(cause), CAUSE_CHARS));
    let usual = match trouble.error {
        _ if timed_out => "The execution took longer than it may.".to_owned(),
        Some(error) => format!("The execution failed with {error}."),
        None => "The execution failed.".to_owned(),
    };
    let message = said.or_else(|| cleaner.sentence(&usual, CAUSE_CHARS)).unwrap_or_default();
    let state = story.and_then(Story::current);
    let mut data = Map::new();
    let mut lines = Vec::new();
    if let Some(state) = state {
        data.insert("state".to_owned(), json!(state));
        lines.push(format!("It ended in the state {state}."));
    }
    if let Some(story) = story {
        data.insert("states_done".to_owned(), json!(story.done));
        lines.push(format!("States done before: {}.", story.done));
    }
    let output = if lines.is_empty() { JobOutput::default() } else { JobOutput::text(lines.join(" ")).with_data(data.into()) };
    let code = trouble.error.map(str::to_owned).or_else(|| timed_out.then(|| "States.Timeout".to_owned()));
    JobState::Failed(JobFailure { message, code, output })
}

/// A cause is often JSON in a text, as a function of Lambda or a task of ECS words it.
fn sentence_in(cause: &str) -> String {
    const NAMES: [&str; 6] = ["errorMessage", "ErrorMessage", "StoppedReason", "message", "Message", "Cause"];
    let said = |fields: &Map<String, Value>| NAMES.iter().find_map(|name| fields.get(*name)?.as_str().map(str::to_owned));
    serde_json::from_str::<Map<String, Value>>(cause).ok().as_ref().and_then(said).unwrap_or_else(|| cause.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_of(trouble: Trouble<'_>, timed_out: bool) -> (String, Option<String>) {
        let cleaner = Cleaner::default();
        let JobState::Failed(failure) = failed(trouble, timed_out, None, &cleaner) else { panic!("it failed") };
        (failure.message, failure.code)
    }

    #[test]
    fn a_cause_is_read_in_every_form_it_comes_in() {
        let of = |cause| message_of(Trouble { error: Some("E"), cause: Some(cause) }, false).0;
        assert_eq!(of("input asked for failure"), "input asked for failure");
        assert_eq!(
            of(r#"{"errorMessage":"division by zero","errorType":"ZeroDivisionError","trace":["x"]}"#),
            "division by zero"
        );
        assert_eq!(
            of(r#"{"StoppedReason":"Essential container in task exited","LaunchType":"FARGATE"}"#),
            "Essential container in task exited"
        );
        assert_eq!(of(r#"{"unknown":1}"#), r#"{"unknown":1}"#);
    }

    #[test]
    fn what_is_not_said_is_said_plainly() {
        let nothing = Trouble::default();
        assert_eq!(message_of(nothing, false), ("The execution failed.".to_owned(), None));
        assert_eq!(
            message_of(nothing, true),
            ("The execution took longer than it may.".to_owned(), Some("States.Timeout".to_owned()))
        );
        let named = Trouble { error: Some("Refused"), cause: None };
        assert_eq!(message_of(named, false), ("The execution failed with Refused.".to_owned(), Some("Refused".to_owned())));
    }

    #[test]
    fn an_output_is_json_in_a_text() {
        assert_eq!(succeeded(Some(r#"{"answer":42}"#)), JobState::ended_with(json!({ "answer": 42 })));
        assert_eq!(succeeded(Some(r#""done""#)), JobState::ended_with(json!("done")));
        assert!(matches!(succeeded(None), JobState::Succeeded(_)));
    }
}
