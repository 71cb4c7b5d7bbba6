//! The parameters of a request: found without copying, typed when they are asked for, so that an error names its place.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::error::{RpcError, TASKS_EXTENSION};
use super::jsonrpc::{LONGEST_ID, Text, is_request_id};
use super::strict::StrictObject;
use crate::domain::ClientCapability;

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What makes a request of the `draft` dialect a task.
pub(crate) const DRAFT_TASK: &str = "modelcontextprotocol.io/task";
/// Which task a message of the `draft` dialect is about.
pub(crate) const DRAFT_RELATED: &str = "modelcontextprotocol.io/related-task";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// An object whose members have not been read; `null` members are as good as absent.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.written(name).filter(|value| value.get() != "null")
    }

    /// A member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Members<'a>> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// A member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// A member, also one that is `null`.
    pub(crate) fn written(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    members.push((name.0, value));
                }
                // Two readers of one message could each believe another of two members of one name.
                match twice(&members) {
                    Some(name) => Err(serde::de::Error::custom(format!("`{name}` is there twice"))),
                    None => Ok(Members(members)),
                }
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A name that is there more than once.
fn twice<'a>(members: &'a [(Cow<'_, str>, &RawValue)]) -> Option<&'a str> {
    if members.len() <= FEW {
        return (1..members.len())
            .map(|nth| &*members[nth].0)
            .zip(1..)
            .find_map(|(name, nth)| members[..nth].iter().any(|(earlier, _)| *earlier == name).then_some(name));
    }
    let mut seen = HashSet::with_capacity(members.len());
    members.iter().map(|(name, _)| &**name).find(|name| !seen.insert(*name))
}

/// Members up to which comparing each with each is the quickest way, and costs no memory.
const FEW: usize = 16;

/// A request's parameters.
#[derive(Debug, Default)]
pub(crate) struct Params<'a> {
    members: Members<'a>,
    /// Its `_meta`.
    pub(crate) meta: Meta<'a>,
}

impl<'a> Params<'a> {
    /// Finds the members of `params`.
    pub(crate) fn read(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        let members: Members<'a> = typed("params", raw)?;
        let meta = match members.get("_meta") {
            Some(raw) => Meta(
                serde_json::from_str(raw.get()).map_err(|error| RpcError::missing_meta(format!("`params._meta`: {error}")))?,
            ),
            None => Meta::default(),
        };
        Ok(Self { members, meta })
    }

    /// A member, as it was written.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.members.get(name)
    }

    /// A member of type string.
    pub(crate) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, RpcError> {
        self.raw(name)
            .map(|raw| typed::<Text<'a>>(&format!("params.{name}"), raw))
            .transpose()
            .map(|text| text.map(|text| text.0))
    }

    /// A member of type string that has to be there.
    pub(crate) fn required_text(&self, name: &str) -> Result<Cow<'a, str>, RpcError> {
        self.text(name)?.ok_or_else(|| RpcError::invalid_params(format!("`params.{name}` is missing")))
    }

    /// A member that is an object.
    pub(crate) fn members(&self, name: &str) -> Result<Option<Members<'a>>, RpcError> {
        self.raw(name).map(|raw| typed(&format!("params.{name}"), raw)).transpose()
    }

    /// A member that is an object of at most `longest` bytes as it was written, in which no member is there twice at any depth.
    pub(crate) fn object(&self, name: &str, longest: usize) -> Result<Option<Map<String, Value>>, RpcError> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        if raw.get().len() > longest {
            return Err(RpcError::invalid_params(format!("`params.{name}` is larger than {longest} bytes")));
        }
        typed::<StrictObject>(&format!("params.{name}"), raw).map(|object| Some(object.0))
    }

    /// A member of another type.
    pub(crate) fn value<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RpcError> {
        self.raw(name)
            .map(|raw| {
                serde_json::from_str(raw.get()).map_err(|error| RpcError::invalid_params(format!("`params.{name}`: {error}")))
            })
            .transpose()
    }
}

/// A request's `_meta`.
#[derive(Debug, Default)]
pub(crate) struct Meta<'a>(Members<'a>);

