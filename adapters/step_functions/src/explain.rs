//! What is called when, in plain sentences.

use serde_json::Value;

use crate::words::{Config, ToolWords};

pub(crate) fn explain(config: &Value, tool: &Value) -> Vec<String> {
    let config = serde_json::from_value::<Config>(config.clone());
    let (Ok(config), Ok(tool)) = (config, serde_json::from_value::<ToolWords>(tool.clone())) else { return Vec::new() };
    let machine = &tool.state_machine;
    let region = &config.region;
    let mut said = Vec::new();
    if tool.express {
        said.push(format!("Start and end: StartSyncExecution of {machine} in {region}; the answer is the end of the job."));
        said.push("A lost answer cannot be made up for: an express execution cannot be found again.".to_owned());
    } else {
        said.push(format!(
            "Start: StartExecution of {machine} in {region}, named `jobgate-` and the task's key, so that no repeat starts a second one."
        ));
        said.push("Look: DescribeExecution; while it runs, GetExecutionHistory from where the last look ended.".to_owned());
        said.push("Cancel: StopExecution.".to_owned());
    }
    if !tool.input.is_empty() {
        let fixed: Vec<&str> = tool.input.keys().map(String::as_str).collect();
        said.push(format!("Input: the caller's arguments, and {} as configured.", fixed.join(", ")));
    }
    for (state, approval) in &tool.approvals {
        said.push(format!(
            "Question: while {state} waits for a task token. Yes: SendTaskSuccess with the form's content. No: SendTaskFailure with {}.",
            approval.decline.error
        ));
    }
    said
}
