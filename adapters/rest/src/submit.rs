//! From the answer to a submit to a job, or to why there is none.

use jobgate_adapter_api::{AdapterError, CallContext, ERROR_CHARS, ErrorKind, JobRef, Operation, Submitted};

use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Faulty, Text};
use crate::plan::{NamesPlan, OutcomePlan, Reading, SubmitPlan, ToolPlan};
use crate::words::OutcomeWord;

/// Bytes of a job's id. Longer ones are no ids: they are stored, logged and put into addresses.
pub(crate) const MOST_ID: usize = 1024;

const SUBMIT: Operation = Operation::Submit;

impl Exchange {
    /// Starts a job. `context` knows the arguments.
    pub(crate) async fn submit(
        &self,
        cx: &CallContext,
        tool: &ToolPlan,
        mut context: Context,
    ) -> Result<Submitted, AdapterError> {
        if tool.lookups.is_empty() {
            return self.start(cx, tool, context).await;
        }
        let looked = self.look_up(SUBMIT, cx, &tool.lookups, &mut context).await?;
        let cx = CallContext { timeout: looked.timeout, ..cx.clone() };
        let started = self.start(&cx, tool, context).await;
        if let Err(error) = &started {
            self.doubt(&looked, error);
        }
        started
    }

    async fn start(&self, cx: &CallContext, tool: &ToolPlan, mut context: Context) -> Result<Submitted, AdapterError> {
        let plan = &tool.submit;
        let answer = self.send(SUBMIT, &plan.request, &context, cx.timeout).await?;
        answer.describe(&mut context);
        if let Some(outcome) = self.outcome(plan, &answer, &context)? {
            return self.came_out(cx, tool, outcome, &answer, context).await;
        }
        if let Some(error) = self.rejection(plan, &answer, &context)? {
            return Err(error);
        }
        if !plan.reading.accept.contains(answer.status.as_u16()) {
            return Err(self.refusal(SUBMIT, &answer, &context));
        }
        self.vet(SUBMIT, &plan.reading, &answer)?;
        self.named(&plan.job, &context).map(Submitted::from)
    }

