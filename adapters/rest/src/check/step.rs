//! The words of further requests.

use jobgate_adapter_api::Place;

use super::tool::{reading, transpose};
use super::{Checker, pages, request, result};
use crate::language::Scope;
use crate::plan::StepPlan;
use crate::words::Step;

/// Requests that one step may make.
const MOST_REQUESTS: usize = 100;

/// Compiles the steps of one place; the scope that comes back knows `steps` with their names.
pub(super) fn steps(checker: &mut Checker<'_>, place: &Place, words: &[Step], scope: &Scope) -> (Vec<StepPlan>, Scope) {
    for (nth, step) in words.iter().enumerate().filter(|(_, step)| step.cache.is_some()) {
        let message = format!("`{}` is asked for anew each time; only `lookups` are remembered", step.name.escape_debug());
        checker.issues.add(place.index(nth).key("cache"), message);
    }
    named(checker, place, words, scope)
}

/// The same, where `cache` says something.
pub(super) fn named(checker: &mut Checker<'_>, place: &Place, words: &[Step], scope: &Scope) -> (Vec<StepPlan>, Scope) {
    let mut scope = scope.clone();
    let mut plans = Vec::new();
    for (nth, step) in words.iter().enumerate() {
        let place = place.index(nth);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !step.name.chars().all(word) || !step.name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let message = format!("`{}` is no name for a step: it has letters, digits and `_`", step.name.escape_debug());
            checker.issues.add_with_hint(place.key("name"), message, "name: jobs");
        } else if scope.has_step(&step.name) {
            checker.issues.add(place.key("name"), format!("there is another step `{}` before this one", step.name));
        }
        plans.extend(compile(checker, &place, step, &scope));
        scope = scope.with_step(&step.name);
    }
    (plans, scope)
}

fn compile(checker: &mut Checker<'_>, place: &Place, step: &Step, scope: &Scope) -> Option<StepPlan> {
    let (repeat, scope) = result::repeat(checker, place, (step.each.as_deref(), step.most, step.when.as_deref()), scope);
    let request = request::check(checker, &place.key("request"), &step.request, &scope);
    let mut request = request?;
    let mut answered = scope.clone().with_answer();
    let pages = match &step.pages {
        None => None,
        Some(words) => {
            let place = place.key("pages");
            let items = pages::items_of(checker, &place, words, &answered);
            answered = answered.with("items");
            Some(pages::pages(checker, &place, words, items, &mut request, &scope)?)
        }
    };
    let value = transpose(step.value.as_ref().map(|source| checker.text(&place.key("value"), source, &answered)))?;
    let requests = pages.as_ref().map_or(1, |pages| pages.most) * repeat.each.as_ref().map_or(1, |_| repeat.most);
    if requests > MOST_REQUESTS {
        let message = format!("`each` with `pages` may make {requests} requests, and {MOST_REQUESTS} are the most");
        checker.issues.add_with_hint(place.key("most"), message, "most: 10");
    }
    // Without `value` whoever comes later decides whether the body is needed; a list is in it.
    let reading =
        reading(&step.accept, |name| value.as_ref().is_some_and(|value| value.uses(name)) || (pages.is_some() && name == "body"));
    let cache = step.cache.map(Into::into);
    Some(StepPlan { name: step.name.clone(), repeat, request, reading, missing: step.missing.clone(), pages, value, cache })
}
