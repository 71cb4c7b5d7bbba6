//! HTTP with limits: a body cap, a deadline, no redirects, and errors that say whether anything was sent.

mod outside;
mod stream;
mod tap;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode, header};

pub use self::tap::{Exchanged, Tap};
use crate::{AdapterError, ErrorKind, Operation, Retry, Secret, Timestamp};

/// What one answer may cost.
#[derive(Clone, Copy, Debug)]
pub struct TransportLimits {
    /// Bytes of an answer's body.
    pub max_body_bytes: usize,
    /// Time to open a connection.
    pub connect_timeout: Duration,
}

impl Default for TransportLimits {
    fn default() -> Self {
        Self { max_body_bytes: 8 * 1024 * 1024, connect_timeout: Duration::from_secs(10) }
    }
}

/// Certificates of one's own, each a PEM.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// The authorities that may vouch for a server.
    pub ca: Option<String>,
    /// Whether the machine's own authorities may do so beside `ca`; without `ca` they always may.
    pub machine: bool,
    /// The certificate that the client shows, with those between it and its authority, and its private key.
    pub identity: Option<(String, Secret)>,
}

/// Whether a call that failed may have reached the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Certainly not: no connection was made.
    No,
    /// Perhaps.
    Perhaps,
}

/// An HTTP client shared by a provider's calls. Cheap to clone. Redirects are never followed, so credentials never leave the
/// origin they were meant for.
#[derive(Clone, Debug)]
pub struct Transport {
    client: reqwest::Client,
    limits: TransportLimits,
    tap: Option<Arc<dyn Tap>>,
    /// Whether nothing but public addresses is reached.
    public_only: bool,
}

impl Transport {
    /// A client with these limits.
    ///
    /// # Errors
    /// When the machine's certificate store cannot be used.
    pub fn new(limits: TransportLimits) -> Result<Self, String> {
        client(limits, &TlsOptions::default()).map(|client| Self { client, limits, tap: None, public_only: false })
    }

    /// The same client, whose exchanges by [`Transport::send`] are seen by `tap`.
    #[must_use]
    pub fn with_tap(mut self, tap: Arc<dyn Tap>) -> Self {
        self.tap = Some(tap);
        self
    }

    /// Another client with the same limits and tap, and certificates of its own.
    ///
    /// # Errors
    /// When they cannot be read, or key and certificate do not belong together. The sentence holds nothing of them.
    pub fn with_tls(&self, tls: &TlsOptions) -> Result<Self, String> {
        Ok(Self { client: client(self.limits, tls)?, ..self.clone() })
    }

    /// The same client with a cap of its own on the bytes of an answer's body; a larger cap than before is not granted.
    #[must_use]
    pub fn with_max_body_bytes(mut self, most: usize) -> Self {
        self.limits.max_body_bytes = self.limits.max_body_bytes.min(most);
        self
    }

    /// Sends `request` and reads the whole answer, whatever its status, within `timeout`.
    ///
    /// # Errors
    /// `Unavailable` when nothing was sent; `OutcomeUnknown` for a [`Operation::Submit`] that may have arrived, `Unavailable`
    /// for any other call; `Protocol` for a body over the cap.
    #[expect(clippy::disallowed_methods, reason = "a deadline on the network is wall-clock time by nature")]
    pub async fn send(
        &self,
        operation: Operation,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> Result<Response<Bytes>, AdapterError> {
        let seen = self.tap.as_ref().map(|tap| (tap, Exchanged::of(operation, &request)));
        let answer = match tokio::time::timeout(timeout, self.exchange(operation, request)).await {
            Ok(answer) => answer,
            Err(_) => Err(lost(operation, Sent::Perhaps, format!("no answer within {} ms", timeout.as_millis()))),
        };
        if let Some((tap, exchange)) = seen {
            tap.seen(exchange.answered(answer.as_ref().map_err(ToString::to_string)));
        }
        answer
    }

    /// Sends `request`; the answer has begun.
    async fn begin(&self, operation: Operation, request: Request<Bytes>) -> Result<reqwest::Response, AdapterError> {
        let shut = || AdapterError::new(ErrorKind::Rejected, operation, "the address is not one of the public internet");
        if self.is_shut(request.uri()) {
            return Err(shut());
        }
        let request = reqwest::Request::try_from(request).map_err(|error| {
            AdapterError::new(ErrorKind::Rejected, operation, "the request has no valid address").with_source(error.without_url())
        })?;
        self.client.execute(request).await.map_err(|error| {
            if outside::refused(&error) {
                return shut();
            }
            let sent = if error.is_connect() { Sent::No } else { Sent::Perhaps };
            lost(operation, sent, "the connection failed").with_source(error.without_url())
        })
    }

    async fn exchange(&self, operation: Operation, request: Request<Bytes>) -> Result<Response<Bytes>, AdapterError> {
        let mut answer = self.begin(operation, request).await?;
        let mut body = BytesMut::new();
        loop {
            let chunk = answer.chunk().await.map_err(|error| {
                lost(operation, Sent::Perhaps, "the connection broke in the middle of the answer")
                    .with_source(error.without_url())
            })?;
            let Some(chunk) = chunk else { break };
            if body.len() + chunk.len() > self.limits.max_body_bytes {
                let message = format!("the answer is larger than {} bytes", self.limits.max_body_bytes);
                let kind = if operation == Operation::Submit { ErrorKind::OutcomeUnknown } else { ErrorKind::Protocol };
                return Err(AdapterError::new(kind, operation, message));
            }
            body.extend_from_slice(&chunk);
        }
        let mut response = Response::new(body.freeze());
        *response.status_mut() = answer.status();
        *response.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(response)
    }
}

/// What every client has in common.
fn builder(limits: TransportLimits) -> reqwest::ClientBuilder {
    // A second install is refused because the first one stands; both name the same provider of cryptography.
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limits.connect_timeout)
        .user_agent(concat!("jobgate/", env!("CARGO_PKG_VERSION")))
}

