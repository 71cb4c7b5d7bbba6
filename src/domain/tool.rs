//! A configured operation that callers see, and the policy of its tasks.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Wraps a name that the configuration has checked.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The name's text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// A tool's name.
    ToolName
}
name! {
    /// A provider's name.
    ProviderName
}

/// Names of the gateway's own tools, which clients without tasks are shown beside the configured ones; no tool may have them.
pub const OWN_TOOLS: [&str; 3] = ["job_wait", "job_result", "job_cancel"];

/// A tool as callers see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name, unique in the configuration.
    pub name: ToolName,
    /// What people see in a list.
    pub title: Option<String>,
    /// What a model reads.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments; its root has `type: object`.
    pub input_schema: Value,
    /// Arguments that the operator has fixed. `input_schema` does not show them.
    pub fixed: Map<String, Value>,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Value>,
    /// MCP tool annotations (`readOnlyHint`, ...), handed on as they are.
    pub annotations: Option<Value>,
    /// Who runs its jobs.
    pub provider: ProviderName,
    /// The policy of its tasks.
    pub policy: ToolPolicy,
}

impl Tool {
    /// What the provider is sent of a call: the caller's arguments, and those that are fixed whatever the caller says.
    #[must_use]
    pub fn complete(&self, mut arguments: Map<String, Value>) -> Map<String, Value> {
        arguments.extend(self.fixed.iter().map(|(name, value)| (name.clone(), value.clone())));
        arguments
    }
}

/// Whether a call becomes a task (requirement C5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskMode {
    /// Always a plain call: for what is done in a moment.
    Never,
    /// A task for clients that can hold one, a blocking call for others.
    Optional,
    /// Always a task; a client without tasks is served by the tool's [`Fallback`], which refuses it unless the operator says otherwise.
    Required,
}

/// What a call gets that cannot get a task, because its client knows none or did not ask for one (requirement A5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The call blocks for at most the tool's `wait`; a job that takes longer leaves a ticket.
    Wait,
    /// A ticket at once.
    Ticket,
    /// An error that says what is missing.
    Reject,
}

/// Whether a call joins a job that another call has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Only by the same idempotency key.
    Key,
    /// Also when it comes from the same principal with the same arguments while the job runs.
    SameArguments,
}

/// How a tool's tasks are kept, watched and ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPolicy {
    /// Whether a call becomes a task.
    pub mode: TaskMode,
    /// What a call gets that cannot get a task.
    pub fallback: Fallback,
    /// Whether a repeated call joins the running job.
    pub join: Join,
    /// Life of a task from its creation, unless the caller asks for less or more; `None` is unlimited.
    pub ttl: Option<Duration>,
    /// The longest life a caller may ask for; `None` is unlimited.
    pub max_ttl: Option<Duration>,
    /// What happens to a job that outlives its task's life.
    pub on_expiry: ExpiryPolicy,
    /// A job that has not ended by then is cancelled and its task fails (requirement F4).
    pub deadline: Duration,
    /// How long an unreachable provider is tried before a submit is given up.
    pub submit_budget: Duration,
    /// A provider that says nothing useful for this long makes the task fail as stuck (requirement B9).
    pub silence_limit: Duration,
    /// A job that the provider does not know is believed to be gone after this long (requirement K3).
    pub gone_grace: Duration,
    /// How often the provider is asked.
    pub poll: PollPolicy,
    /// How long a question may stay open, and what then (requirement E5).
    pub input_timeout: Option<Duration>,
    /// What decline and cancel mean (requirement E4).
    pub on_decline: InputPolicy,
    /// What a cancel means where the provider has none (requirement F3).
    pub on_no_cancel: NoCancelPolicy,
    /// Whether its owner may delete a task that has ended, in the dialects that have a word for it (requirement G3).
    pub deletable: bool,
    /// How long a plain call may block.
    pub wait: Duration,
    /// The questions that are asked before the job starts, one after the other.
    pub confirm: Vec<Confirm>,
    /// What a client has to declare to be served; others are refused with the name of what is missing.
    pub requires: Vec<ClientCapability>,
}

impl Default for ToolPolicy {
    fn default() -> Self {
        const MINUTE: Duration = Duration::from_secs(60);
        Self {
            mode: TaskMode::Optional,
            fallback: Fallback::Wait,
            join: Join::Key,
            ttl: Some(24 * 60 * MINUTE),
            max_ttl: Some(7 * 24 * 60 * MINUTE),
            on_expiry: ExpiryPolicy::Keep,
            deadline: 24 * 60 * MINUTE,
            submit_budget: 10 * MINUTE,
            silence_limit: 60 * MINUTE,
            gone_grace: MINUTE / 2,
            poll: PollPolicy::default(),
            input_timeout: None,
            on_decline: InputPolicy::Provide,
            on_no_cancel: NoCancelPolicy::RunOn,
            deletable: true,
            wait: Duration::from_secs(45),
            confirm: Vec::new(),
            requires: Vec::new(),
        }
    }
}

/// How often the provider is asked: `initial`, then `factor` times longer each time nothing changed, at most `max`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PollPolicy {
    /// The first interval, and the one after a visible change.
    pub initial: Duration,
    /// The longest interval.
    pub max: Duration,
    /// Growth, at least 1.
    pub factor: f64,
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self { initial: Duration::from_secs(1), max: Duration::from_secs(30), factor: 1.5 }
    }
}

/// What happens to a job that outlives its task's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryPolicy {
    /// The life is extended until the job has ended.
    Keep,
    /// The job is cancelled.
    Cancel,
    /// The task ends; the job runs on unwatched.
    Detach,
}

/// What decline and cancel of a question mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputPolicy {
    /// The provider is told, and decides.
    Provide,
    /// The job is cancelled.
    CancelJob,
}

/// What a cancel means where the provider has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoCancelPolicy {
    /// The task goes on until the job ends, and says so.
    RunOn,
    /// The task is cancelled, the job runs on unwatched, and the task says so.
    Abandon,
}

/// A question that is asked before the job starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    /// Names the question among the tool's questions.
    pub key: String,
    /// What the person reads; a plain sentence.
    pub message: String,
    /// The form: a flat JSON Schema of type `object`.
    pub schema: Value,
    /// What the answer is for.
    pub purpose: ConfirmPurpose,
    /// How long an answer is waited for.
    pub expires_after: Duration,
}

/// What the answer to a question before the job is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfirmPurpose {
    /// The person lets the job start or not; the answer goes no further.
    Approve,
    /// The form's fields become arguments of the call. Not asked where the arguments hold its required fields already.
    Fill,
}

/// Something that a client may be able to do for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientCapability {
    /// Show a form or a page to a person.
    Elicitation,
    /// Ask a model.
    Sampling,
    /// List the folders that it works in.
    Roots,
}

impl ClientCapability {
    /// The protocol's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }
}
