//! `jobgate tasks ...` against a running gateway.

use std::sync::Arc;

use jobgate_adapter_api::Clock;

use super::args::{AnswerArgs, GetArgs, Output, TaskAnswerArgs, TaskArgs};
use super::follow::{Manners, follow};
use super::forms::{from_words, nobody_answers, on_terminal};
use super::out::{Ended, Failure, note, result};
use super::remote::{Remote, TaskView};
use super::show;

pub(super) async fn get(args: &GetArgs, clock: Arc<dyn Clock>) -> Ended {
    let TaskArgs { id, remote: place } = &args.task;
    let remote = Remote::connect(place, clock.clone()).await?;
    let ended = async {
        let task = remote.get(id).await?;
        let manners = Manners::new(place.output, &args.answer, &place.url, clock).saving(args.save.as_deref());
        if task.is_ended() {
            let code = show::ended(&task, place.output);
            return manners.saved(&remote, &task.value["result"], code).await;
        }
        if args.follow || args.answer.decline || !args.answer.answers.is_empty() {
            return follow(&remote, task, "task", &manners).await;
        }
        show::open(&task, place.output);
        Ok(0)
    };
    let ended = ended.await;
    remote.close().await;
    ended
}

pub(super) async fn cancel(args: &TaskArgs, clock: Arc<dyn Clock>) -> Ended {
    let remote = Remote::connect(&args.remote, clock).await?;
    let ended = async {
        let before = remote.get(&args.id).await?;
        if before.is_ended() {
            tell(&before, args.remote.output, &format!("nothing to cancel: the task is {}", before.status()));
            return Ok(0);
        }
        remote.cancel(&args.id).await?;
        let after = remote.get(&args.id).await?;
        let words = match after.message() {
            Some(message) if !after.is_ended() => format!("cancel asked for; {}: {message}", after.status()),
            _ => format!("cancel asked for; {}", after.status()),
        };
        tell(&after, args.remote.output, &words);
        Ok(0)
    };
    let ended = ended.await;
    remote.close().await;
    ended
}

pub(super) async fn answer(args: &TaskAnswerArgs, clock: Arc<dyn Clock>) -> Ended {
    let TaskArgs { id, remote: place } = &args.task;
    let remote = Remote::connect(place, clock.clone()).await?;
    let ended = answer_at(&remote, id, &args.answer, &Manners::new(place.output, &args.answer, &place.url, clock)).await;
    remote.close().await;
    ended
}

async fn answer_at(remote: &Remote, id: &str, words: &AnswerArgs, manners: &Manners<'_>) -> Ended {
    let task = remote.get(id).await?;
    if task.status() != "input_required" {
        return Err(Failure::new(format!("the task asks nothing: it is {}", task.status())));
    }
    let requests = &task.value["inputRequests"];
    let responses = match (from_words(requests, &words.answers, words.decline)?, &manners.terminal) {
        (Some(responses), _) => responses,
        (None, Some(terminal)) => on_terminal(requests, terminal).await.ok_or_else(|| Failure::new("nothing was answered"))?,
        (None, None) => return Err(nobody_answers(requests, Some(id))),
    };
    remote.answer(id, responses).await?;
    tell(&remote.get(id).await?, manners.output, "answered");
    note(format!("`{}` shows how it goes on", manners.way_back(id)));
    Ok(0)
}

fn tell(task: &TaskView, output: Output, words: &str) {
    match output {
        Output::Text => result(words),
        Output::Json | Output::Lines => result(task.value.to_string()),
    }
}
