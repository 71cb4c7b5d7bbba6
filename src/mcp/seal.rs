//! Request state that a client carries between two calls: sealed, expiring, bound to the caller, the tool and the arguments.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::error::RpcError;
use crate::domain::{Principal, Timestamp, ToolName};

/// What a client carries from one call to its repetition. Readable, but not forgeable: no secrets in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Carried {
    /// A question before the job was asked.
    Asked(Round),
    /// The job runs as this task; the caller holds no tasks and waits for it call by call.
    Running(String),
}

/// What is remembered between two questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Round {
    /// Which question was asked.
    pub(crate) question: usize,
    /// Made in the first round and kept: one run of questions starts one job, however often its last answer is sent.
    pub(crate) nonce: String,
    /// What earlier answers filled in.
    pub(crate) filled: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct Payload {
    carried: Carried,
    /// Milliseconds since the epoch; later it is refused.
    expires_at: i64,
    /// A digest of caller, tool and arguments.
    bound_to: String,
}

/// What a sealed text is for: one that was sealed for something else is as good as forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `Mcp-Session-Id`.
    Session,
    /// The id of a request that asks a task's question.
    Question,
    /// The id of an event: where a lost stream goes on.
    Event,
    /// A place in a list of tasks.
    Cursor,
    /// A place in a list of resources.
    Resources,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Session => b"jobgate session 1\0",
            Self::Question => b"jobgate question 1\0",
            Self::Event => b"jobgate event 1\0",
            Self::Cursor => b"jobgate cursor 1\0",
            Self::Resources => b"jobgate resources 1\0",
        }
    }
}

/// Bytes of a short seal: 128 bits, which nobody guesses at a gateway that answers.
const SHORT_TAG: usize = 16;

/// Seals and opens.
pub(crate) struct Sealer {
    key: [u8; 32],
}

/// Never the key.
impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

impl Sealer {
    pub(crate) const fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The state for a call of `tool` with `arguments` by `owner`, good until `expires_at`.
    pub(crate) fn seal(
        &self,
        carried: Carried,
        owner: &Principal,
        tool: &ToolName,
        arguments: &Map<String, Value>,
        expires_at: Timestamp,
    ) -> String {
        let payload = Payload { carried, expires_at: expires_at.as_millis(), bound_to: binding(owner, tool, arguments) };
        let payload = serde_json::to_vec(&payload).expect("a payload has string keys and goes to memory");
        let tag = self.mac(&payload).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&payload), URL_SAFE_NO_PAD.encode(tag))
    }

    /// What `state` stands for.
    ///
    /// # Errors
    /// -32602 where it was not sealed here, was sealed for another caller, tool or arguments, or is too old (MCP 2026-07-28,
    /// "Multi Round-Trip Requests", server requirements 4 and 5).
    pub(crate) fn open(
        &self,
        state: &str,
        owner: &Principal,
        tool: &ToolName,
        arguments: &Map<String, Value>,
        now: Timestamp,
    ) -> Result<Carried, RpcError> {
        // One sentence for everything that is wrong with it: a forger learns nothing.
        let refused =
            || RpcError::invalid_params("`params.requestState` is not one that was given for this call; call without it");
        let (payload, tag) = state.split_once('.').ok_or_else(refused)?;
        let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| refused())?;
        let tag = URL_SAFE_NO_PAD.decode(tag).map_err(|_| refused())?;
        // Compares in constant time.
        self.mac(&payload).verify_slice(&tag).map_err(|_| refused())?;
        let Payload { carried, expires_at, bound_to } = serde_json::from_slice(&payload).map_err(|_| refused())?;
        if bound_to != binding(owner, tool, arguments) {
            return Err(refused());
        }
        if now.as_millis() >= expires_at {
            return Err(RpcError::invalid_params("`params.requestState` has expired; call without it to start anew"));
        }
        Ok(carried)
    }

    /// A text that stands for `value` wherever it comes back: visible ASCII without spaces, for headers, ids and cursors. It is bound to
    /// its owner: the same text from anybody else opens as little as a forged one. Readable, so there must be no secrets in it.
    pub(crate) fn seal_for(&self, purpose: Purpose, owner: &Principal, value: &impl Serialize) -> String {
        let payload = serde_json::to_vec(value).expect("what is sealed has string keys and goes to memory");
        let tag = self.mac_for(purpose, owner, &payload).finalize().into_bytes();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&payload), URL_SAFE_NO_PAD.encode(&tag[..SHORT_TAG]))
    }

    /// What a text stands for; `None` where it was not sealed here for this purpose and owner.
    pub(crate) fn open_for<T: DeserializeOwned>(&self, purpose: Purpose, owner: &Principal, text: &str) -> Option<T> {
        let (payload, tag) = text.split_once('.')?;
        let payload = URL_SAFE_NO_PAD.decode(payload).ok()?;
        let tag = URL_SAFE_NO_PAD.decode(tag).ok().filter(|tag| tag.len() == SHORT_TAG)?;
        // Compares in constant time.
        self.mac_for(purpose, owner, &payload).verify_truncated_left(&tag).ok()?;
        serde_json::from_slice(&payload).ok()
    }

    fn mac_for(&self, purpose: Purpose, owner: &Principal, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.update(purpose.label());
        for part in [owner.tenant().as_bytes(), owner.name().as_bytes(), payload] {
            // The length keeps two parts from being read as two others.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac
    }

    fn mac(&self, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of any length");
        mac.update(b"jobgate request state 1\0");
        mac.update(payload);
        mac
    }
}

