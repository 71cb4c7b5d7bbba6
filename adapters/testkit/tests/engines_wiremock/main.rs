//! The stock WireMock and the kit, held against each other: every matcher, answer and fault of the subset, and every fixture.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

#[path = "../stubs/answers.rs"]
mod answers;
#[path = "../stubs/ask.rs"]
mod ask;
mod example;
mod server;
#[path = "../stubs/table.rs"]
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jobgate_adapter_api::SystemClock;
use jobgate_adapter_testkit::{ApiServer, Stubs};
use regex::Regex;
use serde_json::{Value, json};

use crate::answers::Body;
use crate::ask::{Answer, Ask, get};
use crate::server::Stock;

/// The table of matchers, the table of answers and the faults, against WireMock itself.
#[tokio::test]
async fn the_subset_means_what_it_means_to_wiremock() {
    let Some(stock) = Stock::start().await else { return };
    for (pattern, right, wrong) in table::rows() {
        stock.play(&json!({ "request": pattern, "response": { "status": 200 } })).await;
        for ask in right {
            assert_eq!(ask.send(&stock.url).await.status, 200, "{pattern}: {ask:?}");
        }
        for ask in wrong {
            assert_eq!(ask.send(&stock.url).await.status, 404, "{pattern}: {ask:?}");
        }
    }
    for (response, ask, body) in answers::rows() {
        stock.play(&json!({ "request": { "method": "ANY", "urlPattern": ".*" }, "response": response })).await;
        let found = ask.send(&stock.url).await.body;
        match body {
            Body::Is(wanted) => assert_eq!(found, wanted, "{response}"),
            Body::Like(wanted) => assert!(Regex::new(&format!("^{wanted}$")).unwrap().is_match(&found), "{response}: {found}"),
        }
    }
    for (fault, start, ended) in [
        ("EMPTY_RESPONSE", "", None),
        ("CONNECTION_RESET_BY_PEER", "", Some(std::io::ErrorKind::ConnectionReset)),
        ("RANDOM_DATA_THEN_CLOSE", "lsk", None),
        ("MALFORMED_RESPONSE_CHUNK", "HTTP/1.1 200 OK\r\n", None),
    ] {
        stock.play(&json!({ "request": { "method": "GET", "url": "/x" }, "response": { "fault": fault } })).await;
        let (bytes, found) = get("/x").raw(&stock.url).await;
        assert_eq!((bytes.starts_with(start.as_bytes()), bytes.is_empty(), found), (true, start.is_empty(), ended), "{fault}");
    }
}

/// Each mapping of each fixture is asked for, three times over so that scenarios move on, and then by another method.
#[tokio::test]
async fn every_fixture_gives_the_same_answers_under_wiremock() {
    let Some(stock) = Stock::start().await else { return };
    let mut folders: Vec<PathBuf> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wiremock-fixtures"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(!folders.is_empty());
    let mut differing = Vec::new();
    for folder in folders {
        let kit = ApiServer::start(Stubs::load(&folder).unwrap(), Arc::new(SystemClock)).await;
        stock.load(&folder).await;
        let mappings = mappings(&folder);
        for (round, mapping) in (0..3).flat_map(|round| mappings.iter().map(move |mapping| (round, mapping))) {
            let ask = example::of(mapping);
            let (ours, theirs) = (heard(&ask, &kit.url(), mapping).await, heard(&ask, &stock.url, mapping).await);
            let place = format!("{}: {} {ask:?}", folder.display(), mapping["request"]);
            if round == 0 && mapping.get("scenarioName").is_none() && ours.unmatched {
                differing.push(format!("{place}: no request that it wants could be made; say one in metadata.example"));
            } else if ours != theirs {
                differing.push(format!("{place}: the kit {ours:?}, WireMock {theirs:?}"));
            }
        }
        for mapping in &mappings {
            let ask = example::of(mapping).by("OPTIONS");
            let (ours, theirs) = (heard(&ask, &kit.url(), mapping).await, heard(&ask, &stock.url, mapping).await);
            if ours != theirs {
                differing.push(format!("{}: {ask:?}: the kit {ours:?}, WireMock {theirs:?}", folder.display()));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

fn mappings(folder: &Path) -> Vec<Value> {
    let mut files: Vec<PathBuf> = [folder.to_owned(), folder.join("mappings")]
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    let read = |path: &PathBuf| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap();
    files.iter().map(read).flat_map(|file| file["mappings"].as_array().cloned().unwrap_or_else(|| vec![file])).collect()
}

/// What of an answer is told by its mapping.
#[derive(Debug, PartialEq)]
struct Heard {
    unmatched: bool,
    status: u16,
    headers: Vec<Vec<String>>,
    body: Value,
}

async fn heard(ask: &Ask, url: &str, mapping: &Value) -> Heard {
    let response = &mapping["response"];
    if response.get("fault").is_some() {
        let (bytes, ended) = ask.raw(url).await;
        let status = if bytes.is_empty() { 0 } else { 1 };
        return Heard { unmatched: false, status, headers: Vec::new(), body: json!(ended.is_some()) };
    }
    let mut answer = ask.send(url).await;
    // Links that lead back to whoever plays the stub.
    let address = url.trim_start_matches("http://");
    answer.body = answer.body.replace(address, "HERE");
    for (_, value) in &mut answer.headers {
        *value = value.replace(address, "HERE");
    }
    let unmatched = answer.status == 404
        && (answer.body == "no stub mapping matches this request"
            || answer.body.contains("Request was not matched")
            || answer.body.starts_with("No response could be served"));
    // What is another one each time is looked at by its kind alone.
    let varies =
        ["{{random", "{{now", "{{ now", "request.port", "request.baseUrl"].iter().any(|word| response.to_string().contains(word));
    let names = response["headers"].as_object().into_iter().flatten().map(|(name, _)| name.to_lowercase());
    let headers = names.map(|name| if varies { Vec::new() } else { owned(&answer, &name) }).collect();
    let body = match serde_json::from_str(&answer.body) {
        _ if unmatched || varies => Value::Null,
        Ok(tree) => tree,
        Err(_) => answer.body.clone().into(),
    };
    Heard { unmatched, status: answer.status, headers: if unmatched { Vec::new() } else { headers }, body }
}

fn owned(answer: &Answer, name: &str) -> Vec<String> {
    answer.header(name).into_iter().map(str::to_owned).collect()
}
