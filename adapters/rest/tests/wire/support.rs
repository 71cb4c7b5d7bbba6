//! A provider with canned answers, and one adapter in front of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, IdempotencyKey, Issues, JobRef, Observation, Place, SubmitRequest, Submitted, Timestamp,
    ToolWords, factory,
};
use jobgate_adapter_rest::Rest;
use jobgate_adapter_testkit::{Absent, HttpRig, MockApi, Request, ResponseTemplate, Rig, SECRET_REF, verified};
use serde_json::{Value, json};

/// Answers in order; the last one again and again.
struct Canned(Mutex<Vec<ResponseTemplate>>);

impl MockApi for Canned {
    fn answer(&self, _request: &Request) -> ResponseTemplate {
        let mut left = self.0.lock().unwrap();
        if left.len() > 1 { left.remove(0) } else { left[0].clone() }
    }

    fn jobs(&self) -> Result<usize, Absent> {
        Err(Absent("canned answers start no jobs"))
    }

    fn answers(&self) -> Result<usize, Absent> {
        Err(Absent("canned answers take no answers"))
    }
}

/// One provider, one tool `t`, one key.
pub(crate) struct Bench {
    rig: HttpRig,
    adapter: Arc<dyn Adapter>,
    pub(crate) cx: CallContext,
}

/// A JSON answer.
pub(crate) fn answer(status: u16, body: Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

/// A job section that says as little as it may.
pub(crate) fn least() -> Value {
    json!({
        "submit": { "request": { "path": "/jobs", "body": "{{ args }}" }, "job": { "id": "{{ body.id }}" } },
        "status": {
            "request": { "path": "/jobs/{{ job.id }}" },
            "word": "{{ body.status }}",
            "rules": [{ "is": ["done"], "state": "succeeded" }, { "is": ["broken"], "state": "failed" }],
        },
    })
}

/// `least()` with `change`.
pub(crate) fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut job = least();
    change(&mut job);
    job
}

impl Bench {
    pub(crate) async fn new(job: Value, answers: Vec<ResponseTemplate>) -> Self {
        Self::with_provider(json!({ "auth": { "bearer": SECRET_REF } }), job, answers).await
    }

    /// Where `provider` has no `base_url`, it is the mock's address with `/v1`.
    pub(crate) async fn with_provider(provider: Value, job: Value, answers: Vec<ResponseTemplate>) -> Self {
        let rig = HttpRig::start(factory::<Rest>, Canned(Mutex::new(answers))).await.provider(|url| {
            let mut words = provider;
            words.as_object_mut().unwrap().entry("base_url").or_insert_with(|| json!(format!("{url}/v1")));
            words
        });
        let place = Place::root().key("tools").key("t").key("job");
        let tools = vec![ToolWords { name: "t".to_owned(), input_schema: json!({ "type": "object" }), place, words: job }];
        let mut issues = Issues::new();
        let checked = factory::<Rest>().check(&rig.deps().place, Rig::provider(&rig), tools, &mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        let adapter = checked.unwrap().build(&rig.deps()).unwrap();
        let key = IdempotencyKey::new("0123456789abcdef0123456789abcdef");
        let cx = CallContext {
            tool: "t".to_owned(),
            key,
            timeout: Duration::from_secs(10),
            started_at: Timestamp::from_millis(0),
            callback_url: None,
        };
        Self { rig, adapter, cx }
    }

    pub(crate) fn adapter(&self) -> &dyn Adapter {
        self.adapter.as_ref()
    }

    pub(crate) async fn submit(&self, arguments: Value) -> Result<Submitted, AdapterError> {
        let arguments = arguments.as_object().unwrap().clone();
        self.adapter.submit(&self.cx, SubmitRequest { key: self.cx.key.clone(), arguments }).await
    }

    /// What a delivery says of a job.
    pub(crate) fn read(&self, job: &JobRef, body: &Value) -> Result<Option<Observation>, AdapterError> {
        self.adapter.read(&self.cx, job, &verified(body.to_string().as_bytes()))
    }

    pub(crate) async fn poll(&self, job: &JobRef) -> Result<Observation, AdapterError> {
        self.adapter.poll(&self.cx, job).await
    }

    /// The last request that the provider received: method, path with query, and body.
    pub(crate) async fn last(&self) -> (String, String, String) {
        let request = self.rig.requests().await.pop().unwrap();
        let query = request.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        (request.method.to_string(), format!("{}{query}", request.url.path()), String::from_utf8(request.body).unwrap())
    }

    pub(crate) async fn last_header(&self, name: &str) -> Option<String> {
        let request = self.rig.requests().await.pop().unwrap();
        request.headers.get(name).map(|value| value.to_str().unwrap().to_owned())
    }

    pub(crate) async fn count(&self) -> usize {
        self.rig.requests().await.len()
    }

    pub(crate) fn url(&self) -> String {
        self.rig.url()
    }
}
