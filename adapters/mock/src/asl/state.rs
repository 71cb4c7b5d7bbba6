//! Reads single states: which fields each type has, and what they mean.

use std::collections::BTreeSet;

use jobgate_adapter_api::{ApprovalWords, Issues, Place, Timestamp};
use serde::Deserialize as _;
use serde_json::Value;

use super::choice::Test;
use super::fields::Fields;
use super::machine::{Catcher, DataFlow, Kind, Limit, Resource, Retrier, Span, State, StatedProgress, WaitFor, Words};
use super::path::Path;
use super::task::{RESOURCES, TASK_TOKEN};
use super::template::Template;
use super::{parse, suggest};

const ALWAYS: [&str; 3] = ["Type", "Comment", "MockProgress"];
const FLOW: [&str; 4] = ["Next", "End", "InputPath", "OutputPath"];
const WORK: [&str; 5] = ["ResultPath", "Parameters", "ResultSelector", "Retry", "Catch"];

/// The fields of each type beyond those that every state has (the table in section "State Types").
const TYPES: [(&str, &[&[&str]]); 8] = [
    ("Pass", &[&FLOW, &["ResultPath", "Parameters", "Result"]]),
    ("Wait", &[&FLOW, &["Seconds", "SecondsPath", "Timestamp", "TimestampPath"]]),
    ("Choice", &[&["InputPath", "OutputPath", "Choices", "Default"]]),
    (
        "Task",
        &[
            &FLOW,
            &WORK,
            &["Resource", "TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath", "MockApproval"],
        ],
    ),
    ("Succeed", &[&["InputPath", "OutputPath"]]),
    ("Fail", &[&["Error", "Cause", "ErrorPath", "CausePath"]]),
    ("Parallel", &[&FLOW, &WORK, &["Branches"]]),
    ("Map", &[&FLOW, &WORK, &["ItemsPath", "ItemSelector", "ItemProcessor", "Iterator", "MaxConcurrency", "MaxConcurrencyPath"]]),
];

/// Reads the state `name`; `None` when its type is not known or its heart is missing.
pub(crate) fn read(name: &str, words: &Value, place: Place, names: &mut BTreeSet<String>, issues: &mut Issues) -> Option<State> {
    let fields = Fields::of(words, place, "a state", issues)?;
    let types = || TYPES.iter().map(|(name, _)| *name);
    let Some(kind) = fields.text("Type", issues) else {
        if !fields.has("Type") {
            issues.add_with_hint(
                fields.place.clone(),
                "`Type` is missing",
                format!("one of {}", types().collect::<Vec<_>>().join(", ")),
            );
        }
        return None;
    };
    let Some(&(kind, groups)) = TYPES.iter().find(|(known, _)| *known == kind) else {
        let hint = suggest(kind, types()).map_or_else(
            || format!("one of {}", types().collect::<Vec<_>>().join(", ")),
            |meant| format!("did you mean `{meant}`?"),
        );
        issues.add_with_hint(fields.at("Type"), format!("there is no type of state `{kind}`"), hint);
        return None;
    };
    let known: Vec<&str> = groups.iter().copied().flatten().copied().chain(ALWAYS).collect();
    fields.only(&known, &format!("a {kind} state"), issues);

    let next = if known.contains(&"Next") { next(&fields, issues) } else { None };
    let data = DataFlow {
        input: fields.selection("InputPath", issues),
        parameters: if kind == "Map" { None } else { fields.template("Parameters", issues) },
        selector: fields.template("ResultSelector", issues),
        result: fields.result_path(issues),
        output: fields.selection("OutputPath", issues),
    };
    let progress = progress(&fields, issues);
    let approval = approval(&fields, issues);
    let comment = fields.text("Comment", issues).map(str::to_owned);
    let (retry, catch) = (retriers(&fields, issues), catchers(&fields, issues));
    let kind = match kind {
        "Pass" => Kind::Pass { result: fields.map.get("Result").cloned() },
        "Wait" => Kind::Wait(wait(&fields, issues)),
        "Choice" => choice(&fields, issues),
        "Task" => task(&fields, data.parameters.as_ref(), issues),
        "Succeed" => Kind::Succeed,
        "Fail" => Kind::Fail { error: words_of("Error", &fields, issues), cause: words_of("Cause", &fields, issues) },
        "Parallel" => parallel(&fields, names, issues),
        _ => map(&fields, names, issues)?,
    };
    Some(State { name: name.to_owned(), comment, progress, approval, data, retry, catch, next, kind })
}

