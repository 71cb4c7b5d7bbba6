//! What the link has to know of a message before it hands it on: whether it may be asked again of another holder.

use std::borrow::Cow;
use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::domain::{Join, Random, TaskMode, Tool};

/// The keys of `_meta` under which a caller names its wish.
const KEYS: [&str; 2] = ["io.jobgate/idempotencyKey", "idempotencyKey"];

/// A message on its way to whoever holds the store.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    /// Its bytes; a call of a tool has a key of its own, so that asking twice starts one job.
    pub(super) bytes: Bytes,
    /// Whether another holder may be asked when this one goes before it answers.
    pub(super) repeatable: bool,
    /// Whether its first answer only says that it was heard.
    pub(super) listens: bool,
    /// The request's id as it was written, for answers of our own.
    pub(super) id: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl Outgoing {
    /// Reads `message` as far as it takes, and gives a call of a tool a key where its caller gave none.
    pub(super) fn of(message: &Bytes, tools: &[Tool], random: &dyn Random) -> Self {
        let plain = |repeatable| Self { bytes: message.clone(), repeatable, listens: false, id: None };
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(message) else {
            // Nothing is done for what cannot be read.
            return plain(true);
        };
        let id = envelope.id.map(ToOwned::to_owned);
        match envelope.method.as_deref() {
            Some("tools/call") => {
                let (bytes, repeatable) = call(message, envelope.params, tools, random);
                Self { bytes, repeatable, listens: false, id }
            }
            Some("subscriptions/listen") => Self { listens: true, id, ..plain(true) },
            // Reading, answering and cancelling give the same when they are done twice.
            Some(_) | None => Self { id, ..plain(true) },
        }
    }
}

fn call(message: &Bytes, params: Option<&RawValue>, tools: &[Tool], random: &dyn Random) -> (Bytes, bool) {
    let read = params.and_then(|params| Some((params, serde_json::from_str::<CallParams<'_>>(params.get()).ok()?)));
    let Some((params, CallParams { name: Some(name), meta })) = read else { return (message.clone(), false) };
    let tool = tools.iter().find(|tool| tool.name.as_str() == name);
    if tool.is_some_and(|tool| !is_harmless_twice(tool)) {
        return (message.clone(), false);
    }
    if tool.is_some_and(|tool| tool.policy.join == Join::SameArguments) {
        // It joins the job that it started itself; with a key of its own it would join nobody's.
        return (message.clone(), true);
    }
    // The rest of the message stays as it was written, digit for digit: the key is put behind a brace.
    let member = format!("\"{}\":\"link-{}\"", KEYS[0], fresh(random));
    let written = match meta {
        None => put_behind_brace(message, params, &format!("\"_meta\":{{{member}}},")),
        Some(meta) => {
            let Ok(known) = serde_json::from_str::<HashMap<Cow<'_, str>, &RawValue>>(meta.get()) else {
                return (message.clone(), false);
            };
            if KEYS.iter().any(|key| known.contains_key(*key)) {
                return (message.clone(), true);
            }
            let comma = if known.is_empty() { "" } else { "," };
            put_behind_brace(message, meta, &format!("{member}{comma}"))
        }
    };
    written.map_or_else(|| (message.clone(), false), |written| (written, true))
}

/// The message with a member put first in one of its objects.
fn put_behind_brace(message: &Bytes, object: &RawValue, member: &str) -> Option<Bytes> {
    let behind = (object.get().as_ptr() as usize).wrapping_sub(message.as_ptr() as usize).wrapping_add(1);
    let (before, after) = message.split_at_checked(behind)?;
    Some([before, member.as_bytes(), after].concat().into())
}

/// A tool that makes tasks starts one job a key. Another one starts a job a call, unless it says that this changes nothing.
fn is_harmless_twice(tool: &Tool) -> bool {
    let says = |hint: &str| tool.annotations.as_ref().is_some_and(|hints| hints[hint] == true);
    match tool.policy.mode {
        TaskMode::Optional | TaskMode::Required => true,
        TaskMode::Never => says("readOnlyHint") || says("idempotentHint"),
    }
}

fn fresh(random: &dyn Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use jobgate_adapter_api::FixedRandom;
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{ProviderName, ToolName, ToolPolicy};

    fn tool(name: &str, mode: TaskMode, annotations: Option<Value>) -> Tool {
        Tool {
            name: ToolName::new(name),
            title: None,
            description: String::new(),
            input_schema: json!({"type": "object"}),
            fixed: serde_json::Map::new(),
            output_schema: None,
            annotations,
            provider: ProviderName::new("p"),
            policy: ToolPolicy { mode, ..ToolPolicy::default() },
        }
    }

    fn outgoing(message: &str) -> Outgoing {
        let tools = [
            tool("slow", TaskMode::Optional, None),
            tool("quick", TaskMode::Never, None),
            tool("look", TaskMode::Never, Some(json!({"readOnlyHint": true}))),
        ];
        Outgoing::of(&Bytes::copy_from_slice(message.as_bytes()), &tools, &FixedRandom::new(1))
    }

    /// C3: a call that may be asked twice has a key, and nothing else of it changes, not even how a number is written.
    #[test]
    fn a_call_without_a_key_gets_one() {
        for meta in [r#"{}"#, r#"{ "x": 1 }"#] {
            let text =
                format!(r#"{{"id":7,"method":"tools/call","params":{{"name":"slow","arguments":{{"n":1e2}},"_meta":{meta}}}}}"#);
            let sent = outgoing(&text);
            assert!(sent.repeatable);
            let text = String::from_utf8(sent.bytes.to_vec()).unwrap();
            assert!(text.contains(r#"{"n":1e2}"#), "{text}");
            let value: Value = serde_json::from_str(&text).unwrap();
            assert!(value["params"]["_meta"][KEYS[0]].as_str().unwrap().starts_with("link-"), "{text}");
            assert_eq!(sent.id.unwrap().get(), "7");
        }
    }

    /// Clients of older versions write no `_meta` at all.
    #[test]
    fn a_call_without_metadata_gets_a_key() {
        let text = r#"{"id":7,"method":"tools/call","params":{"name":"slow","arguments":{"n":1e2},"task":{}}}"#;
        let sent = outgoing(text);
        assert!(sent.repeatable);
        let text = String::from_utf8(sent.bytes.to_vec()).unwrap();
        assert!(text.contains(r#"{"n":1e2}"#), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value["params"]["_meta"][KEYS[0]].as_str().unwrap().starts_with("link-"), "{text}");
        assert_eq!(value["params"]["task"], json!({}));
    }

    #[test]
    fn a_callers_own_key_stays() {
        let text = r#"{"id":7,"method":"tools/call","params":{"name":"slow","_meta":{"idempotencyKey":"mine"}}}"#;
        assert_eq!(outgoing(text).bytes, text);
    }

    /// What starts a job at every call is not asked twice, whatever it costs.
    #[test]
    fn a_plain_call_is_repeated_only_where_that_is_harmless() {
        let call = |name: &str| format!(r#"{{"id":7,"method":"tools/call","params":{{"name":"{name}","_meta":{{}}}}}}"#);
        assert!(!outgoing(&call("quick")).repeatable);
        assert!(outgoing(&call("look")).repeatable);
        assert!(outgoing(r#"{"id":1,"method":"tasks/get","params":{}}"#).repeatable);
        assert!(outgoing(r#"{"id":1,"method":"subscriptions/listen","params":{}}"#).listens);
        assert!(outgoing("no json").repeatable);
    }
}
