//! The words of `input`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Request, Step};
use crate::codes::Codes;

/// What a job that waits for a person asks, and where the answer goes. The words read the status answer, and the steps.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Further requests, made where the state is `input_required`.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Where a job asks several questions at once: the list, for example `{{ steps.gates.body.gates }}`. Every other word then knows `item`.
    pub each: Option<String>,
    /// Elements of `each`, 1 to 100; those beyond are asked when the first ones are answered.
    #[serde(default = "super::result::twenty")]
    pub most: usize,
    /// Which elements ask: an expression without braces, for example `item.state == 'waiting'`. Where none does, the job counts as
    /// running.
    pub when: Option<String>,
    /// Names the question; the same question always has the same key. Callers see it.
    pub key: String,
    /// What the person reads.
    pub message: String,
    /// The form: a JSON Schema of type `object` with primitive properties, as a tree or as one expression that gives it. What the provider
    /// gives is brought to what MCP allows: references and nullable types are resolved, choices become texts, lists of choices stay; a
    /// nested field is left out, and one that is required is a fault.
    pub form: Option<Value>,
    /// Instead of `form`: a page of the provider's own. Beside it: where a no is given, with `decline: link`.
    pub page: Option<String>,
    /// Hands over an accepted form.
    pub accept: Option<Answer>,
    /// Hands over a no: a request, or `cancel` (the job is cancelled), or `link` (a no is given at `page` alone, which the question says).
    /// Without it a declined form is an error that says so.
    pub decline: Option<Decline>,
}

/// Hands an answer over. Before it the job is looked at, and nothing is sent when it no longer waits for this answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The request. It knows what the question knows, and `answer` (`answer.key`, `answer.content`).
    pub request: Request,
    /// Status codes that mean "taken". Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "it was answered before".
    #[serde(default = "Codes::none")]
    pub already_answered: Codes,
}

/// What a no does.
#[derive(Clone, Debug)]
pub enum Decline {
    /// It is handed over.
    Request(Box<Answer>),
    /// The job is cancelled.
    Cancel,
    /// It is given at the provider's page.
    Link,
}

impl<'de> Deserialize<'de> for Decline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(word) if word == "cancel" => Ok(Self::Cancel),
            Value::String(word) if word == "link" => Ok(Self::Link),
            Value::Object(words) => {
                serde_json::from_value(Value::Object(words)).map(Self::Request).map_err(serde::de::Error::custom)
            }
            _ => Err(serde::de::Error::custom(
                "a `decline` is `cancel`, `link`, or a request: `{ request: { path: /jobs/{{ job.id }}/reject } }`",
            )),
        }
    }
}

impl JsonSchema for Decline {
    fn schema_name() -> Cow<'static, str> {
        "Decline".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let answer = generator.subschema_for::<Answer>();
        json_schema!({ "anyOf": [{ "enum": ["cancel", "link"] }, answer], "description": "A request, `cancel` or `link`." })
    }
}
