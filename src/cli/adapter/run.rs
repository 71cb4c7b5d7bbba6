//! One job through an adapter alone: started, looked at, asked, stopped, to its end. No store, no gateway, no second try of a submit that
//! may have been heard.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, CancelWish, Clock, ErrorKind, InputAction, InputAnswer, InputAnswers,
    InputKind, InputRequest, JobRef, JobState, Observation, Retry, SubmitRequest, Timestamp,
};
use serde_json::{Map, Value, json};
use tokio::signal::unix::Signal;

use super::mask::Mask;
use crate::cli::args::AnswerArgs;
use crate::cli::forms::{Terminal, from_words, nobody_answers, on_terminal};
use crate::cli::out::{Failure, code, note};
use crate::domain::ToolPolicy;

/// Looks in a row that may fail.
const LOST_LOOKS: u32 = 10;

/// A tool to be tried.
pub(super) struct Trial<'a> {
    pub(super) adapter: Arc<dyn Adapter>,
    pub(super) policy: &'a ToolPolicy,
    pub(super) cx: CallContext,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) mask: &'a Mask,
    pub(super) answer: &'a AnswerArgs,
    pub(super) terminal: Option<Terminal>,
    pub(super) interrupts: Signal,
}

impl Trial<'_> {
    /// The state that the job ended in.
    pub(super) async fn run(mut self, arguments: Map<String, Value>) -> Result<JobState, Failure> {
        let (mut job, first) = self.submit(arguments).await?;
        note(format!("\njob {}", self.mask.clean(job.id())));
        for (name, value) in job.handles() {
            note(format!("  {name}: {}", self.mask.clean(value)));
        }
        let mut next = first;
        let mut pause = self.policy.poll.initial;
        let (mut lost, mut unknown_since) = (0, None);
        let mut answered = BTreeSet::new();
        loop {
            let wait = match next.take() {
                Some(observation) => {
                    (lost, unknown_since) = (0, None);
                    for (name, value) in &observation.learned {
                        job = job.with(name, value);
                    }
                    self.tell(&observation);
                    let wait = observation.next_poll.unwrap_or(pause);
                    match observation.state {
                        JobState::InputRequired(asked) => self.ask(&job, asked, &mut answered).await?,
                        state if state.is_terminal() => return Ok(state),
                        _ => {}
                    }
                    wait
                }
                None => pause,
            };
            self.wait(wait, &job).await?;
            pause = pause.mul_f64(self.policy.poll.factor.max(1.0)).min(self.policy.poll.max);
            match self.adapter.poll(&self.cx, &job).await {
                Ok(observation) => next = Some(observation),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let since: Timestamp = *unknown_since.get_or_insert_with(|| self.clock.now());
                    if self.clock.now().since(since) >= self.policy.gone_grace {
                        return Ok(JobState::Gone);
                    }
                    note("the provider does not know the job; it may not know it yet");
                }
                Err(error) => {
                    lost += 1;
                    pause = self.again(&error, lost)?.unwrap_or(pause);
                }
            }
        }
    }

    async fn submit(&mut self, arguments: Map<String, Value>) -> Result<(JobRef, Option<Observation>), Failure> {
        let mut lost = 0;
        loop {
            let request = SubmitRequest { key: self.cx.key.clone(), arguments: arguments.clone() };
            match self.adapter.submit(&self.cx, request).await {
                Ok(submitted) => return Ok((submitted.job, submitted.observation)),
                Err(error) if matches!(error.kind(), ErrorKind::RateLimited | ErrorKind::Unavailable) => {
                    lost += 1;
                    let wait = self.again(&error, lost)?.unwrap_or(self.policy.poll.initial);
                    self.clock.sleep(wait).await;
                }
                Err(error) => return Err(self.failure(&error)),
            }
        }
    }

    /// How long to wait before another try, where the error says; a failure where there is no sense in one.
    fn again(&self, error: &AdapterError, lost: u32) -> Result<Option<Duration>, Failure> {
        if lost > LOST_LOOKS || error.retry() == Retry::Never {
            return Err(self.failure(error));
        }
        note(format!("{}; once more", self.mask.clean(&error.to_string())));
        Ok(match error.retry() {
            Retry::After(wait) => Some(wait),
            Retry::Backoff | Retry::Never => None,
        })
    }

    fn failure(&self, error: &AdapterError) -> Failure {
        Failure { code: code::TASK_FAILED, ..Failure::new(self.mask.clean(&error.to_string())) }
    }

    /// Lets time pass. Ctrl-C asks the provider to stop the job; a second one leaves it alone.
    async fn wait(&mut self, wait: Duration, job: &JobRef) -> Result<(), Failure> {
        let interrupted = tokio::select! {
            () = self.clock.sleep(wait) => false,
            _ = self.interrupts.recv() => true,
        };
        match (&mut self.cx.cancel, interrupted) {
            (Some(_), true) => {
                let message = "left alone: the job may run on at the provider";
                return Err(Failure { code: code::DETACHED, ..Failure::new(message) });
            }
            (None, true) => self.cx.cancel = Some(CancelWish { requested_at: self.clock.now(), escalated: false }),
            (Some(wish), false) => {
                let after = self.adapter.capabilities(&self.cx.tool).escalates_after;
                let late = after.is_some_and(|after| self.clock.now().since(wish.requested_at) >= after);
                if wish.escalated || !late {
                    return Ok(());
                }
                wish.escalated = true;
            }
            (None, false) => return Ok(()),
        }
        match self.adapter.cancel(&self.cx, job).await {
            Ok(CancelOutcome::Requested) => note("asked to stop; Ctrl-C again leaves the job alone"),
            Ok(CancelOutcome::AlreadyEnded) => note("the job has ended already"),
            Ok(CancelOutcome::Refused) => note("the provider refuses to stop it; it runs on"),
            Err(error) => note(self.mask.clean(&error.to_string())),
        }
        Ok(())
    }

    fn tell(&self, observation: &Observation) {
        let word = match &observation.state {
            JobState::Queued => "queued".to_owned(),
            JobState::Running => "running".to_owned(),
            JobState::InputRequired(_) => "waits for an answer".to_owned(),
            JobState::Unrecognized(word) => format!("shows a word that no rule knows: {word}"),
            state if state.is_terminal() => return,
            _ => "working".to_owned(),
        };
        let progress = observation.progress.map(|it| match it.total {
            Some(total) => format!(", {} of {total}", it.done),
            None => format!(", {} so far", it.done),
        });
        let message = observation.message.as_ref().map(|text| format!(": {}", self.mask.clean(text)));
        note(format!("\n= {word}{}{}", progress.unwrap_or_default(), message.unwrap_or_default()));
    }

    /// Answers come from the command line or from the terminal; a question is asked once.
    async fn ask(&self, job: &JobRef, asked: Vec<InputRequest>, answered: &mut BTreeSet<String>) -> Result<(), Failure> {
        let open: Vec<InputRequest> = asked.into_iter().filter(|question| !answered.contains(&question.key)).collect();
        if open.is_empty() {
            return Ok(());
        }
        let requests: Map<String, Value> = open.iter().map(|question| (question.key.clone(), as_request(question))).collect();
        let requests = Value::Object(requests);
        let responses = match (from_words(&requests, &self.answer.answers, self.answer.decline)?, &self.terminal) {
            (Some(responses), _) => responses,
            (None, Some(terminal)) => on_terminal(&requests, terminal)
                .await
                .ok_or_else(|| Failure::new("the question was left open; the job waits on"))?,
            (None, None) => return Err(nobody_answers(&requests, None)),
        };
        let answers: InputAnswers = responses
            .into_iter()
            .map(|(key, response)| {
                let action = match response["action"].as_str() {
                    Some("accept") => InputAction::Accept,
                    Some("decline") => InputAction::Decline,
                    _ => InputAction::Cancel,
                };
                (key, InputAnswer { action, content: response.get("content").cloned() })
            })
            .collect();
        self.adapter.provide(&self.cx, job, &answers).await.map_err(|error| self.failure(&error))?;
        answered.extend(answers.into_keys());
        Ok(())
    }
}

/// A question in the form that the command line asks in.
fn as_request(question: &InputRequest) -> Value {
    let params = match &question.kind {
        InputKind::Form { schema } => json!({ "message": question.message, "requestedSchema": schema }),
        InputKind::Url { url } => json!({ "message": question.message, "url": url }),
    };
    json!({ "method": "elicitation/create", "params": params })
}
