//! What the words of a tool mean.

use std::time::Duration;

use jobgate_adapter_api::{HumanDuration, Issues, Place};
use jsonschema::error::ValidationErrorKind;
use serde_json::{Value, json};

use super::fixed;
use super::words::{
    CapabilityWord, ConfirmList, ConfirmWords, DeclineWord, ExpiryWord, FallbackWord, JoinWord, ModeWord, NoCancelWord,
    PollWords, PurposeWord, Span, TaskWords, ToolWords,
};
use crate::domain::{
    ClientCapability, Confirm, ConfirmPurpose, ExpiryPolicy, Fallback, InputPolicy, Join, NoCancelPolicy, PollPolicy,
    ProviderName, TaskMode, Tool, ToolName, ToolPolicy,
};

/// Common clients give up on a call after 60 s; a call that blocks for longer than this may find nobody at its end.
const PATIENCE: Duration = Duration::from_secs(55);

/// Notes what is allowed and yet seldom meant.
pub(super) fn doubts(tool: &Tool, place: &Place, warnings: &mut Issues) {
    let ToolPolicy { mode, fallback, wait, .. } = tool.policy;
    if wait <= PATIENCE {
        return;
    }
    let hint = match (mode, fallback) {
        (TaskMode::Never, _) => "write `45s`, or `mode: optional` for jobs that take longer",
        (_, Fallback::Wait) => "write `45s`: a job that takes longer leaves a ticket, and nothing is lost",
        (_, Fallback::Ticket | Fallback::Reject) => return,
    };
    let message = format!("a call may block for {}, but common clients give up after 60s", human(wait));
    warnings.add_with_hint(place.key("task").key("wait"), message, hint);
}

/// Words to meaning. What is wrong is noted, and the tool is made all the same, for the checks that follow.
/// Beside the tool: the schema of all its arguments, with those that are fixed.
pub(super) fn tool(name: &str, words: ToolWords, place: &Place, issues: &mut Issues) -> (Tool, Value) {
    let default_input = || json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let arguments = words.input.unwrap_or_else(default_input);
    let usable = object_schema(&arguments, &place.key("input"), issues);
    let input_schema = if usable { fixed::open(&arguments, &words.with, &place.key("with"), issues) } else { arguments.clone() };
    if let Some(output) = &words.output {
        object_schema(output, &place.key("output"), issues);
    }
    if words.description.trim().is_empty() {
        let hint = "say what the tool does, how long it takes and what comes back";
        issues.add_with_hint(place.key("description"), "must not be empty: a model chooses by it", hint);
    }
    let mut policy = policy(words.task, &place.key("task"), issues);
    policy.confirm = questions(words.confirm, &input_schema, &place.key("confirm"), issues);
    policy.requires = words.requires.into_iter().map(capability).collect();
    let tool = Tool {
        name: ToolName::new(name),
        title: words.title,
        description: words.description,
        input_schema,
        fixed: words.with,
        output_schema: words.output,
        annotations: words.annotations.map(super::words::AnnotationWords::into_value),
        provider: ProviderName::new(words.provider),
        policy,
    };
    (tool, arguments)
}

const fn capability(word: CapabilityWord) -> ClientCapability {
    match word {
        CapabilityWord::Elicitation => ClientCapability::Elicitation,
        CapabilityWord::Sampling => ClientCapability::Sampling,
        CapabilityWord::Roots => ClientCapability::Roots,
    }
}

