//! The tools as callers see them, their schemas compiled once. A tool that a caller was not granted is
//! as unknown to it as one that is not there, whatever it is asked about.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use super::error::RpcError;
use super::grants::PerGrant;
use super::headers::{ParamHeader, param_headers};
use super::listing::{Audience, Lists, index_of};
use super::schema::{BadSchema, Schema};
use crate::domain::{Caller, Tool, ToolGrant};

/// How long a list may be kept: it changes with the configuration alone, so with a restart.
pub(crate) const LIST_TTL_MS: u64 = 300_000;

/// A tool, ready to be called.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) tool: Arc<Tool>,
    pub(crate) input: Schema,
    pub(crate) headers: Vec<ParamHeader>,
}

/// All tools.
#[derive(Debug)]
pub(crate) struct Catalog {
    entries: HashMap<String, Arc<Entry>>,
    /// In the order in which they are listed.
    order: Vec<Arc<Tool>>,
    /// The results of `tools/list`, in order, for each set of granted tools.
    lists: PerGrant<Lists>,
}

/// A tool's schema cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the input schema of tool `{tool}` is no JSON Schema: {reason}")]
pub struct BadTool {
    tool: String,
    reason: BadSchema,
}

impl Catalog {
    /// Compiles and writes everything that can be made ahead; `tools` in the order in which they are to be listed.
    ///
    /// # Errors
    /// [`BadTool`] for the first schema that is none.
    pub(crate) fn new(tools: &[Arc<Tool>]) -> Result<Self, BadTool> {
        let mut entries = HashMap::with_capacity(tools.len());
        for tool in tools {
            let input =
                Schema::compile(&tool.input_schema).map_err(|reason| BadTool { tool: tool.name.as_str().to_owned(), reason })?;
            let headers = param_headers(&tool.input_schema);
            entries.insert(tool.name.as_str().to_owned(), Arc::new(Entry { tool: Arc::clone(tool), input, headers }));
        }
        Ok(Self { entries, order: tools.to_vec(), lists: PerGrant::new() })
    }

    /// A tool by its name, for a caller that was granted it.
    pub(crate) fn get_for(&self, caller: &Caller, name: &str) -> Option<&Arc<Entry>> {
        self.entries.get(name).filter(|entry| caller.tools.covers(&entry.tool.name))
    }

    /// The tools of a grant, in the order in which they are listed.
    pub(crate) fn granted(&self, grant: &ToolGrant) -> impl Iterator<Item = &Arc<Tool>> {
        self.order.iter().filter(|tool| grant.covers(&tool.name))
    }

    /// The result of `tools/list` for a caller whose client is of this kind.
    ///
    /// # Errors
    /// -32602 for a cursor that was not given out here.
    pub(crate) fn page_for(&self, caller: &Caller, audience: Audience, cursor: Option<&str>) -> Result<Bytes, RpcError> {
        let index = match cursor {
            None => 0,
            Some(cursor) => index_of(cursor).filter(|index| *index > 0).unwrap_or(usize::MAX),
        };
        let unknown = || RpcError::invalid_params("`params.cursor` is not one that this server gave out; list without it");
        let lists = self.lists.get(&caller.tools, Lists::default);
        lists.of(audience, || self.granted(&caller.tools)).get(index).cloned().ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::listing::{PAGE, cursor_of};
    use super::*;
    use crate::domain::{ProviderName, ToolName, ToolPolicy};

    const MODERN: Audience = Audience::Stateless { tasks: true };

    fn tool(name: &str) -> Arc<Tool> {
        Arc::new(Tool {
            name: ToolName::new(name),
            title: None,
            description: "does something".to_owned(),
            input_schema: json!({ "type": "object" }),
            fixed: serde_json::Map::new(),
            output_schema: None,
            annotations: None,
            provider: ProviderName::new("p"),
            policy: ToolPolicy::default(),
        })
    }

    fn names(page: &[u8]) -> Vec<String> {
        let page: Value = serde_json::from_slice(page).unwrap();
        page["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn pages_follow_each_other_by_cursors_that_only_this_server_understands() {
        let tools: Vec<Arc<Tool>> = (0..2 * PAGE + 1).map(|number| tool(&format!("tool_{number}"))).collect();
        let (catalog, caller) = (Catalog::new(&tools).unwrap(), Caller::local());
        let mut cursor: Option<String> = None;
        let mut listed = Vec::new();
        loop {
            let page = catalog.page_for(&caller, MODERN, cursor.as_deref()).unwrap();
            listed.extend(names(&page));
            let page: Value = serde_json::from_slice(&page).unwrap();
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(listed, tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>());
        for wrong in ["", "1", "tools:1", &cursor_of(0), &cursor_of(3), "!!"] {
            assert_eq!(catalog.page_for(&caller, MODERN, Some(wrong)).unwrap_err().code(), -32602, "{wrong}");
        }
    }

    /// I1: what was not granted is neither listed nor found, and the others keep their order.
    #[test]
    fn a_caller_sees_the_tools_that_it_was_granted() {
        let catalog = Catalog::new(&["render", "deploy_web", "purge", "deploy_api"].map(tool)).unwrap();
        let granted = |names: &[&str]| Caller {
            tools: ToolGrant::Named(names.iter().map(|name| (*name).to_owned()).collect()),
            ..Caller::local()
        };
        for (grant, seen) in [
            (granted(&["deploy_*", "render"]), vec!["render", "deploy_web", "deploy_api"]),
            (granted(&["purge"]), vec!["purge"]),
            (granted(&[]), vec![]),
            (Caller::local(), vec!["render", "deploy_web", "purge", "deploy_api"]),
        ] {
            assert_eq!(names(&catalog.page_for(&grant, MODERN, None).unwrap()), seen);
            for name in ["render", "deploy_web", "purge", "deploy_api", "absent"] {
                assert_eq!(catalog.get_for(&grant, name).is_some(), seen.contains(&name), "{name}");
            }
        }
    }
}
