//! What the SDK says of a call that failed, in the gateway's words.

use std::error::Error;
use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sfn::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use jobgate_adapter_api::{AdapterError, ERROR_CHARS, ErrorKind, Operation, Retry};

use crate::client::Connection;

/// How long to wait where the account's limit of open executions is reached: only the end of another one makes room.
const FULL: Duration = Duration::from_secs(30);

/// The word for what went wrong, where the API said one.
pub(crate) fn code<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Option<&str> {
    error.as_service_error().and_then(ProvideErrorMetadata::code)
}

impl Connection {
    pub(crate) fn error<E>(&self, operation: Operation, error: SdkError<E, HttpResponse>) -> AdapterError
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        if let Some(known) = find::<AdapterError>(&error) {
            return AdapterError::new(known.kind(), operation, known.message()).with_retry(known.retry()).with_source(error);
        }
        if find::<CredentialsError>(&error).is_some() {
            let message = "no AWS credentials were found; name them in the provider's section, the environment or a profile";
            return AdapterError::new(ErrorKind::Unauthorized, operation, message).with_source(error);
        }
        match &error {
            // Without the SDK's error as the source: it shows the whole answer, which may repeat the request.
            SdkError::ServiceError(refused) if !refused.raw().status().is_success() => {
                self.refusal(operation, refused.err(), refused.raw())
            }
            SdkError::ServiceError(_) | SdkError::ResponseError(_) => {
                unreadable(operation, "the answer is not what this API gives")
            }
            _ => AdapterError::new(ErrorKind::Rejected, operation, "the request could not be made").with_source(error),
        }
    }

    fn refusal<E: ProvideErrorMetadata>(&self, operation: Operation, refused: &E, answer: &HttpResponse) -> AdapterError {
        let (code, status) = (refused.code().unwrap_or_default(), answer.status().as_u16());
        let said = refused.message().and_then(|text| self.cleaner.sentence(text, ERROR_CHARS));
        let named = || self.cleaner.sentence(code, ERROR_CHARS);
        let message = said.or_else(named).unwrap_or_else(|| format!("the API answered with status {status}"));
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let usual = AdapterError::from_status(operation, status, &headers(answer), self.clock.now(), message.clone());
        let kind = match code {
            _ if is_throttling(code) => ErrorKind::RateLimited,
            "ExecutionLimitExceeded" => {
                return AdapterError::new(ErrorKind::Unavailable, operation, message)
                    .with_status(status.as_u16())
                    .with_retry(Retry::After(FULL));
            }
            "ExecutionDoesNotExist" => ErrorKind::NotFound,
            _ if is_about_access(code) => ErrorKind::Unauthorized,
            _ => return usual,
        };
        let told = AdapterError::new(kind, operation, message).with_status(status.as_u16());
        match usual.retry() {
            Retry::After(wait) if kind == ErrorKind::RateLimited => told.with_retry(Retry::After(wait)),
            Retry::After(_) | Retry::Backoff | Retry::Never => told,
        }
    }
}

/// The answer to a submit that cannot be read leaves open what was started.
pub(crate) fn unreadable(operation: Operation, message: &str) -> AdapterError {
    let kind = if operation == Operation::Submit { ErrorKind::OutcomeUnknown } else { ErrorKind::Protocol };
    AdapterError::new(kind, operation, message)
}

fn is_throttling(code: &str) -> bool {
    ["Throttling", "ThrottlingException", "ThrottledException", "TooManyRequestsException", "RequestLimitExceeded"]
        .contains(&code)
}

/// Words that AWS uses in common for callers that it does not let in.
fn is_about_access(code: &str) -> bool {
    const WORDS: [&str; 12] = [
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "KmsAccessDeniedException",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "OptInRequired",
        "UnrecognizedClientException",
    ];
    WORDS.contains(&code)
}

fn headers(answer: &HttpResponse) -> HeaderMap {
    let read = |(name, value): (&str, &str)| Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?));
    answer.headers().iter().filter_map(read).collect()
}

/// The cause of this type, however deep it lies.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
