//! Reading a request's body within bounds of size and time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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
    /// The bodies that are being read fill the [`Room`] that there is for them.
    NoRoom,
}

/// The memory that all bodies of a kind may take up at once, however many connections send one. Slow ones hold what they have sent, no more.
#[derive(Debug)]
pub struct Room(Arc<Semaphore>);

/// What one body takes up, until it is dropped.
#[derive(Debug)]
pub struct Held {
    room: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Of so many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// For one body, of which nothing is there yet.
    #[must_use]
    pub fn enter(&self) -> Held {
        Held { room: self.0.clone(), taken: None }
    }
}

impl Held {
    fn take(&mut self, bytes: usize) -> Result<(), Unread> {
        let permits = u32::try_from(bytes).map_err(|_| Unread::NoRoom)?;
        let more = self.room.clone().try_acquire_many_owned(permits).map_err(|_| Unread::NoRoom)?;
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
        Ok(())
    }
}

/// Reads a body of at most `most` bytes that arrives within `time`.
///
/// # Errors
/// See [`Unread`].
pub async fn read_body(headers: &HeaderMap, body: Body, most: usize, time: Duration, clock: &dyn Clock) -> Result<Bytes, Unread> {
    read_body_into(&mut Room::new(most).enter(), headers, body, most, time, clock).await
}

/// The same for a body that shares a [`Room`] with others.
///
/// # Errors
/// See [`Unread`].
pub async fn read_body_into(
    held: &mut Held,
    headers: &HeaderMap,
    body: Body,
    most: usize,
    time: Duration,
    clock: &dyn Clock,
) -> Result<Bytes, Unread> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(Unread::TooLarge);
    }
    tokio::select! {
        biased;
        read = collect(body, most, held) => read,
        () = clock.sleep(time) => Err(Unread::TooSlow),
    }
}

async fn collect(body: Body, most: usize, held: &mut Held) -> Result<Bytes, Unread> {
    let mut chunks = body.into_data_stream();
    let Some(first) = chunks.next().await else { return Ok(Bytes::new()) };
    let first = first.map_err(|_| Unread::CutOff)?;
    if first.len() > most {
        return Err(Unread::TooLarge);
    }
    held.take(first.len())?;
    let Some(mut next) = chunks.next().await else { return Ok(first) };
    let mut whole = BytesMut::from(&*first);
    loop {
        let chunk = next.map_err(|_| Unread::CutOff)?;
        if whole.len() + chunk.len() > most {
            return Err(Unread::TooLarge);
        }
        held.take(chunk.len())?;
        whole.extend_from_slice(&chunk);
        match chunks.next().await {
            Some(more) => next = more,
            None => return Ok(whole.freeze()),
        }
    }
}
