//! Deliveries as real services send them: which words read them, which jobs they name, what they say; and hostile ones.
//! Numbers in names are those of the project's list of hostile inputs.
#![expect(clippy::unwrap_used, reason = "a test's helpers may fail loudly")]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, Deps, EnvAndFiles, ErrorKind, FixedRandom, IdempotencyKey, Issues, JobRef, JobState,
    ManualClock, Observation, Part, Place, Timestamp, ToolWords, Transport, TransportLimits, factory,
};
use jobgate_adapter_rest::Rest;
use jobgate_adapter_testkit::verified;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Words of a provider's `delivery:` and of a tool's `job:` without its `submit`, and an adapter made of them.
struct Reader {
    adapter: Arc<dyn Adapter>,
    cx: CallContext,
}

fn deps() -> Deps {
    Deps {
        provider: "p".to_owned(),
        place: Place::root().key("providers").key("p"),
        clock: Arc::new(ManualClock::new(Timestamp::from_millis(0))),
        random: Arc::new(FixedRandom::new(1)),
        secrets: Arc::new(EnvAndFiles),
        transport: Transport::new(TransportLimits::default()).unwrap(),
        data_dir: None,
    }
}

impl Reader {
    fn new(delivery: &str, job: &str) -> Self {
        let delivery: Value = serde_saphyr::from_str(delivery).unwrap();
        let mut job: Value = serde_saphyr::from_str(job).unwrap();
        job["submit"] = json!({ "request": { "path": "/jobs", "body": {} }, "job": { "id": "{{ body.id }}" } });
        let provider = json!({ "base_url": "https://api.example.com/v1", "delivery": delivery });
        Self::of(provider, job, json!({ "type": "object" }))
    }

    /// Of the one provider and the one tool of a configuration.
    fn of_document(text: &str) -> Self {
        let document: Value = serde_saphyr::from_str(text).unwrap();
        let only = |section: &str| document[section].as_object().unwrap().values().next().unwrap().clone();
        let (mut provider, tool) = (only("providers"), only("tools"));
        ["adapter", "webhook", "auth"].iter().for_each(|word| drop(provider.as_object_mut().unwrap().remove(*word)));
        Self::of(provider, tool["job"].clone(), tool["input"].clone())
    }

