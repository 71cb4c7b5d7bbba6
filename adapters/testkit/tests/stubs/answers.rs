//! What a response says: bodies, headers, templates. The kit and the stock WireMock are held against the same table.

use serde_json::{Value, json};

use crate::ask::{Ask, get, post};

/// A response, a request, and the body that comes back: text to be found whole, or a pattern where it is not the same each time.
pub(crate) type Row = (Value, Ask, Body);

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Is(&'static str),
    Like(&'static str),
}

fn template(body: &str) -> Value {
    json!({ "body": body, "transformers": ["response-template"], "transformerParameters": { "a": { "b": ["c"] } } })
}

pub(crate) fn rows() -> Vec<Row> {
    let asked = || get("/a/b%20c?x=1&x=2&y=z").with("X-T", "v<&\"").with("Cookie", "c=d");
    let sent = || post(r#"{"a":"<q&>","l":[1,2],"o":{"k":"v"},"n":1.5,"z":null}"#).at("/a/b");
    let is = |body, ask, told| (template(body), ask, Body::Is(told));
    vec![
        (json!({ "status": 202 }), asked(), Body::Is("")),
        (json!({ "body": "a" }), asked(), Body::Is("a")),
        (json!({ "base64Body": "aGk=" }), asked(), Body::Is("hi")),
        (json!({ "jsonBody": { "a": [1, null], "b": "{{x}}" } }), asked(), Body::Is(r#"{"a":[1,null],"b":"{{x}}"}"#)),
        (json!({ "jsonBody": "text" }), asked(), Body::Is("\"text\"")),
        is("{{request.path}}|{{request.path.[1]}}|{{request.pathSegments.[0]}}|{{request.path.[9]}}|", asked(), "/a/b c|b c|a||"),
        is("{{request.query.x}}|{{request.query.x.[1]}}|{{request.query.no}}|{{request.query.y.[0]}}", asked(), "1|2||z"),
        is("{{request.url}}|{{request.method}}|{{request.scheme}}", asked(), "/a/b%20c?x=1&x=2&y=z|GET|http"),
        is("{{request.headers.X-T}}|{{request.headers.[x-t]}}|{{request.cookies.c}}", asked(), "v<&\"|v<&\"|d"),
        is("{{request.body}}", post("a<b"), "a<b"),
        is("{{{request.body}}}", post("a<b"), "a<b"),
        is(
            "{{jsonPath request.body '$.a'}}|{{jsonPath request.body '$.n'}}|{{jsonPath request.body '$.l'}}",
            sent(),
            "<q&>|1.5|[1,2]",
        ),
        is("{{jsonPath request.body '$.z'}}|{{jsonPath request.body \"$.no\"}}|", sent(), "||"),
        is("{{jsonPath request.body '$.no' default='dd'}}", sent(), "dd"),
        is("{{jsonPath (jsonPath request.body '$.o') '$.k'}} {{upper (jsonPath request.body '$.a')}}", sent(), "v <Q&>"),
        is("{{parameters.a.b.[0]}}|{{parameters.no}}|", sent(), "c||"),
        is("{{base64 'abc'}} {{urlEncode 'a b'}} {{upper 'abc'}} {{lower 'ABC'}} {{trim ' a '}}", sent(), "YWJj a+b ABC abc a"),
        is("{{! c }}x{{!-- c }} --}}y \\{{raw}} }}", sent(), "xy {{raw}} }}"),
        (
            template(
                "{{randomValue length=6 type='ALPHANUMERIC'}} {{randomValue type='UUID'}} {{randomValue length=4 type='HEXADECIMAL' uppercase=true}}",
            ),
            sent(),
            Body::Like("[a-z0-9]{6} [0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12} [0-9A-F]{4}"),
        ),
        (template("{{randomInt lower=5 upper=9}} {{randomValue length=3 type='NUMERIC'}}"), sent(), Body::Like("[5-8] [0-9]{3}")),
        (
            template("{{now}} {{now offset='3 days'}} {{now format='unix'}} {{now format='epoch'}}"),
            sent(),
            Body::Like("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z [0-9]{10} [0-9]{13}"),
        ),
        (
            template("{{now offset='-1 hours' format=\"yyyy-MM-dd'T'HH:mm:ss.SSSZ\"}}"),
            sent(),
            Body::Like("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}\\+0000"),
        ),
        (
            json!({ "jsonBody": { "id": "{{jsonPath request.body '$.a'}}" }, "transformers": ["response-template"] }),
            sent(),
            Body::Is(r#"{"id":"<q&>"}"#),
        ),
    ]
}
