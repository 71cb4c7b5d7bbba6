//! The words of `result` and `failure`.

use jobgate_adapter_api::Place;

use super::tool::reading;
use super::{Checker, artifact, request, step};
use crate::codes::Codes;
use crate::language::Scope;
use crate::plan::{FailurePlan, FurtherPlan, OutputPlan, PieceKind, PiecePlan, ReasonPlan, RepeatPlan, RequestPlan, ResultPlan};
use crate::words::{Content, Failure, Link, Request, ResultWords, Step};

/// Elements of a list that one word may be made for.
pub(super) const MOST_EACH: usize = 100;

/// The requests made for a result or reason, and the names that the texts after them know.
fn further(
    checker: &mut Checker<'_>,
    place: &Place,
    steps: &[Step],
    words: Option<&Request>,
    scope: &Scope,
) -> Option<(FurtherPlan, Scope)> {
    let named = steps.len();
    let (steps, scope) = step::steps(checker, &place.key("steps"), steps, scope);
    let request = match words {
        None => None,
        Some(words) => Some(request::check(checker, &place.key("request"), words, &scope)?),
    };
    let scope = if request.is_some() { scope.with("status") } else { scope };
    let unread = |request: RequestPlan| (request, reading(&Codes::default(), |_| false));
    (steps.len() == named).then(|| (FurtherPlan { steps, request: request.map(unread) }, scope))
}

pub(super) fn result(checker: &mut Checker<'_>, place: &Place, words: &ResultWords, of_status: &Scope) -> Option<ResultPlan> {
    let (mut further, scope) = further(checker, place, &words.steps, words.request.as_ref(), of_status)?;
    let output = output(checker, place, words, &scope);
    if let Some((_, read)) = &mut further.request {
        *read = reading(&Codes::default(), |name| output.uses(name));
    }
    Some(ResultPlan { further, output })
}

pub(super) fn output(checker: &mut Checker<'_>, place: &Place, words: &ResultWords, scope: &Scope) -> OutputPlan {
    let text = checker.optional_text(&place.key("text"), words.text.as_deref(), scope);
    let data = words.data.as_ref().map(|tree| checker.tree(&place.key("data"), tree, scope));
    let mut content: Vec<PiecePlan> = Vec::new();
    for (nth, piece) in words.content.iter().enumerate() {
        content.extend(piece_of(checker, &place.key("content").index(nth), piece, scope));
    }
    for (nth, link) in words.links.iter().enumerate() {
        content.extend(link_of(checker, &place.key("links").index(nth), link, scope));
    }
    let artifacts = words.artifacts.iter().enumerate();
    let artifacts = artifacts
        .filter_map(|(nth, words)| artifact::artifact(checker, &place.key("artifacts").index(nth), words, scope))
        .collect();
    let says = words.text.is_some()
        || words.data.is_some()
        || !words.content.is_empty()
        || !words.links.is_empty()
        || !words.artifacts.is_empty();
    if words.required && !says {
        let message = "`required: true` needs a word that says where the output is";
        checker.issues.add_with_hint(place.key("required"), message, "data: \"{{ body.output }}\"");
    }
    OutputPlan { required: words.required, text, data, content, artifacts }
}

/// Once, or for each element of a list; and the names that are known within.
pub(super) fn repeat(
    checker: &mut Checker<'_>,
    place: &Place,
    (each, most, when): (Option<&str>, usize, Option<&str>),
    scope: &Scope,
) -> (RepeatPlan, Scope) {
    let list = checker.optional_text(&place.key("each"), each, scope);
    if !(1..=MOST_EACH).contains(&most) {
        checker.issues.add_with_hint(place.key("most"), format!("`most` is {most}, and has to be 1 to {MOST_EACH}"), "most: 20");
    }
    let scope = if each.is_some() { scope.clone().with("item") } else { scope.clone() };
    let when = when.and_then(|source| checker.condition(&place.key("when"), source, &scope));
    (RepeatPlan { each: list, most, when }, scope)
}

