//! What the gateway sends, held against the protocol's own JSON schemas: those of 2026-07-28, of the tasks extension and of 2025-11-25.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

/// Names the folder that holds `spec/`; without it, a folder `shared` beside the repository or above is looked for.
const SHARED: &str = "JOBGATE_SHARED";

/// The schemas.
pub struct Checker {
    core: Value,
    tasks: Value,
    november: Value,
    compiled: Mutex<HashMap<(Of, String), Arc<Validator>>>,
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checker")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Core,
    Tasks,
    November,
}

/// What is wrong with a message.
type Verdict = Result<(), String>;

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// Reads the schemas.
    ///
    /// # Panics
    /// When they are not there: a check that checks nothing is none.
    #[must_use]
    pub fn new() -> Self {
        Self {
            core: spec("mcp-2026-07-28.schema.json")["$defs"].take(),
            tasks: spec("ext-tasks.schema.json")["$defs"].take(),
            november: spec("mcp-2025-11-25.schema.json")["$defs"].take(),
            compiled: Mutex::default(),
        }
    }

    /// Checks the answer to a request of `method`.
    ///
    /// # Errors
    /// What does not fit, with the message.
    pub fn response(&self, method: &str, message: &Value) -> Verdict {
        let told = |verdict: Verdict| verdict.map_err(|why| format!("answer to {method}: {why}\n{message:#}"));
        if message.get("error").is_some() {
            return told(self.error(message));
        }
        told(self.fits(Of::Core, "JSONRPCResultResponse", message))?;
        let result = &message["result"];
        let kind = result["resultType"].as_str().unwrap_or_default();
        told(match (method, kind) {
            ("server/discover", "complete") => self.fits(Of::Core, "DiscoverResult", result),
            ("tools/list", "complete") => self.fits(Of::Core, "ListToolsResult", result),
            ("resources/list", "complete") => self.fits(Of::Core, "ListResourcesResult", result),
            ("resources/read", "complete") => self.fits(Of::Core, "ReadResourceResult", result),
            ("resources/templates/list", "complete") => self.fits(Of::Core, "ListResourceTemplatesResult", result),
            ("tools/call", "complete") => self.fits(Of::Core, "CallToolResult", result),
            ("tools/call", "input_required") => self.input_required(result),
            ("tools/call", "task") => self.created(result),
            ("tasks/get", "complete") => self.fits(Of::Tasks, "GetTaskResult", result).and_then(|()| self.task(result)),
            ("tasks/update", "complete") => self.fits(Of::Tasks, "UpdateTaskResult", result).and_then(|()| only_ack(result)),
            ("tasks/cancel", "complete") => self.fits(Of::Tasks, "CancelTaskResult", result).and_then(|()| only_ack(result)),
            ("subscriptions/listen", "complete") => self.fits(Of::Core, "SubscriptionsListenResult", result),
            _ => Err(format!("no result of type {kind:?} is known for it")),
        })
    }

    /// Checks a part of a message of 2025-11-25 against its definition.
    ///
    /// # Errors
    /// What does not fit.
    pub fn november(&self, definition: &str, value: &Value) -> Verdict {
        self.fits(Of::November, definition, value).map_err(|why| format!("{why}\n{value:#}"))
    }

    /// Checks a notification.
    ///
    /// # Errors
    /// What does not fit, with the message.
    pub fn notification(&self, message: &Value) -> Verdict {
        let params = &message["params"];
        let verdict = self.fits(Of::Core, "JSONRPCNotification", message).and_then(|()| match message["method"].as_str() {
            Some("notifications/progress") => self.fits(Of::Core, "ProgressNotification", message),
            Some("notifications/subscriptions/acknowledged") => self
                .fits(Of::Core, "SubscriptionsAcknowledgedNotification", message)
                .and_then(|()| self.fits(Of::Tasks, "TaskSubscriptionAcknowledgedNotifications", &params["notifications"]))
                .and_then(|()| tagged(params)),
            Some("notifications/tasks") => self
                .fits(Of::Tasks, "TaskStatusNotification", message)
                .and_then(|()| self.task(params))
                .and_then(|()| tagged(params)),
            other => Err(format!("{other:?} is nothing that is sent")),
        });
        verdict.map_err(|why| format!("notification: {why}\n{message:#}"))
    }

    fn error(&self, message: &Value) -> Verdict {
        let definition = match message["error"]["code"].as_i64() {
            Some(-32020) => "HeaderMismatchError",
            Some(-32021) => "MissingRequiredClientCapabilityError",
            Some(-32022) => "UnsupportedProtocolVersionError",
            Some(-32700 | -32600 | -32601 | -32602 | -32603) => "JSONRPCErrorResponse",
            other => return Err(format!("{other:?} is no code of the protocol")),
        };
        self.fits(Of::Core, definition, message)?;
        if message.get("result").is_some() { Err("an error and a result".to_owned()) } else { Ok(()) }
    }

    fn input_required(&self, result: &Value) -> Verdict {
        self.fits(Of::Core, "InputRequiredResult", result)?;
        if result.get("inputRequests").is_none() && result.get("requestState").is_none() {
            return Err("neither `inputRequests` nor `requestState`".to_owned());
        }
        absent(result, &["taskId", "task", "content"])
    }

    fn created(&self, result: &Value) -> Verdict {
        self.fits(Of::Tasks, "CreateTaskResult", result)?;
        timing(result)?;
        absent(result, &["task", "result", "error", "inputRequests", "requestState", "ttl", "pollInterval"])
    }

    /// What the schema's `anyOf` lets through: the payload of one status on a task of another.
    fn task(&self, task: &Value) -> Verdict {
        timing(task)?;
        absent(task, &["task", "requestState", "ttl", "pollInterval"])?;
        match task["status"].as_str() {
            Some("working" | "cancelled") => absent(task, &["result", "error", "inputRequests"]),
            Some("input_required") => {
                let questions = task["inputRequests"].as_object().is_some_and(|questions| !questions.is_empty());
                if !questions {
                    return Err("`input_required` without a question".to_owned());
                }
                absent(task, &["result", "error"])
            }
            Some("completed") => {
                self.fits(Of::Core, "CallToolResult", &task["result"])?;
                if task["result"]["_meta"].get("io.modelcontextprotocol/related-task").is_some() {
                    return Err("the older related-task metadata on the inlined result".to_owned());
                }
                absent(task, &["error", "inputRequests"])
            }
            Some("failed") => absent(task, &["result", "inputRequests"]),
            other => Err(format!("{other:?} is no status")),
        }
    }

    fn fits(&self, of: Of, definition: &str, value: &Value) -> Verdict {
        let validator = {
            let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
            compiled.entry((of, definition.to_owned())).or_insert_with(|| Arc::new(self.compile(of, definition))).clone()
        };
        let problems: Vec<String> =
            validator.iter_errors(value).map(|error| format!("at `{}`: {error}", error.instance_path())).collect();
        if problems.is_empty() { Ok(()) } else { Err(format!("it is no {definition}: {}", problems.join("; "))) }
    }

    fn compile(&self, of: Of, definition: &str) -> Validator {
        let definitions = match of {
            Of::Core => &self.core,
            Of::Tasks => &self.tasks,
            Of::November => &self.november,
        };
        assert!(definitions.get(definition).is_some(), "the schema has no `{definition}`");
        let schema = json!({ "$ref": format!("#/$defs/{definition}"), "$defs": definitions });
        jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{definition}: {error}"))
    }
}

