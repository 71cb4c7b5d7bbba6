//! A request that a mapping wants, made from its matchers. `"metadata": {"example": {"path": ..., "headers": {...}, "body": ...}}` says what
//! cannot be made.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value};

use crate::ask::{Ask, get};

pub(crate) fn of(mapping: &Value) -> Ask {
    let request = &mapping["request"];
    let method = match request["method"].as_str().unwrap() {
        "ANY" => "GET",
        method => {
            ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].into_iter().find(|known| *known == method).unwrap()
        }
    };
    let example = &mapping["metadata"]["example"];
    let mut ask = get("/").by(method);
    let mut body = example["body"].as_str().map_or_else(|| body(request), str::to_owned);
    for (name, pattern) in fields(request, "headers") {
        match text(pattern) {
            // WireMock answers 500 to a multipart body that is none.
            Some(value) if value.starts_with("multipart/") => {
                ask = ask.with(name, "multipart/form-data; boundary=B");
                if example["body"].is_null() {
                    body = format!("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n{body}\r\n--B--\r\n");
                }
            }
            Some(value) => ask = ask.with(name, &value),
            None => {}
        }
    }
    for (name, value) in example["headers"].as_object().into_iter().flatten() {
        ask = ask.with(name, value.as_str().unwrap());
    }
    let cookies: Vec<String> =
        fields(request, "cookies").filter_map(|(name, pattern)| Some(format!("{name}={}", text(pattern)?))).collect();
    if !cookies.is_empty() {
        ask = ask.with("Cookie", &cookies.join("; "));
    }
    if let Some(known) = request["basicAuthCredentials"].as_object() {
        use base64::Engine as _;
        let pair = format!("{}:{}", known["username"].as_str().unwrap(), known["password"].as_str().unwrap());
        ask = ask.with("Authorization", &format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair)));
    }
    let form = pairs(request, "formParameters");
    if !form.is_empty() {
        body = form;
        if !fields(request, "headers").any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            ask = ask.with("Content-Type", "application/x-www-form-urlencoded");
        }
    }
    let path = example["path"].as_str().map_or_else(|| path(request), str::to_owned);
    ask.at(&path).sending(&body)
}

fn fields<'a>(request: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    request[key].as_object().into_iter().flatten()
}

fn pairs(request: &Value, key: &str) -> String {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for (name, pattern) in fields(request, key) {
        for pattern in pattern["hasExactly"].as_array().or(pattern["includes"].as_array()).unwrap_or(&vec![pattern.clone()]) {
            if let Some(value) = text(pattern) {
                form.append_pair(name, &value);
            }
        }
    }
    form.finish()
}

fn path(request: &Value) -> String {
    let word = |key: &str| request[key].as_str();
    let path = match (word("url").or(word("urlPath")), word("urlPattern").or(word("urlPathPattern")), word("urlPathTemplate")) {
        (Some(path), ..) => path.to_owned(),
        (_, Some(pattern), _) => like(pattern),
        (.., Some(template)) => {
            let steps = template.split('/').map(|step| match step.strip_prefix('{').and_then(|step| step.strip_suffix('}')) {
                Some(name) => text(&request["pathParameters"][name]).unwrap_or_else(|| "a1".to_owned()),
                None => step.to_owned(),
            });
            steps.collect::<Vec<_>>().join("/")
        }
        _ => panic!("no address: {request}"),
    };
    let query = pairs(request, "queryParameters");
    if query.is_empty() || path.contains('?') { path } else { format!("{path}?{query}") }
}

/// A text that a matcher fits; `None` for what must not be there.
fn text(pattern: &Value) -> Option<String> {
    let word = |key: &str| pattern[key].as_str().map(str::to_owned);
    if pattern["absent"] == true || pattern.get("doesNotMatch").is_some() || pattern.get("doesNotContain").is_some() {
        return None;
    }
    if let Some(all) = pattern["and"].as_array().or(pattern["or"].as_array()) {
        return all.first().and_then(text);
    }
    Some(match (word("equalTo").or(word("contains")), word("matches"), pattern.get("equalToJson")) {
        (Some(text), ..) => text,
        (_, Some(pattern), _) => like(&pattern),
        (.., Some(tree)) => {
            filled(&tree.as_str().map_or_else(|| tree.clone(), |text| serde_json::from_str(text).unwrap())).to_string()
        }
        _ => "other".to_owned(),
    })
}

