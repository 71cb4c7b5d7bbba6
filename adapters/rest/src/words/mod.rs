//! What users write: the words of a provider section and of a tool's `job:` section.

use std::collections::BTreeMap;

use jobgate_adapter_api::{HumanDuration, SecretRef};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::codes::Codes;

mod delivery;

pub use delivery::{Delivery, Parse, Told};

/// A provider section of `adapter: rest`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The API's address, for example `https://api.example.com/v1`. Paths of requests are put after it.
    pub base_url: String,
    /// Further addresses by name, for APIs that live in several places; a request names one with `base`. The credential is
    /// sent to every one of them, and nowhere else.
    #[serde(default)]
    pub bases: BTreeMap<String, String>,
    /// How calls prove who they are from. Without it they carry no credential.
    pub auth: Option<Auth>,
    /// Headers of every request. No credentials: they belong under `auth`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The longest that one request may take; the gateway's own limit holds as well.
    #[serde(default = "thirty_seconds")]
    pub timeout: HumanDuration,
    /// Bytes of the largest answer that is read. The gateway's own limit holds as well.
    pub max_body_bytes: Option<usize>,
    /// A template for the provider's own sentence in an answer that refuses something, for example
    /// `{{ body.error.message }}`. Addresses, long tokens and credentials are taken out of it before anyone sees it.
    pub error_message: Option<String>,
    /// How the provider's deliveries are read. Without it a delivery means nothing to the tools.
    pub delivery: Option<Delivery>,
}

fn thirty_seconds() -> HumanDuration {
    HumanDuration::from_secs(30)
}

/// How calls prove who they are from. The credential itself is named, `env:NAME` or `file:PATH`, never written.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// `Authorization: Bearer …`
    Bearer(SecretRef),
    /// HTTP Basic (RFC 7617).
    Basic(Basic),
    /// A header of the API's own.
    Header(Named),
    /// A query parameter. Many proxies log addresses: prefer a header where the API has one.
    Query(Named),
}

/// HTTP Basic.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Basic {
    /// The user; may be empty where the API wants the token alone.
    #[serde(default)]
    pub username: String,
    /// The password.
    pub password: SecretRef,
}

/// A credential in a place of the API's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The header's or parameter's name.
    pub name: String,
    /// Its value.
    pub value: SecretRef,
    /// Text before the value, for example `Token `.
    #[serde(default)]
    pub prefix: String,
}

/// A tool's `job:` section.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
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

/// One HTTP request. Texts are templates; a text that is exactly one `{{ expression }}` keeps the type of its value.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`. Without it: `POST` where there is a body or form, else `GET`.
    pub method: Option<String>,
    /// The path after the base address, with a slash first. Values that are put in are percent-escaped, so an id can never
    /// leave its place; `| safe` leaves a value as it is.
    pub path: Option<String>,
    /// Instead of `path`: a whole address, for example a link that the API gave. It must lie at one of the provider's
    /// addresses.
    pub url: Option<String>,
    /// One of the provider's `bases`. Without it: `base_url`.
    pub base: Option<String>,
    /// Query parameters. A list gives the parameter several times.
    #[serde(default)]
    pub query: BTreeMap<String, Value>,
    /// Headers of this request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The JSON body: any tree whose texts are templates.
    pub body: Option<Value>,
    /// Instead of `body`: the fields of a form (`application/x-www-form-urlencoded`).
    pub form: Option<BTreeMap<String, Value>>,
}

/// Starts a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The request. It knows `args`, `key` and `callback.url`: the address where the provider may deliver what happens to this job.
    pub request: Request,
    /// Status codes that mean "taken". Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Where the answer names the job.
    pub job: Names,
    /// When an answer, whatever its code, means "no room now, and nothing was started": an expression without braces, for example
    /// `code == 409`. The submit is made again later, for as long as the tool's `submit_budget`. 429 and 503 mean that anyway.
    pub busy: Option<String>,
    /// When an answer, whatever its code, means "refused"; the first that holds decides.
    #[serde(default)]
    pub rejected: Vec<Rejected>,
}

/// Where an answer names the job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// The job's id, for example `{{ body.id }}` or `{{ headers.location | last_segment }}`.
    pub id: String,
    /// Further values that later requests need, by name; there they are `job.handles.NAME`.
    #[serde(default)]
    pub handles: BTreeMap<String, String>,
}

/// An answer that refuses a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rejected {
    /// The condition: an expression without braces, for example `code == 409`.
    pub when: String,
    /// What the caller is told. Without it: the provider's `error_message`.
    pub message: Option<String>,
}

/// Looks for a job by the key of its submit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Find {
    /// The request. It knows `key`.
    pub request: Request,
    /// Status codes of an answer that can be read. Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "there is none". Without it: 404.
    #[serde(default = "not_found")]
    pub not_found: Codes,
    /// Where the answer names the job. An id that is undefined, null or empty means that there is none.
    pub job: Names,
}

