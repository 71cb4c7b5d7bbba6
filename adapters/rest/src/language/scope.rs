//! Which names exist where, so that a misspelt one is found before anything runs.

use std::collections::BTreeSet;

use serde_json::Value;

/// The names that exist at one place of a configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    args: Option<Arguments>,
    handles: Option<BTreeSet<String>>,
    steps: BTreeSet<String>,
    secrets: Option<BTreeSet<String>>,
    names: BTreeSet<&'static str>,
}

/// What is known of a tool's arguments.
#[derive(Clone, Debug)]
enum Arguments {
    Only(BTreeSet<String>),
    Any,
}

/// Exist everywhere.
const EVERYWHERE: [&str; 4] = ["key", "now", "started_at", "tool"];
/// What an answer is made of.
const ANSWER: [&str; 4] = ["body", "code", "headers", "text"];
/// What a delivery is made of.
const DELIVERY: [&str; 2] = ["body", "text"];

impl Scope {
    /// What every request knows.
    pub(crate) fn request() -> Self {
        Self { names: EVERYWHERE.into(), ..Self::default() }
    }

    /// With the tool's arguments. An argument that the schema does not list is taken for a slip, unless the schema says
    /// `additionalProperties`.
    pub(crate) fn with_args(mut self, schema: &Value) -> Self {
        let open = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
        self.args = Some(match schema.get("properties").and_then(Value::as_object) {
            Some(properties) if !open => Arguments::Only(properties.keys().cloned().collect()),
            _ => Arguments::Any,
        });
        self
    }

    /// With the job, and the handles it may have.
    pub(crate) fn with_job(mut self, handles: BTreeSet<String>) -> Self {
        self.handles = Some(handles);
        self.with("cancel_requested")
    }

    /// With an answer.
    pub(crate) fn with_answer(mut self) -> Self {
        self.names.extend(ANSWER);
        self
    }

    /// What the texts know that open a delivery: nothing but what was delivered.
    pub(crate) fn delivery() -> Self {
        Self { names: DELIVERY.into(), ..Self::default() }
    }

    /// What a sign-in knows: no job, no call, but secrets of its own.
    pub(crate) fn sign_in(secrets: BTreeSet<String>) -> Self {
        Self { secrets: Some(secrets), names: ["now"].into(), ..Self::default() }
    }

    /// With one more name.
    pub(crate) fn with(mut self, name: &'static str) -> Self {
        self.names.insert(name);
        self
    }

    /// With a further request's answer.
    pub(crate) fn with_step(mut self, name: &str) -> Self {
        self.steps.insert(name.to_owned());
        self
    }

    /// Whether there is a further request of this name.
    pub(crate) fn has_step(&self, name: &str) -> bool {
        self.steps.contains(name)
    }

    /// What is wrong with a dotted name here, or `None`.
    pub(crate) fn problem(&self, path: &str) -> Option<String> {
        let mut steps = path.split('.');
        match (steps.next()?, steps.next(), steps.next()) {
            ("args", field, _) if self.args.is_some() => match (&self.args, field) {
                (Some(Arguments::Only(fields)), Some(field)) if !fields.contains(field) => Some(format!(
                    "`args.{field}` is no argument of this tool; its input schema lists {}",
                    list(fields.iter().map(String::as_str))
                )),
                _ => None,
            },
            ("job", step, handle) if self.handles.is_some() => {
                let handles = self.handles.as_ref()?;
                match (step, handle) {
                    (None | Some("id"), _) | (Some("handles"), None) => None,
                    (Some("handles"), Some(handle)) if handles.contains(handle) => None,
                    (Some("handles"), Some(handle)) if handles.is_empty() => Some(format!(
                        "`job.handles.{handle}` does not exist: the job has no handles; name it under `submit.job.handles`"
                    )),
                    (Some("handles"), Some(handle)) => Some(format!(
                        "`job.handles.{handle}` does not exist; the job's handles are {}",
                        list(handles.iter().map(String::as_str))
                    )),
                    (Some(step), _) => Some(format!("`job.{step}` does not exist; a job has `id` and `handles`")),
                }
            }
            ("steps", Some(step), _) if !self.steps.is_empty() && !self.steps.contains(step) => Some(format!(
                "`steps.{step}` does not exist here; the steps before this are {}",
                list(self.steps.iter().map(String::as_str))
            )),
            ("steps", ..) if !self.steps.is_empty() => None,
            ("secret", Some(step), _) if self.secrets.as_ref().is_some_and(|secrets| !secrets.contains(step)) => Some(format!(
                "`secret.{step}` does not exist here; the sign-in's secrets are {}",
                list(self.secrets.iter().flatten().map(String::as_str))
            )),
            ("secret", ..) if self.secrets.is_some() => None,
            ("callback", Some(step), _) if self.names.contains("callback") && step != "url" => {
                Some(format!("`callback.{step}` does not exist; a callback has `url`"))
            }
            (first, ..) if self.names.contains(first) => None,
            (first, ..) => Some(format!("`{first}` does not exist here; here exist {}", list(self.all().into_iter()))),
        }
    }

    fn all(&self) -> BTreeSet<&str> {
        let mut all: BTreeSet<&str> = self.names.iter().copied().collect();
        all.extend(self.args.iter().map(|_| "args"));
        all.extend(self.handles.iter().map(|_| "job"));
        all.extend(self.steps.first().map(|_| "steps"));
        all.extend(self.secrets.iter().flatten().next().map(|_| "secret"));
        all
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_that_does_not_exist_is_answered_with_those_that_do() {
        let schema = json!({ "properties": { "prompt": {}, "size": {} } });
        let submit = Scope::request().with_args(&schema);
        let status = Scope::request().with_job(["url".to_owned()].into()).with_answer();
        for (scope, path, wanted) in [
            (&submit, "args.prompt", ""),
            (&submit, "args", ""),
            (&submit, "key", ""),
            (&submit, "args.promt", "`args.promt` is no argument of this tool; its input schema lists `prompt`, `size`"),
            (&submit, "job.id", "`job` does not exist here; here exist `args`, `key`, `now`, `started_at`, `tool`"),
            (&status, "job.id", ""),
            (&status, "job.handles.url", ""),
            (&status, "job.handles.uri", "`job.handles.uri` does not exist; the job's handles are `url`"),
            (&status, "job.status", "`job.status` does not exist; a job has `id` and `handles`"),
            (&status, "body.anything.at.all", ""),
            (
                &status,
                "args.prompt",
                "`args` does not exist here; here exist `body`, `cancel_requested`, `code`, `headers`, `job`, `key`, `now`, `started_at`, `text`, `tool`",
            ),
        ] {
            assert_eq!(scope.problem(path).unwrap_or_default(), wanted, "{path}");
        }
        assert_eq!(Scope::request().with_args(&json!({ "type": "object" })).problem("args.anything"), None);
    }
}
