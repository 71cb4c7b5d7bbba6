//! A real MCP client: `jobgate call` and `jobgate tasks`, which speak through the official Rust SDK.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::gateway::Setup;
use crate::process::Process;
use crate::wait;

/// How long one command may take.
const LIMIT: Duration = Duration::from_secs(90);

/// Exit code of a command whose job ran and failed.
pub const JOB_FAILED: i32 = 3;

/// Exit code of a command whose task was cancelled.
pub const CANCELLED: i32 = 5;

/// A client of one gateway.
#[derive(Debug)]
pub struct Caller<'a> {
    setup: &'a Setup,
}

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    words: String,
    process: Process,
    errors: PathBuf,
}

impl<'a> Caller<'a> {
    /// A client of the gateway that `setup` describes.
    #[must_use]
    pub const fn new(setup: &'a Setup) -> Self {
        Self { setup }
    }

    /// Starts `jobgate WORDS...` with the gateway's address and JSON output.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(&self, words: &[&str]) -> Running {
        let mut command: Command = self.setup.command(words);
        command.args(["--output", "json", "--url", &self.setup.url()]);
        let nth = self.setup.next_output();
        Running {
            words: words.join(" "),
            process: Process::start_apart("a caller", command, &nth),
            errors: nth.with_extension("err"),
        }
    }

    /// Runs a command to its end: exit code and what it printed.
    ///
    /// # Panics
    /// When it takes longer than 90 s or prints no JSON.
    #[must_use]
    pub fn run(&self, words: &[&str]) -> (i32, Value) {
        self.start(words).end()
    }

    /// Calls a tool and leaves the task running; gives its id.
    ///
    /// # Panics
    /// When there is no task.
    #[must_use]
    pub fn detach(&self, tool: &str, arguments: &Value) -> String {
        let (code, task) = self.run(&["call", tool, "--json", &arguments.to_string(), "--detach"]);
        assert_eq!(code, 0, "{tool}: {task}");
        task["taskId"].as_str().unwrap_or_else(|| panic!("{tool} gave no task: {task}")).to_owned()
    }

    /// Follows a task to its end.
    ///
    /// # Panics
    /// As [`Caller::run`].
    #[must_use]
    pub fn follow(&self, id: &str) -> (i32, Value) {
        self.run(&["tasks", "get", id, "--follow"])
    }
}

impl Running {
    /// Waits for its end: exit code and what it printed.
    ///
    /// # Panics
    /// When it takes longer than 90 s or prints no JSON.
    #[must_use]
    pub fn end(mut self) -> (i32, Value) {
        let status = wait::within(LIMIT, || self.process.ended());
        let printed = self.process.output();
        let errors = std::fs::read_to_string(&self.errors).unwrap_or_default();
        let status = status.unwrap_or_else(|| panic!("`jobgate {}` does not end: {printed}{errors}", self.words));
        let code = status.code().unwrap_or_else(|| panic!("`jobgate {}` was killed: {errors}", self.words));
        let json = serde_json::from_str(printed.trim());
        (code, json.unwrap_or_else(|error| panic!("`jobgate {}` ({code}): {error}: {printed}{errors}", self.words)))
    }
}
