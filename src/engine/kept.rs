//! Kept artifacts for those who want them: as resources of the task's owner, and under signed addresses that end.

use std::fmt;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jobgate_webhooks::CallbackKey;
use sha2::Sha256;

use super::AccessError;
use super::core::Core;
use crate::domain::{KeptArtifact, Outcome, Part, Scope, Task, TaskId, Timestamp, ToolResult};
use crate::store::StoreError;

/// The seed in the store that the keys are made from.
pub(super) const SEED: &str = "artifacts";

/// Makes and opens the signed addresses of kept artifacts. A task's id is a secret where nobody has to say who he is, so addresses name
/// tasks by tokens that nobody but us can read.
pub(super) struct Links {
    tokens: CallbackKey,
    signing: [u8; 32],
    public_url: Option<String>,
    ttl: Duration,
}

/// Never the keys.
impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("public_url", &self.public_url).field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

/// The address of a kept artifact, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactAddress {
    /// Names the task.
    pub token: String,
    /// Which of its artifacts, from 1.
    pub number: usize,
    /// When the address ends, in seconds since 1970.
    pub expires: i64,
    /// Over all of it, hexadecimal.
    pub signature: String,
}

/// A kept artifact could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is none of that name for this caller.
    #[error("there is no such artifact; its task may have expired")]
    NotFound,
    /// It is larger than an answer may be.
    #[error("the artifact has {size} bytes, and an answer holds {most} at most")]
    TooLarge {
        /// Its bytes.
        size: u64,
        /// What an answer holds.
        most: u64,
        /// Where it can be fetched from instead.
        url: Option<String>,
    },
    /// The file is not there, or cannot be read.
    #[error("the artifact's file is not to be had on the gateway's disk")]
    Lost,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Links {
    pub(super) fn new(seed: &[u8; 32], public_url: Option<String>, ttl: Duration) -> Self {
        let derive = |label: &[u8]| -> [u8; 32] { mac(seed, &[label]).finalize().into_bytes().into() };
        let tokens = CallbackKey::new(&derive(b"jobgate artifact token 1"));
        Self { tokens, signing: derive(b"jobgate artifact signature 1"), public_url, ttl }
    }

    /// Where an artifact can be fetched from now on for a while, and until when; `None` where nobody reaches the gateway over HTTP.
    fn url(&self, task: TaskId, number: usize, now: Timestamp) -> Option<(String, Timestamp)> {
        let public_url = self.public_url.as_deref()?;
        let until = now.plus(self.ttl);
        let (token, expires) = (self.tokens.token(*task.as_bytes()), until.as_millis() / 1000);
        let signature = self.sign(&token, number, expires).finalize().into_bytes();
        let signature = signature.iter().fold(String::with_capacity(64), |text, byte| text + &format!("{byte:02x}"));
        let url = format!("{public_url}/artifacts/{token}/{number}?expires={expires}&signature={signature}");
        Some((url, Timestamp::from_millis(expires * 1000)))
    }

    /// Which artifact an address stands for, if it is one of ours that has not ended.
    fn open(&self, address: &ArtifactAddress, now: Timestamp) -> Option<TaskId> {
        let digits = address.signature.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let hash: crate::domain::ContentHash = address.signature.parse().ok()?;
        // In a time that does not depend on where it differs.
        self.sign(&address.token, address.number, address.expires).verify_slice(hash.as_bytes()).ok()?;
        if now.as_millis() >= address.expires.checked_mul(1000)? {
            return None;
        }
        self.tokens.open(&address.token)?.subject().map(TaskId::from_bytes)
    }

    fn sign(&self, token: &str, number: usize, expires: i64) -> Hmac<Sha256> {
        mac(&self.signing, &[format!("{token} {number} {expires}").as_bytes()])
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

/// The name of a kept artifact among resources.
#[must_use]
pub fn artifact_uri(task: TaskId, number: usize) -> String {
    format!("jobgate://tasks/{task}/artifacts/{number}")
}

/// What a resource's name stands for: a task, and which of its artifacts, from 1.
#[must_use]
pub fn artifact_of(uri: &str) -> Option<(TaskId, usize)> {
    let (task, number) = uri.strip_prefix("jobgate://tasks/")?.split_once("/artifacts/")?;
    let number: usize = number.parse().ok().filter(|it: &usize| it.to_string() == number)?;
    Some((task.parse().ok()?, number))
}

impl Core {
    /// A task's result as callers see it: its kept artifacts are links behind the content, each with the address that it has now.
    pub(super) fn shown_result(&self, task: &Task) -> Option<Arc<ToolResult>> {
        let Some(Outcome::Result(result)) = task.outcome() else { return None };
        if result.kept.is_empty() {
            return Some(result.clone());
        }
        let mut shown = ToolResult { kept: Vec::new(), ..result.as_ref().clone() };
        for (number, kept) in (1..).zip(&result.kept) {
            shown.output.parts.push(Part::Link {
                uri: artifact_uri(task.id, number),
                name: kept.name.clone(),
                mime_type: kept.mime_type.clone(),
                description: kept.description.clone(),
                size: Some(kept.size),
            });
            if let Some((url, until)) = self.links.url(task.id, number, self.clock.now()) {
                shown.output.parts.push(Part::Text(format!("{}: {url} (until {until})", kept.name)));
            }
        }
        Some(Arc::new(shown))
    }

    /// A kept artifact of a task in this scope.
    pub(super) async fn artifact(
        &self,
        scope: &Scope,
        id: &TaskId,
        number: usize,
    ) -> Result<(Arc<Task>, KeptArtifact), ReadError> {
        let task = self.get(scope, id).await.map_err(|error| match error {
            AccessError::NotFound => ReadError::NotFound,
            AccessError::Store(error) => ReadError::Store(error),
        })?;
        let kept = nth(&task, number).ok_or(ReadError::NotFound)?;
        Ok((task, kept))
    }

    /// The bytes of a kept artifact, if they are at most `most`.
    pub(super) async fn read_artifact(
        &self,
        scope: &Scope,
        id: &TaskId,
        number: usize,
        most: u64,
    ) -> Result<(KeptArtifact, Vec<u8>), ReadError> {
        let (_, kept) = self.artifact(scope, id, number).await?;
        if kept.size > most {
            let url = self.links.url(*id, number, self.clock.now()).map(|(url, _)| url);
            return Err(ReadError::TooLarge { size: kept.size, most, url });
        }
        let artifacts = self.artifacts.clone().ok_or(ReadError::Lost)?;
        let hash = kept.hash;
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            // A file never grows; should this one have, no more of it is read than was kept.
            artifacts.file(&hash)?.take(most).read_to_end(&mut bytes)?;
            std::io::Result::Ok(bytes)
        });
        match read.await {
            Ok(Ok(bytes)) => Ok((kept, bytes)),
            Ok(Err(error)) => {
                tracing::error!(task = ?id, %error, "a kept artifact cannot be read");
                Err(ReadError::Lost)
            }
            Err(_) => Err(ReadError::Lost),
        }
    }

    /// The artifact that an address stands for, while it lasts.
    pub(super) async fn addressed_artifact(&self, address: &ArtifactAddress) -> Result<Option<KeptArtifact>, StoreError> {
        let Some(id) = self.links.open(address, self.clock.now()) else { return Ok(None) };
        let task = self.store.get(&id).await?.filter(|task| !self.is_over(task));
        Ok(task.and_then(|task| nth(&task, address.number)))
    }
}

