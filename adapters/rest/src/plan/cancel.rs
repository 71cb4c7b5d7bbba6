//! A compiled `cancel`.

use std::time::Duration;

use super::{Reading, RepeatPlan, RequestPlan, StepPlan};
use crate::codes::Codes;
use crate::language::Condition;

#[derive(Debug)]
pub(crate) struct CancelPlan {
    pub(crate) look: bool,
    pub(crate) steps: Vec<StepPlan>,
    pub(crate) ways: Vec<WayPlan>,
    /// After how long a job that runs on is told in which ways.
    pub(crate) escalate: Option<(Duration, Vec<WayPlan>)>,
}

#[derive(Debug)]
pub(crate) struct WayPlan {
    pub(crate) when: Option<Condition>,
    /// Once, or for each element of a list.
    pub(crate) repeat: RepeatPlan,
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) already_ended: Codes,
    pub(crate) refused: Codes,
}
