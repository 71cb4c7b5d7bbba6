//! The words of `input`.

use jobgate_adapter_api::Place;

use serde_json::Value;

use super::tool::transpose;
use super::{Checker, request, result, step};
use crate::form;
use crate::language::Scope;
use crate::plan::{AnswerPlan, DeclinePlan, InputKindPlan, InputPlan, Reading};
use crate::words::{Answer, Decline, Input, Job, Rule, StateWord};

pub(super) fn input(checker: &mut Checker<'_>, place: &Place, words: &Input, job: &Job, of_status: &Scope) -> Option<InputPlan> {
    let named = words.steps.len();
    let (steps, scope) = step::steps(checker, &place.key("steps"), &words.steps, of_status);
    let (repeat, scope) = result::repeat(checker, place, (words.each.as_deref(), words.most, words.when.as_deref()), &scope);
    let key = checker.text(&place.key("key"), &words.key, &scope);
    let message = checker.text(&place.key("message"), &words.message, &scope);
    let page = transpose(words.page.as_ref().map(|page| checker.text(&place.key("page"), page, &scope)))?;
    let is_link = matches!(words.decline, Some(Decline::Link));
    let (kind, no) = match (&words.form, page) {
        (Some(form), page) if page.is_none() || is_link => {
            flat_if_known(checker, &place.key("form"), form);
            (Some(InputKindPlan::Form(checker.tree(&place.key("form"), form, &scope))), page)
        }
        (None, Some(page)) => (Some(InputKindPlan::Page(page)), None),
        (Some(_) | None, _) => {
            let hint = "form: { type: object, properties: { approved: { type: boolean } }, required: [approved] }";
            let message = "a question has either a `form` or a `page`, and both only with `decline: link`";
            checker.issues.add_with_hint(place.clone(), message, hint);
            (None, None)
        }
    };
    if words.form.is_some() && words.accept.is_none() {
        checker.issues.add(place.key("accept"), "a `form` needs an `accept` request that hands its content over");
    }
    let of_answer = scope.with("answer");
    let accept = words.accept.as_ref().map(|words| answer(checker, &place.key("accept"), words, &of_answer));
    let of_decline = place.key("decline");
    let decline = match &words.decline {
        None => Some(DeclinePlan::None),
        Some(Decline::Request(words)) => {
            answer(checker, &of_decline, words, &of_answer).map(|answer| DeclinePlan::Request(Box::new(answer)))
        }
        Some(Decline::Cancel) => {
            if job.cancel.is_none() {
                let message = "`decline: cancel` cancels the job, and there is no `cancel` section that says how";
                checker.issues.add_with_hint(
                    of_decline,
                    message,
                    "cancel: { request: { method: DELETE, path: \"/jobs/{{ job.id }}\" } }",
                );
            }
            Some(DeclinePlan::Cancel)
        }
        Some(Decline::Link) => {
            if words.page.is_none() {
                let message = "`decline: link` needs a `page`, where a person says no";
                checker.issues.add_with_hint(of_decline, message, "page: \"{{ body.html_url }}\"");
            }
            Some(DeclinePlan::Link(no))
        }
    };
    let (accept, complete) = (transpose(accept)?, steps.len() == named);
    let plan = InputPlan { steps, repeat, key: key?, message: message?, kind: kind?, accept, decline: decline? };
    complete.then_some(plan)
}

fn answer(checker: &mut Checker<'_>, place: &Place, words: &Answer, scope: &Scope) -> Option<AnswerPlan> {
    let request = request::check(checker, &place.key("request"), &words.request, scope)?;
    let reading = Reading { accept: words.accept.clone(), body: false, text: false };
    Some(AnswerPlan { request, reading, already_answered: words.already_answered.clone() })
}

/// A form that is written out is judged here; one that the provider gives only when it is there.
fn flat_if_known(checker: &mut Checker<'_>, place: &Place, form: &Value) {
    let text = form.to_string();
    if ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
        return;
    }
    if let Err(problem) = form::flat(form) {
        let hint = "{ type: object, properties: { approved: { type: boolean } }, required: [approved] }";
        checker.issues.add_with_hint(place.clone(), format!("the form cannot be shown: {problem}"), hint);
    }
}

/// A state that asks needs `input`, and `input` needs a state that asks.
pub(super) fn asks_and_answers(checker: &mut Checker<'_>, place: &Place, words: &Job) {
    let told = words.delivery.as_ref().and_then(|told| told.rules.as_deref()).unwrap_or_default();
    let asking = |rules: &[Rule], section: &str| {
        let nth = rules.iter().position(|rule| rule.state == StateWord::InputRequired)?;
        Some(place.key(section).key("rules").index(nth).key("state"))
    };
    let asking = asking(&words.status.rules, "status").or_else(|| asking(told, "delivery"));
    match (asking, &words.input) {
        (Some(place), None) => {
            checker.issues.add(place, "`input_required` needs an `input` section that says what is asked");
        }
        (None, Some(_)) => {
            checker.issues.add(place.key("input"), "no status rule has `state: input_required`, so nothing would ever be asked");
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
}