fn policy(words: TaskWords, place: &Place, issues: &mut Issues) -> ToolPolicy {
    let default = ToolPolicy::default();
    let ttl = words.ttl.map_or(default.ttl, Span::get);
    // A longest life below the usual one would be a contradiction that nobody wrote.
    let usual_max = default.max_ttl.max(ttl).filter(|_| ttl.is_some());
    let mode = match words.mode {
        None => default.mode,
        Some(ModeWord::Never) => TaskMode::Never,
        Some(ModeWord::Optional) => TaskMode::Optional,
        Some(ModeWord::Required) => TaskMode::Required,
    };
    let fallback = match words.fallback {
        // Who says that a call has to be a task means it.
        None if mode == TaskMode::Required => Fallback::Reject,
        None => default.fallback,
        Some(FallbackWord::Wait) => Fallback::Wait,
        Some(FallbackWord::Ticket) => Fallback::Ticket,
        Some(FallbackWord::Reject) => Fallback::Reject,
    };
    if mode == TaskMode::Never {
        for (word, _) in [("fallback", words.fallback.is_some()), ("join", words.join.is_some())].iter().filter(|word| word.1) {
            let hint = "leave it out, or write `mode: optional`";
            issues.add_with_hint(place.key(*word), "means nothing with `mode: never`: there is no task to speak of", hint);
        }
    }
    let policy = ToolPolicy {
        mode,
        fallback,
        join: match words.join {
            None => default.join,
            Some(JoinWord::Key) => Join::Key,
            Some(JoinWord::SameArguments) => Join::SameArguments,
        },
        ttl,
        max_ttl: words.max_ttl.map_or(usual_max, Span::get),
        on_expiry: match words.on_expiry {
            None => default.on_expiry,
            Some(ExpiryWord::Keep) => ExpiryPolicy::Keep,
            Some(ExpiryWord::Cancel) => ExpiryPolicy::Cancel,
            Some(ExpiryWord::Detach) => ExpiryPolicy::Detach,
        },
        deadline: words.deadline.map_or(default.deadline, HumanDuration::get),
        submit_budget: words.submit_budget.map_or(default.submit_budget, HumanDuration::get),
        silence_limit: words.silence_limit.map_or(default.silence_limit, HumanDuration::get),
        gone_grace: words.gone_grace.map_or(default.gone_grace, HumanDuration::get),
        poll: poll(&words.poll, &place.key("poll"), issues),
        input_timeout: words.input_timeout.map_or(default.input_timeout, Span::get),
        on_decline: match words.on_decline {
            None => default.on_decline,
            Some(DeclineWord::Provide) => InputPolicy::Provide,
            Some(DeclineWord::CancelJob) => InputPolicy::CancelJob,
        },
        on_no_cancel: match words.on_no_cancel {
            None => default.on_no_cancel,
            Some(NoCancelWord::RunOn) => NoCancelPolicy::RunOn,
            Some(NoCancelWord::Abandon) => NoCancelPolicy::Abandon,
        },
        deletable: words.deletable.unwrap_or(default.deletable),
        wait: words.wait.map_or(default.wait, HumanDuration::get),
        confirm: Vec::new(),
        requires: Vec::new(),
    };
    if let (Some(ttl), Some(max)) = (policy.ttl, policy.max_ttl)
        && ttl > max
    {
        let hint = "make `max_ttl` at least as long as `ttl`, or `unlimited`";
        issues.add_with_hint(place.key("max_ttl"), format!("is shorter than `ttl` ({})", human(ttl)), hint);
    }
    if policy.ttl.is_none() && policy.max_ttl.is_some() {
        let hint = "write `max_ttl: unlimited`, or leave it out";
        issues.add_with_hint(place.key("max_ttl"), "is shorter than `ttl`, which is unlimited", hint);
    }
    let spans = [
        ("ttl", policy.ttl),
        ("deadline", Some(policy.deadline)),
        ("submit_budget", Some(policy.submit_budget)),
        ("silence_limit", Some(policy.silence_limit)),
        ("input_timeout", policy.input_timeout),
        ("wait", Some(policy.wait)),
    ];
    for (word, span) in spans {
        if span.is_some_and(|span| span < Duration::from_secs(1)) {
            issues.add_with_hint(place.key(word), "has to be at least 1s", "for example `30s`");
        }
    }
    policy
}

fn poll(words: &PollWords, place: &Place, issues: &mut Issues) -> PollPolicy {
    const SHORTEST: Duration = Duration::from_millis(50);
    let default = PollPolicy::default();
    let initial = words.initial.map_or(default.initial, HumanDuration::get);
    let max = words.max.map_or_else(|| default.max.max(initial), HumanDuration::get);
    if initial < SHORTEST {
        issues.add_with_hint(place.key("initial"), "has to be at least 50ms", "for example `1s`");
    }
    if initial > max {
        // With only `initial` written, `max` follows it, so this was written.
        issues.add_with_hint(
            place.key("max"),
            format!("is shorter than `initial` ({})", human(initial)),
            format!("make `max` at least `{}`", human(initial)),
        );
    }
    PollPolicy { initial, max, factor: words.factor.unwrap_or(default.factor) }
}

fn questions(words: Option<ConfirmList>, input: &Value, place: &Place, issues: &mut Issues) -> Vec<Confirm> {
    let (list, single) = match words {
        None => return Vec::new(),
        Some(ConfirmList::One(one)) => (vec![one], true),
        Some(ConfirmList::Several(list)) => (list, false),
    };
    let mut questions: Vec<Confirm> = Vec::with_capacity(list.len());
    for (nth, words) in list.into_iter().enumerate() {
        let place = if single { place.clone() } else { place.index(nth) };
        let question = question(words, nth, input, &place, issues);
        if questions.iter().any(|other| other.key == question.key) {
            issues.add_with_hint(
                place.key("key"),
                format!("`{}` names two questions", question.key),
                "give each a key of its own",
            );
        }
        questions.push(question);
    }
    questions
}

