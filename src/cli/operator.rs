//! `jobgate tasks list` and `audit`: from the data folder, through its holder's socket or from the store itself.

use serde::Deserialize as _;
use serde_json::Value;

use super::args::{AuditArgs, ListArgs, Output, SourceArgs};
use super::gateway::{Chosen, choose, world};
use super::out::{Ended, Failure, note, result};
use crate::serve::{AuditLine, OperatorQuestion, TaskLine, ask_operator};

async fn ask(source: &SourceArgs, question: OperatorQuestion) -> Result<Vec<Value>, Failure> {
    let folder = match &source.data {
        Some(folder) => folder.clone(),
        None => {
            let Chosen { source, .. } = choose(source)?;
            source.checked.store.path
        }
    };
    let answer = ask_operator(&folder, &question, &world()).await.map_err(|problem| {
        Failure::new(problem).hint("the data folder is the configuration's `store.path`; `--data DIR` names another")
    })?;
    serde_json::from_slice(&answer).map_err(|error| Failure::new(format!("the holder's answer cannot be read: {error}")))
}

pub(super) async fn list(args: &ListArgs) -> Ended {
    let lines = ask(&args.source, OperatorQuestion::Tasks { limit: args.limit }).await?;
    if print(&lines, args.output) {
        return Ok(0);
    }
    if lines.is_empty() {
        note("no tasks");
    }
    for line in &lines {
        let TaskLine { task_id, status, tool, message, last_updated_at, .. } =
            TaskLine::deserialize(line).map_err(|error| Failure::new(error.to_string()))?;
        let message = message.map(|message| format!("  {message}")).unwrap_or_default();
        result(format!("{task_id}  {status:14}  {last_updated_at}  {tool}{message}"));
    }
    Ok(0)
}

pub(super) async fn audit(args: &AuditArgs) -> Ended {
    let lines = ask(&args.source, OperatorQuestion::Audit { task: args.id.clone() }).await?;
    if print(&lines, args.output) {
        return Ok(0);
    }
    for line in &lines {
        let AuditLine { at, event, cause, status, message } =
            AuditLine::deserialize(line).map_err(|error| Failure::new(error.to_string()))?;
        let message = message.map(|message| format!("  {message}")).unwrap_or_default();
        result(format!("{at}  {event:17}  {status:14}  by {cause}{message}"));
    }
    Ok(0)
}

/// Prints JSON, where that was asked for.
fn print(lines: &[Value], output: Output) -> bool {
    match output {
        Output::Text => return false,
        Output::Json => result(Value::Array(lines.to_vec()).to_string()),
        Output::Lines => lines.iter().for_each(|line| result(line.to_string())),
    }
    true
}
