//! A result keeps its tool's promise: where the tool names an output schema, a result that does not fit it is the job's failure and
//! says so (MCP 2026-07-28, "Output Schema": servers MUST provide structured results that conform).

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Draft, Validator};

use super::EngineError;
use super::cap::cap;
use super::core::Core;
use crate::domain::{JobFailure, JobOutput, JobState, Observation, Tool};

/// Characters of what is said about a result that does not fit.
const LONGEST: usize = 300;

/// The compiled output schemas, by tool.
#[derive(Debug, Default)]
pub(super) struct Outputs(HashMap<String, Validator>);

impl Outputs {
    /// Compiles every output schema once; nothing is fetched.
    ///
    /// # Errors
    /// [`EngineError::OutputSchema`] for the first that is none.
    pub(super) fn compile<'a>(tools: impl Iterator<Item = &'a Arc<Tool>>) -> Result<Self, EngineError> {
        let mut compiled = HashMap::new();
        for tool in tools {
            let Some(schema) = &tool.output_schema else { continue };
            let mut options = jsonschema::options();
            if schema.get("$schema").is_none() {
                options = options.with_draft(Draft::Draft202012);
            }
            let validator = options
                .build(schema)
                .map_err(|error| EngineError::OutputSchema { tool: tool.name.clone(), reason: error.to_string() })?;
            compiled.insert(tool.name.as_str().to_owned(), validator);
        }
        Ok(Self(compiled))
    }

    fn held(&self, tool: &str, seen: Observation) -> Observation {
        let (Some(schema), JobState::Succeeded(output)) = (self.0.get(tool), &seen.state) else { return seen };
        let wrong = match &output.data {
            None => Some("it has no data".to_owned()),
            Some(data) => schema.iter_errors(data).next().map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                path => format!("at `{path}`: {error}"),
            }),
        };
        let Some(wrong) = wrong else { return seen };
        let wrong: String = wrong.chars().take(LONGEST).collect();
        let failure = JobFailure {
            message: format!("the job ended well, but its result does not fit the tool's output schema: {wrong}"),
            code: None,
            // What the job handed over is still worth reading; as data it would break the promise.
            output: JobOutput { data: None, ..output.clone() },
        };
        Observation { state: JobState::Failed(failure), ..seen }
    }
}

impl Core {
    /// What is believed of a look at a job: its result fits the tool's promise, and the gateway's limit.
    pub(super) fn taken(&self, tool: &str, seen: Observation) -> Observation {
        cap(self.outputs.held(tool, seen), self.limits.max_result_bytes)
    }
}
