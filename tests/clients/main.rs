//! Real clients against a real gateway: each tells its story, and comes back after the gateway was killed.
//!
//! The stories of the shared folder are told as they are: list, quick call, a job to its end, a failing one, a fault, a question
//! answered with yes and with no, cancel, resume from a new connection, an unknown task. The scripts beside this file go on where
//! they stop: a client with running tasks outlives a `kill -9` of the gateway, and finds them again. What every client can do is
//! the table of `docs/clients.md`; `UPDATE_GOLDEN=1` writes it anew.

#![expect(clippy::unwrap_used, reason = "a test whose processes cannot be run has failed")]

mod installed;
mod known;
mod rmcp;
mod steps;
mod table;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use jobgate_test_support::caller::Caller;
use jobgate_test_support::gateway::Setup;
use jobgate_test_support::process::Process;
use jobgate_test_support::source::root;
use jobgate_test_support::wait;
use serde_json::json;
use tokio::runtime::Runtime;

use self::installed::Installed;
use self::known::{CLIENTS, Client, Speaks};
use self::steps::Story;

/// Stories that are told at once. They wait for jobs most of the time.
const AT_ONCE: usize = 4;

/// How long one story may take.
const STORY_LIMIT: Duration = Duration::from_secs(150);

/// How long a client may take to start its tasks, with all others starting theirs.
const START_LIMIT: Duration = Duration::from_secs(90);

/// A1, A2, A5, D2, E1, F2, G4, I1: what real clients do, the gateway answers as they expect, also after it was killed.
#[test]
fn every_client_tells_its_story() {
    let Some(installed) = Installed::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).config(&config());
    let setup = setup.env("JOBGATE_LOG", "info,jobgate::mcp::limits=debug");
    let stage = Stage { installed, folder: folder.path(), setup, runtime: Runtime::new().unwrap() };
    let gateway = stage.runtime.block_on(stage.setup.start());
    let mut stories = stage.tell_all();

    let kept: Vec<Kept> = CLIENTS.iter().map(|client| stage.keep(client)).collect();
    let kept: Vec<Kept> = kept.into_iter().map(Kept::started).collect();
    gateway.kill();
    let gateway = stage.runtime.block_on(stage.setup.start());
    fs::write(stage.restarted(), "").unwrap();
    for (story, kept) in stories.iter_mut().zip(kept) {
        story.join(kept.returns(&stage.runtime));
    }
    let output = gateway.output();
    assert!(gateway.stop().success(), "{output}");
    assert!(!output.contains("panicked"), "{output}");
    // They are one caller here, at one address, and still the limits are no hindrance (requirement G4).
    assert!(!output.contains("a limit was reached") && !output.contains("suspicious:"), "{output}");

    let faults: Vec<String> = CLIENTS
        .iter()
        .zip(&stories)
        .flat_map(|(client, story)| story.faults(client).into_iter().map(|fault| format!("{}: {fault}", client.title())))
        .collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    table::check();
}

fn config() -> PathBuf {
    root().join("examples/conformance.yaml")
}

/// Where the stories are told.
struct Stage<'a> {
    installed: Installed,
    folder: &'a Path,
    setup: Setup,
    runtime: Runtime,
}