fn not_found() -> Codes {
    Codes::exactly([404])
}

/// Looks at a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The request. It knows `job` and `key`. Without it the job is never looked at, and its deliveries alone tell of it.
    pub request: Option<Request>,
    /// Status codes whose answers the rules read. Without it: 2xx. An answer with another code, or with a code beyond 2xx
    /// that no rule matches, is a failed look and means what HTTP says.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "there is no such job". Without it: 404 and 410.
    #[serde(default = "not_found_or_gone")]
    pub not_found: Codes,
    /// The provider's status word, for example `{{ body.status }}`; rules compare it with `is`. A word that no rule maps is
    /// shown as it is, and the job counts as running.
    pub word: Option<String>,
    /// From answer to state; the first rule that matches decides.
    pub rules: Vec<Rule>,
    /// A short sentence or stage name for people, where the answer has one.
    pub message: Option<String>,
    /// Counts, where the answer has them.
    pub progress: Option<ProgressWords>,
    /// Further values that this answer teaches, by name; they become `job.handles.NAME` of later requests. One that the
    /// answer lacks is left out.
    #[serde(default)]
    pub handles: BTreeMap<String, String>,
}

fn not_found_or_gone() -> Codes {
    Codes::exactly([404, 410])
}

/// One line from answer to state. At least one of `when` and `is`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A condition: an expression without braces, for example `body.done and body.error is defined`. It knows `code`,
    /// `headers`, `body`, `text`, `word`, `job`, `key`. Where a value it asks for is missing, it does not hold.
    pub when: Option<String>,
    /// Status words that this rule is for.
    #[serde(default)]
    pub is: Vec<String>,
    /// The state.
    pub state: StateWord,
    /// A sentence for people in this state, before `message` of the status.
    pub message: Option<String>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateWord {
    /// Accepted, not yet running.
    Queued,
    /// Running.
    Running,
    /// Waiting for a person; needs `input`.
    InputRequired,
    /// Ended well.
    Succeeded,
    /// Ran and ended badly.
    Failed,
    /// Was stopped.
    Cancelled,
    /// The provider had it and has it no longer.
    Gone,
    /// The provider does not know it, though the answer's code does not say so.
    NotFound,
}

/// Counts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressWords {
    /// Done so far: a number, or a text that is one.
    pub done: String,
    /// Of how many.
    pub total: Option<String>,
}

/// What a job that ended well hands over.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultWords {
    /// A second request, where the status answer does not hold the result. `body` is then its answer, and the status answer is
    /// `status` (`status.body`, `status.headers`, `status.code`).
    pub request: Option<Request>,
    /// Text for people and models.
    pub text: Option<String>,
    /// The result as data: any tree whose texts are templates, most often `"{{ body.result }}"`.
    pub data: Option<Value>,
    /// Artifacts by reference.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// An artifact by reference.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Where it is. A link whose address is undefined, null or empty is left out.
    pub uri: String,
    /// A short name.
    pub name: String,
    /// Its media type, for example `video/mp4`.
    pub mime_type: Option<String>,
    /// One sentence.
    pub description: Option<String>,
}

/// What is said of a job that failed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// A second request, as in `result`.
    pub request: Option<Request>,
    /// Why it failed. Cleaned like every sentence of a provider. Without it, or where the answer lacks it: one sentence.
    pub message: Option<String>,
    /// The provider's error word.
    pub code: Option<String>,
    /// What it left behind all the same.
    pub data: Option<Value>,
}

/// Stops a job.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The request. It knows `job` and `key`.
    pub request: Request,
    /// Status codes that mean "asked to stop". Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "it has ended already".
    #[serde(default = "Codes::none")]
    pub already_ended: Codes,
    /// Status codes that mean "this job cannot be stopped".
    #[serde(default = "Codes::none")]
    pub refused: Codes,
}

/// What a job that waits for a person asks, and where the answer goes. The words read the status answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Names the question; the same question always has the same key.
    pub key: String,
    /// What the person reads.
    pub message: String,
    /// The form: a JSON Schema of type `object` with primitive properties.
    pub form: Option<Value>,
    /// Instead of `form`: a page of the provider's own.
    pub page: Option<String>,
    /// Hands over an accepted form.
    pub accept: Option<Answer>,
    /// Hands over a no. Without it a declined question is an error that says so.
    pub decline: Option<Answer>,
}

/// Hands an answer over. Before it the job is looked at, and nothing is sent when it no longer waits for this answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The request. It knows `job`, `key` and `answer` (`answer.key`, `answer.content`).
    pub request: Request,
    /// Status codes that mean "taken". Without it: 2xx.
    #[serde(default)]
    pub accept: Codes,
    /// Status codes that mean "it was answered before".
    #[serde(default = "Codes::none")]
    pub already_answered: Codes,
}
