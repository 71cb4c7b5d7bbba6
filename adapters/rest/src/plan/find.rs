//! A compiled `find`.

use super::{NamesPlan, PagesPlan, Reading, RequestPlan};
use crate::codes::Codes;
use crate::language::{Condition, Text};

#[derive(Debug)]
pub(crate) struct FindPlan {
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) not_found: Codes,
    /// Where the answer is a list whose elements are compared.
    pub(crate) list: Option<ListPlan>,
    /// When the provider may have forgotten the job.
    pub(crate) unsure: Option<Condition>,
    pub(crate) job: NamesPlan,
}

#[derive(Debug)]
pub(crate) struct ListPlan {
    pub(crate) pages: Option<PagesPlan>,
    pub(crate) items: Text,
    pub(crate) matches: Condition,
    pub(crate) detail: Option<DetailPlan>,
}

/// What is asked about one element.
#[derive(Debug)]
pub(crate) struct DetailPlan {
    pub(crate) when: Option<Condition>,
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) missing: Codes,
    pub(crate) most: usize,
}
