//! Child processes that end when the test does, and free ports for them.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::wait;

/// How long a process may take to end by itself.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// The first of `count` ports in a row that are free on the loopback address.
///
/// # Panics
/// When the machine has none.
#[must_use]
pub fn free_ports(count: u16) -> u16 {
    let free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok();
    for _ in 0..200 {
        let first = free(0).expect("a free port").local_addr().expect("a bound socket has an address").port();
        let all = (1..count).map(|nth| first.checked_add(nth).and_then(free)).collect::<Option<Vec<_>>>();
        if all.is_some() {
            return first;
        }
    }
    panic!("no {count} free ports in a row");
}

/// A child whose output goes to a file. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    output: PathBuf,
    /// Whether it leads a group of its own: then its children end with it.
    leads: bool,
}

impl Process {
    /// Starts `command`; standard output and error go to `output`, appended.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(name: &str, mut command: Command, output: &Path) -> Self {
        let open = || File::options().create(true).append(true).open(output).expect("the file for the output can be written");
        command.stdin(Stdio::null()).stdout(open()).stderr(open());
        let child = command.spawn().unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        Self { name: name.to_owned(), child, output: output.to_owned(), leads: false }
    }

    /// As [`Process::start`], with standard error in a file of its own: `output` with the ending `err`. It leads a process group,
    /// which ends with it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start_apart(name: &str, mut command: Command, output: &Path) -> Self {
        let open = |path: &Path| File::create(path).expect("the file for the output can be written");
        command.stdin(Stdio::null()).stdout(open(output)).stderr(open(&output.with_extension("err"))).process_group(0);
        let child = command.spawn().unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        Self { name: name.to_owned(), child, output: output.to_owned(), leads: true }
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    #[must_use]
    pub fn output(&self) -> String {
        fs::read(&self.output).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The exit status, if it has ended.
    ///
    /// # Panics
    /// When the system cannot tell.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Kills it as a machine would: no signal that it could catch.
    ///
    /// # Panics
    /// When it cannot be waited for.
    pub fn kill(&mut self) {
        // It may have ended by itself in the meantime, which is as good.
        if self.ended().is_none() {
            self.signal(Signal::KILL).ok();
        }
        self.child.wait().expect("a killed child can be waited for");
    }

    /// As [`Process::kill`], with every process that it started and that still has it as an ancestor: a script and its servers.
    ///
    /// # Panics
    /// As [`Process::kill`].
    pub fn kill_with_children(&mut self) {
        // The parents first, so that none of them replaces a child.
        let mut found = vec![self.pid()];
        let mut next = 0;
        while let Some(parent) = found.get(next) {
            let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
            found.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            next += 1;
        }
        self.kill();
        for child in found.iter().skip(1).filter_map(|child| Pid::from_raw(i32::try_from(*child).ok()?)) {
            kill_process(child, Signal::KILL).ok();
        }
    }

    /// Asks it to end (SIGTERM) and waits.
    ///
    /// # Panics
    /// When it does not end within 30 s.
    pub fn stop(&mut self) -> ExitStatus {
        if let Some(status) = self.ended() {
            return status;
        }
        self.signal(Signal::TERM).ok();
        let ended = wait::within(STOP_LIMIT, || self.ended());
        ended.unwrap_or_else(|| panic!("{} does not end; its output:\n{}", self.name, self.output()))
    }

    /// Asks it to end (SIGTERM) and does not wait.
    ///
    /// # Errors
    /// When it is gone.
    pub fn terminate(&self) -> io::Result<()> {
        self.signal(Signal::TERM)
    }

    /// To the process, or to its group. The child has not been waited for, so its id is nobody else's.
    fn signal(&self, signal: Signal) -> io::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a child has a process id");
        let told = if self.leads { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        Ok(told?)
    }
}

/// A test that fails leaves no process: first the polite way, so that a script can end its own children, then the other.
impl Drop for Process {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_some()) || self.signal(Signal::TERM).is_err() {
            return;
        }
        let ended = wait::within(Duration::from_secs(10), || self.child.try_wait().ok().flatten());
        if ended.is_none() {
            self.kill();
        }
    }
}
