//! The clients, installed below the cache at the versions that the lock files beside this file pin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jobgate_test_support::engine::{cache, shared, skip};
use jobgate_test_support::process::Process;
use jobgate_test_support::source::root;
use jobgate_test_support::wait;

/// How long an installation may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(420);

/// The clients that pip installs, each in a folder of its own: their dependencies do not agree.
pub(crate) const PYTHON: [&str; 3] = ["mcp1", "mcp2", "fastmcp4"];

/// Where everything is.
#[derive(Debug)]
pub(crate) struct Installed {
    node: PathBuf,
    python: PathBuf,
    stories: PathBuf,
}

impl Installed {
    /// Installs what is missing. `None` where there are no stories on this machine and tests may be skipped.
    pub(crate) fn new() -> Option<Self> {
        let stories = shared().join("clients");
        if !stories.is_dir() {
            skip(&format!("there are no client stories in {}; set JOBGATE_SHARED", stories.display()));
            return None;
        }
        let (node, python) = (cache().join("clients/node"), cache().join("clients/python"));
        std::thread::scope(|scope| {
            scope.spawn(|| install_node(&node));
            for name in PYTHON {
                let folder = python.join(name);
                scope.spawn(move || install_python(name, &folder));
            }
        });
        // Scripts of Node find their packages in the folders above them.
        copy(&stories.join("ts"), &node.join("stories"));
        copy(&own("node"), &node.join("after"));
        Some(Self { node, python, stories })
    }

    /// A script of the shared stories, or `after/NAME` of our own, for Node.
    pub(crate) fn node(&self, script: &str) -> Command {
        let mut command = self.command("node");
        let folder = if script.starts_with("after/") { self.node.clone() } else { self.node.join("stories") };
        command.arg(folder.join(script));
        command
    }

    /// A script of the shared stories, or `after/NAME` of our own, in the environment of one of [`PYTHON`].
    pub(crate) fn python(&self, environment: &str, script: &str) -> Command {
        let mut command = Command::new(self.python.join(environment).join("bin/python"));
        command.arg(match script.strip_prefix("after/") {
            Some(own_script) => own("python").join(own_script),
            None => self.stories.join("py").join(script),
        });
        // The folders of the scripts stay as they are.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    /// A command that npm installed, Node itself among them.
    pub(crate) fn command(&self, name: &str) -> Command {
        // Commands look for the Node that runs them in the search path.
        let node = self.node.join("node_modules/node/bin");
        let mut command = Command::new(if name == "node" { node.join(name) } else { self.commands().join(name) });
        let others = search_path();
        let path = std::iter::once(node).chain(std::env::split_paths(&others));
        command.env("PATH", std::env::join_paths(path).unwrap());
        command
    }

    /// The folder with the commands that npm installed.
    pub(crate) fn commands(&self) -> PathBuf {
        self.node.join("node_modules/.bin")
    }
}

/// The scripts and lock files beside this file.
pub(crate) fn own(folder: &str) -> PathBuf {
    root().join("tests/clients").join(folder)
}

/// Runs a command to its end and gives what it printed.
fn run(name: &str, command: Command, output: &Path, limit: Duration) -> String {
    let mut process = Process::start_apart(name, command, output);
    let status = wait::within(limit, || process.ended());
    let told = process.output();
    let errors = fs::read_to_string(output.with_extension("err")).unwrap_or_default();
    let status = status.unwrap_or_else(|| panic!("{name} does not end: {told}{errors}"));
    assert!(status.success(), "{name} ended with {status}: {told}{errors}");
    told
}

fn install_node(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let lock = fs::read_to_string(own("node").join("package-lock.json")).unwrap();
    if is_installed(folder, &lock) {
        return;
    }
    for file in ["package.json", "package-lock.json"] {
        fs::copy(own("node").join(file), folder.join(file)).unwrap();
    }
    let mut command = Command::new("npm");
    // Not `npm ci`, which insists on packages for other systems that the lock file cannot have.
    command.args(["install", "--no-audit", "--no-fund", "--silent"]).current_dir(folder);
    run("npm install", command, &folder.join("install.log"), INSTALL_LIMIT);
    mark_installed(folder, &lock);
}

fn install_python(name: &str, folder: &Path) {
    let list = own("python").join(name).with_extension("txt");
    // An environment works in one place, with one interpreter.
    let version = Command::new("python3").arg("-VV").output().unwrap();
    let wanted =
        format!("{}{}{}", folder.display(), String::from_utf8_lossy(&version.stdout), fs::read_to_string(&list).unwrap());
    if is_installed(folder, &wanted) {
        return;
    }
    fs::remove_dir_all(folder).ok();
    fs::create_dir_all(folder).unwrap();
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(folder);
    run("python3 -m venv", environment, &folder.join("venv.log"), INSTALL_LIMIT);
    let mut command = Command::new(folder.join("bin/python"));
    // The list is complete; nothing has to be resolved.
    command.args(["-m", "pip", "install", "--quiet", "--no-input", "--no-deps", "--requirement"]).arg(&list);
    run("pip install", command, &folder.join("install.log"), INSTALL_LIMIT);
    mark_installed(folder, &wanted);
}

#[expect(clippy::disallowed_methods, reason = "commands need the search path of the tests")]
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// Whether the folder was filled to the end, with just this.
fn is_installed(folder: &Path, wanted: &str) -> bool {
    fs::read_to_string(folder.join("installed")).is_ok_and(|installed| installed == wanted)
}

fn mark_installed(folder: &Path, wanted: &str) {
    fs::write(folder.join("installed"), wanted).unwrap();
}

/// The scripts in `from`, and no folder of it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "mjs") {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}
