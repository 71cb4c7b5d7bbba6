//! Questions as requests of ours: `elicitation/create` on a stream, and what becomes of each copy.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Spoken;
use crate::domain::{InputKind, InputProgress, Random, Task, TaskId};
use crate::mcp::jsonrpc;
use crate::mcp::live::Here;
use crate::mcp::seal::Purpose;
use crate::mcp::sessions::Revision;
use crate::mcp::wire::Related;

/// What the id of a question's request stands for. Sealed, so that the answer finds its way in any process, after any restart.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct QuestionId {
    /// The task; nothing for a question of a running call.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub(super) task: Option<String>,
    /// The question's key.
    #[serde(rename = "k", default, skip_serializing_if = "String::is_empty")]
    pub(super) key: String,
    /// The session that was asked.
    #[serde(rename = "s")]
    pub(super) session: String,
    /// No id is used twice.
    #[serde(rename = "n")]
    nonce: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'static str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elicitation_id: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Related<'a>>,
}

impl Spoken {
    /// Whether the client can show such a question.
    pub(in crate::mcp::dialects) fn can_show(&self, kind: &InputKind) -> bool {
        match kind {
            InputKind::Form { .. } => self.abilities.forms,
            InputKind::Url { .. } => self.abilities.pages,
        }
    }

    /// An id for a request that asks a question; `None` outside of sessions.
    pub(super) fn question_id(&self, task: Option<TaskId>, key: &str) -> Option<String> {
        let id = QuestionId {
            task: task.map(|task| task.to_string()),
            key: key.to_owned(),
            session: self.session.clone()?,
            nonce: nonce(&*self.shared.random),
        };
        Some(self.shared.sealer.seal_for(Purpose::Question, &self.context.caller.principal, &id))
    }

    /// The request that asks a question.
    pub(super) fn question(&self, id: &str, message: &str, kind: &InputKind, meta: Option<Related<'_>>) -> Bytes {
        // Modes came with pages; before that, a form is all there is.
        let modes = self.revision >= Revision::November2025;
        let params = match kind {
            InputKind::Form { schema } => Params {
                mode: modes.then_some("form"),
                message,
                requested_schema: Some(schema),
                url: None,
                elicitation_id: None,
                meta,
            },
            InputKind::Url { url } => Params {
                mode: modes.then_some("url"),
                message,
                requested_schema: None,
                url: Some(url),
                elicitation_id: Some(id),
                meta,
            },
        };
        jsonrpc::request(id, "elicitation/create", &params)
    }
}

fn nonce(random: &dyn Random) -> String {
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    format!("{:016x}", u64::from_be_bytes(bytes))
}

/// The questions of one task on one stream of a session. Dropped with the stream: what is unanswered then may be asked elsewhere.
#[derive(Debug)]
pub(super) struct Asker {
    spoken: Arc<Spoken>,
    here: Arc<Here>,
    task: TaskId,
    /// The dialect's key for the task that a message is about.
    pub(super) related: Option<&'static str>,
    out: Vec<Copy>,
}

/// A question that was asked here.
#[derive(Debug)]
struct Copy {
    key: String,
    id: String,
}

impl Asker {
    pub(super) const fn new(spoken: Arc<Spoken>, here: Arc<Here>, task: TaskId, related: Option<&'static str>) -> Self {
        Self { spoken, here, task, related, out: Vec::new() }
    }

    /// What has to go out now that the task stands like this: questions that nobody asked yet, and the withdrawal of those that were
    /// settled elsewhere.
    pub(super) fn news(&mut self, task: &Task) -> Vec<Bytes> {
        let mut messages = self.withdrawn(task);
        let shown = task.shown_to(&self.spoken.context.caller.principal).into_owned();
        for (key, slot) in task.open_inputs() {
            let known = self.out.iter().any(|copy| copy.key == *key);
            if known || !self.spoken.can_show(&slot.request.kind) {
                continue;
            }
            let Some(id) = self.spoken.question_id(Some(self.task), key) else { continue };
            if !self.here.claim(self.task, key, &id) {
                continue;
            }
            let related = self.related.map(|key| Related { key, task: &shown });
            messages.push(self.spoken.question(&id, &slot.request.message, &slot.request.kind, related));
            self.out.push(Copy { key: key.clone(), id });
        }
        messages
    }

    /// The withdrawal of questions that were settled elsewhere.
    pub(super) fn withdrawn(&mut self, task: &Task) -> Vec<Bytes> {
        let (here, id) = (&self.here, self.task);
        let mut messages = Vec::new();
        self.out.retain(|copy| {
            let open = !task.is_ended() && task.inputs.get(&copy.key).is_some_and(|slot| slot.progress == InputProgress::Open);
            if open {
                return true;
            }
            // A copy that was answered is not out any more.
            if here.free(id, &copy.key, &copy.id) {
                let params = json!({ "requestId": copy.id, "reason": "settled elsewhere" });
                messages.push(jsonrpc::notification("notifications/cancelled", &params));
            }
            false
        });
        messages
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        for copy in &self.out {
            self.here.free(self.task, &copy.key, &copy.id);
        }
    }
}
