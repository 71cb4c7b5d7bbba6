//! The line that lives: where a task stands, and for how long.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::args::Output;
use super::out::{note, result};
use super::remote::TaskView;

/// Shows each change of a task, in the way of the output that was chosen.
pub(super) struct StatusLine {
    bar: Option<ProgressBar>,
    output: Output,
    last: Option<TaskView>,
}

impl StatusLine {
    /// A line on a terminal; without one, changes are printed one below the other.
    pub(super) fn new(tool: &str, output: Output, terminal: bool) -> Self {
        let bar = (terminal && output == Output::Text).then(|| living(tool, Duration::ZERO));
        Self { bar, output, last: None }
    }

    /// Shows where the task stands, if that is new.
    pub(super) fn show(&mut self, task: &TaskView) {
        let seen = |task: &TaskView| (task.status().to_owned(), task.message().map(str::to_owned));
        if self.last.as_ref().map(seen) == Some(seen(task)) {
            return;
        }
        self.last = Some(task.clone());
        let words = match task.message() {
            Some(message) => format!("{}: {message}", task.status()),
            None => task.status().to_owned(),
        };
        match (&self.bar, self.output) {
            (Some(bar), _) => bar.set_message(words),
            // The end is printed by itself.
            (None, Output::Lines) if !task.is_ended() => result(task.value.to_string()),
            (None, Output::Text) if !task.is_ended() => note(words),
            (None, Output::Lines | Output::Text | Output::Json) => {}
        }
    }

    /// Prints a line that stays, above the living one.
    pub(super) fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| note(line)),
            None if self.output == Output::Text => note(line),
            None => {}
        }
    }

    /// Makes room for questions.
    pub(super) fn pause(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Comes back after them.
    pub(super) fn resume(&mut self) {
        self.last = None;
        if let Some(bar) = &mut self.bar {
            *bar = living(&bar.prefix(), bar.elapsed());
        }
    }
}

/// A spinner with a name in front and the time behind.
fn living(name: &str, elapsed: Duration) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix} {wide_msg} {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner().with_style(style).with_prefix(name.to_owned()).with_elapsed(elapsed);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
