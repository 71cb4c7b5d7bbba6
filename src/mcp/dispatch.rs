//! One message in, one answer out: the envelope is read here, and the dialect is chosen, for every message anew.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::catalog::{BadTool, Catalog};
use super::dialects::extension;
use super::error::RpcError;
use super::frontend::{Frontend, Reply, RequestContext, Verb};
use super::jsonrpc::{self, Incoming, Request};
use super::params::Params;
use super::seal::Sealer;
use super::versions::{self, Dialect};
use crate::domain::{Clock, Random, Tool};
use crate::engine::{Engine, Supervisor};
use crate::store::StoreError;

/// What a dispatcher is made of.
#[derive(Debug)]
pub struct DispatcherParts {
    /// Who does the work.
    pub engine: Arc<Engine>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Who keeps the streams that go on after their request was read.
    pub supervisor: Supervisor,
}

/// A dispatcher cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DispatcherError {
    /// A tool cannot be shown.
    #[error(transparent)]
    Tool(#[from] BadTool),
    /// The store does not give the key that seals request state.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The front end over an engine.
#[derive(Clone, Debug)]
pub struct Dispatcher {
    shared: Arc<Shared>,
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) engine: Arc<Engine>,
    pub(crate) catalog: Catalog,
    pub(crate) sealer: Sealer,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) supervisor: Supervisor,
    /// The result of `server/discover`.
    pub(crate) discovered: Bytes,
}

impl Dispatcher {
    /// A front end over an engine; compiles the schemas of all its tools.
    ///
    /// # Errors
    /// See [`DispatcherError`].
    pub async fn new(parts: DispatcherParts) -> Result<Self, DispatcherError> {
        let DispatcherParts { engine, clock, random, supervisor } = parts;
        let tools: Vec<Arc<Tool>> = engine.tools().cloned().collect();
        let catalog = Catalog::new(&tools)?;
        let sealer = Sealer::new(engine.seal_key().await?);
        let discovered = extension::discovered();
        Ok(Self { shared: Arc::new(Shared { engine, catalog, sealer, clock, random, supervisor, discovered }) })
    }

    async fn answer(&self, context: &RequestContext, request: &Request<'_>) -> Result<Reply, RpcError> {
        let params = Params::read(request.params)?;
        match versions::dialect(&request.method, &params, context.headers.as_ref())? {
            Dialect::Extension => extension::answer(&self.shared, context, request, &params).await,
        }
    }
}

#[async_trait]
impl Frontend for Dispatcher {
    async fn handle(&self, context: RequestContext, message: Bytes) -> Reply {
        if context.verb != Verb::Post {
            return Reply::refused(405, "there are no sessions to end and no stream to open; send messages by POST");
        }
        match jsonrpc::parse(&message) {
            Err(unreadable) => Reply::error(unreadable.id, &unreadable.error),
            // No notification of a client changes anything here. `notifications/cancelled` ends a request, which is for those who
            // carry the messages; a task is cancelled by `tasks/cancel` alone (tasks extension, "Task Cancellation").
            Ok(Incoming::Notification(_)) => Reply::Accepted,
            Ok(Incoming::Request(request)) => match self.answer(&context, &request).await {
                Ok(reply) => reply,
                Err(error) => Reply::error(Some(request.id), &error),
            },
        }
    }
}