fn question(words: ConfirmWords, nth: usize, input: &Value, place: &Place, issues: &mut Issues) -> Confirm {
    let default_form = || {
        json!({
            "type": "object",
            "properties": { "confirm": { "type": "boolean", "title": "Go ahead" } },
            "required": ["confirm"],
        })
    };
    let purpose = match words.purpose {
        None | Some(PurposeWord::Approve) => ConfirmPurpose::Approve,
        Some(PurposeWord::Fill) => ConfirmPurpose::Fill,
    };
    let written = words.form.is_some();
    let schema = words.form.unwrap_or_else(default_form);
    let form = place.key("form");
    if object_schema(&schema, &form, issues) {
        flat(&schema, &form, issues);
    }
    if purpose == ConfirmPurpose::Fill {
        if !written {
            let hint = "add `form: {type: object, properties: {...}}` with the arguments to ask for";
            issues.add_with_hint(place.clone(), "`purpose: fill` needs a form", hint);
        } else if let (Some(fields), Some(arguments)) = (schema["properties"].as_object(), input["properties"].as_object()) {
            let known: Vec<String> = arguments.keys().cloned().collect();
            for field in fields.keys().filter(|field| !arguments.contains_key(*field)) {
                issues.add_with_hint(
                    form.key("properties").key(field.as_str()),
                    format!("`{field}` is no argument of the tool"),
                    super::structure::choice(field, &known, "arguments").unwrap_or_default(),
                );
            }
        }
    }
    let default_key = || if nth == 0 { "confirm".to_owned() } else { format!("confirm_{}", nth + 1) };
    let expires_after = words.expires_after.map_or(Duration::from_secs(600), HumanDuration::get);
    if expires_after < Duration::from_secs(1) {
        issues.add_with_hint(place.key("expires_after"), "has to be at least 1s", "for example `10m`");
    }
    Confirm { key: words.key.unwrap_or_else(default_key), message: words.message, schema, purpose, expires_after }
}

/// Notes what makes `schema` unfit as a JSON Schema (2020-12) of an object; whether nothing does.
fn object_schema(schema: &Value, place: &Place, issues: &mut Issues) -> bool {
    let mut fit = true;
    let validator = jsonschema::draft202012::meta::validator();
    for error in validator.iter_errors(schema) {
        let mut at = place.clone();
        let mut value = schema;
        for step in error.instance_path().as_str().split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            at = match (value, step.parse()) {
                (Value::Array(_), Ok(index)) => at.index(index),
                _ => at.key(step.as_str()),
            };
            value = match value {
                Value::Array(items) => step.parse().ok().and_then(|index: usize| items.get(index)).unwrap_or(&Value::Null),
                other => &other[step.as_str()],
            };
        }
        issues.add_with_hint(at, format!("is no JSON Schema (2020-12): {error}"), "for example `{type: string, maxLength: 100}`");
        fit = false;
    }
    if !fit {
        return false;
    }
    if schema["type"] != "object" {
        let hint = "add `type: object` and put the fields under `properties`";
        issues.add_with_hint(place.clone(), "the root of the schema has to say `type: object`", hint);
        return false;
    }
    if let Err(error) = jsonschema::draft202012::new(schema) {
        let message = match error.kind() {
            ValidationErrorKind::Referencing(_) => "a `$ref` leads to nothing inside the schema".to_owned(),
            _ => format!("is no usable JSON Schema: {error}"),
        };
        let hint = "a reference has to stay inside the schema, for example `#/$defs/name`";
        issues.add_with_hint(place.clone(), message, hint);
        return false;
    }
    true
}

/// A form has plain fields alone (MCP 2026-07-28, elicitation: restricted schema).
fn flat(schema: &Value, place: &Place, issues: &mut Issues) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let plain = match field["type"].as_str() {
            Some("string" | "number" | "integer" | "boolean") => field.get("properties").is_none(),
            Some("array") => {
                let items = &field["items"];
                items.get("enum").is_some() || items.get("anyOf").is_some() || items.get("oneOf").is_some()
            }
            Some(_) | None => field.get("enum").is_some() || field.get("oneOf").is_some(),
        };
        if !plain {
            issues.add_with_hint(
                place.key("properties").key(name.as_str()),
                format!("`{name}` is no plain field: a form holds text, numbers, yes or no, and choices"),
                "for example `{type: string, title: Reason}` or `{type: string, enum: [small, large]}`",
            );
        }
    }
}

/// A span as people write it.
fn human(span: Duration) -> HumanDuration {
    HumanDuration::from_millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}
