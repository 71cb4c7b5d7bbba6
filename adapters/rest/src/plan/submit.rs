//! A compiled `submit`.

use super::{Reading, RequestPlan};
use crate::codes::Codes;
use crate::language::{Condition, Text};
use crate::words::OutcomeWord;

#[derive(Debug)]
pub(crate) struct NamesPlan {
    pub(crate) id: Text,
    pub(crate) handles: Vec<(String, Text)>,
}

#[derive(Debug)]
pub(crate) struct SubmitPlan {
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) job: NamesPlan,
    pub(crate) outcomes: Vec<OutcomePlan>,
    pub(crate) busy: Option<Condition>,
    pub(crate) rejected: Vec<(Condition, Option<Text>)>,
}

#[derive(Debug)]
pub(crate) struct OutcomePlan {
    pub(crate) code: Option<Codes>,
    pub(crate) when: Option<Condition>,
    pub(crate) means: OutcomeWord,
    pub(crate) message: Option<Text>,
    pub(crate) job: Option<NamesPlan>,
    /// How the answer that names the job is read.
    pub(crate) body: bool,
    pub(crate) read: Option<(RequestPlan, Codes)>,
}