/// `Next` or `End: true` (section "Transitions").
fn next(fields: &Fields<'_>, issues: &mut Issues) -> Option<String> {
    let next = fields.text("Next", issues);
    let end = fields.truth("End", issues).unwrap_or(false);
    if end == fields.has("Next") {
        issues.add_with_hint(fields.place.clone(), "a state has either `Next` or `End: true`", "Next: the name of a state");
    }
    next.map(str::to_owned)
}

fn wait(fields: &Fields<'_>, issues: &mut Issues) -> WaitFor {
    let given = ["Seconds", "SecondsPath", "Timestamp", "TimestampPath"].into_iter().filter(|key| fields.has(key)).count();
    let until = fields.text("Timestamp", issues).and_then(|text| {
        let moment: Result<Timestamp, _> = text.parse();
        let moment = moment.map_err(|_| {
            issues.add_with_hint(fields.at("Timestamp"), format!("`{text}` is no moment"), "\"2026-07-28T12:00:00Z\"");
        });
        moment.ok().map(Timestamp::as_millis)
    });
    let wait = fields.span("Seconds", issues).map(WaitFor::Span).or(until.map(WaitFor::Until));
    let wait = wait.or_else(|| fields.path("TimestampPath", issues).map(WaitFor::UntilPath));
    if given != 1 || wait.is_none() {
        let message = "a Wait state has exactly one of Seconds, SecondsPath, Timestamp and TimestampPath";
        issues.add_with_hint(fields.place.clone(), message, "Seconds: 2.5");
    }
    // With its issue noted, the state stands in for what was meant, so that what follows it is still checked.
    wait.unwrap_or(WaitFor::Span(Span::Fixed(0)))
}

fn choice(fields: &Fields<'_>, issues: &mut Issues) -> Kind {
    let list = fields.list("Choices", issues);
    if list.is_empty() {
        issues.add_with_hint(
            fields.place.clone(),
            "a Choice state has `Choices`, at least one",
            "Choices: [{Variable: $.n, NumericEquals: 1, Next: One}]",
        );
    }
    let mut rules = Vec::new();
    for (nth, rule) in list.iter().enumerate() {
        let at = fields.at("Choices").index(nth);
        let Some(rule) = Fields::of(rule, at, "a rule", issues) else { continue };
        let test = Test::parse(rule.map, &rule.place, issues);
        if !rule.has("Next") {
            issues.add(rule.place.clone(), "`Next` is missing: where this rule leads to");
        }
        rules.extend(test.zip(rule.text("Next", issues).map(str::to_owned)));
    }
    Kind::Choice { rules, default: fields.text("Default", issues).map(str::to_owned) }
}

fn task(fields: &Fields<'_>, parameters: Option<&Template>, issues: &mut Issues) -> Kind {
    let known = || RESOURCES.iter().map(|(name, _)| *name);
    let named = fields.text("Resource", issues);
    let (timeout, heartbeat) = limits(fields, issues);
    if named.is_some_and(|named| named.ends_with(TASK_TOKEN)) {
        if !fields.has("MockApproval") {
            let message = "nobody here sends a task token back; name the state under the tool's `approvals`, and a person does";
            issues.add_with_hint(fields.at("Resource"), message, "approvals: { AskHuman: {} }");
        }
        return Kind::Task { resource: Resource::TaskToken, timeout, heartbeat };
    }
    let Some(&(_, resource)) = RESOURCES.iter().find(|(name, _)| Some(*name) == named) else {
        let hint = named.and_then(|named| suggest(named, known())).map_or_else(
            || format!("one of {}", known().collect::<Vec<_>>().join(", ")),
            |meant| format!("did you mean `{meant}`?"),
        );
        issues.add_with_hint(fields.at("Resource"), format!("there is no resource `{}` here", named.unwrap_or_default()), hint);
        return Kind::Task { resource: Resource::Result, timeout, heartbeat };
    };
    check_parameters(resource, parameters, fields, issues);
    Kind::Task { resource, timeout, heartbeat }
}

