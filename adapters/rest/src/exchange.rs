//! One HTTP exchange: from a compiled request to an answer that texts can read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, HeaderName, Request, Response, StatusCode};
use jobgate_adapter_api::{AdapterError, Clock, ErrorKind, Operation, Secret, Transport};
use minijinja::value::{Serde, Value as Dynamic};
use serde_json::Value;
use url::Url;

use crate::clean::{Cleaner, ERROR_CHARS};
use crate::language::{Context, Faulty, Text};
use crate::plan::{BodyPlan, ProviderPlan, Reading, RequestPlan, Target};

/// A credential, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    Header(HeaderName, Secret),
    Query(String, Secret),
}

/// Sends a provider's requests and reads its answers.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) plan: Arc<ProviderPlan>,
    pub(crate) credential: Option<Credential>,
    pub(crate) cleaner: Cleaner,
    pub(crate) transport: Transport,
    pub(crate) clock: Arc<dyn Clock>,
}

/// An answer, read as far as it can be.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    text: String,
    body: Option<Dynamic>,
    /// It says that it is JSON and is not.
    broken: bool,
    html: bool,
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
        let request =
            self.build(request, context).map_err(|message| AdapterError::new(ErrorKind::Rejected, operation, message))?;
        let answer = self.transport.send(operation, request, timeout.min(self.plan.timeout)).await?;
        Ok(Answer::read(answer))
    }

    fn build(&self, request: &RequestPlan, context: &Context) -> Result<Request<Bytes>, String> {
        let mut url = self.url(&request.target, context)?;
        self.add_query(&mut url, request, context)?;
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let body = self.body(&request.body, context, &mut headers)?;
        for (name, text) in self.plan.headers.iter().chain(&request.headers) {
            headers.insert(name, self.header(name, text, context)?);
        }
        match &self.credential {
            Some(Credential::Header(name, secret)) => {
                let mut value =
                    HeaderValue::try_from(secret.expose()).map_err(|_| "the credential cannot be sent in a header".to_owned())?;
                value.set_sensitive(true);
                headers.insert(name, value);
            }
            Some(Credential::Query(name, secret)) => {
                url.query_pairs_mut().append_pair(name, secret.expose());
            }
            None => {}
        }
        let mut built = Request::builder()
            .method(&request.method)
            .uri(url.as_str())
            .body(body)
            .map_err(|_| "the address is not valid".to_owned())?;
        *built.headers_mut() = headers;
        Ok(built)
    }

    fn url(&self, target: &Target, context: &Context) -> Result<Url, String> {
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
                let known =
                    std::iter::once(&self.plan.base).chain(self.plan.bases.values()).any(|base| base.origin() == url.origin());
                if known { Ok(url) } else { Err("the link that the provider gave leads to another origin".to_owned()) }
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

    fn body(&self, body: &BodyPlan, context: &Context, headers: &mut HeaderMap) -> Result<Bytes, String> {
        match body {
            BodyPlan::None => Ok(Bytes::new()),
            BodyPlan::Json(tree) => {
                let value = self.plan.engine.json(tree, context).map_err(|faulty| faulty.message)?.unwrap_or(Value::Null);
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok(value.to_string().into())
            }
            BodyPlan::Form(fields) => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                for (name, tree) in fields {
                    match self.plan.engine.json(tree, context).map_err(|faulty| faulty.message)? {
                        None | Some(Value::Null) => {}
                        Some(value) => {
                            form.append_pair(name, &plain(&value));
                        }
                    }
                }
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                Ok(form.finish().into())
            }
        }
    }

    fn header(&self, name: &HeaderName, text: &Text, context: &Context) -> Result<HeaderValue, String> {
        let value = self.plan.engine.string(text, context).map_err(|faulty| faulty.message)?;
        HeaderValue::try_from(value)
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
        AdapterError::from_status(operation, answer.status, &answer.headers, self.clock.now(), message)
    }

    /// The error of an answer that means "no room now": as if HTTP said so (429), with its `Retry-After`.
    pub(crate) fn busy(&self, answer: &Answer, context: &Context) -> AdapterError {
        let said = self.plan.error_message.as_ref().and_then(|text| self.sentence(text, context, ERROR_CHARS));
        let message = said.unwrap_or_else(|| "the provider has no room for this job now".to_owned());
        let busy = StatusCode::TOO_MANY_REQUESTS;
        AdapterError::from_status(Operation::Submit, busy, &answer.headers, self.clock.now(), message)
            .with_status(answer.status.as_u16())
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

/// A value in a query or form: texts as they are, the rest as JSON writes it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Answer {
    fn read(answer: Response<Bytes>) -> Self {
        let (parts, bytes) = answer.into_parts();
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let json = serde_json::from_slice::<Value>(&bytes).ok();
        let start = text.trim_start().get(..9).unwrap_or_default().to_ascii_lowercase();
        let html = json.is_none() && (kind.contains("html") || start.starts_with("<!doctype") || start.starts_with("<html"));
        let broken = json.is_none() && kind.contains("json") && !bytes.is_empty();
        // No body is null: an API may answer with nothing, and a job may return nothing.
        let body = if bytes.is_empty() { Some(Dynamic::from(())) } else { json.map(|json| Dynamic::from(Serde(json))) };
        Self { status: parts.status, headers: parts.headers, text, body, broken, html }
    }

    /// Adds `code`, `headers`, `body` and `text`. A header is named in lower case, with `-` or `_`.
    pub(crate) fn describe(&self, context: &mut Context) {
        for (name, value) in self.values() {
            context.set_dynamic(name, value);
        }
    }

    /// The same names as one value.
    pub(crate) fn as_value(&self) -> Dynamic {
        Dynamic::from(BTreeMap::from(self.values()))
    }

    fn values(&self) -> [(&'static str, Dynamic); 4] {
        let mut headers: BTreeMap<String, Dynamic> = BTreeMap::new();
        for (name, value) in &self.headers {
            let value = Dynamic::from(String::from_utf8_lossy(value.as_bytes()).as_ref());
            headers.insert(name.as_str().replace('-', "_"), value.clone());
            headers.insert(name.as_str().to_owned(), value);
        }
        [
            ("code", Dynamic::from(self.status.as_u16())),
            ("headers", Dynamic::from(headers)),
            ("body", self.body.clone().unwrap_or(Dynamic::UNDEFINED)),
            ("text", Dynamic::from(self.text.as_str())),
        ]
    }
}

impl Credential {
    pub(crate) fn header(name: HeaderName, value: String) -> Self {
        Self::Header(name, Secret::new(value))
    }

    /// HTTP Basic, from the base64 that [`basic_pair`] gives.
    pub(crate) fn basic(pair: &Secret) -> Self {
        Self::header(AUTHORIZATION, format!("Basic {}", pair.expose()))
    }

    /// The text that is sent.
    pub(crate) fn secret(&self) -> &Secret {
        match self {
            Self::Header(_, secret) | Self::Query(_, secret) => secret,
        }
    }
}

/// User name and password as HTTP Basic sends them.
pub(crate) fn basic_pair(username: &str, password: &Secret) -> Secret {
    Secret::new(STANDARD.encode(format!("{username}:{}", password.expose())))
}
