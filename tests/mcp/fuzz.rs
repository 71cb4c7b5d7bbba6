//! Whatever arrives is answered by a message of the protocol: no panic, no silence.

use jobgate::domain::Caller;
use jobgate::mcp::{Frontend as _, Reply, RequestContext, Streams};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::client::{call, me, one};
use crate::rig::Rig;

const METHODS: [&str; 8] = [
    "server/discover",
    "tools/list",
    "tools/call",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "subscriptions/listen",
    "initialize",
];

/// Any JSON, not too deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(member(), inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Names that mean something, and some that do not.
fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "name",
            "arguments",
            "taskId",
            "inputResponses",
            "requestState",
            "notifications",
            "taskIds",
            "cursor",
            "action",
            "content",
            "really",
            "_meta",
            "progressToken",
        ])
        .prop_map(str::to_owned),
        ".{0,8}",
    ]
}

fn requests() -> impl Strategy<Value = Vec<u8>> {
    let params = prop::collection::hash_map(member(), any_json(), 0..6);
    let tools = prop::sample::select(vec!["greet", "render", "remove", "order", "query", "none"]);
    let shaped = (prop::sample::select(METHODS.to_vec()), params, tools, any_json(), 0..4_u8).prop_map(
        |(method, params, tool, id, spoil)| {
            let mut params: Value = params.into_iter().collect();
            let whole = call(tool, json!({}));
            if spoil > 0 {
                params["_meta"] = whole.params["_meta"].clone();
            }
            if spoil > 1 {
                params["name"] = tool.into();
            }
            let id = if spoil > 2 { id } else { json!(1) };
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into_bytes()
        },
    );
    let cut = (shaped, any::<prop::sample::Index>(), any::<u8>(), any::<bool>()).prop_map(|(mut bytes, at, byte, whole)| {
        if !whole {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    });
    prop_oneof![1 => prop::collection::vec(any::<u8>(), 0..200), 3 => cut]
}

#[test]
fn whatever_arrives_is_answered_by_a_message_of_the_protocol() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rig = runtime.block_on(Rig::new());
    let mut runner = TestRunner::new(Config { cases: 1500, failure_persistence: None, ..Config::default() });
    let verdict = runner.run(&(requests(), any::<bool>()), |(bytes, over_http)| {
        let headers = over_http.then(|| {
            let mut headers = call("greet", json!({})).headers.unwrap();
            headers.method = one("tools/call");
            headers
        });
        let context = RequestContext { headers, ..RequestContext::new(Caller::new(me()), Streams::Wanted) };
        let reply = runtime.block_on(rig.drive(rig.dispatcher.handle(context, bytes.clone().into())));
        match reply {
            Reply::Accepted => {
                let message: Value = serde_json::from_slice(&bytes).unwrap();
                prop_assert!(message.get("id").is_none(), "a request without an answer: {message}");
            }
            Reply::One { status, body, .. } => {
                let message: Value = serde_json::from_slice(&body).unwrap();
                prop_assert_eq!(&message["jsonrpc"], "2.0");
                prop_assert!(message.get("error").is_some() != message.get("result").is_some(), "{}", message);
                prop_assert!((200..600).contains(&status));
                if message.get("error").is_some() {
                    rig.checker.response("", &message).unwrap();
                }
            }
            Reply::Stream(mut messages) => {
                prop_assert!(runtime.block_on(rig.drive(messages.recv())).is_some(), "a stream without a message");
            }
        }
        Ok(())
    });
    verdict.unwrap();
}
