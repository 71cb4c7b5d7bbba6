//! House rules that no compiler knows: how files begin and how long they are, what must not be in them, and that the tables in the
//! documents say what the code says.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

use std::collections::BTreeMap;

use jobgate_test_support::source::{Token, files, text, tokens};

/// Lines of a source before its tests. A longer file has two reasons to exist.
const LONGEST: usize = 400;

/// The only files that may wait on the wall clock, beside the measurements: the clock itself, and the bounded waits for other
/// processes.
const MAY_SLEEP: [&str; 2] = ["adapters/api/src/clock.rs", "tests/support/src/wait.rs"];

#[test]
fn every_source_says_what_it_is_for() {
    check(&rust_files(), |file, source| {
        let first = source.lines().next().unwrap_or_default();
        let says = first.strip_prefix("//! ").is_some_and(|rest| rest.contains(' '));
        (!says).then(|| format!("{file}: the first line is `//! ` and what the file is for"))
    });
}

#[test]
fn no_source_is_too_long() {
    check(&rust_files(), |file, source| {
        if is_test(file) {
            return None;
        }
        let lines = source.lines().take_while(|line| line.trim() != "#[cfg(test)]").count();
        (lines > LONGEST).then(|| format!("{file}: {lines} lines before its tests; at most {LONGEST}"))
    });
}

/// Also the lints of clippy say some of this; here no attribute can switch it off.
#[test]
fn nothing_is_left_unfinished_or_ignored() {
    check(&rust_files(), |file, source| {
        let tokens = tokens(source);
        let found = tokens.windows(2).find_map(|pair| {
            let bang = pair[1].text == "!" && ["todo", "unimplemented", "dbg"].contains(&pair[0].text.as_str());
            let ignored = pair[0].text == "[" && pair[1].is("ignore");
            (bang || ignored).then_some(&pair[0])
        });
        found.map(|token| format!("{file}:{}: `{}` does not belong here", token.line, token.text))
    });
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];
    check(&text_files(), |file, text| {
        let line = text.lines().position(|line| marks.iter().any(|mark| has_word(line, mark)))?;
        Some(format!("{file}:{}: finish it, or write down what is left where users see it", line + 1))
    });
}

/// Tests wait for what they wait for; the product waits through its `Clock`.
#[test]
fn nothing_sleeps_on_the_wall_clock() {
    check(&rust_files(), |file, source| {
        if MAY_SLEEP.contains(&file) || file.starts_with("benches/") {
            return None;
        }
        let tokens = tokens(source);
        let at = sleeps(&tokens)?;
        Some(format!("{file}:{at}: sleeps; take a `Clock`, or wait with a bound through the test support"))
    });
}

/// The line of the first name `sleep` or `sleep_until` that is neither a method nor a definition.
fn sleeps(tokens: &[Token]) -> Option<usize> {
    let hit = (1..tokens.len()).find(|&index| {
        let name = &tokens[index];
        (name.is("sleep") || name.is("sleep_until")) && !(tokens[index - 1].text == "." || tokens[index - 1].is("fn"))
    })?;
    Some(tokens[hit].line)
}

