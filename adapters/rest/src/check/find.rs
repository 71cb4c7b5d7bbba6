//! The words of `find`.

use jobgate_adapter_api::Place;

use super::result::MOST_EACH;
use super::tool::{reading, transpose};
use super::{Checker, pages, request, submit};
use crate::language::Scope;
use crate::plan::{DetailPlan, FindPlan, ListPlan, RequestPlan};
use crate::words::{Detail, Find};

/// Compiles `find`; `scope` knows the arguments and the lookups.
pub(super) fn find(checker: &mut Checker<'_>, place: &Place, words: &Find, scope: &Scope) -> Option<FindPlan> {
    let request = request::check(checker, &place.key("request"), &words.request, scope);
    let mut of_job = scope.clone().with_answer();
    let unsure = transpose(words.unsure.as_ref().map(|source| checker.condition(&place.key("unsure"), source, &of_job)));
    let mut request = request?;
    let list = transpose(list(checker, place, words, &mut request, scope));
    if words.items.is_some() {
        of_job = of_job.with("item");
    }
    if words.detail.is_some() {
        of_job = of_job.with("detail");
    }
    let job = submit::names(checker, &place.key("job"), &words.job, &of_job)?;
    let (list, unsure) = (list?, unsure?);
    let uses_key = request.uses("key") || job.uses("key") || list.as_ref().is_some_and(|list| list.uses("key"));
    if !uses_key {
        let hint = if list.is_some() { "match: item.name == key" } else { "query: { tag: \"{{ key }}\" }" };
        let message = "a job is found by the `key` of its submit; nothing here uses `key`";
        checker.issues.add_with_hint(place.clone(), message, hint);
    }
    let doubts = |name: &str| unsure.as_ref().is_some_and(|unsure| unsure.uses(name));
    let reading = reading(&words.accept, |name| job.uses(name) || doubts(name) || (list.is_some() && name == "body"));
    Some(FindPlan { request, reading, not_found: words.not_found.clone(), list, unsure, job })
}

/// `None` where the answer is no list.
#[expect(clippy::option_option, reason = "an answer that is no list is no failure")]
fn list(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &Find,
    request: &mut RequestPlan,
    scope: &Scope,
) -> Option<Option<ListPlan>> {
    let Some(items) = &words.items else {
        let idle = [("pages", words.pages.is_some()), ("match", words.matches.is_some()), ("detail", words.detail.is_some())];
        for (word, _) in idle.into_iter().filter(|(_, said)| *said) {
            let message = format!("`{word}` is for a list, and nothing says where the answer has one");
            checker.issues.add_with_hint(place.key(word), message, "items: \"{{ body.runs }}\"");
        }
        return None;
    };
    let answered = scope.clone().with_answer();
    let items = checker.text(&place.key("items"), items, &answered);
    let pages = words.pages.as_ref().map(|pages| {
        let place = place.key("pages");
        if pages.items.is_some() {
            checker.issues.add(place.key("items"), "where the list is, is said beside `pages` here");
        }
        pages::pages(checker, &place, pages, items.clone(), request, scope)
    });
    let of_item = answered.with("item");
    let detail = words.detail.as_ref().map(|words| detail(checker, &place.key("detail"), words, &of_item));
    let of_match = if words.detail.is_some() { of_item.clone().with("detail") } else { of_item };
    let Some(matches) = &words.matches else {
        checker.issues.add_with_hint(place.clone(), "`items` needs `match`: which of them is our job", "match: item.name == key");
        return Some(None);
    };
    let matches = checker.condition(&place.key("match"), matches, &of_match);
    let compiled = || Some(ListPlan { pages: transpose(pages)?, items: items?, matches: matches?, detail: transpose(detail)? });
    Some(compiled())
}

fn detail(checker: &mut Checker<'_>, place: &Place, words: &Detail, scope: &Scope) -> Option<DetailPlan> {
    if !(1..=MOST_EACH).contains(&words.most) {
        let message = format!("`most` is {}, and has to be 1 to {MOST_EACH}", words.most);
        checker.issues.add_with_hint(place.key("most"), message, "most: 20");
    }
    let when = transpose(words.when.as_ref().map(|source| checker.condition(&place.key("when"), source, scope)));
    let request = request::check(checker, &place.key("request"), &words.request, scope);
    // Whether `match` and `job` need the body is for them to say; a page that is none is found out there.
    let reading = reading(&words.accept, |_| false);
    Some(DetailPlan { when: when?, request: request?, reading, missing: words.missing.clone(), most: words.most })
}
