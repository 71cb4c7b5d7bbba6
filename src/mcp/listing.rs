//! `tools/list`: how the same tools look to each kind of client. Written once for each kind, not once a request.

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::catalog::LIST_TTL_MS;
use super::jsonrpc;
use super::own_tools::{self, OwnTool};
use super::sessions::Revision;
use super::wire::ServerMeta;
use crate::domain::{Fallback, TaskMode, Tool};

/// Tools on one page. Large, because clients that never ask for a second page would not see the rest.
pub(super) const PAGE: usize = 200;

/// A kind of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// 2026-07-28; `tasks` where the request declares the extension.
    Stateless { tasks: bool },
    /// A session of an older version; `tasks` where `initialize` declared some.
    Session { revision: Revision, tasks: bool },
}

impl Audience {
    /// How many kinds there are.
    const KINDS: usize = 6;

    const fn kind(self) -> usize {
        match self {
            Self::Stateless { tasks: true } => 0,
            Self::Stateless { tasks: false } => 1,
            Self::Session { revision: Revision::November2025, tasks: true } => 2,
            Self::Session { revision: Revision::November2025, tasks: false } => 3,
            // These versions have no tasks of their own, whatever a client declares.
            Self::Session { revision: Revision::June2025, .. } => 4,
            Self::Session { revision: Revision::March2025, .. } => 5,
        }
    }

    const fn is_stateless(self) -> bool {
        matches!(self, Self::Stateless { .. })
    }

    /// Whether a call of the tool by such a client may be answered by a ticket.
    ///
    /// A client of 2026-07-28 without the extension repeats its call to go on waiting, so there a ticket has to be asked for.
    pub(crate) fn gets_tickets(self, tool: &Tool) -> bool {
        let policy = &tool.policy;
        policy.mode != TaskMode::Never
            && match self {
                Self::Stateless { tasks } => !tasks && policy.fallback == Fallback::Ticket,
                Self::Session { .. } => matches!(policy.fallback, Fallback::Wait | Fallback::Ticket),
            }
    }

    /// Whether such a client redeems its tickets by the gateway's own tools; one that knows tasks has `tasks/get` for it.
    const fn redeems_by_tools(self) -> bool {
        match self {
            Self::Stateless { tasks } => !tasks,
            Self::Session { revision, tasks } => !tasks || !matches!(revision, Revision::November2025),
        }
    }

    /// Whether tools have titles and promise structured results (both are new in 2025-06-18).
    const fn has_structure(self) -> bool {
        !matches!(self, Self::Session { revision: Revision::March2025, .. })
    }

    /// `execution.taskSupport`, which only 2025-11-25 has. A tool that never makes tasks leaves it out, which means `forbidden`.
    fn task_support(self, tool: &Tool) -> Option<&'static str> {
        match (self, tool.policy.mode, tool.policy.fallback) {
            (Self::Session { revision: Revision::November2025, .. }, TaskMode::Optional | TaskMode::Required, fallback) => {
                Some(if fallback == Fallback::Reject { "required" } else { "optional" })
            }
            _ => None,
        }
    }
}

/// The pages for each kind of client, of one set of granted tools.
#[derive(Debug, Default)]
pub(super) struct Lists([OnceLock<Vec<Bytes>>; Audience::KINDS]);

