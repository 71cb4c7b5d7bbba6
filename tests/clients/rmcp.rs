//! The official Rust client, which is linked in and needs no script: the same steps, and the same return after a kill.

use std::fmt::Debug;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientConfig, GetTaskParams, InputResponses, ProtocolVersion,
    TaskPayload, UpdateTaskParams,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Value, json};

use super::steps::Story;
use jobgate_test_support::wait;

/// What a step came to, or why not.
type Outcome = Result<Value, String>;

/// How often `tasks/get` is asked before a step is given up.
const LOOKS: usize = 200;

/// A connection.
struct Client(RunningService<RoleClient, ClientConfig>);

/// The end of a task, and whether it asked something on the way.
struct End {
    result: Value,
    asked: usize,
}

impl Client {
    async fn open(url: &str) -> Result<Self, String> {
        // A second install is refused because the first one stands; both name the same provider of cryptography.
        rustls::crypto::ring::default_provider().install_default().ok();
        let config: ClientConfig = serde_json::from_value(json!({
            "protocolVersion": "2026-07-28",
            "capabilities": { "elicitation": { "form": {} }, "extensions": { "io.modelcontextprotocol/tasks": {} } },
            "clientInfo": { "name": "jobgate-test", "version": "1.0.0" },
        }))
        .map_err(said)?;
        let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        config.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url.to_owned()), mode).await.map(Self).map_err(said)
    }

    async fn call(&self, tool: &'static str, arguments: &Value) -> Result<CallToolResponse, String> {
        let mut params = CallToolRequestParams::new(tool);
        params.arguments = arguments.as_object().cloned();
        self.0.call_tool_once(params).await.map_err(said)
    }

    /// Starts a task and gives its id.
    async fn start(&self, tool: &'static str, arguments: Value) -> Result<String, String> {
        match self.call(tool, &arguments).await? {
            CallToolResponse::Task(made) => Ok(made.task.task_id),
            other => Err(format!("no task: {other:?}")),
        }
    }

    /// Follows a task to its end, and answers what it asks.
    async fn end(&self, id: &str, answer: &Value) -> Result<End, String> {
        let mut asked = 0;
        for _ in 0..LOOKS {
            let task = self.0.get_task(GetTaskParams::new(id)).await.map_err(said)?.task;
            let interval = task.task.poll_interval_ms;
            let result = match task.payload {
                TaskPayload::Completed { result } => Value::Object(result),
                TaskPayload::Failed { error } => json!({ "error": error }),
                TaskPayload::Cancelled => Value::from("cancelled"),
                open => {
                    if let TaskPayload::InputRequired { input_requests } = open {
                        asked += input_requests.len();
                        let answers: InputResponses = input_requests.into_keys().map(|key| (key, answer.clone())).collect();
                        self.0.update_task(UpdateTaskParams::new(id, answers)).await.map_err(said)?;
                    }
                    wait::pause(interval.map_or(Duration::from_secs(1), Duration::from_millis)).await;
                    continue;
                }
            };
            return Ok(End { result, asked });
        }
        Err(format!("{id} does not end"))
    }

    async fn run(&self, tool: &'static str, arguments: Value) -> Outcome {
        let id = self.start(tool, arguments).await?;
        Ok(self.end(&id, &Value::Null).await?.result)
    }

    async fn ask(&self, answer: Value) -> Outcome {
        let id = self.start("confirm_delete", json!({ "filename": "x.txt" })).await?;
        let end = self.end(&id, &answer).await?;
        if end.asked == 1 { Ok(end.result) } else { Err(format!("asked {} times", end.asked)) }
    }

    async fn cancelled(&self) -> Outcome {
        let id = self.start("slow_compute", json!({ "seconds": 60 })).await?;
        self.0.cancel_task(CancelTaskParams::new(&*id)).await.map_err(said)?;
        wanted(self.end(&id, &Value::Null).await?.result, |end| end == "cancelled")
    }

    async fn close(self) {
        self.0.cancel().await.ok();
    }
}

fn said(error: impl Debug) -> String {
    format!("{error:?}")
}

