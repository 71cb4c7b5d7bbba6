//! The words of lists that come in several answers.

use std::collections::BTreeMap;

use jobgate_adapter_api::Place;

use super::Checker;
use super::provider::header_name;
use crate::language::{Scope, Text, Tree};
use crate::plan::{PageKind, PagesPlan, RequestPlan};
use crate::words::{NextPage, Pages, TokenPlace};

/// Answers that one list may take.
const MOST_PAGES: usize = 50;
const EXAMPLE: &str = "pages: { token: pageToken, from: \"{{ body.nextPageToken }}\", items: \"{{ body.items }}\" }";

/// Compiles `pages`; `request` then asks for the page that is wanted. `scope` is the request's.
pub(super) fn pages(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &Pages,
    items: Option<Text>,
    request: &mut RequestPlan,
    scope: &Scope,
) -> Option<PagesPlan> {
    let answered = scope.clone().with_answer();
    if !(1..=MOST_PAGES).contains(&words.most) {
        let message = format!("`most` is {}, and has to be 1 to {MOST_PAGES}", words.most);
        checker.issues.add_with_hint(place.key("most"), message, "most: 5");
    }
    let listed = answered.clone().with("items");
    let until = words.until.as_ref().map(|source| checker.condition(&place.key("until"), source, &listed));
    let kind = kind(checker, place, words, request, scope);
    Some(PagesPlan { kind: kind?, items: items?, most: words.most, until: super::tool::transpose(until)? })
}

/// Where the pages of a step have their elements.
pub(super) fn items_of(checker: &mut Checker<'_>, place: &Place, words: &Pages, answered: &Scope) -> Option<Text> {
    let Some(source) = &words.items else {
        checker.issues.add_with_hint(place.clone(), "nothing says where an answer has its part of the list", EXAMPLE);
        return None;
    };
    checker.text(&place.key("items"), source, answered)
}

fn kind(checker: &mut Checker<'_>, place: &Place, words: &Pages, request: &mut RequestPlan, scope: &Scope) -> Option<PageKind> {
    let of_token = [("from", words.from.is_some()), ("in", words.place.is_some())];
    let of_page = [("first", words.first.is_some()), ("size", !words.size.is_empty())];
    let of_offset = [("limit", !words.limit.is_empty())];
    let mut idle = |kind: &str, words: &[(&str, bool)]| {
        for (word, _) in words.iter().filter(|(_, said)| *said) {
            checker.issues.add(place.key(*word), format!("`{word}` goes with `{kind}`"));
        }
    };
    match (&words.next, &words.page, &words.offset, &words.token) {
        (Some(NextPage::Link), None, None, None) => {
            idle("page", &of_page);
            idle("offset", &of_offset);
            idle("token", &of_token);
            Some(PageKind::Link)
        }
        (None, Some(name), None, None) => {
            idle("offset", &of_offset);
            idle("token", &of_token);
            let size = length(checker, &place.key("size"), &words.size, request);
            add(checker, &place.key("page"), request, name, scope);
            Some(PageKind::Page { first: words.first.unwrap_or(1), size: size? })
        }
        (None, None, Some(name), None) => {
            idle("page", &of_page);
            idle("token", &of_token);
            let limit = length(checker, &place.key("limit"), &words.limit, request);
            add(checker, &place.key("offset"), request, name, scope);
            Some(PageKind::Offset { limit: limit? })
        }
        (None, None, None, Some(name)) => {
            idle("page", &of_page);
            idle("offset", &of_offset);
            token(checker, place, words, name, request, scope)
        }
        _ => {
            let message = "a list goes on by exactly one of `next`, `page`, `offset` and `token`";
            checker.issues.add_with_hint(place.clone(), message, EXAMPLE);
            None
        }
    }
}

fn token(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &Pages,
    name: &str,
    request: &RequestPlan,
    scope: &Scope,
) -> Option<PageKind> {
    let Some(from) = &words.from else {
        checker.issues.add_with_hint(place.clone(), "a `token` needs `from`: where the answer names the next one", EXAMPLE);
        return None;
    };
    let from = checker.text(&place.key("from"), from, &scope.clone().with_answer());
    let of_token = place.key("token");
    let mut further = request.clone();
    match words.place.unwrap_or_default() {
        TokenPlace::Query => add(checker, &of_token, &mut further, name, scope),
        TokenPlace::Body => {
            let value = wanted(checker, &of_token, scope)?;
            let Some(fields) = further.fields_mut() else {
                let message = "the token goes into the body, and the request has no body of named fields";
                checker.issues.add_with_hint(place.key("in"), message, "in: query");
                return None;
            };
            fields.retain(|(known, _)| known != name);
            fields.push((name.to_owned(), Tree::Text(value)));
        }
        TokenPlace::Header => {
            let value = wanted(checker, &of_token, scope)?;
            further.headers.push((header_name(checker, &of_token, name)?, value));
        }
    }
    Some(PageKind::Token { from: from?, further: Box::new(further) })
}

/// A length that is asked for.
#[expect(clippy::option_option, reason = "a length that is not asked for is no failure")]
fn length(
    checker: &mut Checker<'_>,
    place: &Place,
    words: &BTreeMap<String, u64>,
    request: &mut RequestPlan,
) -> Option<Option<u64>> {
    let mut words_of = words.iter();
    match (words_of.next(), words_of.next()) {
        (None, _) => Some(None),
        (Some((name, length)), None) if *length > 0 => {
            request.query.retain(|(known, _)| known != name);
            request.query.push((name.clone(), Tree::Constant((*length).into())));
            Some(Some(*length))
        }
        (Some((name, _)), _) => {
            let message = "it is one parameter and a length of at least 1";
            checker.issues.add_with_hint(place.clone(), message, format!("{{ {name}: 50 }}"));
            None
        }
    }
}

/// The query parameter that says which page is wanted.
fn add(checker: &mut Checker<'_>, place: &Place, request: &mut RequestPlan, name: &str, scope: &Scope) {
    if request.query.iter().any(|(known, _)| known == name) {
        checker.issues.add(place.clone(), format!("the request's `query` names `{name}`, too"));
    }
    if let Some(value) = wanted(checker, place, scope) {
        request.query.push((name.to_owned(), Tree::Text(value)));
    }
}

fn wanted(checker: &mut Checker<'_>, place: &Place, scope: &Scope) -> Option<Text> {
    checker.text(place, "{{ page }}", &scope.clone().with(PagesPlan::PLACE))
}
