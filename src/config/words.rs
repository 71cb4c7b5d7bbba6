//! The words of a configuration, as they are written. `check` turns them into meaning; the doc comments are the descriptions that
//! `jobgate schema` prints.

use jobgate_adapter_api::HumanDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::webhook::WebhookWords;

/// Where and how callers reach the gateway over HTTP.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Server")]
pub(super) struct ServerWords {
    /// Address and port to listen on. Default: 127.0.0.1:8080. Port 0 takes any free port.
    #[schemars(extend("examples" = ["127.0.0.1:8080"]))]
    pub(super) listen: Option<String>,
    /// Where providers reach the gateway: the beginning of the addresses that they deliver to. Default: it is not known, and no
    /// provider can be given an address.
    #[schemars(extend("examples" = ["https://gateway.example.com"]))]
    pub(super) public_url: Option<String>,
    /// Names beside the loopback ones under which the gateway is reached, with or without a port; `*` behind a proxy that checks
    /// them. Default: none.
    #[schemars(extend("examples" = [["gateway.example.com"]]))]
    pub(super) allowed_hosts: Option<Vec<String>>,
    /// Web pages beside those of this machine that may call the gateway. Default: none.
    #[schemars(extend("examples" = [["https://app.example.com"]]))]
    pub(super) allowed_origins: Option<Vec<String>>,
    /// Largest request body, in bytes. Default: 4194304.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub(super) max_body_bytes: Option<usize>,
    /// Connections at the same time; an open stream is one and costs about 20 KiB. More of them wait until one ends. Fewer where the
    /// system gives the process fewer open files (`ulimit -n`). Default: 16000.
    #[schemars(range(min = 1))]
    pub(super) max_connections: Option<usize>,
    /// How long a request may take to arrive. Default: 60s.
    pub(super) request_timeout: Option<HumanDuration>,
    /// How long work in progress may take to finish after the signal to stop. Default: 10s.
    pub(super) shutdown_grace: Option<HumanDuration>,
    /// Allows an address that other machines can reach without authentication: everyone who can connect may use every tool and read
    /// every task whose id they know. Needless with `auth: { tokens: ... }`. Default: false.
    pub(super) allow_public: Option<bool>,
    /// Proxies whose `X-Forwarded-For` is believed: addresses or networks. Of anyone else it is not read. Default: none.
    #[schemars(extend("examples" = [["127.0.0.1", "10.0.0.0/8"]]))]
    pub(super) trusted_proxies: Option<Vec<String>>,
    /// Clients of 2025-11-25, by the name that they give in `initialize` (`*` at the end stands for the rest), that never fetch the
    /// result of a failed task: a job that ran and failed is shown to them as a completed task whose result is an error. Default:
    /// none; the protocol calls such a task failed.
    #[schemars(extend("examples" = [["mcpc", "my-editor*"]]))]
    pub(super) failed_as_completed: Option<Vec<String>>,
}

/// The words of every provider section; its adapter adds its own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(super) struct ProviderWords {
    /// Which kind of job API this is.
    #[expect(
        dead_code,
        reason = "the kind is read before the section is, to know which words it may have; here it is described"
    )]
    pub(super) adapter: String,
    /// Calls to the provider at the same time. Default: 16.
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) concurrency: Option<usize>,
    /// At most so many calls in a span of time. Default: no limit.
    pub(super) rate: Option<RateWords>,
    /// Longest time that one call to the provider may take. Default: 30s.
    pub(super) call_timeout: Option<HumanDuration>,
    /// Deliveries of the provider that tell of its jobs. Default: none are taken, and jobs are looked at alone.
    pub(super) webhook: Option<WebhookWords>,
}

/// So many calls in a span of time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rate", extend("examples" = [{"calls": 50, "per": "1m"}]))]
pub(super) struct RateWords {
    /// How many calls.
    #[schemars(range(min = 1))]
    pub(super) calls: u32,
    /// In which span of time.
    pub(super) per: HumanDuration,
}

