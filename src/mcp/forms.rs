//! Answers to questions: read from the wire, held against their form, and understood.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::RpcError;
use super::params::{Members, Params};
use super::schema::{Schema, describe};
use super::strict::Strict;
use crate::domain::{InputAction, InputAnswer, InputKind};

/// `params.inputResponses`: answers by the key of their question, none of them read yet.
#[derive(Debug, Default)]
pub(crate) struct Answers<'a>(Members<'a>);

impl<'a> Answers<'a> {
    /// Finds the answers among a request's parameters.
    ///
    /// # Errors
    /// -32602 where they are no object.
    pub(crate) fn of(params: &Params<'a>) -> Result<Self, RpcError> {
        params.members("inputResponses").map(|members| Self(members.unwrap_or_default()))
    }

    /// The answer to a question; also `null` is one, if a malformed one.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.written(key)
    }
}

/// The longest answer to one question, as it was written, in bytes: a person types it.
const LONGEST_ANSWER: usize = 64 * 1024;

#[derive(Deserialize)]
struct Elicited {
    action: Action,
    #[serde(default)]
    content: Option<Strict>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Decline,
    Cancel,
}

/// Reads the answer to a question of `kind`; `place` is where it stands in the message, for the sentence that refuses it.
///
/// # Errors
/// -32602 with the place where it is no answer, or does not fit the form; the question stays open.
pub(crate) fn read_answer(place: &str, kind: &InputKind, raw: &RawValue) -> Result<InputAnswer, RpcError> {
    if raw.get().len() > LONGEST_ANSWER {
        let message = format!("`{place}` is larger than {LONGEST_ANSWER} bytes");
        return Err(RpcError::invalid_params(message));
    }
    let answer: Elicited = serde_json::from_str(raw.get()).map_err(|error| {
        let example = "{\"action\":\"accept\",\"content\":{...}}";
        RpcError::invalid_params(format!("`{place}`: {error}; an answer looks like {example}"))
    })?;
    let action = match answer.action {
        Action::Decline => InputAction::Decline,
        Action::Cancel => InputAction::Cancel,
        Action::Accept => InputAction::Accept,
    };
    if action != InputAction::Accept {
        return Ok(InputAnswer { action, content: None });
    }
    match kind {
        InputKind::Url { .. } => Ok(InputAnswer { action, content: None }),
        InputKind::Form { schema } => {
            let content = accepted(place, schema, answer.content.map(|content| content.0))?;
            Ok(InputAnswer { action, content: Some(Value::Object(content)) })
        }
    }
}

/// An answer as an approval: an `accept` that says no is a decline.
///
/// A form whose required fields are all booleans is a yes-or-no question, and one `false` among them is a no. A form that asks
/// for other things, too, uses its booleans as data.
pub(crate) fn as_approval(kind: &InputKind, answer: InputAnswer) -> InputAnswer {
    match (kind, &answer.content) {
        (InputKind::Form { schema }, Some(Value::Object(content))) if says_no(schema, content) => {
            InputAnswer { action: InputAction::Decline, content: None }
        }
        _ => answer,
    }
}

/// The content of an accepted form, if it fits.
fn accepted(place: &str, schema: &Value, content: Option<Value>) -> Result<Map<String, Value>, RpcError> {
    // A form without required fields may be sent back empty, and clients then leave the content out.
    let content = content.unwrap_or_else(|| Value::Object(Map::new()));
    let place = format!("`{place}.content`");
    let form =
        Schema::compile_form(schema).map_err(|error| RpcError::internal(format!("the form of an answer is broken: {error}")))?;
    let problems = form.problems(&content);
    match content {
        Value::Object(content) if problems.is_empty() => Ok(content),
        _ if problems.is_empty() => Err(RpcError::invalid_params(format!("{place} has to be an object"))),
        _ => Err(RpcError::invalid_params(describe(&place, &problems))),
    }
}

fn says_no(schema: &Value, content: &Map<String, Value>) -> bool {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let boolean = |name: &&str| schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str) == Some("boolean");
    !required.is_empty()
        && required.iter().all(boolean)
        && required.iter().any(|name| content.get(*name) == Some(&Value::Bool(false)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(schema: Value, answer: Value) -> Result<InputAnswer, RpcError> {
        let raw = serde_json::value::to_raw_value(&answer).unwrap();
        let kind = InputKind::Form { schema };
        read_answer("q", &kind, &raw).map(|answer| as_approval(&kind, answer))
    }

    fn yes_or_no() -> Value {
        json!({ "type": "object", "properties": { "ok": { "type": "boolean" }, "why": { "type": "string" } }, "required": ["ok"] })
    }

    #[test]
    fn only_an_accept_that_fits_and_says_yes_is_an_approval() {
        let yes = read(yes_or_no(), json!({ "action": "accept", "content": { "ok": true, "why": "x" } })).unwrap();
        assert_eq!((yes.action, yes.content), (InputAction::Accept, Some(json!({ "ok": true, "why": "x" }))));
        for no in [
            json!({ "action": "decline" }),
            json!({ "action": "decline", "content": { "ok": true } }),
            json!({ "action": "accept", "content": { "ok": false } }),
        ] {
            assert_eq!(read(yes_or_no(), no).unwrap(), InputAnswer { action: InputAction::Decline, content: None });
        }
        let cancel = read(yes_or_no(), json!({ "action": "cancel" })).unwrap();
        assert_eq!(cancel.action, InputAction::Cancel);
        for malformed in [
            json!(12345),
            json!(null),
            json!({}),
            json!({ "action": "maybe" }),
            json!({ "action": "accept" }),
            json!({ "action": "accept", "content": null }),
            json!({ "action": "accept", "content": {} }),
            json!({ "action": "accept", "content": "yes" }),
            json!({ "action": "accept", "content": { "ok": "true" } }),
        ] {
            assert_eq!(read(yes_or_no(), malformed.clone()).unwrap_err().code(), -32602, "{malformed}");
        }
    }

    #[test]
    fn a_boolean_beside_other_required_fields_is_data() {
        let schema = json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "loud": { "type": "boolean" } },
            "required": ["name", "loud"],
        });
        let answer = read(schema, json!({ "action": "accept", "content": { "name": "x", "loud": false } })).unwrap();
        assert_eq!(answer.action, InputAction::Accept);
    }

    #[test]
    fn a_form_without_required_fields_may_come_back_empty() {
        let schema = json!({ "type": "object", "properties": { "note": { "type": "string" } } });
        assert_eq!(read(schema, json!({ "action": "accept" })).unwrap().content, Some(json!({})));
    }
}
