//! What passes through a transport, for whoever wants to see it: a person who tries a tool, a recorder of stubs.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};

use crate::Operation;

/// Sees every exchange of a transport whose answer arrived, and every one that was lost. It holds credentials: what it shows, it masks.
pub trait Tap: fmt::Debug + Send + Sync + 'static {
    /// One exchange is over.
    fn seen(&self, exchange: Exchanged);
}

/// A request and what became of it.
#[derive(Clone, Debug)]
pub struct Exchanged {
    /// The call that it was made for.
    pub operation: Operation,
    /// Its method.
    pub method: Method,
    /// Where it went.
    pub uri: Uri,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// Status, headers and body of the answer, or the sentence on why there is none.
    pub answer: Result<(StatusCode, HeaderMap, Bytes), String>,
}

impl Exchanged {
    pub(super) fn of(operation: Operation, request: &Request<Bytes>) -> Self {
        Self {
            operation,
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: request.headers().clone(),
            body: request.body().clone(),
            answer: Err("it is not there yet".to_owned()),
        }
    }

    pub(super) fn answered(mut self, answer: Result<&Response<Bytes>, String>) -> Self {
        self.answer = answer.map(|answer| (answer.status(), answer.headers().clone(), answer.body().clone()));
        self
    }
}
