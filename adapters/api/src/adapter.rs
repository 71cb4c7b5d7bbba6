//! The calls an adapter answers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use jobgate_webhooks::Verified;

use crate::{
    AdapterError, Artifact, ArtifactBody, Capabilities, IdempotencyKey, InputAnswers, JobRef, Observation, Operation,
    SubmitRequest, Timestamp,
};

/// Speaks to one provider: one account at one external system.
///
/// Holds configuration and a transport, never per-job memory: any call may come after a restart, or from another process
/// (clause C7). Every call ends within [`CallContext::timeout`]. Dropping a call's future must be harmless.
#[async_trait]
pub trait Adapter: fmt::Debug + Send + Sync + 'static {
    /// What this tool of the provider can do. Pure; each field has a clause for true and one for false.
    fn capabilities(&self, tool: &str) -> Capabilities;

    /// Starts one job. Where `idempotent_submit` is claimed, a repeated key gives the first job (clause C4).
    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError>;

    /// Looks for the job that an earlier submit with this key started; `None` means the provider is sure there is none. One that may have
    /// forgotten it answers with [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown).
    async fn find(&self, cx: &CallContext, key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError>;

    /// Looks at one job. Never changes it. A job that the provider does not know is `ErrorKind::NotFound` (clause C6).
    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError>;

    /// Asks the provider to stop the job. Harmless when repeated, and on a finished job (clause C5).
    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError>;

    /// Hands over what a person answered. Handing over the same answers again must not act twice (clause C13).
    async fn provide(&self, cx: &CallContext, job: &JobRef, answers: &InputAnswers) -> Result<(), AdapterError>;

    /// Begins to fetch a file that the job made ([`crate::JobOutput::artifacts`]) and gives its bytes as they arrive (clause C15). The
    /// answer begins within the timeout, and no pause in it is longer than that.
    async fn fetch(&self, cx: &CallContext, job: &JobRef, artifact: &Artifact) -> Result<ArtifactBody, AdapterError> {
        let _ = (cx, job, artifact);
        Err(AdapterError::unsupported(Operation::Fetch))
    }

    /// The jobs that a delivery tells of, by their ids, each once; none for a delivery that tells of no job (a ping, another kind of
    /// event). Pure: no network, no memory. An unreadable one is `ErrorKind::Protocol` (clause C14).
    fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        let _ = delivery;
        Err(AdapterError::unsupported(Operation::Read))
    }

    /// What a delivery says of one of its jobs: what `poll` would have said when it was sent (clause C14). `None` where it says nothing
    /// of the job's state. Pure: no network, no memory.
    fn read(&self, cx: &CallContext, job: &JobRef, delivery: &Verified<'_>) -> Result<Option<Observation>, AdapterError> {
        let _ = (cx, job, delivery);
        Err(AdapterError::unsupported(Operation::Read))
    }
}

/// What every call is told.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The configured tool that the job belongs to.
    pub tool: String,
    /// The key of the task's submit; stable over the task's life, not secret, fit for tags and log lines at the provider.
    pub key: IdempotencyKey,
    /// The call must end within this time.
    pub timeout: Duration,
    /// The arguments of the submit, for `find`, which may need them to know where to look. When the provider has accepted the job they may
    /// be gone.
    pub arguments: Arc<Map<String, Value>>,
    /// When the task was created.
    pub started_at: Timestamp,
    /// Where the provider may deliver what happens to this job: an address that nobody can guess, the same on every attempt. `None` where
    /// the provider has no webhook, or the gateway does not know its own public address. A secret of the provider's: never logged.
    pub callback_url: Option<String>,
    /// The wish to stop the job; `None` while nobody wants it stopped, and where the provider has refused.
    pub cancel: Option<CancelWish>,
}

/// A wish to stop a job, as far as the provider was told of it or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CancelWish {
    /// When it was made.
    pub requested_at: Timestamp,
    /// The job has not stopped within [`Capabilities::escalates_after`]: `cancel` is to ask in the harder way.
    pub escalated: bool,
}

/// What a successful submit gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Submitted {
    /// The job, with every handle learned so far.
    pub job: JobRef,
    /// What the answer already said of the job; `None` when the first poll shall tell. A job may be finished at once.
    pub observation: Option<Observation>,
}

impl From<JobRef> for Submitted {
    fn from(job: JobRef) -> Self {
        Self { job, observation: None }
    }
}

/// How the provider took a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// Asked; a later poll tells whether it stopped.
    Requested,
    /// The job had ended already.
    AlreadyEnded,
    /// The provider refuses to stop this job; it runs on.
    Refused,
}
