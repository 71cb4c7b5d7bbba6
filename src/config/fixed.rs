//! Arguments that the operator fixes: a tool's `with`.

use jobgate_adapter_api::{Issues, Place};
use serde_json::{Map, Value};

use super::structure::choice;

/// The schema that callers see: `arguments` without those that are fixed. What is wrong in their values is noted.
pub(super) fn open(arguments: &Value, fixed: &Map<String, Value>, place: &Place, issues: &mut Issues) -> Value {
    let mut open = arguments.clone();
    if fixed.is_empty() {
        return open;
    }
    let known: Vec<String> = arguments["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
    for name in fixed.keys().filter(|name| !known.contains(name)) {
        let hint = choice(name, &known, "arguments").unwrap_or_default();
        issues.add_with_hint(place.key(name), format!("`{}` is no argument of the tool", name.escape_debug()), hint);
    }
    // Only the values that are there can be wrong; what is missing is the caller's.
    let mut schema = arguments.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("required");
    }
    if let Ok(validator) = jsonschema::draft202012::new(&schema) {
        for error in validator.iter_errors(&Value::Object(fixed.clone())) {
            let path = error.instance_path().as_str().to_owned();
            let mut steps = path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
            if let Some(name) = steps.next().filter(|name| known.contains(name)) {
                let place = steps.fold(place.key(name), |place, step| place.key(step));
                issues.add(place, format!("does not fit the tool's `input`: {error}"));
            }
        }
    }
    if let Some(properties) = open["properties"].as_object_mut() {
        properties.retain(|name, _| !fixed.contains_key(name));
    }
    if let Some(required) = open["required"].as_array_mut() {
        required.retain(|name| !name.as_str().is_some_and(|name| fixed.contains_key(name)));
    }
    open
}
