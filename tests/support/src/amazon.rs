//! AWS as moto plays it: state machines that really run, topics and queues, asked past the gateway.

use std::time::Duration;

use serde_json::{Value, json};

use crate::engine::{Engine, shared};
use crate::wait;
use crate::wire::Wire;

/// Longest wait for one machine or one state.
const LIMIT: Duration = Duration::from_secs(30);

/// The account that moto has.
const ACCOUNT: &str = "us-east-1:123456789012";

/// What moto reads of a signature: which service it is for.
#[must_use]
pub fn signed_for(service: &str) -> String {
    format!("AWS4-HMAC-SHA256 Credential=test/20261130/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0")
}

/// The ARN of a state machine.
#[must_use]
pub fn machine_arn(name: &str) -> String {
    format!("arn:aws:states:{ACCOUNT}:stateMachine:{name}")
}

/// The ARN of a topic.
#[must_use]
pub fn topic_arn(name: &str) -> String {
    format!("arn:aws:sns:{ACCOUNT}:{name}")
}

/// The definition that lies beside the engine, as `moto/NAME.asl.json`.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn ready_definition(name: &str) -> Value {
    let file = shared().join(format!("engines/moto/{name}.asl.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// When an execution began.
fn started(execution: &Value) -> f64 {
    execution["startDate"].as_f64().unwrap_or_default()
}

/// A client of moto.
#[derive(Debug)]
pub struct Amazon {
    port: u16,
    wire: Wire,
}

impl Amazon {
    /// Of the moto that runs as `engine`.
    #[must_use]
    pub fn new(engine: &Engine) -> Self {
        Self { port: engine.port(), wire: Wire::new(engine.ready_line()) }
    }

    /// Makes a topic that delivers to an address.
    ///
    /// # Panics
    /// When moto refuses.
    pub async fn subscribe(&self, topic: &str, endpoint: &str) {
        self.sns(&[("Action", "CreateTopic"), ("Name", topic)]).await;
        self.sns(&[("Action", "Subscribe"), ("TopicArn", &topic_arn(topic)), ("Protocol", "http"), ("Endpoint", endpoint)]).await;
    }

    /// Sends a notification.
    ///
    /// # Panics
    /// When moto refuses.
    pub async fn publish(&self, topic: &str, message: &str) {
        self.sns(&[("Action", "Publish"), ("TopicArn", &topic_arn(topic)), ("Message", message)]).await;
    }

    async fn sns(&self, words: &[(&str, &str)]) {
        let words = words.iter().chain(&[("Version", "2010-03-31")]);
        let url = reqwest::Url::parse_with_params(&self.url(""), words).expect("an address");
        let (status, answer) = self.wire.read(url.as_str(), &[("authorization", &signed_for("sns"))]).await;
        assert_eq!(status, 200, "{url}: {answer}");
    }

    /// The certificate that `https://sns.us-east-1.amazonaws.com/NAME` stands for.
    ///
    /// # Panics
    /// When there is none.
    pub async fn certificate(&self, name: &str) -> String {
        let url = self.url(name);
        let (status, pem) = self.wire.read(&url, &[("authorization", &signed_for("sns"))]).await;
        assert!(status == 200 && pem.starts_with("-----BEGIN CERTIFICATE-----"), "{status}: {pem}");
        pem
    }

    /// Makes a queue and gives its address.
    ///
    /// # Panics
    /// When moto refuses.
    pub async fn queue(&self, name: &str) -> String {
        let answer = self.ask("sqs", "AmazonSQS.CreateQueue", json!({ "QueueName": name })).await;
        answer["QueueUrl"].as_str().unwrap_or_else(|| panic!("no address in {answer}")).to_owned()
    }

    /// Calls an operation of Step Functions.
    ///
    /// # Panics
    /// When moto refuses.
    pub async fn states(&self, operation: &str, body: Value) -> Value {
        self.ask("states", &format!("AWSStepFunctions.{operation}"), body).await
    }

    async fn ask(&self, service: &str, target: &str, body: Value) -> Value {
        let (signed, kind) = (signed_for(service), "application/x-amz-json-1.0");
        let headers = [("x-amz-target", target), ("authorization", &signed), ("content-type", kind)];
        let (status, answer) = self.wire.plain("POST", &self.url(""), &headers, Some(body)).await;
        assert_eq!(status, 200, "{target}: {answer}");
        answer
    }

    /// Makes a state machine.
    ///
    /// # Panics
    /// When moto refuses.
    pub async fn machine(&self, name: &str, definition: &Value) {
        let role = "arn:aws:iam::123456789012:role/states";
        self.states("CreateStateMachine", json!({ "name": name, "definition": definition.to_string(), "roleArn": role })).await;
    }

    /// Makes the state machine that lies beside the engine, as `moto/NAME.asl.json`.
    ///
    /// # Panics
    /// When there is none, or moto refuses.
    pub async fn ready_machine(&self, name: &str) {
        self.machine(name, &ready_definition(name)).await;
    }

    /// Makes the state machine `patient`: `ok`, which takes eight seconds instead of two, long enough to kill a gateway meanwhile.
    ///
    /// # Panics
    /// When moto refuses.
    pub async fn patient_machine(&self) {
        let mut definition = ready_definition("ok");
        definition["States"]["Sleep"]["Seconds"] = json!(8);
        self.machine("patient", &definition).await;
    }

    /// The executions of a machine that it ever saw, the last one first.
    ///
    /// # Panics
    /// When moto refuses.
    pub async fn executions(&self, machine: &str) -> Vec<Value> {
        let answer = self.states("ListExecutions", json!({ "stateMachineArn": machine_arn(machine) })).await;
        answer["executions"].as_array().cloned().unwrap_or_default()
    }

    /// The only execution of a machine.
    ///
    /// # Panics
    /// When there is none, or more than one.
    pub async fn execution(&self, machine: &str) -> String {
        let executions = self.executions(machine).await;
        assert_eq!(executions.len(), 1, "{executions:?}");
        executions[0]["executionArn"].as_str().expect("an execution has an ARN").to_owned()
    }

    /// Waits until a machine has this many executions, the last of them in this state.
    ///
    /// # Panics
    /// When that takes too long.
    pub async fn until(&self, machine: &str, count: usize, state: &str) {
        wait::until_async(&format!("{machine} to be {state}"), LIMIT, async || {
            let mut executions = self.executions(machine).await;
            executions.sort_by(|one, other| started(one).total_cmp(&started(other)));
            (executions.len() == count && executions[count - 1]["status"] == state).then_some(())
        })
        .await;
    }

    /// The tokens that a machine's `TaskScheduled` events have handed out in a `MessageBody`, the last one last.
    ///
    /// # Panics
    /// When an execution has handed out none.
    pub async fn tokens(&self, machine: &str) -> Vec<String> {
        let mut executions = self.executions(machine).await;
        executions.sort_by(|one, other| started(one).total_cmp(&started(other)));
        let mut found = Vec::new();
        for execution in executions {
            let history = self.states("GetExecutionHistory", json!({ "executionArn": execution["executionArn"] })).await;
            let handed_out =
                history["events"].as_array().and_then(|events| events.iter().find(|it| it["type"] == "TaskScheduled"));
            let parameters = handed_out.and_then(|event| event["taskScheduledEventDetails"]["parameters"].as_str());
            let parameters: Option<Value> = parameters.and_then(|text| serde_json::from_str(text).ok());
            let token = parameters.as_ref().and_then(|it| it["MessageBody"]["taskToken"].as_str());
            found.push(token.unwrap_or_else(|| panic!("no token in {history}")).to_owned());
        }
        found
    }

    /// Makes it forget everything.
    ///
    /// # Panics
    /// When it refuses.
    pub async fn forget(&self) {
        let (status, answer) = self.wire.plain("POST", &self.url("moto-api/reset"), &[], None).await;
        assert_eq!(status, 200, "{answer}");
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}
