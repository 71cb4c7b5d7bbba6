//! What a job asks a person, and where the answers go.

use std::collections::BTreeSet;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, ERROR_CHARS, ErrorKind, InputAction, InputAnswer, InputAnswers, InputKind,
    InputRequest, JobRef, JobState, Operation,
};
use serde_json::{Value, json};
use url::Url;

use crate::adapter::RestAdapter;
use crate::exchange::Exchange;
use crate::form;
use crate::language::{Context, Faulty};
use crate::plan::{AnswerPlan, DeclinePlan, InputKindPlan, InputPlan};

/// A question, and what its texts know.
pub(crate) struct Question {
    request: InputRequest,
    context: Context,
}

impl Exchange {
    /// Asks what has to be known for the questions, and gives the state. Afterwards `context` knows the steps.
    pub(crate) async fn ask(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: Option<&InputPlan>,
        context: &mut Context,
    ) -> Result<JobState, AdapterError> {
        if let Some(plan) = plan {
            self.run_steps(operation, cx, &plan.steps, context).await?;
        }
        self.asked(operation, cx, plan, context)
    }

    /// The state of a job that asks. Where nothing is asked (any more) it runs.
    pub(crate) fn asked(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: Option<&InputPlan>,
        context: &Context,
    ) -> Result<JobState, AdapterError> {
        // The check has made sure that a tool that asks says what it asks.
        let questions = plan.map(|plan| self.questions(operation, cx, plan, context)).transpose()?.unwrap_or_default();
        if questions.is_empty() {
            return Ok(JobState::Running);
        }
        Ok(JobState::InputRequired(questions.into_iter().map(|question| question.request).collect()))
    }

    /// The questions, each key once.
    pub(crate) fn questions(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: &InputPlan,
        context: &Context,
    ) -> Result<Vec<Question>, AdapterError> {
        let mut keys = BTreeSet::new();
        let mut questions = Vec::new();
        for context in self.repeat(operation, &plan.repeat, context)?.contexts {
            let request = self.question(cx, plan, &context).map_err(|faulty| self.lacks(operation, &faulty))?;
            if keys.insert(request.key.clone()) {
                questions.push(Question { request, context });
            }
        }
        Ok(questions)
    }

    fn question(&self, cx: &CallContext, plan: &InputPlan, context: &Context) -> Result<InputRequest, Faulty> {
        let engine = &self.plan.engine;
        let key = engine.string(&plan.key, context)?;
        let said = self.sentence(&plan.message, context, ERROR_CHARS);
        let mut message = said.unwrap_or_else(|| "The job waits for an answer.".to_owned());
        let kind = match &plan.kind {
            InputKindPlan::Form(tree) => {
                let schema = engine.json(tree, context)?.unwrap_or(Value::Null);
                let unusable = |problem| Faulty { message: format!("the form cannot be shown: {problem}"), undefined: false };
                InputKind::Form { schema: self.cleaner_of(cx, context).redact_json(form::flat(&schema).map_err(unusable)?) }
            }
            InputKindPlan::Page(page) => InputKind::Url { url: address(&engine.string(page, context)?)? },
        };
        if let DeclinePlan::Link(Some(page)) = &plan.decline {
            message = format!("{message} (A no is given at {} alone.)", address(&engine.string(page, context)?)?);
        }
        Ok(InputRequest { key, message, kind })
    }
}

/// A page that a browser can show.
fn address(text: &str) -> Result<String, Faulty> {
    let page = Url::parse(text).ok().filter(|page| matches!(page.scheme(), "https" | "http") && page.has_host());
    let page = page.filter(|page| page.username().is_empty() && page.password().is_none());
    page.map(String::from)
        .ok_or_else(|| Faulty { message: "the page of a question is no web address".to_owned(), undefined: false })
}

impl RestAdapter {
    /// Hands over the answers to questions that are still asked. Many APIs act on a second answer as on the first, so the job is looked at
    /// before; a question that was answered elsewhere is one that is asked no more.
    pub(crate) async fn answer(
        &self,
        cx: &CallContext,
        job: &JobRef,
        plan: &InputPlan,
        answers: &InputAnswers,
    ) -> Result<(), AdapterError> {
        let tool = self.tool(cx, Operation::Provide)?;
        let (seen, context) = self.exchange.look_at(Operation::Provide, cx, tool, self.context_of(cx, job)).await?;
        if !matches!(seen.state, JobState::InputRequired(_)) {
            return Ok(());
        }
        let job = seen.learned.iter().fold(job.clone(), |job, (name, value)| job.with(name, value));
        let mut questions = self.exchange.questions(Operation::Provide, cx, plan, &context)?;
        for (key, answer) in answers {
            let Some(nth) = questions.iter().position(|question| question.request.key == *key) else { continue };
            let mut context = questions.swap_remove(nth).context;
            context.set_job(&job);
            let way = match answer.action {
                InputAction::Accept => plan.accept.as_ref(),
                InputAction::Decline | InputAction::Cancel => match &plan.decline {
                    DeclinePlan::Request(way) => Some(&**way),
                    DeclinePlan::Cancel => return self.cancelled(cx, &job).await,
                    DeclinePlan::Link(_) => continue,
                    DeclinePlan::None => None,
                },
            };
            match (way, &plan.kind) {
                (Some(way), _) => self.hand_over(cx, way, context, key, answer).await?,
                // The person answers there, and the job tells what came of it.
                (None, InputKindPlan::Page(_)) => {}
                (None, InputKindPlan::Form(_)) => {
                    let message = format!("this provider has no way to {} a question", answer.action.as_str());
                    return Err(AdapterError::new(ErrorKind::Unsupported, Operation::Provide, message));
                }
            }
        }
        Ok(())
    }

    /// A no that stops the job. With it every other question is settled, too.
    async fn cancelled(&self, cx: &CallContext, job: &JobRef) -> Result<(), AdapterError> {
        match self.cancel(cx, job).await? {
            CancelOutcome::Requested | CancelOutcome::AlreadyEnded => Ok(()),
            CancelOutcome::Refused => {
                let message = "a no cancels this job, and the provider refuses to cancel it";
                Err(AdapterError::new(ErrorKind::Rejected, Operation::Provide, message))
            }
        }
    }

    async fn hand_over(
        &self,
        cx: &CallContext,
        plan: &AnswerPlan,
        mut context: Context,
        key: &str,
        answer: &InputAnswer,
    ) -> Result<(), AdapterError> {
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
