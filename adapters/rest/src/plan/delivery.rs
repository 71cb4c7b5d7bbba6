//! Compiled deliveries.

use super::{OutputPlan, ReasonPlan, Rules};
use crate::language::{Condition, Text};
use crate::words::Parse;

/// How a provider's deliveries are opened.
#[derive(Debug)]
pub(crate) struct DeliveryPlan {
    pub(crate) parse: Parse,
    pub(crate) when: Option<Condition>,
    pub(crate) jobs: Option<Text>,
    pub(crate) id: Option<Text>,
    pub(crate) body: Option<Text>,
    pub(crate) hint: bool,
}

/// What a tool makes of a delivery.
#[derive(Debug)]
pub(crate) struct ToldPlan {
    pub(crate) body: Option<Text>,
    pub(crate) rules: Rules,
    /// `None` where the result takes another request, which reading cannot make.
    pub(crate) output: Option<OutputPlan>,
    /// `None` likewise.
    pub(crate) reason: Option<ReasonPlan>,
}
