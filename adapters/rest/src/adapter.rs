//! The calls.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, Capabilities, ErrorKind, IdempotencyKey, InputAction, InputAnswer,
    InputAnswers, JobRef, JobState, Observation, Operation, SubmitRequest, Submitted, Verified,
};
use serde_json::{Value, json};

use crate::clean::ERROR_CHARS;
use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Faulty};
use crate::plan::{AnswerPlan, NamesPlan, SubmitPlan, ToolPlan};

/// Bytes of a job's id. Longer ones are no ids: they are stored, logged and put into addresses.
pub(crate) const MOST_ID: usize = 1024;

/// One provider, spoken to as its words say.
#[derive(Debug)]
pub struct RestAdapter {
    exchange: Exchange,
}

impl RestAdapter {
    pub(crate) fn new(exchange: Exchange) -> Self {
        Self { exchange }
    }

    fn tool(&self, cx: &CallContext, operation: Operation) -> Result<&ToolPlan, AdapterError> {
        let missing = || AdapterError::new(ErrorKind::Rejected, operation, format!("this provider has no tool `{}`", cx.tool));
        self.exchange.plan.tools.get(&cx.tool).ok_or_else(missing)
    }

    /// What every text knows.
    fn context(&self, cx: &CallContext) -> Context {
        let mut context = Context::default();
        context.set("key", &cx.key.as_str());
        context.set("tool", &cx.tool);
        context.set("now", &self.exchange.clock.now().to_string());
        context.set("started_at", &cx.started_at.to_string());
        context
    }

    fn context_of(&self, cx: &CallContext, job: &JobRef) -> Context {
        let mut context = self.context(cx);
        context.set("job", &json!({ "id": job.id(), "handles": job.handles() }));
        context
    }

    /// The job that an answer names; `None` where it names none.
    fn job(&self, operation: Operation, names: &NamesPlan, context: &Context) -> Result<Option<JobRef>, AdapterError> {
        let engine = &self.exchange.plan.engine;
        let value = |text| engine.string_if_any(text, context).map_err(|faulty| self.exchange.lacks(operation, &faulty));
        let Some(id) = value(&names.id)? else { return Ok(None) };
        if id.len() > MOST_ID {
            let message = format!("the job's id is longer than {MOST_ID} bytes");
            return Err(self.exchange.lacks(operation, &Faulty { message, undefined: false }));
        }
        let mut job = JobRef::new(id);
        for (name, text) in &names.handles {
            if let Some(handle) = value(text)? {
                job = job.with(name, handle);
            }
        }
        Ok(Some(job))
    }

    /// Whether the words call this answer a refusal, for now or for good.
    fn rejection(&self, plan: &SubmitPlan, answer: &Answer, context: &Context) -> Result<Option<AdapterError>, AdapterError> {
        let lacks = |faulty| self.exchange.lacks(Operation::Submit, &faulty);
        if let Some(when) = &plan.busy
            && self.exchange.plan.engine.holds(when, context).map_err(lacks)?
        {
            return Ok(Some(self.exchange.busy(answer, context)));
        }
        for (when, message) in &plan.rejected {
            if self.exchange.plan.engine.holds(when, context).map_err(lacks)? {
                let own = message.as_ref().or(self.exchange.plan.error_message.as_ref());
                let said = own.and_then(|text| self.exchange.sentence(text, context, ERROR_CHARS));
                let message = said.unwrap_or_else(|| "the provider refuses this job".to_owned());
                return Ok(Some(
                    AdapterError::new(ErrorKind::Rejected, Operation::Submit, message).with_status(answer.status.as_u16()),
                ));
            }
        }
        Ok(None)
    }

    async fn hand_over(
        &self,
        cx: &CallContext,
        job: &JobRef,
        plan: &AnswerPlan,
        key: &str,
        answer: &InputAnswer,
    ) -> Result<(), AdapterError> {
        let mut context = self.context_of(cx, job);
        let content = answer.content.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        context.set("answer", &json!({ "key": key, "action": answer.action.as_str(), "content": content }));
        let answer = self.exchange.send(Operation::Provide, &plan.request, &context, cx.timeout).await?;
        answer.describe(&mut context);
        let code = answer.status.as_u16();
        if plan.already_answered.contains(code) {
            return Ok(());
        }
        if !plan.reading.accept.contains(code) {
            return Err(self.exchange.refusal(Operation::Provide, &answer, &context));
        }
        self.exchange.vet(Operation::Provide, &plan.reading, &answer)
    }
}

