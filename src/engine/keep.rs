//! Artifacts of a job that ended well: fetched one after the other, kept, and then the task ends. Nothing of this starts the job again,
//! and what cannot be kept ends as a link with a sentence, never as a lost result.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use data_url::DataUrl;
use futures_util::{StreamExt as _, stream};
use jobgate_adapter_api::{AdapterError, ErrorKind, Operation, Retry};

use super::core::{ChangeError, Core, Runtime, asked, fault};
use super::gate::Pass;
use super::work::Then;
use crate::artifacts::{Artifacts, KeepError};
use crate::domain::{
    Artifact, ArtifactBody, Cause, ContentHash, Fault, JobRef, KeptArtifact, Settled, Task, TaskEvent, TaskId, TaskState,
    Timestamp, schedule::PROTOCOL_FAULTS_ALLOWED,
};

/// Downloads from one provider at a time: they take long, and others wait for none of them.
pub(super) const AT_ONCE: usize = 4;
/// Bytes that are written at a time.
const PIECE: usize = 256 * 1024;

/// Why an artifact is not kept.
enum NotKept {
    /// Not ever: the end of a sentence that callers read.
    ForGood(String),
    /// Not yet.
    Yet(Fault, Option<Duration>),
    /// Its provider wants no calls before then.
    Busy(Timestamp),
}

impl From<KeepError> for NotKept {
    fn from(error: KeepError) -> Self {
        if let KeepError::Disk(cause) = &error {
            tracing::error!(error = %cause, "an artifact cannot be written; it is tried again");
        }
        match error {
            KeepError::TooLarge { .. } => Self::ForGood(error.to_string()),
            KeepError::Full { .. } | KeepError::Disk(_) => {
                Self::Yet(Fault { kind: ErrorKind::Unavailable, message: error.to_string(), status: None }, None)
            }
        }
    }
}

impl Core {
    /// Keeps the next artifact of a task.
    pub(super) async fn keep(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        task: &Arc<Task>,
        pass: Pass,
    ) -> Result<Then, ChangeError> {
        // Calls to the provider shall not wait for a download to end.
        drop(pass);
        let given_up = |why: &str| vec![(TaskEvent::KeepGivenUp(why.to_owned()), Cause::Limit)];
        let TaskState::Keeping { job, keeping } = &task.state else { return Ok(Then::Later(self.clock.now())) };
        let Some(artifacts) = &self.artifacts else { return self.at(task, given_up("this gateway keeps no artifacts")).await };
        let Some((place, artifact)) = keeping.next() else { return self.at(task, given_up("nothing is left to keep")).await };
        let over = keeping.since.plus(self.policy(task).deadline);
        let kept = tokio::select! {
            biased;
            // Begun anew by the next start, or ended there and then by the limit.
            () = self.supervisor.stopping().cancelled() => return Ok(Then::Later(self.clock.now())),
            () = self.clock.sleep_until(over) => return Ok(Then::Later(self.clock.now())),
            kept = self.fetch(runtime, task, job, artifact, artifacts) => kept,
        };
        let (event, waiting) = match kept {
            Ok(kept) => (TaskEvent::ArtifactSettled(Settled::Kept(kept)), None),
            Err(NotKept::ForGood(why)) => (TaskEvent::ArtifactSettled(Settled::Left(why)), None),
            Err(NotKept::Yet(fault, waiting)) => (TaskEvent::KeepFailed(fault), waiting),
            Err(NotKept::Busy(until)) => return Ok(Then::Later(self.paused(task, until))),
        };
        // Late deliveries and cancels may have come meanwhile: they make no download worthless.
        let changed = self.change(task.clone(), waiting, |now| match &now.state {
            TaskState::Keeping { keeping, .. } if keeping.settled.len() == place => vec![(event.clone(), Cause::Poll)],
            TaskState::Submitting { .. }
            | TaskState::Running { .. }
            | TaskState::InputRequired { .. }
            | TaskState::Keeping { .. }
            | TaskState::Ended { .. } => Vec::new(),
        });
        match changed.await {
            // Before the next artifact begins: what that one finishes is in nobody's record yet, as leftovers are.
            Ok(now) => self.tidy(&now).await,
            Err(error) => {
                self.let_go([task.id]).await;
                return Err(error);
            }
        }
        Ok(Then::Committed)
    }