    fn of(provider: Value, job: Value, input_schema: Value) -> Self {
        let place = Place::root().key("tools").key("t").key("job");
        let tools = vec![ToolWords { name: "t".to_owned(), input_schema, place, words: job }];
        let mut issues = Issues::new();
        let checked = factory::<Rest>().check(&deps().place, provider, tools, &mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        let cx = CallContext {
            tool: "t".to_owned(),
            key: IdempotencyKey::new("0123456789abcdef0123456789abcdef"),
            timeout: Duration::from_secs(10),
            arguments: Arc::default(),
            started_at: Timestamp::from_millis(0),
            callback_url: Some("https://gateway.example.com/hooks/p/a-token-that-nobody-can-guess".to_owned()),
            cancel: None,
        };
        Self { adapter: checked.unwrap().build(&deps()).unwrap(), cx }
    }

    fn jobs_in(&self, body: &[u8]) -> Result<Vec<String>, AdapterError> {
        Ok(self.adapter.jobs_in(&verified(body))?.iter().map(|job| job.id().to_owned()).collect())
    }

    fn read(&self, id: &str, body: &[u8]) -> Result<Option<Observation>, AdapterError> {
        self.adapter.read(&self.cx, &JobRef::new(id), &verified(body))
    }

    /// What a delivery says of each of its jobs, in short.
    fn said(&self, body: &[u8]) -> Vec<String> {
        let jobs = self.jobs_in(body).unwrap();
        jobs.into_iter().map(|id| format!("{id}: {}", short(self.read(&id, body).unwrap()))).collect()
    }
}

/// One line: the state, what it hands over, and the sentence and counts with it.
fn short(seen: Option<Observation>) -> String {
    let Some(seen) = seen else { return "nothing".to_owned() };
    let state = match seen.state {
        JobState::Queued => "queued".to_owned(),
        JobState::Running => "running".to_owned(),
        JobState::Succeeded(output) => {
            let parts = output.parts.iter().map(|part| match part {
                Part::Text(text) => format!(" {text}"),
                Part::Link { uri, .. } => format!(" {uri}"),
                other => format!(" {other:?}"),
            });
            let data = output.data.iter().map(|data| format!(" {data}"));
            format!("succeeded{}", parts.chain(data).collect::<String>())
        }
        JobState::Failed(failure) => format!("failed {}", failure.message),
        JobState::Cancelled => "cancelled".to_owned(),
        JobState::Unrecognized(word) => format!("unrecognized {word}"),
        other => format!("{other:?}"),
    };
    let total = |total: Option<f64>| total.map(|total| format!(" of {total}")).unwrap_or_default();
    let progress = seen.progress.map(|progress| format!(", {}{}", progress.done, total(progress.total))).unwrap_or_default();
    let message = seen.message.map(|message| format!(" [{message}]")).unwrap_or_default();
    format!("{state}{progress}{message}")
}

/// A service whose deliveries look like its status answers.
fn plain() -> Reader {
    Reader::new("job: '{{ body.id }}'", PLAIN)
}

const PLAIN: &str = "
status:
  request: { path: '/jobs/{{ job.id }}' }
  word: '{{ body.status }}'
  rules:
    - { is: [starting], state: queued }
    - { is: [processing], state: running }
    - { is: [completed, succeeded], state: succeeded }
    - { is: [failed], state: failed }
    - { is: [canceled], state: cancelled }
result: { data: '{{ body.output }}' }
failure: { message: '{{ body.error }}' }
";

struct Service {
    name: &'static str,
    delivery: &'static str,
    job: &'static str,
    /// What is delivered, and what is said of each job.
    cases: &'static [(&'static str, &'static [&'static str])],
}