impl<'a> Meta<'a> {
    /// The version that the request says it speaks.
    pub(crate) fn protocol_version(&self) -> Result<Option<Cow<'a, str>>, RpcError> {
        let Some(raw) = self.0.get(PROTOCOL_VERSION) else { return Ok(None) };
        match serde_json::from_str::<Text<'a>>(raw.get()) {
            Ok(version) => Ok(Some(version.0)),
            Err(_) => Err(RpcError::missing_meta(format!("`params._meta[\"{PROTOCOL_VERSION}\"]` has to be a string"))),
        }
    }

    /// What the client declared on this request; no earlier request counts.
    ///
    /// # Errors
    /// -32602 with HTTP 400 where it is missing: it is required on every request.
    pub(crate) fn capabilities(&self) -> Result<Capabilities, RpcError> {
        let place = format!("`params._meta[\"{CLIENT_CAPABILITIES}\"]`");
        let Some(raw) = self.0.get(CLIENT_CAPABILITIES) else {
            return Err(RpcError::missing_meta(format!("{place} is missing; a client without any sends {{}}")));
        };
        let members: Members<'a> =
            serde_json::from_str(raw.get()).map_err(|_| RpcError::missing_meta(format!("{place} has to be an object")))?;
        let object = |raw: &'a RawValue| serde_json::from_str::<Members<'a>>(raw.get()).ok();
        let elicitation = members.get("elicitation").and_then(object);
        Ok(Capabilities {
            tasks: members.get("extensions").and_then(object).is_some_and(|known| known.get(TASKS_EXTENSION).is_some()),
            // `elicitation: {}` is a client from before there were pages, so it means forms.
            forms: elicitation.as_ref().is_some_and(|modes| modes.get("form").is_some() || modes.get("url").is_none()),
            elicitation: elicitation.is_some(),
            sampling: members.get("sampling").is_some(),
            roots: members.get("roots").is_some(),
        })
    }

    /// What the `draft` dialect says of the task that a request is to make (SEP-1686 as first proposed).
    pub(crate) fn draft_task(&self) -> Option<&'a RawValue> {
        self.0.get(DRAFT_TASK)
    }

    /// Whether a request says in the `draft` dialect which task it is about.
    pub(crate) fn is_draft(&self) -> bool {
        self.0.get(DRAFT_RELATED).is_some() || self.draft_task().is_some()
    }

    /// The token for progress notifications; a string or an integer, as it was written.
    pub(crate) fn progress_token(&self) -> Result<Option<&'a RawValue>, RpcError> {
        match self.0.get("progressToken") {
            Some(token) if token.get().len() > LONGEST_ID => {
                Err(RpcError::invalid_params(format!("`params._meta.progressToken` is longer than {LONGEST_ID} bytes")))
            }
            Some(token) if !is_request_id(token) => {
                Err(RpcError::invalid_params("`params._meta.progressToken` has to be a string or an integer"))
            }
            token => Ok(token),
        }
    }

    /// The caller's own key for one wish (requirement C3).
    pub(crate) fn idempotency_key(&self) -> Result<Option<String>, RpcError> {
        let raw = self.0.get("io.jobgate/idempotencyKey").or_else(|| self.0.get("idempotencyKey"));
        let Some(raw) = raw else { return Ok(None) };
        match serde_json::from_str::<String>(raw.get()) {
            Ok(key) if (1..=MAX_KEY).contains(&key.len()) => Ok(Some(key)),
            _ => Err(RpcError::invalid_params(format!(
                "`params._meta.idempotencyKey` has to be a string of 1 to {MAX_KEY} bytes, for example a UUID"
            ))),
        }
    }

    /// The life in milliseconds that the caller would like a task to have; the extension itself has no place for such a wish.
    pub(crate) fn ttl_ms(&self) -> Result<Option<u64>, RpcError> {
        let Some(raw) = self.0.get("io.jobgate/ttlMs") else { return Ok(None) };
        match raw.get().parse() {
            Ok(ms) if ms > 0 => Ok(Some(ms)),
            _ => Err(RpcError::invalid_params("`params._meta[\"io.jobgate/ttlMs\"]` has to be a whole number of milliseconds")),
        }
    }
}

/// The longest idempotency key, in bytes.
const MAX_KEY: usize = 256;

/// What a client declared on one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// It can hold tasks.
    pub(crate) tasks: bool,
    /// It can show forms.
    pub(crate) forms: bool,
    elicitation: bool,
    sampling: bool,
    roots: bool,
}

impl Capabilities {
    /// Those of `wanted` that the client did not declare.
    pub(crate) fn missing(self, wanted: &[ClientCapability]) -> Vec<ClientCapability> {
        let declared = |capability: &ClientCapability| match capability {
            ClientCapability::Elicitation => self.elicitation,
            ClientCapability::Sampling => self.sampling,
            ClientCapability::Roots => self.roots,
        };
        wanted.iter().copied().filter(|capability| !declared(capability)).collect()
    }
}

/// Reads a raw value as a type that may borrow from it.
fn typed<'a, T: Deserialize<'a>>(place: &str, raw: &'a RawValue) -> Result<T, RpcError> {
    serde_json::from_str(raw.get()).map_err(|error| RpcError::invalid_params(format!("`{place}`: {error}")))
}
