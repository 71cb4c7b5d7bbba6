//! Paths into JSON: how a machine names a part of its data.
//!
//! The subset of JSONPath that the States Language calls Reference Paths (section "Reference Paths"), plus the wildcard `[*]`
//! for reading. `$` is the state's input, `$$` the context object.

use std::fmt;

use serde_json::{Map, Value};

/// A way into a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    text: String,
    root: Root,
    steps: Vec<Step>,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// `$`
    Input,
    /// `$$`
    Context,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    /// Negative counts from the end.
    Index(i64),
    All,
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// A sentence that says what was not understood.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (root, mut rest) = match (text.strip_prefix("$$"), text.strip_prefix('$')) {
            (Some(rest), _) => (Root::Context, rest),
            (None, Some(rest)) => (Root::Input, rest),
            (None, None) => return Err(format!("`{text}` is no path: a path begins with `$`, for example `$.order.id`")),
        };
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = step(rest).ok_or_else(|| {
                format!(
                    "`{text}` is no path that is understood here, from `{rest}` on; write `.name`, `['name']`, `[0]` or `[*]`"
                )
            })?;
            steps.push(step);
            rest = after;
        }
        Ok(Self { text: text.to_owned(), root, steps })
    }

    /// Reads a path that names exactly one place of the state's own data, as `ResultPath` needs it.
    ///
    /// # Errors
    /// As [`Path::parse`], and for a wildcard, an index from the end, or a path into the context object.
    pub(crate) fn parse_reference(text: &str) -> Result<Self, String> {
        let path = Self::parse(text)?;
        let single = path.steps.iter().all(|step| match step {
            Step::Key(_) => true,
            Step::Index(index) => *index >= 0,
            Step::All => false,
        });
        if path.root == Root::Context || !single {
            return Err(format!("`{text}` must name exactly one place of the state's data, for example `$.result`"));
        }
        Ok(path)
    }

    /// What lies there; `None` where nothing does. A path with a wildcard gives an array of all it names.
    pub(crate) fn get(&self, input: &Value, context: &Value) -> Option<Value> {
        let mut found = vec![match self.root {
            Root::Input => input,
            Root::Context => context,
        }];
        let mut many = false;
        for step in &self.steps {
            found = found.into_iter().flat_map(|value| step.of(value)).collect();
            many |= matches!(step, Step::All);
        }
        if many { Some(found.into_iter().cloned().collect()) } else { found.first().map(|value| (*value).clone()) }
    }

    /// `document` with `value` put there; missing objects on the way are made (section "ResultPath").
    ///
    /// # Errors
    /// Where something else than an object stands in the way, or an index lies past the end.
    pub(crate) fn put(&self, document: Value, value: Value) -> Result<Value, String> {
        put(document, &self.steps, value).ok_or_else(|| format!("the path `{}` does not fit the state's input", self.text))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads one step from the front of `text`.
fn step(text: &str) -> Option<(Step, &str)> {
    if let Some(rest) = text.strip_prefix('.') {
        if let Some(rest) = rest.strip_prefix('*') {
            return Some((Step::All, rest));
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let fit = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-' || c == '$');
        return fit.then(|| (Step::Key(name.to_owned()), rest));
    }
    let rest = text.strip_prefix('[')?;
    for quote in ['\'', '"'] {
        if let Some(rest) = rest.strip_prefix(quote) {
            let (name, rest) = rest.split_once(quote)?;
            return Some((Step::Key(name.to_owned()), rest.strip_prefix(']')?));
        }
    }
    let (inside, rest) = rest.split_once(']')?;
    if inside == "*" {
        return Some((Step::All, rest));
    }
    Some((Step::Index(inside.parse().ok()?), rest))
}

impl Step {
    fn of<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Key(key), Value::Object(map)) => map.get(key).into_iter().collect(),
            (Self::Index(index), Value::Array(list)) => {
                position(*index, list.len()).and_then(|at| list.get(at)).into_iter().collect()
            }
            (Self::All, Value::Array(list)) => list.iter().collect(),
            (Self::All, Value::Object(map)) => map.values().collect(),
            (Self::Key(_) | Self::Index(_) | Self::All, _) => Vec::new(),
        }
    }
}

/// The place that an index means in a list of this length; negative counts from the end.
fn position(index: i64, len: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn put(document: Value, steps: &[Step], value: Value) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match (step, document) {
        (Step::Key(key), Value::Object(mut map)) => {
            let inner = map.get_mut(key).map_or_else(|| Value::Object(Map::new()), Value::take);
            map.insert(key.clone(), put(inner, rest, value)?);
            Some(Value::Object(map))
        }
        (Step::Index(index), Value::Array(mut list)) => {
            let slot = list.get_mut(usize::try_from(*index).ok()?)?;
            *slot = put(slot.take(), rest, value)?;
            Some(Value::Array(list))
        }
        (Step::Key(_) | Step::Index(_) | Step::All, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn get(path: &str, input: &Value) -> Option<Value> {
        Path::parse(path).unwrap().get(input, &json!({"Execution": {"Id": "x1"}}))
    }

    #[test]
    fn every_step_reads_what_it_names() {
        let input = json!({"a": {"b-c": [10, 20, 30]}, "odd key": 1, "list": [{"x": 1}, {"x": 2}, {}]});
        assert_eq!(get("$", &input), Some(input.clone()));
        assert_eq!(get("$.a.b-c[1]", &input), Some(json!(20)));
        assert_eq!(get("$.a.b-c[-1]", &input), Some(json!(30)));
        assert_eq!(get("$['odd key']", &input), Some(json!(1)));
        assert_eq!(get("$.list[*].x", &input), Some(json!([1, 2])));
        assert_eq!(get("$$.Execution.Id", &input), Some(json!("x1")));
        assert_eq!(get("$.missing", &input), None);
        assert_eq!(get("$.a.b-c[9]", &input), None);
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_part_that_was_not_understood() {
        for (text, part) in [
            ("a.b", "begins with `$`"),
            ("$..a", "from `..a` on"),
            ("$[?(@.x)]", "from `[?"),
            ("$.a b", "from `.a b`"),
            ("$.", "from `.`"),
        ] {
            let refused = Path::parse(text).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
        for text in ["$.a[*]", "$$.Execution", "$.a[-1]"] {
            assert!(Path::parse_reference(text).is_err(), "{text}");
        }
    }

    #[test]
    fn putting_makes_the_objects_on_the_way_and_refuses_what_does_not_fit() {
        let put = |path: &str, document: Value| Path::parse_reference(path).unwrap().put(document, json!(1)).ok();
        assert_eq!(put("$.a.b", json!({"z": 0})), Some(json!({"z": 0, "a": {"b": 1}})));
        assert_eq!(put("$.l[1]", json!({"l": [0, 0]})), Some(json!({"l": [0, 1]})));
        assert_eq!(put("$", json!([])), Some(json!(1)));
        assert_eq!(put("$.a", json!("text")), None);
        assert_eq!(put("$.l[5]", json!({"l": []})), None);
    }
}