    async fn fetch(
        &self,
        runtime: &Arc<Runtime>,
        task: &Task,
        job: &JobRef,
        artifact: &Artifact,
        artifacts: &Artifacts,
    ) -> Result<KeptArtifact, NotKept> {
        let _slot = runtime.downloads.acquire().await.expect("the semaphore is never closed");
        let mut body = if artifact.is_inline() { inline(artifact)? } else { self.ask(runtime, task, job, artifact).await? };
        let mime_type = admitted(artifact, body.mime_type.as_deref()).map_err(NotKept::ForGood)?;
        let most = artifact.max_bytes.map_or(artifacts.max_bytes(), |most| most.min(artifacts.max_bytes()));
        if body.size.is_some_and(|size| size > most) {
            return Err(KeepError::TooLarge { most }.into());
        }
        let begun = artifacts.clone();
        let mut part = blocking(move || begun.begin(Some(most))).await?;
        let mut waiting = Vec::new();
        let mut size = 0_u64;
        loop {
            let chunk = body.chunks.next().await.transpose().map_err(|error| refusal(task, &error))?;
            if let Some(chunk) = &chunk {
                size = size.saturating_add(chunk.len() as u64);
                waiting.extend_from_slice(chunk);
            }
            if waiting.len() >= PIECE || (chunk.is_none() && !waiting.is_empty()) {
                let piece = std::mem::take(&mut waiting);
                part = blocking(move || part.write(&piece).map(|()| part)).await?;
            }
            if chunk.is_none() {
                break;
            }
        }
        if let Some(told) = body.size.filter(|told| *told != size) {
            let message = format!("it should have {told} bytes and came with {size}");
            return Err(refusal(task, &AdapterError::new(ErrorKind::Protocol, Operation::Fetch, message)));
        }
        let id = task.id;
        let (hash, size) = blocking(move || part.finish(id)).await?;
        let description = artifact.description.clone();
        Ok(KeptArtifact { name: artifact.name.clone(), mime_type, description, size, hash })
    }

    /// Asks the provider for the file.
    async fn ask(&self, runtime: &Arc<Runtime>, task: &Task, job: &JobRef, artifact: &Artifact) -> Result<ArtifactBody, NotKept> {
        let mut pass = runtime.gate.pass().await;
        let turn = runtime.gate.turn(&mut pass).await.map_err(NotKept::Busy)?;
        let context = self.context(runtime, task);
        let body = turn.run(Operation::Fetch, runtime.provider.adapter.fetch(&context, job, artifact)).await;
        body.map_err(|error| match error.kind() {
            ErrorKind::RateLimited => NotKept::Busy(self.after(&error)),
            _ => refusal(task, &error),
        })
    }

    /// Lets go of all that is kept for a task and that it does not name (any more). Only while nothing is being kept for it.
    async fn tidy(&self, task: &Task) {
        if let Some((artifacts, wanted)) = self.leftovers(task) {
            release(artifacts, task.id, wanted).await;
        }
    }

    /// As [`Core::tidy`], some time later: for a task that has ended, for which nothing is begun any more.
    pub(super) fn tidy_ended(&self, task: &Task) {
        if let Some((artifacts, wanted)) = self.leftovers(task) {
            self.supervisor.spawn("artifacts", release(artifacts, task.id, wanted));
        }
    }

    /// Where more is kept for a task than it names: what it names.
    fn leftovers(&self, task: &Task) -> Option<(Artifacts, Vec<ContentHash>)> {
        let artifacts = self.artifacts.as_ref()?;
        let wanted: Vec<ContentHash> = match &task.state {
            TaskState::Keeping { keeping, .. } => {
                let kept = |settled: &Settled| match settled {
                    Settled::Kept(kept) => Some(kept.hash),
                    Settled::Left(_) => None,
                };
                keeping.settled.iter().filter_map(kept).collect()
            }
            _ => task.kept_artifacts().iter().map(|kept| kept.hash).collect(),
        };
        artifacts.holds_more(&task.id, &wanted).then(|| (artifacts.clone(), wanted))
    }

    /// Lets go of all that is kept for those of these tasks that the store no longer has.
    pub(super) async fn let_go(&self, tasks: impl IntoIterator<Item = TaskId>) {
        let Some(artifacts) = &self.artifacts else { return };
        for id in tasks {
            if artifacts.holds_more(&id, &[]) && matches!(self.store.get(&id).await, Ok(None)) {
                self.supervisor.spawn("artifacts", release(artifacts.clone(), id, Vec::new()));
            }
        }
    }