/// `TimeoutSeconds` and `HeartbeatSeconds`.
fn limits(fields: &Fields<'_>, issues: &mut Issues) -> (Option<Span>, Option<Span>) {
    let timeout = fields.span("TimeoutSeconds", issues);
    let heartbeat = fields.span("HeartbeatSeconds", issues);
    if let (Some(Span::Fixed(timeout)), Some(Span::Fixed(heartbeat))) = (&timeout, &heartbeat)
        && heartbeat >= timeout
    {
        issues.add(fields.at("HeartbeatSeconds"), "`HeartbeatSeconds` is smaller than `TimeoutSeconds`");
    }
    (timeout, heartbeat)
}

/// `MockApproval`: what the tool's `approvals` say of this state.
fn approval(fields: &Fields<'_>, issues: &mut Issues) -> Option<ApprovalWords> {
    let words = fields.map.get("MockApproval")?;
    let read = ApprovalWords::deserialize(words);
    read.map_err(|error| issues.add(fields.at("MockApproval"), error.to_string())).ok()
}

/// Parameters without a path are read whole; of others, the keys are known at least.
fn check_parameters(resource: Resource, parameters: Option<&Template>, fields: &Fields<'_>, issues: &mut Issues) {
    let place = fields.at("Parameters");
    match parameters {
        None => {}
        Some(Template::Literal(value)) => {
            if let Err(message) = resource.check(value) {
                issues.add(place, message);
            }
        }
        Some(Template::Object(given)) => {
            for (key, _) in given.iter().filter(|(key, _)| !resource.words().contains(&key.as_str())) {
                let hint = suggest(key, resource.words().iter().copied())
                    .map_or_else(|| resource.words().join(", "), |meant| format!("did you mean `{meant}`?"));
                issues.add_with_hint(place.key(key), format!("this resource has no parameter `{key}`"), hint);
            }
        }
        Some(Template::Array(_) | Template::Path(_) | Template::Call(_)) => {
            issues.add(place, format!("the parameters of this resource are a mapping with {}", resource.words().join(", ")));
        }
    }
}

/// `Error` or `Cause`, or the same with `Path`.
fn words_of(key: &str, fields: &Fields<'_>, issues: &mut Issues) -> Option<Words> {
    let by_path = format!("{key}Path");
    if fields.has(key) && fields.has(&by_path) {
        issues.add(fields.at(&by_path), format!("either `{key}` or `{by_path}`, not both"));
    }
    let from = fields.map.get(&by_path).map(|value| Words::From(Template::parse_dynamic(value, &fields.at(&by_path), issues)));
    fields.text(key, issues).map(|text| Words::Fixed(text.to_owned())).or(from)
}

fn parallel(fields: &Fields<'_>, names: &mut BTreeSet<String>, issues: &mut Issues) -> Kind {
    let list = fields.list("Branches", issues);
    if list.is_empty() {
        issues.add(fields.place.clone(), "a Parallel state has `Branches`, at least one, each with `StartAt` and `States`");
    }
    let branches = list
        .iter()
        .enumerate()
        .filter_map(|(nth, branch)| parse::nested(branch, fields.at("Branches").index(nth), names, issues));
    Kind::Parallel(branches.collect())
}

fn map(fields: &Fields<'_>, names: &mut BTreeSet<String>, issues: &mut Issues) -> Option<Kind> {
    // The older names `Iterator` and `Parameters` mean the same (section "Map State").
    let processor = if fields.has("Iterator") { "Iterator" } else { "ItemProcessor" };
    let selector = if fields.has("Parameters") { "Parameters" } else { "ItemSelector" };
    let Some(words) = fields.map.get(processor) else {
        issues.add(fields.place.clone(), "a Map state has an `ItemProcessor` with `StartAt` and `States`");
        return None;
    };
    let each = parse::nested(words, fields.at(processor), names, issues);
    let items = if fields.has("ItemsPath") { fields.path("ItemsPath", issues) } else { Path::parse("$").ok() };
    let at_once = match fields.path("MaxConcurrencyPath", issues) {
        Some(path) => Limit::Path(path),
        None => Limit::Fixed(fields.count("MaxConcurrency", issues).unwrap_or(0)),
    };
    Some(Kind::Map { items: items?, item: fields.template(selector, issues), each: each?, at_once })
}

