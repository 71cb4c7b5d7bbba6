//! A compiled `log`.

use super::{Reading, RequestPlan};
use crate::language::{Condition, Text};

#[derive(Debug)]
pub(crate) struct LogPlan {
    /// With the range, the number of lines or the place that its kind asks for.
    pub(crate) request: RequestPlan,
    pub(crate) when: Option<Condition>,
    pub(crate) reading: Reading,
    /// Where the next part begins, for a log that is read on.
    pub(crate) next: Option<Text>,
    /// The first line of a part may be the rest of one.
    pub(crate) torn: bool,
    /// Where the text is; `None` where it is the answer itself.
    pub(crate) text: Option<Text>,
    pub(crate) lines: usize,
}
