//! The stored forms of a task's parts: state, outcome, result, questions, troubles.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keep::{KeepV1, KeptV1};
use super::task::Held;
use super::words::{ActionV1, CancelV1, CategoryV1, is_false, is_zero, present};
use crate::domain::{
    Cancellation, Escalation, InputAnswer, InputKind, InputProgress, InputRequest, InputSlot, JobOutput, JobRef, Part, TaskError,
    Timestamp, ToolResult,
};

/// Where a task stands.
#[derive(Serialize, Deserialize)]
pub(super) enum StateV1<'a> {
    /// The attempt, and whether it may have taken effect.
    #[serde(rename = "s")]
    Submitting(u32, bool),
    #[serde(rename = "r", borrow)]
    Running(JobV1<'a>),
    #[serde(rename = "i", borrow)]
    InputRequired(JobV1<'a>),
    #[serde(rename = "k", borrow)]
    Keeping(KeepV1<'a>),
    #[serde(rename = "e", borrow)]
    Ended(EndV1<'a>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct EndV1<'a> {
    #[serde(rename = "j", default, skip_serializing_if = "Option::is_none", borrow)]
    pub(super) job: Option<JobV1<'a>>,
    #[serde(rename = "o", borrow)]
    pub(super) outcome: OutcomeV1<'a>,
    #[serde(rename = "t")]
    pub(super) at: i64,
}

#[derive(Serialize, Deserialize)]
pub(super) enum OutcomeV1<'a> {
    #[serde(rename = "r", borrow)]
    Result(Held<ResultV1<'a>>),
    #[serde(rename = "e", borrow)]
    Error(ErrorV1<'a>),
    #[serde(rename = "x")]
    Cancelled,
}

#[derive(Serialize, Deserialize)]
pub(super) struct JobV1<'a> {
    #[serde(rename = "i", borrow)]
    id: Cow<'a, str>,
    #[serde(rename = "h", default, skip_serializing_if = "no_handles")]
    handles: Cow<'a, BTreeMap<String, String>>,
}

fn no_handles(handles: &BTreeMap<String, String>) -> bool {
    handles.is_empty()
}

impl<'a> From<&'a JobRef> for JobV1<'a> {
    fn from(job: &'a JobRef) -> Self {
        Self { id: job.id().into(), handles: Cow::Borrowed(job.handles()) }
    }
}

impl From<JobV1<'_>> for JobRef {
    fn from(job: JobV1<'_>) -> Self {
        job.handles.into_owned().into_iter().fold(Self::new(job.id), |job, (name, value)| job.with(name, value))
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ResultV1<'a> {
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty", borrow)]
    parts: Vec<PartV1<'a>>,
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    data: Option<Cow<'a, Value>>,
    #[serde(rename = "e", default, skip_serializing_if = "is_false")]
    is_error: bool,
    #[serde(rename = "k", default, skip_serializing_if = "Vec::is_empty", borrow)]
    kept: Vec<KeptV1<'a>>,
}

impl<'a> ResultV1<'a> {
    /// What a job handed over, but for its artifacts.
    pub(super) fn of_output(output: &'a JobOutput) -> Self {
        Self {
            parts: output.parts.iter().map(PartV1::from).collect(),
            data: output.data.as_ref().map(Cow::Borrowed),
            is_error: false,
            kept: Vec::new(),
        }
    }
}

impl<'a> From<&'a ToolResult> for ResultV1<'a> {
    fn from(result: &'a ToolResult) -> Self {
        let kept = result.kept.iter().map(Into::into).collect();
        Self { is_error: result.is_error, kept, ..Self::of_output(&result.output) }
    }
}

impl From<ResultV1<'_>> for ToolResult {
    fn from(result: ResultV1<'_>) -> Self {
        let parts = result.parts.into_iter().map(Part::from).collect();
        let output = JobOutput { parts, data: result.data.map(Cow::into_owned), artifacts: Vec::new() };
        Self { output, is_error: result.is_error, kept: result.kept.into_iter().map(Into::into).collect() }
    }
}

#[derive(Serialize, Deserialize)]
enum PartV1<'a> {
    #[serde(rename = "t", borrow)]
    Text(Cow<'a, str>),
    /// The data, base64, and its type.
    #[serde(rename = "i")]
    Image(Cow<'a, str>, Cow<'a, str>),
    /// The data, base64, and its type.
    #[serde(rename = "a")]
    Audio(Cow<'a, str>, Cow<'a, str>),
    #[serde(rename = "l")]
    Link {
        #[serde(rename = "u")]
        uri: Cow<'a, str>,
        #[serde(rename = "n")]
        name: Cow<'a, str>,
        #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
        description: Option<Cow<'a, str>>,
        #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    #[serde(rename = "e")]
    Embedded {
        #[serde(rename = "u")]
        uri: Cow<'a, str>,
        #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<Cow<'a, str>>,
        #[serde(rename = "t")]
        text: Cow<'a, str>,
    },
}

impl<'a> From<&'a Part> for PartV1<'a> {
    fn from(part: &'a Part) -> Self {
        match part {
            Part::Text(text) => Self::Text(text.into()),
            Part::Image { data, mime_type } => Self::Image(data.into(), mime_type.into()),
            Part::Audio { data, mime_type } => Self::Audio(data.into(), mime_type.into()),
            Part::Link { uri, name, mime_type, description, size } => Self::Link {
                uri: uri.into(),
                name: name.into(),
                mime_type: mime_type.as_ref().map(Cow::from),
                description: description.as_ref().map(Cow::from),
                size: *size,
            },
            Part::Embedded { uri, mime_type, text } => {
                Self::Embedded { uri: uri.into(), mime_type: mime_type.as_ref().map(Cow::from), text: text.into() }
            }
        }
    }
}

impl From<PartV1<'_>> for Part {
    fn from(part: PartV1<'_>) -> Self {
        let owned = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned);
        match part {
            PartV1::Text(text) => Self::Text(text.into_owned()),
            PartV1::Image(data, mime_type) => Self::Image { data: data.into_owned(), mime_type: mime_type.into_owned() },
            PartV1::Audio(data, mime_type) => Self::Audio { data: data.into_owned(), mime_type: mime_type.into_owned() },
            PartV1::Link { uri, name, mime_type, description, size } => Self::Link {
                uri: uri.into_owned(),
                name: name.into_owned(),
                mime_type: owned(mime_type),
                description: owned(description),
                size,
            },
            PartV1::Embedded { uri, mime_type, text } => {
                Self::Embedded { uri: uri.into_owned(), mime_type: owned(mime_type), text: text.into_owned() }
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ErrorV1<'a> {
    #[serde(rename = "c")]
    category: CategoryV1,
    #[serde(rename = "m", borrow)]
    message: Cow<'a, str>,
    #[serde(rename = "r", default, skip_serializing_if = "is_false")]
    retryable: bool,
    #[serde(rename = "n", default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    provider_status: Option<u16>,
}

impl<'a> From<&'a TaskError> for ErrorV1<'a> {
    fn from(error: &'a TaskError) -> Self {
        Self {
            category: error.category.into(),
            message: (&error.message).into(),
            retryable: error.retryable,
            attempts: error.attempts,
            provider_status: error.provider_status,
        }
    }
}

impl From<ErrorV1<'_>> for TaskError {
    fn from(error: ErrorV1<'_>) -> Self {
        Self {
            category: error.category.into(),
            message: error.message.into_owned(),
            retryable: error.retryable,
            attempts: error.attempts,
            provider_status: error.provider_status,
        }
    }
}

