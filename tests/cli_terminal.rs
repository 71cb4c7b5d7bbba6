//! `jobgate call` at a terminal: the living status line, questions field by field, and what Ctrl-C offers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use jobgate_test_support::gateway::Setup;
use jobgate_test_support::wait::{self, Watch};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

const LIMIT: Duration = Duration::from_secs(60);

const CONFIG: &str = r#"
providers:
  jobs: { adapter: mock }
tools:
  work:
    provider: jobs
    description: Takes its time.
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine: { StartAt: W, States: { W: { Type: Wait, Seconds: 600, Comment: working hard, End: true } } }
  approve:
    provider: jobs
    description: Asks in the middle.
    task: { poll: { initial: 100ms, max: 200ms } }
    job:
      machine:
        StartAt: Ask
        States:
          Ask:
            Type: Task
            Resource: mock:callback
            TimeoutSeconds: 3600
            Parameters:
              Message: Go on?
              Form:
                type: object
                properties:
                  size: { type: string, title: Size, enum: [small, large] }
                  count: { type: integer, title: How many, minimum: 1, default: 3 }
                  ok: { type: boolean, title: All right }
                  note: { type: string, title: Note }
                required: [size, ok]
            ResultPath: $.answer
            Next: Done
          Done: { Type: Pass, Parameters: { "content.$": $.answer.content }, End: true }
"#;

/// A program at a terminal of its own.
struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs = || {
            let path = std::path::Path::new(name.to_str().unwrap());
            Stdio::from(OwnedFd::from(File::options().read(true).write(true).open(path).unwrap()))
        };
        let child = command.env("TERM", "xterm").stdin(theirs()).stdout(theirs()).stderr(theirs()).spawn().unwrap();
        drop(command);
        let keys = File::from(ours);
        let mut output = keys.try_clone().unwrap();
        let (show, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // At the end of the program the terminal gives an error, on Linux.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if show.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, screen, seen: String::new() }
    }

    /// Waits for `text` and forgets all before and with it.
    #[track_caller]
    fn sees(&mut self, text: &str) {
        let watch = Watch::start();
        loop {
            if let Some((_, rest)) = self.seen.split_once(text) {
                self.seen = rest.to_owned();
                return;
            }
            match self.screen.recv_timeout(LIMIT.saturating_sub(watch.elapsed())) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("`{text}` does not come; the screen shows:\n{}", self.seen),
            }
        }
    }

    fn types(&mut self, line: &str) {
        writeln!(self.keys, "{line}").unwrap();
    }

    /// What the terminal does at Ctrl-C; the program has no controlling terminal here, so the signal is sent by hand.
    fn ctrl_c(&self) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    #[track_caller]
    fn ends(&mut self, code: i32) {
        let status = wait::within(LIMIT, || self.child.try_wait().unwrap());
        assert_eq!(status.and_then(|status| status.code()), Some(code), "the screen shows:\n{}", self.seen);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn place() -> (tempfile::TempDir, Setup) {
    let root = tempfile::tempdir().unwrap();
    let config = root.path().join("jobgate.yaml");
    std::fs::write(&config, CONFIG).unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), root.path()).config(&config);
    (root, setup)
}

/// E1, E2: a form is asked field by field, with choices and defaults, and what does not fit is asked again.
#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_filled_in_at_the_terminal() {
    let (_root, setup) = place();
    let _gateway = setup.start().await;
    let mut terminal = Terminal::start(setup.command(&["call", "approve", "--url", &setup.url()]));
    terminal.sees("task task_");
    terminal.sees("? Go on?");
    terminal.sees("[a]nswer, [d]ecline, [l]ater: ");
    terminal.types("a");
    terminal.sees("Size [1) small, 2) large]: ");
    terminal.types("huge");
    terminal.sees("\"huge\"");
    terminal.sees("Size [1) small, 2) large]: ");
    terminal.types("2");
    terminal.sees("How many (3): ");
    terminal.types("");
    terminal.sees("All right [y/n]: ");
    terminal.types("y");
    terminal.sees("Note (may be empty): ");
    terminal.types("");
    terminal.sees(r#"{"content":{"size":"large","count":3,"ok":true}}"#);
    terminal.ends(0);
}

/// Ctrl-C offers to cancel, to leave, or to go on.
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_asks_what_is_wanted() {
    let (_root, setup) = place();
    let _gateway = setup.start().await;
    let start = || {
        let mut terminal = Terminal::start(setup.command(&["call", "work", "--url", &setup.url()]));
        terminal.sees("working hard");
        terminal.ctrl_c();
        terminal.sees("[c]ancel the job, [d]etach and leave it running, or [g]o on? ");
        terminal
    };
    let mut terminal = start();
    terminal.types("g");
    terminal.sees("working hard");
    terminal.ctrl_c();
    terminal.sees("or [g]o on? ");
    terminal.types("c");
    terminal.sees("the task was cancelled");
    terminal.ends(5);

    let mut terminal = start();
    terminal.types("d");
    terminal.sees("jobgate tasks get task_");
    terminal.ends(130);
}

/// A question may be left open; the task waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_may_wait() {
    let (_root, setup) = place();
    let _gateway = setup.start().await;
    let mut terminal = Terminal::start(setup.command(&["call", "approve", "--url", &setup.url()]));
    terminal.sees("[a]nswer, [d]ecline, [l]ater: ");
    terminal.types("l");
    terminal.sees("answer later with `jobgate tasks get task_");
    terminal.ctrl_c();
    terminal.sees("or [g]o on? ");
    terminal.types("d");
    terminal.ends(130);
}
