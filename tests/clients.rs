//! The official TypeScript clients against the gateway: `ext-tasks`, which holds tasks, and the plain client, which does not know
//! them. Each tells a story of eleven steps: connect, list, a quick call, a task, a failing job, a fault, input accepted and declined,
//! cancel, resume from a new connection, an unknown task.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jobgate_test_support::engine::{cache, shared, skip};
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::process::Process;
use jobgate_test_support::source::root;
use jobgate_test_support::wait;
use serde_json::Value;

/// Steps of every story.
const STEPS: usize = 11;

/// A1, A2, A5, D2, E1, F2: what the official clients do, the gateway answers as they expect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_typescript_clients_tell_their_stories() {
    let Some(stories) = installed() else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&root().join("examples/conformance.yaml"));
    let gateway = setup.start().await;
    for (story, variant) in [("ext-tasks.mjs", "3"), ("v2.mjs", "plain")] {
        let mut command = Command::new("node");
        command.arg(stories.join(story)).args([&setup.url(), variant]);
        let told = run(story, command, &folder.path().join(format!("{story}.out")), Duration::from_secs(120));
        let steps: Vec<Value> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!(steps.len(), STEPS, "{told}");
        let wrong: Vec<&Value> = steps.iter().filter(|step| step["ok"] == false).collect();
        assert!(wrong.is_empty(), "{story}: {wrong:#?}");
        // A step that the client has no words for is told as neither right nor wrong; the plain client cannot resume.
        let silent = steps.iter().filter(|step| step["ok"].is_null()).count();
        assert!(silent <= usize::from(variant == "plain"), "{told}");
    }
    assert!(gateway.stop().success());
}

/// The stories with their clients, installed below the cache at the versions that they pin.
fn installed() -> Option<PathBuf> {
    let stories = shared().join("clients/ts");
    if !stories.is_dir() {
        skip(&format!("there are no client stories in {}; set JOBGATE_SHARED", stories.display()));
        return None;
    }
    let folder = cache().join("clients/ts");
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(&stories).unwrap() {
        let path = entry.unwrap().path();
        std::fs::write(folder.join(path.file_name().unwrap()), std::fs::read(&path).unwrap()).unwrap();
    }
    let mut install = Command::new("npm");
    install.args(["install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]).current_dir(&folder);
    run("npm install", install, &folder.join("install.log"), Duration::from_secs(300));
    Some(folder)
}

/// Runs a command to its end and gives what it printed.
fn run(name: &str, command: Command, output: &Path, limit: Duration) -> String {
    let mut process = Process::start_apart(name, command, output);
    let status = wait::within(limit, || process.ended());
    let errors = std::fs::read_to_string(output.with_extension("err")).unwrap_or_default();
    let told = process.output();
    let status = status.unwrap_or_else(|| panic!("{name} does not end: {told}{errors}"));
    assert!(status.success(), "{name} ended with {status}: {told}{errors}");
    told
}
