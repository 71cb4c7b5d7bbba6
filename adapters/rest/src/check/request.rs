//! The words of one HTTP request.

use http::Method;
use jobgate_adapter_api::Place;

use super::Checker;
use super::provider::header_name;
use crate::language::Scope;
use crate::plan::{BodyPlan, RequestPlan, Target};
use crate::words::Request;

const METHODS: [Method; 5] = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// Compiles a request for `scope`.
pub(super) fn check(checker: &mut Checker<'_>, place: &Place, words: &Request, scope: &Scope) -> Option<RequestPlan> {
    let body = body(checker, place, words, scope);
    let method = method(checker, place, words);
    let target = target(checker, place, words, scope);
    let query = words
        .query
        .iter()
        .map(|(name, value)| (name.clone(), checker.tree(&place.key("query").key(name), value, scope)))
        .collect();
    let headers = words
        .headers
        .iter()
        .filter_map(|(name, source)| {
            let place = place.key("headers").key(name);
            let text = checker.text(&place, source, scope);
            header_name(checker, &place, name).zip(text)
        })
        .collect();
    Some(RequestPlan { method: method?, target: target?, query, headers, body })
}

fn method(checker: &mut Checker<'_>, place: &Place, words: &Request) -> Option<Method> {
    let Some(name) = &words.method else {
        let sends = words.body.is_some() || words.form.is_some();
        return Some(if sends { Method::POST } else { Method::GET });
    };
    let known = METHODS.into_iter().find(|method| method.as_str() == name);
    if known.is_none() {
        checker.issues.add_with_hint(place.key("method"), format!("`{name}` is no method"), "GET, POST, PUT, PATCH or DELETE");
    }
    known
}

fn body(checker: &mut Checker<'_>, place: &Place, words: &Request, scope: &Scope) -> BodyPlan {
    match (&words.body, &words.form) {
        (Some(_), Some(_)) => {
            checker.issues.add(place.key("form"), "a request has a `body` or a `form`, not both");
            BodyPlan::None
        }
        (Some(tree), None) => BodyPlan::Json(checker.tree(&place.key("body"), tree, scope)),
        (None, Some(fields)) => {
            let place = place.key("form");
            BodyPlan::Form(
                fields.iter().map(|(name, field)| (name.clone(), checker.tree(&place.key(name), field, scope))).collect(),
            )
        }
        (None, None) => BodyPlan::None,
    }
}

fn target(checker: &mut Checker<'_>, place: &Place, words: &Request, scope: &Scope) -> Option<Target> {
    match (&words.path, &words.url) {
        (Some(_), Some(_)) => {
            checker.issues.add(place.key("url"), "a request has a `path` or a `url`, not both");
            None
        }
        (None, None) => {
            checker.issues.add_with_hint(place.clone(), "a request needs a `path`", "path: /jobs/{{ job.id }}");
            None
        }
        (None, Some(url)) => {
            if words.base.is_some() {
                checker.issues.add(place.key("base"), "a `base` goes with a `path`, not with a `url`");
            }
            checker.text(&place.key("url"), url, scope).map(Target::Url)
        }
        (Some(path), None) => {
            let base = base(checker, place, words.base.as_deref());
            let place = place.key("path");
            if !path.starts_with('/') {
                checker.issues.add_with_hint(
                    place,
                    format!("the path `{path}` does not begin with a slash"),
                    format!("path: /{path}"),
                );
                return None;
            }
            if literal(path).contains(['?', '#']) {
                checker.issues.add_with_hint(place, "a path holds no query", "query: { name: value }");
                return None;
            }
            let path = checker.engine.path(&place, path, scope).map_err(|problem| checker.issues.add(place, problem)).ok();
            Some(Target::Path { base: base?, path: path? })
        }
    }
}

fn base(checker: &mut Checker<'_>, place: &Place, name: Option<&str>) -> Option<url::Url> {
    let Some(name) = name else { return checker.base.clone() };
    if let Some(url) = checker.bases.get(name) {
        return url.clone();
    }
    let known: Vec<String> = checker.bases.keys().map(|name| format!("`{name}`")).collect();
    let known = if known.is_empty() { "it names none".to_owned() } else { format!("it names {}", known.join(", ")) };
    checker.issues.add(place.key("base"), format!("the provider's `bases` do not name `{name}`; {known}"));
    None
}

/// A template without its expressions.
fn literal(template: &str) -> String {
    let mut rest = template;
    let mut literal = String::new();
    while let Some((before, after)) = rest.split_once("{{") {
        literal.push_str(before);
        rest = after.split_once("}}").map_or("", |(_, after)| after);
    }
    literal + rest
}
