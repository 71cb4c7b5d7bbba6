//! Further requests: in their order, only where they are needed, and never more than their words allow.

use std::time::Duration;

use jobgate_adapter_api::{AdapterError, CallContext, Operation, Timestamp};
use minijinja::value::Value as Dynamic;

use crate::codes::Codes;
use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Faulty};
use crate::plan::{Reading, RequestPlan, StepPlan};

/// The time that is left for the requests of one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    since: Timestamp,
    timeout: Duration,
}

/// A request, and which of its answers are good.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'p> {
    pub(crate) request: &'p RequestPlan,
    pub(crate) reading: &'p Reading,
    /// Codes that mean "there is nothing".
    pub(crate) missing: &'p Codes,
}

impl Exchange {
    /// The time of a call that begins now.
    pub(crate) fn left(&self, timeout: Duration) -> Left {
        Left { since: self.clock.now(), timeout }
    }

    /// What is left of it.
    pub(crate) fn of(&self, left: Left) -> Duration {
        left.timeout.saturating_sub(self.clock.now().since(left.since))
    }

    /// Makes the steps of one place. Afterwards `context` knows `steps`, and everything else as before.
    pub(crate) async fn run_steps(
        &self,
        operation: Operation,
        cx: &CallContext,
        steps: &[StepPlan],
        context: &mut Context,
    ) -> Result<(), AdapterError> {
        let left = self.left(cx.timeout);
        for step in steps {
            // One that was not made is undefined, so that a text can say what counts instead.
            let value = self.step(operation, left, step, context).await?;
            context.add_step(&step.name, value.unwrap_or(Dynamic::UNDEFINED));
        }
        Ok(())
    }

    /// What one step gives, or each of its elements; `None` where there is nothing.
    pub(crate) async fn step(
        &self,
        operation: Operation,
        left: Left,
        step: &StepPlan,
        context: &Context,
    ) -> Result<Option<Dynamic>, AdapterError> {
        let repeated = self.repeat(operation, &step.repeat, context)?;
        if repeated.left_out > 0 {
            let all = repeated.contexts.len() + repeated.left_out;
            let message = format!("`steps.{}` is to be asked for {all} elements, and `most` is {}", step.name, step.repeat.most);
            return Err(self.lacks(operation, &Faulty { message, undefined: false }));
        }
        let mut values = Vec::new();
        for context in repeated.contexts {
            values.extend(self.step_once(operation, left, step, context).await?);
        }
        Ok(if step.repeat.each.is_some() { Some(Dynamic::from(values)) } else { values.pop() })
    }

    async fn step_once(
        &self,
        operation: Operation,
        left: Left,
        step: &StepPlan,
        mut context: Context,
    ) -> Result<Option<Dynamic>, AdapterError> {
        let asked = Asked { request: &step.request, reading: &step.reading, missing: &step.missing };
        let whole = match &step.pages {
            None => self.answer_to(operation, left, asked, &mut context).await?.map(|answer| answer.as_value()),
            Some(pages) => self.list(operation, left, asked, pages, &mut context).await?,
        };
        let Some(value) = step.value.as_ref().filter(|_| whole.is_some()) else { return Ok(whole) };
        let value = self.plan.engine.dynamic(value, &context).map_err(|faulty| self.lacks(operation, &faulty))?;
        Ok(Some(value))
    }

    /// One good answer, which `context` then describes; `None` where there is nothing.
    pub(crate) async fn answer_to(
        &self,
        operation: Operation,
        left: Left,
        asked: Asked<'_>,
        context: &mut Context,
    ) -> Result<Option<Answer>, AdapterError> {
        let answer = self.send(operation, asked.request, context, self.of(left)).await?;
        answer.describe(context);
        let code = answer.status.as_u16();
        if asked.missing.contains(code) {
            return Ok(None);
        }
        if !asked.reading.accept.contains(code) {
            return Err(self.refusal(operation, &answer, context));
        }
        self.vet(operation, asked.reading, &answer)?;
        Ok(Some(answer))
    }
}
