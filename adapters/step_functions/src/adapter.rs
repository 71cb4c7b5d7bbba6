//! The calls.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sfn::Client;
use aws_sdk_sfn::operation::describe_execution::DescribeExecutionOutput;
use aws_sdk_sfn::types::{ExecutionStatus, HistoryEvent, HistoryEventType, SyncExecutionStatus, TaskScheduledEventDetails};
use jobgate_adapter_api::{
    Adapter, AdapterError, ApprovalWords, CallContext, CancelOutcome, Capabilities, ErrorKind, IdempotencyKey, InputAction,
    InputAnswer, InputAnswers, InputRequest, JobRef, JobState, Observation, Operation, Progress, SubmitRequest, Submitted,
    TaskToken, Verified,
};

use crate::approval::{key_of, parse_key};
use crate::client::Connection;
use crate::delivery;
use crate::error::{code, unreadable};
use crate::outcome::{Trouble, failed, succeeded};
use crate::spec::Tool;
use crate::story::{HANDLE, Story};

/// Events of one page of a history; the most that there are.
const PAGE: i32 = 1000;
/// Pages of the longest history there is: 25 000 events, and room for those of a redrive.
const MOST_PAGES: usize = 50;
/// A heartbeat is sent so many times within the span that it must come in.
const BEATS: u32 = 3;

/// One account in one region.
#[derive(Debug)]
pub struct StepFunctionsAdapter {
    connection: Connection,
    tools: BTreeMap<String, Tool>,
}

impl StepFunctionsAdapter {
    pub(crate) const fn new(connection: Connection, tools: BTreeMap<String, Tool>) -> Self {
        Self { connection, tools }
    }

    fn tool(&self, operation: Operation, cx: &CallContext) -> Result<&Tool, AdapterError> {
        let missing = || AdapterError::new(ErrorKind::Rejected, operation, format!("there is no tool {}", cx.tool));
        self.tools.get(&cx.tool).ok_or_else(missing)
    }

    /// Runs an express execution to its end, within the call.
    async fn run_express(&self, client: &Client, machine: &str, name: &str, input: String) -> Result<Submitted, AdapterError> {
        let answer = client.start_sync_execution().state_machine_arn(machine).name(name).input(input).send().await;
        let ended = answer.map_err(|error| self.connection.error(Operation::Submit, error))?;
        let trouble = Trouble { error: ended.error(), cause: ended.cause() };
        let state = match ended.status() {
            SyncExecutionStatus::Succeeded => succeeded(ended.output()),
            SyncExecutionStatus::Failed => failed(trouble, false, None, &self.connection.cleaner),
            SyncExecutionStatus::TimedOut => failed(trouble, true, None, &self.connection.cleaner),
            other => JobState::Unrecognized(other.as_str().to_owned()),
        };
        Ok(Submitted { job: job(ended.execution_arn())?, observation: Some(Observation::new(state)) })
    }

    /// The job's story, as far as it has come.
    async fn story(&self, client: &Client, job: &JobRef) -> Result<Story, AdapterError> {
        let mut story = Story::of(job);
        let fresh = self.history(client, job, false, |event| event.id() <= story.seen).await?;
        for event in fresh.values() {
            story.tell(event);
        }
        Ok(story)
    }

    /// The events of a job by their ids, from the last one back to the first that `enough` holds for.
    async fn history(
        &self,
        client: &Client,
        job: &JobRef,
        data: bool,
        mut enough: impl FnMut(&HistoryEvent) -> bool,
    ) -> Result<BTreeMap<i64, HistoryEvent>, AdapterError> {
        let mut events = BTreeMap::new();
        let mut token = None;
        for _ in 0..MOST_PAGES {
            let asked = client.get_execution_history().execution_arn(job.id()).reverse_order(true).max_results(PAGE);
            let page = asked.include_execution_data(data).set_next_token(token).send().await;
            let page = page.map_err(|error| self.connection.error(Operation::Poll, error))?;
            let done = page.events().iter().any(&mut enough);
            events.extend(page.events.into_iter().map(|event| (event.id(), event)));
            token = page.next_token;
            if done || token.is_none() {
                break;
            }
        }
        Ok(events)
    }

    /// What the tasks that these events scheduled handed over.
    async fn scheduled(
        &self,
        client: &Client,
        job: &JobRef,
        ids: &[i64],
    ) -> Result<BTreeMap<i64, TaskScheduledEventDetails>, AdapterError> {
        let first = ids.iter().min().copied().unwrap_or_default();
        let events = self.history(client, job, true, |event| event.id() <= first).await?;
        let of = |(id, event): (i64, HistoryEvent)| Some((id, event.task_scheduled_event_details?));
        Ok(events.into_iter().filter(|(id, _)| ids.contains(id)).filter_map(of).collect())
    }

