//! What every call of a tool has to pass before anything is started or stored for it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Spoken;
use crate::mcp::catalog::Entry;
use crate::mcp::error::RpcError;
use crate::mcp::params::Params;
use crate::mcp::questions::beyond_questions;
use crate::mcp::schema::describe;

/// A call that may go on.
#[derive(Debug)]
pub(in crate::mcp::dialects) struct Prepared {
    /// The tool.
    pub(in crate::mcp::dialects) entry: Arc<Entry>,
    /// The arguments as they came; what a question fills in may be missing.
    pub(in crate::mcp::dialects) arguments: Map<String, Value>,
}

/// What became of a call.
#[derive(Debug)]
pub(in crate::mcp::dialects) enum Call {
    /// It may go on.
    Fits(Prepared),
    /// Its arguments break the tool's schema; the sentence says where, what was sent and what is wanted.
    Wrong(String),
}

impl Spoken {
    /// Finds the tool, holds the arguments against its schema, and the client's abilities against what the tool needs.
    ///
    /// # Errors
    /// -32602 for a tool that is not there or not granted, -32600 for a client that lacks what the tool needs.
    pub(in crate::mcp::dialects) fn prepare(&self, params: &Params<'_>) -> Result<Call, RpcError> {
        let name = params.required_text("name")?;
        let entry = self.shared.catalog.get_for(&self.context.caller, &name);
        let entry = entry.ok_or_else(|| RpcError::invalid_params(format!("there is no tool `{name}`")))?;
        let longest = self.shared.engine.max_argument_bytes();
        let arguments = params.object("arguments", longest)?.unwrap_or_default();
        let missing = self.abilities.missing(&entry.tool.policy.requires);
        if !missing.is_empty() {
            return Err(RpcError::unable(&format!("tool `{name}`"), &missing));
        }
        let arguments = Value::Object(arguments);
        let problems = beyond_questions(&entry.tool, entry.input.problems(&arguments));
        if !problems.is_empty() {
            return Ok(Call::Wrong(describe("the call's `arguments`", &problems)));
        }
        let Value::Object(arguments) = arguments else { return Err(RpcError::internal("arguments are an object")) };
        Ok(Call::Fits(Prepared { entry: entry.clone(), arguments }))
    }
}
