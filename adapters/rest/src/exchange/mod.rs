//! One HTTP exchange: from a compiled request to an answer that texts can read.

mod answer;
mod body;
mod end;
mod follow;
mod meaning;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderValue};
use http::{HeaderMap, HeaderName, Request, StatusCode};
use jobgate_adapter_api::{AdapterError, Cleaner, Clock, ERROR_CHARS, ErrorKind, Operation, Transport};
use serde_json::Value;
use url::Url;

use self::body::plain;
pub(crate) use answer::Answer;
pub(crate) use end::{Arriving, End};
pub(crate) use meaning::Rest;

use crate::language::{Context, Faulty, Text};
use crate::lookups::Remembered;
use crate::plan::{ProviderPlan, Reading, RequestPlan, Target};
use crate::proof::Proof;

/// Sends a provider's requests and reads its answers.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) plan: Arc<ProviderPlan>,
    pub(crate) proof: Proof,
    pub(crate) cleaner: Cleaner,
    /// For the provider's own addresses.
    pub(crate) transport: Transport,
    /// For all others.
    pub(crate) elsewhere: Transport,
    /// For what an answer leads to, anywhere on the public internet; only where a tool keeps files or a request follows redirects.
    pub(crate) outside: Option<Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rest: Rest,
    pub(crate) remembered: Remembered,
}

impl Exchange {
    /// Sends a request and reads the answer, whatever its code.
    pub(crate) async fn send(
        &self,
        operation: Operation,
        request: &RequestPlan,
        context: &Context,
        timeout: Duration,
    ) -> Result<Answer, AdapterError> {
        self.rested(operation)?;
        let built = self.build(request, context).map_err(|message| AdapterError::new(ErrorKind::Rejected, operation, message))?;
        let timeout = timeout.min(request.timeout.unwrap_or(self.plan.timeout));
        let answer = match &request.follow {
            Some(follow) => self.send_following(operation, built, follow, timeout).await?,
            None => self.deliver(operation, built, timeout).await?,
        };
        let answer = Answer::read(answer, request.parse);
        self.mean(operation, &answer, context)?;
        Ok(answer)
    }

    /// A request that is whole but for what proves who it is from.
    fn build(&self, request: &RequestPlan, context: &Context) -> Result<Request<Bytes>, String> {
        self.build_with(request, context, &self.plan.headers)
    }

    /// A request as its own words say, without what all of the provider's have.
    pub(crate) fn rendered(&self, request: &RequestPlan, context: &Context) -> Result<Request<Bytes>, String> {
        self.build_with(request, context, [])
    }

    /// The request of a sign-in, which is no call: headers that name a call are left out.
    pub(crate) fn build_sign_in(&self, request: &RequestPlan, context: &Context) -> Result<Request<Bytes>, String> {
        let of_call = |text: &Text| ["key", "started_at", "tool"].iter().any(|name| text.uses(name));
        self.build_with(request, context, self.plan.headers.iter().filter(|(_, text)| !of_call(text)))
    }

