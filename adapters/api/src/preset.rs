//! Ready tools that a kind brings along.

use serde_json::{Map, Value};

/// A tool that a kind describes already. A tool section takes it with `use: NAME`; what the section itself says wins.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// What users write after `use:`.
    pub name: String,
    /// The words of a tool section, as far as the kind knows them: `title`, `description`, `input`, `output`, `annotations`, `task`, `job`.
    pub words: Map<String, Value>,
}
