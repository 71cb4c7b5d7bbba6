//! Payload templates: JSON in which a key that ends in `.$` takes its value from a path or an intrinsic function.
//!
//! States Language, section "Payload Template".

use jobgate_adapter_api::{Issues, Place};
use serde_json::{Map, Value};

use super::fault::Fault;
use super::intrinsic::{Call, CallError};
use super::path::Path;

/// A template, ready to fill.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Template {
    /// Stands for itself.
    Literal(Value),
    /// From the data.
    Path(Path),
    /// From a function.
    Call(Call),
    /// Key by key.
    Object(Vec<(String, Template)>),
    /// Element by element.
    Array(Vec<Template>),
}

impl Template {
    /// Reads a template; what cannot be read is noted and `null` stands in its place.
    pub(crate) fn parse(value: &Value, place: &Place, issues: &mut Issues) -> Self {
        match value {
            Value::Object(map) => {
                let fields: Vec<(String, Self)> = map
                    .iter()
                    .map(|(key, value)| {
                        let place = place.key(key);
                        match key.strip_suffix(".$") {
                            Some(name) => (name.to_owned(), Self::parse_dynamic(value, &place, issues)),
                            None => (key.clone(), Self::parse(value, &place, issues)),
                        }
                    })
                    .collect();
                if fields.iter().all(|(_, field)| matches!(field, Self::Literal(_))) {
                    return Self::Literal(value.clone());
                }
                Self::Object(fields)
            }
            Value::Array(list) => {
                let parts: Vec<Self> =
                    list.iter().enumerate().map(|(nth, value)| Self::parse(value, &place.index(nth), issues)).collect();
                if parts.iter().all(|part| matches!(part, Self::Literal(_))) {
                    Self::Literal(value.clone())
                } else {
                    Self::Array(parts)
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Self::Literal(value.clone()),
        }
    }

    /// Reads the value of a key that ends in `.$`, or of a field whose value is always a path or a function.
    pub(crate) fn parse_dynamic(value: &Value, place: &Place, issues: &mut Issues) -> Self {
        let read = match value {
            Value::String(text) if text.starts_with('$') => Path::parse(text).map(Self::Path),
            Value::String(text) => Call::parse(text).map(Self::Call),
            other => Err(format!("the value of a key that ends in `.$` is a path or a function in quotes, not `{other}`")),
        };
        read.unwrap_or_else(|message| {
            issues.add_with_hint(place.clone(), message, "a path such as `$.name`, or `States.Format('{}', $.name)`");
            Self::Literal(Value::Null)
        })
    }

    /// The value of the template.
    pub(crate) fn fill(&self, input: &Value, context: &Value) -> Result<Value, Fault> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Path(path) => path.get(input, context).ok_or_else(|| Fault::parameter_path(path)),
            Self::Call(call) => call.evaluate(input, context).map_err(|error| match error {
                CallError::Path(cause) => Fault::new("States.ParameterPathFailure", cause),
                CallError::Arguments(cause) => Fault::new("States.IntrinsicFailure", cause),
            }),
            Self::Object(fields) => {
                let mut map = Map::new();
                for (key, field) in fields {
                    map.insert(key.clone(), field.fill(input, context)?);
                }
                Ok(Value::Object(map))
            }
            Self::Array(parts) => parts.iter().map(|part| part.fill(input, context)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fill(template: &Value, input: &Value) -> Result<Value, Fault> {
        let mut issues = Issues::new();
        let template = Template::parse(template, &Place::root(), &mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        template.fill(input, &json!({"State": {"Name": "Here"}}))
    }

    #[test]
    fn dynamic_keys_are_filled_at_any_depth_and_the_rest_stands() {
        let template =
            json!({"a.$": "$.x", "b": [{"c.$": "States.Format('<{}>', $.x)"}, 1], "d": {"e.$": "$$.State.Name"}, "f": "$.x"});
        assert_eq!(
            fill(&template, &json!({"x": 7})),
            Ok(json!({"a": 7, "b": [{"c": "<7>"}, 1], "d": {"e": "Here"}, "f": "$.x"}))
        );
    }

    #[test]
    fn a_path_that_names_nothing_is_the_error_of_the_states_language() {
        assert_eq!(fill(&json!({"a.$": "$.x"}), &json!({})).unwrap_err().error, "States.ParameterPathFailure");
        assert_eq!(fill(&json!({"a.$": "States.MathAdd($, 1)"}), &json!({})).unwrap_err().error, "States.IntrinsicFailure");
    }

    #[test]
    fn every_unreadable_key_is_noted_with_its_place() {
        let mut issues = Issues::new();
        Template::parse(&json!({"a": {"b.$": 5}, "c": [{"d.$": "nothing"}]}), &Place::root().key("Parameters"), &mut issues);
        let places: Vec<String> = issues.iter().map(|issue| issue.place.to_string()).collect();
        assert_eq!(places, ["Parameters.a.b.$", "Parameters.c[0].d.$"]);
    }
}
