//! The calls.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use jobgate_adapter_api::{
    Adapter, AdapterError, CallContext, CancelOutcome, Capabilities, Clock, Deps, ErrorKind, IdempotencyKey, InputAnswers,
    JobRef, Observation, Operation, Secret, SubmitRequest, Submitted, Transport, Verified,
};
use serde::de::DeserializeOwned;
use url::Url;

use crate::wire::{WireDelivery, WireJob};

/// One account at one service.
#[derive(Debug)]
pub struct TemplateAdapter {
    url: Url,
    token: Secret,
    kinds: Vec<(String, Option<String>)>,
    transport: Transport,
    clock: Arc<dyn Clock>,
}

impl TemplateAdapter {
    pub(crate) fn new(url: Url, token: Secret, kinds: Vec<(String, Option<String>)>, deps: &Deps) -> Self {
        Self { url, token, kinds, transport: deps.transport.clone(), clock: Arc::clone(&deps.clock) }
    }

    /// One exchange. `steps` are appended to the address, each escaped, so that no id can leave its place.
    async fn call(
        &self,
        cx: &CallContext,
        operation: Operation,
        method: Method,
        steps: &[&str],
        body: Option<Bytes>,
    ) -> Result<Response<Bytes>, AdapterError> {
        let mut url = self.url.clone();
        url.path_segments_mut().expect("the address was checked to be http(s)").pop_if_empty().extend(steps);
        let request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token.expose()))
            .header(header::CONTENT_TYPE, "application/json")
            .header("Idempotency-Key", cx.key.as_str())
            .body(body.unwrap_or_default())
            .map_err(|_| {
                AdapterError::new(ErrorKind::Rejected, operation, "the token or the job's id cannot be sent over HTTP")
            })?;
        self.transport.send(operation, request, cx.timeout).await
    }

    /// The error of a status that is no success. The service's own sentence may hold anything, so it is not repeated.
    fn refused(&self, operation: Operation, answer: &Response<Bytes>) -> AdapterError {
        let message = format!("the service answered with status {}", answer.status().as_u16());
        AdapterError::from_status(operation, answer.status(), answer.headers(), self.clock.now(), message)
    }
}

/// Reads a 2xx body. After a submit that cannot be read nobody knows whether a job was started.
fn read<T: DeserializeOwned>(operation: Operation, answer: &Response<Bytes>) -> Result<T, AdapterError> {
    serde_json::from_slice(answer.body()).map_err(|error| {
        let kind = if operation == Operation::Submit { ErrorKind::OutcomeUnknown } else { ErrorKind::Protocol };
        AdapterError::new(kind, operation, "the answer is not the JSON of this service").with_source(error)
    })
}

/// The job of a delivery; `None` for a ping. It went through the signature check, and still anything may be in it.
fn told(delivery: &Verified<'_>) -> Result<Option<WireJob>, AdapterError> {
    match serde_json::from_slice(delivery.body()) {
        Ok(WireDelivery::JobUpdated { job }) => Ok(Some(job)),
        Ok(WireDelivery::Ping) => Ok(None),
        Err(error) => {
            let message = "the delivery is not the JSON of this service";
            Err(AdapterError::new(ErrorKind::Protocol, Operation::Read, message).with_source(error))
        }
    }
}

#[async_trait]
impl Adapter for TemplateAdapter {
    fn capabilities(&self, _tool: &str) -> Capabilities {
        Capabilities { idempotent_submit: true, cancel: true, webhook: true, ..Capabilities::default() }
    }

    async fn submit(&self, cx: &CallContext, request: SubmitRequest) -> Result<Submitted, AdapterError> {
        let mut body = request.arguments;
        if let Some((_, Some(kind))) = self.kinds.iter().find(|(tool, _)| *tool == cx.tool) {
            body.insert("kind".to_owned(), kind.clone().into());
        }
        let body = serde_json::to_vec(&body).expect("JSON values can be written");
        let answer = self.call(cx, Operation::Submit, Method::POST, &["jobs"], Some(body.into())).await?;
        if !answer.status().is_success() {
            return Err(self.refused(Operation::Submit, &answer));
        }
        let job: WireJob = read(Operation::Submit, &answer)?;
        Ok(Submitted { job: JobRef::new(job.id()), observation: Some(job.observation()) })
    }

    async fn find(&self, _cx: &CallContext, _key: &IdempotencyKey) -> Result<Option<JobRef>, AdapterError> {
        Err(AdapterError::unsupported(Operation::Find))
    }

    async fn poll(&self, cx: &CallContext, job: &JobRef) -> Result<Observation, AdapterError> {
        let answer = self.call(cx, Operation::Poll, Method::GET, &["jobs", job.id()], None).await?;
        if !answer.status().is_success() {
            return Err(self.refused(Operation::Poll, &answer));
        }
        Ok(read::<WireJob>(Operation::Poll, &answer)?.observation())
    }

    async fn cancel(&self, cx: &CallContext, job: &JobRef) -> Result<CancelOutcome, AdapterError> {
        let answer = self.call(cx, Operation::Cancel, Method::DELETE, &["jobs", job.id()], None).await?;
        match answer.status() {
            StatusCode::CONFLICT => Ok(CancelOutcome::AlreadyEnded),
            status if status.is_success() => Ok(CancelOutcome::Requested),
            _ => Err(self.refused(Operation::Cancel, &answer)),
        }
    }

    async fn provide(&self, _cx: &CallContext, _job: &JobRef, _answers: &InputAnswers) -> Result<(), AdapterError> {
        Err(AdapterError::unsupported(Operation::Provide))
    }

    fn jobs_in(&self, delivery: &Verified<'_>) -> Result<Vec<JobRef>, AdapterError> {
        Ok(told(delivery)?.map(|job| JobRef::new(job.id())).into_iter().collect())
    }

    fn read(&self, _cx: &CallContext, job: &JobRef, delivery: &Verified<'_>) -> Result<Option<Observation>, AdapterError> {
        Ok(told(delivery)?.filter(|told| told.id() == job.id()).map(WireJob::observation))
    }
}