/// An acknowledgement is nothing but that.
fn only_ack(result: &Value) -> Verdict {
    absent(result, &["taskId", "status", "result", "error", "inputRequests"])
}

fn absent(value: &Value, names: &[&str]) -> Verdict {
    match names.iter().find(|name| value.get(**name).is_some()) {
        Some(name) => Err(format!("`{name}` must not be there")),
        None => Ok(()),
    }
}

/// `ttlMs` is always there, a positive whole number or `null`; `pollIntervalMs` is always there; both moments are ISO 8601 in UTC.
fn timing(task: &Value) -> Verdict {
    let positive = |value: &Value| value.as_u64().is_some_and(|number| number > 0);
    if !(task["ttlMs"].is_null() && task.get("ttlMs").is_some() || positive(&task["ttlMs"])) {
        return Err("`ttlMs` is no positive whole number and not null".to_owned());
    }
    if !positive(&task["pollIntervalMs"]) {
        return Err("`pollIntervalMs` is no positive whole number".to_owned());
    }
    for name in ["createdAt", "lastUpdatedAt"] {
        let text = task[name].as_str().unwrap_or_default();
        if !(text.len() == 24 && text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T')) {
            return Err(format!("`{name}` is not written like 2026-07-28T12:00:00.000Z: {text:?}"));
        }
    }
    Ok(())
}

