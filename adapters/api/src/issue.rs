//! What is wrong in a configuration, and where.

use std::fmt;

/// One step into a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A key of a mapping.
    Key(String),
    /// An index of a list, from 0.
    Index(usize),
}

/// A place in a configuration: the steps from its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Vec<Segment>);

impl Place {
    /// The root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The value under `key`.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        let mut steps = self.0.clone();
        steps.push(Segment::Key(key.into()));
        Self(steps)
    }

    /// The element at `index`.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Segment::Index(index));
        Self(steps)
    }

    /// `self`, seen from `base`.
    #[must_use]
    pub fn under(&self, base: &Self) -> Self {
        Self(base.0.iter().chain(&self.0).cloned().collect())
    }

    /// The steps from the root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }
}

/// As people write it: `tools.render.job.status[0].when`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.0.iter().enumerate() {
            match step {
                Segment::Key(key) if nth == 0 => write!(f, "{key}")?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// One problem: where it is, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where, from the root of what was checked.
    pub place: Place,
    /// What is wrong, naming what was found.
    pub message: String,
    /// A right example, or the likely meaning.
    pub hint: Option<String>,
}

/// All problems of one check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issues {
    list: Vec<Issue>,
}

impl Issues {
    /// No problem yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a problem.
    pub fn add(&mut self, place: Place, message: impl Into<String>) {
        self.list.push(Issue { place, message: message.into(), hint: None });
    }

    /// Notes a problem with a right example.
    pub fn add_with_hint(&mut self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.list.push(Issue { place, message: message.into(), hint: Some(hint.into()) });
    }

    /// Takes over the problems of a part that lies at `base`.
    pub fn extend_under(&mut self, base: &Place, part: Self) {
        self.list.extend(part.list.into_iter().map(|issue| Issue { place: issue.place.under(base), ..issue }));
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The problems in the order they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Issue> {
        self.list.iter()
    }
}

impl IntoIterator for Issues {
    type Item = Issue;
    type IntoIter = std::vec::IntoIter<Issue>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Issues {
    type Item = &'a Issue;
    type IntoIter = std::slice::Iter<'a, Issue>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
