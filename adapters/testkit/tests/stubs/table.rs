//! What each matcher means: stubs, requests that they answer, and requests that they do not. The kit and the stock WireMock are held
//! against the same table.

use serde_json::{Value, json};

use crate::ask::{Ask, form, get, multipart, post};

/// A request pattern; requests that fit it; requests that do not.
pub(crate) type Row = (Value, Vec<Ask>, Vec<Ask>);

/// Rows of every matcher.
pub(crate) fn rows() -> Vec<Row> {
    [addresses(), names(), texts(), json_trees(), json_paths(), parts()].concat()
}

fn addresses() -> Vec<Row> {
    let of = |words: Value| {
        let mut words = words;
        words["method"] = json!("GET");
        words
    };
    vec![
        (json!({ "method": "PUT", "url": "/x" }), vec![get("/x").by("PUT")], vec![get("/x")]),
        (json!({ "method": "ANY", "url": "/x" }), vec![get("/x"), post("")], vec![get("/y")]),
        (of(json!({ "url": "/a?b=c" })), vec![get("/a?b=c")], vec![get("/a"), get("/a?b=c&d=e")]),
        (of(json!({ "urlPath": "/a" })), vec![get("/a"), get("/a?b=c")], vec![get("/a/b")]),
        (of(json!({ "urlPath": "/a%20b" })), vec![get("/a%20b")], vec![get("/a")]),
        (of(json!({ "urlPattern": "/a\\?n=[0-9]+" })), vec![get("/a?n=12")], vec![get("/a?n=12x"), get("/a")]),
        (of(json!({ "urlPathPattern": "/a/[0-9]+" })), vec![get("/a/12?n=1")], vec![get("/a/12/b"), get("/a/x")]),
        (of(json!({ "urlPathTemplate": "/t/{id}" })), vec![get("/t/a"), get("/t/a?b=c")], vec![get("/t/a/b"), get("/t/")]),
        (
            of(json!({ "urlPathTemplate": "/t/{id}/{part}", "pathParameters": { "id": { "matches": "[0-9]+" } } })),
            vec![get("/t/7/x")],
            vec![get("/t/x/7")],
        ),
    ]
}

fn any(words: Value) -> Value {
    let mut words = words;
    words["method"] = json!("ANY");
    words["urlPathPattern"] = json!("/.*");
    words
}

fn names() -> Vec<Row> {
    let query = |pattern: Value| any(json!({ "queryParameters": { "a": pattern } }));
    let typed = |value: &str| get("/x").with("A", value);
    vec![
        (query(json!({ "equalTo": "x y" })), vec![get("/x?a=x+y"), get("/x?a=z&a=x%20y")], vec![get("/x"), get("/x?a=z")]),
        (query(json!({ "absent": true })), vec![get("/x"), get("/x?b=1")], vec![get("/x?a=1"), get("/x?a=")]),
        (
            query(json!({ "hasExactly": [{ "equalTo": "x" }, { "equalTo": "y" }] })),
            vec![get("/x?a=y&a=x")],
            vec![get("/x?a=x"), get("/x?a=x&a=y&a=z"), get("/x?a=x&a=x"), get("/x?a=x&a=x&a=y")],
        ),
        (query(json!({ "includes": [{ "equalTo": "x" }] })), vec![get("/x?a=y&a=x")], vec![get("/x?a=y"), get("/x")]),
        (any(json!({ "headers": { "a": { "equalTo": "x" } } })), vec![typed("x")], vec![typed("X"), get("/x")]),
        (any(json!({ "headers": { "a": { "absent": true } } })), vec![get("/x")], vec![typed("x")]),
        (
            any(json!({ "headers": { "A": { "hasExactly": [{ "equalTo": "1" }, { "equalTo": "2" }] } } })),
            vec![typed("1").with("A", "2")],
            vec![typed("1")],
        ),
        (
            any(json!({ "cookies": { "a": { "equalTo": "x" } } })),
            vec![get("/x").with("Cookie", "b=1; a=x")],
            vec![get("/x").with("Cookie", "a=y"), get("/x")],
        ),
        (
            any(json!({ "basicAuthCredentials": { "username": "u", "password": "p" } })),
            vec![get("/x").with("Authorization", "Basic dTpw")],
            vec![get("/x").with("Authorization", "Basic dTpx"), get("/x")],
        ),
        (
            any(json!({ "formParameters": { "a": { "equalTo": "x y" }, "b[c]": { "matches": ".*" } } })),
            vec![form("a=x+y&b%5Bc%5D=1")],
            vec![form("a=x+y"), post("a=x+y&b%5Bc%5D=1"), form("a=z&b%5Bc%5D=1")],
        ),
    ]
}