fn piece_of(checker: &mut Checker<'_>, place: &Place, words: &Content, scope: &Scope) -> Option<PiecePlan> {
    let kinds = [
        ("text", PieceKind::Text, &words.text),
        ("image", PieceKind::Image, &words.image),
        ("audio", PieceKind::Audio, &words.audio),
        ("link", PieceKind::Link, &words.link),
        ("document", PieceKind::Document, &words.document),
    ];
    let mut said = kinds.into_iter().filter_map(|(word, kind, value)| Some((word, kind, value.as_ref()?)));
    let (Some((word, kind, value)), None) = (said.next(), said.next()) else {
        let message = "a piece of content is exactly one of `text`, `image`, `audio`, `link` and `document`";
        checker.issues.add_with_hint(place.clone(), message, "{ image: \"{{ body.png }}\", mime_type: image/png }");
        return None;
    };
    let named = matches!(kind, PieceKind::Link | PieceKind::Document);
    if named && words.name.is_none() {
        let message = format!("a {word} needs a `name`");
        checker.issues.add_with_hint(place.clone(), message, format!("{{ {word}: \"{{{{ body.report }}}}\", name: report }}"));
    }
    let idle = [
        ("name", words.name.is_some() && !named),
        ("mime_type", words.mime_type.is_some() && kind == PieceKind::Text),
        ("description", words.description.is_some() && kind != PieceKind::Link),
        ("size", words.size.is_some() && kind != PieceKind::Link),
    ];
    for (name, _) in idle.into_iter().filter(|(_, idle)| *idle) {
        checker.issues.add(place.key(name), format!("`{name}` says nothing of a piece that is a `{word}`"));
    }
    let (repeat, scope) = repeat(checker, place, (words.each.as_deref(), words.most, words.when.as_deref()), scope);
    let mut optional = |name: &str, source: &Option<String>| checker.optional_text(&place.key(name), source.as_deref(), &scope);
    let (name, mime_type) = (optional("name", &words.name), optional("mime_type", &words.mime_type));
    let (description, size) = (optional("description", &words.description), optional("size", &words.size));
    let value = checker.text(&place.key(word), value, &scope)?;
    Some(PiecePlan { repeat, kind, value, name, mime_type, description, size })
}

fn link_of(checker: &mut Checker<'_>, place: &Place, words: &Link, scope: &Scope) -> Option<PiecePlan> {
    let mut optional = |name: &str, source: Option<&str>| checker.optional_text(&place.key(name), source, scope);
    let (name, mime_type) = (optional("name", Some(&words.name)), optional("mime_type", words.mime_type.as_deref()));
    let (description, value) = (optional("description", words.description.as_deref()), optional("uri", Some(&words.uri))?);
    let repeat = RepeatPlan::default();
    Some(PiecePlan { repeat, kind: PieceKind::Link, value, name, mime_type, description, size: None })
}

pub(super) fn failure(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &Failure,
    log: bool,
    of_status: &Scope,
) -> Option<FailurePlan> {
    let (mut further, scope) = further(checker, place, &words.steps, words.request.as_ref(), of_status)?;
    let reason = reason(checker, place, words, log, &scope);
    if let Some((_, read)) = &mut further.request {
        *read = reading(&Codes::default(), |name| reason.uses(name));
    }
    Some(FailurePlan { further, reason })
}

pub(super) fn reason(checker: &mut Checker<'_>, place: &Place, words: &Failure, log: bool, scope: &Scope) -> ReasonPlan {
    ReasonPlan {
        log,
        message: checker.optional_text(&place.key("message"), words.message.as_deref(), scope),
        code: checker.optional_text(&place.key("code"), words.code.as_deref(), scope),
        data: words.data.as_ref().map(|tree| checker.tree(&place.key("data"), tree, scope)),
    }
}
