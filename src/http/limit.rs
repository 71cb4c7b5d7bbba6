//! Reading a request's body within bounds of size and time.

use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;

use crate::domain::Clock;

/// A body that was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is larger than it may be; the rest was not looked at.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke.
    CutOff,
}

/// Reads a body of at most `most` bytes that arrives within `time`.
///
/// # Errors
/// See [`Unread`].
pub async fn read_body(headers: &HeaderMap, body: Body, most: usize, time: Duration, clock: &dyn Clock) -> Result<Bytes, Unread> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(Unread::TooLarge);
    }
    tokio::select! {
        biased;
        read = collect(body, most) => read,
        () = clock.sleep(time) => Err(Unread::TooSlow),
    }
}

async fn collect(body: Body, most: usize) -> Result<Bytes, Unread> {
    let mut chunks = body.into_data_stream();
    let Some(first) = chunks.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(|_| Unread::CutOff)?;
    if first.len() > most {
        return Err(Unread::TooLarge);
    }
    let Some(mut next) = chunks.next().await else { return Ok(first) };
    let mut whole = BytesMut::from(&*first);
    loop {
        let chunk = next.map_err(|_| Unread::CutOff)?;
        if whole.len() + chunk.len() > most {
            return Err(Unread::TooLarge);
        }
        whole.extend_from_slice(&chunk);
        match chunks.next().await {
            Some(more) => next = more,
            None => return Ok(whole.freeze()),
        }
    }
}
