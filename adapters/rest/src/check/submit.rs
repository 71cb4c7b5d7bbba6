//! The words of `submit`.

use jobgate_adapter_api::Place;

use super::tool::{reading, transpose};
use super::{Checker, request};
use crate::language::Scope;
use crate::plan::{NamesPlan, OutcomePlan, SubmitPlan};
use crate::words::{Names, Outcome, OutcomeWord, Submit};

pub(super) fn submit(checker: &mut Checker<'_>, place: &Place, words: &Submit, scope: &Scope) -> Option<SubmitPlan> {
    let request = request::check(checker, &place.key("request"), &words.request, scope);
    let answered = scope.clone().with_answer();
    let job = names(checker, &place.key("job"), &words.job, &answered);
    let busy = words.busy.as_ref().map(|when| checker.condition(&place.key("busy"), when, &answered));
    let rejected: Vec<_> = words
        .rejected
        .iter()
        .enumerate()
        .filter_map(|(nth, rule)| {
            let place = place.key("rejected").index(nth);
            let message = checker.optional_text(&place.key("message"), rule.message.as_deref(), &answered);
            Some((checker.condition(&place.key("when"), &rule.when, &answered)?, message))
        })
        .collect();
    let sends_key = request.as_ref().is_none_or(|request| request.uses("key"));
    let outcomes: Vec<_> = words
        .outcomes
        .iter()
        .enumerate()
        .filter_map(|(nth, words)| {
            let place = place.key("outcomes").index(nth);
            if words.means == OutcomeWord::Existing && !sends_key {
                let message =
                    "a job that exists is ours only where the submit names it by its `key`; nothing in the request uses `key`";
                checker.issues.add_with_hint(place.key("means"), message, "body: { name: \"{{ key }}\" }");
            }
            outcome(checker, &place, words, &answered, job.as_ref())
        })
        .collect();
    let (job, busy) = (job?, transpose(busy)?);
    let conditions = || busy.iter().chain(rejected.iter().map(|(when, _)| when));
    let reading = reading(&words.accept, |name| job.uses(name) || conditions().any(|when| when.uses(name)));
    Some(SubmitPlan { request: request?, reading, job, outcomes, busy, rejected })
}

fn outcome(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &Outcome,
    scope: &Scope,
    usual: Option<&NamesPlan>,
) -> Option<OutcomePlan> {
    if words.code.is_none() && words.when.is_none() {
        checker.issues.add_with_hint(place.clone(), "an outcome needs `code` or `when`", "code: [409]");
    }
    let starts = matches!(words.means, OutcomeWord::Started | OutcomeWord::Existing | OutcomeWord::Finished);
    if words.job.is_some() && !starts {
        let message = "there is no job to be named where none was started";
        checker.issues.add_with_hint(place.key("job"), message, "means: started");
    }
    if words.read.is_some() && words.means != OutcomeWord::Existing {
        let message = "only a job that exists already is read back";
        checker.issues.add_with_hint(place.key("read"), message, "means: existing");
    }
    if words.message.is_some() && starts {
        checker.issues.add(place.key("message"), "a `message` is for a submit that came to nothing; this one starts a job");
    }
    let when = words.when.as_ref().map(|source| checker.condition(&place.key("when"), source, scope));
    let message = checker.optional_text(&place.key("message"), words.message.as_deref(), scope);
    let job = words.job.as_ref().map(|words| names(checker, &place.key("job"), words, scope));
    let read = words.read.as_ref().map(|words| {
        let request = request::check(checker, &place.key("read").key("request"), &words.request, scope)?;
        Some((request, words.accept.clone()))
    });
    let (when, job, read) = (transpose(when)?, transpose(job)?, transpose(read)?);
    let body = starts && job.as_ref().or(usual).is_some_and(|job| job.uses("body"));
    Some(OutcomePlan { code: words.code.clone(), when, means: words.means, message, job, body, read })
}

pub(super) fn names(checker: &mut Checker<'_>, place: &Place, words: &Names, scope: &Scope) -> Option<NamesPlan> {
    let handles = checker.texts(&place.key("handles"), &words.handles, scope);
    if words.id.trim().is_empty() {
        checker.issues.add_with_hint(place.key("id"), "the id is empty", "id: \"{{ body.id }}\"");
        return None;
    }
    Some(NamesPlan { id: checker.text(&place.key("id"), &words.id, scope)?, handles })
}

impl NamesPlan {
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.id.uses(name) || self.handles.iter().any(|(_, handle)| handle.uses(name))
    }
}