    async fn running(&self, client: &Client, tool: &Tool, job: &JobRef) -> Result<Observation, AdapterError> {
        let story = self.story(client, job).await?;
        let mut seen = Observation::new(JobState::Running);
        let asked: Vec<(&str, i64, &ApprovalWords)> =
            story.waiting().filter_map(|(state, id)| Some((state, id, tool.approvals.get(state)?))).collect();
        if !asked.is_empty() {
            let (questions, beat) = self.questions(client, job, &asked).await?;
            if !questions.is_empty() {
                seen.state = JobState::InputRequired(questions);
            }
            seen.next_poll = beat.map(|span| span / BEATS);
        }
        seen.message = story.current().map(str::to_owned);
        seen.progress = Some(Progress { done: story.done as f64, total: None });
        if story != Story::of(job) {
            seen.learned.insert(HANDLE.to_owned(), story.handle());
        }
        Ok(seen)
    }

    /// What people are asked, and how often a sign of life is due while they think about it.
    async fn questions(
        &self,
        client: &Client,
        job: &JobRef,
        asked: &[(&str, i64, &ApprovalWords)],
    ) -> Result<(Vec<InputRequest>, Option<Duration>), AdapterError> {
        let ids: Vec<i64> = asked.iter().map(|(_, id, _)| *id).collect();
        let scheduled = self.scheduled(client, job, &ids).await?;
        let (mut questions, mut beat) = (Vec::new(), None::<Duration>);
        for (state, id, words) in asked {
            let Some(details) = scheduled.get(id) else { continue };
            let Some(token) = token_in(details) else { continue };
            if let Some(seconds) = details.heartbeat_in_seconds().and_then(|it| u64::try_from(it).ok()).filter(|it| *it > 0) {
                // Where it is refused the task has just ended, and the next look shows how.
                client.send_task_heartbeat().task_token(token.token.expose()).send().await.ok();
                let span = Duration::from_secs(seconds);
                beat = Some(beat.map_or(span, |least| least.min(span)));
            }
            questions.push(token.question(key_of(state, *id), state, words, &self.connection.cleaner));
        }
        Ok((questions, beat))
    }