/// A question.
#[derive(Serialize, Deserialize)]
pub(super) struct SlotV1<'a> {
    #[serde(rename = "m", borrow)]
    message: Cow<'a, str>,
    #[serde(rename = "k", borrow)]
    kind: QuestionV1<'a>,
    #[serde(rename = "t")]
    asked_at: i64,
    #[serde(rename = "p")]
    progress: SlotProgressV1<'a>,
}

#[derive(Serialize, Deserialize)]
enum QuestionV1<'a> {
    #[serde(rename = "f")]
    Form(Cow<'a, Value>),
    #[serde(rename = "u", borrow)]
    Url(Cow<'a, str>),
}

#[derive(Serialize, Deserialize)]
enum SlotProgressV1<'a> {
    #[serde(rename = "o")]
    Open,
    #[serde(rename = "a")]
    Answered {
        #[serde(rename = "a")]
        action: ActionV1,
        #[serde(rename = "c", default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
        content: Option<Cow<'a, Value>>,
    },
    #[serde(rename = "p")]
    Provided,
    #[serde(rename = "w")]
    Withdrawn,
}

impl<'a> From<&'a InputSlot> for SlotV1<'a> {
    fn from(slot: &'a InputSlot) -> Self {
        let kind = match &slot.request.kind {
            InputKind::Form { schema } => QuestionV1::Form(Cow::Borrowed(schema)),
            InputKind::Url { url } => QuestionV1::Url(url.into()),
        };
        let progress = match &slot.progress {
            InputProgress::Open => SlotProgressV1::Open,
            InputProgress::Answered(InputAnswer { action, content }) => {
                SlotProgressV1::Answered { action: (*action).into(), content: content.as_ref().map(Cow::Borrowed) }
            }
            InputProgress::Provided => SlotProgressV1::Provided,
            InputProgress::Withdrawn => SlotProgressV1::Withdrawn,
        };
        Self { message: (&slot.request.message).into(), kind, asked_at: slot.asked_at.as_millis(), progress }
    }
}

