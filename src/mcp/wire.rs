//! What is sent: the shapes of 2026-07-28 and of the tasks extension, borrowed from the domain's values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::domain::{Confirm, InputKind, InputSlot, Outcome, Part, Principal, Task, TaskError, ToolResult};

/// Writes a value's text as a string, without a copy on the way.
pub(crate) struct Shown<T>(pub(crate) T);

impl<T: Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Milliseconds as the wire counts them.
pub(crate) fn millis(span: Duration) -> u64 {
    // JSON numbers are exact up to 2^53, and the extension's schema says so.
    const LARGEST: u64 = (1 << 53) - 1;
    u64::try_from(span.as_millis()).unwrap_or(LARGEST).min(LARGEST)
}

/// A task's life as it is counted from its creation, in milliseconds; `None` is unlimited, and so is one that counts from an end that
/// has not come.
pub(crate) fn life(task: &Task) -> Option<u64> {
    task.expires_at().map(|end| millis(end.since(task.created_at)).max(1))
}

/// Who answers, in every result's `_meta`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerMeta;

impl Serialize for ServerMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Info {
            name: &'static str,
            version: &'static str,
        }
        let mut map = serializer.serialize_map(Some(1))?;
        let info = Info { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") };
        map.serialize_entry("io.modelcontextprotocol/serverInfo", &info)?;
        map.end()
    }
}

/// An empty answer.
#[derive(Debug, Serialize)]
pub(crate) struct Acknowledged {
    #[serde(rename = "resultType")]
    result_type: &'static str,
    #[serde(rename = "_meta")]
    meta: ServerMeta,
}

impl Acknowledged {
    pub(crate) const fn new() -> Self {
        Self { result_type: "complete", meta: ServerMeta }
    }
}

/// Where a task is shown, which decides what is around it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Frame<'a> {
    /// The answer to the call that made it: `CreateTaskResult`, the seed alone.
    Created,
    /// The answer to `tasks/get`: the whole task.
    Got,
    /// `notifications/tasks` on the stream that this request opened: the whole task.
    Pushed(&'a RawValue),
}

/// A task on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskView<'a> {
    pub(crate) task: &'a Task,
    /// Who sees it.
    pub(crate) who: &'a Principal,
    /// How soon it is worth asking again.
    pub(crate) interval: Duration,
    /// Its result as callers see it, where it has one and the frame shows it.
    pub(crate) result: Option<&'a ToolResult>,
    pub(crate) frame: Frame<'a>,
}

impl Serialize for TaskView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.task;
        let mut map = serializer.serialize_map(None)?;
        match self.frame {
            Frame::Created => map.serialize_entry("resultType", "task")?,
            Frame::Got => map.serialize_entry("resultType", "complete")?,
            Frame::Pushed(_) => {}
        }
        map.serialize_entry("taskId", &task.shown_to(self.who))?;
        map.serialize_entry("status", task.status().as_str())?;
        if let Some(message) = status_message(task) {
            map.serialize_entry("statusMessage", &message)?;
        }
        map.serialize_entry("createdAt", &Shown(task.created_at))?;
        map.serialize_entry("lastUpdatedAt", &Shown(task.updated_at))?;
        map.serialize_entry("ttlMs", &life(task))?;
        map.serialize_entry("pollIntervalMs", &millis(self.interval).max(1))?;
        if !matches!(self.frame, Frame::Created) {
            match task.outcome() {
                Some(Outcome::Result(result)) => {
                    let result = self.result.unwrap_or(result);
                    map.serialize_entry("result", &ResultView { result, around: Around::Inlined })?;
                }
                Some(Outcome::Error(error)) => map.serialize_entry("error", &ErrorView(error))?,
                Some(Outcome::Cancelled) => {}
                None if task.status() == crate::domain::Status::InputRequired => {
                    let open: BTreeMap<&String, Question<'_>> =
                        task.open_inputs().map(|(key, slot)| (key, Question::of(slot))).collect();
                    map.serialize_entry("inputRequests", &open)?;
                }
                None => {}
            }
        }
        match self.frame {
            Frame::Pushed(subscription) => map.serialize_entry("_meta", &Subscription(subscription))?,
            Frame::Created | Frame::Got => map.serialize_entry("_meta", &ServerMeta)?,
        }
        map.end()
    }
}

