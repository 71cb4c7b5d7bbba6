//! House rules that no compiler knows: how files begin and how long they are, what must not be in them, and that the tables in the
//! documents say what the code says.

#![expect(clippy::unwrap_used, reason = "a test that cannot read the repository has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use jobgate_test_support::source::{Kind, Token, cargo_metadata, files, reachable, root, text, tokens};
use serde_json::Value;

/// Lines of a source before its tests. A longer file has two reasons to exist.
const LONGEST: usize = 400;

/// The only files that may wait on the wall clock, beside the measurements: the clock itself, and the bounded waits for other
/// processes.
const MAY_SLEEP: [&str; 2] = ["adapters/api/src/clock.rs", "tests/support/src/wait.rs"];

#[test]
fn every_source_says_what_it_is_for() {
    check(&rust_files(), |file, source| {
        let first = source.lines().next().unwrap_or_default();
        let says = first.strip_prefix("//! ").is_some_and(|rest| rest.len() >= 8);
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

#[test]
fn every_source_is_compiled() {
    let mut compiled = BTreeSet::new();
    for package in cargo_metadata()["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            let path = target["src_path"].as_str().unwrap();
            let root_file = path.strip_prefix(root().to_str().unwrap()).unwrap().trim_start_matches('/');
            compiled.extend(reachable(root_file));
        }
    }
    let dead: Vec<String> = rust_files().into_iter().filter(|file| !compiled.contains(file)).collect();
    assert!(dead.is_empty(), "no `mod` line leads to {dead:?}");
}

/// What is not used is not depended on. A name that a crate's sources never say is not used.
#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for package in cargo_metadata()["packages"].as_array().unwrap() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let folder =
            manifest.strip_prefix(root().to_str().unwrap()).unwrap().trim_start_matches('/').trim_end_matches("Cargo.toml");
        let names = |places: &[&str]| -> BTreeSet<String> {
            let sources = places.iter().flat_map(|place| files(&format!("{folder}{place}")));
            let sources =
                sources.filter(|file| file.ends_with(".rs") && !(folder.is_empty() && file.starts_with("tests/support")));
            sources.flat_map(|file| tokens(&text(&file).unwrap())).filter(|it| it.kind == Kind::Ident).map(|it| it.text).collect()
        };
        let (shipped, tested) = (names(&["src"]), names(&["src", "tests", "benches", "examples"]));
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["rename"].as_str().or(dependency["name"].as_str()).unwrap().replace('-', "_");
            let used = if dependency["kind"] == Value::Null { &shipped } else { &tested };
            if !used.contains(&name) {
                unused.push(format!("{}: {name}", package["name"].as_str().unwrap()));
            }
        }
    }
    assert!(unused.is_empty(), "dependencies that no source names: {unused:#?}");
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
    // Those of the gateway, and those of the language of providers, whichever has more.
    const LAST: [(char, u32); 13] = [
        ('A', 8),
        ('B', 9),
        ('C', 9),
        ('D', 6),
        ('E', 10),
        ('F', 7),
        ('G', 9),
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

/// A document that points at a test or a file points at one that is there.
#[test]
fn documents_point_at_files_that_exist() {
    let documents: Vec<String> = files("").into_iter().filter(|file| file.ends_with(".md")).collect();
    assert!(documents.contains(&"ARCHITECTURE.md".to_owned()));
    check(&documents, |file, text| {
        let here = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let mut links = links.filter(|link| !link.is_empty() && !link.contains("://"));
        if let Some(gone) = links.find(|link| !root().join(here).join(link).exists()) {
            return Some(format!("{file}: the link to {gone} leads nowhere"));
        }
        let mut named = text.split('`').skip(1).step_by(2).filter(|word| {
            let first = word.split('/').next().unwrap_or_default();
            word.contains('/')
                && !word.contains([' ', '*', '{', '<', '\n'])
                && !word.ends_with("NAME")
                && ["src", "tests", "adapters", "examples", "docs"].contains(&first)
        });
        let gone = named.find(|path| !["", here, "adapters/template"].iter().any(|base| exists(base, path)))?;
        Some(format!("{file}: there is no {gone}"))
    });
}

/// Whether the path, or the source that it names without an ending, is there. `adapters/yours` is the one that a reader makes.
fn exists(base: &str, path: &str) -> bool {
    let path = root().join(base).join(path);
    path.exists() || path.with_extension("rs").exists() || path.ends_with("adapters/yours")
}

/// The table of adapters says what can be built: one row, one folder, one feature, one kind in the registry.
#[test]
fn the_table_of_adapters_is_the_registry() {
    let table = text("adapters/README.md").unwrap();
    let rows: BTreeSet<String> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(kind, _)| kind.to_owned()).collect();
    let folders: BTreeSet<String> =
        files("adapters").iter().filter_map(|file| file.split('/').nth(1)).map(String::from).collect();
    let apart = ["README.md", "api", "testkit", "template"];
    let folders: BTreeSet<String> = folders.into_iter().filter(|it| !apart.contains(&it.as_str())).collect();
    let metadata = cargo_metadata();
    let root = metadata["packages"].as_array().unwrap().iter().find(|it| it["name"] == "jobgate").unwrap();
    let features = root["features"].as_object().unwrap().keys().filter_map(|it| it.strip_prefix("adapter-"));
    let features: BTreeSet<String> = features.map(|it| it.replace('-', "_")).collect();
    // An entry of the catalog is a kind of its own, and all of them are one row.
    let entry = |kind: &str| root_has(&format!("adapters/catalog/{kind}/adapter.yaml"));
    let row = |kind: &str| if entry(kind) { "catalog".to_owned() } else { kind.to_owned() };
    let registry: BTreeSet<String> = jobgate::registry::Registry::built_in().iter().map(|it| row(it.kind())).collect();
    assert_eq!(rows, folders, "rows and folders");
    assert_eq!(rows, features, "rows and features");
    assert_eq!(rows, registry, "rows and the registry");
}

fn root_has(path: &str) -> bool {
    root().join(path).exists()
}

/// Every example is a configuration without problems, and says at its head what it is for.
#[test]
fn every_example_is_accepted() {
    let examples: Vec<String> = files("examples").into_iter().filter(|it| it.ends_with(".yaml")).collect();
    check(&examples, |file, text| {
        let output = Command::new(env!("CARGO_BIN_EXE_jobgate")).arg("check").arg(file).current_dir(root()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Some(format!("{file}: {said}"));
        }
        (!text.starts_with("# ")).then(|| format!("{file}: the first line is `# ` and what the example is for"))
    });
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
