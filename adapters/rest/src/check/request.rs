//! The words of one HTTP request.

use http::Method;
use jobgate_adapter_api::{HumanDuration, Place};

use super::provider::header_name;
use super::{Checker, artifact};
use crate::language::Scope;
use crate::plan::{BodyPlan, Fetching, PartPlan, RequestPlan, Target};
use crate::words::{Follow, Multipart, Part, Request};

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
    let content_type = checker.optional_text(&place.key("content_type"), words.content_type.as_deref(), scope);
    if words.content_type.is_some() && matches!(body, BodyPlan::None) {
        checker.issues.add(place.key("content_type"), "a request without a body has no type");
    }
    let follow = follow(checker, &place.key("follow"), &words.follow);
    if follow.is_some() && method.as_ref().is_some_and(|method| method != Method::GET) {
        checker.issues.add_with_hint(place.key("follow"), "redirects are followed for `GET` alone", "leave it out");
    }
    let timeout = words.timeout.map(HumanDuration::get);
    let (parse, target) = (words.parse, target?);
    Some(RequestPlan { method: method?, target, query, headers, body, content_type, timeout, parse, follow })
}

fn follow(checker: &mut Checker<'_>, place: &Place, words: &Follow) -> Option<Fetching> {
    let origins = match words {
        Follow::Anywhere(false) => return None,
        Follow::Anywhere(true) => Vec::new(),
        Follow::To(to) => {
            let place = place.key("origins");
            if to.origins.is_empty() {
                checker.issues.add_with_hint(place.clone(), "must not be empty", "follow: true");
            }
            artifact::origins(checker, &place, &to.origins);
            to.origins.clone()
        }
    };
    checker.follows = true;
    Some(Fetching { credentials: false, origins })
}

fn method(checker: &mut Checker<'_>, place: &Place, words: &Request) -> Option<Method> {
    let Some(name) = &words.method else {
        let sends = words.body.is_some() || words.form.is_some() || words.multipart.is_some() || words.raw.is_some();
        return Some(if sends { Method::POST } else { Method::GET });
    };
    let known = METHODS.into_iter().find(|method| method.as_str() == name);
    if known.is_none() {
        checker.issues.add_with_hint(place.key("method"), format!("`{name}` is no method"), "GET, POST, PUT, PATCH or DELETE");
    }
    known
}

fn body(checker: &mut Checker<'_>, place: &Place, words: &Request, scope: &Scope) -> BodyPlan {
    let kinds = [
        ("body", words.body.is_some()),
        ("form", words.form.is_some()),
        ("multipart", words.multipart.is_some()),
        ("raw", words.raw.is_some()),
    ];
    let mut given = kinds.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        checker.issues.add(place.key(second), format!("a request has one body: a `{first}` or a `{second}`, not both"));
        return BodyPlan::None;
    }
    if let Some(tree) = &words.body {
        return BodyPlan::Json(checker.tree(&place.key("body"), tree, scope));
    }
    if let Some(fields) = &words.form {
        let place = place.key("form");
        let field = |(name, field): (&String, _)| (name.clone(), checker.tree(&place.key(name), field, scope));
        return BodyPlan::Form(fields.iter().map(field).collect());
    }
    if let Some(parts) = &words.multipart {
        let place = place.key("multipart");
        let parts = match parts {
            Multipart::Parts(parts) => parts,
            Multipart::Map(source) => {
                return checker.text(&place, source, scope).map_or(BodyPlan::None, BodyPlan::MultipartMap);
            }
        };
        let part = |(name, part): (&String, _)| multipart(checker, &place.key(name), name, part, scope);
        return BodyPlan::Multipart(parts.iter().filter_map(part).collect());
    }
    let raw = words.raw.as_ref().and_then(|raw| checker.text(&place.key("raw"), raw, scope));
    raw.map_or(BodyPlan::None, BodyPlan::Raw)
}

fn multipart(checker: &mut Checker<'_>, place: &Place, name: &str, part: &Part, scope: &Scope) -> Option<PartPlan> {
    let name = name.to_owned();
    match part {
        Part::Text(text) => {
            let text = checker.text(place, text, scope)?;
            Some(PartPlan { name, text, base64: false, filename: None, content_type: None })
        }
        Part::File(file) => {
            let filename = checker.optional_text(&place.key("filename"), file.filename.as_deref(), scope);
            let content_type = checker.optional_text(&place.key("content_type"), file.content_type.as_deref(), scope);
            let (word, source, base64) = match (&file.text, &file.base64) {
                (Some(text), None) => ("text", text, false),
                (None, Some(bytes)) => ("base64", bytes, true),
                (Some(_), Some(_)) | (None, None) => {
                    let message = "a part has either a `text` or bytes in `base64`";
                    checker.issues.add_with_hint(place.clone(), message, "{ text: \"{{ args.script }}\", filename: run.sh }");
                    return None;
                }
            };
            let text = checker.text(&place.key(word), source, scope)?;
            Some(PartPlan { name, text, base64, filename, content_type })
        }
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
