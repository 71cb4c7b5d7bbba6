//! One message in, one answer out: the envelope is read here, and the dialect is chosen, for every message anew.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::catalog::{BadTool, Catalog};
use super::dialects::{extension, session};
use super::error::RpcError;
use super::frontend::{Frontend, Reply, RequestContext, Verb};
use super::jsonrpc::{self, Incoming, Notification, Request, Response};
use super::limits::Limits;
use super::live::Live;
use super::params::Params;
use super::seal::Sealer;
use super::sessions::Sessions;
use super::versions::{self, Era};
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
    /// What callers may use up.
    pub limits: Arc<Limits>,
    /// Clients, by the name that they give in `initialize` (one that ends in `*` stands for all that begin so), that never fetch the
    /// result of a failed task.
    pub failed_as_completed: Vec<String>,
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
    pub(crate) failed_as_completed: Vec<String>,
    pub(crate) sessions: Sessions,
    pub(crate) limits: Arc<Limits>,
    pub(crate) live: Live,
    /// The result of `server/discover`.
    pub(crate) discovered: Bytes,
}

impl Dispatcher {
    /// A front end over an engine; compiles the schemas of all its tools.
    ///
    /// # Errors
    /// See [`DispatcherError`].
    pub async fn new(parts: DispatcherParts) -> Result<Self, DispatcherError> {
        let DispatcherParts { engine, clock, random, supervisor, limits, failed_as_completed } = parts;
        let tools: Vec<Arc<Tool>> = engine.tools().cloned().collect();
        let catalog = Catalog::new(&tools)?;
        let sealer = Sealer::new(engine.seal_key().await?);
        let discovered = extension::discovered();
        Ok(Self {
            shared: Arc::new(Shared {
                engine,
                catalog,
                sealer,
                clock,
                random,
                supervisor,
                sessions: Sessions::default(),
                limits,
                failed_as_completed,
                live: Live::new(),
                discovered,
            }),
        })
    }

    async fn answer(&self, context: &RequestContext, request: &Request<'_>) -> Result<Reply, RpcError> {
        let params = Params::read(request.params)?;
        let tool = if request.method == "tools/call" { params.text("name").ok().flatten() } else { None };
        self.shared.limits.asked(context, &request.method, tool.as_deref())?;
        match versions::era(&params, context.headers.as_ref())? {
            Era::Stateless => extension::answer(&self.shared, context, request, &params).await,
            Era::Session => session::answer(&self.shared, context, request, &params).await,
        }
    }

    /// A client's answer to a request of ours.
    async fn answered(&self, context: &RequestContext, response: &Response<'_>) -> Result<Reply, RpcError> {
        let header = context.headers.as_ref().and_then(|headers| headers.protocol_version.one());
        match versions::named(header)? {
            Era::Stateless => Err(RpcError::invalid_request("a client sends no responses here")),
            Era::Session => session::answered(&self.shared, context, response).await,
        }
    }

    async fn notified(&self, context: &RequestContext, notification: &Notification<'_>) -> Result<Reply, RpcError> {
        let params = Params::read(notification.params)?;
        match versions::era(&params, context.headers.as_ref())? {
            // No notification of a client changes anything there. `notifications/cancelled` ends a request, which is for those who
            // carry the messages; a task is cancelled by `tasks/cancel` alone (tasks extension, "Task Cancellation").
            Era::Stateless => Ok(Reply::Accepted),
            Era::Session => session::notified(&self.shared, context, &notification.method, &params).await,
        }
    }
}

#[async_trait]
impl Frontend for Dispatcher {
    async fn handle(&self, context: RequestContext, message: Bytes) -> Reply {
        let called = self.shared.limits.called(&context);
        if context.verb != Verb::Post {
            if let Err(refusal) = called {
                return Reply::error(None, &refusal);
            }
            return session::without_message(&self.shared, &context).unwrap_or_else(|error| Reply::error(None, &error));
        }
        let parsed = jsonrpc::parse(&message);
        if let Err(refusal) = called {
            return Reply::error(jsonrpc::id(&parsed), &refusal);
        }
        match parsed {
            Err(unreadable) => Reply::error(unreadable.id, &unreadable.error),
            Ok(Incoming::Notification(notification)) => {
                // Nobody waits for an answer; what is wrong with it is for the log alone.
                self.notified(&context, &notification).await.unwrap_or_else(|error| {
                    tracing::debug!(method = %notification.method, ?error, "a notification was not understood");
                    if error.http() == 404 { Reply::error(None, &error) } else { Reply::Accepted }
                })
            }
            Ok(Incoming::Response(response)) => match self.answered(&context, &response).await {
                Ok(reply) => reply,
                // An answer is not answered, so what is wrong with it belongs to no request of the client's.
                Err(error) => Reply::error(None, &error),
            },
            Ok(Incoming::Request(request)) => match self.answer(&context, &request).await {
                Ok(reply) => reply,
                Err(error) => Reply::error(Some(request.id), &error),
            },
        }
    }
}