/// An operation that callers see.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tool")]
pub(super) struct ToolWords {
    /// The provider that runs its jobs: a name under `providers`.
    #[schemars(extend("examples" = ["render"]))]
    pub(super) provider: String,
    /// A ready tool of the provider's kind: what this section does not say is as there. Default: the ready tool of this tool's own name, if
    /// there is one.
    #[serde(rename = "use")]
    #[schemars(extend("examples" = ["prediction"]))]
    #[expect(dead_code, reason = "the section is filled in before it is read; here the word is described")]
    pub(super) preset: Option<String>,
    /// Arguments with values that callers cannot choose: always sent, and not shown to callers. Default: none.
    #[serde(default)]
    #[schemars(schema_with = "mapping", extend("examples" = [{"model": "acme/painter"}]))]
    pub(super) with: Map<String, Value>,
    /// What people see in a list of tools.
    #[schemars(extend("examples" = ["Render a video"]))]
    pub(super) title: Option<String>,
    /// What a model reads to decide on a call: what it does, how long it takes, what comes back. Needed where no ready tool says it.
    #[schemars(extend("examples" = ["Renders a video from a scene file; takes minutes; gives a link."]))]
    pub(super) description: String,
    /// JSON Schema (2020-12) of the arguments; `type: object` at its root. Default: no arguments.
    #[serde(default)]
    #[schemars(schema_with = "mapping", extend("examples" = [{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}]))]
    pub(super) input: Option<Value>,
    /// JSON Schema (2020-12) of the structured result; `type: object` at its root. Default: none is promised.
    #[serde(default)]
    #[schemars(schema_with = "mapping", extend("examples" = [{"type": "object", "properties": {"url": {"type": "string"}}}]))]
    pub(super) output: Option<Value>,
    /// Hints for clients, handed on as they are.
    pub(super) annotations: Option<AnnotationWords>,
    /// How its tasks are kept, watched and ended.
    #[serde(default)]
    pub(super) task: TaskWords,
    /// A question that is asked before the job starts, or a list of them, asked one after the other. Default: none.
    pub(super) confirm: Option<ConfirmList>,
    /// What a client has to declare to be served; others are refused with the name of what is missing. Default: nothing.
    #[serde(default)]
    #[schemars(extend("examples" = [["elicitation"]]))]
    pub(super) requires: Vec<CapabilityWord>,
    /// What its adapter needs to know of a job of this tool.
    #[serde(default)]
    #[schemars(schema_with = "mapping")]
    #[expect(dead_code, reason = "the adapter reads the section, by its own words; here it is described")]
    pub(super) job: Option<Value>,
}

/// Hints for clients, handed on as they are; the meaning is the protocol's (MCP 2026-07-28, tool annotations).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
#[schemars(rename = "Annotations", extend("examples" = [{"readOnlyHint": true}]))]
pub(super) struct AnnotationWords {
    /// A title for people.
    pub(super) title: Option<String>,
    /// The tool changes nothing.
    pub(super) read_only_hint: Option<bool>,
    /// The tool may destroy something.
    pub(super) destructive_hint: Option<bool>,
    /// A repeated call with the same arguments changes nothing more.
    pub(super) idempotent_hint: Option<bool>,
    /// The tool reaches out into the world beyond its own data.
    pub(super) open_world_hint: Option<bool>,
}

impl AnnotationWords {
    /// As the protocol writes them.
    pub(super) fn into_value(self) -> Value {
        let words = [
            ("title", self.title.map(Value::from)),
            ("readOnlyHint", self.read_only_hint.map(Value::from)),
            ("destructiveHint", self.destructive_hint.map(Value::from)),
            ("idempotentHint", self.idempotent_hint.map(Value::from)),
            ("openWorldHint", self.open_world_hint.map(Value::from)),
        ];
        Value::Object(words.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
    }
}

/// How a tool's tasks are kept, watched and ended.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Task")]
pub(super) struct TaskWords {
    /// Whether a call becomes a task. Default: optional.
    pub(super) mode: Option<ModeWord>,
    /// Life of a task from its creation, unless the caller asks for another. Default: 24h.
    pub(super) ttl: Option<Span>,
    /// The longest life that a caller may ask for. Default: 7d, or `ttl` where that is longer.
    pub(super) max_ttl: Option<Span>,
    /// What happens to a job that outlives its task. Default: keep.
    pub(super) on_expiry: Option<ExpiryWord>,
    /// A job that has not ended after this time is cancelled, and its task fails. Default: 24h.
    pub(super) deadline: Option<HumanDuration>,
    /// How long a provider that is out of reach is tried before the call is given up. Default: 10m.
    pub(super) submit_budget: Option<HumanDuration>,
    /// A provider that says nothing useful for this long makes the task fail as stuck. Default: 1h.
    pub(super) silence_limit: Option<HumanDuration>,
    /// A job that the provider does not know is believed to be gone after this time. Default: 30s.
    pub(super) gone_grace: Option<HumanDuration>,
    /// How often the provider is asked.
    pub(super) poll: PollWords,
    /// How long a question of the job may stay open before the task fails and the job is cancelled. Default: unlimited.
    pub(super) input_timeout: Option<Span>,
    /// What it means when a person declines or closes a question. Default: provide.
    pub(super) on_decline: Option<DeclineWord>,
    /// What a cancel means where the provider has none. Default: run_on.
    pub(super) on_no_cancel: Option<NoCancelWord>,
    /// Whether a caller may delete its ended tasks with `tasks/delete`; `false` keeps them for their whole life. Default: true.
    pub(super) deletable: Option<bool>,
    /// How long a plain call, of a client without tasks, may block. Many clients give up after 60s. Default: 45s.
    pub(super) wait: Option<HumanDuration>,
    /// What a call gets whose client knows no tasks, or did not ask for one. Default: wait; with `mode: required`, reject.
    pub(super) fallback: Option<FallbackWord>,
    /// Whether a repeated call joins the job that an earlier one started. Default: key.
    pub(super) join: Option<JoinWord>,
}

/// How often the provider is asked: `initial`, then `factor` times longer each time nothing changed, at most `max`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Poll", extend("examples" = [{"initial": "1s", "max": "30s"}]))]
pub(super) struct PollWords {
    /// The first interval, and the one after each visible change; at least 50ms. Default: 1s.
    pub(super) initial: Option<HumanDuration>,
    /// The longest interval. Default: 30s, or `initial` where that is longer.
    pub(super) max: Option<HumanDuration>,
    /// Growth of the interval. Default: 1.5.
    #[schemars(range(min = 1, max = 10))]
    pub(super) factor: Option<f64>,
}

/// One question or several.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Confirm", extend("examples" = [{"message": "Really deploy?"}]))]
pub(super) enum ConfirmList {
    One(ConfirmWords),
    Several(Vec<ConfirmWords>),
}

/// A question that is asked before the job starts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Question")]
pub(super) struct ConfirmWords {
    /// Names the question among the tool's questions. Default: `confirm`, then `confirm_2` and so on.
    #[schemars(regex(pattern = "^[a-zA-Z0-9_-]{1,64}$"), extend("examples" = ["approval"]))]
    pub(super) key: Option<String>,
    /// What the person reads.
    #[schemars(length(min = 1), extend("examples" = ["Really deploy to production?"]))]
    pub(super) message: String,
    /// The form to fill in: a JSON Schema of type `object` whose properties are plain values. Default: yes or no.
    #[serde(default)]
    #[schemars(schema_with = "mapping", extend("examples" = [{"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}]))]
    pub(super) form: Option<Value>,
    /// What the answer is for. Default: approve.
    pub(super) purpose: Option<PurposeWord>,
    /// How long the answer is waited for. Default: 10m.
    pub(super) expires_after: Option<HumanDuration>,
}

/// What the answer to a question before the job is for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PurposeWord {
    /// The person lets the job start or not; the answer goes no further.
    Approve,
    /// The form's fields become arguments of the call. Not asked where the arguments hold its required fields already.
    Fill,
}

