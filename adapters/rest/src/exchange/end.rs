//! Answers of which only the end is wanted: read as they arrive, and never held as a whole.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::Response;
use jobgate_adapter_api::{AdapterError, ErrorKind, Operation};

use super::{Answer, Exchange};
use crate::language::Context;
use crate::plan::RequestPlan;

/// Bytes of an answer's end that are kept.
const KEPT: usize = 64 * 1024;
/// Bytes of an answer that are read for the sake of its end.
const MOST: usize = 64 * 1024 * 1024;

/// The end of an answer.
#[derive(Debug)]
pub(crate) struct End {
    /// The answer, with no more than the end of its body.
    pub(crate) answer: Answer,
    /// Bytes of its whole body.
    pub(crate) bytes: usize,
}

impl End {
    /// Whether something of the body is left out.
    pub(crate) fn is_cut(&self) -> bool {
        self.bytes > KEPT
    }
}

/// An answer whose body is read as it arrives.
pub(crate) type Arriving = Response<BoxStream<'static, Result<Bytes, AdapterError>>>;

impl Exchange {
    /// Sends a request; the answer, whatever its code, is read as it arrives.
    pub(crate) async fn send_streamed(
        &self,
        operation: Operation,
        request: &RequestPlan,
        context: &Context,
        timeout: Duration,
    ) -> Result<Arriving, AdapterError> {
        let built = self.build(request, context).map_err(|message| AdapterError::new(ErrorKind::Rejected, operation, message))?;
        self.deliver_streamed(operation, built, timeout.min(self.plan.timeout)).await
    }

    /// Sends a request and reads the end of the answer, whatever its code, within `timeout`.
    pub(crate) async fn send_for_end(
        &self,
        operation: Operation,
        request: &RequestPlan,
        context: &Context,
        timeout: Duration,
    ) -> Result<End, AdapterError> {
        let began = self.clock.now();
        let answer = self.send_streamed(operation, request, context, timeout).await?;
        let (parts, mut chunks) = answer.into_parts();
        let (mut kept, mut bytes) = (BytesMut::new(), 0);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            bytes += chunk.len();
            if bytes > MOST || self.clock.now().since(began) > timeout {
                let message = "the answer is too large, or too slow, for its end to be read";
                return Err(AdapterError::new(ErrorKind::Protocol, operation, message));
            }
            kept.extend_from_slice(&chunk);
            // Only now and then, so that each byte is moved at most once.
            if kept.len() > 2 * KEPT {
                drop(kept.split_to(kept.len() - KEPT));
            }
        }
        drop(kept.split_to(kept.len().saturating_sub(KEPT)));
        Ok(End { answer: Answer::read(Response::from_parts(parts, kept.freeze()), request.parse), bytes })
    }
}
