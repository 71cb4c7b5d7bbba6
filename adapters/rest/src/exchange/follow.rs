//! Redirects, for the requests that follow them: a few, no credential leaves the provider's own addresses, and whoever redirects cannot make the
//! gateway read what stands beside it.

use bytes::Bytes;
use http::header::{ACCEPT, LOCATION};
use http::{Method, Request, Response};
use jobgate_adapter_api::{AdapterError, ErrorKind, Operation};
use std::time::Duration;
use url::Url;

use super::Exchange;
use crate::plan::{Admitted, Fetching};

/// Redirects of one request.
const MOST: usize = 3;

impl Exchange {
    /// Sends `request`, and goes where its answer leads, while it leads anywhere.
    pub(super) async fn send_following(
        &self,
        operation: Operation,
        request: Request<Bytes>,
        follow: &Fetching,
        timeout: Duration,
    ) -> Result<Response<Bytes>, AdapterError> {
        let own_headers = request.headers().clone();
        let mut at = request.uri().to_string();
        let mut answer = self.deliver(operation, request, timeout).await?;
        for _ in 0..MOST {
            if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let Some(to) = target(&at, &answer) else {
                return Err(refused(operation, "the provider redirects to what is no address"));
            };
            let ours = self.is_ours(&to);
            if !ours && follow.origins.is_empty() && to.scheme() != "https" {
                return Err(refused(operation, "the provider redirects to an address outside of its own that is not https"));
            }
            let mut next = Request::builder().method(Method::GET).uri(to.as_str()).body(Bytes::new());
            if let Ok(next) = &mut next {
                if ours {
                    *next.headers_mut() = own_headers.clone();
                } else if let Some(accept) = own_headers.get(ACCEPT) {
                    next.headers_mut().insert(ACCEPT, accept.clone());
                }
            }
            let next = next.map_err(|_| refused(operation, "the provider redirects to what is no address"))?;
            at = to.to_string();
            answer = match (ours, follow.admits(&to), &self.outside) {
                (true, ..) => self.deliver(operation, next, timeout).await?,
                (false, Some(Admitted::ByName), _) => self.elsewhere.send(operation, next, timeout).await?,
                (false, Some(Admitted::Public), Some(outside)) => outside.send(operation, next, timeout).await?,
                (false, Some(Admitted::Public), None) | (false, None, _) => {
                    return Err(refused(operation, "the provider redirects to an address that this request does not follow to"));
                }
            };
        }
        Err(refused(operation, "the provider redirects again and again"))
    }

    /// Whether an address lies at one of the provider's own: the only ones that see a credential.
    pub(crate) fn is_ours(&self, url: &Url) -> bool {
        std::iter::once(&self.plan.base).chain(self.plan.bases.values()).any(|base| base.origin() == url.origin())
    }
}

fn target(at: &str, answer: &Response<Bytes>) -> Option<Url> {
    let to = answer.headers().get(LOCATION)?.to_str().ok()?;
    Url::parse(at).ok()?.join(to).ok()
}

fn refused(operation: Operation, message: &str) -> AdapterError {
    AdapterError::new(ErrorKind::Protocol, operation, message)
}
