//! What operators ask of the store: answered by its holder over the socket, or by the command itself when nobody holds it.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::frames::{self, Ask, OperatorQuestion, Tell, VERSION};
use super::plan::World;
use super::socket;
use crate::domain::{Scope, Task, TaskId};
use crate::engine::{Engine, RedriveError};
use crate::store::sled::{SledOptions, SledStore};
use crate::store::{DeadLetter, DeliveryId, ListQuery, StoreError, TaskStore};

/// Answers of this many tasks at most.
const MOST_TASKS: usize = 10_000;

/// One task, as operators see it: without arguments and results, which belong to its owner.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskLine {
    /// Its id.
    pub task_id: String,
    /// The protocol's word.
    pub status: String,
    /// Which tool.
    pub tool: String,
    /// Whose job.
    pub provider: String,
    /// Tenant and name.
    pub owner: String,
    /// The provider's id of the job, once it is known.
    pub job: Option<String>,
    /// The sentence for people.
    pub message: Option<String>,
    /// ISO 8601 UTC.
    pub created_at: String,
    /// ISO 8601 UTC.
    pub last_updated_at: String,
}

/// One line of a task's history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditLine {
    /// ISO 8601 UTC.
    pub at: String,
    /// What happened.
    pub event: String,
    /// Who or what brought it.
    pub cause: String,
    /// The status after it.
    pub status: String,
    /// The sentence for people after it.
    pub message: Option<String>,
}

impl From<&Task> for TaskLine {
    fn from(task: &Task) -> Self {
        Self {
            task_id: task.id.to_string(),
            status: task.status().as_str().to_owned(),
            tool: task.tool.to_string(),
            provider: task.provider.to_string(),
            owner: task.owner.to_string(),
            job: task.job().map(|job| job.id().to_owned()),
            message: task.message.clone(),
            created_at: task.created_at.to_string(),
            last_updated_at: task.updated_at.to_string(),
        }
    }
}

/// A delivery that was accepted and could not be used, as operators see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLine {
    /// Its id.
    pub id: String,
    /// ISO 8601 UTC.
    pub at: String,
    /// Whose.
    pub provider: String,
    /// The task whose callback address it came to.
    pub task_id: Option<String>,
    /// Why it could not be used.
    pub reason: String,
    /// Bytes of its body.
    pub size: usize,
    /// The body, where one is asked for; what is no UTF-8 in it is shown as U+FFFD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl From<&DeadLetter> for DeadLine {
    fn from(letter: &DeadLetter) -> Self {
        Self {
            id: letter.id.to_string(),
            at: letter.at.to_string(),
            provider: letter.provider.to_string(),
            task_id: letter.task.as_ref().map(TaskId::to_string),
            reason: letter.reason.clone(),
            size: letter.kept.verified().body().len(),
            body: None,
        }
    }
}

/// Answers from the store.
pub(super) async fn answer(store: &dyn TaskStore, question: &OperatorQuestion) -> Result<Bytes, String> {
    let said = |error: StoreError| error.to_string();
    let json = match question {
        OperatorQuestion::Dead { limit } => {
            let letters = store.dead_letters(*limit).await.map_err(said)?;
            serde_json::to_vec(&letters.iter().map(DeadLine::from).collect::<Vec<_>>())
        }
        OperatorQuestion::DeadOne { id } => {
            let letter = store.dead_letter(&delivery(id)?).await.map_err(said)?;
            let letter = letter.ok_or_else(|| format!("there is no dead letter `{id}`"))?;
            let body = String::from_utf8_lossy(letter.kept.verified().body()).into_owned();
            serde_json::to_vec(&[DeadLine { body: Some(body), ..DeadLine::from(&letter) }])
        }
        OperatorQuestion::DropDead { ids } => {
            let ids = ids.iter().map(|id| delivery(id)).collect::<Result<Vec<_>, _>>()?;
            let dropped = store.drop_dead(&ids).await.map_err(said)?;
            serde_json::to_vec(&[serde_json::json!({ "dropped": dropped })])
        }
        OperatorQuestion::Redrive { .. } => {
            return Err("no gateway runs on this data folder, and only one that runs can take a delivery again".to_owned());
        }
        OperatorQuestion::Figures => return Err("no gateway runs on this data folder, so nothing is being counted".to_owned()),
        OperatorQuestion::Tasks { limit } => {
            let query = ListQuery { scope: Scope::Everybody, after: None, limit: (*limit).min(MOST_TASKS) };
            let tasks = store.list(query).await.map_err(said)?;
            serde_json::to_vec(&tasks.iter().map(|task| TaskLine::from(&**task)).collect::<Vec<_>>())
        }
        OperatorQuestion::Audit { task } => {
            let id: TaskId = task.parse().map_err(|error| format!("`{task}`: {error}"))?;
            let entries = store.audit(&id).await.map_err(said)?;
            if entries.is_empty() {
                return Err(format!("there is no task `{task}`, or its life has ended"));
            }
            let line = |entry: &crate::store::AuditEntry| AuditLine {
                at: entry.at.to_string(),
                event: entry.event.clone(),
                cause: entry.cause.clone(),
                status: entry.status.as_str().to_owned(),
                message: entry.message.clone(),
            };
            serde_json::to_vec(&entries.iter().map(line).collect::<Vec<_>>())
        }
    };
    json.map(Bytes::from).map_err(|error| error.to_string())
}