fn tagged(params: &Value) -> Verdict {
    let id = &params["_meta"]["io.modelcontextprotocol/subscriptionId"];
    if id.is_string() || id.is_i64() { Ok(()) } else { Err("no `io.modelcontextprotocol/subscriptionId`".to_owned()) }
}

/// A file of the folder `spec/`.
///
/// # Panics
/// When it is not there or no JSON.
#[must_use]
pub fn spec(name: &str) -> Value {
    let path = spec_folder(std::env::var_os(SHARED)).join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn spec_folder(named: Option<OsString>) -> PathBuf {
    if let Some(folder) = named {
        return PathBuf::from(folder).join("spec");
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here.ancestors().map(|folder| folder.join("shared").join("spec")).find(|folder| folder.is_dir());
    found.unwrap_or_else(|| panic!("no folder `shared/spec` beside the repository; name the one that holds it in {SHARED}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn working() -> Value {
        json!({
            "resultType": "complete", "taskId": "t", "status": "working", "createdAt": "2026-07-28T12:00:00.000Z",
            "lastUpdatedAt": "2026-07-28T12:00:00.000Z", "ttlMs": null, "pollIntervalMs": 1000
        })
    }

    fn answered(method: &str, result: &Value) -> Verdict {
        Checker::new().response(method, &json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
    }

    /// The checker is only worth something if it refuses.
    #[test]
    fn wrong_messages_are_refused() {
        assert_eq!(answered("tasks/get", &working()), Ok(()));
        for (member, value) in [
            ("ttlMs", json!(1.5)),
            ("ttlMs", json!(0)),
            ("pollIntervalMs", Value::Null),
            ("createdAt", json!("yesterday")),
            ("status", json!("submitted")),
            ("status", json!("completed")),
            ("status", json!("input_required")),
            ("result", json!({ "resultType": "complete", "content": [] })),
            ("requestState", json!("x")),
            ("resultType", json!("task")),
        ] {
            let mut task = working();
            task[member] = value;
            assert!(answered("tasks/get", &task).is_err(), "{task}");
        }
        assert!(answered("tasks/cancel", &working()).is_err());
        assert!(answered("tools/call", &json!({ "resultType": "complete" })).is_err());
        let checker = Checker::new();
        let error = |code: i64, data: Value| json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": code, "message": "m", "data": data } });
        assert!(checker.response("tools/call", &error(-32021, json!({ "requiredCapabilities": { "sampling": {} } }))).is_ok());
        assert!(checker.response("tools/call", &error(-32021, json!({}))).is_err());
        assert!(checker.response("tools/call", &error(-32000, json!({}))).is_err());
        assert!(
            checker
                .response("tools/call", &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "m" } }))
                .is_err()
        );
        assert!(
            checker.notification(&json!({ "jsonrpc": "2.0", "method": "notifications/tasks", "params": working() })).is_err()
        );
    }
}