#[async_trait]
impl Adapter for RestAdapter {
    fn capabilities(&self, tool: &str) -> Capabilities {
        self.exchange.plan.tools.get(tool).map_or_else(Capabilities::default, |tool| Capabilities {
            idempotent_submit: tool.idempotent,
            find: tool.find.is_some(),
            cancel: tool.cancel.is_some(),
            input: tool.input.is_some(),
            webhook: tool.told.is_some(),
            callback: tool.submit.request.uses("callback"),
            pushed_only: tool.status.request.is_none(),
        })
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        let plan = &self.tool(cx, Operation::Submit)?.submit;
        let mut context = self.context(cx);
        context.set("key", &request.key.as_str());
        context.set("args", &request.arguments);
        let callback: BTreeMap<&str, &str> = cx.callback_url.iter().map(|url| ("url", url.as_str())).collect();
        context.set("callback", &callback);
        let answer = self.exchange.send(Operation::Submit, &plan.request, &context, cx.timeout).await?;
        answer.describe(&mut context);
        if let Some(error) = self.rejection(plan, &answer, &context)? {
            return Err(error);
        }
        if !plan.reading.accept.contains(answer.status.as_u16()) {
            return Err(self.exchange.refusal(Operation::Submit, &answer, &context));
        }
        self.exchange.vet(Operation::Submit, &plan.reading, &answer)?;
        let nameless =
            || AdapterError::new(ErrorKind::OutcomeUnknown, Operation::Submit, "the provider took the job and did not name it");
        self.job(Operation::Submit, &plan.job, &context)?.map(Submitted::from).ok_or_else(nameless)
    }

    async fn find(&self, cx: &CallContext, key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        let plan = self.tool(cx, Operation::Find)?.find.as_ref().ok_or_else(|| AdapterError::unsupported(Operation::Find))?;
        let mut context = self.context(cx);
        context.set("key", &key.as_str());
        let answer = self.exchange.send(Operation::Find, &plan.request, &context, cx.timeout).await?;
        answer.describe(&mut context);
        let code = answer.status.as_u16();
        if plan.not_found.contains(code) {
            return Ok(None);
        }
        if !plan.reading.accept.contains(code) {
            return Err(self.exchange.refusal(Operation::Find, &answer, &context));
        }
        self.exchange.vet(Operation::Find, &plan.reading, &answer)?;
        self.job(Operation::Find, &plan.job, &context)
    }

    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        let tool = self.tool(cx, Operation::Poll)?;
        self.exchange.look(Operation::Poll, cx, tool, self.context_of(cx, job)).await
    }

    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        let plan =
            self.tool(cx, Operation::Cancel)?.cancel.as_ref().ok_or_else(|| AdapterError::unsupported(Operation::Cancel))?;
        let mut context = self.context_of(cx, job);
        let answer = self.exchange.send(Operation::Cancel, &plan.request, &context, cx.timeout).await?;
        answer.describe(&mut context);
        let code = answer.status.as_u16();
        if plan.already_ended.contains(code) {
            return Ok(CancelOutcome::AlreadyEnded);
        }
        if plan.refused.contains(code) {
            return Ok(CancelOutcome::Refused);
        }
        if !plan.reading.accept.contains(code) {
            return Err(self.exchange.refusal(Operation::Cancel, &answer, &context));
        }
        self.exchange.vet(Operation::Cancel, &plan.reading, &answer)?;
        Ok(CancelOutcome::Requested)
    }

    async fn provide(&self, cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        let tool = self.tool(cx, Operation::Provide)?;
        let plan = tool.input.as_ref().ok_or_else(|| AdapterError::unsupported(Operation::Provide))?;
        // Many APIs act on a second answer as on the first: only what is still asked is answered.
        let seen = self.exchange.look(Operation::Provide, cx, tool, self.context_of(cx, job)).await?;
        let JobState::InputRequired(questions) = seen.state else { return Ok(()) };
        let job = seen.learned.iter().fold(job.clone(), |job, (name, value)| job.with(name, value));
        for (key, answer) in answers.iter().filter(|(key, _)| questions.iter().any(|question| question.key == **key)) {
            let way = match answer.action {
                InputAction::Accept => plan.accept.as_ref(),
                InputAction::Decline | InputAction::Cancel => plan.decline.as_ref(),
            };
            let Some(way) = way else {
                let message = format!("this provider has no way to {} a question", answer.action.as_str());
                return Err(AdapterError::new(ErrorKind::Unsupported, Operation::Provide, message));
            };
            self.hand_over(cx, &job, way, key, answer).await?;
        }
        Ok(())
    }

    fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        self.exchange.jobs_in(delivery)
    }

    fn read(&self, cx: &CallContext, job: &JobRef, delivery: &Verified<'_>) -> Result<Option<Observation>, AdapterError> {
        let tool = self.tool(cx, Operation::Read)?;
        self.exchange.told(cx, tool, job, self.context_of(cx, job), delivery)
    }
}
