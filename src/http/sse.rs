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

use crate::domain::{Clock, Timestamp};
use crate::mcp::Message;

/// Proxies that buffer answers are told not to (Streamable HTTP, "Receiving Messages").
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Clients skip it.
const COMMENT: &[u8] = b": keep-alive\n\n";

/// A response that carries these messages as they come, and a comment whenever `silence` has passed without one. At `until` it ends:
/// what let its reader in is not valid any more, and what the reader misses is in the store (requirement I3).
pub(super) fn response(
    messages: mpsc::Receiver<Message>,
    clock: Arc<dyn Clock>,
    silence: Duration,
    until: Option<Timestamp>,
) -> Response {
    let events = stream::unfold((messages, clock), move |(mut messages, clock)| async move {
        let over = async {
            match until {
                Some(until) => clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let event = tokio::select! {
            biased;
            () = over => return None,
            message = messages.recv() => event(&message?),
            () = clock.sleep(silence) => Bytes::from_static(COMMENT),
        };
        Some((Ok::<_, Infallible>(event), (messages, clock)))
    });
    around(Body::from_stream(events))
}

/// A response that carries one message.
pub(super) fn single(message: &[u8]) -> Response {
    around(Body::from(event(&Message::from(Bytes::copy_from_slice(message)))))
}

fn around(body: Body) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache"), (X_ACCEL_BUFFERING, "no")];
    (StatusCode::OK, headers, body).into_response()
}

/// Our messages are JSON without line breaks, and our ids visible ASCII, so that one line holds each. An event without a message only
/// moves the place at which a lost stream goes on (Streamable HTTP, "Resumability").
fn event(message: &Message) -> Bytes {
    if message.id.is_none() && message.bytes.is_empty() {
        // It only says that the stream is there.
        return Bytes::from_static(COMMENT);
    }
    let mut event = BytesMut::with_capacity(message.bytes.len() + message.id.as_ref().map_or(0, String::len) + 32);
    if let Some(id) = &message.id {
        event.put_slice(b"id: ");
        event.put_slice(id.as_bytes());
        event.put_u8(b'\n');
    }
    if !message.bytes.is_empty() {
        event.put_slice(b"event: message\n");
    }
    event.put_slice(b"data: ");
    event.put_slice(&message.bytes);
    event.put_slice(b"\n\n");
    event.freeze()
}
