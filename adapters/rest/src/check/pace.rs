//! The words of `errors` and `pace`.

use jobgate_adapter_api::Place;

use super::Checker;
use super::provider::header_name;
use super::tool::transpose;
use crate::language::Scope;
use crate::plan::{ErrorPlan, PacePlan};
use crate::words::{ErrorRule, Meaning, Pace};

pub(super) fn errors(checker: &mut Checker<'_>, place: &Place, words: &[ErrorRule]) -> Vec<ErrorPlan> {
    let scope = Scope::request().with_answer();
    words.iter().enumerate().filter_map(|(nth, words)| error(checker, &place.index(nth), words, &scope)).collect()
}

fn error(checker: &mut Checker<'_>, place: &Place, words: &ErrorRule, scope: &Scope) -> Option<ErrorPlan> {
    if words.code.is_none() && words.when.is_none() {
        let message = "an error needs `code` or `when`: else every answer would be one";
        checker.issues.add_with_hint(place.clone(), message, "when: \"body.error.type == 'throttled'\"");
    }
    if words.after.is_some() && !matches!(words.means, Meaning::RateLimited | Meaning::Unavailable) {
        let message = "only what is `rate_limited` or `unavailable` is tried again `after` a while";
        checker.issues.add_with_hint(place.key("after"), message, "means: rate_limited");
    }
    let when = words.when.as_ref().map(|source| checker.condition(&place.key("when"), source, scope));
    let after = checker.optional_text(&place.key("after"), words.after.as_deref(), scope);
    let message = checker.optional_text(&place.key("message"), words.message.as_deref(), scope);
    Some(ErrorPlan { code: words.code.clone(), when: transpose(when)?, means: words.means, after, message })
}

pub(super) fn pace(checker: &mut Checker<'_>, place: &Place, words: &Pace) -> Option<PacePlan> {
    let remaining = words.remaining.as_ref();
    let remaining = remaining.map(|words| header_name(checker, &place.key("remaining").key("header"), &words.header));
    let reset = header_name(checker, &place.key("reset").key("header"), &words.reset.header);
    Some(PacePlan { reset: reset?, unit: words.reset.unit, remaining: transpose(remaining)? })
}
