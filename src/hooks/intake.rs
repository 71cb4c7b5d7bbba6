//! What the receiver asks of the engine, as a trait, so that tests can stand in for it.

use std::fmt;

use async_trait::async_trait;
use jobgate_webhooks::AtAddress;

use crate::engine::{Delivery, Engine, IngestError, Ingested};

/// Takes what was verified.
#[async_trait]
pub trait Intake: fmt::Debug + Send + Sync + 'static {
    /// What a token of a callback address was made for; nothing for one that is not the engine's.
    fn open_callback(&self, token: &str) -> Option<AtAddress>;

    /// Records a delivery together with what it causes. May be dropped at any point without harm.
    async fn ingest(&self, delivery: Delivery<'_>) -> Result<Ingested, IngestError>;
}

#[async_trait]
impl Intake for Engine {
    fn open_callback(&self, token: &str) -> Option<AtAddress> {
        Self::open_callback(self, token)
    }

    async fn ingest(&self, delivery: Delivery<'_>) -> Result<Ingested, IngestError> {
        Self::ingest(self, delivery).await
    }
}
