//! The words of deliveries: how the provider's are opened, and what each tool makes of them.

use jobgate_adapter_api::Place;

use super::tool::Scopes;
use super::{Checker, progress, result, status};
use crate::language::{Scope, Text};
use crate::plan::{DeliveryPlan, FailurePlan, ResultPlan, Rules, StatusPlan, ToldPlan};
use crate::words::{Delivery, Job, Request, Step, Told};

/// The provider's `delivery:`.
pub(super) fn check(checker: &mut Checker<'_>, place: &Place, words: &Delivery) -> Option<DeliveryPlan> {
    let scope = Scope::delivery();
    let of_entry = of_entry(words);
    let when = words.when.as_ref().and_then(|source| checker.condition(&place.key("when"), source, &scope));
    let jobs = words.jobs.as_ref().and_then(|source| value(checker, &place.key("jobs"), source, &scope, "{{ body.events }}"));
    let id = words.job.as_ref().and_then(|source| value(checker, &place.key("job"), source, &of_entry, "{{ body.id }}"));
    let body = words.body.as_ref().and_then(|source| value(checker, &place.key("body"), source, &of_entry, "{{ body.data }}"));
    if words.job.is_none() && words.jobs.is_none() {
        let message = "nothing says which job a delivery tells of: it needs `job`, or `jobs` for a list of them";
        checker.issues.add_with_hint(place.clone(), message, "job: \"{{ body.id }}\"");
    }
    let complete = when.is_some() == words.when.is_some()
        && jobs.is_some() == words.jobs.is_some()
        && id.is_some() == words.job.is_some()
        && body.is_some() == words.body.is_some();
    if words.hint && words.body.is_some() {
        let message = "with `hint: true` nothing but the job's name is read of a delivery, so `body` would never be used";
        checker.issues.add_with_hint(place.key("body"), message, "leave out `body`, or `hint`");
    }
    complete.then_some(DeliveryPlan { parse: words.parse, when, jobs, id, body, hint: words.hint })
}

/// What `job` and `body` know.
fn of_entry(words: &Delivery) -> Scope {
    if words.jobs.is_some() { Scope::delivery().with("item") } else { Scope::delivery() }
}

/// A text that has to take its value from the delivery.
fn value(checker: &mut Checker<'_>, place: &Place, source: &str, scope: &Scope, example: &str) -> Option<Text> {
    if !source.contains("{{") && !source.contains("{%") {
        let message = format!("`{source}` is the same for every delivery; a value of the delivery is written in braces");
        checker.issues.add_with_hint(place.clone(), message, format!("\"{example}\""));
        return None;
    }
    checker.text(place, source, scope)
}

/// What a tool makes of deliveries; `None` where the provider's cannot be read.
pub(super) fn told(
    checker: &mut Checker<'_>,
    place: &Place,
    provider: Option<&Delivery>,
    job: &Job,
    scopes: &Scopes,
    plans: (&StatusPlan, &ResultPlan, &FailurePlan),
) -> Option<ToldPlan> {
    // Where no rule at all ends a job well, that is said already.
    if job.status.request.is_none() || (!plans.0.sees_success() && status::ends_well(job)) {
        needs_a_delivery(checker, place, provider, job);
    } else if provider.is_none() && job.delivery.is_some() {
        let message = "the provider has no `delivery` section that says which job a delivery tells of";
        checker.issues.add_with_hint(place.key("delivery"), message, "delivery: { job: \"{{ body.id }}\" }");
    }
    let provider = provider?;
    let (status, result, failure) = plans;
    // A log is read with a look; where none shows how a job ends, its deliveries are all there is.
    let looks = status.sees_success();
    let own = job.delivery.as_ref();
    if provider.hint && own.is_some() {
        let message = "the provider's deliveries are hints (`delivery.hint`), of which nothing but the job's name is read";
        checker.issues.add_with_hint(place.key("delivery"), message, "leave out `delivery` here, or `hint: true` there");
    }
    let place_of_own = place.key("delivery");
    let body = own
        .and_then(|own| own.body.as_ref())
        .and_then(|source| value(checker, &place_of_own.key("body"), source, &of_entry(provider), "{{ body.data }}"));
    let rules = match own {
        Some(own) => rules(checker, &place_of_own, own, scopes, &status.rules),
        None => status.rules.clone(),
    };
    let of_delivery = scopes.shown.clone().with("delivery");
    let output = match own.and_then(|own| own.result.as_ref()) {
        Some(words) => {
            let place = place_of_own.key("result");
            asks_nobody(checker, &place, words.request.as_ref(), &words.steps, "data: \"{{ body.output }}\"");
            Some(result::output(checker, &place, words, &of_delivery))
        }
        None => (!(result.further.asks() || looks && result.output.uses("log"))).then(|| result.output.clone()),
    };
    let reason = match own.and_then(|own| own.failure.as_ref()) {
        Some(words) => {
            let place = place_of_own.key("failure");
            asks_nobody(checker, &place, words.request.as_ref(), &words.steps, "message: \"{{ body.error }}\"");
            Some(result::reason(checker, &place, words, false, &of_delivery))
        }
        None => (!(failure.further.asks() || looks && failure.reason.needs_log())).then(|| failure.reason.clone()),
    };
    Some(ToldPlan { body, rules, output, reason })
}

