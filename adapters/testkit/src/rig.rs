//! What the suite needs from whoever wants an adapter tested: words, cases, a provider to look into, faults.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jobgate_adapter_api::{AdapterFactory, Deps, JobRef};
use serde_json::{Map, Value};

/// A test bed for one adapter: its words and the provider it speaks to.
///
/// Every test of the suite makes its own rig, so a rig may keep state. What a rig cannot provide it declares with a reason
/// ([`Absent`]); the suite prints the reason, and refuses it where a capability that the adapter claims needs the case.
#[async_trait]
pub trait Rig: Send + Sync {
    /// The adapter's kind.
    fn factory(&self) -> Box<dyn AdapterFactory>;

    /// A right provider section, without the words that all providers share.
    fn provider(&self) -> Value;

    /// The tools; every [`Case`] names one of them.
    fn tools(&self) -> Vec<RigTool>;

    /// The world that instances are built with. Every call gives the same world.
    fn deps(&self) -> Deps;

    /// A tool and arguments that make the provider behave so. [`Scenario::RunsToEnd`], [`Scenario::Fails`] and
    /// [`Scenario::RunsLong`] are always needed.
    fn case(&self, scenario: Scenario) -> Result<Case, Absent>;

    /// Configurations that must be refused, at least one. The suite adds misspelt words of its own.
    fn bad_configs(&self) -> Vec<BadConfig>;

    /// A job that the provider never had.
    fn unknown_job(&self) -> JobRef {
        JobRef::new("no-such-job")
    }

    /// Lets this much time pass for the adapter and its provider; called between two looks at a job.
    async fn pass_time(&self, span: Duration);

    /// How many jobs the provider has really started so far. Needed where `idempotent_submit` is claimed.
    async fn jobs(&self) -> Result<usize, Absent>;

    /// How many answers of people have taken effect at the provider so far. Needed where `input` is claimed.
    async fn answers(&self) -> Result<usize, Absent>;

    /// The body of what the provider would deliver of this job as it stands now. Needed where `webhook` is claimed. Where `pushed_only` is
    /// claimed, it moves the job on as a look would.
    async fn delivery(&self, job: &JobRef) -> Result<Vec<u8>, Absent> {
        let _ = job;
        Err(Absent("this rig gives no deliveries"))
    }

    /// Whether deliveries only name their job, so that reading one says nothing: the job is then looked at.
    fn deliveries_are_hints(&self) -> bool {
        false
    }

    /// The address that a submit may hand out for deliveries of its job; needed where a submit cannot do without.
    fn callback_url(&self) -> Option<String> {
        None
    }

    /// From now on the provider meets every call with `fault`, until `None`.
    async fn inject(&self, fault: Option<Fault>) -> Result<(), Absent>;

    /// Every form in which the provider's credential must not show: itself, its base64.
    fn secret(&self) -> Result<Vec<String>, Absent>;

    /// Whether the provider has received the secret; without that the search for it would prove nothing.
    async fn saw_secret(&self) -> bool;
}

/// A tool's `job:` section.
#[derive(Clone, Debug)]
pub struct RigTool {
    /// The tool's name.
    pub name: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The section.
    pub words: Value,
}

impl RigTool {
    /// A tool whose arguments are any object.
    pub fn new(name: impl Into<String>, words: Value) -> Self {
        Self { name: name.into(), input_schema: serde_json::json!({ "type": "object" }), words }
    }

    /// With a schema for its arguments.
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }
}

/// How a job shall go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scenario {
    /// Ends well after a few looks; [`Case::expecting`] names a text of its result.
    RunsToEnd,
    /// Runs and ends badly; [`Case::expecting`] names a text of its failure.
    Fails,
    /// Runs for as long as nobody stops it.
    RunsLong,
    /// Asks a person something, and ends well once it is answered; [`Case::answering`] gives the form's content.
    WaitsForPerson,
    /// Shows a status word that the adapter does not know; [`Case::expecting`] is the word.
    UnknownWord,
}

/// A tool and arguments for one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// One of [`Rig::tools`].
    pub tool: String,
    /// What the caller sends.
    pub arguments: Map<String, Value>,
    /// A text that must occur in what comes back.
    pub expect: Option<String>,
    /// The content of an accepted form.
    pub answer: Option<Value>,
}

impl Case {
    /// A call of `tool` with `arguments`.
    ///
    /// # Panics
    /// When `arguments` is no JSON object.
    pub fn new(tool: impl Into<String>, arguments: Value) -> Self {
        let Value::Object(arguments) = arguments else { panic!("the arguments of a case are a JSON object, not {arguments}") };
        Self { tool: tool.into(), arguments, expect: None, answer: None }
    }

    /// With a text that must occur in the result, the failure or the unknown word.
    #[must_use]
    pub fn expecting(mut self, text: impl Into<String>) -> Self {
        self.expect = Some(text.into());
        self
    }

    /// With what the person fills in.
    #[must_use]
    pub fn answering(mut self, content: Value) -> Self {
        self.answer = Some(content);
        self
    }
}

/// Why a rig cannot provide something. The suite prints it; an empty reason is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absent(pub &'static str);

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What a provider may do instead of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 429, with `Retry-After` in whole seconds where given.
    RateLimited(Option<Duration>),
    /// 503.
    Unavailable,
    /// 422: understood and refused.
    Rejected,
    /// 401.
    Unauthorized,
    /// 422 with a message that repeats the request: its address, headers and body.
    Echo,
    /// The connection is cut after the request was read, before an answer.
    Cut,
    /// An answer that takes longer than any deadline of the suite.
    Slow,
    /// 200, announced as JSON, and cut off in the middle of a word.
    BadJson,
    /// 200 with an HTML page, as from a proxy that wants a sign-in.
    Html,
    /// 200 with JSON that is larger than the transport's cap.
    Oversize,
}

/// A configuration that must be refused.
#[derive(Clone, Debug)]
pub struct BadConfig {
    /// The provider section.
    pub provider: Value,
    /// The tools.
    pub tools: Vec<RigTool>,
    /// The place that an issue must name: `providers.kit.…` or `tools.NAME.job.…`. Where words do not even fit their type,
    /// the issue lies at the section, and its message must name the last step of the place.
    pub place: String,
}
