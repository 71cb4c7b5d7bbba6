//! What the engine is made of, what it is asked for and what it answers.

use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::Adapter;
use serde_json::{Map, Value};

use super::Supervisor;
use crate::artifacts::Artifacts;
use crate::domain::{
    Clock, LONGEST_CLIENT_ID, LifeFrom, Principal, Progress, ProviderName, Random, RequestName, Task, TaskError, Tool, ToolName,
    ToolResult,
};
use crate::store::{StoreError, TaskStore};

/// One account at one external system, with the code that speaks to it.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Its name in the configuration.
    pub name: ProviderName,
    /// The kind of its adapter.
    pub kind: String,
    /// Its adapter.
    pub adapter: Arc<dyn Adapter>,
    /// How it may be used.
    pub limits: ProviderLimits,
    /// What its deliveries are worth; `None` where it delivers nothing.
    pub webhook: Option<ProviderWebhook>,
}

/// What a provider's deliveries are worth (requirement J4), and how long they are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderWebhook {
    /// Whether they are believed.
    pub trust: Trust,
    /// How often a job is looked at all the same while deliveries come.
    pub safety_poll: Duration,
    /// How long a delivery is remembered, so that a repeat of it has no effect: no shorter than the provider goes on sending it.
    pub keep_for: Duration,
    /// How long a delivery waits for its job to become known.
    pub park_for: Duration,
    /// A delivery for jobs of nobody is not kept, so that its sender can be told to send it again.
    pub refuse_unknown: bool,
}

/// What a delivery does to its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trust {
    /// The provider is asked at once, and what it says then counts.
    Hint,
    /// What it says counts. Only where the delivery's scheme binds body and moment, or at a callback address.
    Payload,
}

/// How a provider may be used (requirement K1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderLimits {
    /// Calls at the same time; at least 1.
    pub concurrency: usize,
    /// Calls over time; `None` is unlimited.
    pub rate: Option<Rate>,
    /// How long one call may take.
    pub call_timeout: Duration,
}

impl Default for ProviderLimits {
    fn default() -> Self {
        Self { concurrency: 16, rate: None, call_timeout: Duration::from_secs(30) }
    }
}

/// So many calls in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many; at least 1.
    pub calls: u32,
    /// In how much time; more than nothing.
    pub per: Duration,
}

/// What the engine bounds for everybody (requirement G4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// Tasks of one principal that have not ended.
    pub max_live_tasks_per_principal: usize,
    /// Bytes of a call's arguments, as JSON.
    pub max_argument_bytes: usize,
    /// Bytes of a job's result; a larger one is cut, and says so.
    pub max_result_bytes: usize,
    /// How long a call waits for the provider's first answer before it gives the task back as it is.
    pub submit_wait: Duration,
    /// How long an ended task is kept at least, whatever its life.
    pub keep_ended: Duration,
    /// How long the address of a kept artifact works.
    pub artifact_url_ttl: Duration,
    /// How long running calls may go on at shutdown.
    pub shutdown_grace: Duration,
}

impl Default for EngineLimits {
    fn default() -> Self {
        Self {
            max_live_tasks_per_principal: 1000,
            max_argument_bytes: 256 * 1024,
            max_result_bytes: 1024 * 1024,
            submit_wait: Duration::from_secs(2),
            keep_ended: Duration::from_secs(10 * 60),
            artifact_url_ttl: Duration::from_secs(60 * 60),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// All that an engine is made of.
#[derive(Debug)]
pub struct EngineParts {
    /// Where tasks live.
    pub store: Arc<dyn TaskStore>,
    /// The providers.
    pub providers: Vec<Provider>,
    /// The tools.
    pub tools: Vec<Tool>,
    /// What is bounded.
    pub limits: EngineLimits,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Who the engine's work is a part of.
    pub supervisor: Supervisor,
    /// The gateway's own address as providers reach it, without a slash at its end; `None` where none can.
    pub public_url: Option<String>,
    /// Where files of jobs are kept; `None` where none are.
    pub artifacts: Option<Artifacts>,
}

/// The engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A tool names a provider that is not there.
    #[error("tool `{tool}` is run by provider `{provider}`, which is not configured")]
    UnknownProvider {
        /// The tool.
        tool: ToolName,
        /// What it names.
        provider: ProviderName,
    },
    /// A tool's output schema is none.
    #[error("the output schema of tool `{tool}` is no JSON Schema: {reason}")]
    OutputSchema {
        /// The tool.
        tool: ToolName,
        /// Why not.
        reason: String,
    },
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// One call of a tool, its arguments checked against the tool's schema.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who calls.
    pub owner: Principal,
    /// Which tool.
    pub tool: ToolName,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The caller's key for this wish (requirement C3).
    pub key: Option<String>,
    /// The life that the caller asks for.
    pub ttl: Option<Duration>,
    /// What the task is called beside its id, and how its life is counted.
    pub names: CallNames,
}

/// What a call says of the task that it makes, beyond the wish itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallNames {
    /// The id that the client chose; it stands for a wish of its own, so such a call joins no other's job.
    pub client_id: Option<String>,
    /// The request, to find the task by.
    pub request: Option<RequestName>,
    /// Since when the task's life is counted.
    pub life_from: LifeFrom,
}

/// What became of a call.
#[derive(Clone, Debug)]
pub enum Called {
    /// A task.
    Task(Arc<Task>),
    /// The provider refused the job: the tool's own error, no task.
    Refused(Arc<ToolResult>),
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no such tool.
    #[error("there is no such tool")]
    UnknownTool,
    /// The caller's key was used before, with other arguments.
    #[error("this idempotency key was used before with other arguments; use a new key for a new wish")]
    KeyConflict,
    /// The id that the client chose is that of another task of its.
    #[error("id already in use")]
    NameTaken,
    /// The id that the client chose is none.
    #[error(
        "a task id of your own has 1 to {LONGEST_CLIENT_ID} bytes and is not of the form that this server gives to its own,          task_ and 32 hexadecimal digits; a UUID is a good one"
    )]
    BadName,
    /// The caller has too many tasks that have not ended.
    #[error("you have {limit} unfinished tasks, which is the limit; wait for one to end or cancel one")]
    TooManyTasks {
        /// The limit.
        limit: usize,
    },
    /// The arguments are too large.
    #[error("the arguments are larger than {limit} bytes")]
    ArgumentsTooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The gateway is being stopped.
    #[error("the gateway is being stopped; try again in a moment")]
    ShuttingDown,
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// A plain call failed.
    #[error("{}", .0.message)]
    Fault(TaskError),
}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NameTaken => Self::NameTaken,
            other => Self::Store(other),
        }
    }
}

/// Why a task could not be given.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// There is no such task for this owner: unknown, someone else's and expired look the same (requirement I1).
    #[error("there is no such task; it may have expired")]
    NotFound,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a task was not removed.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// As [`AccessError::NotFound`].
    #[error("there is no such task; it may have expired")]
    NotFound,
    /// It has not ended, or its job has yet to be told to stop.
    #[error("this task's job may still run; cancel it, or wait for its end, and delete the task then")]
    Running,
    /// The operator keeps the tasks of this tool.
    #[error("tasks of this tool are kept until the end of their life; this one goes by itself")]
    Kept,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for DeleteError {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::NotFound => Self::NotFound,
            AccessError::Store(error) => Self::Store(error),
        }
    }
}

/// News of a plain call that is still running.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// A sentence for people.
    pub message: Option<String>,
    /// Real counts.
    pub progress: Option<Progress>,
}
