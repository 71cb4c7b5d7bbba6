//! From a delivery to the jobs it tells of, and to what it says of one of them. Pure: nothing is asked, nothing is remembered.

use std::collections::BTreeMap;

use jobgate_adapter_api::{AdapterError, CallContext, ErrorKind, JobRef, JobState, Observation, Operation, Verified};
use minijinja::value::Value as Dynamic;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::exchange::Exchange;
use crate::json;
use crate::language::{Context, Faulty, Text};
use crate::observe::Judged;
use crate::plan::{DeliveryPlan, ToldPlan, ToolPlan};
use crate::submit::MOST_ID;
use crate::words::Parse;

/// Jobs of one delivery: each of them is looked up and read on its own.
const MOST_JOBS: usize = 256;
/// Fields of a form.
const MOST_FIELDS: usize = 1_000;

/// A delivery, opened: what its own texts know.
struct Opened {
    body: Value,
    context: Context,
}

/// One job of a delivery, and what the texts know that read its part.
struct Entry {
    id: String,
    item: Option<Value>,
    context: Context,
}

impl Exchange {
    /// The jobs that a delivery tells of, each once.
    pub(crate) fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        let plan = self.plan.delivery.as_ref().ok_or_else(|| AdapterError::unsupported(Operation::Read))?;
        let Some(opened) = self.open(plan, delivery)? else { return Ok(Vec::new()) };
        let mut jobs: Vec<JobRef> = Vec::new();
        for entry in self.entries(plan, &opened)? {
            if jobs.iter().all(|job| job.id() != entry.id) {
                jobs.push(JobRef::new(entry.id));
            }
        }
        Ok(jobs)
    }

    /// What a delivery says of this job; `context` knows the job. `None` where it says nothing, and where its words take another request.
    pub(crate) fn told(
        &self,
        cx: &CallContext,
        tool: &ToolPlan,
        job: &JobRef,
        mut context: Context,
        delivery: &Verified<'_>,
    ) -> Result<Option<Observation>, AdapterError> {
        let operation = Operation::Read;
        let (Some(plan), Some(told)) = (&self.plan.delivery, &tool.told) else {
            return Err(AdapterError::unsupported(operation));
        };
        let Some(opened) = self.open(plan, delivery)? else { return Ok(None) };
        // Entries come in the order of what happened, so the last one is the newest.
        let Some(entry) = self.entries(plan, &opened)?.into_iter().rfind(|entry| entry.id == job.id()) else { return Ok(None) };
        if plan.hint {
            return Ok(None);
        }
        let body = self.body_of(plan, told, &opened, entry)?;
        context.set("body", &body);
        context.set("delivery", &opened.body);
        context.set("text", &String::from_utf8_lossy(delivery.body()));
        context.set("code", &200);
        context.set("log", &"");
        context.set_dynamic("headers", Dynamic::from(BTreeMap::<String, Dynamic>::new()));
        let (judged, rule) = self.judge(operation, &told.rules, true, &mut context)?;
        let state = match judged {
            Judged::State(state) | Judged::Word(state) => state,
            Judged::Succeeded => match &told.output {
                Some(output) => self.output(operation, cx, output, &context)?,
                None => return Ok(None),
            },
            Judged::Failed => match &told.reason {
                Some(reason) => JobState::Failed(self.reason(cx, reason, &context)),
                None => return Ok(None),
            },
            // What has to be asked for first takes a look.
            Judged::Asks if tool.input.as_ref().is_some_and(|input| !input.steps.is_empty()) => return Ok(None),
            Judged::Asks => self.asked(operation, cx, tool.input.as_ref(), &context)?,
            // That a job is not there only the provider itself can say.
            Judged::NotFound | Judged::Nothing => return Ok(None),
        };
        Ok(Some(self.observation(&told.rules, rule, state, &context)))
    }

    /// Parses a delivery; `None` where `when` does not hold.
    fn open(&self, plan: &DeliveryPlan, delivery: &Verified<'_>) -> Result<Option<Opened>, AdapterError> {
        let text = std::str::from_utf8(delivery.body()).map_err(|_| unreadable("is no UTF-8"))?;
        let body = match plan.parse {
            Parse::Json => json::strict(text).map_err(|reason| unreadable(&format!("cannot be read as JSON: {reason}")))?,
            Parse::Form => form(text).ok_or_else(|| unreadable("cannot be read as a form, or has a field twice"))?,
        };
        let mut context = Context::default();
        context.set("body", &body);
        context.set("text", &text);
        let holds = |when| self.plan.engine.holds(when, &context).map_err(|faulty| self.lacks(Operation::Read, &faulty));
        let concerned = plan.when.as_ref().map_or(Ok(true), holds)?;
        Ok(concerned.then_some(Opened { body, context }))
    }

    /// The jobs of a delivery in its own order; one job may be there several times.
    fn entries(&self, plan: &DeliveryPlan, opened: &Opened) -> Result<Vec<Entry>, AdapterError> {
        let Some(list) = &plan.jobs else {
            let id = self.id(plan.id.as_ref(), None, &opened.context)?;
            return Ok(vec![Entry { id, item: None, context: opened.context.clone() }]);
        };
        let Some(Value::Array(items)) = self.part(list, &opened.context)? else {
            return Err(unreadable("has no list where `delivery.jobs` says that it is"));
        };
        if items.len() > MOST_JOBS {
            return Err(unreadable(&format!("tells of more than {MOST_JOBS} jobs")));
        }
        let entry = |item: Value| {
            let mut context = opened.context.clone();
            context.set("item", &item);
            let id = self.id(plan.id.as_ref(), Some(&item), &context)?;
            Ok(Entry { id, item: Some(item), context })
        };
        items.into_iter().map(entry).collect()
    }

    /// An id is a text or a number, never empty.
    fn id(&self, text: Option<&Text>, item: Option<&Value>, context: &Context) -> Result<String, AdapterError> {
        let value = match text {
            Some(text) => self.part(text, context)?,
            None => item.cloned(),
        };
        let id = match value {
            Some(Value::String(id)) if !id.is_empty() => id,
            Some(Value::Number(id)) if !id.is_f64() => id.to_string(),
            None | Some(Value::Null | Value::String(_)) => {
                return Err(unreadable("names no job where `delivery.job` says that it does; `delivery.when` says which do"));
            }
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(unreadable("names a job by something that is neither a text nor a whole number"));
            }
        };
        if id.len() > MOST_ID { Err(unreadable(&format!("names a job in more than {MOST_ID} bytes"))) } else { Ok(id) }
    }

    /// What the rules read as `body`.
    fn body_of(&self, plan: &DeliveryPlan, told: &ToldPlan, opened: &Opened, entry: Entry) -> Result<Value, AdapterError> {
        match told.body.as_ref().or(plan.body.as_ref()) {
            Some(text) => Ok(self.part(text, &entry.context)?.unwrap_or(Value::Null)),
            None => Ok(entry.item.unwrap_or_else(|| opened.body.clone())),
        }
    }

    /// A value of a delivery; `None` where it has none.
    fn part(&self, text: &Text, context: &Context) -> Result<Option<Value>, AdapterError> {
        match self.plan.engine.value(text, context) {
            Ok(value) => Ok(value),
            Err(Faulty { undefined: true, .. }) => Ok(None),
            Err(faulty) => Err(self.lacks(Operation::Read, &faulty)),
        }
    }
}

fn unreadable(what: &str) -> AdapterError {
    AdapterError::new(ErrorKind::Protocol, Operation::Read, format!("the delivery {what}"))
}

/// The fields of a form, each a text; `None` for one that is not UTF-8 or has a field twice.
fn form(text: &str) -> Option<Value> {
    let decoded = |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8().ok().map(|text| text.into_owned());
    let mut fields = Map::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let doubled = fields.insert(decoded(name)?, Value::String(decoded(value)?)).is_some();
        if doubled || fields.len() > MOST_FIELDS {
            return None;
        }
    }
    Some(Value::Object(fields))
}
