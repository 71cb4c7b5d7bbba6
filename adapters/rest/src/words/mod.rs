//! What users write: the words of a provider section and of a tool's `job:` section.

use schemars::JsonSchema;
use serde::Deserialize;

mod artifact;
mod auth;
mod cancel;
mod delivery;
mod find;
mod input;
mod log;
mod pace;
mod pages;
mod provider;
mod request;
mod resolve;
mod result;
mod status;
mod step;
mod submit;

pub use artifact::Artifact;
pub use auth::{Algorithm, Auth, AwsSigv4, Basic, ClientSecret, Cookie, Jwt, Login, LoginAuth, Named, Oauth2, Tls};
pub use cancel::{Cancel, Escalate, Way};
pub use delivery::{Delivery, Parse, Told};
pub use find::{Detail, Find};
pub use input::{Answer, Decline, Input};
pub use log::{Log, LogKind, OffsetWords, TailWords};
pub use pace::{ErrorRule, Meaning, Pace, Remaining, Reset, ResetUnit};
pub use pages::{NextPage, Pages, TokenPlace};
pub use provider::Provider;
pub use request::{FilePart, Follow, FollowTo, Multipart, ParseAnswer, Part, Request};
pub use resolve::Resolve;
pub use result::{Content, Failure, Link, ResultWords};
pub use status::{LateWord, ProgressWords, Rule, StateWord, Status};
pub use step::Step;
pub use submit::{Names, Outcome, OutcomeWord, ReadBack, Rejected, Submit};

/// A tool's `job:` section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Requests for what a submit or `find` has to know, for example the id of what a name stands for. They know `args` and `key`; what they
    /// give is `steps.NAME` there. With `cache` it is not asked for each time.
    #[serde(default)]
    pub lookups: Vec<Step>,
    /// Starts a job.
    pub submit: Submit,
    /// Says that the API gives the first job again when a submit with the same `key` is repeated, and starts no second one.
    /// The request must then use `key`.
    #[serde(default)]
    pub idempotent: bool,
    /// Looks for the job that an earlier submit with this `key` started.
    pub find: Option<Find>,
    /// Looks at a job.
    pub status: Status,
    /// The end of a job's log, for messages, results and failures.
    pub log: Option<Log>,
    /// What a job that ended well hands over. Without it: one sentence.
    #[serde(default)]
    pub result: ResultWords,
    /// What is said of a job that failed.
    #[serde(default)]
    pub failure: Failure,
    /// Stops a job. Without it the tool offers no cancel.
    pub cancel: Option<Cancel>,
    /// What a job that waits for a person asks, and where its answer goes.
    pub input: Option<Input>,
    /// Where a delivery differs from a status answer.
    pub delivery: Option<Told>,
}
