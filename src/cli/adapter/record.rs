//! A run as a file of WireMock stub mappings: repeated requests become a scenario, so that looks are answered in order.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::{Value, json};

use super::Recorded;
use super::mask::Mask;
use super::stub::{Writer, origin};
use crate::cli::out::{Failure, note, result};

fn file(folder: &Path, tool: &str) -> PathBuf {
    folder.join(format!("{tool}.json"))
}

/// Nothing is written over: a recording may have been looked over and mended by hand.
pub(super) fn may_write(folder: &Path, tool: &str) -> Result<(), Failure> {
    let file = file(folder, tool);
    if file.exists() {
        return Err(Failure::usage(format!("{} is there already", file.display())).hint("name another folder, or remove it"));
    }
    std::fs::create_dir_all(folder).map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))
}

/// Writes the mappings, and says what a person should look over.
pub(super) fn write(folder: &Path, tool: &str, run: &Recorded, mask: &Mask) -> Result<(), Failure> {
    let exchanges = run.watch.exchanges();
    let mut origins: Vec<String> = Vec::new();
    for found in exchanges.iter().filter_map(|exchange| origin(&exchange.uri)) {
        if !origins.contains(&found) {
            origins.push(found);
        }
    }
    let writer = Writer { mask, key: run.key.as_str(), origins };
    let mut groups: Vec<(Value, bool, Vec<Value>)> = Vec::new();
    for exchange in &exchanges {
        let Some(response) = writer.response(exchange) else { continue };
        let request = writer.request(exchange);
        let starts = Writer::starts_job(exchange);
        match groups.iter_mut().find(|(known, ..)| *known == request) {
            Some((_, started, answers)) => {
                *started |= starts;
                // The same answer twice over is the same state.
                if answers.last() != Some(&response) {
                    answers.push(response);
                }
            }
            None => groups.push((request, starts, vec![response])),
        }
    }
    let mut mappings = Vec::new();
    for (number, (request, starts, answers)) in groups.iter().enumerate() {
        for (nth, response) in answers.iter().enumerate() {
            let mut mapping = json!({ "request": request, "response": response });
            if answers.len() > 1 {
                let state = |nth: usize| if nth == 0 { "Started".to_owned() } else { format!("answer {}", nth + 1) };
                mapping["scenarioName"] = format!("{tool} {}", number + 1).into();
                mapping["requiredScenarioState"] = state(nth).into();
                if nth + 1 < answers.len() {
                    mapping["newScenarioState"] = state(nth + 1).into();
                }
            }
            if *starts {
                mapping["metadata"] = json!({ "startsJob": true });
            }
            mappings.push(mapping);
        }
    }
    let text = format!("{:#}\n", json!({ "mappings": mappings }));
    if mask.finds_in(&text) {
        return Err(Failure::new("a secret is left in what would be written, so nothing was written"));
    }
    let file = file(folder, tool);
    std::fs::write(&file, &text).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    result(format!("{}: {} mappings", file.display(), mappings.len()));
    look_over(&text, &exchanges.len(), &writer);
    Ok(())
}

fn look_over(text: &str, exchanges: &usize, writer: &Writer<'_>) {
    note(format!("{exchanges} exchanges. Before you share the file, look over:"));
    note(
        "  - ids, dates and names are as the provider sent them; secrets are `scrubbed`, the provider's address is that of whoever plays it",
    );
    let pattern = |expression: &str| Regex::new(expression).expect("the expression is written right");
    let found = |expression: &str| {
        let mut found: Vec<String> = pattern(expression).find_iter(text).map(|found| found.as_str().to_owned()).collect();
        found.sort();
        found.dedup();
        found
    };
    let mails = found(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z]{2,}");
    if !mails.is_empty() {
        note(format!("  - addresses of people: {}", mails.join(", ")));
    }
    let hosts = found(r#"https?://[^/"\s\\{}]+"#);
    if !hosts.is_empty() {
        note(format!("  - other hosts: {}", hosts.join(", ")));
    }
    if writer.origins.len() > 1 {
        note(format!("  - requests went to {}; the stubs answer for all of them at one address", writer.origins.join(", ")));
    }
    if text.contains("scrubbed") {
        note("  - values named `scrubbed` that a request has to repeat; the stubs take any in their place");
    }
}
