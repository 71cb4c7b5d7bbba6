//! The examples of the README are right: each block is checked as a configuration would be.
//!
//! The first line of a block says what it is a part of: `# configuration` (whole), `# provider` (a provider section), `# tool` (a tool's
//! `job:` section) or `# request` (a request). What a part leaves out is filled in here with as little as there may be; `---` divides
//! examples of one block.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::collections::BTreeMap;

use jobgate_adapter_api::{Issues, Place, ToolWords, factory};
use jobgate_adapter_rest::Rest;
use serde_json::{Value, json};

const README: &str = include_str!("../README.md");

/// Words that every provider section shares, which are no adapter's own.
const COMMON: [&str; 2] = ["adapter", "webhook"];

/// One block: the line at which it begins, and what is in it.
struct Block {
    line: usize,
    text: String,
}

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (nth, line) in README.lines().enumerate() {
        match (inside, line.trim_end()) {
            (false, "```yaml") => {
                inside = true;
                blocks.push(Block { line: nth + 2, text: String::new() });
            }
            (true, "```") => inside = false,
            (true, _) => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            (false, _) => {}
        }
    }
    blocks
}

/// What a provider section may leave out in an example.
fn provider() -> Value {
    json!({
        "base_url": "https://api.example.com/v1",
        "bases": { "admin": "https://admin.example.com" },
        "settings": { "region": "eu-west-1", "account": "acme" },
    })
}

/// What a `job:` section may leave out in an example.
fn job(part: &Value) -> Value {
    let mut rules = vec![json!({ "is": ["done"], "state": "succeeded" })];
    if part.get("input").is_some() {
        rules.push(json!({ "is": ["waiting"], "state": "input_required" }));
    }
    let mut job = json!({
        "submit": { "request": { "path": "/jobs", "body": "{{ args }}" }, "job": { "id": "{{ body.id }}" } },
        "status": { "request": { "path": "/jobs/{{ job.id }}" }, "word": "{{ body.status }}", "rules": rules },
    });
    if part.pointer("/status/rules").is_some_and(|rules| rules.to_string().contains("input_required")) {
        job["input"] = json!({ "key": "{{ body.id }}", "message": "Go on?", "page": "https://example.com/{{ body.id }}" });
    }
    job
}

/// `part` over `whole`; requests are whole in themselves.
fn merge(whole: &mut Value, part: &Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (name, value) in part {
                match whole.get_mut(name) {
                    Some(known) if name != "request" => merge(known, value),
                    _ => drop(whole.insert(name.clone(), value.clone())),
                }
            }
        }
        (whole, part) => *whole = part.clone(),
    }
}

fn tool(name: &str, job: Value, schema: Value) -> ToolWords<Value> {
    let place = Place::root().key("tools").key(name).key("job");
    ToolWords { name: name.to_owned(), input_schema: schema, place, words: job }
}

fn issues(name: &str, provider: Value, tools: Vec<ToolWords<Value>>) -> Vec<String> {
    let mut issues = Issues::new();
    factory::<Rest>().check(&Place::root().key("providers").key(name), provider, tools, &mut issues);
    issues.into_iter().map(|issue| format!("{}: {}", issue.place, issue.message)).collect()
}

/// The issues of one example.
fn check(kind: &str, part: &Value) -> Vec<String> {
    let any = json!({ "type": "object" });
    match kind {
        "provider" => {
            let mut whole = provider();
            merge(&mut whole, part);
            for common in COMMON {
                whole.as_object_mut().unwrap().remove(common);
            }
            issues("p", whole, vec![tool("t", job(part), any)])
        }
        "tool" => {
            let mut whole = job(part);
            merge(&mut whole, part);
            let mut provider = provider();
            if part.get("delivery").is_some() {
                provider["delivery"] = json!({ "job": "{{ body.id }}" });
            }
            issues("p", provider, vec![tool("t", whole, any)])
        }
        "request" => {
            let mut request = json!({ "path": "/jobs" });
            if part.get("url").is_some() {
                request = json!({});
            }
            merge(&mut request, part);
            let mut whole = job(part);
            // A request about a job, or one that starts one.
            if part.to_string().contains("job.") {
                whole["status"]["request"] = request;
            } else {
                whole["submit"]["request"] = request;
            }
            issues("p", provider(), vec![tool("t", whole, any)])
        }
        "configuration" => configuration(part),
        other => vec![format!("`# {other}` is no kind of example: `# configuration`, `# provider`, `# tool` or `# request`")],
    }
}

/// A whole file: every provider with its tools.
fn configuration(file: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (name, words) in file["providers"].as_object().unwrap() {
        let mut words = words.clone();
        assert_eq!(words["adapter"], "rest", "the README is about this adapter");
        for common in COMMON {
            words.as_object_mut().unwrap().remove(common);
        }
        let tools: BTreeMap<&String, &Value> = file["tools"].as_object().unwrap().iter().collect();
        let tools = tools.into_iter().filter(|(_, tool)| tool["provider"] == **name);
        let tools = tools.map(|(tool_name, words)| tool(tool_name, words["job"].clone(), words["input"].clone())).collect();
        found.extend(issues(name, words, tools));
    }
    found
}

#[test]
fn every_example_of_the_readme_is_right() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for block in blocks() {
        let (first, rest) = block.text.split_once('\n').unwrap_or_default();
        let Some(kind) = first.strip_prefix("# ") else {
            wrong.push(format!("README.md:{}: the first line of a block says what it is, for example `# tool`", block.line));
            continue;
        };
        for example in rest.split("\n---\n") {
            seen += 1;
            match serde_saphyr::from_str::<Value>(example) {
                Ok(part) => {
                    wrong.extend(check(kind, &part).into_iter().map(|issue| format!("README.md:{}: {issue}", block.line)));
                }
                Err(error) => wrong.push(format!("README.md:{}: {error}", block.line)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 5, "the README has examples");
}

/// A wrong example is found: the test above would prove nothing otherwise.
#[test]
fn a_wrong_example_is_found() {
    for (kind, part) in [
        ("provider", json!({ "auth": { "beerer": "env:T" } })),
        ("tool", json!({ "status": { "rules": [{ "is": ["x"], "state": "sucseeded" }] } })),
        ("request", json!({ "boddy": {} })),
        ("recipe", json!({})),
    ] {
        assert!(!check(kind, &part).is_empty(), "{kind}");
    }
}
