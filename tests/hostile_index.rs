//! Every hostile input of the list has a test that names its number: `fn n012_...`, or `/// Hostile 12, 13: ...` above one.

use std::collections::{BTreeMap, BTreeSet};

use jobgate_test_support::engine;
use jobgate_test_support::source::{files, text, tokens};

/// The numbers of the list of hostile inputs; the others were merged into these.
const NUMBERS: [u16; 79] = [
    1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30, 32, 33, 34, 36, 37, 38, 40, 41, 42, 44,
    45, 46, 48, 49, 50, 52, 53, 54, 56, 57, 58, 60, 61, 62, 64, 65, 66, 68, 69, 70, 72, 73, 74, 76, 77, 78, 80, 81, 82, 84, 85,
    86, 88, 89, 90, 92, 93, 94, 96, 97, 98, 100, 101, 102, 104, 105,
];

/// The numbers in `n016_control_characters_and_n017_bytes`.
fn in_name(name: &str) -> impl Iterator<Item = u16> {
    let number = |word: &str| word.strip_prefix('n').filter(|digits| digits.len() == 3).and_then(|digits| digits.parse().ok());
    name.split('_').filter_map(number)
}

/// The numbers in `/// Hostile 78, 82: ...`.
fn in_comment(line: &str) -> Vec<u16> {
    let Some((_, rest)) = line.trim_start().strip_prefix("///").and_then(|text| text.split_once("ostile ")) else {
        return Vec::new();
    };
    let (numbers, _) = rest.split_once(':').unwrap_or(("", rest));
    numbers.split([',', ' ']).filter_map(|digits| digits.parse().ok()).collect()
}

/// Numbers and the files whose tests name them.
fn named() -> BTreeMap<u16, BTreeSet<String>> {
    let mut found: BTreeMap<u16, BTreeSet<String>> = BTreeMap::new();
    let sources = ["src", "adapters", "webhooks", "tests"].iter().flat_map(|folder| files(folder));
    for file in sources.filter(|file| file.ends_with(".rs") && file != "tests/hostile_index.rs") {
        let source = text(&file).unwrap_or_else(|| panic!("there is no {file}"));
        let tokens = tokens(&source);
        let mut is_test = false;
        for pair in tokens.windows(2) {
            let after_bracket = ["[", ":"].contains(&pair[0].text.as_str()) && pair[1].is("test");
            is_test = (is_test || after_bracket) && pair[0].text != "{";
            if is_test && pair[0].is("fn") {
                for number in in_name(&pair[1].text) {
                    found.entry(number).or_default().insert(file.clone());
                }
                is_test = false;
            }
        }
        for number in source.lines().flat_map(in_comment) {
            found.entry(number).or_default().insert(file.clone());
        }
    }
    found
}

#[test]
fn every_hostile_input_has_a_test_that_names_it() {
    let named = named();
    let missing: Vec<u16> = NUMBERS.into_iter().filter(|number| !named.contains_key(number)).collect();
    assert!(missing.is_empty(), "hostile inputs without a test: {missing:?}");
    let strange: Vec<_> = named.iter().filter(|(number, _)| !NUMBERS.contains(number)).collect();
    assert!(strange.is_empty(), "numbers that the list does not have: {strange:?}");
}

/// Where the list is at hand, its numbers are these.
#[test]
fn the_numbers_are_those_of_the_list() {
    let path = engine::shared().join("webhooks/hostile.md");
    let Ok(list) = std::fs::read_to_string(&path) else { return engine::skip(&format!("no {}", path.display())) };
    let (_, inputs) = list.split_once("## 3.").unwrap_or_else(|| panic!("{} has inputs", path.display()));
    let (inputs, _) = inputs.split_once("\n## 4.").unwrap_or((inputs, ""));
    let number = |line: &str| line.split_once(". ").and_then(|(digits, _)| digits.parse::<u16>().ok());
    let numbers: Vec<u16> = inputs.lines().filter_map(number).collect();
    assert_eq!(numbers, NUMBERS);
}