/// A text of plain signs that an expression matches.
fn like(pattern: &str) -> String {
    let plain =
        pattern.replace("[^/?]", "[a-z]").replace("[^/]", "[a-z]").replace(".*", "[a-z]{0,3}").replace(".+", "[a-z]{1,3}");
    let strategy = proptest::string::string_regex(&plain).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let mut runner = TestRunner::deterministic();
    let made = std::iter::repeat_with(|| strategy.new_tree(&mut runner).unwrap().current());
    made.take(1000)
        .find(|text| text.chars().all(|sign| (sign.is_ascii_graphic() && sign != '#') || (sign == ' ' && pattern.contains(' '))))
        .unwrap_or_else(|| panic!("no plain text for {pattern}"))
}

/// A tree with something in the place of each placeholder.
fn filled(tree: &Value) -> Value {
    match tree {
        Value::Array(list) => list.iter().map(filled).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), filled(value))).collect(),
        Value::String(text) => match text.strip_prefix("${json-unit.").and_then(|rest| rest.split_once('}')) {
            Some(("any-number", _)) => 7.into(),
            Some(("any-boolean", _)) => true.into(),
            Some(("regex", pattern)) => like(pattern).into(),
            Some(_) => "any".into(),
            None => text.clone().into(),
        },
        value => value.clone(),
    }
}

fn body(request: &Value) -> String {
    let patterns = request["bodyPatterns"].as_array().cloned().unwrap_or_default();
    let mut tree = Value::Null;
    let mut texts = Vec::new();
    for pattern in &patterns {
        match &pattern["matchesJsonPath"] {
            Value::Null => match text(pattern).map(|text| (serde_json::from_str::<Value>(&text).ok(), text)) {
                Some((Some(Value::Object(fields)), _)) => {
                    fields.into_iter().for_each(|(name, value)| put(&mut tree, &[name], value))
                }
                Some((_, text)) => texts.push(text),
                None => {}
            },
            Value::String(path) => put_path(&mut tree, path, &Value::Null),
            path => put_path(&mut tree, path["expression"].as_str().unwrap(), path),
        }
    }
    if tree.is_null() {
        return texts.concat();
    }
    if !texts.is_empty() {
        put(&mut tree, &["text".to_owned()], texts.concat().into());
    }
    tree.to_string()
}

/// Names alone, and `[?(@.name == 'value')]` behind them.
fn put_path(tree: &mut Value, path: &str, pattern: &Value) {
    let (names, filter) = path.split_once("[?").map_or((path, None), |(names, filter)| (names, Some(filter)));
    let steps: Vec<String> = names
        .trim_start_matches('$')
        .split(['.', '['])
        .filter(|step| !step.is_empty())
        .map(|step| step.trim_matches([']', '\'', '"']).to_owned())
        .collect();
    let value = match filter {
        Some(filter) => {
            let (name, value) = filter.trim_matches(['(', ')', ']']).split_once("==").unwrap_or_else(|| panic!("{path}"));
            let name = name.trim().trim_start_matches("@.");
            Value::Array(vec![Value::Object(Map::from_iter([(
                name.to_owned(),
                value.trim().trim_matches(['\'', '"', ')']).into(),
            )]))])
        }
        None if pattern["absent"] == true => return,
        None => match (pattern.get("equalToJson"), text(pattern)) {
            (Some(_), Some(text)) => serde_json::from_str(&text).unwrap(),
            (None, Some(text)) => text.into(),
            (_, None) => "other".into(),
        },
    };
    put(tree, &steps, value);
}

fn put(tree: &mut Value, steps: &[String], value: Value) {
    match steps {
        [] => *tree = value,
        [step, rest @ ..] => match step.parse::<usize>() {
            Ok(index) => {
                if !tree.is_array() {
                    *tree = Value::Array(Vec::new());
                }
                let list = tree.as_array_mut().unwrap();
                list.resize(list.len().max(index + 1), Value::Null);
                put(&mut list[index], rest, value);
            }
            Err(_) => {
                if !tree.is_object() {
                    *tree = Value::Object(Map::new());
                }
                put(&mut tree[step.as_str()], rest, value);
            }
        },
    }
}
