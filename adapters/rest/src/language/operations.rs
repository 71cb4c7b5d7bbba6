//! Finding misspelt filters, tests and methods at check time; MiniJinja itself finds them when they are reached.

use std::sync::LazyLock;

use minijinja::{Environment, ErrorKind};
use regex::Regex;

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

static TAGS: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?s)\{\{(.*?)\}\}|\{%(.*?)%\}"));
static LITERALS: LazyLock<Regex> = LazyLock::new(|| pattern(r#"(?s)'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*""#));
static FILTERS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\|\s*([A-Za-z_]\w*)"));
static TESTS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bis\s+(?:not\s+)?([A-Za-z_]\w*)"));
static METHODS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\.\s*([A-Za-z_]\w*)\s*\("));

/// What is wrong with the operations of an expression (without braces) or template, or `None`.
pub(super) fn problem(environment: &Environment<'_>, source: &str) -> Option<String> {
    let tags: Vec<&str> =
        TAGS.captures_iter(source).filter_map(|tag| Some(tag.get(1).or_else(|| tag.get(2))?.as_str())).collect();
    let code = if tags.is_empty() { source.to_owned() } else { tags.join("\n;\n") };
    let code = LITERALS.replace_all(&code, "''");
    let unknown = |probe: String, kind| {
        let expression = environment.compile_expression_owned(probe).ok()?;
        expression.eval(()).is_err_and(|error| error.kind() == kind).then_some(())
    };
    let filter = FILTERS
        .captures_iter(&code)
        .map(|found| found[1].to_owned())
        .find(|name| unknown(format!("'' | {name}"), ErrorKind::UnknownFilter).is_some());
    let test = TESTS
        .captures_iter(&code)
        .map(|found| found[1].to_owned())
        .find(|name| unknown(format!("'' is {name}"), ErrorKind::UnknownTest).is_some());
    let method = METHODS.captures(&code).map(|found| found[1].to_owned());
    match (filter, test, method) {
        (Some(name), _, _) => Some(format!("`{name}` is no filter")),
        (_, Some(name), _) => Some(format!("`{name}` is no test")),
        (_, _, Some(name)) => {
            Some(format!("values have no methods, so none named `{name}`; use a filter, for example `| split('/')`"))
        }
        (None, None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_operations_are_named_and_right_ones_pass() {
        let environment = Environment::new();
        for (source, wanted) in [
            ("body.a | lenght", Some("`lenght` is no filter")),
            ("/x/{{ job.id | upercase }}", Some("`upercase` is no filter")),
            ("word is startswith 'a'", Some("`startswith` is no test")),
            ("body.a.split('/')", Some("values have no methods, so none named `split`")),
            ("body.a | selectattr('x', 'defined') | map(attribute='y') | first", None),
            ("word is not startingwith 'fail' and body.a | length > 2", None),
            ("body.text == 'a | nosuch is nosuch x.y()'", None),
            ("{{ body.a }} {{ (body.b | first).c }}", None),
            ("a | plain text | with {{ body.pipe | upper }}", None),
        ] {
            let found = problem(&environment, source);
            assert_eq!(found.is_some(), wanted.is_some(), "{source}: {found:?}");
            assert!(found.unwrap_or_default().starts_with(wanted.unwrap_or_default()), "{source}");
        }
    }
}