/// Takes a dead letter again.
pub(super) async fn redrive(engine: &Engine, id: &str) -> Result<Bytes, String> {
    let taken = match engine.redrive(&delivery(id)?).await {
        Ok(taken) => taken,
        Err(RedriveError::NoSuchLetter) => return Err(format!("there is no dead letter `{id}`")),
        Err(RedriveError::Ingest(error)) => return Err(format!("`{id}` still cannot be used, and stays: {error}")),
    };
    let line = serde_json::json!([{ "id": id, "verdict": taken.label() }]);
    serde_json::to_vec(&line).map(Bytes::from).map_err(|error| error.to_string())
}

/// The delivery that an operator names.
fn delivery(id: &str) -> Result<DeliveryId, String> {
    id.parse().map_err(|error| format!("`{}`: {error}", id.escape_debug()))
}

/// Asks whoever holds the store in `folder`, or the store itself where nobody does.
///
/// # Errors
/// A sentence for people.
pub async fn ask(folder: &Path, question: &OperatorQuestion, world: &World) -> Result<Bytes, String> {
    // A folder that is not there would be made by opening it.
    if !folder.exists() {
        return Err(format!("there is no data folder {}", folder.display()));
    }
    match over_socket(folder, question, world).await {
        Ok(answer) => return answer,
        Err(error) => tracing::debug!(%error, "nobody answers on the socket"),
    }
    let (options, clock) = (SledOptions::new(folder), world.clock.clone());
    let opened = tokio::task::spawn_blocking(move || SledStore::open(options, clock)).await.map_err(|error| error.to_string())?;
    let store: Arc<SledStore> = opened.map_err(|error| error.to_string())?.store;
    let answer = answer(&*store, question).await;
    store.close().await.map_err(|error| error.to_string())?;
    answer
}

/// Asks the process that holds the store in `folder`.
pub(super) async fn over_socket(
    folder: &Path,
    question: &OperatorQuestion,
    world: &World,
) -> std::io::Result<Result<Bytes, String>> {
    let asking = async {
        let mut stream = socket::connect(folder, &*world.random).await?;
        frames::write(&mut stream, &Ask::Hello { version: VERSION }, b"").await?;
        frames::write(&mut stream, &Ask::Operator { id: 0, question: question.clone() }, b"").await?;
        while let Some((tell, body)) = frames::read::<Tell>(&mut stream).await? {
            match tell {
                Tell::Hello { version: VERSION, .. } => {}
                Tell::Operator { error, .. } => return Ok(error.map_or(Ok(body), Err)),
                Tell::Hello { .. }
                | Tell::Accepted { .. }
                | Tell::One { .. }
                | Tell::Part { .. }
                | Tell::End { .. }
                | Tell::Hook { .. }
                | Tell::Artifact { .. }
                | Tell::Pong => break,
            }
        }
        Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the holder went away"))
    };
    tokio::select! {
        answer = asking => answer,
        () = world.clock.sleep(std::time::Duration::from_secs(30)) => {
            Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the holder does not answer"))
        }
    }
}
