//! The words of a tool's `job:` section.

use jobgate_adapter_api::{Place, ToolWords};

use super::{Checker, delivery, request};
use crate::codes::Codes;
use crate::language::{Scope, Text, Tree};
use crate::plan::{
    AnswerPlan, CancelPlan, FailurePlan, FindPlan, InputKindPlan, InputPlan, LinkPlan, NamesPlan, OutputPlan, Reading,
    ReasonPlan, RequestPlan, ResultPlan, RulePlan, Rules, StatusPlan, SubmitPlan, ToolPlan,
};
use crate::words::{
    Answer, Delivery, Failure, Find, Input, Job, Names, ProgressWords, Request, ResultWords, Rule, StateWord, Submit,
};

/// Which names exist where.
pub(super) struct Scopes {
    /// A request about a job.
    pub(super) job: Scope,
    /// What reads its answer.
    pub(super) answer: Scope,
    /// And knows the status word.
    pub(super) status: Scope,
}

/// Compiles a tool; `None` where a part of it could not be.
pub(super) fn check(checker: &mut Checker<'_>, tool: &ToolWords<Job>, deliveries: Option<&Delivery>) -> Option<ToolPlan> {
    let Job { submit: submit_words, idempotent, find: find_words, status: status_words, .. } = &tool.words;
    let place = &tool.place;
    let told_handles = tool.words.delivery.iter().flat_map(|told| &told.handles).flat_map(|handles| handles.keys());
    let handles = submit_words.job.handles.keys().chain(status_words.handles.keys()).chain(told_handles);
    let of_job = Scope::request().with_job(handles.cloned().collect());
    let of_answer = of_job.clone().with_answer();
    let scopes = Scopes { status: of_answer.clone().with("word"), answer: of_answer, job: of_job };
    let (of_job, of_status) = (&scopes.job, &scopes.status);

    let of_submit = Scope::request().with_args(&tool.input_schema).with("callback");
    let submit = submit(checker, &place.key("submit"), submit_words, &of_submit);
    if *idempotent && submit.as_ref().is_some_and(|submit| !submit.request.uses("key")) {
        let message = "`idempotent: true` needs the `key` in the submit's request; nothing in it uses `key`";
        checker.issues.add_with_hint(place.key("idempotent"), message, "headers: { Idempotency-Key: \"{{ key }}\" }");
    }
    let find = find_words.as_ref().map(|words| find(checker, &place.key("find"), words));
    let status = status(checker, &place.key("status"), &tool.words, &scopes);
    let result = result(checker, &place.key("result"), &tool.words.result, of_job, of_status);
    let failure = failure(checker, &place.key("failure"), &tool.words.failure, of_job, of_status);
    let cancel = tool.words.cancel.as_ref().map(|words| {
        let place = place.key("cancel");
        let request = request::check(checker, &place.key("request"), &words.request, of_job)?;
        let reading = Reading { accept: words.accept.clone(), body: false, text: false };
        Some(CancelPlan { request, reading, already_ended: words.already_ended.clone(), refused: words.refused.clone() })
    });
    let input = tool.words.input.as_ref().map(|words| input(checker, &place.key("input"), words, of_job, of_status));
    asks_and_answers(checker, place, &tool.words);
    let (status, result, failure) = (status?, result?, failure?);
    let told = delivery::told(checker, place, deliveries, &tool.words, &scopes, (&status, &result, &failure));

    Some(ToolPlan {
        idempotent: *idempotent,
        submit: submit?,
        find: transpose(find)?,
        status,
        result,
        failure,
        told,
        cancel: transpose(cancel)?,
        input: transpose(input)?,
    })
}

/// `None` for a part that could not be compiled, `Some(None)` for one that is not there.
#[expect(clippy::option_option, reason = "a part that is not there is no failure")]
fn transpose<T>(part: Option<Option<T>>) -> Option<Option<T>> {
    match part {
        None => Some(None),
        Some(part) => part.map(Some),
    }
}

fn submit(checker: &mut Checker<'_>, place: &Place, words: &Submit, scope: &Scope) -> Option<SubmitPlan> {
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
    let (job, busy) = (job?, transpose(busy)?);
    let conditions = || busy.iter().chain(rejected.iter().map(|(when, _)| when));
    let reading = reading(&words.accept, |name| job.uses(name) || conditions().any(|when| when.uses(name)));
    Some(SubmitPlan { request: request?, reading, job, busy, rejected })
}

