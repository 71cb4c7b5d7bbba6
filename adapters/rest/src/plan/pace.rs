//! Compiled `errors` and `pace`.

use http::HeaderName;

use crate::codes::Codes;
use crate::language::{Condition, Text};
use crate::words::{Meaning, ResetUnit};

#[derive(Debug)]
pub(crate) struct ErrorPlan {
    pub(crate) code: Option<Codes>,
    pub(crate) when: Option<Condition>,
    pub(crate) means: Meaning,
    pub(crate) after: Option<Text>,
    pub(crate) message: Option<Text>,
}

#[derive(Debug)]
pub(crate) struct PacePlan {
    pub(crate) reset: HeaderName,
    pub(crate) unit: ResetUnit,
    pub(crate) remaining: Option<HeaderName>,
}
