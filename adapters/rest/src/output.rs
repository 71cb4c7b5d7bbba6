//! From the end of a job to what is handed over: a result, or why there is none.

use std::borrow::Cow;

use jobgate_adapter_api::{
    AdapterError, Artifact, CallContext, Cleaner, ERROR_CHARS, ErrorKind, JobFailure, JobOutput, JobState, Operation, Part,
    Secret,
};
use serde_json::Value;

use crate::exchange::{Answer, Exchange};
use crate::language::{Context, Faulty, Text};
use crate::log::WHOSE;
use crate::media;
use crate::plan::{ArtifactPlan, FailurePlan, FurtherPlan, OutputPlan, PieceKind, PiecePlan, ReasonPlan, ResultPlan};

/// Bytes of a handle that may be a secret. A shorter one is a number or a word, and is found in many a text.
const SHORTEST_SECRET: usize = 12;

impl Exchange {
    /// What a job that ended well hands over; `first` is the status answer.
    pub(crate) async fn ended_well(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: &ResultPlan,
        first: &Answer,
        context: &Context,
    ) -> Result<JobState, AdapterError> {
        let context = self.further(operation, cx, &plan.further, first, context).await?;
        self.output(operation, cx, &plan.output, &context)
    }

    /// Why a job failed; `first` is the status answer.
    pub(crate) async fn ended_badly(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: &FailurePlan,
        first: &Answer,
        context: &Context,
    ) -> Result<JobState, AdapterError> {
        let context = self.further(operation, cx, &plan.further, first, context).await?;
        Ok(JobState::Failed(self.reason(cx, &plan.reason, &context)))
    }

    /// The output that an answer holds. A job that has to have one and has none has failed.
    pub(crate) fn output(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: &OutputPlan,
        context: &Context,
    ) -> Result<JobState, AdapterError> {
        let cleaner = self.cleaner_of(cx, context);
        // Where an output is required, one that is not there is a failed job and no answer of another shape.
        let absent = |faulty: Faulty| {
            if plan.required && faulty.undefined { Ok(()) } else { Err(self.lacks(operation, &faulty)) }
        };
        let mut output = JobOutput::default();
        if let Some(text) = &plan.text {
            let text = self.plan.engine.string(text, context).map(Some).or_else(|faulty| absent(faulty).map(|()| None))?;
            let text = text.filter(|text| !(plan.required && text.trim().is_empty()));
            let of_log = plan.text.as_ref().is_some_and(|text| shows_log(text, context));
            output.parts.extend(text.map(|text| Part::Text(warned(of_log, cleaner.redact(text)))));
        }
        if let Some(tree) = &plan.data {
            let data = self.plan.engine.json(tree, context).or_else(|faulty| absent(faulty).map(|()| None))?;
            let data = data.filter(|data| !plan.required || says_something(data));
            output.data = data.map(|data| cleaner.redact_json(data));
        }
        for piece in &plan.content {
            self.pieces(operation, &cleaner, piece, context, &mut output.parts)?;
        }
        for plan in &plan.artifacts {
            self.artifacts(operation, &cleaner, plan, context, &mut output)?;
        }
        if output.parts.is_empty() && output.data.is_none() && output.artifacts.is_empty() {
            if plan.required {
                let message = "The provider says that the job ended well, and it gave no output.";
                return Ok(JobState::Failed(JobFailure::new(message)));
            }
            output.parts.push(Part::Text("The job ended well.".to_owned()));
        }
        Ok(JobState::Succeeded(output))
    }

    fn artifacts(
        &self,
        operation: Operation,
        cleaner: &Cleaner,
        plan: &ArtifactPlan,
        context: &Context,
        output: &mut JobOutput,
    ) -> Result<(), AdapterError> {
        let lacks = |faulty| self.lacks(operation, &faulty);
        let repeated = self.repeat(operation, &plan.repeat, context)?;
        for context in &repeated.contexts {
            let said =
                |text: &Text| self.plan.engine.string_if_any(text, context).map(|said| said.map(|said| cleaner.redact(said)));
            let Some(uri) = said(&plan.uri).map_err(lacks)? else { continue };
            // An API may name its own files by their path.
            let uri = if uri.contains(':') { uri } else { self.plan.base.join(&uri).map_or(uri, String::from) };
            let name = said(&plan.name).map_err(lacks)?.unwrap_or_else(|| "file".to_owned());
            let optional = |text: &Option<Text>| text.as_ref().and_then(|text| said(text).ok().flatten());
            let (mime_type, description) = (optional(&plan.mime_type), optional(&plan.description));
            let fetched = ["https:", "http:", "data:"].iter().any(|scheme| uri.starts_with(scheme));
            match plan.keep.as_ref().filter(|_| fetched) {
                Some(keep) => output.artifacts.push(Artifact {
                    uri,
                    name,
                    mime_type,
                    description,
                    max_bytes: keep.max_bytes,
                    types: keep.types.clone(),
                    note: serde_json::to_string(&keep.fetching).ok(),
                }),
                None => output.parts.push(Part::Link { uri, name, mime_type, description, size: None }),
            }
        }
        if repeated.left_out > 0 {
            output.parts.push(Part::Text(format!("[{} more files were left out.]", repeated.left_out)));
        }
        Ok(())
    }