fn client(limits: TransportLimits, tls: &TlsOptions) -> Result<reqwest::Client, String> {
    let mut builder = builder(limits);
    if let Some(ca) = &tls.ca {
        let authorities = reqwest::Certificate::from_pem_bundle(ca.as_bytes())
            .ok()
            .filter(|found| !found.is_empty())
            .ok_or("the authorities are no PEM with certificates")?;
        builder = if tls.machine { builder.tls_certs_merge(authorities) } else { builder.tls_certs_only(authorities) };
    }
    if let Some((certificate, key)) = &tls.identity {
        let both = Secret::new(format!("{certificate}\n{}", key.expose()));
        let identity = reqwest::Identity::from_pem(both.expose().as_bytes())
            .map_err(|_| "the client's certificate and key are no PEM with a certificate and a private key")?;
        builder = builder.identity(identity);
    }
    builder.build().map_err(|error| match (&tls.ca, &tls.identity) {
        (None, None) => format!("the HTTP client could not be built: {error}"),
        // What the library says of certificates may repeat them.
        _ => "the certificates cannot be used: an authority is not valid, or the client's key does not belong to its certificate"
            .to_owned(),
    })
}

/// The error of a call that got no answer.
fn lost(operation: Operation, sent: Sent, message: impl Into<String>) -> AdapterError {
    let kind = match (operation, sent) {
        (Operation::Submit, Sent::Perhaps) => ErrorKind::OutcomeUnknown,
        (_, Sent::No | Sent::Perhaps) => ErrorKind::Unavailable,
    };
    AdapterError::new(kind, operation, message)
}

impl AdapterError {
    /// The usual meaning of an HTTP status that is no success (RFC 9110 section 15, RFC 6585): 401 and 403 `Unauthorized`,
    /// 404 and 410 `NotFound`, 429 `RateLimited`, other 4xx `Rejected`, 5xx `Unavailable` (for a submit: `OutcomeUnknown`, as
    /// nobody knows how far it got, except 503, which says that it was not taken), the rest `Protocol`. `Retry-After` is obeyed.
    #[must_use]
    pub fn from_status(
        operation: Operation,
        status: StatusCode,
        headers: &HeaderMap,
        now: Timestamp,
        message: impl Into<String>,
    ) -> Self {
        let kind = match status.as_u16() {
            401 | 403 => ErrorKind::Unauthorized,
            404 | 410 if operation != Operation::Submit => ErrorKind::NotFound,
            408 | 503 => ErrorKind::Unavailable,
            429 => ErrorKind::RateLimited,
            400..=499 => ErrorKind::Rejected,
            500..=599 if operation == Operation::Submit => ErrorKind::OutcomeUnknown,
            500..=599 => ErrorKind::Unavailable,
            _ => ErrorKind::Protocol,
        };
        let error = Self::new(kind, operation, message).with_status(status.as_u16());
        match (kind, parse_retry_after(headers, now)) {
            (ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::OutcomeUnknown, Some(wait)) => {
                error.with_retry(Retry::After(wait))
            }
            _ => error,
        }
    }
}

/// `Retry-After` in both of its forms (RFC 9110 section 10.2.3): seconds, or a date. At most a day; nonsense is `None`.
#[must_use]
pub fn parse_retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let at = httpdate::parse_http_date(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
            Timestamp::from_millis(i64::try_from(at.as_millis()).ok()?).since(now)
        }
    };
    Some(wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::RETRY_AFTER, value.parse().unwrap())])
    }

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let now: Timestamp = "2026-07-28T12:00:00Z".parse().unwrap();
        assert_eq!(parse_retry_after(&headers("120"), now), Some(Duration::from_secs(120)));
        assert_eq!(parse_retry_after(&headers("Tue, 28 Jul 2026 12:00:30 GMT"), now), Some(Duration::from_secs(30)));
        assert_eq!(parse_retry_after(&headers("Tue, 28 Jul 2026 11:00:00 GMT"), now), Some(Duration::ZERO));
        assert_eq!(parse_retry_after(&headers("soon"), now), None);
        assert_eq!(parse_retry_after(&headers("999999999"), now), Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn a_5xx_on_submit_leaves_the_outcome_unknown_and_a_503_does_not() {
        let now = Timestamp::default();
        let of = |operation, code| {
            AdapterError::from_status(operation, StatusCode::from_u16(code).unwrap(), &HeaderMap::new(), now, "x").kind()
        };
        assert_eq!(of(Operation::Submit, 502), ErrorKind::OutcomeUnknown);
        assert_eq!(of(Operation::Submit, 503), ErrorKind::Unavailable);
        assert_eq!(of(Operation::Poll, 502), ErrorKind::Unavailable);
        assert_eq!(of(Operation::Poll, 404), ErrorKind::NotFound);
        assert_eq!(of(Operation::Submit, 404), ErrorKind::Rejected);
    }
}
