//! A running gateway as its clients see it: MCP 2026-07-28 with the tasks extension, over the official client.

use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{Clock, EnvAndFiles, Secret, SecretError, SecretRef, SecretSource as _};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientConfig, GetTaskParams, InputResponses, ProtocolVersion,
    ReadResourceRequestParams, RequestMetaObject, UpdateTaskParams,
};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{AuthRequiredError, StreamableHttpClientTransportConfig};
use rmcp::{RoleClient, ServiceError};
use serde_json::{Map, Value, json};

use super::args::RemoteArgs;
use super::out::Failure;

/// No answer of the gateway takes longer, short of a call.
const PATIENCE: Duration = Duration::from_secs(60);
/// A call may block for as long as its tool allows.
const CALL_PATIENCE: Duration = Duration::from_secs(60 * 60);

/// A connection.
pub(super) struct Remote {
    client: RunningService<RoleClient, ClientConfig>,
    clock: Arc<dyn Clock>,
    url: String,
}

/// A tool, as far as a call needs it.
pub(super) struct RemoteTool {
    pub(super) name: String,
    pub(super) input_schema: Value,
}

/// What a call gave.
pub(super) enum Called {
    /// The result itself.
    Result(Value),
    /// Questions before the job starts, and what has to come back with their answers.
    Questions { requests: Value, state: Option<String> },
    /// A task.
    Task(TaskView),
}

/// Where a resource's bytes are.
pub(super) enum Read {
    /// In the answer: `text`, or `blob` in base64.
    Content(Value),
    /// Too many for an answer: they come from an address that the gateway gave.
    At(reqwest::Response),
}

/// What the gateway says of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TaskView {
    /// The whole, as it came.
    pub(super) value: Value,
}

impl TaskView {
    pub(super) fn id(&self) -> &str {
        self.value["taskId"].as_str().unwrap_or_default()
    }

    pub(super) fn status(&self) -> &str {
        self.value["status"].as_str().unwrap_or_default()
    }

    pub(super) fn message(&self) -> Option<&str> {
        self.value["statusMessage"].as_str()
    }

    pub(super) fn poll_interval(&self) -> Duration {
        let asked = self.value["pollIntervalMs"].as_u64().unwrap_or(1000);
        Duration::from_millis(asked.clamp(100, 60_000))
    }

    pub(super) fn is_ended(&self) -> bool {
        matches!(self.status(), "completed" | "failed" | "cancelled")
    }
}