fn names(checker: &mut Checker<'_>, place: &Place, words: &Names, scope: &Scope) -> Option<NamesPlan> {
    let handles = checker.texts(&place.key("handles"), &words.handles, scope);
    if words.id.trim().is_empty() {
        checker.issues.add_with_hint(place.key("id"), "the id is empty", "id: \"{{ body.id }}\"");
        return None;
    }
    Some(NamesPlan { id: checker.text(&place.key("id"), &words.id, scope)?, handles })
}

fn find(checker: &mut Checker<'_>, place: &Place, words: &Find) -> Option<FindPlan> {
    let scope = Scope::request();
    let request = request::check(checker, &place.key("request"), &words.request, &scope);
    let job = names(checker, &place.key("job"), &words.job, &scope.with_answer())?;
    let request = request?;
    if !request.uses("key") && !job.uses("key") {
        checker.issues.add_with_hint(
            place.clone(),
            "a job is found by the `key` of its submit; nothing here uses `key`",
            "query: { tag: \"{{ key }}\" }",
        );
    }
    let reading = reading(&words.accept, |name| job.uses(name));
    Some(FindPlan { request, reading, not_found: words.not_found.clone(), job })
}

fn status(checker: &mut Checker<'_>, place: &Place, job: &Job, scopes: &Scopes) -> Option<StatusPlan> {
    let words = &job.status;
    let request =
        transpose(words.request.as_ref().map(|request| request::check(checker, &place.key("request"), request, &scopes.job)));
    let word = checker.optional_text(&place.key("word"), words.word.as_deref(), &scopes.answer);
    let list = rules(checker, place, &words.rules, words.word.is_some(), &scopes.status);
    if !ends_well(job) {
        let message = "no rule ends a job well: none has `state: succeeded`";
        checker.issues.add_with_hint(place.key("rules"), message, "{ is: [done], state: succeeded }");
    }
    let message = checker.optional_text(&place.key("message"), words.message.as_deref(), &scopes.status);
    let progress = words.progress.as_ref();
    let progress = progress.and_then(|words| progress_of(checker, &place.key("progress"), words, &scopes.status));
    let handles = checker.texts(&place.key("handles"), &words.handles, &scopes.status);
    let rules = Rules { word, list, message, progress, handles };
    let reading = reading(&words.accept, |name| rules.uses(name));
    Some(StatusPlan { request: request?, reading, not_found: words.not_found.clone(), rules })
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
        Some(RulePlan { when, is: rule.is.clone(), state: rule.state, message })
    };
    words.iter().enumerate().filter_map(rule).collect()
}

pub(super) fn progress_of(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &ProgressWords,
    scope: &Scope,
) -> Option<(Text, Option<Text>)> {
    let total = checker.optional_text(&place.key("total"), words.total.as_deref(), scope);
    Some((checker.text(&place.key("done"), &words.done, scope)?, total))
}

/// A second request, and the names that the texts after it know.
fn more(
    checker: &mut Checker<'_>,
    place: &Place,
    words: Option<&Request>,
    of_job: &Scope,
    of_status: &Scope,
) -> Option<(Option<RequestPlan>, Scope)> {
    match words {
        None => Some((None, of_status.clone())),
        Some(words) => {
            let request = request::check(checker, &place.key("request"), words, of_status)?;
            Some((Some(request), of_job.clone().with_answer().with("word").with("status")))
        }
    }
}

fn result(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &ResultWords,
    of_job: &Scope,
    of_status: &Scope,
) -> Option<ResultPlan> {
    let (request, scope) = more(checker, place, words.request.as_ref(), of_job, of_status)?;
    let output = output(checker, place, words, &scope);
    let more = request.map(|request| (request, reading(&Codes::default(), |name| output.uses(name))));
    Some(ResultPlan { more, output })
}

pub(super) fn output(checker: &mut Checker<'_>, place: &Place, words: &ResultWords, scope: &Scope) -> OutputPlan {
    let text = checker.optional_text(&place.key("text"), words.text.as_deref(), scope);
    let data = words.data.as_ref().map(|tree| checker.tree(&place.key("data"), tree, scope));
    let links = words.links.iter().enumerate().filter_map(|(nth, link)| {
        let place = place.key("links").index(nth);
        let mime_type = checker.optional_text(&place.key("mime_type"), link.mime_type.as_deref(), scope);
        let description = checker.optional_text(&place.key("description"), link.description.as_deref(), scope);
        let (uri, name) =
            (checker.text(&place.key("uri"), &link.uri, scope), checker.text(&place.key("name"), &link.name, scope));
        Some(LinkPlan { uri: uri?, name: name?, mime_type, description })
    });
    let links = links.collect();
    OutputPlan { text, data, links }
}

