//! What a `Task` can do here: give a canned result, or wait for a person, also as one who holds its task token.

use serde::Deserialize;
use serde_json::Value;

use super::machine::Resource;

/// The words for each resource.
pub(crate) const RESOURCES: [(&str, Resource); 2] = [("mock:result", Resource::Result), ("mock:callback", Resource::Callback)];

/// How the name of a resource ends that waits until somebody sends its task token back.
pub(crate) const TASK_TOKEN: &str = ".waitForTaskToken";

/// What `mock:result` takes as its `Parameters`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Canned {
    /// How long it takes, in seconds.
    #[serde(default)]
    pub(crate) duration_seconds: f64,
    /// What it gives.
    pub(crate) result: Option<Value>,
    /// The error it raises instead.
    pub(crate) error: Option<String>,
    /// The error's sentence.
    pub(crate) cause: Option<String>,
    /// Only the first so many attempts raise the error.
    pub(crate) fail_first: Option<u64>,
}

/// What `mock:callback` takes as its `Parameters`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(crate) struct Callback {
    /// What the person reads.
    pub(crate) message: Option<String>,
    /// The form, as a flat JSON Schema of type `object`.
    pub(crate) form: Option<Value>,
    /// A page to send the person to instead.
    pub(crate) url: Option<String>,
}

const CANNED_WORDS: [&str; 5] = ["DurationSeconds", "Result", "Error", "Cause", "FailFirst"];
const CALLBACK_WORDS: [&str; 3] = ["Message", "Form", "Url"];

impl Resource {
    /// The keys of its `Parameters`.
    pub(crate) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Result => &CANNED_WORDS,
            Self::Callback => &CALLBACK_WORDS,
            // Whatever its service takes.
            Self::TaskToken => &[],
        }
    }

    /// Checks parameters that hold no path.
    pub(crate) fn check(self, parameters: &Value) -> Result<(), String> {
        match self {
            Self::Result => Canned::read(parameters).map(|_| ()),
            Self::Callback => Callback::read(parameters).map(|_| ()),
            Self::TaskToken => Ok(()),
        }
    }
}

impl Canned {
    pub(crate) fn read(parameters: &Value) -> Result<Self, String> {
        let words = Self::deserialize(parameters).map_err(|error| format!("`mock:result` cannot be done: {error}"))?;
        if super::fields::millis(words.duration_seconds).is_none() {
            return Err("`DurationSeconds` is a number of seconds from 0 to 99999999".to_owned());
        }
        if words.error.is_none() && (words.cause.is_some() || words.fail_first.is_some()) {
            return Err("`Cause` and `FailFirst` belong to an `Error`".to_owned());
        }
        Ok(words)
    }

    /// Whether this attempt, counted from 1, raises the error.
    pub(crate) fn raises(&self, attempt: u64) -> Option<&str> {
        self.error.as_deref().filter(|_| self.fail_first.is_none_or(|first| attempt <= first))
    }
}

impl Callback {
    pub(crate) fn read(parameters: &Value) -> Result<Self, String> {
        let words = Self::deserialize(parameters).map_err(|error| format!("`mock:callback` cannot be done: {error}"))?;
        if words.form.is_some() && words.url.is_some() {
            return Err("either a `Form` or a `Url`, not both".to_owned());
        }
        let flat = words.form.as_ref().is_none_or(|form| form["type"] == "object" && form["properties"].is_object());
        if !flat {
            return Err("a `Form` is a JSON Schema of type `object` with `properties`".to_owned());
        }
        Ok(words)
    }
}