impl Lists {
    /// The results of `tools/list` for `audience`, in order; `tools` are asked for the first time.
    pub(super) fn of<'a, T: Iterator<Item = &'a Arc<Tool>>>(&self, audience: Audience, tools: impl FnOnce() -> T) -> &[Bytes] {
        self.0[audience.kind()].get_or_init(|| pages(audience, &tools().collect::<Vec<_>>()))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    tools: &'a [Listed<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<ServerMeta>,
}

fn pages(audience: Audience, tools: &[&Arc<Tool>]) -> Vec<Bytes> {
    let redeeming = audience.redeems_by_tools() && tools.iter().any(|tool| audience.gets_tickets(tool));
    let own: &[OwnTool] = if redeeming { own_tools::all() } else { &[] };
    let listed: Vec<Listed<'_>> = tools
        .iter()
        .map(|tool| Listed {
            name: tool.name.as_str(),
            title: tool.title.as_deref().filter(|_| audience.has_structure()),
            description: &tool.description,
            input_schema: &tool.input_schema,
            output_schema: output_schema(audience, tool),
            annotations: tool.annotations.as_ref(),
            execution: audience.task_support(tool).map(|word| json!({ "taskSupport": word })),
        })
        .chain(own.iter().map(|tool| Listed {
            name: tool.name,
            title: Some(tool.title).filter(|_| audience.has_structure()),
            description: tool.description,
            input_schema: &tool.input_schema,
            output_schema: None,
            annotations: Some(&tool.annotations),
            execution: None,
        }))
        .collect();
    let stateless = audience.is_stateless();
    let count = listed.len().div_ceil(PAGE).max(1);
    (0..count)
        .map(|index| {
            jsonrpc::write(&Page {
                result_type: stateless.then_some("complete"),
                tools: listed.chunks(PAGE).nth(index).unwrap_or_default(),
                next_cursor: (index + 1 < count).then(|| cursor_of(index + 1)),
                ttl_ms: stateless.then_some(LIST_TTL_MS),
                // Tools are the operator's; who may see them is for whoever let the caller in.
                cache_scope: stateless.then_some("private"),
                meta: stateless.then_some(ServerMeta),
            })
        })
        .collect()
}

/// What a call's structured result fits: the tool's own promise, or a ticket where one may come instead.
///
/// A schema that refers into itself cannot be moved to another place; then nothing is promised.
fn output_schema(audience: Audience, tool: &Tool) -> Option<Value> {
    let own = tool.output_schema.as_ref().filter(|_| audience.has_structure())?;
    if !audience.gets_tickets(tool) {
        return Some(own.clone());
    }
    if refers(own) {
        return None;
    }
    let mut own = own.clone();
    let dialect = own.as_object_mut().and_then(|members| members.remove("$schema"));
    let mut either = json!({ "type": "object", "anyOf": [own, own_tools::ticket_schema()] });
    if let Some(dialect) = dialect {
        either["$schema"] = dialect;
    }
    Some(either)
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.keys().any(|name| matches!(name.as_str(), "$ref" | "$dynamicRef" | "$id")) || members.values().any(refers)
        }
        Value::Array(items) => items.iter().any(refers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

pub(super) fn cursor_of(index: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("tools:{index}"))
}

pub(super) fn index_of(cursor: &str) -> Option<usize> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix("tools:")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{OWN_TOOLS, ProviderName, ToolName, ToolPolicy};

    fn tool(name: &str, mode: TaskMode, fallback: Fallback, output: Value) -> Arc<Tool> {
        Arc::new(Tool {
            name: ToolName::new(name),
            title: Some(name.to_uppercase()),
            description: "does something".to_owned(),
            input_schema: json!({ "type": "object" }),
            fixed: serde_json::Map::new(),
            output_schema: Some(output),
            annotations: None,
            provider: ProviderName::new("p"),
            policy: ToolPolicy { mode, fallback, ..ToolPolicy::default() },
        })
    }

    fn page(audience: Audience, tools: &[Arc<Tool>]) -> Value {
        let lists = Lists::default();
        serde_json::from_slice(&lists.of(audience, || tools.iter())[0]).unwrap()
    }

