//! A compiled `input`.

use super::{Reading, RepeatPlan, RequestPlan, StepPlan};
use crate::codes::Codes;
use crate::language::{Text, Tree};

#[derive(Debug)]
pub(crate) struct InputPlan {
    pub(crate) steps: Vec<StepPlan>,
    pub(crate) repeat: RepeatPlan,
    pub(crate) key: Text,
    pub(crate) message: Text,
    pub(crate) kind: InputKindPlan,
    pub(crate) accept: Option<AnswerPlan>,
    pub(crate) decline: DeclinePlan,
}

#[derive(Debug)]
pub(crate) enum InputKindPlan {
    Form(Tree),
    Page(Text),
}

#[derive(Debug)]
pub(crate) enum DeclinePlan {
    /// There is no way to say no.
    None,
    Request(Box<AnswerPlan>),
    Cancel,
    /// At this page, which the question names; `None` where the question is the page.
    Link(Option<Text>),
}

#[derive(Debug)]
pub(crate) struct AnswerPlan {
    pub(crate) request: RequestPlan,
    pub(crate) reading: Reading,
    pub(crate) already_answered: Codes,
}
