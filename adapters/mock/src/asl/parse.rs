//! From a machine's words to its meaning, with every issue at once: the mapping as a whole, its scopes, and how states follow
//! each other. Single states are read in `state.rs`.

use std::collections::{BTreeMap, BTreeSet};

use jobgate_adapter_api::{Issues, Place};
use serde_json::Value;

use super::fields::Fields;
use super::machine::{Kind, Machine, Scope, State};
use super::state;
use super::suggest;

const MACHINE_FIELDS: [&str; 7] =
    ["Comment", "StartAt", "States", "TimeoutSeconds", "Version", "QueryLanguage", "MockQueueSeconds"];
const SCOPE_FIELDS: [&str; 4] = ["Comment", "StartAt", "States", "ProcessorConfig"];
/// The longest name of a state, in characters (section "States").
const LONGEST_NAME: usize = 80;

impl Machine {
    /// Reads a machine written in the States Language, as the value of its YAML or JSON.
    ///
    /// # Errors
    /// Every issue that was found, each with its place below `place`.
    pub fn parse(words: &Value, place: &Place) -> Result<Self, Issues> {
        let mut issues = Issues::new();
        let machine = Self::read(words, place, &mut issues);
        match machine {
            Some(machine) if issues.is_empty() => Ok(machine),
            Some(_) | None => Err(issues),
        }
    }

    fn read(words: &Value, place: &Place, issues: &mut Issues) -> Option<Self> {
        let fields = Fields::of(words, place.clone(), "a machine", issues)?;
        fields.only(&MACHINE_FIELDS, "a machine", issues);
        if let Some(language) = fields.text("QueryLanguage", issues).filter(|language| *language != "JSONPath") {
            issues.add_with_hint(
                fields.at("QueryLanguage"),
                format!("`{language}` is not spoken here"),
                "QueryLanguage: JSONPath",
            );
        }
        let timeout = fields.seconds("TimeoutSeconds", issues);
        let queued = fields.seconds("MockQueueSeconds", issues).unwrap_or(0);
        let mut names = BTreeSet::new();
        let scope = scope(&fields, &mut names, issues)?;
        Some(Self { scope, timeout, queued })
    }
}

/// Reads a branch, or what is done to one item.
pub(crate) fn nested(words: &Value, place: Place, names: &mut BTreeSet<String>, issues: &mut Issues) -> Option<Scope> {
    let fields = Fields::of(words, place, "a branch", issues)?;
    fields.only(&SCOPE_FIELDS, "a branch", issues);
    scope(&fields, names, issues)
}

/// Reads `StartAt` and `States`. `names` holds every name of the machine so far: names are unique in the whole of it, so that a
/// question's key names one state.
fn scope(fields: &Fields<'_>, names: &mut BTreeSet<String>, issues: &mut Issues) -> Option<Scope> {
    let found = issues.iter().len();
    let words = match fields.map.get("States") {
        Some(words) => Fields::of(words, fields.at("States"), "`States`", issues),
        None => {
            issues.add_with_hint(fields.place.clone(), "`States` is missing", "StartAt: Work, States: {Work: {Type: Succeed}}");
            None
        }
    }?;
    if words.map.is_empty() {
        issues.add(words.place.clone(), "a machine has at least one state");
    }
    let mut states = BTreeMap::new();
    for (name, value) in words.map {
        if name.is_empty() || name.chars().count() > LONGEST_NAME {
            issues.add(words.at(name), format!("a state's name has 1 to {LONGEST_NAME} characters"));
        }
        if !names.insert(name.clone()) {
            issues.add(words.at(name), format!("there is another state `{name}` in this machine; names are unique in all of it"));
        }
        if let Some(state) = state::read(name, value, words.at(name), names, issues) {
            states.insert(name.clone(), state);
        }
    }
    let start = start(fields, &words, issues);
    check_followers(&words, &states, issues);
    // Whether a state can be reached is only sure when every state could be read.
    if let Some(start) = start.as_deref().filter(|_| issues.iter().len() == found) {
        for name in unreachable(start, &states) {
            issues.add_with_hint(
                words.at(name),
                format!("nothing leads to the state `{name}`"),
                "name it in a `Next`, or remove it",
            );
        }
    }
    Some(Scope { start: start?, states })
}

fn start(fields: &Fields<'_>, words: &Fields<'_>, issues: &mut Issues) -> Option<String> {
    if !fields.has("StartAt") {
        let hint = words.map.keys().next().map_or_else(|| "StartAt: Work".to_owned(), |first| format!("StartAt: {first}"));
        issues.add_with_hint(fields.place.clone(), "`StartAt` is missing", hint);
    }
    let start = fields.text("StartAt", issues)?;
    check_exists(start, words, fields.at("StartAt"), issues);
    Some(start.to_owned())
}

