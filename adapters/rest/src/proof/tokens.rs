//! Tokens that end: kept until shortly before, asked for once however many calls wait, and again when the provider refuses one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::HeaderName;
use jobgate_adapter_api::{AdapterError, ErrorKind, Operation, Retry, Secret, Timestamp};
use tokio::sync::Mutex;

use super::piece::Piece;
use super::token::Source;
use crate::codes::Codes;
use crate::exchange::Exchange;

/// A token is renewed so long before it ends, or in the last fifth of a short life.
const MARGIN: Duration = Duration::from_secs(60);
/// After a renewal that failed while the token was still good, the next one waits for so long.
const PAUSE: Duration = Duration::from_secs(5);

/// The tokens of one provider.
#[derive(Debug)]
pub(crate) struct Tokens {
    source: Source,
    header: HeaderName,
    prefix: String,
    expired: Codes,
    /// How many times a token was asked for. Whoever has waited for one time shares what came of it.
    asked: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    token: Option<Arc<Token>>,
    renew_at: Option<Timestamp>,
    trouble: Option<Trouble>,
}

/// A token, as it is sent.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) piece: Piece,
    /// Which one it is, so that a refusal of an old one does not end its successor.
    pub(super) serial: u64,
    ends_at: Option<Timestamp>,
}

/// What a source gives.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) value: Secret,
    pub(super) ends_at: Option<Timestamp>,
}

/// Why there is no token. Nothing was sent of the call that needed it.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) kind: ErrorKind,
    pub(super) retry: Option<Retry>,
    pub(super) message: String,
    pub(super) status: Option<u16>,
    /// The cause, for the log.
    pub(super) cause: Option<String>,
}

impl Trouble {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, retry: None, message: message.into(), status: None, cause: None }
    }

    fn error(&self, operation: Operation) -> AdapterError {
        let mut error = AdapterError::new(self.kind, operation, self.message.clone());
        if let Some(retry) = self.retry {
            error = error.with_retry(retry);
        }
        if let Some(status) = self.status {
            error = error.with_status(status);
        }
        match &self.cause {
            Some(cause) => error.with_source(cause.clone()),
            None => error,
        }
    }
}

impl Tokens {
    pub(super) fn new(source: Source, header: HeaderName, prefix: String, expired: Codes) -> Self {
        Self { source, header, prefix, expired, asked: AtomicU64::new(0), kept: Mutex::default() }
    }

    /// Whether this code says that a token has ended.
    pub(super) fn refuses(&self, code: u16) -> bool {
        self.expired.contains(code)
    }

    /// A token that is good, and is not the one that was `refused`.
    pub(super) async fn current(
        &self,
        exchange: &Exchange,
        operation: Operation,
        timeout: Duration,
        refused: Option<u64>,
    ) -> Result<Arc<Token>, AdapterError> {
        let began = exchange.clock.now();
        let asked = self.asked.load(Ordering::Acquire);
        let mut kept = tokio::select! {
            kept = self.kept.lock() => kept,
            () = exchange.clock.sleep(timeout) => {
                let message = "the sign-in that another call began took too long";
                return Err(AdapterError::new(ErrorKind::Unavailable, operation, message));
            }
        };
        let now = exchange.clock.now();
        let known = kept.token.clone().filter(|token| Some(token.serial) != refused);
        if let Some(token) = &known
            && kept.renew_at.is_none_or(|at| now < at)
        {
            return Ok(Arc::clone(token));
        }
        if self.asked.load(Ordering::Acquire) != asked
            && let Some(trouble) = &kept.trouble
        {
            return Err(trouble.error(operation));
        }
        let fresh = self.source.obtain(exchange, timeout.saturating_sub(now.since(began))).await;
        let serial = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        match fresh {
            Ok(fresh) => Ok(self.keep(exchange, &mut kept, fresh, serial, now)),
            Err(trouble) => {
                let error = trouble.error(operation);
                kept.trouble = Some(trouble);
                // The old one may do for a while yet.
                match known.filter(|token| token.ends_at.is_none_or(|at| exchange.clock.now() < at)) {
                    Some(token) => {
                        kept.renew_at = Some(exchange.clock.now().plus(PAUSE));
                        Ok(token)
                    }
                    None => Err(error),
                }
            }
        }
    }

    fn keep(&self, exchange: &Exchange, kept: &mut Kept, fresh: Fresh, serial: u64, asked_at: Timestamp) -> Arc<Token> {
        exchange.cleaner.learn(fresh.value.clone());
        let sent = Secret::new(format!("{}{}", self.prefix, fresh.value.expose()));
        let token = Arc::new(Token { piece: Piece::Header(self.header.clone(), sent), serial, ends_at: fresh.ends_at });
        let renew_at = |ends: Timestamp| {
            let life = ends.since(asked_at);
            asked_at.plus(life.saturating_sub(MARGIN.min(life / 5)))
        };
        *kept = Kept { token: Some(Arc::clone(&token)), renew_at: fresh.ends_at.map(renew_at), trouble: None };
        token
    }
}