fn wanted(value: Value, is: impl Fn(&Value) -> bool) -> Outcome {
    if is(&value) { Ok(value) } else { Err(value.to_string()) }
}

fn text(result: &Value) -> &Value {
    &result["content"][0]["text"]
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "confirm": true } })
}

/// All steps of the story but the kill.
pub(crate) async fn story(url: &str) -> Story {
    let mut story = Story::default();
    let mut tell = |step: &str, outcome: Outcome| match outcome {
        Ok(detail) => story.add(step, Some(true), detail),
        Err(detail) => story.add(step, Some(false), Value::from(detail)),
    };
    let client = match Client::open(url).await {
        Ok(client) => client,
        Err(error) => {
            tell("connect", Err(error));
            return story;
        }
    };
    tell("connect", Ok(Value::Null));
    let tools = client.0.list_all_tools().await.map_err(said).map(|tools| tools.iter().any(|tool| tool.name == "slow_compute"));
    tell("list", tools.and_then(|listed| wanted(Value::Bool(listed), |it| *it == Value::Bool(true))));
    let quick = match client.call("greet", &json!({ "name": "Ada" })).await {
        Ok(CallToolResponse::Complete(result)) => serde_json::to_value(result).map_err(said),
        other => Err(said(other)),
    };
    tell("quick", quick.and_then(|result| wanted(result, |it| text(it) == "Hello, Ada!")));
    let job = client.run("slow_compute", json!({ "seconds": 1 })).await;
    tell("task", job.and_then(|end| wanted(end, |end| text(end) == "computed for 1 s")));
    let failing = client.run("failing_job", json!({})).await;
    tell("failing", failing.and_then(|end| wanted(end, |end| end["isError"] == true)));
    let fault = client.run("protocol_error_job", json!({})).await;
    tell("fault", fault.and_then(|end| wanted(end, |end| end["error"]["code"] == -32603)));
    tell("input_accept", client.ask(yes()).await);
    tell("input_decline", client.ask(json!({ "action": "decline" })).await);
    tell("cancel", client.cancelled().await);
    tell("resume", resume(&client, url).await);
    let unknown = match client.0.get_task(GetTaskParams::new("task_00000000000000000000000000000000")).await {
        Err(ServiceError::McpError(error)) if error.code.0 == -32602 => Ok(Value::Null),
        other => Err(said(other)),
    };
    tell("unknown_task", unknown);
    client.close().await;
    story
}

async fn resume(client: &Client, url: &str) -> Outcome {
    let id = client.start("slow_compute", json!({ "seconds": 2 })).await?;
    let again = Client::open(url).await?;
    let end = again.end(&id, &Value::Null).await?;
    again.close().await;
    wanted(end.result, |end| text(end) == "computed for 2 s")
}

/// A client that was there before the gateway was killed.
pub(crate) struct Kept {
    client: Client,
    url: String,
    job: String,
    question: String,
}

impl Kept {
    pub(crate) async fn open(url: &str) -> Result<Self, String> {
        let client = Client::open(url).await?;
        let job = client.start("slow_compute", json!({ "seconds": 8 })).await?;
        let question = client.start("confirm_delete", json!({ "filename": "kept.txt" })).await?;
        Ok(Self { client, url: url.to_owned(), job, question })
    }

    /// What it sees after the gateway was started again.
    pub(crate) async fn returns(self) -> Story {
        let mut story = Story::default();
        let mut tell = |step: &str, end: Result<End, String>, last: &str| match end {
            Ok(end) if text(&end.result) == last => story.add(step, Some(true), end.result),
            Ok(end) => story.add(step, Some(false), end.result),
            Err(error) => story.add(step, Some(false), Value::from(error)),
        };
        tell("kill_same", self.client.end(&self.job, &Value::Null).await, "computed for 8 s");
        self.client.close().await;
        match Client::open(&self.url).await {
            Ok(again) => {
                tell("kill_new", again.end(&self.job, &Value::Null).await, "computed for 8 s");
                tell("kill_input", again.end(&self.question, &yes()).await, "kept.txt is deleted.");
                again.close().await;
            }
            Err(error) => tell("kill_new", Err(error), ""),
        }
        story
    }
}