/// What people read of a task: the stage, and the provider's own counts where it gave them (requirement B7).
pub(crate) fn status_message(task: &Task) -> Option<Cow<'_, str>> {
    let message = task.message.as_deref();
    let Some(progress) = task.progress.filter(|_| !task.is_ended()) else { return message.map(Cow::Borrowed) };
    let short = |number: f64| (number * 10.0).round() / 10.0;
    let counts = match progress.total {
        Some(total) => format!("{} of {}", short(progress.done), short(total)),
        None => short(progress.done).to_string(),
    };
    match message {
        // A provider that says its counts itself needs no help.
        Some(message) if message.contains(&counts) => Some(Cow::Borrowed(message)),
        Some(message) => Some(Cow::Owned(format!("{message} ({counts})"))),
        None => Some(Cow::Owned(counts)),
    }
}

/// `_meta` of what is sent on a subscription's stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subscription<'a>(pub(crate) &'a RawValue);

impl Serialize for Subscription<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("io.modelcontextprotocol/subscriptionId", self.0)?;
        map.end()
    }
}

/// A tool's result: the answer to a plain call, or inside a task, where it is the same but for what is around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultView<'a> {
    pub(crate) result: &'a ToolResult,
    pub(crate) around: Around<'a>,
}

/// What is around a tool's result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Around<'a> {
    /// 2026-07-28, the answer to a call: its type, and who answers.
    Answer,
    /// 2026-07-28, inside a task: its type.
    Inlined,
    /// Older versions: nothing.
    Bare,
    /// Older versions, the result of a task: which one, under the key of the dialect.
    Related { key: &'static str, task: &'a str },
}

/// `_meta` that names a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Related<'a> {
    /// The dialect's key.
    pub(crate) key: &'static str,
    /// The task's shown id.
    pub(crate) task: &'a str,
}

impl Serialize for Related<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(self.key, &json!({ "taskId": self.task }))?;
        map.end()
    }
}

impl Serialize for ResultView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if matches!(self.around, Around::Answer | Around::Inlined) {
            map.serialize_entry("resultType", "complete")?;
        }
        map.serialize_entry("content", &Content(self.result))?;
        if let Some(data) = &self.result.output.data {
            map.serialize_entry("structuredContent", data)?;
        }
        map.serialize_entry("isError", &self.result.is_error)?;
        match self.around {
            Around::Answer => map.serialize_entry("_meta", &ServerMeta)?,
            Around::Related { key, task } => map.serialize_entry("_meta", &Related { key, task })?,
            Around::Inlined | Around::Bare => {}
        }
        map.end()
    }
}

struct Content<'a>(&'a ToolResult);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let output = &self.0.output;
        let mut seq = serializer.serialize_seq(None)?;
        for part in &output.parts {
            seq.serialize_element(&ContentBlock(part))?;
        }
        // A client that reads no structured content still gets it as text (MCP 2026-07-28, "Structured Content").
        if let (true, Some(data)) = (output.parts.is_empty(), &output.data) {
            seq.serialize_element(&json!({ "type": "text", "text": data.to_string() }))?;
        }
        seq.end()
    }
}

struct ContentBlock<'a>(&'a Part);

