//! Kept artifacts for HTTP: whoever holds the store says what an address stands for, and the file is read here, in the data folder that
//! all processes share.

use std::fs::File;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::link::{Next, Piece};
use super::switch::{Current, Switch};
use crate::artifacts;
use crate::domain::{ContentHash, KeptArtifact};
use crate::engine::ArtifactAddress;
use crate::http::{ArtifactSource, Unknown};

/// How long whoever asks for an artifact waits to be told of it.
const BOUND: Duration = Duration::from_secs(3);

/// An [`ArtifactAddress`] between processes.
#[derive(Serialize, Deserialize)]
pub(super) struct AddressOnLink {
    token: String,
    number: usize,
    expires: i64,
    signature: String,
}

/// Whoever has it may fetch the file.
impl std::fmt::Debug for AddressOnLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddressOnLink").field("number", &self.number).finish_non_exhaustive()
    }
}

impl From<&ArtifactAddress> for AddressOnLink {
    fn from(address: &ArtifactAddress) -> Self {
        let ArtifactAddress { token, number, expires, signature } = address.clone();
        Self { token, number, expires, signature }
    }
}

impl From<AddressOnLink> for ArtifactAddress {
    fn from(address: AddressOnLink) -> Self {
        let AddressOnLink { token, number, expires, signature } = address;
        Self { token, number, expires, signature }
    }
}

/// A [`KeptArtifact`] between processes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptOnLink {
    name: String,
    mime_type: Option<String>,
    size: u64,
    hash: String,
}

impl From<KeptArtifact> for KeptOnLink {
    fn from(kept: KeptArtifact) -> Self {
        Self { name: kept.name, mime_type: kept.mime_type, size: kept.size, hash: kept.hash.to_string() }
    }
}

impl KeptOnLink {
    /// The artifact; nothing when the hash is none.
    pub(super) fn into_kept(self) -> Option<KeptArtifact> {
        let Self { name, mime_type, size, hash } = self;
        Some(KeptArtifact { name, mime_type, description: None, size, hash: hash.parse().ok()? })
    }
}

#[async_trait]
impl ArtifactSource for Switch {
    async fn addressed(&self, address: &ArtifactAddress) -> Result<Option<KeptArtifact>, Unknown> {
        tokio::select! {
            told = self.told_of(address) => told,
            () = self.plan.world.clock.sleep(BOUND) => Err(Unknown),
        }
    }

    fn file(&self, hash: &ContentHash) -> io::Result<File> {
        artifacts::file_in(&artifacts::folder(&self.plan.store.path), hash)
    }
}

impl Switch {
    /// Asks whoever holds the store, and the next one when that one goes.
    async fn told_of(&self, address: &ArtifactAddress) -> Result<Option<KeptArtifact>, Unknown> {
        let never = CancellationToken::new();
        loop {
            match self.somebody(&never).await {
                None => return Err(Unknown),
                Some(Current::Here(holder)) => {
                    return holder.addressed_artifact(address).await.map_err(|error| {
                        tracing::error!(%error, "the store failed");
                        Unknown
                    });
                }
                Some(Current::Nobody) => {}
                Some(Current::There(link)) => {
                    let Some(mut answer) = link.artifact(address).await else { continue };
                    match answer.next().await {
                        Next::Piece(Piece::Artifact(found)) => return found.map_err(|()| Unknown),
                        Next::Lost => {}
                        Next::Piece(_) | Next::Cut => return Err(Unknown),
                    }
                }
            }
        }
    }
}