/// A6: what deliveries of real services say, in words of YAML alone.
const SERVICES: &[Service] = &[
    Service {
        name: "a prediction server without a status endpoint (Cog, Replicate)",
        delivery: "job: '{{ body.id }}'",
        job: "
status:
  word: '{{ body.status }}'
  rules:
    - { is: [starting], state: queued }
    - { is: [processing], state: running }
    - { is: [succeeded], state: succeeded }
    - { is: [failed], state: failed }
    - { is: [canceled], state: cancelled }
  message: \"{{ body.logs | split('\\n') | select | list | last | optional }}\"
result: { data: { video: '{{ body.output }}' } }
failure: { message: '{{ body.error }}' }
",
        cases: &[
            (r#"{"id": "job-1", "logs": "", "metrics": {}, "status": "processing"}"#, &["job-1: running"]),
            (
                r#"{"id": "job-1", "logs": "ada: step 1\nada: step 2\n", "metrics": {}, "status": "processing"}"#,
                &["job-1: running [ada: step 2]"],
            ),
            (
                r#"{"id": "job-1", "logs": "", "metrics": {"predict_time": 2.1}, "output": "data:video/mp4;base64,AAAA", "status": "succeeded"}"#,
                &[r#"job-1: succeeded {"video":"data:video/mp4;base64,AAAA"}"#],
            ),
            (
                r#"{"error": "Prediction failed: out of paint", "id": "job-f", "logs": "", "status": "failed"}"#,
                &["job-f: failed Prediction failed: out of paint"],
            ),
            (r#"{"id": "job-c", "logs": "", "status": "canceled"}"#, &["job-c: cancelled"]),
            (r#"{"id": "job-n", "logs": "", "status": "resting"}"#, &["job-n: unrecognized resting"]),
        ],
    },
    Service {
        name: "a build server that tells of builds where the job is the request (Buildbot)",
        delivery: "
when: body.buildrequest is defined
job: '{{ body.buildrequest.buildrequestid }}'
",
        job: "
status:
  request: { path: '/buildrequests/{{ job.id }}' }
  rules:
    - { when: 'body.buildrequests[0].complete', state: succeeded }
delivery:
  rules:
    - { when: not body.complete, state: running }
    - { when: body.results == 0, state: succeeded }
    - { when: body.results == 6, state: cancelled }
    - { when: body.complete, state: failed }
  message: '{{ body.state_string }}'
  result: { text: 'Build {{ body.number }} of {{ body.builder.name }}: {{ body.properties.answer[0] }}' }
  failure: { message: 'Build {{ body.number }}: {{ body.state_string }}' }
",
        cases: &[
            (
                r#"{"buildid": 1, "number": 1, "complete": false, "state_string": "starting", "results": null, "buildrequest": {"buildrequestid": 17}}"#,
                &["17: running [starting]"],
            ),
            (
                r#"{"buildid": 1, "number": 1, "complete": true, "state_string": "build successful", "results": 0, "properties": {"answer": ["42", "Step"]}, "buildrequest": {"buildrequestid": 17}, "builder": {"name": "ok"}}"#,
                &["17: succeeded Build 1 of ok: 42 [build successful]"],
            ),
            (
                r#"{"number": 2, "complete": true, "state_string": "failed 'make'", "results": 2, "buildrequest": {"buildrequestid": 18}}"#,
                &["18: failed Build 2: failed 'make' [failed 'make']"],
            ),
            (r#"{"worker": "w1", "connected": true}"#, &[]),
        ],
    },
    Service {
        name: "an envelope with JSON in a text (Amazon SNS)",
        delivery: "
when: body.Type == 'Notification'
job: '{{ (body.Message | from_json).taskToken }}'
body: '{{ body.Message | from_json }}'
",
        job: "
status:
  request: { path: '/executions/{{ job.id }}' }
  rules:
    - { when: body.question is defined, state: input_required }
    - { when: body.output is defined, state: succeeded }
result: { data: '{{ body.output }}' }
input:
  key: '{{ job.id }}'
  message: '{{ body.question }}'
  page: 'https://console.example.com/{{ job.id }}'
",
        cases: &[
            (
                r#"{"Type": "Notification", "MessageId": "79ae", "TopicArn": "arn:aws:sns:us-east-1:123456789012:approvals", "Message": "{\"output\": {\"ok\": true}, \"taskToken\": \"afe3-04\"}"}"#,
                &[r#"afe3-04: succeeded {"ok":true}"#],
            ),
            (
                r#"{"Type": "Notification", "Message": "{\"question\": \"ship it?\", \"taskToken\": \"afe3-04\"}"}"#,
                &[
                    "afe3-04: InputRequired([InputRequest { key: \"afe3-04\", message: \"ship it?\", kind: Url { url: \"https://console.example.com/afe3-04\" } }])",
                ],
            ),
            (r#"{"Type": "SubscriptionConfirmation", "Message": "You have chosen to subscribe", "Token": "23"}"#, &[]),
        ],
    },
    Service {
        name: "an envelope with JSON in base64 (Google Pub/Sub)",
        delivery: "
job: '{{ body.message.attributes.job }}'
body: '{{ body.message.data | base64_decode | from_json }}'
",
        job: PLAIN,
        cases: &[(
            // {"status":"succeeded","output":3}
            r#"{"message": {"data": "eyJzdGF0dXMiOiJzdWNjZWVkZWQiLCJvdXRwdXQiOjN9", "attributes": {"job": "projects/p/jobs/7"}, "messageId": "1"}, "subscription": "projects/p/subscriptions/s"}"#,
            &["projects/p/jobs/7: succeeded 3"],
        )],
    },
    Service {
        name: "the job under `data`, of one kind of event (Mux)",
        delivery: "
when: body.type is startingwith 'video.asset.'
job: '{{ body.data.id }}'
body: '{{ body.data }}'
",
        job: "
status:
  request: { path: '/video/v1/assets/{{ job.id }}' }
  word: '{{ body.status }}'
  rules:
    - { is: [preparing], state: running }
    - { is: [ready], state: succeeded }
    - { is: [errored], state: failed }
  progress: { done: '{{ body.progress.progress }}', total: '100' }
result: { links: [{ uri: 'https://stream.example.com/{{ body.playback_ids[0].id }}.m3u8', name: stream }] }
failure: { message: '{{ body.errors.messages | first }}' }
",
        cases: &[
            (
                r#"{"type": "video.asset.created", "id": "evt-1", "data": {"id": "asset-1", "status": "preparing", "progress": {"progress": 40}}}"#,
                &["asset-1: running, 40 of 100"],
            ),
            (
                r#"{"type": "video.asset.ready", "id": "evt-2", "data": {"id": "asset-1", "status": "ready", "playback_ids": [{"id": "pb"}]}}"#,
                &["asset-1: succeeded https://stream.example.com/pb.m3u8"],
            ),
            (
                r#"{"type": "video.asset.errored", "data": {"id": "asset-1", "status": "errored", "errors": {"messages": ["not a video"]}}}"#,
                &["asset-1: failed not a video"],
            ),
            (r#"{"type": "video.upload.created", "data": {"id": "upload-1"}}"#, &[]),
            (r#"{"type": 7, "data": {"id": "upload-1"}}"#, &[]),
        ],
    },
    Service {
        name: "a whole task with a list of outputs (Runway)",
        delivery: "{ when: body.task is defined, job: '{{ body.task.id }}', body: '{{ body.task }}' }",
        job: "
status:
  request: { path: '/v1/tasks/{{ job.id }}' }
  word: '{{ body.status }}'
  rules:
    - { is: [PENDING, THROTTLED], state: queued }
    - { is: [RUNNING], state: running }
    - { is: [SUCCEEDED], state: succeeded }
    - { is: [FAILED], state: failed }
  progress: { done: '{{ body.progress }}', total: '1' }
result: { links: [{ uri: '{{ body.output[0] }}', name: video, mime_type: video/mp4 }] }
failure: { message: '{{ body.failure }}', code: '{{ body.failureCode }}' }
",
        cases: &[
            (r#"{"task": {"id": "t-1", "status": "RUNNING", "progress": 0.5}}"#, &["t-1: running, 0.5 of 1"]),
            (
                r#"{"task": {"id": "t-1", "status": "SUCCEEDED", "output": ["https://cdn.example.com/v.mp4"]}}"#,
                &["t-1: succeeded https://cdn.example.com/v.mp4"],
            ),
        ],
    },
    Service {
        name: "other words and the result itself in the delivery (fal)",
        delivery: "job: '{{ body.request_id }}'",
        job: "
status:
  request: { path: '/requests/{{ job.id }}/status' }
  word: '{{ body.status }}'
  rules:
    - { is: [IN_QUEUE], state: queued }
    - { is: [IN_PROGRESS], state: running }
    - { is: [COMPLETED], state: succeeded }
result: { request: { path: '/requests/{{ job.id }}' }, data: '{{ body }}' }
delivery:
  rules: [{ is: [OK], state: succeeded }, { is: [ERROR], state: failed }]
  result: { data: '{{ body.payload }}' }
  failure: { message: '{{ body.error }}' }
",
        cases: &[
            (
                r#"{"request_id": "r-1", "gateway_request_id": "g", "status": "OK", "payload": {"images": [1]}}"#,
                &[r#"r-1: succeeded {"images":[1]}"#],
            ),
            (
                r#"{"request_id": "r-1", "status": "ERROR", "error": "Invalid status code: 422"}"#,
                &["r-1: failed Invalid status code: 422"],
            ),
        ],
    },
    Service {
        name: "thin events: the state is in the event's name, the result takes another request (OpenAI)",
        delivery: "{ when: body.type is startingwith 'batch.', job: '{{ body.data.id }}', body: '{{ body.data }}' }",
        job: "
status:
  request: { path: '/batches/{{ job.id }}' }
  word: '{{ body.status }}'
  rules: [{ is: [completed], state: succeeded }, { is: [failed], state: failed }, { is: [cancelled], state: cancelled }]
result: { request: { path: '/files/{{ body.output_file_id }}/content' }, text: '{{ text }}' }
delivery:
  word: \"{{ delivery.type | replace('batch.', '') }}\"
",
        cases: &[
            (
                r#"{"id": "evt_1", "object": "event", "type": "batch.completed", "data": {"id": "batch_1"}}"#,
                &["batch_1: nothing"],
            ),
            (r#"{"id": "evt_2", "type": "batch.cancelled", "data": {"id": "batch_1"}}"#, &["batch_1: cancelled"]),
        ],
    },
    Service {
        name: "a batch of events, several of one job (Event Grid)",
        delivery: "{ jobs: '{{ body }}', job: '{{ item.subject | last_segment }}', body: '{{ item.data }}' }",
        job: PLAIN,
        cases: &[
            (
                r#"[{"subject": "/jobs/a", "data": {"status": "processing"}}, {"subject": "/jobs/b", "data": {"status": "canceled"}}, {"subject": "/jobs/a", "data": {"status": "completed", "output": 1}}]"#,
                &["a: succeeded 1", "b: cancelled"],
            ),
            ("[]", &[]),
        ],
    },
    Service {
        name: "a list of ids with what they share",
        delivery: "{ jobs: '{{ body.finished }}', body: '{{ body }}' }",
        job: PLAIN,
        cases: &[(r#"{"finished": [9007199254740993, "b"], "status": "canceled"}"#, &["9007199254740993: cancelled", "b: cancelled"])],
    },
    Service {
        name: "a form with JSON in a field (GitHub)",
        delivery: "
parse: form
job: '{{ (body.payload | from_json).workflow_run.id }}'
body: '{{ (body.payload | from_json).workflow_run }}'
",
        job: "
status:
  request: { path: '/runs/{{ job.id }}' }
  word: '{{ body.conclusion or body.status }}'
  rules: [{ is: [queued], state: queued }, { is: [in_progress], state: running }, { is: [success], state: succeeded }]
",
        cases: &[(
            "payload=%7B%22workflow_run%22%3A%7B%22id%22%3A30433642%2C%22status%22%3A%22in_progress%22%2C%22conclusion%22%3Anull%7D%7D",
            &["30433642: running"],
        )],
    },
    Service {
        name: "a form of plain fields (Twilio)",
        delivery: "{ parse: form, job: '{{ body.CallSid }}' }",
        job: "
status:
  request: { path: '/Calls/{{ job.id }}.json' }
  word: '{{ body.status }}'
  rules: [{ is: [ringing, in-progress], state: running }, { is: [completed], state: succeeded }, { is: [busy, failed], state: failed }]
delivery: { word: '{{ body.CallStatus }}', message: '{{ body.Note }}' }
",
        cases: &[
            ("CallSid=CA1&CallStatus=in-progress&Note=on+the+line%21", &["CA1: running [on the line!]"]),
            ("CallSid=CA1&CallStatus=completed", &["CA1: succeeded The job ended well."]),
        ],
    },
];

#[test]
fn deliveries_of_real_services_are_read_by_words_alone() {
    for service in SERVICES {
        let reader = Reader::new(service.delivery, service.job);
        for (body, wanted) in service.cases {
            assert_eq!(reader.said(body.as_bytes()), *wanted, "{}: {body}", service.name);
        }
    }
}

/// The documentation shows a configuration, a delivery and what is made of it: it is made of it.
#[test]
fn the_documented_deliveries_are_read_as_documented() {
    let document = include_str!("../../../docs/webhooks.md");
    let section = document.split_once("## How a delivery is read").unwrap().1;
    let section = section.split("\n## ").next().unwrap();
    let (mut reader, mut delivery, mut read) = (None, None, 0);
    for block in section.split("```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').unwrap();
        match kind {
            "yaml" => reader = Some(Reader::of_document(text)),
            "json" => delivery = Some(text),
            "text" => {
                let said = reader.as_ref().unwrap().said(delivery.take().unwrap().as_bytes());
                assert_eq!(said.join("\n"), text.trim());
                read += 1;
            }
            other => panic!("a block of kind `{other}`"),
        }
    }
    assert_eq!(read, 4);
}

/// 69 to 74, 81, 102: what cannot be read is said to be unreadable, and says nothing else: no job, no state, no panic, no content.
#[test]
fn n069_n070_n072_n073_n074_a_delivery_that_cannot_be_read_is_refused_with_a_reason() {
    let reader = plain();
    let deep = "[".repeat(100_000);
    let deep_objects = r#"{"id":"#.repeat(100_000);
    let wide = format!(r#"{{"id":"1","status":"completed","x":[{}0]}}"#, "0,".repeat(10_000_000));
    let long = format!(r#"{{"id":"{}","status":"completed"}}"#, "x".repeat(1 << 20));
    for (number, body, reason) in [
        (68, "\u{feff}{\"id\":\"1\",\"status\":\"completed\"}".as_bytes(), "cannot be read as JSON"),
        (69, br#"{"id":"1","status":"failed","status":"completed"}"#, "the same name twice"),
        (69, br#"{"id":"1","id":"2","status":"completed"}"#, "the same name twice"),
        (69, br#"{"id":"1","st\u0061tus":"failed","status":"completed"}"#, "the same name twice"),
        (70, b"{\"id\":\"1\",\"status\":\"comp\xffleted\"}", "no UTF-8"),
        (72, deep.as_bytes(), "recursion limit"),
        (72, deep_objects.as_bytes(), "recursion limit"),
        (72, wide.as_bytes(), "too many values"),
        (72, br#"{"id":1e999999,"status":"completed"}"#, "out of range"),
        (73, br#"{"id":{"a":1},"status":"completed"}"#, "neither a text nor a whole number"),
        (73, br#"{"id":["1"],"status":"completed"}"#, "neither a text nor a whole number"),
        (73, br#"{"id":1.5,"status":"completed"}"#, "neither a text nor a whole number"),
        (73, br#"{"id":true,"status":"completed"}"#, "neither a text nor a whole number"),
        (73, br#"{"id":null,"status":"completed"}"#, "names no job"),
        (73, br#"{"id":"","status":"completed"}"#, "names no job"),
        (73, br#"{"status":"completed"}"#, "names no job"),
        (74, b"", "cannot be read as JSON"),
        (74, b"null", "names no job"),
        (74, b"[]", "names no job"),
        (74, b"\"\"", "names no job"),
        (74, b"0", "names no job"),
        (81, b"id=1&status=completed", "cannot be read as JSON"),
        (81, b"--x\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n1\r\n--x--", "cannot be read as JSON"),
        (100, long.as_bytes(), "names a job in more than 1024 bytes"),
    ] {
        let error = reader.jobs_in(body).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{number}");
        assert!(error.message().contains(reason), "{number}: {}", error.message());
        assert!(error.message().len() < 300 && !format!("{error:?}").contains("completed"), "{number}: {error:?}");
        assert_eq!(reader.read("1", body).unwrap_err().kind(), ErrorKind::Protocol, "{number}");
    }
}

/// 73, 102: a status that is no word ends nothing: it is shown as it is, or the delivery is unreadable.
#[test]
fn n102_a_word_that_nobody_mapped_leaves_the_job_running() {
    let reader = plain();
    for (status, wanted) in [
        (json!("COMPLETED "), "unrecognized COMPLETED"),
        (json!("Completed"), "unrecognized Completed"),
        (json!("hibernating"), "unrecognized hibernating"),
        (json!(7), "unrecognized 7"),
        (json!(true), "unrecognized true"),
        (json!(["completed"]), r#"unrecognized ["completed"]"#),
        (json!({ "completed": "completed" }), r#"unrecognized {"completed":"completed"}"#),
        (json!("completed\u{0}"), "unrecognized completed"),
    ] {
        let body = json!({ "id": "1", "status": status }).to_string();
        let seen = reader.read("1", body.as_bytes()).unwrap().unwrap();
        assert!(!seen.state.is_terminal(), "{status}");
        assert_eq!(short(Some(seen)), wanted, "{status}");
    }
    for nothing in [r#"{"id":"1","status":null}"#, r#"{"id":"1"}"#] {
        let error = reader.read("1", nothing.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{nothing}");
        assert!(error.message().contains("`body.status`"), "{}", error.message());
    }
}

/// 73: an envelope whose parts are of other types is unreadable, never a panic and never taken for another kind of event.
#[test]
fn n073_parts_of_other_types_are_refused() {
    let reader = Reader::new(
        "{ when: body.Type == 'Notification', job: '{{ (body.Message | from_json).job.id }}', body: '{{ (body.Message | from_json).job }}' }",
        PLAIN,
    );
    for message in
        [json!("boom"), json!("null"), json!(null), json!(17), json!([1]), json!({}), json!("{\"job\":\"boom\"}"), json!("[]")]
    {
        let body = json!({ "Type": "Notification", "Message": message }).to_string();
        assert_eq!(reader.jobs_in(body.as_bytes()).unwrap_err().kind(), ErrorKind::Protocol, "{message}");
    }
    // 69, inside the envelope: the same rule.
    let inside = json!({ "Type": "Notification", "Message": r#"{"job":{"id":"1"},"job":{"id":"2"}}"# }).to_string();
    assert!(reader.jobs_in(inside.as_bytes()).unwrap_err().message().contains("a name twice"));
    // The rules read what `body` gave; a job that is a text has no status.
    let scalar = Reader::new("{ job: '{{ body.id }}', body: '{{ body.job }}' }", PLAIN);
    assert_eq!(scalar.jobs_in(br#"{"id":"1","job":"boom"}"#).unwrap(), ["1"]);
    assert_eq!(scalar.read("1", br#"{"id":"1","job":"boom"}"#).unwrap_err().kind(), ErrorKind::Protocol);
    let list = Reader::new("{ jobs: '{{ body.events }}', job: '{{ item.id }}' }", PLAIN);
    for body in [r#"{"events":"boom"}"#, r#"{"events":{"id":"1"}}"#, r#"{"events":[1]}"#, r#"{"events":[{"id":"1"},{}]}"#, "{}"] {
        assert_eq!(list.jobs_in(body.as_bytes()).unwrap_err().kind(), ErrorKind::Protocol, "{body}");
    }
    let many = json!({ "events": vec![json!({ "id": "1", "status": "completed" }); 257] }).to_string();
    assert!(list.jobs_in(many.as_bytes()).unwrap_err().message().contains("more than 256 jobs"));
}

/// 81: a form is a form by configuration, and its fields are as strict as JSON.
#[test]
fn n081_a_form_is_read_where_the_words_say_so() {
    let reader = Reader::new("{ parse: form, job: '{{ body.id }}' }", PLAIN);
    assert_eq!(reader.said(b"id=1&status=completed&output="), ["1: succeeded \"\""]);
    assert_eq!(reader.said("id=a%2Fb%2B+ä&status=failed&error=no".as_bytes()), ["a/b+ ä: failed no"]);
    for (body, reason) in [
        (&b"id=1&id=2&status=completed"[..], "a field twice"),
        (b"id=%ff&status=completed", "as a form"),
        (b"{\"id\":\"1\",\"status\":\"completed\"}", "names no job"),
        (b"", "names no job"),
        (b"&&==", "names no job"),
    ] {
        let error = reader.jobs_in(body).unwrap_err();
        assert!(error.kind() == ErrorKind::Protocol && error.message().contains(reason), "{}", error.message());
    }
    let many = (0..2_000).map(|nth| format!("f{nth}=1")).collect::<Vec<_>>().join("&");
    assert_eq!(reader.jobs_in(many.as_bytes()).unwrap_err().kind(), ErrorKind::Protocol);
}

/// J3: an event that `when` passes over is no error, and says nothing of any job.
#[test]
fn an_event_of_another_kind_is_passed_over() {
    let reader = Reader::new("{ when: body.type is startingwith 'job.', job: '{{ body.id }}' }", PLAIN);
    for other in [r#"{"type":"ping","id":"1","status":"completed"}"#, r#"{"zen":"Keep it logically awesome."}"#] {
        assert_eq!(reader.jobs_in(other.as_bytes()).unwrap(), Vec::<String>::new());
        assert_eq!(reader.read("1", other.as_bytes()).unwrap(), None);
    }
    let ours = br#"{"type":"job.done","id":"1","status":"completed","output":1}"#;
    assert_eq!(reader.said(ours), ["1: succeeded 1"]);
    assert_eq!(reader.read("2", ours).unwrap(), None, "it says nothing of another job");
}

/// B7: the address of a task's deliveries lets whoever has it make one, so what a provider repeats of it reaches no caller.
#[test]
fn the_callback_address_shows_in_no_result() {
    let reader = plain();
    let url = "https://gateway.example.com/hooks/p/a-token-that-nobody-can-guess";
    let body =
        json!({ "id": "1", "status": "completed", "output": { "webhook": url, "list": [format!("{url}?x=1")] } }).to_string();
    let said = reader.said(body.as_bytes());
    assert_eq!(said, [r#"1: succeeded {"webhook":"***","list":["***?x=1"]}"#]);
    let body = json!({ "id": "1", "status": "failed", "error": format!("cannot deliver to {url}") }).to_string();
    assert_eq!(reader.said(body.as_bytes()), ["1: failed cannot deliver to (address)"]);
}

/// Any JSON, with the names that the words read among its names.
fn any_json() -> impl Strategy<Value = Value> {
    let word = || prop_oneof![Just("completed".to_owned()), Just("job.done".to_owned()), Just("1".to_owned()), ".{0,8}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let name = prop_oneof![
            4 => prop::sample::select(vec!["id", "status", "type", "output", "error", "data", "Message", "events", "task"]).prop_map(str::to_owned),
            1 => word(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((name, inner.clone()), 0..6).prop_map(|fields| fields.into_iter().collect::<Value>()),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

static READERS: LazyLock<Vec<Reader>> =
    LazyLock::new(|| SERVICES.iter().map(|service| Reader::new(service.delivery, service.job)).chain([plain()]).collect());

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// 73: whatever is delivered, it is read or refused as unreadable; and a state is said only of a job that the delivery names.
    #[test]
    fn n073_whatever_is_delivered_is_read_or_refused(value in any_json(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        for reader in READERS.iter() {
            for body in [value.to_string().as_bytes(), &bytes] {
                match reader.jobs_in(body) {
                    Ok(jobs) => for id in ["1", "completed"] {
                        let said = reader.read(id, body);
                        prop_assert!(jobs.iter().any(|job| job == id) || matches!(said, Ok(None)), "{said:?}");
                    },
                    Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Protocol),
                }
            }
        }
    }
}
