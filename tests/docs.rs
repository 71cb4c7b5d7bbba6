//! The documents are true: every code block of every document is run, checked or read. A kind of block that nothing here knows, and a
//! command that nothing here knows how to run, is a failure.
//!
//! `sh` blocks are run line by line against a gateway, in one folder a document. A whole configuration in a `yaml` block is given to
//! `jobgate check`, and is the folder's `jobgate.yaml` from there on; so are the words of a job or a provider whose first line says `# tool`
//! or `# provider`. Any other part has to be YAML, and `json` has to be JSON.
//! `rust` blocks of a crate's README are that crate's documentation tests. `text` is not looked at.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::process::{Process, free_ports};
use jobgate_test_support::source::{files, root, text};
use jobgate_test_support::wait;
use serde_json::{Value, json};

/// What the documents call the gateway's address.
const DOCUMENTED: &str = "127.0.0.1:8080";

/// What they call the address of a server that a script of theirs is.
const SERVER: &str = "127.0.0.1:9000";

/// First lines of blocks that are words of a tool's `job` section, or of a provider; what they leave out is that of a usual API.
const JOB: &str = "# tool";
const PROVIDER: &str = "# provider";

/// Where such blocks are; those of the adapter's own README have a test of its own.
const RECIPES: &str = "docs/adapters/";

/// How long one command may take.
const LIMIT: Duration = Duration::from_secs(90);

/// What a person would say to the questions of a command.
const ANSWERS: [(&str, &str); 1] = [("jobgate call deploy ", "--answer approve=true")];

/// A fenced block.
#[derive(Debug, PartialEq)]
struct Block {
    line: usize,
    kind: String,
    text: String,
}

fn blocks(document: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (number, line) in document.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(kind) if !open => {
                open = true;
                found.push(Block { line: number + 1, kind: kind.trim().to_owned(), text: String::new() });
            }
            Some(_) => open = false,
            None if open => {
                let block = found.last_mut().expect("an open block");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!open, "a block is not closed");
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_block_of_every_document_is_true() {
    let documents: Vec<String> = files("").into_iter().filter(|file| file.ends_with(".md")).collect();
    let mut lines = 0;
    for document in &documents {
        let blocks = blocks(&text(document).unwrap());
        lines += Reader::new(document).read(&blocks).await;
    }
    assert!(lines >= 5, "the front page has its commands: {lines}");
}

/// Reads one document.
struct Reader<'a> {
    document: &'a str,
    folder: tempfile::TempDir,
    setup: Setup,
    gateway: Option<Gateway>,
    /// A server that the document has started, and its port.
    server: Option<(Process, u16)>,
    /// What the commands have printed.
    printed: String,
}

impl<'a> Reader<'a> {
    fn new(document: &'a str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
        Self { document, folder, setup, gateway: None, server: None, printed: String::new() }
    }

    /// Gives the number of commands that were run.
    async fn read(mut self, blocks: &[Block]) -> usize {
        let mut lines = 0;
        for block in blocks {
            let place = format!("{}:{}", self.document, block.line);
            match block.kind.as_str() {
                "sh" => {
                    for line in block.text.lines().map(command_of).filter(|line| !line.is_empty()) {
                        self.run(line, &place).await;
                        lines += 1;
                    }
                }
                "yaml" if is_configuration(&block.text) => {
                    let configuration = self.here(&block.text);
                    self.check(&configuration, &place);
                    fs::write(self.folder.path().join("jobgate.yaml"), configuration).unwrap();
                }
                "yaml" if self.document.starts_with(RECIPES) && [JOB, PROVIDER].iter().any(|it| block.text.starts_with(it)) => {
                    self.check(&around(&block.text, &place), &place);
                }
                "yaml" => {
                    // A block may show several sections, one document each.
                    serde_saphyr::from_multiple::<Value>(&block.text).unwrap_or_else(|error| panic!("{place}: {error}"));
                }
                "json" => {
                    let value: Value = serde_json::from_str(&block.text).unwrap_or_else(|error| panic!("{place}: {error}"));
                    for server in
                        ["servers", "mcpServers"].iter().filter_map(|it| value[it].as_object()).flat_map(|it| it.values())
                    {
                        let address = server["url"] == format!("http://{DOCUMENTED}/mcp");
                        let command = server["command"] == "jobgate" && server["args"][0] == "stdio";
                        assert!(address != command, "{place}: a client finds the gateway by its address or starts it: {server}");
                    }
                }
                "rust" => assert!(is_crate_documentation(self.document), "{place}: no crate compiles this block"),
                "text" => {}
                other => panic!("{place}: a block of kind `{other}`; say sh, yaml, json, rust or text"),
            }
        }
        if let Some(gateway) = self.gateway {
            assert!(gateway.stop().success(), "{}: the gateway stops in order", self.document);
        }
        lines
    }

