//! An entry that has been read: its words hang together.

use std::fmt;

use jobgate_adapter_api::{CheckedAdapter, Issues, Place, ToolWords};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::factory::Delegate;
use crate::settings;
use crate::words::EntryWords;

/// One job API of the catalog.
#[derive(Clone, Debug)]
pub struct Entry {
    name: String,
    words: EntryWords,
}

/// Why a text is no entry.
#[derive(Clone, Debug)]
pub struct BadEntry(pub Issues);

impl fmt::Display for BadEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, issue) in self.0.iter().enumerate() {
            let gap = if nth == 0 { "" } else { "\n" };
            write!(f, "{gap}{}: {}", issue.place, issue.message)?;
            if let Some(hint) = &issue.hint {
                write!(f, " [{hint}]")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for BadEntry {}

impl Entry {
    /// Reads an `adapter.yaml`.
    ///
    /// # Errors
    /// When it is no YAML, has a word that entries do not have, or its parts do not fit together.
    pub fn read(name: &str, text: &str) -> Result<Self, BadEntry> {
        let options = serde_saphyr::options! { strict_booleans: true };
        match serde_saphyr::from_str_with_options(text, options) {
            Ok(value) => Self::from_value(name, value),
            Err(error) => {
                let mut issues = Issues::new();
                issues.add(Place::root(), format!("this is no YAML: {error}"));
                Err(BadEntry(issues))
            }
        }
    }

    /// The same of a text that was read already.
    ///
    /// # Errors
    /// As [`Entry::read`].
    pub fn from_value(name: &str, value: Value) -> Result<Self, BadEntry> {
        let mut issues = Issues::new();
        match EntryWords::deserialize(value) {
            Ok(words) => {
                let entry = Self { name: name.to_owned(), words };
                settings::check(&entry.words, &mut issues);
                if issues.is_empty() {
                    return Ok(entry);
                }
            }
            Err(error) => issues.add(Place::root(), error.to_string()),
        }
        Err(BadEntry(issues))
    }

    /// Its name: what users write after `adapter:`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its words.
    #[must_use]
    pub const fn words(&self) -> &EntryWords {
        &self.words
    }

    /// A provider section with every setting that has to be given, from the examples.
    #[must_use]
    pub fn example(&self) -> Map<String, Value> {
        let given = self.words.settings.iter().filter(|(_, setting)| !setting.optional && setting.default.is_none());
        given.filter_map(|(name, setting)| Some((name.clone(), setting.sample()?))).collect()
    }

    /// The whole entry, checked with its own examples: what an author wants to know.
    ///
    /// # Errors
    /// Every problem of the provider's words and of each tool's.
    pub fn check(&self) -> Result<Box<dyn CheckedAdapter>, BadEntry> {
        let mut issues = Issues::new();
        let tools = self.words.tools.iter().map(|(name, tool)| ToolWords {
            name: name.clone(),
            input_schema: tool.input.clone(),
            place: Place::root().key("tools").key(name).key("job"),
            words: tool.job.clone(),
        });
        let config = Value::Object(self.example());
        let checked = Delegate(self).check(&Place::root().key("provider"), config, tools.collect(), &mut issues);
        checked.filter(|_| issues.is_empty()).ok_or(BadEntry(issues))
    }
}
