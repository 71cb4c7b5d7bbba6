//! What happens below HTTP: broken answers, reasons, slow answers.

use std::io::ErrorKind;

use serde_json::{Value, json};

use crate::ask::get;
use crate::serve;

fn words(response: Value) -> Value {
    json!({ "request": { "method": "GET", "url": "/x" }, "response": response })
}

#[tokio::test]
async fn faults_break_the_answer_on_the_socket() {
    let broken = async |fault: &str| {
        let server = serve(words(json!({ "fault": fault, "status": 201, "body": "never seen" }))).await;
        let (bytes, ended) = get("/x").raw(&server.url()).await;
        (String::from_utf8_lossy(&bytes).into_owned(), ended)
    };
    assert_eq!(broken("EMPTY_RESPONSE").await, (String::new(), None));
    assert_eq!(broken("CONNECTION_RESET_BY_PEER").await, (String::new(), Some(ErrorKind::ConnectionReset)));
    let (garbage, ended) = broken("RANDOM_DATA_THEN_CLOSE").await;
    assert!(!garbage.is_empty() && !garbage.starts_with("HTTP/") && ended.is_none(), "{garbage}");
    let (malformed, ended) = broken("MALFORMED_RESPONSE_CHUNK").await;
    assert!(malformed.starts_with("HTTP/1.1 200 OK\r\n") && !malformed.contains("never seen") && ended.is_none(), "{malformed}");
}

#[tokio::test]
async fn reasons_and_repeated_headers_come_as_they_are_written() {
    let server =
        serve(words(json!({ "status": 470, "statusMessage": "Not Yet", "headers": { "X-A": ["1", "2"], "X-B": "3" } }))).await;
    let answer = get("/x").send(&server.url()).await;
    assert_eq!((answer.status, answer.reason.as_str()), (470, "Not Yet"));
    assert_eq!((answer.header("x-a"), answer.header("x-b")), (vec!["1", "2"], vec!["3"]));
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("jobgate")), "{answer:?}");
}

/// They are slow, and whole.
#[tokio::test]
async fn slow_answers_are_whole() {
    for slow in [
        json!({ "body": "abcdef", "fixedDelayMilliseconds": 20 }),
        json!({ "body": "abcdef", "delayDistribution": { "type": "fixed", "milliseconds": 20 } }),
        json!({ "body": "abcdef", "delayDistribution": { "type": "uniform", "lower": 10, "upper": 20 } }),
        json!({ "body": "abcdef", "chunkedDribbleDelay": { "numberOfChunks": 3, "totalDuration": 30 } }),
    ] {
        let server = serve(words(slow.clone())).await;
        assert_eq!(get("/x").send(&server.url()).await.body, "abcdef", "{slow}");
    }
}
