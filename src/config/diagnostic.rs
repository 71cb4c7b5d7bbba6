//! What is wrong in a configuration, each problem with its place in the file and what would be right.

use std::fmt;

use jobgate_adapter_api::{Issues, Place};

use super::yaml::{Document, Spot, SyntaxError};

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file that it is in, where that is another than the configuration.
    pub file: Option<String>,
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the line, from 1, in characters.
    pub column: usize,
    /// The part of the configuration, for example `tools.render.poll.max`; empty for the whole file.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Diagnostic {
    pub(super) fn at(spot: Spot, place: &Place, message: impl Into<String>, hint: Option<String>) -> Self {
        Self { file: None, line: spot.line, column: spot.column, path: place.to_string(), message: message.into(), hint }
    }

    /// The same, of another file than the configuration.
    pub(super) fn in_file(self, file: &str) -> Self {
        Self { file: Some(file.to_owned()), ..self }
    }
}

impl From<SyntaxError> for Diagnostic {
    fn from(error: SyntaxError) -> Self {
        let hint = error.hint.map(str::to_owned);
        Self::at(error.spot, &Place::root(), format!("this is no YAML: {}", error.message), hint)
    }
}

/// All problems of a configuration, in the order of the file, and then those of its adapter files. `Display` is the page that people read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostics {
    /// The configuration's name, as the user gave it.
    pub file: String,
    /// The problems; at least one.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    pub(super) fn new(file: &str, mut list: Vec<Diagnostic>) -> Self {
        list.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        list.dedup();
        Self { file: file.to_owned(), list }
    }
}

/// What is allowed in one file and yet seldom meant, in the order of the file. `Display` is the page that people read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    /// The file's name, as the user gave it.
    pub file: String,
    /// The doubts; often none.
    pub list: Vec<Diagnostic>,
}

impl Warnings {
    pub(super) fn new(file: &str, mut list: Vec<Diagnostic>) -> Self {
        list.sort_by_key(|doubt| (doubt.line, doubt.column));
        Self { file: file.to_owned(), list }
    }
}

impl fmt::Display for Warnings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, doubt) in self.list.iter().enumerate() {
            if nth > 0 {
                writeln!(f)?;
            }
            doubt.write(f, &self.file, "warning: ")?;
        }
        Ok(())
    }
}

impl Diagnostic {
    fn write(&self, f: &mut fmt::Formatter<'_>, file: &str, kind: &str) -> fmt::Result {
        let Self { file: own, line, column, path, message, hint } = self;
        let file = own.as_deref().unwrap_or(file);
        write!(f, "{file}:{line}:{column}: {kind}")?;
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{message}")?;
        if let Some(hint) = hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            problem.write(f, &self.file, "")?;
            writeln!(f)?;
        }
        match self.list.len() {
            1 => write!(f, "1 problem; nothing was started"),
            count => write!(f, "{count} problems; nothing was started"),
        }
    }
}

/// The places of `issues` looked up in the text.
pub(super) fn located(document: &Document, issues: Issues) -> impl Iterator<Item = Diagnostic> {
    issues.into_iter().map(|issue| Diagnostic::at(document.spot(&issue.place), &issue.place, issue.message, issue.hint))
}

/// A problem of a configuration that only building it shows, placed in the file it came from.
///
/// `text` is what [`load`](super::load) was given.
#[must_use]
pub fn locate(text: &str, file: &str, issues: Issues) -> Diagnostics {
    let list = match Document::read(text, &mut Vec::new()) {
        Ok(document) => located(&document, issues).collect(),
        Err(_) => issues.into_iter().map(|issue| Diagnostic::at(Spot::START, &issue.place, issue.message, issue.hint)).collect(),
    };
    Diagnostics::new(file, list)
}
