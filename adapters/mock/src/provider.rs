//! A look behind the scenes, for tests: what the provider has really done, and trouble while it runs.

use std::io;
use std::path::Path;

use jobgate_adapter_api::{Issues, Place};
use serde_json::Value;

use crate::fault::{Fault, FaultWords};
use crate::world::World;

/// A mock provider seen from its own side.
#[derive(Debug)]
pub struct MockProvider {
    world: World,
}

impl MockProvider {
    /// The provider of this name in a gateway's data folder. It need not be running, and there need not be any job yet.
    #[must_use]
    pub fn at(data_dir: &Path, provider: &str) -> Self {
        Self { world: World::folder(data_dir, provider) }
    }

    /// How many jobs it has started.
    ///
    /// # Errors
    /// When its folder cannot be read.
    pub fn jobs(&self) -> io::Result<usize> {
        Ok(self.world.records()?.iter().map(|record| record.runs.len()).sum())
    }

    /// How many answers of people have taken effect.
    ///
    /// # Errors
    /// When its folder cannot be read.
    pub fn answers(&self) -> io::Result<usize> {
        let records = self.world.records()?;
        Ok(records.iter().flat_map(|record| &record.runs).map(|run| run.answers().count()).sum())
    }

    /// From now on every instance meets these faults, in the words of the configuration's `faults:`, before those configured
    /// there. An empty list ends them.
    ///
    /// # Errors
    /// When the words are wrong or its folder cannot be written.
    pub fn set_trouble(&self, faults: &Value) -> io::Result<()> {
        let words: Vec<FaultWords> = serde_json::from_value(faults.clone())?;
        let mut issues = Issues::new();
        Fault::check_all(&words, &Place::root(), &mut issues);
        match issues.iter().next() {
            Some(issue) => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {}", issue.place, issue.message))),
            None => self.world.set_trouble(faults),
        }
    }
}
