//! A compiled further request.

use std::time::Duration;

use super::{PagesPlan, Reading, RepeatPlan, RequestPlan};
use crate::codes::Codes;
use crate::language::Text;

#[derive(Debug)]
pub(crate) struct StepPlan {
    pub(crate) name: String,
    pub(crate) repeat: RepeatPlan,
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) missing: Codes,
    pub(crate) pages: Option<PagesPlan>,
    pub(crate) value: Option<Text>,
    /// For lookups: how long what it gave is remembered.
    pub(crate) cache: Option<Duration>,
}
