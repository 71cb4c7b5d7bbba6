//! `/mcp`: a message in by POST, one answer or a stream of messages out; a stream by GET; the end of a session by DELETE.

use std::net::{IpAddr, SocketAddr};
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
use super::address;
use super::auth::{Admitted, Refusal};
use super::limit::{Unread, read_body};
use super::origin::{self, Stranger};
use super::{HttpParts, HttpSettings, KEEP_ALIVE, sse};
use crate::domain::Timestamp;
use crate::mcp::{HeaderText, McpHeaders, Reply, RequestContext, Verb};

const PARAM_PREFIX: &str = "mcp-param-";
const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

pub(super) async fn post(State(here): State<Arc<HttpParts>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let accepts = Accepts::of(&parts.headers);
    let from = match admit(&here, &parts, accepts).await {
        Ok(from) => from,
        Err(response) => return *response,
    };
    let message = match is_message(&parts) {
        Ok(()) => read(&here, &parts, body).await,
        Err(refusal) => Err(refusal),
    };
    match message {
        Ok(message) => ask(&here, &parts, accepts, from, Verb::Post, message).await,
        Err(refusal) => respond(refusal, accepts, None, &here),
    }
}

pub(super) async fn get(State(here): State<Arc<HttpParts>>, request: Request<Body>) -> Response {
    let (parts, _) = request.into_parts();
    let accepts = Accepts::of(&parts.headers);
    let verb = Verb::Get { resume: text(&parts.headers, "last-event-id") };
    match admit(&here, &parts, accepts).await {
        Ok(from) => ask(&here, &parts, accepts, from, verb, Bytes::new()).await,
        Err(response) => *response,
    }
}

pub(super) async fn delete(State(here): State<Arc<HttpParts>>, request: Request<Body>) -> Response {
    let (parts, _) = request.into_parts();
    let accepts = Accepts::of(&parts.headers);
    match admit(&here, &parts, accepts).await {
        Ok(from) => {
            let mut response = ask(&here, &parts, accepts, from, Verb::Delete, Bytes::new()).await;
            // It is done, not only taken; clients warn of a 202.
            if response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            response
        }
        Err(response) => *response,
    }
}

/// A stream without a body would be no use, so `HEAD` is none of the methods.
pub(super) async fn no_such_method() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST,GET,DELETE")]).into_response()
}

/// Who sent a request, and from where.
struct Sender {
    admitted: Admitted,
    address: Option<IpAddr>,
}

async fn ask(here: &Arc<HttpParts>, parts: &Parts, accepts: Accepts, from: Sender, verb: Verb, message: Bytes) -> Response {
    let Admitted { caller, until } = from.admitted;
    let context = RequestContext {
        caller,
        address: from.address,
        verb,
        headers: Some(mirrored(&parts.headers)),
        session: text(&parts.headers, "mcp-session-id"),
        streams: accepts.streams,
        // A connection that is cut drops this future, or the stream's reader: there is nothing left to cancel.
        cancel: CancellationToken::new(),
    };
    let reply = here.frontend.handle(context, message).await;
    respond(reply, accepts, until, here)
}

/// Whether a request may come in at all, and whose it is.
async fn admit(here: &Arc<HttpParts>, parts: &Parts, accepts: Accepts) -> Result<Sender, Box<Response>> {
    let no = |refusal: Reply| Box::new(respond(refusal, accepts, None, here));
    let settings = &here.settings;
    // What was not asked for by a page that may, and under our own name, is not even looked at for who sent it.
    known(parts, settings).map_err(no)?;
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let address = address::of(peer, &parts.headers, &settings.trusted_proxies);
    let admitted = match here.auth.authenticate(&parts.headers).await {
        Ok(admitted) => admitted,
        Err(refusal) => return Err(Box::new(unknown(here, accepts, address, &refusal))),
    };
    if !accepts.anything() {
        let message = "answers are `application/json` or `text/event-stream`, and `Accept` takes neither";
        return Err(no(refused(StatusCode::NOT_ACCEPTABLE, message)));
    }
    Ok(Sender { admitted, address })
}

/// The answer to a request whose sender is not known.
fn unknown(here: &Arc<HttpParts>, accepts: Accepts, address: Option<IpAddr>, refusal: &Refusal) -> Response {
    if let Err(limited) = here.limits.bad_token(address) {
        return respond(Reply::error(None, &limited), accepts, None, here);
    }
    let mut response = respond(refused(refusal.status(), refusal.message()), accepts, None, here);
    refusal.challenge(&mut response);
    response
}

fn known(parts: &Parts, settings: &HttpSettings) -> Result<(), Reply> {
    origin::check(parts, &settings.allowed_hosts, &settings.allowed_origins).map_err(|stranger| {
        let status = match stranger {
            Stranger::Host => StatusCode::MISDIRECTED_REQUEST,
            Stranger::Origin => StatusCode::FORBIDDEN,
        };
        refused(status, stranger.message())
    })
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
        Unread::NoRoom => refused(StatusCode::SERVICE_UNAVAILABLE, "there is no room for the message now; try again"),
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

/// `until` is when a stream has to end.
fn respond(reply: Reply, accepts: Accepts, until: Option<Timestamp>, here: &HttpParts) -> Response {
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
        Reply::Stream(messages) => sse::response(messages, here.clock.clone(), KEEP_ALIVE, until),
    }
}
