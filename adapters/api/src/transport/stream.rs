//! Answers that are too large to be read as a whole: their bytes as they arrive.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http::{Request, Response};

use super::{Sent, Transport, lost};
use crate::{AdapterError, Operation};

impl Transport {
    /// Sends `request` and gives the answer, whatever its status, with its body as a stream that has no cap: whoever reads it counts. The
    /// answer begins within `timeout`, and no pause in it is longer than that. Redirects are not followed.
    ///
    /// # Errors
    /// As [`Transport::send`]; in the stream `Unavailable` where the answer breaks off or pauses for too long.
    #[expect(clippy::disallowed_methods, reason = "a deadline on the network is wall-clock time by nature")]
    pub async fn stream(
        &self,
        operation: Operation,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> Result<Response<BoxStream<'static, Result<Bytes, AdapterError>>>, AdapterError> {
        let late = move || lost(operation, Sent::Perhaps, format!("no answer within {} ms", timeout.as_millis()));
        let mut answer = tokio::time::timeout(timeout, self.begin(operation, request)).await.map_err(|_| late())??;
        let (status, headers) = (answer.status(), std::mem::take(answer.headers_mut()));
        let chunks = stream::unfold(Some(answer.bytes_stream().boxed()), move |open| async move {
            let mut open = open?;
            match tokio::time::timeout(timeout, open.next()).await {
                Ok(Some(Ok(chunk))) => Some((Ok(chunk), Some(open))),
                Ok(Some(Err(error))) => {
                    let broken = lost(operation, Sent::Perhaps, "the connection broke in the middle of the answer");
                    Some((Err(broken.with_source(error.without_url())), None))
                }
                Ok(None) => None,
                Err(_) => {
                    let pause = format!("the answer paused for more than {} ms", timeout.as_millis());
                    Some((Err(lost(operation, Sent::Perhaps, pause)), None))
                }
            }
        });
        let mut response = Response::new(chunks.boxed());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}
