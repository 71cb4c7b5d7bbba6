//! The words of one HTTP request.

use std::collections::BTreeMap;

use jobgate_adapter_api::HumanDuration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

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
    /// Instead of `body`: the fields of a form (`application/x-www-form-urlencoded`). A map in it becomes `name[key]=value`, a list
    /// gives the field several times.
    pub form: Option<BTreeMap<String, Value>>,
    /// Instead of `body`: the parts of a `multipart/form-data` body (RFC 7578), or an expression that gives a map of them.
    pub multipart: Option<Multipart>,
    /// Instead of `body`: a text, sent as it is. Its type is `text/plain` unless `content_type` says otherwise.
    pub raw: Option<String>,
    /// The type of the body, in the place of the usual one, for example `application/merge-patch+json`.
    pub content_type: Option<String>,
    /// The longest that this request may take, in the place of the provider's `timeout`: for one that blocks until something happens. The
    /// gateway's own limit holds as well.
    pub timeout: Option<HumanDuration>,
    /// What `body` is of its answer.
    #[serde(default)]
    pub parse: ParseAnswer,
    /// Whether redirects are followed, three at most: for `GET` alone, and without credentials outside of the provider's addresses.
    #[serde(default)]
    pub follow: Follow,
}

/// Where redirects are followed to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Follow {
    /// `true`: to the provider's own addresses, and by https to any public one.
    Anywhere(bool),
    /// To the provider's own addresses, and to some others.
    To(FollowTo),
}

impl Default for Follow {
    fn default() -> Self {
        Self::Anywhere(false)
    }
}

/// Which addresses redirects are followed to, beside the provider's own.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowTo {
    /// `https://files.example.com`, or `https://*.example.com` for all hosts beneath. One that is written out may lie in a network of the
    /// gateway's own.
    pub origins: Vec<String>,
}

/// The parts of a `multipart/form-data` body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Multipart {
    /// Each by its name.
    Parts(BTreeMap<String, Part>),
    /// A map, a part for each of its fields, for example `{{ args.inputs | default({}) }}`. Lists and maps in it are sent as JSON.
    Map(String),
}

/// One part of a `multipart/form-data` body: a text, or a file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Part {
    /// A plain field. One that is `| optional` and has no value is left out.
    Text(String),
    /// A file, or a field with a type of its own.
    File(FilePart),
}

/// A file of a `multipart/form-data` body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// What is in it.
    pub text: Option<String>,
    /// Instead of `text`: its bytes in base64, for what is no text, for example `{{ args.image }}`.
    pub base64: Option<String>,
    /// Its name.
    pub filename: Option<String>,
    /// Its type, for example `application/json`.
    pub content_type: Option<String>,
}

/// What `body` is of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParseAnswer {
    /// Its JSON.
    #[default]
    Json,
    /// A list of the JSON values in its lines (NDJSON).
    Lines,
    /// A list of its server-sent events, each with `event`, `data` (as JSON where it is JSON) and `id`.
    Events,
    /// Its text.
    Text,
}
