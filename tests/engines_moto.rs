//! Real notifications of SNS, signed as Amazon signs them, sent by moto's Step Functions: taken as data at one provider and as a reason to
//! look at another, each pinned to its topic and certificate.

use std::fs;
use std::time::Duration;

use jobgate_test_support::amazon::{Amazon, signed_for, topic_arn};
use jobgate_test_support::engine::Engine;
use jobgate_test_support::gateway::{Gateway, Setup};
use jobgate_test_support::relay::{Relay, Seen, Way};
use jobgate_test_support::wait;
use serde_json::{Value, json};

/// Jobs are looked at every ten minutes, so whatever happens earlier was told.
const CONFIG: &str = r#"
# The tests look at tasks more often than callers should.
limits: { polls_per_interval: unlimited }
providers:
  told:
    adapter: rest
    base_url: http://127.0.0.1:PORT
    # moto looks at the credential's scope alone.
    auth: { header: { name: Authorization, value: env:AWS_AUTHORIZATION } }
    headers: { Content-Type: application/x-amz-json-1.0 }
    error_message: "{{ body.message }}"
    webhook:
      scheme: aws_sns
      topic_arn: arn:aws:sns:us-east-1:123456789012:told
      certificate: told.pem
      trust: payload
      safety_poll: 10m
    delivery:
      when: body.Type == 'Notification'
      job: "{{ (body.Message | from_json).executionArn }}"
      body: "{{ body.Message | from_json }}"
  hinted:
    adapter: rest
    base_url: http://127.0.0.1:PORT
    auth: { header: { name: Authorization, value: env:AWS_AUTHORIZATION } }
    headers: { Content-Type: application/x-amz-json-1.0 }
    webhook:
      scheme: aws_sns
      topic_arn: arn:aws:sns:us-east-1:123456789012:hinted
      certificate: hinted.pem
      safety_poll: 10m
    delivery:
      when: body.Type == 'Notification'
      job: "{{ (body.Message | from_json).executionArn }}"
tools:
  greet:
    provider: told
    description: Runs the machine `greet`.
    input: { type: object, properties: { name: { type: string }, fail: { type: boolean } }, required: [name, fail] }
    task: { poll: { initial: 10m, max: 10m } }
    job:
      submit:
        request:
          path: /
          headers: { X-Amz-Target: AWSStepFunctions.StartExecution }
          body:
            stateMachineArn: arn:aws:states:us-east-1:123456789012:stateMachine:greet
            name: "{{ key }}"
            input: "{{ args | to_json }}"
        job: { id: "{{ body.executionArn }}" }
      status:
        request:
          path: /
          headers: { X-Amz-Target: AWSStepFunctions.DescribeExecution }
          body: { executionArn: "{{ job.id }}" }
        accept: [200, 400]
        word: "{{ body.status }}"
        rules:
          - { when: "'DoesNotExist' in body.__type", state: not_found }
          - { is: [RUNNING], state: running }
          - { is: [SUCCEEDED], state: succeeded }
          - { is: [FAILED, TIMED_OUT], state: failed }
          - { is: [ABORTED], state: cancelled }
      result: { data: "{{ body.output | from_json }}" }
      failure: { message: "{{ body.error }}: {{ body.cause }}" }
  ask:
    provider: hinted
    description: Runs the machine `ask`, which waits for a person.
    input: { type: object, properties: { question: { type: string } }, required: [question] }
    task: { poll: { initial: 10m, max: 10m } }
    job:
      submit:
        request:
          path: /
          headers: { X-Amz-Target: AWSStepFunctions.StartExecution }
          body:
            stateMachineArn: arn:aws:states:us-east-1:123456789012:stateMachine:ask
            name: "{{ key }}"
            input: "{{ args | to_json }}"
        job: { id: "{{ body.executionArn }}" }
      status:
        request:
          path: /
          headers: { X-Amz-Target: AWSStepFunctions.GetExecutionHistory }
          body: { executionArn: "{{ job.id }}" }
        word: "{{ (body.events | last).type }}"
        rules:
          - { is: [ExecutionSucceeded], state: succeeded }
          - { is: [ExecutionFailed, ExecutionTimedOut, ExecutionAborted], state: failed }
          - { when: "(body.events | selectattr('type', 'equalto', 'TaskScheduled') | list) and not (body.events | selectattr('type', 'equalto', 'TaskSucceeded') | list)", state: input_required }
          - { when: "true", state: running }
      result: { data: "{{ (body.events | last).executionSucceededEventDetails.output | from_json }}" }
      input:
        key: "{{ ((body.events | selectattr('type', 'equalto', 'TaskScheduled') | last).taskScheduledEventDetails.parameters | from_json).Message.taskToken }}"
        message: "{{ ((body.events | selectattr('type', 'equalto', 'TaskScheduled') | last).taskScheduledEventDetails.parameters | from_json).Message.question }}"
        form: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
        accept:
          request:
            path: /
            headers: { X-Amz-Target: AWSStepFunctions.SendTaskSuccess }
            body: { taskToken: "{{ answer.key }}", output: "{{ answer.content | to_json }}" }