impl Serialize for ContentBlock<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
        enum Block<'a> {
            Text {
                text: &'a str,
            },
            Image {
                data: &'a str,
                mime_type: &'a str,
            },
            Audio {
                data: &'a str,
                mime_type: &'a str,
            },
            ResourceLink {
                uri: &'a str,
                name: &'a str,
                #[serde(skip_serializing_if = "Option::is_none")]
                mime_type: Option<&'a str>,
                #[serde(skip_serializing_if = "Option::is_none")]
                description: Option<&'a str>,
                #[serde(skip_serializing_if = "Option::is_none")]
                size: Option<u64>,
            },
            Resource {
                resource: Document<'a>,
            },
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Document<'a> {
            uri: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            mime_type: Option<&'a str>,
            text: &'a str,
        }
        let block = match self.0 {
            Part::Text(text) => Block::Text { text },
            Part::Image { data, mime_type } => Block::Image { data, mime_type },
            Part::Audio { data, mime_type } => Block::Audio { data, mime_type },
            Part::Link { uri, name, mime_type, description, size } => Block::ResourceLink {
                uri,
                name,
                mime_type: mime_type.as_deref(),
                description: description.as_deref(),
                size: *size,
            },
            Part::Embedded { uri, mime_type, text } => {
                Block::Resource { resource: Document { uri, mime_type: mime_type.as_deref(), text } }
            }
        };
        block.serialize(serializer)
    }
}

/// Why a task failed, as the JSON-RPC error that a plain call would have got (requirement B5).
struct ErrorView<'a>(&'a TaskError);

impl Serialize for ErrorView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("code", &-32603)?;
        map.serialize_entry("message", &self.0.message)?;
        map.serialize_entry("data", &error_data(self.0))?;
        map.end()
    }
}

/// The structured half of a task's error.
pub(crate) fn error_data(error: &TaskError) -> Value {
    let mut data = json!({ "category": error.category.as_str(), "retryable": error.retryable, "attempts": error.attempts });
    if let Some(status) = error.provider_status {
        data["providerStatus"] = status.into();
    }
    data
}

/// A question as the client is to ask it.
#[derive(Debug, Serialize)]
#[serde(tag = "method", content = "params")]
pub(crate) enum Question<'a> {
    /// By a form or a page.
    #[serde(rename = "elicitation/create")]
    Elicit(Elicitation<'a>),
}

/// How a question is asked.
#[derive(Debug, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Elicitation<'a> {
    /// By a form.
    Form { message: &'a str, requested_schema: &'a Value },
    /// On a page of the provider's own.
    Url { message: &'a str, url: &'a str },
}

impl<'a> Question<'a> {
    fn of(slot: &'a InputSlot) -> Self {
        let message = &slot.request.message;
        Self::Elicit(match &slot.request.kind {
            InputKind::Form { schema } => Elicitation::Form { message, requested_schema: schema },
            InputKind::Url { url } => Elicitation::Url { message, url },
        })
    }

    fn before_the_job(question: &'a Confirm) -> Self {
        Self::Elicit(Elicitation::Form { message: &question.message, requested_schema: &question.schema })
    }
}

/// The answer to a call that has to be repeated with an answer: `InputRequiredResult`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InputRequired<'a> {
    result_type: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    input_requests: BTreeMap<&'a str, Question<'a>>,
    request_state: String,
    #[serde(rename = "_meta")]
    meta: ServerMeta,
}

impl<'a> InputRequired<'a> {
    pub(crate) fn new(question: &'a Confirm, state: String) -> Self {
        Self {
            result_type: "input_required",
            input_requests: BTreeMap::from([(question.key.as_str(), Question::before_the_job(question))]),
            request_state: state,
            meta: ServerMeta,
        }
    }

    /// For a client that holds no tasks: what the job asks, or nothing, which is a wish to be called again.
    pub(crate) fn of_task(task: &'a Task, state: String) -> Self {
        let input_requests = task.open_inputs().map(|(key, slot)| (key.as_str(), Question::of(slot))).collect();
        Self { result_type: "input_required", input_requests, request_state: state, meta: ServerMeta }
    }
}

/// `notifications/progress` of a plain call.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProgressParams<'a> {
    pub(crate) progress_token: &'a RawValue,
    pub(crate) progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<&'a str>,
}