impl Stage<'_> {
    /// Every client's story, in their order.
    fn tell_all(&self) -> Vec<Story> {
        let waiting: Mutex<VecDeque<usize>> = Mutex::new((0..CLIENTS.len()).collect());
        let told: Mutex<Vec<Story>> = Mutex::new(vec![Story::default(); CLIENTS.len()]);
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    loop {
                        let Some(next) = waiting.lock().unwrap().pop_front() else { break };
                        let story = self.story(&CLIENTS[next]);
                        told.lock().unwrap()[next] = story;
                    }
                });
            }
        });
        told.into_inner().unwrap()
    }

    #[expect(clippy::print_stdout, reason = "how long a client takes is worth reading")]
    fn story(&self, client: &Client) -> Story {
        let Some(mut command) = self.script(client, client.story) else {
            return self.runtime.block_on(rmcp::story(&self.setup.url()));
        };
        command.arg(self.setup.url());
        match client.speaks {
            Speaks::Node { argument } => {
                // For clients that start the gateway themselves.
                command.env("JOBGATE", env!("CARGO_BIN_EXE_jobgate")).env("CONFIG", config());
                command.env("DATA", self.folder.join(client.key)).args(argument)
            }
            Speaks::Commands { kind } => command.arg(kind).arg(self.installed.commands()),
            Speaks::Python { .. } | Speaks::Rust => &mut command,
        };
        let watch = wait::Watch::start();
        let mut process = Process::start_apart(client.key, command, &self.output(client, "story"));
        let ended = wait::within(STORY_LIMIT, || process.ended());
        let mut story = Story::read(&process.output());
        if ended.is_none() {
            story.add("connect", Some(false), format!("the story does not end: {}", process.output()).into());
        }
        println!("{}: {} s", client.key, watch.elapsed().as_secs());
        story
    }

    /// Starts the script that outlives the gateway.
    fn keep(&self, client: &Client) -> Kept {
        if client.kept.is_empty() {
            return Kept::Nobody;
        }
        let Some(mut command) = self.script(client, client.kept) else {
            return Kept::Linked(Box::new(self.runtime.block_on(rmcp::Kept::open(&self.setup.url())).unwrap()));
        };
        command.arg(self.setup.url()).arg(self.restarted());
        match client.speaks {
            Speaks::Node { argument } => {
                command.env("MODE", argument.unwrap_or_default());
            }
            Speaks::Commands { kind } => {
                let caller = Caller::new(&self.setup);
                let job = caller.detach("slow_compute", &json!({ "seconds": 8 }));
                let question = caller.detach("confirm_delete", &json!({ "filename": "kept.txt" }));
                let long = caller.detach("slow_compute", &json!({ "seconds": 600 }));
                command.env("KIND", kind).env("BIN", self.installed.commands()).args([job, question, long]);
            }
            Speaks::Python { .. } | Speaks::Rust => {}
        }
        Kept::Script(Process::start_apart(client.key, command, &self.output(client, "kept")))
    }

    fn script(&self, client: &Client, script: &str) -> Option<Command> {
        match client.speaks {
            Speaks::Node { .. } => Some(self.installed.node(script)),
            Speaks::Python { environment } => Some(self.installed.python(environment, script)),
            Speaks::Commands { .. } => {
                let mut command = self.installed.node(script);
                self.at_home(&mut command, client);
                Some(command)
            }
            Speaks::Rust => None,
        }
    }

    /// Commands keep files and a daemon in the home folder; this is theirs.
    fn at_home(&self, command: &mut Command, client: &Client) {
        let home = self.folder.join(client.key);
        fs::create_dir_all(&home).unwrap();
        command.env("HOME", home).env("MCP_INSPECTOR_SECRET_STORE", "file");
    }

    /// The file that says that the gateway runs again.
    fn restarted(&self) -> PathBuf {
        self.folder.join("restarted")
    }

    fn output(&self, client: &Client, what: &str) -> PathBuf {
        self.folder.join(format!("{}-{what}.out", client.key))
    }

    /// Some commands leave a daemon behind. Asking one to end that is not there is no fault.
    fn end_daemons(&self) {
        for client in CLIENTS.iter().filter(|client| client.key.starts_with("mcpdo")) {
            let mut command = self.installed.command("mcpdo");
            command.args(["daemon", "stop"]);
            self.at_home(&mut command, client);
            let mut process = Process::start_apart("mcpdo daemon stop", command, &self.output(client, "stop"));
            wait::within(Duration::from_secs(30), || process.ended());
        }
    }
}

/// A test that fails leaves no daemon.
impl Drop for Stage<'_> {
    fn drop(&mut self) {
        self.end_daemons();
    }
}

/// A client that was there before the kill.
enum Kept {
    Script(Process),
    Linked(Box<rmcp::Kept>),
    /// The client has no words for any of it.
    Nobody,
}

impl Kept {
    /// Waits until it has started its tasks.
    fn started(self) -> Self {
        if let Self::Script(mut process) = self {
            let started =
                wait::within(START_LIMIT, || (process.output().contains('\n') || process.ended().is_some()).then_some(()));
            assert!(started.is_some(), "a client starts no tasks: {process:?}");
            return Self::Script(process);
        }
        self
    }

    fn returns(self, runtime: &Runtime) -> Story {
        match self {
            Self::Script(mut process) => {
                wait::within(STORY_LIMIT, || process.ended());
                Story::read(&process.output())
            }
            Self::Linked(kept) => runtime.block_on(kept.returns()),
            Self::Nobody => Story::default(),
        }
    }
}
