//! From what was seen of a job, in a status answer or in a delivery, to an observation.

use std::collections::BTreeMap;

use jobgate_adapter_api::{
    AdapterError, CallContext, ErrorKind, InputKind, InputRequest, JobFailure, JobOutput, JobState, Observation, Operation, Part,
    Progress, parse_retry_after,
};
use serde_json::Value;

use crate::clean::{ERROR_CHARS, MESSAGE_CHARS};
use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Text};
use crate::plan::{
    InputKindPlan, InputPlan, OutputPlan, Reading, ReasonPlan, RequestPlan, RulePlan, Rules, StatusPlan, ToolPlan,
};
use crate::words::StateWord;

/// Characters of a status word that nobody mapped.
const WORD_CHARS: usize = 100;

/// What the rules make of what was seen.
pub(crate) enum Judged {
    State(JobState),
    /// Its result is still to be read.
    Succeeded,
    /// Its reason is still to be read.
    Failed,
    NotFound,
    /// A word that no rule maps.
    Word(JobState),
    Nothing,
}

impl Exchange {
    /// One look at a job. `context` knows the job.
    pub(crate) async fn look(
        &self,
        operation: Operation,
        cx: &CallContext,
        tool: &ToolPlan,
        mut context: Context,
    ) -> Result<Observation, AdapterError> {
        let status = &tool.status;
        let request = status.request.as_ref().ok_or_else(|| AdapterError::unsupported(operation))?;
        let answer = self.send(operation, request, &context, cx.timeout).await?;
        answer.describe(&mut context);
        if !status.reading.accept.contains(answer.status.as_u16()) {
            return Err(self.failed_look(operation, status, &answer, &context));
        }
        self.vet(operation, &status.reading, &answer)?;
        let good = answer.status.is_success();
        let (judged, rule) = self.judge(operation, &status.rules, tool.input.as_ref(), good, &mut context)?;
        let state = match judged {
            Judged::State(state) => state,
            Judged::Succeeded => {
                let context = self.more(operation, cx, tool.result.more.as_ref(), &answer, &context).await?;
                JobState::Succeeded(self.output(operation, cx, &tool.result.output, &context)?)
            }
            Judged::Failed => {
                let context = self.more(operation, cx, tool.failure.more.as_ref(), &answer, &context).await?;
                JobState::Failed(self.reason(cx, &tool.failure.reason, &context))
            }
            Judged::NotFound => return Err(unknown_job(operation)),
            Judged::Word(_) | Judged::Nothing if !good => return Err(self.failed_look(operation, status, &answer, &context)),
            Judged::Word(state) => state,
            Judged::Nothing => JobState::Unrecognized(format!("status {} that no rule matches", answer.status.as_u16())),
        };
        let next_poll = parse_retry_after(&answer.headers, self.clock.now());
        Ok(Observation { next_poll, ..self.observation(&status.rules, rule, state, &context) })
    }

