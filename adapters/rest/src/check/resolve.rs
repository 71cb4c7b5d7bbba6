//! The words of `status.resolve`.

use jobgate_adapter_api::Place;

use super::tool::{reading, transpose};
use super::{Checker, request, status};
use crate::language::Scope;
use crate::plan::{ResolvePlan, Rules};
use crate::words::{Resolve, StateWord, Status};

pub(super) fn all(checker: &mut Checker<'_>, place: &Place, words: &Status, of_job: &Scope) -> Vec<ResolvePlan> {
    if !words.resolve.is_empty() && words.request.is_none() {
        let message = "what is resolved is for the status request, and there is none";
        checker.issues.add_with_hint(place.clone(), message, "request: { path: \"/builds/{{ job.handles.build }}\" }");
    }
    let resolve = |(nth, words)| one(checker, &place.key("resolve").index(nth), words, of_job);
    words.resolve.iter().enumerate().filter_map(resolve).collect()
}

fn one(checker: &mut Checker<'_>, place: &Place, words: &Resolve, of_job: &Scope) -> Option<ResolvePlan> {
    for name in std::iter::once(&words.handle).chain(words.handles.keys()).filter(|name| name.starts_with('_')) {
        checker.issues.add(place.clone(), format!("`{name}`: names that begin with `_` are the adapter's own"));
    }
    let request = request::check(checker, &place.key("request"), &words.request, of_job);
    let answered = of_job.clone().with_answer();
    let value = checker.text(&place.key("value"), &words.value, &answered);
    let handles = checker.texts(&place.key("handles"), &words.handles, &answered);
    for (nth, rule) in words.rules.iter().enumerate() {
        let place = place.key("rules").index(nth);
        if !matches!(rule.state, StateWord::Queued | StateWord::Cancelled | StateWord::Failed | StateWord::Gone) {
            let message = format!("before `{}` is known a job is `queued`, `cancelled`, `failed` or `gone`", words.handle);
            checker.issues.add_with_hint(place.key("state"), message, "state: cancelled");
        }
        if !rule.is.is_empty() {
            let message = "there is no status word here; `when` says what the answer has to be";
            checker.issues.add_with_hint(place.key("is"), message, "when: body.cancelled");
        }
        if rule.within.is_some() {
            let message = "how long it may take is said once, beside `rules`";
            checker.issues.add_with_hint(place.key("within"), message, "within: 10m");
        }
    }
    // `is` is complained of above, so the word is not missed as well.
    let list = status::rules(checker, place, &words.rules, true, &answered);
    if words.late.is_some() && words.within.is_none() {
        let message = "`late` says why a job that takes longer has failed, and nothing says longer than what";
        checker.issues.add_with_hint(place.key("late"), message, "within: 10m");
    }
    let late = transpose(words.late.as_ref().map(|source| checker.text(&place.key("late"), source, of_job)));
    let (request, value) = (request?, value?);
    let conditions = || list.iter().filter_map(|rule| rule.when.as_ref());
    let reading = reading(&words.accept, |name| value.uses(name) || conditions().any(|when| when.uses(name)));
    Some(ResolvePlan {
        handle: words.handle.clone(),
        request,
        reading,
        missing: words.missing.clone(),
        value,
        handles,
        rules: Rules { list, ..Rules::default() },
        within: words.within.map(Into::into),
        late: late?,
    })
}
