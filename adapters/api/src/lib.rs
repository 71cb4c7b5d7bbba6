//! The contract between the gateway and the code that speaks to a job system.
//!
//! Everything an adapter may know is in this crate; it is the bottom of the workspace, so an adapter cannot see MCP, the
//! store or the engine. The numbered clauses of the contract are in this crate's `README.md`; the test kit runs them.
#![doc = include_str!("../README.md")]

mod adapter;
mod artifact;
mod capability;
mod clean;
mod clock;
mod duration;
mod error;
mod handover;
mod input;
mod issue;
mod job;
mod preset;
mod random;
mod secret;
mod size;
mod spec;
mod task_token;
mod transport;

pub use adapter::{Adapter, CallContext, CancelOutcome, CancelWish, Submitted};
pub use artifact::{Artifact, ArtifactBody};
pub use capability::Capabilities;
pub use clean::{Cleaner, ERROR_CHARS, MESSAGE_CHARS};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use duration::HumanDuration;
pub use error::{AdapterError, ErrorKind, Operation, Retry};
pub use input::{InputAction, InputAnswer, InputAnswers, InputKind, InputRequest};
pub use issue::{Issue, Issues, Place, Segment};
pub use job::{IdempotencyKey, JobFailure, JobOutput, JobRef, JobState, Observation, Part, Progress, SubmitRequest};
pub use jobgate_webhooks::Verified;
pub use preset::Preset;
pub use random::{FixedRandom, OsRandom, Random};
pub use secret::{EnvAndFiles, Secret, SecretError, SecretRef, SecretSource};
pub use size::HumanBytes;
pub use spec::{AdapterFactory, AdapterSpec, CheckedAdapter, Deps, ToolWords, factory};
pub use task_token::{ApprovalWords, DeclineWords, TaskToken};
pub use transport::{Exchanged, Sent, Tap, TlsOptions, Transport, TransportLimits, parse_retry_after};
