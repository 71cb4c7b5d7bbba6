//! States that wait for a task token, and what a person is asked meanwhile: in the words that every adapter of state machines shares.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Cleaner, InputKind, InputRequest, MESSAGE_CHARS, Secret};

/// What a person is asked, and what a no is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalWords {
    /// What the person reads; without it, the text under `message` or `question` beside the task token.
    pub message: Option<String>,
    /// What the person fills in, a flat JSON Schema of type `object`; without it, the one under `form` beside the task token, else nothing.
    pub form: Option<Map<String, Value>>,
    /// What the state machine is told when the person says no.
    pub decline: DeclineWords,
}

/// The error that a no raises in the state machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeclineWords {
    /// The error's name, for a `Catch`.
    pub error: String,
    /// The error's sentence.
    pub cause: String,
}

impl Default for DeclineWords {
    fn default() -> Self {
        Self { error: "Rejected".to_owned(), cause: "declined by the caller".to_owned() }
    }
}

/// What a state handed to whoever has to answer: its task token and what lies beside it.
#[derive(Debug)]
pub struct TaskToken {
    /// The token. Whoever has it can answer.
    pub token: Secret,
    beside: Map<String, Value>,
}

impl TaskToken {
    /// From the parameters of a task; `None` where no token is in them: no text under `taskToken`, `TaskToken`, `task_token` or `token`.
    #[must_use]
    pub fn find(parameters: Value) -> Option<Self> {
        // Levels of the parameters that are looked through.
        const DEEPEST: usize = 16;
        search(parameters, DEEPEST)
    }

    /// The question, in the words of the configuration where it has some.
    #[must_use]
    pub fn question(&self, key: String, state: &str, words: &ApprovalWords, cleaner: &Cleaner) -> InputRequest {
        let beside = |name: &str| self.beside.get(name);
        let said = || beside("message").or_else(|| beside("question")).and_then(Value::as_str);
        let message = words.message.as_deref().or_else(said).map(|text| text.replace(self.token.expose(), "***"));
        let message = message.and_then(|text| cleaner.sentence(&text, MESSAGE_CHARS));
        let form = words.form.clone().map(Value::Object);
        let form = form.or_else(|| beside("form").filter(|it| it["type"] == "object").cloned());
        InputRequest {
            key,
            message: message.unwrap_or_else(|| format!("The execution waits in {state}. May it go on?")),
            kind: InputKind::Form { schema: form.unwrap_or_else(|| json!({ "type": "object", "properties": {} })) },
        }
    }
}

/// The outermost object with a token in it.
fn search(value: Value, levels: usize) -> Option<TaskToken> {
    match value {
        Value::Object(mut fields) => {
            let named = |name: &&String| matches!(name.as_str(), "taskToken" | "TaskToken" | "task_token" | "token");
            let name = fields.keys().find(|name| named(name) && fields[name.as_str()].is_string()).cloned();
            if let Some(Value::String(token)) = name.and_then(|name| fields.remove(&name)) {
                return Some(TaskToken { token: Secret::new(token), beside: fields });
            }
            let deeper = levels.checked_sub(1)?;
            fields.into_iter().find_map(|(_, field)| search(field, deeper))
        }
        Value::Array(items) => {
            let deeper = levels.checked_sub(1)?;
            items.into_iter().find_map(|item| search(item, deeper))
        }
        // A message that was made a text: `States.JsonToString`.
        Value::String(text) if text.starts_with('{') => search(serde_json::from_str(&text).ok()?, levels.checked_sub(1)?),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_wherever_it_is_handed_over() {
        for parameters in [
            json!({ "QueueUrl": "q", "MessageBody": { "question": "deploy?", "taskToken": "t0k" } }),
            json!({ "FunctionName": "f", "Payload": { "token": "t0k", "question": "deploy?" } }),
            json!({ "TopicArn": "t", "Message": r#"{"question":"deploy?","TaskToken":"t0k"}"# }),
            json!({ "Entries": [{ "Detail": { "task_token": "t0k", "question": "deploy?" } }] }),
        ] {
            let payload = TaskToken::find(parameters.clone()).unwrap_or_else(|| panic!("no token in {parameters}"));
            assert_eq!(payload.token.expose(), "t0k");
            assert_eq!(payload.beside["question"], "deploy?", "{parameters}");
            assert!(!format!("{payload:?}").contains("t0k"), "a token is a secret");
        }
        for parameters in
            [json!({}), json!("no JSON"), json!({ "MessageBody": { "taskToken": 7 } }), json!(["x"]), json!("{taskToken")]
        {
            assert!(TaskToken::find(parameters.clone()).is_none(), "{parameters}");
        }
    }
}