fn binding(owner: &Principal, tool: &ToolName, arguments: &Map<String, Value>) -> String {
    let mut hash = Sha256::new();
    for part in [owner.tenant(), owner.name(), tool.as_str()] {
        // The length keeps two parts from being read as two others.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut written = String::new();
    canonical(&Value::Object(arguments.clone()), &mut written);
    hash.update(written);
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// JSON with sorted members, so that a client that writes its arguments in another order the second time is understood.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            out.push('{');
            for name in names {
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                canonical(&members[name], out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            _ => panic!("arguments are an object"),
        }
    }

    fn round() -> Carried {
        Carried::Asked(Round { question: 1, nonce: "n".to_owned(), filled: arguments(json!({ "name": "Alice" })) })
    }

    const END: Timestamp = Timestamp::from_millis(1000);

    #[test]
    fn a_state_opens_for_the_call_it_was_given_for_and_for_no_other() {
        let sealer = Sealer::new([7; 32]);
        let (me, tool) = (Principal::new("t", "me"), ToolName::new("deploy"));
        let state = sealer.seal(round(), &me, &tool, &arguments(json!({ "a": 1, "b": { "c": 2, "d": [3] } })), END);
        let same = arguments(json!({ "b": { "d": [3], "c": 2 }, "a": 1 }));
        let now = Timestamp::from_millis(999);
        assert_eq!(sealer.open(&state, &me, &tool, &same, now), Ok(round()));
        let other = arguments(json!({ "a": 2, "b": { "c": 2, "d": [3] } }));
        for (what, opened) in [
            ("arguments", sealer.open(&state, &me, &tool, &other, now)),
            ("caller", sealer.open(&state, &Principal::new("t", "you"), &tool, &same, now)),
            ("tenant", sealer.open(&state, &Principal::new("tm", "e"), &tool, &same, now)),
            ("tool", sealer.open(&state, &me, &ToolName::new("delete"), &same, now)),
            ("key", Sealer::new([8; 32]).open(&state, &me, &tool, &same, now)),
            ("age", sealer.open(&state, &me, &tool, &same, END)),
            ("appended", sealer.open(&format!("{state}-TAMPERED"), &me, &tool, &same, now)),
            ("empty", sealer.open("", &me, &tool, &same, now)),
        ] {
            assert_eq!(opened.unwrap_err().code(), -32602, "{what}");
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let sealer = Sealer::new([7; 32]);
        let (me, tool, none) = (Principal::local(), ToolName::new("deploy"), Map::new());
        let state = sealer.seal(round(), &me, &tool, &none, END);
        for place in 0..state.len() {
            let mut bytes = state.clone().into_bytes();
            bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            // The last character of a base64 text without padding may carry unused bits; the decoder refuses or the tag differs.
            assert!(sealer.open(&changed, &me, &tool, &none, Timestamp::from_millis(0)).is_err(), "byte {place}");
        }
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{:?}", Sealer::new([7; 32])), "Sealer");
    }
}
