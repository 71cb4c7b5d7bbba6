//! Real job engines as processes: the scripts of the engines folder, each started on free ports and stopped at the end.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::process::{Process, free_ports};
use crate::source::root;
use crate::wait;

/// How long an engine may take to install itself and to start.
const READY_LIMIT: Duration = Duration::from_secs(420);

/// A port from which on as many are free as any engine takes.
#[must_use]
pub fn engine_port() -> u16 {
    free_ports(PORTS)
}

/// Ports that the hungriest engine takes.
const PORTS: u16 = 4;

/// The folder with engines and specifications: `JOBGATE_SHARED`, else `shared` beside the checkout.
#[must_use]
pub fn shared() -> PathBuf {
    variable("JOBGATE_SHARED").map_or_else(|| root().parent().expect("a checkout has a parent").join("shared"), PathBuf::from)
}

/// The folder for what tests install: `JOBGATE_CACHE`, else `.cache` in the checkout.
#[must_use]
pub fn cache() -> PathBuf {
    variable("JOBGATE_CACHE").map_or_else(|| root().join(".cache"), PathBuf::from)
}

#[expect(clippy::disallowed_methods, reason = "the environment of the tests is their own configuration")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Says why a test cannot run here, and that it did not. Under continuous integration that is a failure.
///
/// # Panics
/// With `CI=true`.
#[expect(clippy::print_stderr, reason = "a test that did not run says so")]
pub fn skip(why: &str) {
    assert!(variable("CI").as_deref() != Some("true"), "cannot be skipped here: {why}");
    eprintln!("SKIPPED: {why}");
}

/// An engine that runs.
#[derive(Debug)]
pub struct Engine {
    process: Process,
    folder: PathBuf,
    ready: String,
    port: u16,
    /// Two tests at once would share the engine's folder.
    _alone: File,
}

impl Engine {
    /// Starts `NAME.sh`, which installs the engine below the cache where it is missing, and waits for its READY line. `None`
    /// when there are no engines on this machine and tests may be skipped.
    ///
    /// # Panics
    /// When it does not get ready, or engines are missing under continuous integration.
    #[must_use]
    pub fn start(name: &str) -> Option<Self> {
        Self::start_on(name, free_ports(PORTS), &[])
    }

    /// As [`Engine::start`], at a known port: `NAME.sh FOLDER PORT WORDS...`.
    ///
    /// # Panics
    /// As [`Engine::start`].
    #[must_use]
    pub fn start_on(name: &str, port: u16, words: &[&str]) -> Option<Self> {
        let script = shared().join("engines").join(format!("{name}.sh"));
        if !script.is_file() {
            skip(&format!("there is no {}; set JOBGATE_SHARED", script.display()));
            return None;
        }
        let folder = cache().join("engines").join(name);
        std::fs::create_dir_all(&folder).expect("the cache can be written");
        let alone = File::create(folder.join("lock")).expect("the cache can be written");
        alone.lock().expect("the cache's file system has locks");
        let log = folder.join("script.log");
        std::fs::remove_file(&log).ok();
        let mut command = Command::new("bash");
        command.arg(&script).arg(&folder).arg(port.to_string()).args(words);
        let mut process = Process::start(name, command, &log);
        let ready = wait::until(&format!("{name} to be ready; see {}", log.display()), READY_LIMIT, || {
            if let Some(status) = process.ended() {
                panic!("{name} ended with {status}:\n{}", process.output());
            }
            process.output().lines().find(|line| line.starts_with("READY ")).map(String::from)
        });
        Some(Self { process, folder, ready, port, _alone: alone })
    }

    /// The first of its ports; what the others are for, its script says.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The folder in which it keeps its files.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// A file of its folder; empty when there is none.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        std::fs::read(self.folder.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Its READY line.
    #[must_use]
    pub fn ready_line(&self) -> &str {
        &self.ready
    }

    /// `kill -9` of all its processes.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn kill(mut self) {
        self.process.kill_with_children();
    }

    /// Stops it.
    ///
    /// # Panics
    /// When it does not stop, or not cleanly.
    pub fn stop(mut self) {
        let status = self.process.stop();
        assert!(status.success(), "the engine stopped with {status}:\n{}", self.process.output());
    }
}
