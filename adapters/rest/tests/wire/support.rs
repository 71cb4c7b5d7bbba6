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

/// What the provider answers.
enum Answers {
    /// In order; the last one again and again.
    Canned(Mutex<Vec<ResponseTemplate>>),
    /// By request.
    Routed(Box<dyn Fn(&Request) -> ResponseTemplate + Send + Sync>),
}

impl MockApi for Answers {
    fn answer(&self, request: &Request) -> ResponseTemplate {
        match self {
            Self::Canned(left) => {
                let mut left = left.lock().unwrap();
                if left.len() > 1 { left.remove(0) } else { left[0].clone() }
            }
            Self::Routed(answer) => answer(request),
        }
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

/// The one tool of these tests.
pub(crate) fn tool(job: Value) -> ToolWords<Value> {
    let place = Place::root().key("tools").key("t").key("job");
    ToolWords { name: "t".to_owned(), input_schema: json!({ "type": "object" }), place, words: job }
}

/// What a call of it is told.
pub(crate) fn call() -> CallContext {
    CallContext {
        tool: "t".to_owned(),
        key: IdempotencyKey::new("0123456789abcdef0123456789abcdef"),
        timeout: Duration::from_secs(10),
        arguments: Arc::default(),
        started_at: Timestamp::from_millis(0),
        callback_url: None,
        cancel: None,
    }
}

/// What is wrong with a job section, as people read it.
pub(crate) fn issues(job: Value) -> Vec<String> {
    let hint = |hint: Option<String>| hint.map(|hint| format!(" [{hint}]")).unwrap_or_default();
    let found = checked(json!({}), job).into_iter();
    found.map(|issue| format!("{}: {}{}", issue.place, issue.message, hint(issue.hint))).collect()
}

/// What is wrong with a provider section, or with its job section, without the hints.
pub(crate) fn issues_of(provider: Value, job: Value) -> Vec<String> {
    checked(provider, job).iter().map(|issue| format!("{}: {}", issue.place, issue.message)).collect()
}

/// Where `provider` has no `base_url`, it is that of an API somewhere.
fn checked(mut provider: Value, job: Value) -> Issues {
    provider.as_object_mut().unwrap().entry("base_url").or_insert_with(|| json!("https://api.example.com"));
    let mut issues = Issues::new();
    let found = factory::<Rest>().check(&Place::root().key("providers").key("p"), provider, vec![tool(job)], &mut issues);
    assert_eq!(found.is_some(), issues.is_empty());
    issues
}

impl Bench {
    pub(crate) async fn new(job: Value, answers: Vec<ResponseTemplate>) -> Self {
        Self::with_provider(json!({ "auth": { "bearer": SECRET_REF } }), job, answers).await
    }

    /// Where `provider` has no `base_url`, it is the mock's address with `/v1`.
    pub(crate) async fn with_provider(provider: Value, job: Value, answers: Vec<ResponseTemplate>) -> Self {
        Self::start(provider, "/v1", job, Answers::Canned(Mutex::new(answers))).await
    }

    /// With what comes after the mock's address.
    pub(crate) async fn with_base(provider: Value, base: &str, job: Value, answers: Vec<ResponseTemplate>) -> Self {
        Self::start(provider, base, job, Answers::Canned(Mutex::new(answers))).await
    }

    /// Each request is answered by what it asks for.
    pub(crate) async fn routed(job: Value, answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        Self::routed_with(json!({ "auth": { "bearer": SECRET_REF } }), job, answer).await
    }

    /// The same, at a provider with these words.
    pub(crate) async fn routed_with(
        provider: Value,
        job: Value,
        answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
    ) -> Self {
        Self::start(provider, "/v1", job, Answers::Routed(Box::new(answer))).await
    }

    async fn start(provider: Value, base: &str, job: Value, answers: Answers) -> Self {
        let rig = HttpRig::start(factory::<Rest>, answers).await.provider(|url| {
            let mut words = provider;
            words.as_object_mut().unwrap().entry("base_url").or_insert_with(|| json!(format!("{url}{base}")));
            words
        });
        let mut issues = Issues::new();
        let checked = factory::<Rest>().check(&rig.deps().place, Rig::provider(&rig), vec![tool(job)], &mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        let adapter = checked.unwrap().build(&rig.deps()).unwrap();
        Self { rig, adapter, cx: call() }
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

    /// The paths with queries that the provider was asked for, in order.
    pub(crate) async fn paths(&self) -> Vec<String> {
        let requests = self.rig.requests().await;
        let path = |url: &url::Url| format!("{}{}", url.path(), url.query().map(|query| format!("?{query}")).unwrap_or_default());
        requests.iter().map(|request| path(&request.url)).collect()
    }

    /// Lets time pass.
    pub(crate) async fn advance(&self, span: Duration) {
        self.rig.pass_time(span).await;
    }

    /// Paths and bodies of what was sent with a method, in order.
    pub(crate) async fn sent(&self, method: &str) -> Vec<(String, Value)> {
        let requests = self.rig.requests().await;
        let sent = requests.iter().filter(|request| request.method.as_str() == method);
        sent.map(|request| (request.url.path().to_owned(), serde_json::from_slice(&request.body).unwrap_or_default())).collect()
    }

    pub(crate) async fn count(&self) -> usize {
        self.rig.requests().await.len()
    }

    pub(crate) fn url(&self) -> String {
        self.rig.url()
    }
}