    /// The first outcome that holds for an answer.
    fn outcome<'p>(
        &self,
        plan: &'p SubmitPlan,
        answer: &Answer,
        context: &Context,
    ) -> Result<Option<&'p OutcomePlan>, AdapterError> {
        for outcome in &plan.outcomes {
            let listed = outcome.code.as_ref().is_none_or(|codes| codes.contains(answer.status.as_u16()));
            let holds = |when| self.plan.engine.holds(when, context).map_err(|faulty| self.lacks(SUBMIT, &faulty));
            if listed && outcome.when.as_ref().map_or(Ok(true), holds)? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    async fn came_out(
        &self,
        cx: &CallContext,
        tool: &ToolPlan,
        outcome: &OutcomePlan,
        answer: &Answer,
        context: Context,
    ) -> Result<Submitted, AdapterError> {
        let names = outcome.job.as_ref().unwrap_or(&tool.submit.job);
        let reading = Reading { body: outcome.body, ..tool.submit.reading.clone() };
        match outcome.means {
            OutcomeWord::Started => {
                self.vet(SUBMIT, &reading, answer)?;
                self.named(names, &context).map(Submitted::from)
            }
            OutcomeWord::Existing => self.read_back(cx, outcome, names, &reading, answer, context).await.map(Submitted::from),
            OutcomeWord::Finished => {
                self.vet(SUBMIT, &reading, answer)?;
                let job = self.named(names, &context)?;
                let observation = self.at_once(cx, tool, &job, answer, context).await;
                match observation {
                    Ok(observation) => Ok(Submitted { job, observation: Some(observation) }),
                    // The job is there all the same: a look tells what became of it.
                    Err(_) if tool.status.request.is_some() => Ok(job.into()),
                    Err(error) => Err(unknown(error)),
                }
            }
            OutcomeWord::Busy => Err(self.busy(answer, &context)),
            OutcomeWord::Nothing => {
                Err(self.nothing(outcome.message.as_ref(), "the provider started nothing for this call", answer, &context))
            }
            OutcomeWord::Rejected => {
                Err(self.nothing(outcome.message.as_ref(), "the provider refuses this job", answer, &context))
            }
            OutcomeWord::Unknown => {
                let otherwise = "the provider does not say whether it took the job";
                Err(unknown(self.nothing(outcome.message.as_ref(), otherwise, answer, &context)))
            }
        }
    }

    /// What the answer to a submit shows of the job that it names.
    async fn at_once(
        &self,
        cx: &CallContext,
        tool: &ToolPlan,
        job: &JobRef,
        answer: &Answer,
        mut context: Context,
    ) -> Result<jobgate_adapter_api::Observation, AdapterError> {
        context.set_job(job);
        self.seen(SUBMIT, cx, tool, answer, context).await.map(|(seen, _)| seen)
    }

    /// The job that was there already. Whatever goes wrong here, it is there: nothing is started anew.
    async fn read_back(
        &self,
        cx: &CallContext,
        outcome: &OutcomePlan,
        names: &NamesPlan,
        reading: &Reading,
        answer: &Answer,
        mut context: Context,
    ) -> Result<JobRef, AdapterError> {
        let Some((request, accept)) = &outcome.read else {
            self.vet(SUBMIT, reading, answer)?;
            return self.named(names, &context);
        };
        let answer = self.send(SUBMIT, request, &context, cx.timeout).await.map_err(unknown)?;
        answer.describe(&mut context);
        if !accept.contains(answer.status.as_u16()) {
            return Err(unknown(self.refusal(SUBMIT, &answer, &context)));
        }
        self.vet(SUBMIT, reading, &answer)?;
        self.named(names, &context)
    }

    /// Whether the words call this answer a refusal, for now or for good.
    fn rejection(&self, plan: &SubmitPlan, answer: &Answer, context: &Context) -> Result<Option<AdapterError>, AdapterError> {
        let lacks = |faulty| self.lacks(SUBMIT, &faulty);
        if let Some(when) = &plan.busy
            && self.plan.engine.holds(when, context).map_err(lacks)?
        {
            return Ok(Some(self.busy(answer, context)));
        }
        for (when, message) in &plan.rejected {
            if self.plan.engine.holds(when, context).map_err(lacks)? {
                return Ok(Some(self.nothing(message.as_ref(), "the provider refuses this job", answer, context)));
            }
        }
        Ok(None)
    }

    /// The error of a submit that started nothing.
    fn nothing(&self, own: Option<&Text>, otherwise: &str, answer: &Answer, context: &Context) -> AdapterError {
        let own = own.or(self.plan.error_message.as_ref());
        let said = own.and_then(|text| self.sentence(text, context, ERROR_CHARS));
        let message = said.unwrap_or_else(|| otherwise.to_owned());
        AdapterError::new(ErrorKind::Rejected, SUBMIT, message).with_status(answer.status.as_u16())
    }

    /// The job that the answer to a submit has to name.
    fn named(&self, names: &NamesPlan, context: &Context) -> Result<JobRef, AdapterError> {
        let nameless = || AdapterError::new(ErrorKind::OutcomeUnknown, SUBMIT, "the provider took the job and did not name it");
        self.job(SUBMIT, names, context)?.ok_or_else(nameless)
    }

    /// The job that an answer names; `None` where it names none.
    pub(crate) fn job(&self, operation: Operation, names: &NamesPlan, context: &Context) -> Result<Option<JobRef>, AdapterError> {
        let value = |text| self.plan.engine.string_if_any(text, context).map_err(|faulty| self.lacks(operation, &faulty));
        let Some(id) = value(&names.id)? else { return Ok(None) };
        if id.len() > MOST_ID {
            let message = format!("the job's id is longer than {MOST_ID} bytes");
            return Err(self.lacks(operation, &Faulty { message, undefined: false }));
        }
        let mut job = JobRef::new(id);
        for (name, text) in &names.handles {
            if let Some(handle) = value(text)? {
                job = job.with(name, handle);
            }
        }
        Ok(Some(job))
    }
}

/// The same error, of a submit of which nobody knows what became of it.
fn unknown(error: AdapterError) -> AdapterError {
    let unknown = AdapterError::new(ErrorKind::OutcomeUnknown, SUBMIT, error.message()).with_retry(error.retry());
    match error.status() {
        Some(status) => unknown.with_status(status),
        None => unknown,
    }
}
