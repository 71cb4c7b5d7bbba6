//! From what was seen of a job, in a status answer or in a delivery, to an observation.

use std::collections::BTreeMap;

use jobgate_adapter_api::{AdapterError, CallContext, ErrorKind, JobState, MESSAGE_CHARS, Observation, Operation};

use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Text};
use crate::log::{self, LogRead};
use crate::plan::{RulePlan, Rules, StatusPlan, ToolPlan};
use crate::resolve::Resolved;
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
    /// What it asks is still to be read.
    Asks,
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
        context: Context,
    ) -> Result<Observation, AdapterError> {
        self.look_at(operation, cx, tool, context).await.map(|(seen, _)| seen)
    }

    /// One look, and what texts know after it.
    pub(crate) async fn look_at(
        &self,
        operation: Operation,
        cx: &CallContext,
        tool: &ToolPlan,
        mut context: Context,
    ) -> Result<(Observation, Context), AdapterError> {
        let status = &tool.status;
        let request = status.request.as_ref().ok_or_else(|| AdapterError::unsupported(operation))?;
        let learned = match self.resolve(operation, cx, tool, &mut context).await? {
            Resolved::All(learned) => learned,
            Resolved::Waits(seen) => return Ok((*seen, context)),
        };
        let answer = self.send(operation, request, &context, cx.timeout).await?;
        answer.describe(&mut context);
        if !status.reading.accept.contains(answer.status.as_u16()) {
            return Err(self.failed_look(operation, status, &answer, &context));
        }
        self.vet(operation, &status.reading, &answer)?;
        let (mut seen, context) = self.seen(operation, cx, tool, &answer, context).await?;
        // What this answer teaches is newer.
        seen.learned = learned.into_iter().chain(seen.learned).collect();
        Ok((seen, context))
    }

    /// What a status answer shows, and what texts know after it.
    pub(crate) async fn seen(
        &self,
        operation: Operation,
        cx: &CallContext,
        tool: &ToolPlan,
        answer: &Answer,
        mut context: Context,
    ) -> Result<(Observation, Context), AdapterError> {
        let status = &tool.status;
        // Where the rules or their messages read the log it is there before them, else only where a result or failure shows it.
        let early = tool.status.rules.needs_log();
        // The rules know the word by themselves.
        let word = status.rules.word.as_ref().filter(|_| early || !status.steps.is_empty());
        if let Some(word) = word.and_then(|word| self.plan.engine.string(word, &context).ok()) {
            context.set("word", &word);
        }
        self.run_steps(operation, cx, &status.steps, &mut context).await?;
        let mut read = LogRead::default();
        context.set("log", &"");
        if let Some(log) = tool.log.as_ref().filter(|_| early) {
            read = self.read_log(operation, cx, log, &mut context).await;
        }
        let good = answer.status.is_success();
        let (judged, rule) = self.judge(operation, &status.rules, good, &mut context)?;
        let late = match judged {
            Judged::Succeeded => tool.result.output.uses("log"),
            Judged::Failed => tool.failure.reason.needs_log(),
            _ => false,
        };
        if let Some(log) = tool.log.as_ref().filter(|_| late && !early) {
            read = self.read_log(operation, cx, log, &mut context).await;
        }
        let row = self.row(&status.rules, rule, &context);
        let state = match judged {
            Judged::State(state) => row.late.unwrap_or(state),
            Judged::Succeeded => self.ended_well(operation, cx, &tool.result, answer, &context).await?,
            Judged::Failed => self.ended_badly(operation, cx, &tool.failure, answer, &context).await?,
            Judged::Asks => match row.late {
                Some(late) => late,
                None => self.ask(operation, cx, tool.input.as_ref(), &mut context).await?,
            },
            Judged::NotFound => return Err(unknown_job(operation)),
            Judged::Word(_) | Judged::Nothing if !good => return Err(self.failed_look(operation, status, answer, &context)),
            Judged::Word(state) => state,
            Judged::Nothing => JobState::Unrecognized(format!("status {} that no rule matches", answer.status.as_u16())),
        };
        let next_poll = self.asked_for(&answer.headers).max(read.wait);
        let mut seen = Observation { next_poll, ..self.observation(&status.rules, rule, state, &context) };
        seen.learned.extend(row.learned);
        seen.learned.extend(read.learned.map(|place| (log::HANDLE.to_owned(), place)));
        Ok((seen, context))
    }

    /// What the rules say. `good` is whether it came with a success; only then must a word that is asked for be there.
    pub(crate) fn judge<'p>(
        &self,
        operation: Operation,
        rules: &'p Rules,
        good: bool,
        context: &mut Context,
    ) -> Result<(Judged, Option<&'p RulePlan>), AdapterError> {
        let word = self.word(operation, rules, good, context)?;
        let rule = self.rule(operation, rules, word.as_deref(), context)?;
        let judged = match (rule.map(|rule| rule.state), word) {
            (Some(StateWord::Queued), _) => Judged::State(JobState::Queued),
            (Some(StateWord::Running), _) => Judged::State(JobState::Running),
            (Some(StateWord::InputRequired), _) => Judged::Asks,
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
            progress: rules.progress.as_ref().and_then(|plan| self.progress(plan, context)),
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

    /// What was taught, and what is learned once where it is not known yet.
    fn learned(&self, rules: &Rules, context: &Context) -> BTreeMap<String, String> {
        let value = |text: &Text| self.plan.engine.string_if_any(text, context).ok().flatten();
        let pins = rules.pins.iter().filter(|(name, _)| context.handle(name).is_none());
        rules.handles.iter().chain(pins).filter_map(|(name, text)| Some((name.clone(), value(text)?))).collect()
    }
}

fn unknown_job(operation: Operation) -> AdapterError {
    AdapterError::new(ErrorKind::NotFound, operation, "the provider does not know this job")
}
