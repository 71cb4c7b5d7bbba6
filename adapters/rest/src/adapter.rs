//! The calls.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jobgate_adapter_api::{
    Adapter, AdapterError, Artifact, ArtifactBody, CallContext, CancelOutcome, Capabilities, ErrorKind, IdempotencyKey,
    InputAnswers, JobRef, Observation, Operation, SubmitRequest, Submitted, Verified,
};

use crate::exchange::Exchange;
use crate::language::Context;
use crate::plan::ToolPlan;

/// One provider, spoken to as its words say.
#[derive(Debug)]
pub struct RestAdapter {
    pub(crate) exchange: Exchange,
}

impl RestAdapter {
    pub(crate) fn new(exchange: Exchange) -> Self {
        Self { exchange }
    }

    pub(crate) fn tool(&self, cx: &CallContext, operation: Operation) -> Result<&ToolPlan, AdapterError> {
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
        context.set("cancel_requested", &cx.cancel.is_some());
        context
    }

    pub(crate) fn context_of(&self, cx: &CallContext, job: &JobRef) -> Context {
        let mut context = self.context(cx);
        context.set_job(job);
        context
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
            escalates_after: tool.cancel.as_ref().and_then(|plan| plan.escalate.as_ref()).map(|(after, _)| *after),
        })
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        let tool = self.tool(cx, Operation::Submit)?;
        let mut context = self.context(cx);
        context.set("key", &request.key.as_str());
        context.set("args", &request.arguments);
        let callback: BTreeMap<&str, &str> = cx.callback_url.iter().map(|url| ("url", url.as_str())).collect();
        context.set("callback", &callback);
        self.exchange.submit(cx, tool, context).await
    }

    async fn find(&self, cx: &CallContext, key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        let tool = self.tool(cx, Operation::Find)?;
        let plan = tool.find.as_ref().ok_or_else(|| AdapterError::unsupported(Operation::Find))?;
        let mut context = self.context(cx);
        context.set("key", &key.as_str());
        context.set("args", cx.arguments.as_ref());
        self.exchange.find(cx, tool, plan, context).await
    }

    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        let tool = self.tool(cx, Operation::Poll)?;
        self.exchange.look(Operation::Poll, cx, tool, self.context_of(cx, job)).await
    }

    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        let tool = self.tool(cx, Operation::Cancel)?;
        self.exchange.stop(cx, tool, job, self.context_of(cx, job)).await
    }

    async fn provide(&self, cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError> {
        let tool = self.tool(cx, Operation::Provide)?;
        let plan = tool.input.as_ref().ok_or_else(|| AdapterError::unsupported(Operation::Provide))?;
        self.answer(cx, job, plan, answers).await
    }

    async fn fetch(&self, cx: &CallContext, job: &JobRef, artifact: &Artifact) -> Result<ArtifactBody, AdapterError> {
        if !self.tool(cx, Operation::Fetch)?.keeps_files() {
            return Err(AdapterError::unsupported(Operation::Fetch));
        }
        self.exchange.fetch(cx, artifact, &self.context_of(cx, job)).await
    }

    fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        self.exchange.jobs_in(delivery)
    }

    fn read(&self, cx: &CallContext, job: &JobRef, delivery: &Verified<'_>) -> Result<Option<Observation>, AdapterError> {
        let tool = self.tool(cx, Operation::Read)?;
        self.exchange.told(cx, tool, job, self.context_of(cx, job), delivery)
    }
}
