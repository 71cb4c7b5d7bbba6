//! What a call of this dialect says of the task that it wants: `_meta["modelcontextprotocol.io/task"]`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Number;
use serde_json::value::RawValue;

use crate::domain::{LONGEST_CLIENT_ID, is_client_id};
use crate::mcp::error::RpcError;
use crate::mcp::params::DRAFT_TASK;

/// The task that a call wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskAsked {
    /// The id that the client chose.
    pub(super) id: String,
    /// How long the client would like an ended task to be kept; the tool's own choice where it does not say.
    pub(super) keep_alive: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    task_id: String,
    #[serde(default)]
    keep_alive: Option<Number>,
}

impl TaskAsked {
    /// Reads the metadata.
    ///
    /// # Errors
    /// -32602 with the place and a right example.
    pub(super) fn read(raw: &RawValue) -> Result<Self, RpcError> {
        let place = format!("`params._meta[\"{DRAFT_TASK}\"]`");
        let refused = |what: String| {
            let example = "{\"taskId\":\"786512e2-9e0d-44bd-8f29-789f320fe840\",\"keepAlive\":60000}";
            RpcError::invalid_params(format!("{place}{what}, for example {example}"))
        };
        let written: Written = serde_json::from_str(raw.get()).map_err(|error| refused(format!(": {error}")))?;
        if !is_client_id(&written.task_id) {
            return Err(refused(format!(
                ".taskId has to be a text of 1 to {LONGEST_CLIENT_ID} bytes that is not of the form of the server's own ids \
                 (`task_` and 32 hexadecimal digits)"
            )));
        }
        let keep_alive = match written.keep_alive {
            None => None,
            Some(number) => {
                let wrong = || refused(".keepAlive has to be a whole number of milliseconds, 0 or more".to_owned());
                Some(Duration::from_millis(whole(&number).ok_or_else(wrong)?))
            }
        };
        Ok(Self { id: written.task_id, keep_alive })
    }
}

/// A whole number that is not negative, however it was written: `60000`, `6e4` and `60000.0` are one number.
fn whole(number: &Number) -> Option<u64> {
    // Up to here every whole number is exact, in JSON's readers too.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_u64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..=EXACT).contains(float))?;
        format!("{float:.0}").parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value) -> Result<TaskAsked, RpcError> {
        TaskAsked::read(&serde_json::value::to_raw_value(value).unwrap())
    }

    /// H1, H7.
    #[test]
    fn an_id_and_a_wish_are_read() {
        for (keep_alive, granted) in
            [(json!(null), None), (json!(0), Some(0)), (json!(60_000), Some(60_000)), (json!(6e4), Some(60_000))]
        {
            let asked = read(&json!({ "taskId": "a", "keepAlive": keep_alive, "more": true })).unwrap();
            assert_eq!(asked, TaskAsked { id: "a".to_owned(), keep_alive: granted.map(Duration::from_millis) }, "{keep_alive}");
        }
        assert_eq!(read(&json!({ "taskId": "x".repeat(256) })).unwrap().keep_alive, None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_an_example() {
        for value in [
            json!(true),
            json!([]),
            json!({}),
            json!({ "taskId": null }),
            json!({ "taskId": 5 }),
            json!({ "taskId": "" }),
            json!({ "taskId": "x".repeat(257) }),
            json!({ "taskId": format!("task_{}", "0".repeat(32)) }),
            json!({ "taskId": "a", "keepAlive": -1 }),
            json!({ "taskId": "a", "keepAlive": 1.5 }),
            json!({ "taskId": "a", "keepAlive": 1e300 }),
            json!({ "taskId": "a", "keepAlive": "60000" }),
            json!({ "taskId": "a", "keepAlive": true }),
        ] {
            let error = read(&value).unwrap_err();
            assert_eq!(error.code(), -32602, "{value}");
            let text = serde_json::to_value(&error).unwrap()["message"].to_string();
            assert!(text.contains(DRAFT_TASK) && text.contains("for example"), "{text}");
        }
    }
}
