//! How long a job has been where it is, and what is made of one that takes too long.
//!
//! Nothing is remembered here: which rule looks find, and since when, is a handle of the job.

use jobgate_adapter_api::{JobFailure, JobState, MESSAGE_CHARS, Timestamp};

use crate::exchange::Exchange;
use crate::language::Context;
use crate::plan::{RulePlan, Rules};
use crate::words::LateWord;

/// The handle: the rule's place in its list, and the moment of the first look of a row that found it.
const HANDLE: &str = "_rule";

/// What a look adds to the row of looks.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// What the job is instead, where it has been there for too long.
    pub(crate) late: Option<JobState>,
    pub(crate) learned: Option<(String, String)>,
}

impl Exchange {
    pub(crate) fn row(&self, rules: &Rules, rule: Option<&RulePlan>, context: &Context) -> Row {
        let limited = rules.list.iter().any(|rule| rule.late.is_some());
        let place = rule.and_then(|rule| rules.list.iter().position(|listed| std::ptr::eq(listed, rule)));
        let (Some(rule), Some(place), true) = (rule, place, limited) else { return Row::default() };
        let now = self.clock.now();
        let since = context.handle(HANDLE).and_then(|handle| {
            let (known, since) = handle.split_once('@')?;
            (known == place.to_string()).then(|| since.parse().ok().map(Timestamp::from_millis))?
        });
        let learned = since.is_none().then(|| (HANDLE.to_owned(), format!("{place}@{}", now.as_millis())));
        let late = rule.late.as_ref().filter(|late| since.is_some_and(|since| now.since(since) >= late.within));
        let late = late.map(|late| match late.state {
            LateWord::Gone => JobState::Gone,
            LateWord::Failed => {
                let said = late.message.as_ref().and_then(|text| self.sentence(text, context, MESSAGE_CHARS));
                let seconds = late.within.as_secs();
                JobState::Failed(JobFailure::new(said.unwrap_or_else(|| format!("the job did not go on within {seconds} s"))))
            }
        });
        Row { late, learned }
    }
}
