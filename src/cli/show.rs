//! Results as people read them.

use serde_json::{Value, json};

use super::args::Output;
use super::out::{code, note, result};
use super::remote::TaskView;

/// Prints the result of a call and gives the exit code that goes with it.
pub(super) fn tool_result(value: &Value, output: Output) -> u8 {
    let failed = value["isError"] == true;
    match output {
        Output::Json | Output::Lines => result(json!({ "status": "completed", "result": value }).to_string()),
        Output::Text => text_of(value, failed),
    }
    if failed { code::JOB_FAILED } else { 0 }
}

/// Prints a task that has ended and gives the exit code that goes with it.
pub(super) fn ended(task: &TaskView, output: Output) -> u8 {
    let value = &task.value["result"];
    let failed = value["isError"] == true;
    if output != Output::Text {
        result(task.value.to_string());
    }
    match task.status() {
        "completed" => {
            if output == Output::Text {
                text_of(value, failed);
            }
            if failed { code::JOB_FAILED } else { 0 }
        }
        "failed" => {
            let error = &task.value["error"];
            if output == Output::Text {
                note(format!("the task failed: {}", error["message"].as_str().unwrap_or("without a reason")));
                if error["data"]["retryable"] == true {
                    note("  hint: the same call may succeed later");
                }
            }
            code::TASK_FAILED
        }
        _ => {
            if output == Output::Text {
                note(format!(
                    "the task was cancelled{}",
                    task.message().map(|message| format!(": {message}")).unwrap_or_default()
                ));
            }
            code::CANCELLED
        }
    }
}

/// Prints a task that goes on.
pub(super) fn open(task: &TaskView, output: Output) {
    if output != Output::Text {
        result(task.value.to_string());
        return;
    }
    let message = task.message().map(|message| format!(": {message}")).unwrap_or_default();
    result(format!("{}  {}{message}", task.id(), task.status()));
    for request in task.value["inputRequests"].as_object().into_iter().flat_map(|requests| requests.values()) {
        result(format!("  ? {}", request["params"]["message"].as_str().unwrap_or("a question")));
    }
}

fn text_of(value: &Value, failed: bool) {
    if failed {
        note("the job failed:");
    }
    let content = value["content"].as_array().map_or(&[][..], Vec::as_slice);
    for part in content {
        let name = || part["name"].as_str().or(part["resource"]["uri"].as_str()).unwrap_or("unnamed");
        let kind = || part["mimeType"].as_str().or(part["resource"]["mimeType"].as_str()).unwrap_or("data");
        match part["type"].as_str() {
            Some("text") => result(part["text"].as_str().unwrap_or_default()),
            Some("resource_link") => result(format!("{}: {}", name(), part["uri"].as_str().unwrap_or_default())),
            Some("resource") => match part["resource"]["text"].as_str() {
                Some(text) => result(text),
                None => result(format!("[{} {}; use --output json for its bytes]", kind(), name())),
            },
            _ => result(format!("[{}; use --output json for its bytes]", kind())),
        }
    }
    if content.is_empty()
        && let Some(data) = value.get("structuredContent")
    {
        result(serde_json::to_string_pretty(data).unwrap_or_else(|_| data.to_string()));
    }
}
