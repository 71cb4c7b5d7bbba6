//! `/mcp`: a message in by POST, one answer or a stream of messages out; a stream by GET; the end of a session by DELETE.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::accept::Accepts;
use super::limit::{Unread, read_body};
use super::origin::{self, Stranger};
use super::{HttpParts, KEEP_ALIVE, sse};
use crate::domain::Caller;
use crate::mcp::{HeaderText, McpHeaders, Reply, RequestContext, Verb};

const PARAM_PREFIX: &str = "mcp-param-";
const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

pub(super) async fn post(State(here): State<Arc<HttpParts>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let accepts = Accepts::of(&parts.headers);
    let message = match admit(&here, &parts, accepts).and_then(|()| is_message(&parts)) {
        Ok(()) => read(&here, &parts, body).await,
        Err(refusal) => Err(refusal),
    };
    match message {
        Ok(message) => ask(&here, &parts, accepts, Verb::Post, message).await,
        Err(refusal) => respond(refusal, accepts, &here),
    }
}

pub(super) async fn get(State(here): State<Arc<HttpParts>>, request: Request<Body>) -> Response {
    let (parts, _) = request.into_parts();
    let accepts = Accepts::of(&parts.headers);
    let verb = Verb::Get { resume: text(&parts.headers, "last-event-id") };
    match admit(&here, &parts, accepts) {
        Ok(()) => ask(&here, &parts, accepts, verb, Bytes::new()).await,
        Err(refusal) => respond(refusal, accepts, &here),
    }
}

pub(super) async fn delete(State(here): State<Arc<HttpParts>>, request: Request<Body>) -> Response {
    let (parts, _) = request.into_parts();
    let accepts = Accepts::of(&parts.headers);
    match admit(&here, &parts, accepts) {
        Ok(()) => ask(&here, &parts, accepts, Verb::Delete, Bytes::new()).await,
        Err(refusal) => respond(refusal, accepts, &here),
    }
}

/// A stream without a body would be no use, so `HEAD` is none of the methods.
pub(super) async fn no_such_method() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST,GET,DELETE")]).into_response()
}

async fn ask(here: &Arc<HttpParts>, parts: &Parts, accepts: Accepts, verb: Verb, message: Bytes) -> Response {
    let context = RequestContext {
        // Whoever let the request in says who sent it; without anyone, callers are those of this machine.
        caller: parts.extensions.get::<Caller>().cloned().unwrap_or_else(Caller::local),
        address: parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip()),
        verb,
        headers: Some(mirrored(&parts.headers)),
        session: text(&parts.headers, "mcp-session-id"),
        streams: accepts.streams,
        // A connection that is cut drops this future, or the stream's reader: there is nothing left to cancel.
        cancel: CancellationToken::new(),
    };
    let reply = here.frontend.handle(context, message).await;
    respond(reply, accepts, here)
}

/// Whether a request may come in at all.
fn admit(here: &HttpParts, parts: &Parts, accepts: Accepts) -> Result<(), Reply> {
    let settings = &here.settings;
    origin::check(parts, &settings.allowed_hosts, &settings.allowed_origins).map_err(|stranger| {
        let status = match stranger {
            Stranger::Host => StatusCode::MISDIRECTED_REQUEST,
            Stranger::Origin => StatusCode::FORBIDDEN,
        };
        refused(status, stranger.message())
    })?;
    if !accepts.anything() {
        let message = "answers are `application/json` or `text/event-stream`, and `Accept` takes neither";
        return Err(refused(StatusCode::NOT_ACCEPTABLE, message));
    }
    Ok(())
}

fn is_message(parts: &Parts) -> Result<(), Reply> {
    if is_json(&parts.headers) {
        return Ok(());
    }
    Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "messages are `Content-Type: application/json`"))
}

async fn read(here: &HttpParts, parts: &Parts, body: Body) -> Result<Bytes, Reply> {
    let settings = &here.settings;
    let read = read_body(&parts.headers, body, settings.max_body_bytes, settings.request_timeout, &*here.clock);
    read.await.map_err(|unread| match unread {
        Unread::TooLarge => {
            let message = format!("a message may have at most {} bytes", settings.max_body_bytes);
            refused(StatusCode::PAYLOAD_TOO_LARGE, &message)
        }
        Unread::TooSlow => refused(StatusCode::REQUEST_TIMEOUT, "the message did not arrive in time"),
        Unread::CutOff => refused(StatusCode::BAD_REQUEST, "the message was cut off"),
    })
}

fn refused(status: StatusCode, message: &str) -> Reply {
    Reply::refused(status.as_u16(), message)
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else { return false };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// The headers that repeat the body, without judging them.
fn mirrored(headers: &HeaderMap) -> McpHeaders {
    let mut params: Vec<(String, HeaderText)> = Vec::new();
    for name in headers.keys() {
        if let Some(param) = name.as_str().strip_prefix(PARAM_PREFIX) {
            params.push((param.to_owned(), text(headers, name.as_str())));
        }
    }
    McpHeaders {
        protocol_version: text(headers, "mcp-protocol-version"),
        method: text(headers, "mcp-method"),
        name: text(headers, "mcp-name"),
        params,
    }
}

fn text(headers: &HeaderMap, name: &str) -> HeaderText {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => HeaderText::Absent,
        (Some(_), Some(_)) => HeaderText::Repeated,
        // White space around a field's value is not part of it (RFC 9110, section 5.5).
        (Some(value), None) => value.to_str().map_or(HeaderText::Unreadable, |text| HeaderText::One(text.trim().to_owned())),
    }
}

fn respond(reply: Reply, accepts: Accepts, here: &HttpParts) -> Response {
    match reply {
        Reply::Accepted => StatusCode::ACCEPTED.into_response(),
        Reply::One { status, body, notes } => {
            let mut response = if status == 200 && !accepts.json {
                sse::single(&body)
            } else {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                (status, [(CONTENT_TYPE, "application/json")], body).into_response()
            };
            if let Some(seconds) = notes.retry_after {
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
            }
            if let Some(session) = notes.session.and_then(|session| HeaderValue::try_from(session).ok()) {
                response.headers_mut().insert(MCP_SESSION_ID, session);
            }
            response
        }
        Reply::Stream(messages) => sse::response(messages, here.clock.clone(), KEEP_ALIVE),
    }
}