    fn pieces(
        &self,
        operation: Operation,
        cleaner: &Cleaner,
        plan: &PiecePlan,
        context: &Context,
        parts: &mut Vec<Part>,
    ) -> Result<(), AdapterError> {
        let repeated = self.repeat(operation, &plan.repeat, context)?;
        for context in &repeated.contexts {
            parts.extend(self.piece(plan, cleaner, context).map_err(|faulty| self.lacks(operation, &faulty))?);
        }
        if repeated.left_out > 0 {
            parts.push(Part::Text(format!("[{} more were left out.]", repeated.left_out)));
        }
        Ok(())
    }

    /// One piece; `None` where its value is undefined, null or empty.
    fn piece(&self, plan: &PiecePlan, cleaner: &Cleaner, context: &Context) -> Result<Option<Part>, Faulty> {
        let engine = &self.plan.engine;
        let Some(value) = engine.string_if_any(&plan.value, context)? else { return Ok(None) };
        let optional = |text: &Option<Text>| {
            let said = text.as_ref().map(|text| engine.string_if_any(text, context)).transpose();
            said.map(|said| said.flatten().map(|said| cleaner.redact(said)))
        };
        let (name, mime_type) = (optional(&plan.name)?.unwrap_or_default(), optional(&plan.mime_type)?);
        let bytes = |class: &str| {
            let unusable = |message| Faulty { message, undefined: false };
            media::embed(&value, mime_type.as_deref(), class).map_err(unusable)
        };
        Ok(Some(match plan.kind {
            PieceKind::Text => Part::Text(warned(shows_log(&plan.value, context), cleaner.redact(value))),
            PieceKind::Image => {
                let (data, mime_type) = bytes("image")?;
                Part::Image { data, mime_type }
            }
            PieceKind::Audio => {
                let (data, mime_type) = bytes("audio")?;
                Part::Audio { data, mime_type }
            }
            PieceKind::Link => {
                let size = optional(&plan.size)?.and_then(|size| size.trim().parse().ok());
                let description = optional(&plan.description)?;
                Part::Link { uri: cleaner.redact(value), name, mime_type, description, size }
            }
            PieceKind::Document => {
                let text = warned(shows_log(&plan.value, context), cleaner.redact(value));
                Part::Embedded { uri: media::address(&name), mime_type, text }
            }
        }))
    }

    /// Knows what is secret of this task beside the provider's credentials: where its deliveries come in, and what came by them.
    pub(crate) fn cleaner_of(&self, cx: &CallContext, context: &Context) -> Cow<'_, Cleaner> {
        let names = self.plan.tools.get(&cx.tool).map(|tool| tool.secrets.as_slice()).unwrap_or_default();
        let values = names.iter().filter_map(|name| context.handle(name));
        let secrets = values.filter(|value| value.len() >= SHORTEST_SECRET).map(Secret::new).collect();
        self.cleaner.with_task(cx.callback_url.as_deref(), secrets)
    }

    pub(crate) fn reason(&self, cx: &CallContext, plan: &ReasonPlan, context: &Context) -> JobFailure {
        let cleaner = self.cleaner_of(cx, context);
        let said = |text: &Option<Text>| text.as_ref().and_then(|text| self.sentence(text, context, ERROR_CHARS));
        let data = plan.data.as_ref().and_then(|tree| self.plan.engine.json(tree, context).ok().flatten());
        let data = data.map(|data| cleaner.redact_json(data));
        let log = context.text("log").filter(|log| plan.log && !log.is_empty());
        let parts = log.map(|log| Part::Text(format!("{WHOSE}\n\n{log}"))).into_iter().collect();
        JobFailure {
            message: said(&plan.message).unwrap_or_else(|| "The job failed; the provider gave no reason.".to_owned()),
            code: said(&plan.code),
            output: JobOutput { parts, data, ..JobOutput::default() },
        }
    }

    /// The further requests, where there are any. After `request`, `body` is its answer and `status` the status answer.
    async fn further(
        &self,
        operation: Operation,
        cx: &CallContext,
        plan: &FurtherPlan,
        first: &Answer,
        context: &Context,
    ) -> Result<Context, AdapterError> {
        let mut context = context.clone();
        // The job is known, only its result is not there (yet): not the NotFound that ends a task.
        let known = |error: AdapterError| match error.kind() {
            ErrorKind::NotFound => {
                AdapterError::new(ErrorKind::Protocol, operation, "the job ended, and its result is not there")
            }
            _ => error,
        };
        self.run_steps(operation, cx, &plan.steps, &mut context).await.map_err(known)?;
        let Some((request, reading)) = &plan.request else { return Ok(context) };
        let answer = self.send(operation, request, &context, cx.timeout).await?;
        context.set_dynamic("status", first.as_value());
        answer.describe(&mut context);
        if !reading.accept.contains(answer.status.as_u16()) {
            return Err(known(self.refusal(operation, &answer, &context)));
        }
        self.vet(operation, reading, &answer)?;
        Ok(context)
    }
}

/// Whether a text shows the job's log.
fn shows_log(text: &Text, context: &Context) -> bool {
    text.uses("log") && context.text("log").is_some_and(|log| !log.is_empty())
}

/// A text with a word about whose it is, where it shows what the job wrote.
fn warned(of_log: bool, text: String) -> String {
    if of_log { format!("{WHOSE}\n\n{text}") } else { text }
}

/// Whether there is anything in a value: null, empty texts, empty lists and maps of nothing else are no output.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(says_something),
        Value::Object(fields) => fields.values().any(says_something),
    }
}
