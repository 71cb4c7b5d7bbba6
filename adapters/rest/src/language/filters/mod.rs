//! The filters that MiniJinja lacks and job APIs need. Each is pure.

mod forms;
mod maps;
mod numbers;
mod texts;
mod times;

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::{Object, Serde, Value};
use minijinja::{Environment, Error, ErrorKind};

use crate::json;
pub(crate) use times::seconds_of;

/// Adds all of them.
pub(crate) fn install(environment: &mut Environment<'static>) {
    environment.add_filter("optional", optional);
    environment.add_filter("to_json", to_json);
    environment.add_filter("from_json", from_json);
    environment.add_filter("base64_encode", |text: &str| STANDARD.encode(text));
    environment.add_filter("base64_decode", base64_decode);
    environment.add_filter("last_segment", texts::last_segment);
    environment.add_filter("regex_extract", texts::regex_extract);
    environment.add_filter("name", texts::name);
    environment.add_filter("folders", texts::folders);
    environment.add_filter("segments", texts::segments);
    environment.add_filter("tail", texts::tail);
    environment.add_filter("last_line", texts::last_line);
    environment.add_filter("digits", numbers::digits);
    environment.add_filter("swap_bytes", numbers::swap_bytes);
    environment.add_filter("values", maps::values);
    environment.add_filter("pairs", maps::pairs);
    environment.add_filter("assignments", maps::assignments);
    environment.add_filter("keyed", maps::keyed);
    environment.add_filter("form", forms::form);
    environment.add_filter("pick", maps::pick);
    environment.add_filter("merge", maps::merge);
    environment.add_filter("only", maps::only);
    environment.add_filter("all_in", maps::all_in);
    environment.add_filter("any_in", maps::any_in);
    environment.add_filter("worst", maps::worst);
    environment.add_filter("epoch_seconds", times::epoch_seconds);
    environment.add_filter("iso", times::iso);
    environment.add_filter("seconds", times::seconds);
    environment.add_filter("ratio", |text: &Value| times::ratio(text));
}

/// The mark of a value that shall be left out.
#[derive(Debug)]
struct Omitted;

impl Object for Omitted {}

pub(crate) fn is_omitted(value: &Value) -> bool {
    value.downcast_object_ref::<Omitted>().is_some()
}

/// `args.size | optional`: where it is undefined or null, the field or parameter is left out.
fn optional(value: &Value) -> Value {
    if value.is_undefined() || value.is_none() { Value::from_dyn_object(Arc::new(Omitted)) } else { value.clone() }
}

/// JSON in a text, without the HTML escapes of `tojson`.
fn to_json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|_| wrong("`to_json` was given what is no JSON"))
}

/// A text that holds JSON, as a value; read like a delivery, as it may be one in an envelope.
fn from_json(text: &str) -> Result<Value, Error> {
    let value = json::strict(text).map_err(|_| wrong("`from_json` was given a text that is no JSON, or has a name twice"))?;
    Ok(Value::from(Serde(value)))
}

fn base64_decode(text: &str) -> Result<String, Error> {
    let bytes = STANDARD.decode(text.trim()).map_err(|_| wrong("`base64_decode` was given what is no base64"))?;
    String::from_utf8(bytes).map_err(|_| wrong("`base64_decode` gives bytes that are no text"))
}

