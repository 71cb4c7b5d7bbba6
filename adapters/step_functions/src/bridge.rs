//! The SDK's way to the network: the gateway's own transport, with its limits, deadlines and taps.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http::{Request, Response};
use jobgate_adapter_api::{AdapterError, Clock, ErrorKind, Operation, Timestamp, Transport};

/// How long a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// Until then, together with those before it.
    Until(Timestamp),
    /// So long, each.
    Each(Duration),
}

/// The requests of one call of the adapter.
#[derive(Clone, Debug)]
pub(crate) struct Bridge {
    pub(crate) transport: Transport,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) operation: Operation,
    pub(crate) patience: Patience,
    /// An endpoint of one's own has one host: the prefix that some operations put before it is taken off again.
    pub(crate) one_host: bool,
}

impl HttpClient for Bridge {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Bridge {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let bridge = self.clone();
        HttpConnectorFuture::new(async move {
            let answer = match bridge.request(&request) {
                Ok(request) => bridge.transport.send(bridge.operation, request, bridge.left()).await,
                Err(error) => Err(error),
            };
            // What the transport knows, whether anything was sent above all, is found again by `crate::error`.
            answer.and_then(response).map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

impl Bridge {
    fn left(&self) -> Duration {
        match self.patience {
            Patience::Until(end) => end.since(self.clock.now()),
            Patience::Each(span) => span,
        }
    }

    fn request(&self, request: &HttpRequest) -> Result<Request<Bytes>, AdapterError> {
        let body = request.body().bytes().map(Bytes::copy_from_slice).unwrap_or_default();
        let uri = if self.one_host { request.uri().replacen("://sync-", "://", 1) } else { request.uri().to_owned() };
        let mut building = Request::builder().method(request.method()).uri(uri);
        for (name, value) in request.headers() {
            building = building.header(name, value);
        }
        building.body(body).map_err(|error| {
            AdapterError::new(ErrorKind::Rejected, self.operation, "the request cannot be sent over HTTP").with_source(error)
        })
    }
}

fn response(answer: Response<Bytes>) -> Result<HttpResponse, AdapterError> {
    let (parts, body) = answer.into_parts();
    let status = StatusCode::try_from(parts.status.as_u16()).expect("a status code of HTTP is one of the SDK's");
    let mut response = HttpResponse::new(status, SdkBody::from(body));
    for (name, value) in &parts.headers {
        // A value that is no text tells the SDK nothing.
        if let Ok(value) = value.to_str() {
            response.headers_mut().append(name.as_str().to_owned(), value.to_owned());
        }
    }
    Ok(response)
}

/// The gateway's clock, as the SDK asks for the time.
#[derive(Debug)]
pub(crate) struct GatewayTime(pub(crate) Arc<dyn Clock>);

impl TimeSource for GatewayTime {
    fn now(&self) -> SystemTime {
        let millis = u64::try_from(self.0.now().as_millis()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
    }
}
