//! `jobgate call TOOL`: one wish, from its arguments to its result.

use std::sync::Arc;

use jobgate_adapter_api::{Clock, Random};
use serde_json::json;

use super::args::{CallArgs, Output};
use super::arguments::arguments;
use super::follow::{Manners, follow};
use super::forms::{from_words, nobody_answers, on_terminal};
use super::out::{Ended, Failure, note, result};
use super::remote::{Called, Remote, RemoteTool};
use super::show;

/// Rounds of questions before a job starts that a call goes through.
const MOST_ROUNDS: usize = 20;

pub(super) async fn run(args: &CallArgs, clock: Arc<dyn Clock>, random: &dyn Random) -> Ended {
    let remote = Remote::connect(&args.remote, clock.clone()).await?;
    let ended = Box::pin(call(args, &remote, clock, random)).await;
    remote.close().await;
    ended
}

async fn call(args: &CallArgs, remote: &Remote, clock: Arc<dyn Clock>, random: &dyn Random) -> Ended {
    let tools = remote.tools().await?;
    let tool = find(&tools, &args.tool)?;
    let arguments = arguments(&tool.input_schema, &args.args, args.json.as_deref())?;
    let manners = Manners::new(args.remote.output, &args.answer, &args.remote.url, clock).saving(args.save.as_deref());
    let key = args.key.clone().unwrap_or_else(|| fresh_key(random));
    let mut answers = None;
    let mut answered_by_words = false;
    for _ in 0..MOST_ROUNDS {
        let task = match remote
            .call(&tool.name, arguments.clone(), &key, answers.take())
            .await
            .map_err(|failure| heard(failure, &key))?
        {
            Called::Result(value) => {
                let code = show::tool_result(&value, args.remote.output);
                return manners.saved(remote, &value, code).await;
            }
            Called::Questions { requests, state } => {
                let words =
                    if answered_by_words { None } else { from_words(&requests, &args.answer.answers, args.answer.decline)? };
                let responses = match (words, &manners.terminal) {
                    (Some(responses), _) => {
                        answered_by_words = true;
                        responses
                    }
                    (None, Some(terminal)) => on_terminal(&requests, terminal)
                        .await
                        .ok_or_else(|| Failure::new("nothing was started: the question before the job was left open"))?,
                    (None, None) => {
                        if args.remote.output != Output::Text {
                            result(json!({ "status": "input_required", "inputRequests": requests }).to_string());
                        }
                        return Err(nobody_answers(&requests, None));
                    }
                };
                answers = Some((responses, state));
                continue;
            }
            Called::Task(task) => task,
        };
        if args.detach {
            match args.remote.output {
                Output::Text => {
                    result(task.id());
                    note(format!("`{}` shows how it goes", manners.way_back(task.id())));
                }
                Output::Json | Output::Lines => result(task.value.to_string()),
            }
            return Ok(0);
        }
        // Early, so that whatever happens to this command, the way back to the task is known.
        note(format!("task {}", task.id()));
        return follow(remote, task, &tool.name, &manners).await;
    }
    Err(Failure::new(format!("the tool asked more than {MOST_ROUNDS} rounds of questions before its job")))
}

/// A call that was lost on its way may have been heard: its key makes a second try harmless.
fn heard(failure: Failure, key: &str) -> Failure {
    if failure.lost {
        return failure.hint(format!("the call may have been heard; repeated with `--key {key}` it starts no second job"));
    }
    failure
}

fn find<'a>(tools: &'a [RemoteTool], name: &str) -> Result<&'a RemoteTool, Failure> {
    if let Some(tool) = tools.iter().find(|tool| tool.name == name) {
        return Ok(tool);
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let near = names.iter().map(|known| (known, strsim::jaro_winkler(name, known))).filter(|(_, likeness)| *likeness > 0.8);
    let near = near.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(known, _)| format!("did you mean `{known}`? "));
    Err(Failure::usage(format!("the gateway has no tool `{name}`")).hint(format!(
        "{}tools: {}",
        near.unwrap_or_default(),
        names.join(", ")
    )))
}

/// One key a command: the client may repeat a request, and the job starts once all the same.
fn fresh_key(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    bytes.iter().fold("cli-".to_owned(), |mut key, byte| {
        key.push_str(&format!("{byte:02x}"));
        key
    })
}
