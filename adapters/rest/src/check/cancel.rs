//! The words of `cancel`.

use jobgate_adapter_api::Place;

use super::tool::{Scopes, transpose};
use super::{Checker, request, result, step};
use crate::codes::Codes;
use crate::language::Scope;
use crate::plan::{CancelPlan, Reading, RepeatPlan, WayPlan};
use crate::words::{Cancel, Job, Request, Way};

const EXAMPLE: &str = "request: { method: DELETE, path: \"/jobs/{{ job.id }}\" }";

/// The words that `cancel` and `escalate` share: one request, or several ways.
struct Short<'w> {
    request: Option<&'w Request>,
    accept: Option<&'w Codes>,
    already_ended: Option<&'w Codes>,
    refused: Option<&'w Codes>,
    ways: &'w [Way],
}

pub(super) fn check(checker: &mut Checker<'_>, place: &Place, words: &Cancel, job: &Job, scopes: &Scopes) -> Option<CancelPlan> {
    if words.look && job.status.request.is_none() {
        let message = "a job whose status has no `request` cannot be looked at before it is cancelled";
        checker.issues.add_with_hint(place.key("look"), message, "look: false");
    }
    let known = if words.look { &scopes.status } else { &scopes.job };
    let (steps, scope) = step::steps(checker, &place.key("steps"), &words.steps, known);
    let short = Short {
        request: words.request.as_ref(),
        accept: words.accept.as_ref(),
        already_ended: words.already_ended.as_ref(),
        refused: words.refused.as_ref(),
        ways: &words.ways,
    };
    let usual = ways(checker, place, &short, &scope);
    let harder = words.escalate.as_ref().map(|words| {
        let place = place.key("escalate");
        if words.after.get().is_zero() {
            checker.issues.add_with_hint(place.key("after"), "a job needs some time to stop", "after: 2m");
        }
        let short = Short {
            request: words.request.as_ref(),
            accept: words.accept.as_ref(),
            already_ended: words.already_ended.as_ref(),
            refused: words.refused.as_ref(),
            ways: &words.ways,
        };
        Some((words.after.get(), ways(checker, &place, &short, &scope)?))
    });
    (steps.len() == words.steps.len()).then_some(())?;
    Some(CancelPlan { look: words.look, steps, ways: usual?, escalate: transpose(harder)? })
}

fn ways(checker: &mut Checker<'_>, place: &Place, words: &Short<'_>, scope: &Scope) -> Option<Vec<WayPlan>> {
    match (words.request, words.ways) {
        (Some(request), []) => {
            let request = request::check(checker, &place.key("request"), request, scope)?;
            let codes = |codes: Option<&Codes>| codes.cloned().unwrap_or_else(Codes::none);
            let reading = Reading { accept: words.accept.cloned().unwrap_or_default(), body: false, text: false };
            let (already_ended, refused) = (codes(words.already_ended), codes(words.refused));
            Some(vec![WayPlan { when: None, repeat: RepeatPlan::default(), request, reading, already_ended, refused }])
        }
        (None, ways @ [_, ..]) => {
            for (name, said) in [("accept", words.accept), ("already_ended", words.already_ended), ("refused", words.refused)] {
                if said.is_some() {
                    checker.issues.add(place.key(name), format!("with `ways` each way has its own `{name}`"));
                }
            }
            let plans: Vec<WayPlan> = ways
                .iter()
                .enumerate()
                .filter_map(|(nth, words)| way(checker, &place.key("ways").index(nth), words, scope))
                .collect();
            if let Some(nth) = ways.iter().position(|way| way.when.is_none()).filter(|nth| nth + 1 < ways.len()) {
                let message = "a way without `when` is always taken, so those after it never are";
                checker.issues.add(place.key("ways").index(nth), message);
            }
            (plans.len() == ways.len()).then_some(plans)
        }
        (Some(_), [_, ..]) => {
            checker.issues.add(place.key("ways"), "a job is stopped by a `request` or in one of several `ways`, not both");
            None
        }
        (None, []) => {
            checker.issues.add_with_hint(place.clone(), "nothing says how a job is stopped", EXAMPLE);
            None
        }
    }
}

fn way(checker: &mut Checker<'_>, place: &Place, words: &Way, scope: &Scope) -> Option<WayPlan> {
    let when = words.when.as_ref().map(|source| checker.condition(&place.key("when"), source, scope));
    let (repeat, of_each) = result::repeat(checker, place, (words.each.as_deref(), words.most, None), scope);
    let request = request::check(checker, &place.key("request"), &words.request, &of_each)?;
    let reading = Reading { accept: words.accept.clone(), body: false, text: false };
    let (already_ended, refused) = (words.already_ended.clone(), words.refused.clone());
    Some(WayPlan { when: transpose(when)?, repeat, request, reading, already_ended, refused })
}