fn asks_nobody(checker: &mut Checker<'_>, place: &Place, request: Option<&Request>, steps: &[Step], example: &str) {
    for (word, said) in [("request", request.is_some()), ("steps", !steps.is_empty())] {
        if said {
            let message = "a delivery is read without asking anybody, so there is no second request";
            checker.issues.add_with_hint(place.key(word), message, example);
        }
    }
}

/// The tool's own rules; what they do not say is as in `status`.
fn rules(checker: &mut Checker<'_>, place: &Place, own: &Told, scopes: &Scopes, status: &Rules) -> Rules {
    let scope = scopes.shown.clone().with("delivery");
    let word = checker.optional_text(&place.key("word"), own.word.as_deref(), &scopes.answer.clone().with("delivery"));
    let word = word.or_else(|| status.word.clone());
    let list = match &own.rules {
        Some(words) => status::rules(checker, place, words, word.is_some(), &scope),
        None => status.list.clone(),
    };
    let message = checker.optional_text(&place.key("message"), own.message.as_deref(), &scope);
    let progress = match &own.progress {
        Some(words) => progress::check(checker, &place.key("progress"), words, &scope),
        None => status.progress.clone(),
    };
    let handles = match &own.handles {
        Some(words) => checker.texts(&place.key("handles"), words, &scope),
        None => status.handles.clone(),
    };
    Rules { word, list, message: message.or_else(|| status.message.clone()), progress, handles, pins: status.pins.clone() }
}

/// A job that nobody can see end well lives by its deliveries: they must say everything.
fn needs_a_delivery(checker: &mut Checker<'_>, place: &Place, provider: Option<&Delivery>, job: &Job) {
    if provider.is_none() {
        let message = "a status that never says `state: succeeded`, or has no `request`, needs the provider's `delivery`, which says how its deliveries are read";
        checker.issues.add_with_hint(place.key("status"), message, "request: { path: \"/jobs/{{ job.id }}\" }");
    }
    if provider.is_some_and(|provider| provider.hint) {
        let message =
            "nobody would see this job end: its status cannot show it, and the provider's deliveries are hints (`delivery.hint`)";
        checker.issues.add_with_hint(place.key("status"), message, "request: { path: \"/jobs/{{ job.id }}\" }");
    }
    let own = job.delivery.as_ref();
    let asks = |request: &Option<Request>, steps: &[Step]| {
        let word = if steps.is_empty() { "request" } else { "steps" };
        (request.is_some() || !steps.is_empty()).then_some(word)
    };
    let result = asks(&job.result.request, &job.result.steps).filter(|_| own.is_none_or(|own| own.result.is_none()));
    let failure = asks(&job.failure.request, &job.failure.steps).filter(|_| own.is_none_or(|own| own.failure.is_none()));
    for (name, asks, example) in
        [("result", result, "data: \"{{ body.output }}\""), ("failure", failure, "message: \"{{ body.error }}\"")]
    {
        if let Some(word) = asks {
            let message = format!(
                "a job whose status request is missing, or never says `state: succeeded`, ends by a delivery, which is read without asking anybody: what its `{name}` says has to be in it"
            );
            checker.issues.add_with_hint(place.key(name).key(word), message, example);
        }
    }
    if job.input.is_some() && job.status.request.is_none() {
        let message = "before an answer is handed over the job is looked at, so a job that asks needs `status.request`";
        checker.issues.add_with_hint(place.key("input"), message, "request: { path: \"/jobs/{{ job.id }}\" }");
    }
}
