//! A compiled `result` and `failure`.

use super::{ArtifactPlan, Reading, RequestPlan, StepPlan};
use crate::language::{Condition, Text, Tree};

#[derive(Debug)]
pub(crate) struct ResultPlan {
    pub(crate) further: FurtherPlan,
    pub(crate) output: OutputPlan,
}

/// The requests that are made for a result or a reason.
#[derive(Debug)]
pub(crate) struct FurtherPlan {
    pub(crate) steps: Vec<StepPlan>,
    pub(crate) request: Option<(RequestPlan, Reading)>,
}

/// What is made of the answer that holds the result.
#[derive(Clone, Debug)]
pub(crate) struct OutputPlan {
    pub(crate) required: bool,
    pub(crate) text: Option<Text>,
    pub(crate) data: Option<Tree>,
    /// After the text, in this order; links last.
    pub(crate) content: Vec<PiecePlan>,
    pub(crate) artifacts: Vec<ArtifactPlan>,
}

/// One piece of a result, or one for each element of a list.
#[derive(Clone, Debug)]
pub(crate) struct PiecePlan {
    pub(crate) repeat: RepeatPlan,
    pub(crate) kind: PieceKind,
    /// The text, bytes or address itself.
    pub(crate) value: Text,
    pub(crate) name: Option<Text>,
    pub(crate) mime_type: Option<Text>,
    pub(crate) description: Option<Text>,
    pub(crate) size: Option<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceKind {
    Text,
    Image,
    Audio,
    Link,
    Document,
}

/// Once, or once for each element of a list; and only where a condition holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepeatPlan {
    pub(crate) each: Option<Text>,
    pub(crate) most: usize,
    pub(crate) when: Option<Condition>,
}

#[derive(Debug)]
pub(crate) struct FailurePlan {
    pub(crate) further: FurtherPlan,
    pub(crate) reason: ReasonPlan,
}

/// What is made of the answer that says why a job failed.
#[derive(Clone, Debug)]
pub(crate) struct ReasonPlan {
    /// Whether the end of the log is shown.
    pub(crate) log: bool,
    pub(crate) message: Option<Text>,
    pub(crate) code: Option<Text>,
    pub(crate) data: Option<Tree>,
}

impl FurtherPlan {
    /// Whether anything is asked for it.
    pub(crate) fn asks(&self) -> bool {
        self.request.is_some() || !self.steps.is_empty()
    }
}

impl OutputPlan {
    pub(crate) fn uses(&self, name: &str) -> bool {
        used(name, self.text.as_ref(), self.data.as_ref())
            || self.content.iter().any(|piece| piece.uses(name))
            || self.artifacts.iter().any(|artifact| artifact.uses(name))
    }
}

impl PiecePlan {
    fn uses(&self, name: &str) -> bool {
        let others = [&self.name, &self.mime_type, &self.description, &self.size];
        self.value.uses(name) || self.repeat.uses(name) || others.into_iter().flatten().any(|text| text.uses(name))
    }
}

impl RepeatPlan {
    pub(crate) fn uses(&self, name: &str) -> bool {
        self.each.as_ref().is_some_and(|list| list.uses(name)) || self.when.as_ref().is_some_and(|when| when.uses(name))
    }
}

impl ReasonPlan {
    /// Whether the log has to be read for it.
    pub(crate) fn needs_log(&self) -> bool {
        self.log || self.uses("log")
    }

    pub(crate) fn uses(&self, name: &str) -> bool {
        let texts = [&self.message, &self.code];
        texts.into_iter().flatten().any(|text| text.uses(name)) || used(name, None, self.data.as_ref())
    }
}

fn used(name: &str, text: Option<&Text>, tree: Option<&Tree>) -> bool {
    text.is_some_and(|text| text.uses(name)) || tree.is_some_and(|tree| tree.uses(name))
}