fn errors(fields: &Fields<'_>, last: bool, issues: &mut Issues) -> Vec<String> {
    let list = fields.list("ErrorEquals", issues);
    let names: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if names.is_empty() || names.len() != list.len() {
        issues.add_with_hint(
            fields.at("ErrorEquals"),
            "a list of names of errors is wanted here, at least one",
            "ErrorEquals: [States.ALL]",
        );
    }
    if names.iter().any(|name| name == "States.ALL") && (names.len() > 1 || !last) {
        issues.add(fields.at("ErrorEquals"), "`States.ALL` stands alone, and in the last of the list");
    }
    names
}

fn retriers(fields: &Fields<'_>, issues: &mut Issues) -> Vec<Retrier> {
    const KNOWN: [&str; 7] =
        ["ErrorEquals", "IntervalSeconds", "BackoffRate", "MaxAttempts", "MaxDelaySeconds", "JitterStrategy", "Comment"];
    let list = fields.list("Retry", issues);
    let mut read = Vec::new();
    for (nth, words) in list.iter().enumerate() {
        let Some(words) = Fields::of(words, fields.at("Retry").index(nth), "a retrier", issues) else { continue };
        words.only(&KNOWN, "a retrier", issues);
        if words.text("JitterStrategy", issues).is_some_and(|strategy| strategy != "NONE") {
            issues.add_with_hint(words.at("JitterStrategy"), "nothing is random here", "JitterStrategy: NONE");
        }
        let rate = words.number("BackoffRate", issues).unwrap_or(2.0);
        if rate < 1.0 {
            issues.add(words.at("BackoffRate"), "`BackoffRate` is at least 1.0");
        }
        read.push(Retrier {
            errors: errors(&words, nth + 1 == list.len(), issues),
            interval: words.seconds("IntervalSeconds", issues).unwrap_or(1000),
            rate,
            attempts: words.count("MaxAttempts", issues).unwrap_or(3),
            longest: words.seconds("MaxDelaySeconds", issues),
        });
    }
    read
}

fn catchers(fields: &Fields<'_>, issues: &mut Issues) -> Vec<Catcher> {
    let list = fields.list("Catch", issues);
    let mut read = Vec::new();
    for (nth, words) in list.iter().enumerate() {
        let Some(words) = Fields::of(words, fields.at("Catch").index(nth), "a catcher", issues) else { continue };
        words.only(&["ErrorEquals", "Next", "ResultPath", "Comment"], "a catcher", issues);
        let errors = errors(&words, nth + 1 == list.len(), issues);
        let result = words.result_path(issues);
        match words.text("Next", issues) {
            Some(next) => read.push(Catcher { errors, next: next.to_owned(), result }),
            None => issues.add(words.place.clone(), "`Next` is missing: where this catcher leads to"),
        }
    }
    read
}

fn progress(fields: &Fields<'_>, issues: &mut Issues) -> Option<StatedProgress> {
    let words = Fields::of(fields.map.get("MockProgress")?, fields.at("MockProgress"), "`MockProgress`", issues)?;
    words.only(&["from", "done", "total", "steps"], "`MockProgress`", issues);
    let Some(done) = words.number("done", issues) else {
        issues.add_with_hint(words.place.clone(), "`done` is missing", "MockProgress: {done: 50, total: 100}");
        return None;
    };
    let steps = words.count("steps", issues).unwrap_or(1).clamp(1, 1000);
    Some(StatedProgress {
        from: words.number("from", issues).unwrap_or(done),
        done,
        total: words.number("total", issues),
        steps: u32::try_from(steps).unwrap_or(1),
    })
}
