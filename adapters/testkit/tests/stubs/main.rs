//! WireMock stub mappings, as the kit reads and plays them: over real sockets.

#![expect(clippy::unwrap_used, reason = "a table that cannot be played has failed")]

mod answers;
mod ask;
mod deliveries;
mod load;
mod sockets;
mod table;

use std::sync::Arc;

use jobgate_adapter_api::{ManualClock, Timestamp};
use jobgate_adapter_testkit::{ApiServer, Stubs};
use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answers::Body;
use crate::ask::get;

/// 2026-07-28T12:00:00Z.
const NOON: i64 = 1_785_240_000_000;

fn folder(files: &[(&str, Value)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, value) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        std::fs::write(path, text).unwrap();
    }
    folder
}

async fn serve(mapping: Value) -> ApiServer {
    let folder = folder(&[("stub.json", mapping)]);
    let stubs = Stubs::load(folder.path()).unwrap();
    ApiServer::start(stubs, Arc::new(ManualClock::new(Timestamp::from_millis(NOON)))).await
}

#[tokio::test]
async fn every_matcher_fits_the_right_request_and_no_wrong_one() {
    for (pattern, right, wrong) in table::rows() {
        let server = serve(json!({ "request": pattern, "response": { "status": 200 } })).await;
        for ask in right {
            assert_eq!(ask.send(&server.url()).await.status, 200, "{pattern}: {ask:?}");
        }
        for ask in wrong {
            assert_eq!(ask.send(&server.url()).await.status, 404, "{pattern}: {ask:?}");
        }
    }
}

#[tokio::test]
async fn every_answer_says_what_its_words_say() {
    for (response, ask, body) in answers::rows() {
        let server = serve(json!({ "request": { "method": "ANY", "urlPattern": ".*" }, "response": response })).await;
        let found = ask.send(&server.url()).await.body;
        match body {
            Body::Is(wanted) => assert_eq!(found, wanted, "{response}"),
            Body::Like(wanted) => assert!(Regex::new(&format!("^{wanted}$")).unwrap().is_match(&found), "{response}: {found}"),
        }
    }
}

/// The time of day is the clock's, and what is random comes again in the next run.
#[tokio::test]
async fn time_and_chance_are_the_tests_own() {
    let words = json!({ "request": { "method": "GET", "url": "/x" }, "response": {
        "body": "{{now offset='-1 hours'}} {{randomValue type='UUID'}}", "transformers": ["response-template"] } });
    let (one, other) = (serve(words.clone()).await, serve(words).await);
    let first = get("/x").send(&one.url()).await.body;
    assert!(first.starts_with("2026-07-28T11:00:00Z "), "{first}");
    assert_eq!(get("/x").send(&other.url()).await.body, first);
    assert_ne!(get("/x").send(&one.url()).await.body, first);
}
