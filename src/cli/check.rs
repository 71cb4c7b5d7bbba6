//! `jobgate check` and `jobgate schema`: no network, no secrets, no environment.

use std::path::Path;

use jobgate_adapter_api::Clock;

use super::out::{Ended, Failure, code, note, result};
use crate::config::{self, Checked, Warnings};
use crate::registry::Registry;

pub(super) fn check(file: &Path, clock: &dyn Clock) -> Ended {
    let name = file.display().to_string();
    let text = read(file)?;
    match config::load(&text, &name, &Registry::built_in()) {
        Ok(checked) => {
            warn(&checked.warnings);
            checked.auth.expired(clock.now()).iter().for_each(|sentence| note(format!("{name}: warning: {sentence}")));
            result(format!(
                "{name}: fine: {} and {}",
                count(checked.providers.len(), "provider"),
                count(checked.tools.len(), "tool")
            ));
            addresses(&checked).iter().for_each(result);
            Ok(0)
        }
        Err(problems) => {
            note(problems.to_string());
            Ok(code::USAGE)
        }
    }
}

/// What to give to each provider that delivers; what makes an address a secret is not shown.
fn addresses(checked: &Checked) -> Vec<String> {
    let base = checked.server.public_url.as_deref();
    let mut lines = Vec::new();
    for provider in &checked.providers {
        let Some(webhook) = &provider.webhook else { continue };
        let name = provider.name.as_str();
        let at = format!("{}/hooks/{name}", base.unwrap_or_default());
        match &webhook.token {
            Some(token) => lines.push(format!("{name} delivers to {at}/TOKEN, where TOKEN is the value of {}", token.reference)),
            None if webhook.scheme.is_some() => lines.push(format!("{name} delivers to {at}")),
            None => {}
        }
        if webhook.callbacks {
            lines.push(format!("{name} is given {at}/CALLBACK, another one by each task"));
        }
    }
    if base.is_none() && !lines.is_empty() {
        lines.push("`server.public_url` would say where these addresses begin".to_owned());
    }
    lines
}

pub(super) fn schema() -> Ended {
    let schema = config::schema(&Registry::built_in());
    result(serde_json::to_string_pretty(&schema).map_err(|error| Failure::new(error.to_string()))?);
    Ok(0)
}

/// Tells what is allowed and yet seldom meant.
pub(super) fn warn(warnings: &Warnings) {
    if !warnings.list.is_empty() {
        note(warnings.to_string());
    }
}

/// The text of a configuration.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        let failure = Failure::usage(format!("{} cannot be read: {error}", file.display()));
        if error.kind() == std::io::ErrorKind::NotFound {
            return failure.hint("name another file: `jobgate check FILE`, or `--config FILE` for the other commands");
        }
        failure
    })
}

fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
