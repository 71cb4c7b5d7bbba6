//! What a submit could not name yet: asked for in each look until it is known.

use std::collections::BTreeMap;

use jobgate_adapter_api::{AdapterError, CallContext, JobFailure, JobState, MESSAGE_CHARS, Observation, Operation, Timestamp};

use crate::exchange::Exchange;
use crate::language::Context;
use crate::observe::Judged;
use crate::plan::{ResolvePlan, ToolPlan};
use crate::steps::{Asked, Left};

/// The handle that remembers since when something is waited for: its name, `@`, milliseconds.
const HANDLE: &str = "_unresolved";

/// How far a look has come.
pub(crate) enum Resolved {
    /// All is known: what was learned just now.
    All(BTreeMap<String, String>),
    /// Something is not there yet, or never will be.
    Waits(Box<Observation>),
}

impl Exchange {
    /// Asks for what is not known yet, in its order. `context` then knows it.
    pub(crate) async fn resolve(
        &self,
        operation: Operation,
        cx: &CallContext,
        tool: &ToolPlan,
        context: &mut Context,
    ) -> Result<Resolved, AdapterError> {
        let left = self.left(cx.timeout);
        let mut learned = BTreeMap::new();
        for plan in &tool.status.resolve {
            if context.handle(&plan.handle).is_some() {
                continue;
            }
            if let Some(waits) = self.resolve_one(operation, left, plan, context, &mut learned).await? {
                learned.extend(waits.learned);
                return Ok(Resolved::Waits(Box::new(Observation { learned, ..waits })));
            }
        }
        Ok(Resolved::All(learned))
    }

    /// `None` where it is known now.
    async fn resolve_one(
        &self,
        operation: Operation,
        left: Left,
        plan: &ResolvePlan,
        context: &mut Context,
        learned: &mut BTreeMap<String, String>,
    ) -> Result<Option<Observation>, AdapterError> {
        let mut answered = context.clone();
        let asked = Asked { request: &plan.request, reading: &plan.reading, missing: &plan.missing };
        let Some(answer) = self.answer_to(operation, left, asked, &mut answered).await? else {
            return Ok(Some(self.waits(plan, None, context)));
        };
        let next_poll = self.asked_for(&answer.headers);
        let (judged, rule) = self.judge(operation, &plan.rules, true, &mut answered)?;
        let said = rule.and_then(|rule| rule.message.as_ref());
        let said = said.and_then(|text| self.sentence(text, &answered, MESSAGE_CHARS));
        let waits = match judged {
            Judged::State(JobState::Queued) => self.waits(plan, said, context),
            Judged::State(state) => with(state, said),
            Judged::Failed => {
                let message = said.clone().unwrap_or_else(|| "The job ended before it began.".to_owned());
                with(JobState::Failed(JobFailure::new(message)), said)
            }
            _ => {
                let value =
                    |text| self.plan.engine.string_if_any(text, &answered).map_err(|faulty| self.lacks(operation, &faulty));
                let Some(found) = value(&plan.value)? else {
                    return Ok(Some(Observation { next_poll, ..self.waits(plan, None, context) }));
                };
                let mut handles = vec![(plan.handle.clone(), found)];
                for (name, text) in &plan.handles {
                    handles.extend(value(text)?.map(|value| (name.clone(), value)));
                }
                context.learn(&handles);
                learned.extend(handles);
                return Ok(None);
            }
        };
        Ok(Some(Observation { next_poll, ..waits }))
    }

    /// The job that something is not yet known of, or that has waited for too long.
    fn waits(&self, plan: &ResolvePlan, said: Option<String>, context: &Context) -> Observation {
        let Some(within) = plan.within else { return with(JobState::Queued, said) };
        let now = self.clock.now();
        let since = context.handle(HANDLE).and_then(|handle| {
            let (known, since) = handle.rsplit_once('@')?;
            (known == plan.handle).then(|| since.parse().ok().map(Timestamp::from_millis))?
        });
        let Some(since) = since else {
            let learned = BTreeMap::from([(HANDLE.to_owned(), format!("{}@{}", plan.handle, now.as_millis()))]);
            return Observation { learned, ..with(JobState::Queued, said) };
        };
        if now.since(since) < within {
            return with(JobState::Queued, said);
        }
        let late = plan.late.as_ref().and_then(|text| self.sentence(text, context, MESSAGE_CHARS));
        let late = late.unwrap_or_else(|| format!("the provider named no `{}` within {} s", plan.handle, within.as_secs()));
        with(JobState::Failed(JobFailure::new(late)), said)
    }
}

fn with(state: JobState, message: Option<String>) -> Observation {
    Observation { message, ..Observation::new(state) }
}