fn body(pattern: Value) -> Value {
    any(json!({ "bodyPatterns": [pattern] }))
}

fn texts() -> Vec<Row> {
    let query = |pattern: Value| any(json!({ "queryParameters": { "a": pattern } }));
    vec![
        (body(json!({ "equalTo": "x" })), vec![post("x")], vec![post("X"), post("")]),
        (body(json!({ "equalTo": "x", "caseInsensitive": true })), vec![post("X")], vec![post("y")]),
        (body(json!({ "contains": "b" })), vec![post("abc")], vec![post("ac"), post("")]),
        (body(json!({ "doesNotContain": "b" })), vec![post("ac")], vec![post("abc")]),
        (body(json!({ "matches": "a.c" })), vec![post("abc"), post("a\nc")], vec![post("abcd")]),
        (body(json!({ "doesNotMatch": "a.c" })), vec![post("abcd")], vec![post("abc")]),
        (body(json!({ "absent": true })), vec![post(""), get("/x")], vec![post("x")]),
        (query(json!({ "doesNotContain": "b" })), vec![get("/x?a=c"), get("/x")], vec![get("/x?a=abc")]),
        (query(json!({ "doesNotMatch": "b" })), vec![get("/x")], vec![get("/x?a=b")]),
        (query(json!({ "not": { "equalTo": "b" } })), vec![get("/x?a=c"), get("/x")], vec![get("/x?a=b")]),
        (query(json!({ "or": [{ "equalTo": "b" }, { "absent": true }] })), vec![get("/x?a=b"), get("/x")], vec![get("/x?a=c")]),
        (
            query(json!({ "and": [{ "contains": "b" }, { "not": { "contains": "c" } }] })),
            vec![get("/x?a=ab")],
            vec![get("/x?a=abc"), get("/x?a=a"), get("/x")],
        ),
    ]
}