    /// What the rules say. `good` is whether it came with a success; only then must a word that is asked for be there.
    pub(crate) fn judge<'p>(
        &self,
        operation: Operation,
        rules: &'p Rules,
        input: Option<&InputPlan>,
        good: bool,
        context: &mut Context,
    ) -> Result<(Judged, Option<&'p RulePlan>), AdapterError> {
        let word = self.word(operation, rules, good, context)?;
        let rule = self.rule(operation, rules, word.as_deref(), context)?;
        let judged = match (rule.map(|rule| rule.state), word) {
            (Some(StateWord::Queued), _) => Judged::State(JobState::Queued),
            (Some(StateWord::Running), _) => Judged::State(JobState::Running),
            (Some(StateWord::InputRequired), _) => {
                Judged::State(JobState::InputRequired(self.questions(operation, input, context)?))
            }
            (Some(StateWord::Succeeded), _) => Judged::Succeeded,
            (Some(StateWord::Failed), _) => Judged::Failed,
            (Some(StateWord::Cancelled), _) => Judged::State(JobState::Cancelled),
            (Some(StateWord::Gone), _) => Judged::State(JobState::Gone),
            (Some(StateWord::NotFound), _) => Judged::NotFound,
            (None, Some(word)) => {
                Judged::Word(JobState::Unrecognized(self.cleaner.sentence(&word, WORD_CHARS).unwrap_or_default()))
            }
            (None, None) => Judged::Nothing,
        };
        Ok((judged, rule))
    }

    /// The state with the sentence, the counts and the handles that were seen with it.
    pub(crate) fn observation(&self, rules: &Rules, rule: Option<&RulePlan>, state: JobState, context: &Context) -> Observation {
        let sentences = [rule.and_then(|rule| rule.message.as_ref()), rules.message.as_ref()];
        let message = sentences.into_iter().flatten().find_map(|text| self.sentence(text, context, MESSAGE_CHARS));
        Observation {
            message,
            progress: self.progress(rules, context),
            learned: self.learned(rules, context),
            ..Observation::new(state)
        }
    }

    /// What a code says that the rules do not read.
    fn failed_look(&self, operation: Operation, status: &StatusPlan, answer: &Answer, context: &Context) -> AdapterError {
        if status.not_found.contains(answer.status.as_u16()) {
            return unknown_job(operation).with_status(answer.status.as_u16());
        }
        self.refusal(operation, answer, context)
    }

    /// The status word. A 2xx whose word is missing is told apart from one that no rule maps, unless a rule can do without.
    fn word(
        &self,
        operation: Operation,
        rules: &Rules,
        good: bool,
        context: &mut Context,
    ) -> Result<Option<String>, AdapterError> {
        let Some(text) = &rules.word else { return Ok(None) };
        match self.plan.engine.string(text, context) {
            Ok(word) => {
                context.set("word", &word);
                Ok(Some(word))
            }
            Err(faulty) => {
                let others = matches!(self.rule(operation, rules, None, context), Ok(Some(_)));
                if others || !good { Ok(None) } else { Err(self.lacks(operation, &faulty)) }
            }
        }
    }

    /// The first rule that matches.
    fn rule<'p>(
        &self,
        operation: Operation,
        rules: &'p Rules,
        word: Option<&str>,
        context: &Context,
    ) -> Result<Option<&'p RulePlan>, AdapterError> {
        for rule in &rules.list {
            let is = rule.is.is_empty() || word.is_some_and(|word| rule.is.iter().any(|listed| listed == word));
            let when = match &rule.when {
                Some(condition) if is => {
                    self.plan.engine.holds(condition, context).map_err(|faulty| self.lacks(operation, &faulty))?
                }
                Some(_) | None => true,
            };
            if is && when {
                return Ok(Some(rule));
            }
        }
        Ok(None)
    }

    fn progress(&self, rules: &Rules, context: &Context) -> Option<Progress> {
        let (done, total) = rules.progress.as_ref()?;
        let number = |text: &Text| self.plan.engine.string_if_any(text, context).ok().flatten()?.trim().parse::<f64>().ok();
        let done = number(done).filter(|done| done.is_finite())?;
        Some(Progress { done, total: total.as_ref().and_then(number).filter(|total| total.is_finite()) })
    }

    fn learned(&self, rules: &Rules, context: &Context) -> BTreeMap<String, String> {
        let value = |text: &Text| self.plan.engine.string_if_any(text, context).ok().flatten();
        rules.handles.iter().filter_map(|(name, text)| Some((name.clone(), value(text)?))).collect()
    }

    fn questions(
        &self,
        operation: Operation,
        input: Option<&InputPlan>,
        context: &Context,
    ) -> Result<Vec<InputRequest>, AdapterError> {
        // The check has made sure that a tool that asks says what it asks.
        let Some(input) = input else { return Ok(Vec::new()) };
        let lacks = |faulty| self.lacks(operation, &faulty);
        let key = self.plan.engine.string(&input.key, context).map_err(lacks)?;
        let message =
            self.sentence(&input.message, context, ERROR_CHARS).unwrap_or_else(|| "The job waits for an answer.".to_owned());
        let kind = match &input.kind {
            InputKindPlan::Form(tree) => InputKind::Form {
                schema: self
                    .plan
                    .engine
                    .json(tree, context)
                    .map_err(lacks)?
                    .unwrap_or_else(|| Value::Object(serde_json::Map::new())),
            },
            InputKindPlan::Page(text) => InputKind::Url { url: self.plan.engine.string(text, context).map_err(lacks)? },
        };
        Ok(vec![InputRequest { key, message, kind }])
    }

    pub(crate) fn output(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: &OutputPlan,
        context: &Context,
    ) -> Result<JobOutput, AdapterError> {
        let cleaner = self.cleaner.with_callback(cx.callback_url.as_deref());
        let lacks = |faulty| self.lacks(operation, &faulty);
        let mut output = JobOutput::default();
        if let Some(text) = &plan.text {
            let text = self.plan.engine.string(text, context).map_err(lacks)?;
            output.parts.push(Part::Text(cleaner.redact(text)));
        }
        if let Some(tree) = &plan.data {
            let data = self.plan.engine.json(tree, context).map_err(lacks)?;
            output.data = data.map(|data| cleaner.redact_json(data));
        }
        for link in &plan.links {
            let Some(uri) = self.plan.engine.string_if_any(&link.uri, context).map_err(lacks)?.map(|uri| cleaner.redact(uri))
            else {
                continue;
            };
            let optional =
                |text: &Option<Text>| text.as_ref().and_then(|text| self.plan.engine.string_if_any(text, context).ok().flatten());
            let name = self.plan.engine.string(&link.name, context).map_err(lacks)?;
            let (mime_type, description) = (optional(&link.mime_type), optional(&link.description));
            output.parts.push(Part::Link { uri, name, mime_type, description, size: None });
        }
        if output.parts.is_empty() && output.data.is_none() {
            output.parts.push(Part::Text("The job ended well.".to_owned()));
        }
        Ok(output)
    }

    pub(crate) fn reason(&self, cx: &CallContext, plan: &ReasonPlan, context: &Context) -> JobFailure {
        let cleaner = self.cleaner.with_callback(cx.callback_url.as_deref());
        let said = |text: &Option<Text>| text.as_ref().and_then(|text| self.sentence(text, context, ERROR_CHARS));
        let data = plan.data.as_ref().and_then(|tree| self.plan.engine.json(tree, context).ok().flatten());
        let data = data.map(|data| cleaner.redact_json(data));
        JobFailure {
            message: said(&plan.message).unwrap_or_else(|| "The job failed; the provider gave no reason.".to_owned()),
            code: said(&plan.code),
            output: JobOutput { parts: Vec::new(), data },
        }
    }

    /// The second request, where there is one. Afterwards `body` is its answer and `status` the status answer.
    async fn more(
        &self,
        operation: Operation,
        cx: &CallContext,
        more: Option<&(RequestPlan, Reading)>,
        first: &Answer,
        context: &Context,
    ) -> Result<Context, AdapterError> {
        let mut context = context.clone();
        let Some((request, reading)) = more else { return Ok(context) };
        let answer = self.send(operation, request, &context, cx.timeout).await?;
        context.set_dynamic("status", first.as_value());
        answer.describe(&mut context);
        if !reading.accept.contains(answer.status.as_u16()) {
            let error = self.refusal(operation, &answer, &context);
            // The job is known, only its result is not there (yet): not the NotFound that ends a task.
            let missing = error.kind() == ErrorKind::NotFound;
            return Err(if missing {
                AdapterError::new(ErrorKind::Protocol, operation, "the job ended, and its result is not there")
            } else {
                error
            });
        }
        self.vet(operation, reading, &answer)?;
        Ok(context)
    }
}

fn unknown_job(operation: Operation) -> AdapterError {
    AdapterError::new(ErrorKind::NotFound, operation, "the provider does not know this job")
}
