//! Stops a job: looks first where that is asked for, takes the first way that fits, and the harder one where the engine says so.

use jobgate_adapter_api::{AdapterError, CallContext, CancelOutcome, ErrorKind, JobRef, Operation};

use crate::exchange::Exchange;
use crate::language::Context;
use crate::plan::{CancelPlan, ToolPlan, WayPlan};

const CANCEL: Operation = Operation::Cancel;

impl Exchange {
    /// Tells the provider. `context` knows the job.
    pub(crate) async fn stop(
        &self,
        cx: &CallContext,
        tool: &ToolPlan,
        job: &JobRef,
        mut context: Context,
    ) -> Result<CancelOutcome, AdapterError> {
        let plan = tool.cancel.as_ref().ok_or_else(|| AdapterError::unsupported(CANCEL))?;
        if plan.look {
            let (seen, known) = self.look_at(CANCEL, cx, tool, context).await?;
            if seen.state.is_terminal() {
                return Ok(CancelOutcome::AlreadyEnded);
            }
            context = known;
            context.set_job(&seen.learned.iter().fold(job.clone(), |job, (name, value)| job.with(name, value)));
        }
        self.run_steps(CANCEL, cx, &plan.steps, &mut context).await?;
        match self.way(cx, plan, &context)? {
            Some(way) => self.take(cx, way, &context).await,
            None => Ok(CancelOutcome::Refused),
        }
    }

    /// The first way that fits; the harder ones alone once the engine says so.
    fn way<'p>(&self, cx: &CallContext, plan: &'p CancelPlan, context: &Context) -> Result<Option<&'p WayPlan>, AdapterError> {
        let escalated = cx.cancel.is_some_and(|wish| wish.escalated);
        let harder = plan.escalate.as_ref().filter(|_| escalated);
        for way in harder.map_or(&plan.ways, |(_, ways)| ways) {
            let holds = |when| self.plan.engine.holds(when, context).map_err(|faulty| self.lacks(CANCEL, &faulty));
            if way.when.as_ref().map_or(Ok(true), holds)? {
                return Ok(Some(way));
            }
        }
        Ok(None)
    }

    /// Sends the request of a way, for each element where there are several. All that can be told is told, also after one that fails:
    /// the engine comes again, and telling twice is harmless.
    async fn take(&self, cx: &CallContext, way: &WayPlan, context: &Context) -> Result<CancelOutcome, AdapterError> {
        let repeated = self.repeat(CANCEL, &way.repeat, context)?;
        if repeated.left_out > 0 {
            let message = format!("the job has {} parts more to stop than `most` allows", repeated.left_out);
            return Err(AdapterError::new(ErrorKind::Protocol, CANCEL, message));
        }
        let (mut outcomes, mut failed) = (Vec::new(), None);
        for context in &repeated.contexts {
            match self.tell(cx, way, context).await {
                Ok(outcome) => outcomes.push(outcome),
                // One of several that is not there any more has nothing to be stopped.
                Err(error) if error.kind() == ErrorKind::NotFound && way.repeat.each.is_some() => {
                    outcomes.push(CancelOutcome::AlreadyEnded);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None if outcomes.contains(&CancelOutcome::Requested) => Ok(CancelOutcome::Requested),
            None if outcomes.contains(&CancelOutcome::Refused) => Ok(CancelOutcome::Refused),
            None if outcomes.is_empty() => {
                Err(AdapterError::new(ErrorKind::Unavailable, CANCEL, "the job has no parts yet that could be stopped"))
            }
            None => Ok(CancelOutcome::AlreadyEnded),
        }
    }

    async fn tell(&self, cx: &CallContext, way: &WayPlan, context: &Context) -> Result<CancelOutcome, AdapterError> {
        let answer = self.send(CANCEL, &way.request, context, cx.timeout).await?;
        let code = answer.status.as_u16();
        if way.already_ended.contains(code) {
            return Ok(CancelOutcome::AlreadyEnded);
        }
        if way.refused.contains(code) {
            return Ok(CancelOutcome::Refused);
        }
        if !way.reading.accept.contains(code) {
            let mut context = context.clone();
            answer.describe(&mut context);
            return Err(self.refusal(CANCEL, &answer, &context));
        }
        self.vet(CANCEL, &way.reading, &answer)?;
        Ok(CancelOutcome::Requested)
    }
}
