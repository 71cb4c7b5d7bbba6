//! A compiled `status`.

use std::time::Duration;

use regex::Regex;

use super::{Reading, RequestPlan, ResolvePlan, StepPlan};
use crate::codes::Codes;
use crate::language::{Condition, Text};
use crate::words::{LateWord, StateWord};

#[derive(Debug)]
pub(crate) struct StatusPlan {
    pub(crate) resolve: Vec<ResolvePlan>,
    pub(crate) request: Option<RequestPlan>,
    pub(crate) reading: Reading,
    pub(crate) not_found: Codes,
    pub(crate) steps: Vec<StepPlan>,
    pub(crate) rules: Rules,
}

/// From what was seen, in an answer or in a delivery, to an observation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) word: Option<Text>,
    pub(crate) list: Vec<RulePlan>,
    pub(crate) message: Option<Text>,
    pub(crate) progress: Option<ProgressPlan>,
    pub(crate) handles: Vec<(String, Text)>,
    /// Learned once.
    pub(crate) pins: Vec<(String, Text)>,
}

#[derive(Clone, Debug)]
pub(crate) struct RulePlan {
    pub(crate) when: Option<Condition>,
    pub(crate) is: Vec<String>,
    pub(crate) state: StateWord,
    pub(crate) message: Option<Text>,
    pub(crate) late: Option<LatePlan>,
}

/// How long looks may find a rule, and what is made of a job that takes longer.
#[derive(Clone, Debug)]
pub(crate) struct LatePlan {
    pub(crate) within: Duration,
    pub(crate) state: LateWord,
    pub(crate) message: Option<Text>,
}

/// Where counts are.
#[derive(Clone, Debug)]
pub(crate) enum ProgressPlan {
    Percent(Text),
    Of(Text),
    Counts(Text, Option<Text>),
    Pattern(Regex, Text),
}

impl ProgressPlan {
    fn uses(&self, name: &str) -> bool {
        match self {
            Self::Percent(text) | Self::Of(text) | Self::Counts(text, None) | Self::Pattern(_, text) => text.uses(name),
            Self::Counts(done, Some(total)) => done.uses(name) || total.uses(name),
        }
    }
}

impl Rules {
    /// Whether a caller sees what is behind a name.
    pub(crate) fn shows(&self, name: &str) -> bool {
        let messages = self.list.iter().filter_map(|rule| rule.message.as_ref()).chain(&self.message);
        let late = self.list.iter().filter_map(|rule| rule.late.as_ref()?.message.as_ref());
        messages.chain(late).any(|text| text.uses(name))
    }

    /// Whether the log has to be read before they are.
    pub(crate) fn needs_log(&self) -> bool {
        let uses = |text: &Text| text.uses("log");
        let rule =
            |rule: &RulePlan| rule.when.as_ref().is_some_and(|when| when.uses("log")) || rule.message.as_ref().is_some_and(uses);
        self.progress.as_ref().is_some_and(|progress| progress.uses("log"))
            || self.message.as_ref().is_some_and(uses)
            || self.handles.iter().chain(&self.pins).any(|(_, text)| uses(text))
            || self.list.iter().any(rule)
    }
}

impl StatusPlan {
    /// Whether a look can show that a job ended well; else its deliveries alone tell.
    pub(crate) fn sees_success(&self) -> bool {
        self.request.is_some() && self.rules.list.iter().any(|rule| rule.state == StateWord::Succeeded)
    }
}
