//! The words of `status`.

use jobgate_adapter_api::Place;

use super::tool::{Scopes, reading, transpose};
use super::{Checker, progress, request, resolve, step};
use crate::language::Scope;
use crate::plan::{LatePlan, RulePlan, Rules, StatusPlan};
use crate::words::{Job, Rule, StateWord};

/// Compiles `status`. From here on what reads a look knows its steps, too.
pub(super) fn status(checker: &mut Checker<'_>, place: &Place, job: &Job, scopes: &mut Scopes) -> Option<StatusPlan> {
    let words = &job.status;
    let resolve = resolve::all(checker, place, words, &scopes.job);
    let (steps, of_status) = step::steps(checker, &place.key("steps"), &words.steps, &scopes.status);
    scopes.status = of_status;
    scopes.shown = if job.log.is_some() { scopes.status.clone().with("log") } else { scopes.status.clone() };
    let of_rules = &scopes.shown;
    let request =
        transpose(words.request.as_ref().map(|request| request::check(checker, &place.key("request"), request, &scopes.job)));
    let word = checker.optional_text(&place.key("word"), words.word.as_deref(), &scopes.answer);
    let list = rules(checker, place, &words.rules, words.word.is_some(), of_rules);
    if !ends_well(job) {
        let message = "no rule ends a job well: none has `state: succeeded`";
        checker.issues.add_with_hint(place.key("rules"), message, "{ is: [done], state: succeeded }");
    }
    let message = checker.optional_text(&place.key("message"), words.message.as_deref(), of_rules);
    let progress = words.progress.as_ref();
    let progress = progress.and_then(|words| progress::check(checker, &place.key("progress"), words, of_rules));
    let handles = checker.texts(&place.key("handles"), &words.handles, of_rules);
    let pins = checker.texts(&place.key("pins"), &words.pins, of_rules);
    for name in words.pins.keys() {
        if words.handles.contains_key(name) || job.submit.job.handles.contains_key(name) {
            let message =
                format!("`{name}` is a handle as well, which changes with what teaches it; a pin has a name of its own");
            checker.issues.add(place.key("pins").key(name), message);
        }
    }
    let rules = Rules { word, list, message, progress, handles, pins };
    let reading = reading(&words.accept, |name| rules.uses(name));
    let resolved = resolve.len() == words.resolve.len();
    resolved.then_some(StatusPlan { resolve, request: request?, reading, not_found: words.not_found.clone(), steps, rules })
}

/// Whether any rule, of looks or of deliveries, ends a job well.
pub(super) fn ends_well(job: &Job) -> bool {
    let told = job.delivery.iter().filter_map(|told| told.rules.as_ref()).flatten();
    job.status.rules.iter().chain(told).any(|rule| rule.state == StateWord::Succeeded)
}

/// The rules under `place`; `has_word` is whether anything says where the status word is.
pub(super) fn rules(checker: &mut Checker<'_>, place: &Place, words: &[Rule], has_word: bool, scope: &Scope) -> Vec<RulePlan> {
    let rule = |(nth, rule): (usize, &Rule)| {
        let place = place.key("rules").index(nth);
        if rule.when.is_none() && rule.is.is_empty() {
            checker.issues.add_with_hint(place, "a rule needs `when` or `is`", "{ is: [done], state: succeeded }");
            return None;
        }
        if !rule.is.is_empty() && !has_word {
            checker.issues.add_with_hint(
                place.key("is"),
                "`is` compares the status word, and `status.word` does not say where it is",
                "word: \"{{ body.status }}\"",
            );
        }
        let message = checker.optional_text(&place.key("message"), rule.message.as_deref(), scope);
        let when = match &rule.when {
            Some(source) => Some(checker.condition(&place.key("when"), source, scope)?),
            None => None,
        };
        let late = late(checker, &place, rule, scope);
        Some(RulePlan { when, is: rule.is.clone(), state: rule.state, message, late })
    };
    words.iter().enumerate().filter_map(rule).collect()
}

/// How long a rule may hold.
fn late(checker: &mut Checker<'_>, place: &Place, words: &Rule, scope: &Scope) -> Option<LatePlan> {
    let message = checker.optional_text(&place.key("late_message"), words.late_message.as_deref(), scope);
    let Some(within) = words.within else {
        for (name, said) in [("late", words.late.is_some()), ("late_message", words.late_message.is_some())] {
            if said {
                let message = format!("`{name}` says what a job is that takes longer, and nothing says longer than what");
                checker.issues.add_with_hint(place.key(name), message, "within: 1h");
            }
        }
        return None;
    };
    if !matches!(words.state, StateWord::Queued | StateWord::Running | StateWord::InputRequired) {
        let message = "a limit of time is for a state that passes: `queued`, `running` or `input_required`";
        checker.issues.add(place.key("within"), message);
    }
    Some(LatePlan { within: within.get(), state: words.late.unwrap_or_default(), message })
}

impl Rules {
    fn uses(&self, name: &str) -> bool {
        self.word.as_ref().is_some_and(|word| word.uses(name))
            || self.list.iter().any(|rule| rule.when.as_ref().is_some_and(|when| when.uses(name)))
    }
}