/// Something that a client may be able to do for a server.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum CapabilityWord {
    /// Show a form or a page to a person.
    Elicitation,
    /// Ask a model.
    Sampling,
    /// List the folders that it works in.
    Roots,
}

/// Whether a call becomes a task.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModeWord {
    /// Always a plain call: for what is done in a moment.
    Never,
    /// A task for clients that can hold one, a blocking call for others.
    Optional,
    /// Always a task; a client without tasks gets what `fallback` says: unless told otherwise it is refused.
    Required,
}

/// What a call gets whose client knows no tasks, or did not ask for one.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FallbackWord {
    /// The call blocks, at most for `wait`; a job that takes longer leaves a ticket, which `job_wait` and `job_result` redeem.
    Wait,
    /// A ticket at once.
    Ticket,
    /// An error that says what the client lacks.
    Reject,
}

/// Whether a repeated call joins the job that an earlier one started.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum JoinWord {
    /// Only by the same idempotency key.
    Key,
    /// Also by the same arguments from the same caller, while the job runs: for tools of which nobody wants two jobs at once.
    SameArguments,
}

/// What happens to a job that outlives its task.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExpiryWord {
    /// The task lives on until the job has ended.
    Keep,
    /// The job is cancelled.
    Cancel,
    /// The task goes; the job runs on unwatched.
    Detach,
}

/// What it means when a person declines or closes a question.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeclineWord {
    /// The provider is told, and decides.
    Provide,
    /// The job is cancelled.
    CancelJob,
}

/// What a cancel means where the provider has none.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum NoCancelWord {
    /// The task goes on until the job ends, and says so.
    RunOn,
    /// The task is cancelled, the job runs on unwatched, and the task says so.
    Abandon,
}

/// A span of time, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Of(HumanDuration),
    Unlimited,
}

impl Span {
    pub(super) fn get(self) -> Option<std::time::Duration> {
        match self {
            Self::Of(span) => Some(span.get()),
            Self::Unlimited => None,
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "unlimited" => Ok(Self::Unlimited),
            text => text.parse().map(Self::Of).map_err(serde::de::Error::custom),
        }
    }
}

impl JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DurationOrUnlimited".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A whole number and a unit (ms, s, m, h or d), or `unlimited`.",
            "pattern": "^([0-9]+(ms|s|m|h|d)|unlimited)$",
            "examples": ["24h", "unlimited"],
        })
    }
}

/// A mapping that is looked into later, by whoever knows its words.
fn mapping(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}
