//! Counts, in whatever form a provider gives them.

use std::sync::LazyLock;

use jobgate_adapter_api::Progress;
use regex::Regex;

use crate::exchange::Exchange;
use crate::language::{Context, Text};
use crate::plan::ProgressPlan;

const NUMBER: &str = r"([0-9]+(?:\.[0-9]+)?)";

static OF: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"{NUMBER}\s*(?:/|of)\s*{NUMBER}")).ok());

impl Exchange {
    /// The counts that an answer has; what is no number is none.
    pub(crate) fn progress(&self, plan: &ProgressPlan, context: &Context) -> Option<Progress> {
        let said = |text: &Text| self.plan.engine.string_if_any(text, context).ok().flatten();
        match plan {
            ProgressPlan::Percent(text) => percent(&said(text)?),
            ProgressPlan::Of(text) => {
                let said = said(text)?;
                if said.trim_end().ends_with('%') { percent(&said) } else { groups(OF.as_ref()?, &said) }
            }
            ProgressPlan::Counts(done, total) => {
                Some(Progress { done: number(&said(done)?)?, total: total.as_ref().and_then(|total| number(&said(total)?)) })
            }
            ProgressPlan::Pattern(pattern, text) => groups(pattern, &said(text)?),
        }
    }
}

fn percent(text: &str) -> Option<Progress> {
    let done = number(text.trim().trim_end_matches('%'))?;
    (0.0..=100.0).contains(&done).then_some(Progress { done, total: Some(100.0) })
}

/// The counts at the last place that a pattern fits.
fn groups(pattern: &Regex, text: &str) -> Option<Progress> {
    let last = pattern.captures_iter(text).last()?;
    let count = |nth| number(last.get(nth)?.as_str());
    Some(Progress { done: count(1)?, total: count(2) })
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}