/// What is wrong, without the value: it may be anything that a provider sent.
fn wrong(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The value of an expression over `v`.
    fn eval(expression: &str, v: serde_json::Value) -> Result<serde_json::Value, Error> {
        let mut environment = Environment::new();
        install(&mut environment);
        let value = environment.compile_expression(expression)?.eval(minijinja::context! { v => Value::from(Serde(v)) })?;
        Ok(if value.is_undefined() { json!("undefined") } else { serde_json::to_value(&value).expect("a value is JSON") })
    }

    /// A4, A6, C7, D1, F1, F2: each filter by what it gives.
    #[test]
    fn filters_give_what_apis_want() {
        for (expression, v, wanted) in [
            ("v | pairs", json!({ "a": 1 }), json!([{ "key": "a", "value": 1 }])),
            ("v | pairs(key='name', value='val')", json!({ "b": true }), json!([{ "name": "b", "val": true }])),
            ("v | keyed('name', value='value')", json!([{ "name": "a", "value": 1 }, { "name": "b" }]), json!({ "a": 1 })),
            ("v | keyed('k')", json!([{ "k": "a", "n": 1 }, { "k": "a", "n": 2 }]), json!({ "a": { "n": 2 } })),
            ("v | keyed('k', type='text', n=3)", json!([{ "k": "a", "n": 1 }]), json!({ "a": { "n": 1, "type": "text" } })),
            ("v | assignments", json!({ "k": "v", "n": 2 }), json!(["k=v", "n=2"])),
            ("v | assignments(sep=': ') | join(',')", json!({ "k": "v" }), json!("k: v")),
            ("v | pick('n')", json!({ "a": { "n": 1 }, "b": { "m": 2 }, "c": 3 }), json!({ "a": 1 })),
            ("v.a | merge(v.b)", json!({ "a": { "x": 1, "y": 2 }, "b": { "y": 3 } }), json!({ "x": 1, "y": 3 })),
            ("v | only(['a', 'z'])", json!({ "a": 1, "b": 2 }), json!({ "a": 1 })),
            ("v | only({'b': 0})", json!({ "a": 1, "b": 2 }), json!({ "b": 2 })),
            ("v | all_in(['done'])", json!(["done", "done"]), json!(true)),
            ("v | all_in(['done'])", json!(["done", "busy"]), json!(false)),
            ("v | all_in(['done'])", json!([]), json!(false)),
            ("v | any_in(['failed'])", json!(["done", "failed"]), json!(true)),
            ("v | any_in(['failed'])", json!([]), json!(false)),
            ("v | worst(['failed', 'busy', 'done'])", json!(["done", "busy"]), json!("busy")),
            ("v | worst(['failed'])", json!(["done"]), json!("undefined")),
            ("v | name(20)", json!("build_7"), json!("build_7")),
            ("v | name(20) | length", json!("a name that is much too long"), json!(20)),
            ("v | name(63, kind='dns')", json!("task-1"), json!("task-1")),
            ("v | name(63, kind='dns') | regex_extract('^(.*)-[0-9a-f]{8}$')", json!("Task_1"), json!("task-1")),
            ("v | folders('job')", json!("team a/app"), json!("job/team%20a/job/app")),
            ("v | segments", json!("projects/p 1/locations/l"), json!("projects/p%201/locations/l")),
            ("v | tail(2)", json!("a\nb\nc\n"), json!("b\nc")),
            ("v | last_line", json!("a\n  b \n\n"), json!("b")),
            ("v | last_line", json!("\n"), json!("undefined")),
            ("v | digits(10, 16, 4)", json!(255), json!("00ff")),
            ("v | digits(62, 16, 16)", json!("kH1GpeXWAQQ"), json!("f10920ffb13333bc")),
            ("v | digits(16, 64, 6)", json!("000000110"), json!("AAAAEQ")),
            ("v | digits(2, 36, 1)", json!("0000"), json!("0")),
            ("v | swap_bytes", json!("f10920ff"), json!("ff2009f1")),
            ("v | iso", json!(1_785_240_000), json!("2026-07-28T12:00:00Z")),
            ("v | iso", json!(1_785_240_000.25), json!("2026-07-28T12:00:00.25Z")),
            ("v | iso('ms')", json!(1_785_240_000_250_i64), json!("2026-07-28T12:00:00.25Z")),
            ("v | epoch_seconds", json!("2026-07-28T12:00:00Z"), json!(1_785_240_000)),
            ("v | seconds", json!(90), json!(90.0)),
            ("v | seconds", json!("PT1M30S"), json!(90.0)),
            ("v | seconds", json!("1m30s"), json!(90.0)),
            ("v | seconds", json!("P1D"), json!(86_400.0)),
            ("v | seconds", json!("1:02:03.5"), json!(3_723.5)),
            ("v | seconds", json!("250ms"), json!(0.25)),
            ("v | ratio", json!("step 3 of 7"), json!({ "done": 3.0, "total": 7.0 })),
            ("v | ratio", json!("3/7"), json!({ "done": 3.0, "total": 7.0 })),
            ("v | ratio", json!("42.5% done"), json!({ "done": 42.5, "total": 100.0 })),
            ("v | ratio", json!("soon"), json!("undefined")),
        ] {
            assert_eq!(eval(expression, v.clone()).expect(expression), wanted, "{expression} of {v}");
        }
    }

    #[test]
    fn filters_refuse_what_they_cannot_read_without_repeating_it() {
        for (expression, v) in [
            ("v | all_in('done')", json!(["done"])),
            ("v | name(5)", json!("x")),
            ("v | name(20, kind='host')", json!("x")),
            ("v | name(20, length=3)", json!("x")),
            ("v | folders('job')", json!("a/../hunter2")),
            ("v | segments", json!("")),
            ("v | digits(62, 16, 32)", json!("hunter2 ")),
            ("v | digits(62, 16, 4)", json!("hunter2")),
            ("v | digits(63, 16, 32)", json!("hunter2")),
            ("v | digits(10, 16, 32)", json!("")),
            ("v | digits(10, 16, 32)", json!(-1)),
            ("v | swap_bytes", json!("hunter2")),
            ("v | iso('h')", json!(1)),
            ("v | iso", json!("hunter2")),
            ("v | iso", json!(1e300)),
            ("v | seconds", json!("hunter2")),
            ("v | seconds", json!(null)),
            ("v | pairs(field='x')", json!({})),
            ("v | keyed('name')", json!([{ "value": "hunter2" }])),
            ("v | keyed('name')", json!("hunter2")),
            ("v | pick('x')", json!(["hunter2"])),
            ("{} | merge(v)", json!("hunter2")),
            ("v | only('hunter2')", json!({})),
        ] {
            let error = eval(expression, v).expect_err(expression);
            assert!(!error.to_string().contains("hunter2"), "{expression}: {error}");
        }
    }

    /// Names that were changed never meet.
    #[test]
    fn different_texts_become_different_names() {
        let name = |text: &str| eval("v | name(24, kind='dns')", json!(text)).expect("a name");
        let texts = ["Main", "main", "main ", "m/ain", "a long name that ends in 1", "a long name that ends in 2", "-", "--"];
        let names: std::collections::BTreeSet<String> = texts.iter().map(|text| name(text).to_string()).collect();
        assert_eq!(names.len(), texts.len(), "{names:?}");
    }
}
