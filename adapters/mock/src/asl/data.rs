//! What goes into a state and what comes out of it (section "Input and Output Processing"), and how large it may be.

use serde_json::{Map, Value};

use super::fault::{self, Fault};
use super::machine::{DataFlow, Selection};

/// The most that a state may hand on, in bytes, about.
const MOST_BYTES: usize = 1024 * 1024;
/// The deepest nesting of what a state may hand on.
const DEEPEST: usize = 64;

impl Selection {
    fn of(&self, value: &Value, context: &Value) -> Result<Value, Fault> {
        match self {
            Self::Whole => Ok(value.clone()),
            Self::Nothing => Ok(Value::Object(Map::new())),
            Self::Path(path) => {
                path.get(value, context).ok_or_else(|| Fault::runtime(format!("the path `{path}` names nothing in the data")))
            }
        }
    }
}

impl DataFlow {
    /// The raw input after `InputPath`.
    pub(crate) fn effective(&self, raw: &Value, context: &Value) -> Result<Value, Fault> {
        self.input.of(raw, context)
    }

    /// What the state works on: `Parameters` filled from the effective input, or that input itself.
    pub(crate) fn payload(&self, effective: Value, context: &Value) -> Result<Value, Fault> {
        match &self.parameters {
            Some(template) => template.fill(&effective, context),
            None => Ok(effective),
        }
    }

    /// `ResultSelector`, `ResultPath`, `OutputPath`: from a state's result to its output.
    pub(crate) fn output(&self, raw: &Value, result: Value, context: &Value) -> Result<Value, Fault> {
        let result = match &self.selector {
            Some(template) => template.fill(&result, context)?,
            None => result,
        };
        let combined = match &self.result {
            Some(path) => path.put(raw.clone(), result).map_err(|cause| Fault::new("States.ResultPathMatchFailure", cause))?,
            None => raw.clone(),
        };
        self.hand_on(&combined, context)
    }

    /// `OutputPath` alone, for states without a result.
    pub(crate) fn hand_on(&self, value: &Value, context: &Value) -> Result<Value, Fault> {
        let output = self.output.of(value, context)?;
        let mut left = MOST_BYTES;
        if fits(&output, &mut left, DEEPEST) {
            Ok(output)
        } else {
            Err(Fault::new(
                fault::DATA_LIMIT,
                format!("a state handed on more than {MOST_BYTES} bytes or {DEEPEST} levels of data"),
            ))
        }
    }
}

/// Takes the size of `value` from `left`; false when it is used up or the value is nested too deeply.
fn fits(value: &Value, left: &mut usize, levels: usize) -> bool {
    let own = match value {
        Value::String(text) => text.len() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => 4,
    };
    let Some(rest) = left.checked_sub(own) else { return false };
    *left = rest;
    match value {
        Value::Array(list) => levels > 0 && list.iter().all(|value| fits(value, left, levels - 1)),
        Value::Object(map) => {
            levels > 0
                && map.iter().all(|(key, value)| {
                    *left = left.saturating_sub(key.len());
                    fits(value, left, levels - 1)
                })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
