//! The words of `result.artifacts`.

use jobgate_adapter_api::Place;
use mime::Mime;
use url::Url;

use super::{Checker, result};
use crate::language::Scope;
use crate::plan::{ArtifactPlan, Fetching, KeepPlan};
use crate::words::Artifact;

pub(super) fn artifact(checker: &mut Checker<'_>, place: &Place, words: &Artifact, scope: &Scope) -> Option<ArtifactPlan> {
    let (repeat, scope) = result::repeat(checker, place, (words.each.as_deref(), words.most, words.when.as_deref()), scope);
    for kind in &words.types {
        let plain = kind.strip_suffix("/*").map_or_else(|| kind.clone(), |class| format!("{class}/any"));
        if !plain.parse::<Mime>().is_ok_and(|known| known.essence_str() == plain) {
            let message = format!("`{}` is no media type", kind.escape_debug());
            checker.issues.add_with_hint(place.key("types"), message, "types: [video/*, image/png]");
        }
    }
    origins(checker, &place.key("origins"), &words.origins);
    let idle = [
        ("max_bytes", words.max_bytes.is_some()),
        ("types", !words.types.is_empty()),
        ("credentials", words.credentials),
        ("origins", !words.origins.is_empty()),
    ];
    for (name, _) in idle.into_iter().filter(|(_, said)| *said && !words.keep) {
        let message = format!("`{name}` is about a file that is kept, and this one is handed on as a link");
        checker.issues.add_with_hint(place.key(name), message, "keep: true");
    }
    let keep = words.keep.then(|| KeepPlan {
        max_bytes: words.max_bytes.map(|bytes| bytes.get()),
        types: words.types.clone(),
        fetching: Fetching { credentials: words.credentials, origins: words.origins.clone() },
    });
    let mut text = |name: &str, source: Option<&str>| checker.optional_text(&place.key(name), source, &scope);
    let (mime_type, description) =
        (text("mime_type", words.mime_type.as_deref()), text("description", words.description.as_deref()));
    let (uri, name) = (text("uri", Some(&words.uri)), text("name", Some(&words.name)));
    Some(ArtifactPlan { repeat, uri: uri?, name: name?, mime_type, description, keep })
}

/// Notes what is no origin.
pub(super) fn origins(checker: &mut Checker<'_>, place: &Place, words: &[String]) {
    for origin in words.iter().filter(|origin| !is_origin(origin)) {
        let message =
            format!("`{}` is no origin: it has a scheme, a host and perhaps a port, and nothing more", origin.escape_debug());
        let hint = "origins: [https://files.example.com, \"https://*.example.com\"]";
        checker.issues.add_with_hint(place.clone(), message, hint);
    }
}

/// Whether a text is an origin (RFC 6454), or one with `*.` before its host.
fn is_origin(text: &str) -> bool {
    let Ok(url) = Url::parse(&text.replacen("://*.", "://", 1)) else { return false };
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && !text.ends_with('/');
    bare && matches!(url.scheme(), "https" | "http") && url.username().is_empty() && url.password().is_none()
}