    /// Lets go of what is kept for tasks that the store no longer has, or that have ended and do not name it: a crash may have left it.
    pub(super) async fn tidy_all(self: Arc<Self>) {
        let Some(artifacts) = &self.artifacts else { return };
        for id in artifacts.holders() {
            match self.store.get(&id).await {
                // One at work may have finished a file that its record does not name yet; it tidies up itself.
                Ok(Some(task)) if !task.is_ended() => {}
                Ok(Some(task)) => self.tidy(&task).await,
                Ok(None) => self.let_go([id]).await,
                Err(error) => {
                    tracing::warn!(%error, "artifacts could not be looked through; the next start does it");
                    return;
                }
            }
        }
    }
}

/// Lets go of all that is kept for a task but for these.
async fn release(artifacts: Artifacts, id: TaskId, wanted: Vec<ContentHash>) {
    let done = tokio::task::spawn_blocking(move || artifacts.retain(&id, &wanted)).await;
    if let Ok(Err(error)) = done {
        tracing::warn!(task = ?id, %error, "an artifact that nobody needs could not be removed; the next start does it");
    }
}

/// Work that waits for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, KeepError> + Send + 'static) -> Result<T, KeepError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
}

/// A file that its address carries.
fn inline(artifact: &Artifact) -> Result<ArtifactBody, NotKept> {
    let unreadable = || NotKept::ForGood("its data: address cannot be read".to_owned());
    let read = DataUrl::process(&artifact.uri).map_err(|_| unreadable())?;
    let (bytes, _) = read.decode_to_vec().map_err(|_| unreadable())?;
    let mime_type = Some(read.mime_type().to_string());
    let size = Some(bytes.len() as u64);
    Ok(ArtifactBody { mime_type, size, chunks: stream::iter([Ok(Bytes::from(bytes))]).boxed() })
}

/// What a failed call means for the artifact.
fn refusal(task: &Task, error: &AdapterError) -> NotKept {
    let gave_up = error.kind() == ErrorKind::Protocol && task.troubles.protocol_run + 1 >= PROTOCOL_FAULTS_ALLOWED;
    if gave_up || error.retry() == Retry::Never {
        return NotKept::ForGood(error.message().trim_end_matches('.').to_owned());
    }
    NotKept::Yet(fault(error), asked(error))
}

/// The type of an artifact that is sent as `told`, if it may have that.
///
/// # Errors
/// Why not.
fn admitted(artifact: &Artifact, told: Option<&str>) -> Result<Option<String>, String> {
    // Storage services call everything that: it says nothing.
    let told = told.map(essence).filter(|told| !["", "application/octet-stream", "binary/octet-stream"].contains(&told.as_str()));
    let known = told.clone().or_else(|| artifact.mime_type.as_deref().map(essence));
    let fits = |wanted: &String| {
        let wanted = essence(wanted);
        let known = known.as_deref().unwrap_or_default();
        match wanted.strip_suffix("/*") {
            Some("*") => true,
            Some(family) => known.split_once('/').is_some_and(|(of, _)| of == family),
            None => known == wanted,
        }
    };
    if !artifact.types.is_empty() && !artifact.types.iter().any(fits) {
        let is = known.map_or_else(|| "of an unknown type".to_owned(), |known| format!("{known:?}"));
        return Err(format!("it is {is}, and only {} is kept", artifact.types.join(", ")));
    }
    Ok(artifact.mime_type.clone().or(known))
}

/// A media type without its parameters, in small letters.
fn essence(mime_type: &str) -> String {
    mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types are held against what the sender says, else against what the configuration says.
    #[test]
    fn types_are_checked() {
        let of = |mime_type: Option<&str>, types: &[&str]| Artifact {
            mime_type: mime_type.map(str::to_owned),
            types: types.iter().map(|it| (*it).to_owned()).collect(),
            ..Artifact::new("https://a.example/x", "x")
        };
        for (mime_type, types, told, wanted) in [
            (None, &[][..], None, Ok(None)),
            (None, &[], Some("Video/MP4; codecs=x"), Ok(Some("video/mp4"))),
            (Some("video/mp4"), &["video/*"], Some("binary/octet-stream"), Ok(Some("video/mp4"))),
            (Some("video/mp4"), &["video/mp4"], Some("text/html"), Err("it is \"text/html\", and only video/mp4 is kept")),
            (None, &["image/png", "image/webp"], Some("image/webp"), Ok(Some("image/webp"))),
            (None, &["video/*"], None, Err("it is of an unknown type, and only video/* is kept")),
            (None, &["video/*"], Some("videos/x"), Err("it is \"videos/x\", and only video/* is kept")),
            (None, &["*/*"], None, Ok(None)),
        ] {
            let got = admitted(&of(mime_type, types), told);
            assert_eq!(got.as_ref().map(Option::as_deref).map_err(String::as_str), wanted, "{types:?} {told:?}");
        }
    }
}
