//! Questions that a job asks a person, and their answers.

use std::collections::BTreeMap;

use serde_json::Value;

/// One question. Its key is unique over the job's life: the same key is the same question (requirement E1).
#[derive(Clone, Debug, PartialEq)]
pub struct InputRequest {
    /// Names the question, for example the approval's id at the provider.
    pub key: String,
    /// What the person reads.
    pub message: String,
    /// How the person answers.
    pub kind: InputKind,
}

/// How a question is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum InputKind {
    /// A flat form: a JSON Schema of type `object` whose properties are primitive.
    Form {
        /// The form's schema.
        schema: Value,
    },
    /// On a page of the provider's own; the job goes on when the person is done there.
    Url {
        /// The page.
        url: String,
    },
}

/// What the person chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputAction {
    /// Submitted the form.
    Accept,
    /// Said no.
    Decline,
    /// Closed the question without an answer.
    Cancel,
}

impl InputAction {
    /// The protocol's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct InputAnswer {
    /// What the person chose.
    pub action: InputAction,
    /// The form's content; only with [`InputAction::Accept`], checked against the schema before it gets here.
    pub content: Option<Value>,
}

/// Answers by the key of their question.
pub type InputAnswers = BTreeMap<String, InputAnswer>;
