//! The words that users write.

use std::collections::BTreeMap;

use jobgate_adapter_api::{ApprovalWords, SecretRef};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A provider section: one account in one region.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The region of the state machines, for example `eu-west-1`.
    pub(crate) region: String,
    /// The account's number, twelve digits; needed where a tool names its state machine by name alone.
    pub(crate) account: Option<String>,
    /// Another endpoint than the region's own, for example `http://127.0.0.1:5601`.
    pub(crate) endpoint: Option<String>,
    /// The id of an access key. Without it the usual places are looked at in the usual order: environment, profile, web identity, container,
    /// machine.
    pub(crate) access_key_id: Option<SecretRef>,
    /// The access key itself.
    pub(crate) secret_access_key: Option<SecretRef>,
    /// The token of temporary credentials.
    pub(crate) session_token: Option<SecretRef>,
    /// The profile of the shared configuration files that is looked at, when not `AWS_PROFILE` or `default`.
    pub(crate) profile: Option<String>,
}

/// A tool's `job:` section. `adapter: mock` understands the same words.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolWords {
    /// The state machine: its name, or its ARN, which may name a version or an alias.
    pub(crate) state_machine: String,
    /// Fields of the execution's input that callers cannot change; the caller's arguments are the rest of it.
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// States that wait for a task token (`.waitForTaskToken`) until a person has answered, by their names.
    #[serde(default)]
    pub(crate) approvals: BTreeMap<String, ApprovalWords>,
    /// An express state machine: it runs within the call that starts it, for at most five minutes, and cannot be looked at or stopped.
    #[serde(default)]
    pub(crate) express: bool,
}
