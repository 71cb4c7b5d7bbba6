//! Ready tools of the catalog, from a configuration to what a provider is sent: with arguments that the operator fixed, and without a
//! tool section at all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Command, Stdio};

use jobgate_test_support::gateway::Setup;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// An API like Replicate's, whose predictions end at once.
async fn provider() -> MockServer {
    let server = MockServer::start().await;
    let prediction = |status: &str| json!({ "id": "p1", "status": status, "output": ["https://files.example.com/a.webp"] });
    let begun = ResponseTemplate::new(201).set_body_json(prediction("starting"));
    Mock::given(method("POST")).and(path("/v1/predictions")).respond_with(begun).mount(&server).await;
    let ended = ResponseTemplate::new(200).set_body_json(prediction("succeeded"));
    Mock::given(method("GET")).and(path("/v1/predictions/p1")).respond_with(ended).mount(&server).await;
    server
}

/// A gateway with this `tools` section.
fn setup(folder: &Path, provider: &MockServer, tools: &str) -> Setup {
    let file = folder.join("jobgate.yaml");
    let url = format!("{}/v1", provider.uri());
    let head = format!("providers:\n  art: {{ adapter: replicate, token: env:ART_TOKEN, base_url: \"{url}\" }}\n");
    std::fs::write(&file, head + tools).unwrap();
    Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder).config(&file).env("ART_TOKEN", "secret-7f31")
}

/// What a command of the client's printed, and its exit code.
fn said(mut command: Command) -> (i32, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap_or(-1), text)
}

/// What an operator fixes is sent whatever the caller says, and no caller sees or chooses it.
#[tokio::test(flavor = "multi_thread")]
async fn fixed_arguments_are_always_sent() {
    let (folder, provider) = (tempfile::tempdir().unwrap(), provider().await);
    let tools = "tools:\n  paint: { provider: art, use: prediction, with: { version: acme/painter, deadline: 5m } }\n";
    let setup = setup(folder.path(), &provider, tools);
    let _gateway = setup.start().await;
    let url = setup.url();
    let call = |json: &str| said(setup.command(&["call", "paint", "--json", json, "--url", &url]));

    let (code, text) = call(r#"{"input": {"prompt": "a lighthouse"}}"#);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("https://files.example.com/a.webp"), "{text}");
    let (code, text) = call(r#"{"input": {}, "version": "acme/other"}"#);
    assert!(code == 2 && text.contains("version"), "{code}: {text}");

    let sent: Vec<_> = provider.received_requests().await.unwrap();
    let submits: Vec<&wiremock::Request> = sent.iter().filter(|request| request.method.as_str() == "POST").collect();
    assert_eq!(submits.len(), 1, "the refused call has sent nothing");
    let body: Value = submits[0].body_json().unwrap();
    assert_eq!(body, json!({ "version": "acme/painter", "input": { "prompt": "a lighthouse" } }));
    assert_eq!(submits[0].headers["cancel-after"], "5m");
    assert_eq!(submits[0].headers["authorization"], "Bearer secret-7f31");
}

/// A provider that no tool names offers every ready tool, under both names.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_without_tools_offers_its_own() {
    let (folder, provider) = (tempfile::tempdir().unwrap(), provider().await);
    let setup = setup(folder.path(), &provider, "");
    let _gateway = setup.start().await;
    let call = ["call", "art_prediction", "--json", r#"{"version": "acme/painter", "input": {}}"#, "--url", &setup.url()];
    let (code, text) = said(setup.command(&call));
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("https://files.example.com/a.webp"), "{text}");
}
