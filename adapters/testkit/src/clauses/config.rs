//! C1: what a configuration must be refused for.

use jobgate_adapter_api::{Issues, Place};
use serde_json::{Value, json};

use crate::suite::{Breach, Suite, check, ensure, provider_place, tool_place};

/// A word that no adapter has.
const MISSPELT: &str = "no_such_word";

pub(crate) async fn c1(suite: &Suite<'_>) -> Result<(), Breach> {
    suite.instance()?;
    let bad = suite.rig.bad_configs();
    ensure!(!bad.is_empty(), "the rig gives no configuration that must be refused");
    for config in bad {
        refused(suite, config.provider, config.tools, &config.place)?;
    }
    misspelt_words(suite)
}

/// A misspelt word must never be taken for a default.
fn misspelt_words(suite: &Suite<'_>) -> Result<(), Breach> {
    let mut provider = suite.rig.provider();
    insert(&mut provider)?;
    refused(suite, provider, suite.rig.tools(), &provider_place().key(MISSPELT).to_string())?;
    for nth in 0..suite.rig.tools().len() {
        let mut tools = suite.rig.tools();
        insert(&mut tools[nth].words)?;
        let place = tool_place(&tools[nth].name).key(MISSPELT).to_string();
        refused(suite, suite.rig.provider(), tools, &place)?;
    }
    Ok(())
}

fn insert(section: &mut Value) -> Result<(), Breach> {
    let Value::Object(words) = section else {
        return Err(Breach::new(format!("a section is a mapping, not {section}")));
    };
    words.insert(MISSPELT.to_owned(), json!(true));
    Ok(())
}

fn refused(suite: &Suite<'_>, provider: Value, tools: Vec<crate::RigTool>, place: &str) -> Result<(), Breach> {
    let mut issues = Issues::new();
    let checked = check(suite.rig, provider, tools, &mut issues);
    let found: Vec<String> = issues.iter().map(|issue| format!("{}: {}", issue.place, issue.message)).collect();
    ensure!(checked.is_none(), "a configuration that is wrong at `{place}` was accepted; issues: {found:?}");
    ensure!(
        issues.iter().any(|issue| names(&issue.place, &issue.message, place)),
        "a configuration that is wrong at `{place}` was refused, but no issue names that place: {found:?}"
    );
    Ok(())
}

/// Whether an issue names `wanted`: by its place, or by a section that contains it and a message with its last step.
fn names(place: &Place, message: &str, wanted: &str) -> bool {
    let place = place.to_string();
    let last = wanted.rsplit(['.', '[']).next().unwrap_or(wanted).trim_end_matches(']');
    place == wanted || (wanted.starts_with(&place) && message.contains(&format!("`{last}`")))
}