    /// The first run of an execution that was redriven since; the task is about that one (a redrive has the same id).
    async fn first_run(&self, client: &Client, job: &JobRef) -> Result<Option<JobState>, AdapterError> {
        let events = self.history(client, job, true, |_| false).await?;
        let mut story = Story::default();
        let mut last = None;
        for event in events.values() {
            if *event.r#type() == HistoryEventType::ExecutionRedriven {
                break;
            }
            story.tell(event);
            last = Some(event);
        }
        let Some(last) = last else { return Ok(None) };
        let cleaner = &self.connection.cleaner;
        Ok(match last.r#type() {
            HistoryEventType::ExecutionAborted => Some(JobState::Cancelled),
            HistoryEventType::ExecutionTimedOut => {
                let details = last.execution_timed_out_event_details();
                let trouble = Trouble { error: details.and_then(|it| it.error()), cause: details.and_then(|it| it.cause()) };
                Some(failed(trouble, true, Some(&story), cleaner))
            }
            HistoryEventType::ExecutionFailed => {
                let details = last.execution_failed_event_details();
                let trouble = Trouble { error: details.and_then(|it| it.error()), cause: details.and_then(|it| it.cause()) };
                Some(failed(trouble, false, Some(&story), cleaner))
            }
            _ => None,
        })
    }

    async fn ended_badly(&self, client: &Client, job: &JobRef, seen: &DescribeExecutionOutput) -> JobState {
        // The end is known; where it happened is a kindness that a failing call must not cost.
        let story = self.story(client, job).await.ok();
        let trouble = Trouble { error: seen.error(), cause: seen.cause() };
        failed(trouble, *seen.status() == ExecutionStatus::TimedOut, story.as_ref(), &self.connection.cleaner)
    }

    /// Tells the state machine what the person said. A task that waits no longer was answered, or has run out of time: nothing is left to do.
    async fn answer(
        &self,
        client: &Client,
        token: &str,
        answer: &InputAnswer,
        words: &ApprovalWords,
    ) -> Result<(), AdapterError> {
        const OVER: [&str; 3] = ["TaskDoesNotExist", "TaskTimedOut", "InvalidToken"];
        match (answer.action, &answer.content) {
            (InputAction::Accept, content) => {
                let output = content.as_ref().map_or_else(|| "{}".to_owned(), ToString::to_string);
                match client.send_task_success().task_token(token).output(output).send().await {
                    Err(error) if !code(&error).is_some_and(|code| OVER.contains(&code)) => {
                        Err(self.connection.error(Operation::Provide, error))
                    }
                    _ => Ok(()),
                }
            }
            (InputAction::Decline | InputAction::Cancel, _) => {
                let told = client.send_task_failure().task_token(token);
                match told.error(&words.decline.error).cause(&words.decline.cause).send().await {
                    Err(error) if !code(&error).is_some_and(|code| OVER.contains(&code)) => {
                        Err(self.connection.error(Operation::Provide, error))
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

/// The token that a scheduled task handed over.
fn token_in(details: &TaskScheduledEventDetails) -> Option<TaskToken> {
    TaskToken::find(serde_json::from_str(details.parameters()).ok()?)
}

/// The job of an answer.
fn job(arn: &str) -> Result<JobRef, AdapterError> {
    if arn.is_empty() {
        return Err(unreadable(Operation::Submit, "the answer names no execution"));
    }
    Ok(JobRef::new(arn))
}

#[async_trait]
impl Adapter for StepFunctionsAdapter {
    fn capabilities(&self, tool: &str) -> Capabilities {
        let Some(tool) = self.tools.get(tool) else { return Capabilities::default() };
        let lasting = !tool.express;
        Capabilities {
            idempotent_submit: lasting,
            cancel: lasting,
            webhook: lasting,
            input: !tool.approvals.is_empty(),
            ..Capabilities::default()
        }
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        let tool = self.tool(Operation::Submit, cx)?;
        let client = self.connection.client(Operation::Submit, cx);
        let mut input = request.arguments;
        // What is configured is not the caller's to say.
        input.extend(tool.input.clone());
        let input = serde_json::to_string(&input).expect("JSON values can be written");
        // At most 80 characters. The same name with the same input is the same execution for as long as it runs.
        let name = format!("jobgate-{}", request.key);
        if tool.express {
            return self.run_express(&client, &tool.state_machine, &name, input).await;
        }
        match client.start_execution().state_machine_arn(&tool.state_machine).name(&name).input(input).send().await {
            Ok(started) => Ok(job(started.execution_arn())?.into()),
            // It has ended meanwhile: the key is the task's own, so the execution is, too.
            Err(error) if code(&error) == Some("ExecutionAlreadyExists") => Ok(JobRef::new(tool.execution(&name)).into()),
            Err(error) => Err(self.connection.error(Operation::Submit, error)),
        }
    }

    async fn find(&self, _cx: &CallContext, _key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        Err(AdapterError::unsupported(Operation::Find))
    }

    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        let tool = self.tool(Operation::Poll, cx)?;
        if tool.express {
            let message = "an execution of an express state machine cannot be looked at";
            return Err(AdapterError::new(ErrorKind::NotFound, Operation::Poll, message));
        }
        let client = self.connection.client(Operation::Poll, cx);
        let answer = client.describe_execution().execution_arn(job.id()).send().await;
        let seen = answer.map_err(|error| self.connection.error(Operation::Poll, error))?;
        if seen.redrive_count().unwrap_or_default() > 0
            && let Some(state) = self.first_run(&client, job).await?
        {
            return Ok(Observation::new(state).with_message("it was redriven since; the task is about its first run"));
        }
        let state = match seen.status() {
            ExecutionStatus::Running => return self.running(&client, tool, job).await,
            ExecutionStatus::PendingRedrive => JobState::Running,
            ExecutionStatus::Succeeded => succeeded(seen.output()),
            ExecutionStatus::Failed | ExecutionStatus::TimedOut => self.ended_badly(&client, job, &seen).await,
            ExecutionStatus::Aborted => JobState::Cancelled,
            other => JobState::Unrecognized(other.as_str().to_owned()),
        };
        Ok(Observation::new(state))
    }

    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        if self.tool(Operation::Cancel, cx)?.express {
            return Err(AdapterError::unsupported(Operation::Cancel));
        }
        let client = self.connection.client(Operation::Cancel, cx);
        match client.stop_execution().execution_arn(job.id()).cause("cancelled by the caller").send().await {
            Ok(_) => Ok(CancelOutcome::Requested),
            Err(error) => Err(self.connection.error(Operation::Cancel, error)),
        }
    }

    async fn provide(&self, cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        let tool = self.tool(Operation::Provide, cx)?;
        if tool.approvals.is_empty() {
            return Err(AdapterError::unsupported(Operation::Provide));
        }
        let mut given = Vec::new();
        for (key, answer) in answers {
            let asked = parse_key(key).and_then(|(state, id)| Some((id, tool.approvals.get(state)?)));
            let (id, words) = asked.ok_or_else(|| {
                AdapterError::new(ErrorKind::Rejected, Operation::Provide, format!("there is no question `{key}`"))
            })?;
            given.push((id, words, answer));
        }
        let client = self.connection.client(Operation::Provide, cx);
        let ids: Vec<i64> = given.iter().map(|(id, ..)| *id).collect();
        let scheduled = self.scheduled(&client, job, &ids).await?;
        for (id, words, answer) in given {
            let token = scheduled.get(&id).and_then(token_in);
            let Some(token) = token else {
                return Err(AdapterError::new(ErrorKind::Rejected, Operation::Provide, "the question has no task token"));
            };
            self.answer(&client, token.token.expose(), answer, words).await?;
        }
        Ok(())
    }

    fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        delivery::jobs_in(delivery.body())
    }

    /// A delivery may be late, and anybody may write the machine's messages: it is a reason to look.
    fn read(&self, _cx: &CallContext, _job: &JobRef, delivery: &Verified<'_>) -> Result<Option<Observation>, AdapterError> {
        self.jobs_in(delivery).map(|_| None)
    }
}
