//! How commands speak: results to stdout, everything else to stderr, and how they end.
#![expect(clippy::print_stderr, reason = "the command line's output is what this file is for")]

use std::io::Write as _;

/// Exit codes, as the documentation lists them.
pub(super) mod code {
    /// Something went wrong.
    pub(crate) const ERROR: u8 = 1;
    /// The command line or the configuration is wrong.
    pub(crate) const USAGE: u8 = 2;
    /// The job ran and failed.
    pub(crate) const JOB_FAILED: u8 = 3;
    /// The task failed: a fault of the gateway or the provider.
    pub(crate) const TASK_FAILED: u8 = 4;
    /// The task was cancelled.
    pub(crate) const CANCELLED: u8 = 5;
    /// The task waits for an answer that nobody gave.
    pub(crate) const ANSWER_NEEDED: u8 = 6;
    /// Ctrl-C: the command ended, the task goes on.
    pub(crate) const DETACHED: u8 = 130;
}

/// A command that could not do its work.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: u8,
    pub(super) message: String,
    /// What to do next.
    pub(super) hint: Option<String>,
    /// The connection broke: nobody knows whether the request was heard.
    pub(super) lost: bool,
}

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { code: code::ERROR, message: message.into(), hint: None, lost: false }
    }

    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { code: code::USAGE, ..Self::new(message) }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says what went wrong, on stderr.
    pub(super) fn tell(&self) {
        eprintln!("error: {}", self.message);
        if let Some(hint) = &self.hint {
            eprintln!("  hint: {hint}");
        }
    }
}

/// The exit code of a command that did its work, or why it could not.
pub(super) type Ended = Result<u8, Failure>;

/// One line of a result. A reader that has gone (a closed pipe) is no error of ours.
pub(super) fn result(line: impl AsRef<str>) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", line.as_ref()).and_then(|()| stdout.flush()).ok();
}

/// One line for the person at the terminal.
pub(super) fn note(line: impl AsRef<str>) {
    eprintln!("{}", line.as_ref());
}

/// A question without a line break.
pub(super) fn ask(text: &str) {
    eprint!("{text}");
    std::io::stderr().flush().ok();
}