impl Remote {
    /// Connects to the gateway that `args` name.
    pub(super) async fn connect(args: &RemoteArgs, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        let url = args.url.as_str();
        // A second install is refused because the first one stands; both name the same provider of cryptography.
        rustls::crypto::ring::default_provider().install_default().ok();
        let parsed =
            reqwest::Url::parse(url).map_err(|error| Failure::usage(format!("--url: `{url}` is no address: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(
                Failure::usage(format!("--url: `{url}` is no http(s) address")).hint("for example http://127.0.0.1:8080/mcp")
            );
        }
        let config: ClientConfig = serde_json::from_value(json!({
            "protocolVersion": "2026-07-28",
            "capabilities": { "elicitation": { "form": {}, "url": {} }, "extensions": { "io.modelcontextprotocol/tasks": {} } },
            "clientInfo": { "name": "jobgate-cli", "version": env!("CARGO_PKG_VERSION") },
        }))
        .map_err(|error| Failure::new(format!("the client cannot be set up: {error}")))?;
        let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
        let mut way = StreamableHttpClientTransportConfig::with_uri(url.to_owned());
        way.auth_header = token(args)?.map(|token| token.expose().to_owned());
        let connecting = config.serve_with_lifecycle(StreamableHttpClientTransport::from_config(way), mode);
        let client = tokio::select! {
            client = connecting => client.map_err(|error| {
                let cause: &(dyn std::error::Error + 'static) = match &error {
                    ClientInitializeError::TransportError { error, .. } => error.error.as_ref(),
                    other => other,
                };
                if let Some(refused) = refusal(cause) {
                    return Failure::new(format!("the gateway at {url} does not let this caller in: {refused}"))
                        .hint("set JOBGATE_TOKEN or name a file with `--token-file FILE`; `jobgate token new` makes a token");
                }
                let reason = innermost(cause);
                Failure::new(format!("no gateway answers at {url}: {reason}"))
                    .hint("start one with `jobgate serve`, or name another with `--url http://HOST:PORT/mcp`")
            })?,
            () = clock.sleep(Duration::from_secs(30)) => {
                return Err(Failure::new(format!("{url} does not answer within 30 s")));
            }
        };
        Ok(Self { client, clock, url: url.to_owned() })
    }

    /// Waits for an answer, but not without end.
    async fn bounded<T>(&self, answer: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Failure> {
        self.within(PATIENCE, answer).await
    }

    async fn within<T>(&self, limit: Duration, answer: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Failure> {
        tokio::select! {
            answer = answer => answer.map_err(|error| self.failure(error)),
            () = self.clock.sleep(limit) => {
                Err(Failure { lost: true, ..Failure::new(format!("{} does not answer within {} s", self.url, limit.as_secs())) })
            }
        }
    }

    fn failure(&self, error: ServiceError) -> Failure {
        match error {
            ServiceError::McpError(error) => Failure::new(format!("{} ({})", error.message, error.code.0)),
            ServiceError::TransportSend(error) => self.lost(&format!(": {}", innermost(error.error.as_ref()))),
            ServiceError::TransportClosed => self.lost(""),
            other => Failure::new(other.to_string()),
        }
    }

    fn lost(&self, reason: &str) -> Failure {
        Failure { lost: true, ..Failure::new(format!("the connection to {} is lost{reason}", self.url)) }
    }

    /// All tools.
    pub(super) async fn tools(&self) -> Result<Vec<RemoteTool>, Failure> {
        let tools = self.bounded(self.client.list_all_tools()).await?;
        Ok(tools
            .into_iter()
            .map(|tool| RemoteTool { name: tool.name.into_owned(), input_schema: Value::Object((*tool.input_schema).clone()) })
            .collect())
    }

    /// Calls a tool; `key` makes a repetition harmless.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        key: &str,
        answers: Option<(InputResponses, Option<String>)>,
    ) -> Result<Called, Failure> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        let mut meta = RequestMetaObject::new();
        meta.0.0.insert("idempotencyKey".to_owned(), Value::from(key));
        params.meta = Some(meta);
        if let Some((responses, state)) = answers {
            params.input_responses = Some(responses);
            params.request_state = state;
        }
        let as_json = |error: serde_json::Error| Failure::new(format!("the gateway's answer cannot be read: {error}"));
        match self.within(CALL_PATIENCE, self.client.call_tool_once(params)).await? {
            CallToolResponse::Complete(result) => Ok(Called::Result(serde_json::to_value(result).map_err(as_json)?)),
            CallToolResponse::InputRequired(result) => Ok(Called::Questions {
                requests: serde_json::to_value(result.input_requests).map_err(as_json)?,
                state: result.request_state,
            }),
            CallToolResponse::Task(task) => {
                Ok(Called::Task(TaskView { value: serde_json::to_value(task.task).map_err(as_json)? }))
            }
            other => Err(Failure::new(format!("the gateway gave an answer of a new kind: {other:?}"))),
        }
    }

    /// A task as it is now.
    pub(super) async fn get(&self, id: &str) -> Result<TaskView, Failure> {
        let task = self.bounded(self.client.get_task(GetTaskParams::new(id))).await.map_err(|failure| unknown(failure, id))?;
        let value = serde_json::to_value(task.task).map_err(|error| Failure::new(error.to_string()))?;
        Ok(TaskView { value })
    }

    /// Reads a kept artifact.
    pub(super) async fn read(&self, uri: &str) -> Result<Read, Failure> {
        let reading = Box::pin(self.client.read_resource(ReadResourceRequestParams::new(uri)));
        let answer = self.within(CALL_PATIENCE, async { Ok(reading.await) }).await?;
        match answer {
            Ok(read) => {
                let read = serde_json::to_value(read).map_err(|error| Failure::new(error.to_string()))?;
                Ok(Read::Content(read["contents"][0].clone()))
            }
            Err(ServiceError::McpError(error)) if error.data.as_ref().is_some_and(|data| data["url"].is_string()) => {
                let url = error.data.as_ref().and_then(|data| data["url"].as_str()).unwrap_or_default();
                let answer = reqwest::get(url).await.and_then(reqwest::Response::error_for_status);
                answer.map(Read::At).map_err(|error| Failure::new(error.without_url().to_string()))
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Answers a task's questions.
    pub(super) async fn answer(&self, id: &str, responses: InputResponses) -> Result<(), Failure> {
        self.bounded(self.client.update_task(UpdateTaskParams::new(id, responses))).await.map_err(|failure| unknown(failure, id))
    }

    /// Cancels a task.
    pub(super) async fn cancel(&self, id: &str) -> Result<(), Failure> {
        self.bounded(self.client.cancel_task(CancelTaskParams::new(id))).await.map_err(|failure| unknown(failure, id))
    }

    /// Ends the connection.
    pub(super) async fn close(self) {
        self.client.cancel().await.ok();
    }
}

/// The token to show: never from the command line, which every user of the machine can read.
fn token(args: &RemoteArgs) -> Result<Option<Secret>, Failure> {
    let named = match &args.token_file {
        Some(file) => EnvAndFiles.read(&SecretRef::File(file.clone())),
        None => EnvAndFiles.read(&SecretRef::Env("JOBGATE_TOKEN".to_owned())),
    };
    match named {
        Ok(token) => Ok(Some(token)),
        Err(SecretError::Env(_)) => Ok(None),
        Err(error) => Err(Failure::usage(format!("--token-file: {error}"))),
    }
}

/// A task that is not there is worth a better word than the protocol has.
fn unknown(failure: Failure, id: &str) -> Failure {
    if failure.message.ends_with("(-32602)") {
        return failure.hint(format!(
            "is `{id}` the whole id, and has the task's life not ended? `jobgate tasks list` shows what there is"
        ));
    }
    failure
}

/// What a gateway that wants to know who calls said of the token, or of its lack.
fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut error = Some(error);
    while let Some(cause) = error {
        if let Some(refused) = cause.downcast_ref::<AuthRequiredError>() {
            let challenge = &refused.www_authenticate_header;
            let said = challenge.split_once("error_description=\"").and_then(|(_, rest)| rest.split_once('"'));
            return Some(said.map_or_else(|| "it wants a token".to_owned(), |(said, _)| said.to_owned()));
        }
        error = cause.source();
    }
    None
}

/// The cause at the bottom, which is what people can act on.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