    fn build_with<'p>(
        &self,
        request: &'p RequestPlan,
        context: &Context,
        own: impl IntoIterator<Item = &'p (HeaderName, Text)>,
    ) -> Result<Request<Bytes>, String> {
        let mut url = self.url(&request.target, context)?;
        self.add_query(&mut url, request, context)?;
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let body = self.body(request, context, &mut headers)?;
        for (name, text) in own.into_iter().chain(&request.headers) {
            if let Some(value) = self.header(name, text, context)? {
                headers.insert(name, value);
            }
        }
        let mut built = Request::builder()
            .method(&request.method)
            .uri(url.as_str())
            .body(body)
            .map_err(|_| "the address is not valid".to_owned())?;
        *built.headers_mut() = headers;
        Ok(built)
    }

    /// The address of a request.
    pub(crate) fn url(&self, target: &Target, context: &Context) -> Result<Url, String> {
        match target {
            Target::Path { base, path } => {
                let path = self.plan.engine.string(path, context).map_err(|faulty| faulty.message)?;
                if path.split('/').any(|step| matches!(step, "." | "..")) {
                    return Err("a value in the path is `.` or `..`".to_owned());
                }
                let mut url = base.clone();
                url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
                Ok(url)
            }
            Target::Url(text) => {
                let text = self.plan.engine.string(text, context).map_err(|faulty| faulty.message)?;
                // A link may be relative to the API, as in `Location: /jobs/17`.
                let url = self.plan.base.join(&text).map_err(|_| "the link that the provider gave is no address".to_owned())?;
                if self.is_ours(&url) {
                    Ok(url)
                } else {
                    Err("the link that the provider gave leads to another origin".to_owned())
                }
            }
        }
    }

    fn add_query(&self, url: &mut Url, request: &RequestPlan, context: &Context) -> Result<(), String> {
        for (name, tree) in &request.query {
            match self.plan.engine.json(tree, context).map_err(|faulty| faulty.message)? {
                None | Some(Value::Null) => {}
                Some(Value::Array(items)) => {
                    for item in items {
                        url.query_pairs_mut().append_pair(name, &plain(&item));
                    }
                }
                Some(value) => {
                    url.query_pairs_mut().append_pair(name, &plain(&value));
                }
            }
        }
        Ok(())
    }

    /// A header's value; `None` where it was marked `| optional` and has none.
    fn header(&self, name: &HeaderName, text: &Text, context: &Context) -> Result<Option<HeaderValue>, String> {
        let value = self.plan.engine.string_or_omitted(text, context).map_err(|faulty| faulty.message)?;
        let Some(value) = value else { return Ok(None) };
        HeaderValue::try_from(value)
            .map(Some)
            .map_err(|_| format!("the value of the header `{name}` has characters that HTTP does not allow"))
    }

    /// Refuses an answer that is not the API's own: a sign-in page, JSON that is none. Only a 2xx is looked at, as errors come
    /// from proxies in every form.
    pub(crate) fn vet(&self, operation: Operation, reading: &Reading, answer: &Answer) -> Result<(), AdapterError> {
        let unreadable = answer.html || answer.broken || (reading.body && answer.body.is_none());
        if answer.status.is_success() && unreadable && !reading.text {
            let what = if answer.html { "a web page" } else { "not the JSON that this API gives" };
            return Err(unusable(operation, format!("the provider's answer is {what}")).with_status(answer.status.as_u16()));
        }
        Ok(())
    }

    /// The error of a code that is not accepted.
    pub(crate) fn refusal(&self, operation: Operation, answer: &Answer, context: &Context) -> AdapterError {
        let code = answer.status.as_u16();
        let said = self.plan.error_message.as_ref().and_then(|text| self.sentence(text, context, ERROR_CHARS));
        let message = said.unwrap_or_else(|| format!("the provider answered with status {code}"));
        if answer.status.is_success() {
            // A success that the words do not name: for a submit nobody knows what it means.
            return unusable(operation, format!("the provider answered with status {code}, which is not accepted here"))
                .with_status(code);
        }
        let error = AdapterError::from_status(operation, answer.status, &answer.headers, self.clock.now(), message);
        self.paced(error, &answer.headers)
    }

    /// The error of an answer that means "no room now": as if HTTP said so (429), with its `Retry-After`.
    pub(crate) fn busy(&self, answer: &Answer, context: &Context) -> AdapterError {
        let said = self.plan.error_message.as_ref().and_then(|text| self.sentence(text, context, ERROR_CHARS));
        let message = said.unwrap_or_else(|| "the provider has no room for this job now".to_owned());
        let busy = StatusCode::TOO_MANY_REQUESTS;
        let error = AdapterError::from_status(Operation::Submit, busy, &answer.headers, self.clock.now(), message);
        self.paced(error, &answer.headers).with_status(answer.status.as_u16())
    }

    /// A provider's sentence, cleaned; `None` where it has none.
    pub(crate) fn sentence(&self, text: &Text, context: &Context, most: usize) -> Option<String> {
        let said = self.plan.engine.string_if_any(text, context).ok().flatten()?;
        self.cleaner.sentence(&said, most)
    }

    /// The error of an answer that lacks what a text asks for.
    pub(crate) fn lacks(&self, operation: Operation, faulty: &Faulty) -> AdapterError {
        let message = self.cleaner.sentence(&faulty.message, ERROR_CHARS).unwrap_or_default();
        let what = if operation == Operation::Read { "the delivery" } else { "the provider's answer" };
        unusable(operation, format!("{what} is not as expected: {message}"))
    }
}

/// After a submit that was answered with something unusable nobody knows whether a job was started.
fn unusable(operation: Operation, message: String) -> AdapterError {
    let kind = if operation == Operation::Submit { ErrorKind::OutcomeUnknown } else { ErrorKind::Protocol };
    AdapterError::new(kind, operation, message)
}