fn json_trees() -> Vec<Row> {
    let tree = |wanted: Value| body(json!({ "equalToJson": wanted }));
    let loose = |wanted: Value, order: bool, extra: bool| {
        body(json!({ "equalToJson": wanted, "ignoreArrayOrder": order, "ignoreExtraElements": extra }))
    };
    let field = |wanted: &str| tree(json!({ "a": wanted }));
    let posts = |bodies: &[&str]| bodies.iter().map(|body| post(body)).collect::<Vec<_>>();
    vec![
        (
            tree(json!({ "a": 1, "b": null })),
            posts(&[r#"{ "b": null, "a": 1 }"#, r#"{"a": 1.0, "b": null}"#]),
            posts(&[r#"{"a": 2, "b": null}"#, r#"{"a": 1}"#, r#"{"a": 1, "b": null, "c": 3}"#, "a", ""]),
        ),
        (tree(json!(r#"{"a": 1}"#)), posts(&[r#"{"a":1}"#]), posts(&[r#"{"a":"1"}"#])),
        (tree(json!([1, 2])), posts(&["[1,2]"]), posts(&["[2,1]", "[1,2,3]", "[1]"])),
        (loose(json!({ "a": [1, 2] }), true, false), posts(&[r#"{"a":[2,1]}"#]), posts(&[r#"{"a":[2,1,3]}"#, r#"{"a":[1,1]}"#])),
        (loose(json!({ "a": 1 }), false, true), posts(&[r#"{"a":1,"b":2}"#]), posts(&[r#"{"b":2}"#])),
        (loose(json!([1, 2]), false, true), posts(&["[1,2]", "[1,2,3]"]), posts(&["[2,1]", "[3,1,2]"])),
        (loose(json!([1, 2]), true, true), posts(&["[2,3,1]"]), posts(&["[1,3]"])),
        (
            loose(json!({ "a": [{ "b": 1 }, { "b": 2 }] }), true, true),
            posts(&[r#"{"a":[{"b":2,"x":1},{"c":2,"b":1}]}"#]),
            posts(&[r#"{"a":[{"b":2},{"b":3}]}"#]),
        ),
        (field("${json-unit.any-string}"), posts(&[r#"{"a":"x"}"#, r#"{"a":""}"#]), posts(&[r#"{"a":1}"#, "{}"])),
        (field("${json-unit.any-number}"), posts(&[r#"{"a":1}"#, r#"{"a":1.5}"#]), posts(&[r#"{"a":"1"}"#])),
        (field("${json-unit.any-boolean}"), posts(&[r#"{"a":false}"#]), posts(&[r#"{"a":"x"}"#])),
        (field("${json-unit.ignore}"), posts(&[r#"{"a":{}}"#, r#"{"a":null}"#]), posts(&["{}"])),
        (field("${json-unit.ignore-element}"), posts(&[r#"{"a":"x"}"#, "{}"]), posts(&[r#"{"b":1}"#])),
        (field("${json-unit.regex}[a-z]+"), posts(&[r#"{"a":"x"}"#]), posts(&[r#"{"a":"x1"}"#, r#"{"a":12}"#])),
    ]
}

fn json_paths() -> Vec<Row> {
    let full = r#"{"a":"x","b":null,"l":[{"k":"v"},{"k":"w"}],"e":[],"z":{"q":1},"f":false,"n":1,"d":1.5,"s":["p","q"]}"#;
    let path = |path: Value| body(json!({ "matchesJsonPath": path }));
    let inner = |expression: &str, pattern: Value| {
        let mut words = pattern;
        words["expression"] = json!(expression);
        path(words)
    };
    let yes = |pattern: Value| (pattern, vec![post(full)], vec![post("no json"), post("{}")]);
    let no = |pattern: Value| (pattern, vec![], vec![post(full), post("no json"), post("")]);
    vec![
        yes(path(json!("$.a"))),
        yes(path(json!("$.f"))),
        yes(path(json!("$.z"))),
        yes(path(json!("$..k"))),
        yes(path(json!("$.l[?(@.k == 'v')]"))),
        yes(path(json!("$.l[-1]"))),
        no(path(json!("$.b"))),
        no(path(json!("$.e"))),
        no(path(json!("$.z.y"))),
        no(path(json!("$.l[?(@.k == 'x')]"))),
        yes(inner("$.a", json!({ "equalTo": "x" }))),
        yes(inner("$.n", json!({ "equalTo": "1" }))),
        yes(inner("$.d", json!({ "equalTo": "1.5" }))),
        yes(inner("$.f", json!({ "equalTo": "false" }))),
        yes(inner("$..k", json!({ "equalTo": "w" }))),
        yes(inner("$.s", json!({ "equalTo": "q" }))),
        yes(inner("$.s", json!({ "equalToJson": ["p", "q"] }))),
        yes(inner("$.z", json!({ "equalToJson": { "q": 1 } }))),
        yes(inner("$.l[0]", json!({ "equalToJson": r#"{"k": "v"}"# }))),
        yes(inner("$.a", json!({ "and": [{ "contains": "x" }, { "matches": "." }] }))),
        no(inner("$.no", json!({ "equalTo": "x" }))),
        no(inner("$.no", json!({ "doesNotContain": "x" }))),
        (inner("$.no", json!({ "absent": true })), vec![post(full), post("no json"), post("")], vec![]),
        (inner("$.a", json!({ "absent": true })), vec![post("{}")], vec![post(full)]),
    ]
}

fn parts() -> Vec<Row> {
    let parts = |pattern: Value| any(json!({ "multipartPatterns": [pattern] }));
    let file = "Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain";
    let field = "Content-Disposition: form-data; name=\"g\"";
    let both = multipart(&[(file, "hello"), (field, "{\"a\": 1}")]);
    vec![
        (parts(json!({ "bodyPatterns": [{ "equalTo": "hello" }] })), vec![both.clone()], vec![post("hello")]),
        (
            parts(json!({ "matchingType": "ALL", "bodyPatterns": [{ "equalTo": "hello" }] })),
            vec![multipart(&[(file, "hello")])],
            vec![both.clone()],
        ),
        (
            parts(
                json!({ "headers": { "Content-Disposition": { "contains": "name=\"g\"" } }, "bodyPatterns": [{ "matchesJsonPath": "$.a" }] }),
            ),
            vec![both.clone()],
            vec![multipart(&[(file, "{\"a\": 1}")])],
        ),
        (
            parts(json!({ "headers": { "Content-Type": { "contains": "text/plain" } } })),
            vec![both],
            vec![multipart(&[(field, "hello")])],
        ),
    ]
}
