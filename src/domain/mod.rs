//! What a task is and how it may change. Pure: no input or output, no clock, no serialisation.

mod cancel;
mod event;
mod id;
mod keep;
mod limits;
mod names;
mod observe;
mod order;
mod outcome;
mod principal;
pub mod schedule;
mod task;
mod token;
mod tool;
mod transition;

pub use event::{Cause, Note, TaskEvent};
pub use id::{InvalidTaskId, TaskId};
pub use jobgate_adapter_api::{
    Artifact, ArtifactBody, CancelOutcome, Clock, ErrorKind, IdempotencyKey, InputAction, InputAnswer, InputAnswers, InputKind,
    InputRequest, JobFailure, JobOutput, JobRef, JobState, ManualClock, Observation, Part, Progress, Random, SystemClock,
    Timestamp,
};
pub use keep::{ContentHash, InvalidContentHash, Keeping, KeptArtifact, Settled};
pub use limits::{CallerLimits, Quota};
pub use names::{LONGEST_CLIENT_ID, LifeFrom, Names, RequestName, is_client_id};
pub use outcome::{Category, Fault, Outcome, TaskError, ToolResult, Troubles};
pub use principal::{Caller, Principal, Scope, ToolGrant, stands_for};
pub use task::{
    CallerKey, CancelProgress, Cancellation, Escalation, InputProgress, InputSlot, NewTask, Revision, Status, Task, TaskState,
};
pub use token::{InvalidTokenHash, TOKEN_PREFIX, TokenHash, mint_token};
pub use tool::{
    ClientCapability, Confirm, ConfirmPurpose, ExpiryPolicy, Fallback, InputPolicy, Join, NoCancelPolicy, OWN_TOOLS, PollPolicy,
    ProviderName, TaskMode, Tool, ToolName, ToolPolicy,
};
pub use transition::IllegalTransition;
