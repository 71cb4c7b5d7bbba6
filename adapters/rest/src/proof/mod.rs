//! What proves who a call is from: put on a request when it is whole, and renewed when the provider refuses it.

mod aws;
mod build;
mod jwt;
mod piece;
mod sign_in;
mod token;
mod tokens;

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::{Request, Response};
use jobgate_adapter_api::{AdapterError, ErrorKind, Operation};

pub(crate) use build::{build, transports};

use self::aws::Signer;
use self::piece::{Piece, put};
use self::tokens::{Token, Tokens};
use crate::exchange::Exchange;

/// What a provider's calls prove who they are from with.
#[derive(Debug)]
pub(crate) enum Proof {
    /// Nothing, or the same for every request.
    Fixed(Vec<Piece>),
    /// Asked for or made when it is needed, and kept while it is good.
    Token(Box<Tokens>),
    /// Made anew from every request.
    Signature(Signer),
}

impl Exchange {
    /// Sends a request to one of the provider's own addresses, with what proves who it is from.
    pub(crate) async fn deliver(
        &self,
        operation: Operation,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> Result<Response<Bytes>, AdapterError> {
        self.proven(operation, request, timeout, |request, left| self.transport.send(operation, request, left)).await
    }

    /// The same, with an answer that is read as it arrives.
    pub(crate) async fn deliver_streamed(
        &self,
        operation: Operation,
        request: Request<Bytes>,
        timeout: Duration,
    ) -> Result<Response<BoxStream<'static, Result<Bytes, AdapterError>>>, AdapterError> {
        self.proven(operation, request, timeout, |request, left| self.transport.stream(operation, request, left)).await
    }

    /// Sends with `send`. A request that was refused because the token had ended is sent once more with a new one: a refusal has started
    /// nothing.
    async fn proven<T, F>(
        &self,
        operation: Operation,
        mut request: Request<Bytes>,
        timeout: Duration,
        send: impl Fn(Request<Bytes>, Duration) -> F,
    ) -> Result<Response<T>, AdapterError>
    where
        F: Future<Output = Result<Response<T>, AdapterError>>,
    {
        let unfit = |message| AdapterError::new(ErrorKind::Rejected, operation, message);
        let tokens = match &self.proof {
            Proof::Fixed(pieces) => {
                put(pieces, &mut request).map_err(unfit)?;
                return send(request, timeout).await;
            }
            Proof::Signature(signer) => {
                self.cleaner.learn(signer.sign(&mut request, self.clock.now()).map_err(unfit)?);
                return send(request, timeout).await;
            }
            Proof::Token(tokens) => tokens,
        };
        let began = self.clock.now();
        let left = || timeout.saturating_sub(self.clock.now().since(began));
        let with = |token: &Token| {
            if left().is_zero() {
                // Nothing was sent, so also a submit can be made again.
                let message = "the sign-in took all the time that there was";
                return Err(AdapterError::new(ErrorKind::Unavailable, operation, message));
            }
            let mut request = request.clone();
            put(std::slice::from_ref(&token.piece), &mut request).map_err(unfit)?;
            Ok(request)
        };
        let token = tokens.current(self, operation, left(), None).await?;
        let answer = send(with(&token)?, left()).await?;
        if !tokens.refuses(answer.status().as_u16()) {
            return Ok(answer);
        }
        let token = tokens.current(self, operation, left(), Some(token.serial)).await?;
        send(with(&token)?, left()).await
    }
}