"#;

/// J1, J5, K1, K3: what SNS says is so where it is trusted, and a reason to look elsewhere; what is changed, foreign or sent again has no
/// effect; what is lost is found by looking.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_of_sns_are_verified_and_taken() {
    let Some(engine) = Engine::start("moto") else { return };
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).env("AWS_AUTHORIZATION", &signed_for("states"));
    let (calls, hooks) = (Relay::before(engine.port()).await, Relay::before(setup.port()).await);
    let amazon = Amazon::new(&engine);

    // Whose certificate it is, is known from one message; moto makes a key for each subscription.
    hooks.rule(|_, _| Way::Refuse(200));
    for (topic, provider) in [("told", "told"), ("hinted", "hinted"), ("foreign", "told")] {
        amazon.subscribe(topic, &format!("http://127.0.0.1:{}/hooks/{provider}", hooks.port())).await;
        amazon.publish(topic, "hello").await;
        let url = hooks.seen().pop().unwrap().body["SigningCertURL"].as_str().unwrap().to_owned();
        let name = url.rsplit('/').next().unwrap();
        fs::write(folder.path().join(format!("{topic}.pem")), amazon.certificate(name).await).unwrap();
    }
    hooks.rule(|_, _| Way::Pass);
    amazon.machine("greet", &greet()).await;
    amazon.machine("ask", &ask()).await;

    let config = folder.path().join("sns.yaml");
    fs::write(&config, CONFIG.replace("PORT", &calls.port().to_string())).unwrap();
    let setup = setup.config(&config);
    let gateway = setup.start().await;
    let looks = || calls.seen().iter().filter(|seen| seen.headers.iter().any(|(_, value)| value.contains("Describe"))).count();

    // Taken as data: nobody looked.
    let ended = call(&gateway, "Ada", false).await;
    assert_eq!(ended["result"]["structuredContent"], json!({ "greeting": "hello Ada" }), "{ended}");
    let ended = call(&gateway, "Bob", true).await;
    assert_eq!(ended["result"]["isError"], true, "{ended}");
    assert!(ended.to_string().contains("RenderError: the input asks for it"), "{ended}");
    assert_eq!(looks(), 0, "the deliveries said it");

    // Again, changed, for another topic, at another provider, by another sender.
    let id = gateway.wire.start_task("greet", json!({ "name": "slow", "fail": false })).await;
    let started = hooks.seen();
    let real = started.last().unwrap();
    let mut changed = real.body.clone();
    changed["Message"] = json!(changed["Message"].as_str().unwrap().replace("FAILED", "SUCCEEDED"));
    let mut topic = real.body.clone();
    topic["TopicArn"] = json!("arn:aws:sns:us-east-1:123456789012:foreign");
    for (provider, body, status) in
        [("told", &real.body, 200), ("told", &changed, 401), ("told", &topic, 401), ("hinted", &real.body, 401)]
    {
        let url = format!("http://127.0.0.1:{}/hooks/{provider}", setup.port());
        assert_eq!(gateway.wire.plain("POST", &url, &[], Some(body.clone())).await.0, status, "{provider}: {body}");
    }
    amazon.publish("foreign", &real.body["Message"].as_str().unwrap().replace("FAILED", "SUCCEEDED")).await;
    assert_eq!(hooks.seen().pop().unwrap().answers, [401], "a notification of a foreign topic");
    let ended = gateway.wire.ended(&id, LIMIT).await;
    assert_eq!(ended["result"]["structuredContent"], json!({ "greeting": "hello slow" }), "{ended}");

    // A reason to look.
    let id = gateway.wire.start_task("ask", json!({ "question": "Ship it?" })).await;
    let task = gateway.wire.task_in(&id, &["input_required"], Duration::from_secs(10)).await;
    let (key, asked) = task["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert!(asked.to_string().contains("Ship it?"), "{task}");
    gateway.wire.answer(&id, json!({ key: { "action": "accept", "content": { "approved": true } } })).await.unwrap();
    let execution = amazon.execution("ask").await;
    wait::until_async("the machine to go on", Duration::from_secs(10), async || {
        (amazon.states("DescribeExecution", json!({ "executionArn": execution })).await["status"] == "SUCCEEDED").then_some(())
    })
    .await;
    amazon.publish("hinted", &json!({ "executionArn": execution }).to_string()).await;
    let ended = gateway.wire.ended(&id, Duration::from_secs(10)).await;
    assert_eq!(ended["result"]["structuredContent"], json!({ "approved": true }), "{ended}");
    assert!(gateway.stop().success());

    // moto sends a notification once; here it is lost.
    fs::write(&config, CONFIG.replace("PORT", &calls.port().to_string()).replace("10m", "1s")).unwrap();
    let gateway = setup.start().await;
    hooks.rule(|_: &Seen, _| Way::Refuse(503));
    let ended = call(&gateway, "Eve", false).await;
    assert_eq!(ended["result"]["structuredContent"], json!({ "greeting": "hello Eve" }), "{ended}");
    assert!(looks() > 0);
    assert!(gateway.stop().success());
    engine.stop();
}

