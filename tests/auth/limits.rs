//! Limits as a client meets them: a status, a header, and the same in the body for who has neither.

use std::time::Duration;

use serde_json::{Value, json};

use crate::gate::{Answer, Gate, MODERN, read, token};

fn is_limited(answer: &Answer, seconds: u64) {
    assert_eq!((answer.status, answer.retry_after.as_deref()), (429, Some(seconds.to_string().as_str())), "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(
        (&error["code"], &error["data"]),
        (&json!(-32603), &json!({ "category": "rate_limited", "retryAfterSeconds": seconds }))
    );
    assert!(answer.challenge.is_none(), "{answer:?}");
}

/// G4: each kind, over the wire, for the principal that asked alone; with its id, and over when the time has come.
#[tokio::test(flavor = "multi_thread")]
async fn beyond_a_limit_there_is_a_status_and_a_time_to_come_back() {
    let absent = json!({ "taskId": "task_00000000000000000000000000000000" });
    let call = json!({ "name": "render", "arguments": {} });
    for (word, method, params, code) in [
        ("calls", "server/discover", json!({}), Value::Null),
        ("creations", "tools/call", call, Value::Null),
        ("lists", "tools/list", json!({}), Value::Null),
        ("unknown_ids", "tasks/get", absent, json!(-32602)),
    ] {
        let gate = Gate::with(&format!("limits: {{ {word}: {{ count: 1, per: 30s, burst: 2 }} }}")).await;
        for _ in 0..2 {
            let answer = gate.modern("ann", method, params.clone()).await;
            assert_eq!((answer.status, &answer.json()["error"]["code"]), (200, &code), "{word}: {answer:?}");
        }
        let refused = gate.modern("ann", method, params.clone()).await;
        is_limited(&refused, 30);
        assert_eq!(refused.json()["id"], 3, "{word}");
        is_limited(&gate.modern("ann-new", method, params.clone()).await, 30);
        assert_eq!(gate.modern("bob", method, params.clone()).await.status, 200, "{word}: others have their own");
        gate.clock.advance(Duration::from_secs(30));
        assert_eq!(gate.modern("ann", method, params).await.status, 200, "{word}");
        gate.stop().await;
    }
}

/// G4: live tasks, open streams and results that block, at once.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_at_once_is_limited_too() {
    let words = "live_tasks_per_principal: 1, streams_per_principal: 1, results: { count: 1, per: 30s, burst: 1 }";
    let gate = Gate::with(&format!("limits: {{ {words} }}")).await;
    let task = gate.start("ann").await;
    is_limited(&gate.modern("ann", "tools/call", json!({ "name": "render", "arguments": {} })).await, 5);
    let filter = || json!({ "notifications": { "taskIds": [task] } });
    let first = gate.open("ann", MODERN, "subscriptions/listen", filter()).await;
    is_limited(&gate.modern("ann", "subscriptions/listen", filter()).await, 5);
    let other = gate.open("bob", MODERN, "subscriptions/listen", filter()).await;
    assert_eq!((first.status().as_u16(), other.status().as_u16()), (200, 200));
    drop((first, other));
    let result = json!({ "taskId": "task_00000000000000000000000000000000" });
    assert_eq!(gate.rpc("ann", "2025-11-25", "tasks/result", result.clone()).await.status, 200);
    is_limited(&gate.rpc("ann", "2025-11-25", "tasks/result", result).await, 30);
    gate.stop().await;
}

/// L5: who tries tokens is slowed down by its address, as a proxy that is trusted tells it; who holds a token is let in all the same.
#[tokio::test(flavor = "multi_thread")]
async fn bad_tokens_are_limited_by_address() {
    let gate = Gate::with("limits: { bad_tokens: { count: 1, per: 30s, burst: 3 } }").await;
    let from = async |address: &str, authorization: &str| {
        let headers = [("x-forwarded-for", address), ("authorization", authorization), ("mcp-protocol-version", "2025-06-18")];
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        read(gate.send("POST", "/mcp", &headers, Some(ping)).await).await
    };
    for number in 0..3 {
        assert_eq!(from("198.51.100.7", &format!("Bearer jg_guess{number}")).await.status, 401);
    }
    is_limited(&from("198.51.100.7", "Bearer jg_guess3").await, 30);
    is_limited(&from("192.0.2.99, 198.51.100.7", "Bearer jg_guess4").await, 30);
    assert_eq!(from("198.51.100.8", "Bearer jg_guess5").await.status, 401, "another address");
    assert_eq!(from("198.51.100.7", &format!("Bearer {}", token("ann"))).await.status, 200, "a good token");
    gate.clock.advance(Duration::from_secs(30));
    assert_eq!(from("198.51.100.7", "Bearer jg_guess6").await.status, 401);
    gate.stop().await;
}
