//! The words of a tool's `job:` section.

use jobgate_adapter_api::ToolWords;

use super::{Checker, cancel, delivery, find, input, log, result, status, step, submit};
use crate::codes::Codes;
use crate::language::Scope;
use crate::plan::{Reading, ToolPlan};
use crate::words::{Delivery, Job};

/// Which names exist where.
pub(super) struct Scopes {
    /// A request about a job.
    pub(super) job: Scope,
    /// What reads its answer.
    pub(super) answer: Scope,
    /// And knows the status word.
    pub(super) status: Scope,
    /// And knows the log, where there is one.
    pub(super) shown: Scope,
}

/// Compiles a tool; `None` where a part of it could not be.
pub(super) fn check(checker: &mut Checker<'_>, tool: &ToolWords<Job>, deliveries: Option<&Delivery>) -> Option<ToolPlan> {
    let Job { submit: submit_words, idempotent, find: find_words, status: status_words, .. } = &tool.words;
    let place = &tool.place;
    let told_handles = tool.words.delivery.iter().flat_map(|told| &told.handles).flat_map(|handles| handles.keys());
    let mut secrets: Vec<String> = told_handles.clone().cloned().collect();
    let told_names = submit_words.outcomes.iter().filter_map(|outcome| outcome.job.as_ref());
    let named = std::iter::once(&submit_words.job).chain(told_names).flat_map(|names| names.handles.keys());
    let resolved = status_words.resolve.iter().flat_map(|words| std::iter::once(&words.handle).chain(words.handles.keys()));
    let handles = named.chain(status_words.handles.keys()).chain(status_words.pins.keys()).chain(told_handles).chain(resolved);
    for (section, names) in
        [("submit", &submit_words.job.handles), ("status", &status_words.handles), ("status", &status_words.pins)]
    {
        for name in names.keys().filter(|name| name.starts_with('_')) {
            let message = format!("`{name}`: names that begin with `_` are the adapter's own");
            checker.issues.add(place.key(section), message);
        }
    }
    let of_job = Scope::request().with_job(handles.cloned().collect());
    let of_answer = of_job.clone().with_answer();
    let mut scopes = Scopes { status: of_answer.clone().with("word"), shown: of_answer.clone(), answer: of_answer, job: of_job };

    let of_lookups = Scope::request().with_args(&tool.input_schema);
    let (lookups, looked_up) = step::named(checker, &place.key("lookups"), &tool.words.lookups, &of_lookups);
    let of_submit = looked_up.clone().with("callback");
    let submit = submit::submit(checker, &place.key("submit"), submit_words, &of_submit);
    if *idempotent && submit.as_ref().is_some_and(|submit| !submit.request.uses("key")) {
        let message = "`idempotent: true` needs the `key` in the submit's request; nothing in it uses `key`";
        checker.issues.add_with_hint(place.key("idempotent"), message, "headers: { Idempotency-Key: \"{{ key }}\" }");
    }
    let find = find_words.as_ref().map(|words| find::find(checker, &place.key("find"), words, &looked_up));
    let status = status::status(checker, &place.key("status"), &tool.words, &mut scopes);
    let (of_status, shown) = (&scopes.status, &scopes.shown);
    let log = tool.words.log.as_ref().map(|words| log::log(checker, &place.key("log"), words, of_status));
    log::fits(checker, place, &tool.words);
    let result = result::result(checker, &place.key("result"), &tool.words.result, shown);
    let shows_log = tool.words.failure.log.unwrap_or(log.is_some());
    let failure = result::failure(checker, &place.key("failure"), &tool.words.failure, shows_log, shown);
    let cancel = tool.words.cancel.as_ref();
    let cancel = cancel.map(|words| cancel::check(checker, &place.key("cancel"), words, &tool.words, &scopes));
    let input = tool.words.input.as_ref().map(|words| input::input(checker, &place.key("input"), words, &tool.words, of_status));
    input::asks_and_answers(checker, place, &tool.words);
    let (status, result, failure) = (status?, result?, failure?);
    secrets.retain(|name| {
        let name = format!("job.handles.{name}");
        !result.output.uses(&name) && !failure.reason.uses(&name) && !status.rules.shows(&name)
    });
    let told = delivery::told(checker, place, deliveries, &tool.words, &scopes, (&status, &result, &failure));

    (lookups.len() == tool.words.lookups.len()).then_some(())?;
    Some(ToolPlan {
        idempotent: *idempotent,
        lookups,
        submit: submit?,
        find: transpose(find)?,
        status,
        log: transpose(log)?,
        secrets,
        result,
        failure,
        told,
        cancel: transpose(cancel)?,
        input: transpose(input)?,
    })
}

/// `None` for a part that could not be compiled, `Some(None)` for one that is not there.
#[expect(clippy::option_option, reason = "a part that is not there is no failure")]
pub(super) fn transpose<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    match part {
        None => Some(None),
        Some(part) => part.map(Some),
    }
}

pub(super) fn reading(accept: &Codes, uses: impl Fn(&str) -> bool) -> Reading {
    Reading { accept: accept.clone(), body: uses("body"), text: uses("text") }
}