fn nth(task: &Task, number: usize) -> Option<KeptArtifact> {
    task.kept_artifacts().get(number.checked_sub(1)?).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: TaskId = TaskId::from_bytes([3; 16]);

    fn address(url: &str) -> ArtifactAddress {
        let (path, query) = url.split_once('?').unwrap();
        let (rest, number) = path.rsplit_once('/').unwrap();
        let (expires, signature) = query.strip_prefix("expires=").unwrap().split_once("&signature=").unwrap();
        ArtifactAddress {
            token: rest.rsplit_once('/').unwrap().1.to_owned(),
            number: number.parse().unwrap(),
            expires: expires.parse().unwrap(),
            signature: signature.to_owned(),
        }
    }

    /// I1: an address opens what it was made for until it ends; a changed one, or one of another store, opens nothing.
    #[test]
    fn an_address_is_good_for_one_artifact_for_a_while() {
        let links = |seed| Links::new(&[seed; 32], Some("https://g.example".to_owned()), Duration::from_secs(60));
        let now = Timestamp::from_millis(1_796_000_000_500);
        let (url, until) = links(1).url(TASK, 2, now).unwrap();
        assert!(url.starts_with("https://g.example/artifacts/") && !url.contains(&TASK.to_string()), "{url}");
        let good = address(&url);
        assert_eq!(links(1).open(&good, now), Some(TASK));
        assert_eq!(links(1).open(&good, Timestamp::from_millis(until.as_millis() - 1)), Some(TASK));
        assert_eq!(links(1).open(&good, until), None, "it has ended");
        assert_eq!(links(2).open(&good, now), None, "another store's");
        let flipped = good.signature.chars().rev().collect::<String>();
        for bad in [
            ArtifactAddress { number: 1, ..good.clone() },
            ArtifactAddress { expires: good.expires + 1, ..good.clone() },
            ArtifactAddress { expires: i64::MAX, ..good.clone() },
            ArtifactAddress { token: links(1).tokens.token([4; 16]), ..good.clone() },
            ArtifactAddress { signature: flipped, ..good.clone() },
            ArtifactAddress { signature: String::new(), ..good.clone() },
        ] {
            assert_eq!(links(1).open(&bad, now), None, "{bad:?}");
        }
        assert!(!format!("{:?}", links(1)).contains('['), "no keys");
        assert!(Links::new(&[1; 32], None, Duration::from_secs(60)).url(TASK, 1, now).is_none());
    }

    #[test]
    fn a_name_among_resources_has_one_spelling() {
        assert_eq!(artifact_of(&artifact_uri(TASK, 12)), Some((TASK, 12)));
        let cut: String = artifact_uri(TASK, 1).chars().take(20).collect();
        for uri in ["", "jobgate://tasks/x/artifacts/1", &format!("jobgate://tasks/{TASK}/artifacts/01"), &cut] {
            assert_eq!(artifact_of(uri), None, "{uri}");
        }
    }
}
