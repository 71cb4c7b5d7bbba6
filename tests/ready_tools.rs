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

/// A provider section may name an adapter file beside the configuration, and is then like one of the catalog's.
#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_file_is_a_kind_of_its_own() {
    let (folder, provider) = (tempfile::tempdir().unwrap(), provider().await);
    let entry = r#"
title: Painter
about: Paints.
facts: https://painter.example.com/docs
as_of: API v1
settings:
  token: { secret: true, description: A token., example: "env:PAINTER_TOKEN" }
  base_url: { description: Where the API is., example: "https://painter.example.com/v1" }
provider: { base_url: "{{ settings.base_url }}", auth: { bearer: "setting:token" } }
tools:
  paint:
    description: Paints a picture from a description.
    input: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    task: { poll: { initial: 50ms } }
    job:
      submit: { request: { path: /predictions, body: { prompt: "{{ args.prompt }}" } }, accept: [201], job: { id: "{{ body.id }}" } }
      status:
        request: { path: "/predictions/{{ job.id }}" }
        word: "{{ body.status }}"
        rules: [{ is: [starting], state: running }, { is: [succeeded], state: succeeded }]
      result: { text: "{{ body.output }}" }
"#;
    std::fs::create_dir(folder.path().join("adapters")).unwrap();
    std::fs::write(folder.path().join("adapters/painter.yaml"), entry).unwrap();
    let file = folder.path().join("jobgate.yaml");
    let url = format!("{}/v1", provider.uri());
    let section = format!("{{ adapter: ./adapters/painter.yaml, token: env:ART_TOKEN, base_url: \"{url}\" }}");
    std::fs::write(&file, format!("providers:\n  art: {section}\n")).unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&file).env("ART_TOKEN", "secret-7f31");
    let _gateway = setup.start().await;
    let (code, text) = said(setup.command(&["call", "art_paint", "--arg", "prompt=a lighthouse", "--url", &setup.url()]));
    assert!(code == 0 && text.contains("https://files.example.com/a.webp"), "{code}: {text}");
    let sent = provider.received_requests().await.unwrap();
    assert_eq!(sent[0].body_json::<Value>().unwrap(), json!({ "prompt": "a lighthouse" }));
    assert_eq!(sent[0].headers["authorization"], "Bearer secret-7f31");
}
