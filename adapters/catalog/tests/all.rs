//! What every entry of the catalog has: words that are right, a README with its sections, an example, recorded answers, tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jobgate_adapter_catalog::{Entry, entries, factories};
use jobgate_adapter_testkit::Stubs;

/// The sections of an entry's README, in this order.
const SECTIONS: [&str; 5] = ["## Settings", "## Tools", "## Gotchas", "## Facts", "## Not verified"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Looks at every entry and reports all that is wrong, not the first of it.
#[track_caller]
fn check(look: impl Fn(&Entry) -> Vec<String>) {
    let wrong: Vec<String> =
        entries().flat_map(|entry| look(entry).into_iter().map(|what| format!("{}: {what}", entry.name()))).collect();
    assert!(entries().count() > 0, "the catalog has entries");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_entry_is_right_with_its_own_examples() {
    check(|entry| entry.check().err().map(|bad| bad.to_string()).into_iter().collect());
}

#[test]
fn every_folder_is_an_entry_in_order() {
    let names: Vec<&str> = entries().map(Entry::name).collect();
    assert!(names.is_sorted(), "the lines of src/entries.rs are sorted: {names:?}");
    let kinds: Vec<String> = factories().map(|factory| factory.kind().to_owned()).collect();
    assert_eq!(names, kinds);
    let here = fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap().map(|found| found.unwrap().path());
    let folders: BTreeSet<String> = here
        .filter(|path| path.join("adapter.yaml").exists())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(folders, names.iter().map(|name| (*name).to_owned()).collect(), "folders and lines of src/entries.rs");
}

#[test]
fn every_readme_has_its_sections() {
    check(|entry| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(entry.name()).join("README.md");
        let Ok(text) = fs::read_to_string(&file) else { return vec!["there is no README.md".to_owned()] };
        let mut wrong = Vec::new();
        if !text.starts_with("# ") {
            wrong.push("README.md begins with `# ` and the title".to_owned());
        }
        let found: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        if found != SECTIONS {
            wrong.push(format!("README.md has the sections {found:?}, and should have {SECTIONS:?}"));
        }
        for part in text.split("\n## ").skip(1).filter(|part| part.lines().skip(1).all(|line| line.trim().is_empty())) {
            wrong.push(format!("README.md: the section {:?} is empty", part.lines().next().unwrap_or_default()));
        }
        let settings = entry.words().settings.keys().map(|name| ("setting", name));
        let tools = entry.words().tools.keys().map(|name| ("tool", name));
        for (what, name) in settings.chain(tools).filter(|(_, name)| !text.contains(&format!("`{name}`"))) {
            wrong.push(format!("README.md does not speak of the {what} `{name}`"));
        }
        wrong
    });
}

/// The test over all examples of the repository asks whether `jobgate check` accepts them.
#[test]
fn every_entry_has_an_example_and_recorded_answers_and_a_test() {
    check(|entry| {
        let name = entry.name();
        let mut wrong = Vec::new();
        let example = fs::read_to_string(root().join(format!("examples/catalog/{name}.yaml"))).unwrap_or_default();
        if !example.contains(&format!("adapter: {name}")) {
            wrong.push(format!("examples/catalog/{name}.yaml is missing, or does not use it"));
        }
        if let Err(error) = Stubs::load(root().join("wiremock-fixtures").join(name)) {
            wrong.push(error.to_string());
        }
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract");
        let test = fs::read_to_string(tests.join(format!("{name}.rs"))).unwrap_or_default();
        if !test.contains("adapter_contract!") {
            wrong.push(format!("tests/contract/{name}.rs is missing, or does not run the contract"));
        }
        wrong
    });
}

#[test]
fn every_tool_says_what_it_is_and_every_secret_is_a_secret() {
    check(|entry| {
        let mut wrong = Vec::new();
        for (name, tool) in &entry.words().tools {
            if tool.description.split_whitespace().count() < 6 {
                wrong.push(format!("tools.{name}.description: says too little to choose by"));
            }
            if tool.input["type"] != "object" || !tool.input["properties"].is_object() {
                wrong.push(format!("tools.{name}.input: is no schema of an object with properties"));
            }
        }
        for (name, setting) in &entry.words().settings {
            let sounds = name.rsplit('_').next().is_some_and(|last| ["token", "secret", "password", "key"].contains(&last));
            if sounds && !setting.secret {
                wrong.push(format!("settings.{name}: sounds like a secret, and is none"));
            }
        }
        // A reference that is written out in the words would be the same for everybody.
        let words = serde_json::to_string(&entry.words().provider).unwrap();
        for scheme in ["\"env:", "\"file:"] {
            if words.contains(scheme) {
                wrong.push(format!("provider: names a secret itself ({scheme}...\"); it belongs to the settings"));
            }
        }
        wrong
    });
}
