//! The dialect's normative file: shapes to hold answers against. Values in it are examples, names and types are not.

use jobgate_test_support::schema;
use serde_json::{Value, json};

pub(crate) const TASK: &str = "modelcontextprotocol.io/task";
pub(crate) const RELATED: &str = "modelcontextprotocol.io/related-task";

#[derive(Debug)]
pub(crate) struct Spec(Value);

/// `_meta` of everything that is about this task.
pub(crate) fn related(id: &str) -> Value {
    json!({ RELATED: { "taskId": id } })
}

impl Spec {
    pub(crate) fn new() -> Self {
        Self(schema::spec("draft-dialect.json"))
    }

    /// The exchange whose name begins like this.
    #[track_caller]
    pub(crate) fn exchange(&self, name: &str) -> &Value {
        let mut all = self.0["exchanges"].as_array().unwrap().iter();
        all.find(|one| one["name"].as_str().unwrap().starts_with(name)).unwrap_or_else(|| panic!("no exchange `{name}`"))
    }

    /// The code of the error that is given in this case.
    #[track_caller]
    pub(crate) fn code(&self, when: &str) -> i64 {
        let mut all = self.0["errors"].as_array().unwrap().iter();
        let row = all.find(|row| row["when"].as_str().unwrap().starts_with(when));
        row.unwrap_or_else(|| panic!("no error `{when}`"))["code"].as_i64().unwrap()
    }

    pub(crate) fn statuses(&self) -> Vec<&str> {
        self.0["statuses"].as_array().unwrap().iter().map(|status| status.as_str().unwrap()).collect()
    }

    pub(crate) fn may_follow(&self, before: &str, after: &str) -> bool {
        before == after || self.0["transitions"][before].as_array().unwrap().iter().any(|status| status == after)
    }

    /// Holds the answer to a request about tasks against the file.
    #[track_caller]
    pub(crate) fn check(&self, request: &Value, answer: &Value) {
        let (method, id) = (request["method"].as_str().unwrap(), &request["params"]["taskId"]);
        if let Some(error) = answer.get("error") {
            let known = self.0["errors"].as_array().unwrap().iter().any(|row| row["code"] == error["code"]);
            assert!(known && error["message"].is_string(), "{answer}");
            return;
        }
        let result = &answer["result"];
        match method {
            "tasks/get" => {
                self.task(result);
                assert_eq!((&result["taskId"], &result["_meta"]), (id, &related(id.as_str().unwrap())), "{answer}");
            }
            "tasks/result" => {
                assert_eq!(result["_meta"], related(id.as_str().unwrap()), "{answer}");
                assert!(result["content"].is_array() && result["isError"].is_boolean(), "{answer}");
                assert!(result.get("resultType").is_none(), "a word of a later version: {answer}");
            }
            "tasks/list" => {
                keys(result, &["tasks"], &["nextCursor"]);
                for task in result["tasks"].as_array().unwrap() {
                    assert!(task.get("_meta").is_none(), "{task}");
                    self.task(task);
                }
            }
            "tasks/delete" => assert_eq!(*result, json!({ "_meta": related(id.as_str().unwrap()) }), "{answer}"),
            other => panic!("{other} is nothing of the draft"),
        }
    }

    /// A task as `tasks/get` and `tasks/list` show it.
    #[track_caller]
    fn task(&self, task: &Value) {
        keys(task, &["taskId", "status", "keepAlive"], &["pollFrequency", "error", "_meta"]);
        let status = task["status"].as_str().unwrap();
        assert!(self.statuses().contains(&status), "{task}");
        assert!(task["keepAlive"].is_null() || task["keepAlive"].is_u64(), "{task}");
        assert!(task.get("pollFrequency").is_none_or(Value::is_u64), "{task}");
        assert_eq!(task["error"].is_string(), status == "failed", "an error is a text, of failed tasks alone: {task}");
    }
}

/// That `value` has the same members as `example`, of the same types, all the way down.
#[track_caller]
pub(crate) fn same_shape(value: &Value, example: &Value) {
    match (value, example) {
        (Value::Object(members), Value::Object(wanted)) => {
            let mut names: [Vec<&String>; 2] = [members.keys().collect(), wanted.keys().collect()];
            names.iter_mut().for_each(|names| names.sort());
            assert_eq!(names[0], names[1], "{value} is to look like {example}");
            members.iter().for_each(|(name, member)| same_shape(member, &wanted[name]));
        }
        (Value::Array(items), Value::Array(wanted)) => {
            assert!(items.is_empty() == wanted.is_empty(), "{value} is to look like {example}");
            items.iter().for_each(|item| same_shape(item, &wanted[0]));
        }
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) => {}
        _ => assert_eq!(value, example),
    }
}

#[track_caller]
fn keys(value: &Value, required: &[&str], optional: &[&str]) {
    let members = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    required.iter().for_each(|name| assert!(members.contains_key(*name), "`{name}` is missing: {value}"));
    let strange = members.keys().find(|name| !required.contains(&name.as_str()) && !optional.contains(&name.as_str()));
    assert_eq!(strange, None, "{value}");
}