/// The repository speaks of the product alone: no folders of somebody's machine, no names of package registries.
#[test]
fn nothing_names_somebodys_machine() {
    let banned = [
        concat!("/wo", "rk/"),
        concat!("/tm", "p/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("crates", ".io"),
        concat!("npmjs", ".org"),
        concat!("npmjs", ".com"),
        concat!("pypi", ".org"),
        concat!("deb.debian", ".org"),
    ];
    let own: Vec<String> = text_files().into_iter().filter(|file| file != "Cargo.lock").collect();
    check(&own, |file, text| {
        let (line, found) = text
            .lines()
            .enumerate()
            .find_map(|(number, line)| banned.iter().find(|word| line.contains(*word)).map(|word| (number + 1, word)))?;
        Some(format!("{file}:{line}: `{found}` is of one machine or one registry"))
    });
}

/// A requirement that a test claims to prove is one that exists.
#[test]
fn every_requirement_that_is_named_exists() {
    const LAST: [(char, u32); 13] = [
        ('A', 7),
        ('B', 9),
        ('C', 7),
        ('D', 6),
        ('E', 5),
        ('F', 4),
        ('G', 4),
        ('H', 8),
        ('I', 3),
        ('J', 5),
        ('K', 4),
        ('L', 5),
        ('M', 3),
    ];
    let clauses = numbered("adapters/api/README.md", 'C').max(7);
    check(&rust_files(), |file, source| {
        let (line, id) = source.lines().enumerate().find_map(|(number, line)| {
            let prose = line.trim_start().strip_prefix("///")?;
            let wrong = claims(prose).into_iter().find(|(letter, number)| {
                let last = if *letter == 'C' { clauses } else { LAST.iter().find(|(it, _)| it == letter).map_or(0, |it| it.1) };
                *letter != 'S' && (*number == 0 || *number > last)
            })?;
            Some((number + 1, wrong))
        })?;
        Some(format!("{file}:{line}: there is no requirement {}{}", id.0, id.1))
    });
}

/// The numbers at the head of a doc line: `/// B2, K1: ...`.
fn claims(prose: &str) -> Vec<(char, u32)> {
    let Some((head, _)) = prose.split_once(':') else { return Vec::new() };
    let parts = head.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
    let parsed: Option<Vec<(char, u32)>> = parts
        .map(|part| {
            let mut chars = part.chars();
            let letter = chars.next().filter(char::is_ascii_uppercase)?;
            chars.as_str().parse().ok().map(|number| (letter, number))
        })
        .collect();
    parsed.unwrap_or_default()
}

/// The highest number among the table rows `| C7 | ...` of a document.
fn numbered(file: &str, letter: char) -> u32 {
    let text = text(file).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    cells.filter_map(|cell| cell.strip_prefix(letter)?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn the_changelog_has_a_place_for_what_comes_next() {
    let changelog = text("CHANGELOG.md").unwrap();
    assert!(changelog.lines().any(|line| line.starts_with("## ") && line.contains("Unreleased")), "a section `## Unreleased`");
}

fn rust_files() -> Vec<String> {
    let found: Vec<String> = files("").into_iter().filter(|file| file.ends_with(".rs")).collect();
    assert!(found.len() > 20, "the repository has its sources");
    found
}

fn text_files() -> Vec<String> {
    files("").into_iter().filter(|file| text(file).is_some()).collect()
}

/// Whether a source is a test or a measurement rather than a part of the product.
fn is_test(file: &str) -> bool {
    file.split('/').any(|part| part == "tests" || part == "benches") && !file.starts_with("tests/support/")
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|it: char| !it.is_ascii_alphanumeric()).any(|part| part == word)
}

/// Looks at every file and reports all that is wrong, not the first of it.
#[track_caller]
fn check(files: &[String], look: impl Fn(&str, &str) -> Option<String>) {
    let wrong: Vec<String> = files.iter().filter_map(|file| look(file, &text(file)?)).collect();
    assert!(!files.is_empty(), "there is nothing to look at");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_rules_see_what_breaks_them() {
    let sleeping = ["fn f() { std::thread::sleep(d) }", "use tokio::time::{interval, sleep};", "async { sleep(d).await }"];
    for source in sleeping {
        assert_eq!(sleeps(&tokens(source)), Some(1), "{source}");
    }
    assert_eq!(sleeps(&tokens("fn sleep(&self) { self.clock.sleep(d) } // sleep")), None);
    let rows: BTreeMap<&str, Vec<(char, u32)>> = BTreeMap::from([
        (" B2: only these moves", vec![('B', 2)]),
        (" B2, K1: both", vec![('B', 2), ('K', 1)]),
        (" Reads one task: fast", vec![]),
        (" S3 and more", vec![]),
    ]);
    for (prose, expected) in rows {
        assert_eq!(claims(prose), expected, "{prose}");
    }
}
