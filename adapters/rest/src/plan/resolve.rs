//! A compiled `status.resolve`.

use std::time::Duration;

use super::{Reading, RequestPlan, Rules};
use crate::codes::Codes;
use crate::language::Text;

#[derive(Debug)]
pub(crate) struct ResolvePlan {
    pub(crate) handle: String,
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    /// Codes that mean "not there yet".
    pub(crate) missing: Codes,
    pub(crate) value: Text,
    pub(crate) handles: Vec<(String, Text)>,
    /// What may become of the job before it is there.
    pub(crate) rules: Rules,
    pub(crate) within: Option<Duration>,
    pub(crate) late: Option<Text>,
}