impl SlotV1<'_> {
    /// The question that has this key.
    pub(super) fn into_slot(self, key: String) -> InputSlot {
        let kind = match self.kind {
            QuestionV1::Form(schema) => InputKind::Form { schema: schema.into_owned() },
            QuestionV1::Url(url) => InputKind::Url { url: url.into_owned() },
        };
        let progress = match self.progress {
            SlotProgressV1::Open => InputProgress::Open,
            SlotProgressV1::Answered { action, content } => {
                InputProgress::Answered(InputAnswer { action: action.into(), content: content.map(Cow::into_owned) })
            }
            SlotProgressV1::Provided => InputProgress::Provided,
            SlotProgressV1::Withdrawn => InputProgress::Withdrawn,
        };
        let request = InputRequest { key, message: self.message.into_owned(), kind };
        InputSlot { request, asked_at: Timestamp::from_millis(self.asked_at), progress }
    }
}

/// A wish to stop: when, how often it was told, how far it got, and whether it is made again in a harder way.
#[derive(Serialize, Deserialize)]
pub(super) struct CancellationV1(
    i64,
    u32,
    CancelV1,
    #[serde(default, skip_serializing_if = "Option::is_none")] Option<EscalationV1>,
);

#[derive(Serialize, Deserialize)]
enum EscalationV1 {
    #[serde(rename = "due")]
    Due(i64),
    #[serde(rename = "made")]
    Made,
}

impl From<Escalation> for Option<EscalationV1> {
    fn from(escalation: Escalation) -> Self {
        match escalation {
            Escalation::None => None,
            Escalation::Due(at) => Some(EscalationV1::Due(at.as_millis())),
            Escalation::Made => Some(EscalationV1::Made),
        }
    }
}

impl From<Option<EscalationV1>> for Escalation {
    fn from(escalation: Option<EscalationV1>) -> Self {
        match escalation {
            None => Self::None,
            Some(EscalationV1::Due(at)) => Self::Due(Timestamp::from_millis(at)),
            Some(EscalationV1::Made) => Self::Made,
        }
    }
}

impl From<&Cancellation> for CancellationV1 {
    fn from(wish: &Cancellation) -> Self {
        Self(wish.requested_at.as_millis(), wish.attempts, wish.progress.into(), wish.escalation.into())
    }
}

impl From<CancellationV1> for Cancellation {
    fn from(wish: CancellationV1) -> Self {
        Self {
            requested_at: Timestamp::from_millis(wish.0),
            attempts: wish.1,
            progress: wish.2.into(),
            escalation: wish.3.into(),
        }
    }
}