    fn named<'a>(page: &'a Value, name: &str) -> &'a Value {
        page["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap_or(&Value::Null)
    }

    const MODERN: Audience = Audience::Stateless { tasks: true };
    const PLAIN: Audience = Audience::Stateless { tasks: false };
    const CORE: Audience = Audience::Session { revision: Revision::November2025, tasks: true };
    const NOVEMBER: Audience = Audience::Session { revision: Revision::November2025, tasks: false };
    const JUNE: Audience = Audience::Session { revision: Revision::June2025, tasks: true };
    const MARCH: Audience = Audience::Session { revision: Revision::March2025, tasks: false };
    const ALL: [Audience; Audience::KINDS] = [MODERN, PLAIN, CORE, NOVEMBER, JUNE, MARCH];

    /// A5: the gateway's own tools are shown to those who may get a ticket that they cannot redeem otherwise, and to nobody else.
    #[test]
    fn own_tools_are_listed_to_whom_they_are_for() {
        let of = |mode, fallback| [tool("render", mode, fallback, json!({ "type": "object" }))];
        for (mode, fallback, shown) in [
            (TaskMode::Optional, Fallback::Wait, &[NOVEMBER, JUNE, MARCH][..]),
            (TaskMode::Required, Fallback::Ticket, &[PLAIN, NOVEMBER, JUNE, MARCH]),
            (TaskMode::Optional, Fallback::Reject, &[]),
            (TaskMode::Never, Fallback::Wait, &[]),
        ] {
            for audience in ALL {
                let page = page(audience, &of(mode, fallback));
                let own = OWN_TOOLS.iter().filter(|name| !named(&page, name).is_null()).count();
                assert_eq!(own, if shown.contains(&audience) { 3 } else { 0 }, "{audience:?} {mode:?} {fallback:?}");
            }
        }
    }

    /// A5: what a call may give back fits what the list promises, also when it is a ticket.
    #[test]
    fn a_ticket_fits_the_listed_output_schema() {
        let promise = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": { "url": { "type": "string" } }, "required": ["url"], "additionalProperties": false });
        let referring = json!({ "type": "object", "properties": { "url": { "$ref": "#/$defs/u" } }, "$defs": { "u": {} } });
        let tools = [
            tool("wait", TaskMode::Optional, Fallback::Wait, promise.clone()),
            tool("ticket", TaskMode::Optional, Fallback::Ticket, promise.clone()),
            tool("reject", TaskMode::Optional, Fallback::Reject, promise.clone()),
            tool("refers", TaskMode::Optional, Fallback::Wait, referring.clone()),
        ];
        let ticket = json!({ "ticket": "t", "status": "working", "poll_after_ms": 1000 });
        for audience in [PLAIN, CORE, NOVEMBER, JUNE] {
            let page = page(audience, &tools);
            for tool in &tools[..3] {
                let listed = &named(&page, tool.name.as_str())["outputSchema"];
                assert_eq!(listed["type"], "object");
                let fits = |value: &Value| jsonschema::draft202012::new(listed).unwrap().is_valid(value);
                assert!(fits(&json!({ "url": "x" })) && !fits(&json!({ "url": 5 })), "{listed}");
                assert_eq!(fits(&ticket), audience.gets_tickets(tool), "{audience:?} {listed}");
            }
        }
        assert_eq!(named(&page(MODERN, &tools), "ticket")["outputSchema"], promise, "whoever has tasks gets no tickets");
        assert!(named(&page(JUNE, &tools), "refers").get("outputSchema").is_none());
        assert_eq!(named(&page(MODERN, &tools), "refers")["outputSchema"], referring);
    }

    /// Each version's list has what that version knows.
    #[test]
    fn a_list_says_nothing_that_its_version_does_not_know() {
        let tools = [
            tool("never", TaskMode::Never, Fallback::Wait, json!({ "type": "object" })),
            tool("optional", TaskMode::Optional, Fallback::Ticket, json!({ "type": "object" })),
            tool("required", TaskMode::Required, Fallback::Reject, json!({ "type": "object" })),
        ];
        for audience in ALL {
            let page = page(audience, &tools);
            let stateless = audience.is_stateless();
            assert_eq!((page["resultType"] == "complete", page.get("ttlMs").is_some()), (stateless, stateless));
            let support = |name: &str| named(&page, name)["execution"]["taskSupport"].as_str();
            let november = matches!(audience, CORE | NOVEMBER);
            assert_eq!(support("never"), None);
            assert_eq!(support("optional"), november.then_some("optional"));
            assert_eq!(support("required"), november.then_some("required"));
            let shown = named(&page, "never");
            assert_eq!(
                (shown.get("title").is_some(), shown.get("outputSchema").is_some()),
                (audience != MARCH, audience != MARCH)
            );
        }
    }
}