/// Notes every name of a following state that is no state of this scope.
fn check_followers(words: &Fields<'_>, states: &BTreeMap<String, State>, issues: &mut Issues) {
    for (name, state) in states {
        let at = words.at(name);
        if let Some(next) = &state.next {
            check_exists(next, words, at.key("Next"), issues);
        }
        for (nth, catcher) in state.catch.iter().enumerate() {
            check_exists(&catcher.next, words, at.key("Catch").index(nth).key("Next"), issues);
        }
        if let Kind::Choice { rules, default } = &state.kind {
            for (nth, (_, next)) in rules.iter().enumerate() {
                check_exists(next, words, at.key("Choices").index(nth).key("Next"), issues);
            }
            if let Some(default) = default {
                check_exists(default, words, at.key("Default"), issues);
            }
        }
    }
}

fn check_exists(name: &str, words: &Fields<'_>, place: Place, issues: &mut Issues) {
    if words.has(name) {
        return;
    }
    let known = || words.map.keys().map(String::as_str);
    let hint = match suggest(name, known()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there is {}", known().collect::<Vec<_>>().join(", ")),
    };
    issues.add_with_hint(place, format!("there is no state `{name}` here"), hint);
}

fn unreachable<'a>(start: &str, states: &'a BTreeMap<String, State>) -> Vec<&'a str> {
    let mut reached = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(state) = open.pop().and_then(|name| states.get(name)) {
        open.extend(state.followers().filter(|next| reached.insert(*next)));
    }
    states.keys().map(String::as_str).filter(|name| !reached.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn issues(machine: &Value) -> Vec<(String, String)> {
        let found = Machine::parse(machine, &Place::root().key("machine")).unwrap_err();
        found
            .into_iter()
            .map(|issue| (issue.place.to_string(), format!("{} ({})", issue.message, issue.hint.unwrap_or_default())))
            .collect()
    }

    #[track_caller]
    fn check(machine: &Value, wanted: &[(&str, &str)]) {
        let found = issues(machine);
        assert_eq!(found.len(), wanted.len(), "{found:#?}");
        for ((place, text), (wanted_place, part)) in found.iter().zip(wanted) {
            assert_eq!(place, wanted_place, "{text}");
            assert!(text.contains(part), "{place}: {text}");
        }
    }

    /// Clause C1: every problem of a machine is told at once, each with its place and what would be right.
    #[test]
    fn all_problems_of_a_machine_are_told_at_once() {
        check(
            &json!({
                "StartAt": "Buidl", "TimoutSeconds": 5,
                "States": {
                    "Build": {"Type": "Wait", "Seconds": -1, "Next": "Tset"},
                    "Test": {"Type": "Tsk", "Resource": "x", "End": true},
                    "Ask": {"Type": "Task", "Resource": "mock:callbak", "Retry": [{"ErrorEquals": []}], "End": true},
                    "Pick": {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEqualz": 1, "Next": "Build"}], "Default": "Nowhere"},
                    "Stop": {"Type": "Pass"}
                }
            }),
            &[
                ("machine.TimoutSeconds", "did you mean `TimeoutSeconds`?"),
                ("machine.States.Build.Seconds", "a number of seconds"),
                ("machine.States.Build", "exactly one of"),
                ("machine.States.Test.Type", "did you mean `Task`?"),
                ("machine.States.Ask.Retry[0].ErrorEquals", "at least one"),
                ("machine.States.Ask.Resource", "did you mean `mock:callback`?"),
                ("machine.States.Pick.Choices[0].NumericEqualz", "did you mean `NumericEquals`?"),
                ("machine.States.Stop", "`Next` or `End: true`"),
                ("machine.StartAt", "did you mean `Build`?"),
                ("machine.States.Build.Next", "there is no state `Tset` here"),
                ("machine.States.Pick.Default", "there is Build, Test, Ask, Pick, Stop"),
            ],
        );
    }

    #[test]
    fn states_that_nothing_leads_to_are_told() {
        check(
            &json!({"StartAt": "A", "States": {"A": {"Type": "Succeed"}, "B": {"Type": "Pass", "Next": "A"}}}),
            &[("machine.States.B", "nothing leads to the state `B`")],
        );
    }

    #[test]
    fn problems_inside_branches_and_items_are_told_with_their_whole_place() {
        check(
            &json!({"StartAt": "P", "States": {
                "P": {"Type": "Parallel", "Next": "M", "Branches": [{"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "P"}}}]},
                "M": {"Type": "Map", "End": true, "ItemsPath": "$..x", "ItemProcessor": {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}}
            }}),
            &[
                ("machine.States.P.Branches[0].States.A.Next", "there is no state `P` here"),
                ("machine.States.M.ItemProcessor.States.A", "another state `A`"),
                ("machine.States.M.ItemsPath", "no path"),
            ],
        );
    }

    #[test]
    fn what_is_no_machine_at_all_is_told() {
        check(&json!("x"), &[("machine", "a machine is a mapping")]);
        check(&json!({}), &[("machine", "`States` is missing")]);
        check(&json!({"States": {}}), &[("machine.States", "at least one state"), ("machine", "`StartAt` is missing")]);
        let jsonata = json!({"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}});
        check(&jsonata, &[("machine.QueryLanguage", "JSONPath")]);
    }
}