/// A call of `greet`, to its end. The wire looks often: callers are told to look as rarely as the gateway does.
async fn call(gateway: &Gateway, name: &str, fail: bool) -> Value {
    let id = gateway.wire.start_task("greet", json!({ "name": name, "fail": fail })).await;
    gateway.wire.ended(&id, LIMIT).await
}

/// Longest wait for one machine.
const LIMIT: Duration = Duration::from_secs(30);

/// Waits two seconds, says how it went, and ends so.
fn greet() -> Value {
    let tell = |said: Value, next: &str| {
        json!({
            "Type": "Task",
            "Resource": "arn:aws:states:::sns:publish",
            "Parameters": { "TopicArn": topic_arn("told"), "Message": said },
            "ResultPath": null,
            "Next": next,
        })
    };
    json!({
        "StartAt": "Wait",
        "States": {
            "Wait": { "Type": "Wait", "Seconds": 2, "Next": "Check" },
            "Check": {
                "Type": "Choice",
                "Choices": [{ "Variable": "$.fail", "BooleanEquals": true, "Next": "TellBad" }],
                "Default": "Greet",
            },
            "Greet": {
                "Type": "Pass",
                "Parameters": { "greeting.$": "States.Format('hello {}', $.name)" },
                "Next": "TellGood",
            },
            "TellGood": tell(
                json!({
                    "executionArn.$": "$$.Execution.Id",
                    "status": "SUCCEEDED",
                    "output.$": "States.JsonToString($)",
                }),
                "Good",
            ),
            "Good": { "Type": "Succeed" },
            "TellBad": tell(
                json!({
                    "executionArn.$": "$$.Execution.Id",
                    "status": "FAILED",
                    "error": "RenderError",
                    "cause": "the input asks for it",
                }),
                "Bad",
            ),
            "Bad": { "Type": "Fail", "Error": "RenderError", "Cause": "the input asks for it" },
        },
    })
}

/// Tells of a question, and goes on with its answer.
fn ask() -> Value {
    json!({
        "StartAt": "Ask",
        "States": {
            "Ask": {
                "Type": "Task",
                "Resource": "arn:aws:states:::sns:publish.waitForTaskToken",
                "Parameters": {
                    "TopicArn": topic_arn("hinted"),
                    "Message": {
                        "executionArn.$": "$$.Execution.Id",
                        "question.$": "$.question",
                        "taskToken.$": "$$.Task.Token",
                    },
                },
                "End": true,
            },
        },
    })
}
