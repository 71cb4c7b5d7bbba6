//! The words of `progress`.

use jobgate_adapter_api::Place;
use regex::Regex;

use super::Checker;
use crate::language::Scope;
use crate::plan::ProgressPlan;
use crate::words::ProgressWords;

pub(super) fn check(checker: &mut Checker<'_>, place: &Place, words: &ProgressWords, scope: &Scope) -> Option<ProgressPlan> {
    let forms = [&words.percent, &words.of, &words.done, &words.pattern];
    if forms.into_iter().flatten().count() != 1 {
        let message = "counts have one of four forms: `percent`, `of`, `done`, or `pattern`";
        checker.issues.add_with_hint(place.clone(), message, "{ done: \"{{ body.done }}\", total: \"{{ body.total }}\" }");
        return None;
    }
    for (name, said, form, its) in
        [("total", &words.total, "done", &words.done), ("text", &words.text, "pattern", &words.pattern)]
    {
        if said.is_some() && its.is_none() {
            checker.issues.add(place.key(name), format!("`{name}` goes with `{form}`"));
        }
    }
    let mut text = |name: &str, source: &Option<String>| checker.optional_text(&place.key(name), source.as_deref(), scope);
    let (percent, of, done) = (text("percent", &words.percent), text("of", &words.of), text("done", &words.done));
    let (total, searched) = (text("total", &words.total), text("text", &words.text));
    let Some(pattern) = &words.pattern else {
        let counts = done.map(|done| ProgressPlan::Counts(done, total));
        return percent.map(ProgressPlan::Percent).or(of.map(ProgressPlan::Of)).or(counts);
    };
    if words.text.is_none() {
        let message = "nothing says where the `pattern` is looked for";
        checker.issues.add_with_hint(place.key("text"), message, "text: \"{{ body.message }}\"");
    }
    let wrong = match Regex::new(pattern) {
        Ok(regex) if (2..=3).contains(&regex.captures_len()) => return Some(ProgressPlan::Pattern(regex, searched?)),
        Ok(regex) => format!("the pattern has {} groups; it needs one for what is done, or two", regex.captures_len() - 1),
        Err(_) => "this is no regular expression".to_owned(),
    };
    checker.issues.add_with_hint(place.key("pattern"), wrong, r#"pattern: "(\\d+) of (\\d+)""#);
    None
}