    fn check(&self, configuration: &str, place: &str) {
        let file = self.folder.path().join("block.yaml");
        fs::write(&file, configuration).unwrap();
        let output = self.setup.command(&["check", file.to_str().unwrap()]).output().unwrap();
        assert!(output.status.success(), "{place}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A text with the address of the document's own server.
    fn here(&self, text: &str) -> String {
        match &self.server {
            Some((_, port)) => text.replace(SERVER, &format!("127.0.0.1:{port}")),
            None => text.to_owned(),
        }
    }

    async fn run(&mut self, line: &str, place: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["cargo", "run", "--release"] | ["jobgate"] | ["jobgate", "serve"] => self.gateway = Some(self.setup.start().await),
            ["python3", script, port] if SERVER.ends_with(port) && root().join(script).is_file() => {
                let port = free_ports(1);
                let mut command = Command::new("python3");
                command.arg(root().join(script)).arg(port.to_string());
                let process = Process::start(script, command, &self.folder.path().join("server.log"));
                wait::until(script, LIMIT, || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
                self.server = Some((process, port));
            }
            ["jobgate", ..] | ["cp" | "mkdir" | "curl" | "printf", ..] => self.shell(line, place),
            ["make", target] => {
                let known = text("Makefile").unwrap().lines().any(|line| line.starts_with(&format!("{target}:")));
                assert!(known, "{place}: `make {target}` is not in the Makefile");
            }
            ["claude", "mcp", "add", "--transport", "http", _, url, ref header @ ..] => {
                assert_eq!(url, format!("http://{DOCUMENTED}/mcp"), "{place}");
                assert!(header.is_empty() || header.starts_with(&["--header", "\"Authorization:", "Bearer"]), "{place}: {line}");
                let gateway = self.gateway.as_ref().unwrap_or_else(|| panic!("{place}: no gateway runs yet"));
                gateway.wire.rpc("server/discover", Value::Object(serde_json::Map::new())).await.unwrap();
            }
            ["claude", "mcp", "add", "--transport", "stdio", _, "--", "jobgate", "stdio", ..] => {}
            ["npx", package, "--cli", target, ..] => {
                let url = format!("http://{DOCUMENTED}/mcp");
                assert!(target == url || target == "jobgate", "{place}: {line}");
                let pinned: Value = serde_json::from_str(&text("tests/clients/node/package.json").unwrap()).unwrap();
                let (name, version) = package.rsplit_once('@').unwrap();
                assert_eq!(pinned["dependencies"][name], version, "{place}: the version that is tested");
            }
            // What the commands do is tested in `tests/clients`.
            ["mcpdo", "connect" | "tools/call", ..] => {}
            ["cargo", "nextest" | "test" | "bench", ..] | ["UPDATE_GOLDEN=1" | "INSTA_UPDATE=always", ..] => {}
            [script] if root().join(script).is_file() => {}
            _ => panic!("{place}: nobody knows how to run `{line}`"),
        }
    }

    /// Runs a line in a shell, with the gateway's address put in, and the last task's id for `ID`.
    fn shell(&mut self, line: &str, place: &str) {
        let last_task =
            self.printed.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').rfind(|it| it.starts_with("task_"));
        let here = self.setup.url().trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let mut line = self.here(line).replace(DOCUMENTED, &here);
        if let Some(id) = last_task {
            line = line.replace(" ID", &format!(" {id}"));
        }
        let speaks = ["jobgate call", "jobgate tasks get", "jobgate tasks cancel"].iter().any(|it| line.starts_with(it));
        if speaks && !line.contains("--url") {
            line = format!("{line} --url http://{here}/mcp");
        }
        if let Some((_, answer)) = ANSWERS.iter().find(|(command, _)| line.starts_with(command)) {
            line = format!("{line} {answer}");
        }
        let binary = Path::new(env!("CARGO_BIN_EXE_jobgate")).parent().unwrap().to_owned();
        let mut command = Command::new("sh");
        command.args(["-euc", &line]).current_dir(self.folder.path());
        let path = std::env::join_paths([binary].into_iter().chain(std::env::split_paths(&search_path()))).unwrap();
        command.env("PATH", path);
        let output = self.folder.path().join("output");
        fs::remove_file(&output).ok();
        let mut process = Process::start(&line, command, &output);
        let status = wait::within(LIMIT, || process.ended());
        let printed = process.output();
        let status = status.unwrap_or_else(|| panic!("{place}: `{line}` does not end: {printed}"));
        assert!(status.success(), "{place}: `{line}` ended with {status}: {printed}");
        self.printed.push_str(&printed);
    }
}

/// The line without its prompt and its closing comment.
fn command_of(line: &str) -> &str {
    let line = line.split_once("  #").map_or(line, |(command, _)| command);
    let line = line.trim().trim_start_matches("$ ");
    if line.starts_with('#') { "" } else { line }
}

/// A whole configuration with the words of this block.
fn around(yaml: &str, place: &str) -> String {
    let mut provider = json!({ "adapter": "rest", "base_url": "https://jobs.example.com" });
    let mut job = json!({
        "submit": { "request": { "path": "/jobs", "body": { "name": "{{ args.name }}" } }, "job": { "id": "{{ body.id }}" } },
        "status": { "request": { "path": "/jobs/{{ job.id }}" }, "word": "{{ body.status }}", "rules": [
            { "is": ["running"], "state": "running" }, { "is": ["done"], "state": "succeeded" }, { "is": ["failed"], "state": "failed" } ] },
    });
    let words: Value = serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{place}: {error}"));
    let into = if yaml.starts_with(JOB) { &mut job } else { &mut provider };
    for (name, value) in words.as_object().unwrap_or_else(|| panic!("{place}: a map")) {
        into[name] = value.clone();
    }
    let input = json!({ "type": "object", "properties": { "name": { "type": "string" }, "ref": { "type": "string" } }, "required": ["name", "ref"] });
    let tool = json!({ "provider": "jobs", "description": "Runs a job.", "input": input, "job": job });
    json!({ "providers": { "jobs": provider }, "tools": { "run": tool } }).to_string()
}

fn is_configuration(yaml: &str) -> bool {
    yaml.lines().any(|line| line.starts_with("tools:")) && yaml.lines().any(|line| line.starts_with("providers:"))
}

/// A README that its crate includes as documentation, so that cargo compiles its blocks.
fn is_crate_documentation(document: &str) -> bool {
    let Some(folder) = document.strip_suffix("/README.md") else { return false };
    let library = root().join(folder).join("src/lib.rs");
    fs::read_to_string(library).is_ok_and(|source| source.contains("include_str!(\"../README.md\")"))
}

#[expect(clippy::disallowed_methods, reason = "the shell needs its own search path")]
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

#[test]
fn blocks_and_commands_are_read_as_written() {
    let found = blocks("# T\n```sh\nmake test   # all\n```\ntext\n```yaml\na: 1\n```\n");
    let kinds: Vec<(usize, &str)> = found.iter().map(|it| (it.line, it.kind.as_str())).collect();
    assert_eq!(kinds, [(2, "sh"), (6, "yaml")]);
    assert_eq!(command_of(found[0].text.lines().next().unwrap()), "make test");
    assert_eq!(command_of("# only a remark"), "");
}
