//! Who calls are from: every kind of `auth` over real HTTP, tokens that end, and secrets that show nowhere.

mod aws;
mod jwt;
mod places;
mod sign_in;
mod tls;
mod tokens;
mod words;

use std::sync::Arc;
use std::time::Duration;

use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, Deps, Issues, JobRef, Observation, Secret, SecretError, SecretRef, SecretSource,
    SubmitRequest, Submitted, factory,
};
use jobgate_adapter_rest::Rest;
use jobgate_adapter_testkit::{Absent, HttpRig, MockApi, Request, ResponseTemplate, Rig};
use serde_json::{Value, json};

use crate::support::{call, tool, with};

/// A provider whose answers are a function of what it is asked, and an adapter in front of it.
pub(super) struct Desk {
    rig: HttpRig,
    pub(super) adapter: Arc<dyn Adapter>,
    cx: CallContext,
}

struct Api<F>(F);

impl<F: Fn(&Request) -> ResponseTemplate + Send + Sync + 'static> MockApi for Api<F> {
    fn answer(&self, request: &Request) -> ResponseTemplate {
        (self.0)(request)
    }

    fn jobs(&self) -> Result<usize, Absent> {
        Err(Absent("what is asked is what counts here"))
    }

    fn answers(&self) -> Result<usize, Absent> {
        Err(Absent("nobody is asked anything"))
    }
}

/// Secrets by name: `env:NAME`.
#[derive(Clone, Debug)]
pub(super) struct Secrets(pub(super) Vec<(&'static str, String)>);

impl Secrets {
    fn of(secrets: &[(&'static str, &str)]) -> Self {
        Self(secrets.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
    }

    fn in_place_of(self, deps: Deps) -> Deps {
        Deps { secrets: Arc::new(self), ..deps }
    }
}

impl SecretSource for Secrets {
    fn read(&self, reference: &SecretRef) -> Result<Secret, SecretError> {
        let named = |name: &str| self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| Secret::new(value.clone()));
        match reference {
            SecretRef::Env(name) => named(name).ok_or_else(|| SecretError::Env(name.clone())),
            SecretRef::File(path) => Err(SecretError::File { path: path.clone(), reason: "no files here".to_owned() }),
        }
    }
}

impl Desk {
    /// `provider` is told the mock's address. Its `base_url` is that with `/v1`.
    pub(super) async fn new(
        provider: impl FnOnce(&str) -> Value,
        secrets: &[(&'static str, &str)],
        api: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
    ) -> Self {
        Self::with_job(provider, secrets, with(|job| job["result"] = json!({ "data": "{{ body }}" })), api).await
    }

    pub(super) async fn with_job(
        provider: impl FnOnce(&str) -> Value,
        secrets: &[(&'static str, &str)],
        job: Value,
        api: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
    ) -> Self {
        let rig = HttpRig::start(factory::<Rest>, Api(api)).await.provider(|url| {
            let mut words = provider(url);
            words["base_url"] = json!(format!("{url}/v1"));
            words["error_message"] = json!("{{ body.message }}");
            words
        });
        let deps = Secrets::of(secrets).in_place_of(rig.deps());
        let adapter = built(Rig::provider(&rig), job, &deps).unwrap();
        Self { rig, adapter, cx: call() }
    }

    /// The world of the adapter, with these secrets.
    pub(super) fn deps(&self, secrets: &[(&'static str, &str)]) -> Deps {
        Secrets::of(secrets).in_place_of(self.rig.deps())
    }

    pub(super) async fn submit(&self) -> Result<Submitted, AdapterError> {
        let arguments = json!({ "n": 1 }).as_object().unwrap().clone();
        self.adapter.submit(&self.cx, SubmitRequest { key: self.cx.key.clone(), arguments }).await
    }

    pub(super) async fn poll(&self) -> Result<Observation, AdapterError> {
        self.adapter.poll(&self.cx, &JobRef::new("1")).await
    }

    pub(super) async fn pass(&self, seconds: u64) {
        self.rig.pass_time(Duration::from_secs(seconds)).await;
    }

    pub(super) async fn requests(&self) -> Vec<Request> {
        self.rig.requests().await
    }

    /// The paths that were asked for, in order.
    pub(super) async fn asked(&self) -> Vec<String> {
        self.requests().await.iter().map(|request| request.url.path().to_owned()).collect()
    }

    /// None of `secrets` shows in errors, results or `Debug`, whatever the provider repeats. It repeats a request for `POST /v1/jobs` as an
    /// error, and for `GET` as a result.
    pub(super) async fn keeps(&self, secrets: &[&str]) {
        let error = self.submit().await.unwrap_err();
        let mut shown = vec![format!("{:?}", self.adapter), format!("{error} {error:?}")];
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            shown.push(cause.to_string());
            source = cause.source();
        }
        shown.push(format!("{:?}", self.poll().await.unwrap()));
        for secret in secrets {
            let sent = self.requests().await.iter().any(|request| everything(request).contains(secret));
            assert!(sent, "{secret} was never sent, so nothing is shown by this");
            assert!(!shown.iter().any(|text| text.contains(secret)), "{secret} shows in {shown:?}");
        }
    }
}

/// An adapter with one tool `t`; else the first thing that is wrong.
pub(super) fn built(provider: Value, job: Value, deps: &Deps) -> Result<Arc<dyn Adapter>, String> {
    let mut issues = Issues::new();
    let checked = factory::<Rest>().check(&deps.place, provider, vec![tool(job)], &mut issues);
    if let Some(issue) = issues.into_iter().next() {
        return Err(format!("{}: {}", issue.place, issue.message));
    }
    checked.unwrap().build(deps).map_err(|issue| format!("{}: {}", issue.place, issue.message))
}

/// Address, headers and body of a request in one text.
pub(super) fn everything(request: &Request) -> String {
    let headers: Vec<String> =
        request.headers.iter().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))).collect();
    format!("{} {} {}", request.url, headers.join("; "), String::from_utf8_lossy(&request.body))
}

/// A header of a request; empty where there is none.
pub(super) fn header(request: &Request, name: &str) -> String {
    request.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).unwrap_or_default()
}

/// What an API that repeats everything answers: an error to a submit, a job that has ended to a look.
pub(super) fn echo(request: &Request) -> ResponseTemplate {
    let all = everything(request);
    match request.method.as_str() {
        "POST" => ResponseTemplate::new(422).set_body_json(json!({ "message": all })),
        _ => ResponseTemplate::new(200).set_body_json(json!({ "status": "done", "all": all })),
    }
}

/// What an API answers that has a job.
pub(super) fn job(request: &Request) -> ResponseTemplate {
    match request.method.as_str() {
        "POST" => ResponseTemplate::new(201).set_body_json(json!({ "id": "1" })),
        _ => ResponseTemplate::new(200).set_body_json(json!({ "status": "done" })),
    }
}
