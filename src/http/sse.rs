//! Messages as server-sent events, with comments while nothing happens.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use tokio::sync::mpsc;

use crate::domain::Clock;

/// Proxies that buffer answers are told not to (Streamable HTTP, "Receiving Messages").
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A response that carries these messages as they come, and a comment whenever `silence` has passed without one.
pub(super) fn response(messages: mpsc::Receiver<Bytes>, clock: Arc<dyn Clock>, silence: Duration) -> Response {
    let events = stream::unfold((messages, clock), move |(mut messages, clock)| async move {
        let event = tokio::select! {
            biased;
            message = messages.recv() => event(&message?),
            () = clock.sleep(silence) => Bytes::from_static(b": keep-alive\n\n"),
        };
        Some((Ok::<_, Infallible>(event), (messages, clock)))
    });
    around(Body::from_stream(events))
}

/// A response that carries one message.
pub(super) fn single(message: &[u8]) -> Response {
    around(Body::from(event(message)))
}

fn around(body: Body) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache"), (X_ACCEL_BUFFERING, "no")];
    (StatusCode::OK, headers, body).into_response()
}

/// Our messages are JSON without line breaks, so that one `data:` line holds each.
fn event(message: &[u8]) -> Bytes {
    let mut event = BytesMut::with_capacity(message.len() + 24);
    event.put_slice(b"event: message\ndata: ");
    event.put_slice(message);
    event.put_slice(b"\n\n");
    event.freeze()
}