fn failure(checker: &mut Checker<'_>, place: &Place, words: &Failure, of_job: &Scope, of_status: &Scope) -> Option<FailurePlan> {
    let (request, scope) = more(checker, place, words.request.as_ref(), of_job, of_status)?;
    let reason = reason(checker, place, words, &scope);
    let more = request.map(|request| (request, reading(&Codes::default(), |name| reason.uses(name))));
    Some(FailurePlan { more, reason })
}

pub(super) fn reason(checker: &mut Checker<'_>, place: &Place, words: &Failure, scope: &Scope) -> ReasonPlan {
    ReasonPlan {
        message: checker.optional_text(&place.key("message"), words.message.as_deref(), scope),
        code: checker.optional_text(&place.key("code"), words.code.as_deref(), scope),
        data: words.data.as_ref().map(|tree| checker.tree(&place.key("data"), tree, scope)),
    }
}

fn input(checker: &mut Checker<'_>, place: &Place, words: &Input, of_job: &Scope, of_status: &Scope) -> Option<InputPlan> {
    let key = checker.text(&place.key("key"), &words.key, of_status);
    let message = checker.text(&place.key("message"), &words.message, of_status);
    let kind = match (&words.form, &words.page) {
        (Some(form), None) => Some(InputKindPlan::Form(checker.tree(&place.key("form"), form, of_status))),
        (None, Some(page)) => checker.text(&place.key("page"), page, of_status).map(InputKindPlan::Page),
        (Some(_), Some(_)) | (None, None) => {
            let hint = "form: { type: object, properties: { approved: { type: boolean } }, required: [approved] }";
            checker.issues.add_with_hint(place.clone(), "a question has either a `form` or a `page`", hint);
            None
        }
    };
    if words.form.is_some() && words.accept.is_none() {
        checker.issues.add(place.key("accept"), "a `form` needs an `accept` request that hands its content over");
    }
    let of_answer = of_job.clone().with("answer");
    let mut answer = |name: &str, words: Option<&Answer>| {
        transpose(words.map(|words| {
            let request = request::check(checker, &place.key(name).key("request"), &words.request, &of_answer)?;
            let reading = Reading { accept: words.accept.clone(), body: false, text: false };
            Some(AnswerPlan { request, reading, already_answered: words.already_answered.clone() })
        }))
    };
    let (accept, decline) = (answer("accept", words.accept.as_ref()), answer("decline", words.decline.as_ref()));
    Some(InputPlan { key: key?, message: message?, kind: kind?, accept: accept?, decline: decline? })
}

/// A state that asks needs `input`, and `input` needs a state that asks.
fn asks_and_answers(checker: &mut Checker<'_>, place: &Place, words: &Job) {
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

fn reading(accept: &Codes, uses: impl Fn(&str) -> bool) -> Reading {
    Reading { accept: accept.clone(), body: uses("body"), text: uses("text") }
}

impl Rules {
    fn uses(&self, name: &str) -> bool {
        self.word.as_ref().is_some_and(|word| word.uses(name))
            || self.list.iter().any(|rule| rule.when.as_ref().is_some_and(|when| when.uses(name)))
    }
}

impl OutputPlan {
    fn uses(&self, name: &str) -> bool {
        used(name, self.text.as_ref(), self.data.as_ref()) || self.links.iter().any(|link| link.uri.uses(name))
    }
}

impl ReasonPlan {
    fn uses(&self, name: &str) -> bool {
        used(name, self.message.as_ref(), self.data.as_ref())
    }
}

fn used(name: &str, text: Option<&Text>, tree: Option<&Tree>) -> bool {
    text.is_some_and(|text| text.uses(name)) || tree.is_some_and(|tree| tree.uses(name))
}

impl NamesPlan {
    fn uses(&self, name: &str) -> bool {
        self.id.uses(name) || self.handles.iter().any(|(_, handle)| handle.uses(name))
    }
}
