//! A task from its handle to its end: the living status line, its questions, and Ctrl-C.

use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use jobgate_adapter_api::Clock;
use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::args::{AnswerArgs, Output};
use super::forms::{Terminal, from_words, nobody_answers, on_terminal};
use super::out::{Ended, Failure, code, note, result};
use super::remote::{Remote, TaskView};
use super::status::StatusLine;
use super::{save, show};

/// Polls that may fail in a row before the command gives up; the gateway may be restarting.
const LOST_POLLS: u32 = 20;

/// How a command meets the person at the terminal.
pub(super) struct Manners<'a> {
    pub(super) output: Output,
    pub(super) answer: &'a AnswerArgs,
    /// There is someone to ask; `None` in a script.
    pub(super) terminal: Option<Terminal>,
    pub(super) clock: Arc<dyn Clock>,
    /// What `--url` said, for the commands that go on.
    pub(super) url: &'a str,
    /// Where the files of a result go.
    pub(super) save: Option<&'a Path>,
}

impl<'a> Manners<'a> {
    pub(super) fn new(output: Output, answer: &'a AnswerArgs, url: &'a str, clock: Arc<dyn Clock>) -> Self {
        let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        Self { output, answer, terminal: interactive.then(Terminal::new), clock, url, save: None }
    }

    /// With a folder for the files of a result.
    pub(super) fn saving(self, save: Option<&'a Path>) -> Self {
        Self { save, ..self }
    }

    /// The end of a command whose result has been shown: its files are written where they are wanted.
    pub(super) async fn saved(&self, remote: &Remote, result: &Value, code: u8) -> Ended {
        if let Some(folder) = self.save {
            save::save(remote, result, folder).await?;
        }
        Ok(code)
    }

    /// The words that lead back to a task.
    pub(super) fn way_back(&self, id: &str) -> String {
        let url = if self.url == "http://127.0.0.1:8080/mcp" { String::new() } else { format!(" --url {}", self.url) };
        format!("jobgate tasks get {id}{url}")
    }
}

/// What a person at Ctrl-C wants.
enum Wish {
    GoOn,
    Cancel,
    Detach,
}

/// Follows `task` to its end.
pub(super) async fn follow(remote: &Remote, mut task: TaskView, tool: &str, manners: &Manners<'_>) -> Ended {
    let id = task.id().to_owned();
    // From here on Ctrl-C is ours: the task has begun, and its way back has to be told.
    let mut interrupts =
        signal(SignalKind::interrupt()).map_err(|error| Failure::new(format!("signals cannot be heard: {error}")))?;
    if task.status() != "working" {
        // The handle of a task says where it stands, and no more.
        task = remote.get(&id).await?;
    }
    let mut line = StatusLine::new(tool, manners.output, manners.terminal.is_some());
    let mut lost = 0;
    let mut answered_by_words = false;
    let mut left_open = false;
    loop {
        line.show(&task);
        if task.is_ended() {
            drop(line);
            let code = show::ended(&task, manners.output);
            return manners.saved(remote, &task.value["result"], code).await;
        }
        if task.status() == "input_required" && !left_open {
            let requests = &task.value["inputRequests"];
            let words =
                if answered_by_words { None } else { from_words(requests, &manners.answer.answers, manners.answer.decline)? };
            let responses = match (words, &manners.terminal) {
                (Some(responses), _) => {
                    answered_by_words = true;
                    Some(responses)
                }
                (None, Some(terminal)) => {
                    line.pause();
                    let responses = tokio::select! {
                        responses = on_terminal(requests, terminal) => responses,
                        _ = interrupts.recv() => None,
                    };
                    if responses.is_none() {
                        note(format!("left open; answer later with `{} --follow`", manners.way_back(&id)));
                        left_open = true;
                    }
                    line.resume();
                    responses
                }
                (None, None) => {
                    drop(line);
                    if manners.output != Output::Text {
                        result(task.value.to_string());
                    }
                    return Err(nobody_answers(requests, Some(&id)));
                }
            };
            if let Some(responses) = responses {
                remote.answer(&id, responses).await?;
            }
        }
        if task.status() != "input_required" {
            left_open = false;
        }
        tokio::select! {
            () = manners.clock.sleep(task.poll_interval()) => {}
            _ = interrupts.recv() => {
                line.pause();
                match wish(manners, &mut interrupts).await {
                    Wish::Cancel => {
                        remote.cancel(&id).await?;
                        note("cancel asked for; waiting for the job to stop (Ctrl-C again to leave)");
                    }
                    Wish::Detach => {
                        note(format!("the task goes on; `{}` leads back to it", manners.way_back(&id)));
                        return Ok(code::DETACHED);
                    }
                    Wish::GoOn => {}
                }
                line.resume();
            }
        }
        task = match remote.get(&id).await {
            Ok(task) => {
                lost = 0;
                task
            }
            Err(failure) if lost < LOST_POLLS && failure.lost => {
                lost += 1;
                line.note(&format!("{}; trying again", failure.message));
                task
            }
            Err(failure) => return Err(came_back(failure, &id, manners)),
        };
    }
}

fn came_back(failure: Failure, id: &str, manners: &Manners<'_>) -> Failure {
    match failure.hint {
        Some(_) => failure,
        None => failure.hint(format!("the task itself is safe; `{}` leads back to it", manners.way_back(id))),
    }
}

/// A script that is interrupted leaves the task running; a person is asked.
async fn wish(manners: &Manners<'_>, interrupts: &mut Signal) -> Wish {
    let Some(terminal) = &manners.terminal else { return Wish::Detach };
    loop {
        let line = tokio::select! {
            line = terminal.line("\n[c]ancel the job, [d]etach and leave it running, or [g]o on? ") => line,
            _ = interrupts.recv() => return Wish::Detach,
        };
        match line.as_deref().map(str::trim) {
            Some("c" | "cancel") => return Wish::Cancel,
            Some("d" | "detach") | None => return Wish::Detach,
            Some("" | "g" | "go on") => return Wish::GoOn,
            Some(_) => {}
        }
    }
}
