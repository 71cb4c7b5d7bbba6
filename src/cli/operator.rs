//! `jobgate tasks list` and `audit`, `jobgate webhook dead`: from the data folder, through its holder's socket or from the store itself.

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::args::{AuditArgs, DeadArgs, DeadCommand, ListArgs, Output, SourceArgs};
use super::gateway::{Chosen, choose, world};
use super::out::{Ended, Failure, code, note, result};
use crate::serve::{AuditLine, DeadLine, OperatorQuestion, TaskLine, ask_operator};

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

pub(super) async fn dead(command: &DeadCommand) -> Ended {
    match command {
        DeadCommand::List(args) => list_dead(args).await,
        DeadCommand::Show(args) => show_dead(args).await,
        DeadCommand::Redrive(args) => redrive(args).await,
        DeadCommand::Drop(args) => drop_dead(args).await,
    }
}

async fn list_dead(args: &ListArgs) -> Ended {
    let lines = ask(&args.source, OperatorQuestion::Dead { limit: args.limit }).await?;
    if print(&lines, args.output) {
        return Ok(0);
    }
    if lines.is_empty() {
        note("no dead letters");
    }
    for line in &lines {
        let DeadLine { id, at, provider, reason, .. } = dead_line(line)?;
        result(format!("{id}  {at}  {provider}  {reason}"));
    }
    Ok(0)
}

async fn show_dead(args: &DeadArgs) -> Ended {
    let mut lines = Vec::new();
    for id in &args.ids {
        lines.extend(ask(&args.source, OperatorQuestion::DeadOne { id: id.clone() }).await?);
    }
    if print(&lines, args.output) {
        return Ok(0);
    }
    for line in &lines {
        let DeadLine { id, at, provider, task_id, reason, size, body } = dead_line(line)?;
        result(format!("id        {id}\nat        {at}\nprovider  {provider}"));
        if let Some(task) = task_id {
            result(format!("task      {task}"));
        }
        result(format!("reason    {reason}\nbody      {size} bytes\n"));
        // What a stranger wrote does not get to move the cursor.
        let shown = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
        result(body.unwrap_or_default().chars().map(shown).collect::<String>());
    }
    Ok(0)
}

async fn redrive(args: &DeadArgs) -> Ended {
    let (mut lines, mut worst) = (Vec::new(), 0);
    for id in &args.ids {
        let line = match ask(&args.source, OperatorQuestion::Redrive { id: id.clone() }).await {
            Ok(lines) => lines.into_iter().next().unwrap_or_default(),
            Err(failure) if args.ids.len() > 1 => {
                worst = code::ERROR;
                json!({ "id": id, "error": failure.message })
            }
            Err(failure) => return Err(failure),
        };
        lines.push(line);
    }
    if !print(&lines, args.output) {
        for line in &lines {
            let said = |word: &str| line[word].as_str();
            result(format!("{}  {}", said("id").unwrap_or_default(), said("verdict").or(said("error")).unwrap_or_default()));
        }
    }
    Ok(worst)
}

async fn drop_dead(args: &DeadArgs) -> Ended {
    let lines = ask(&args.source, OperatorQuestion::DropDead { ids: args.ids.clone() }).await?;
    let dropped = lines.first().and_then(|line| line["dropped"].as_u64()).unwrap_or_default();
    if !print(&lines, args.output) {
        result(format!("dropped {dropped}"));
    }
    // Whoever names something that is not there finds out.
    Ok(if usize::try_from(dropped).is_ok_and(|dropped| dropped == args.ids.len()) { 0 } else { code::ERROR })
}

fn dead_line(line: &Value) -> Result<DeadLine, Failure> {
    DeadLine::deserialize(line).map_err(|error| Failure::new(error.to_string()))
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
