//! `/hooks/{provider}` and `/hooks/{provider}/{token}`: a delivery in, bounded in size and time, and the answer of whoever takes it.
//!
//! The checks of `Host` and `Origin` that `/mcp` has do not apply here. They keep pages in a browser from calling with what that browser
//! may do; a delivery is believed for its signature or its address alone, and providers reach us under the name of a proxy or a tunnel.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ALLOW, CONNECTION, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;

use super::limit::{self, Room, read_body_into};
use crate::domain::Clock;
use crate::hooks::{HookAnswer, HookRequest, Hooks, Unread};

/// How long a body may take to arrive: senders are machines with small bodies.
const BODY_TIME: Duration = Duration::from_secs(10);
/// Bytes of bodies that are in memory at once.
const ROOM: usize = 64 * 1024 * 1024;

#[derive(Clone, Debug)]
struct Here {
    takes: Arc<dyn Hooks>,
    clock: Arc<dyn Clock>,
    room: Arc<Room>,
}

/// The routes for deliveries.
pub(super) fn router(takes: Arc<dyn Hooks>, clock: Arc<dyn Clock>) -> Router {
    let here = Here { takes, clock, room: Arc::new(Room::new(ROOM)) };
    Router::new().route("/hooks/{provider}", any(deliver)).route("/hooks/{provider}/{token}", any(deliver)).with_state(here)
}

async fn deliver(State(here): State<Here>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    if ![Method::POST, Method::GET, Method::OPTIONS].contains(&parts.method) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "POST")]).into_response();
    }
    let head = head(&parts);
    // A refusal here leaves the body where it is: a sender that waits for `100 Continue` never sends it.
    let most = match here.takes.look(&head) {
        Ok(most) => most,
        Err(answer) => return respond(answer),
    };
    let mut held = here.room.enter();
    // A handshake by another method is all in its head.
    let body = if parts.method == Method::POST {
        let read = read_body_into(&mut held, &parts.headers, body, most, BODY_TIME, &*here.clock);
        match read.await {
            Ok(body) => body,
            Err(why) => return respond(here.takes.unread(&head, unread(why))),
        }
    } else {
        Bytes::new()
    };
    respond(here.takes.receive(HookRequest { body, ..head }).await)
}

/// The steps of the address stay as they were sent, so that each has one spelling.
fn head(parts: &Parts) -> HookRequest {
    let steps = parts.uri.path().strip_prefix("/hooks/").unwrap_or_default();
    let (provider, token) = steps.split_once('/').map_or((steps, None), |(provider, token)| (provider, Some(token.to_owned())));
    // A proxy takes away what `Connection` names (RFC 9110, section 7.6.1). Whether one is there or not, it counts for nothing.
    let dropped: Vec<&str> = parts.headers.get_all(CONNECTION).iter().filter_map(|it| it.to_str().ok()).collect();
    let dropped: Vec<&str> = dropped.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
    let headers = parts.headers.iter().filter(|(name, _)| !dropped.iter().any(|it| it.eq_ignore_ascii_case(name.as_str())));
    HookRequest {
        method: parts.method.as_str().to_owned(),
        provider: provider.to_owned(),
        token,
        query: parts.uri.query().map(ToOwned::to_owned),
        headers: headers.map(|(name, value)| (name.as_str().to_owned(), Bytes::copy_from_slice(value.as_bytes()))).collect(),
        body: Bytes::new(),
    }
}

const fn unread(why: limit::Unread) -> Unread {
    match why {
        limit::Unread::TooLarge => Unread::TooLarge,
        limit::Unread::TooSlow => Unread::TooSlow,
        limit::Unread::CutOff => Unread::CutOff,
        limit::Unread::NoRoom => Unread::NoRoom,
    }
}

fn respond(answer: HookAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Body::from(answer.body)).into_response();
    for (name, value) in answer.headers {
        // A value that would be no header is left out: nothing of it can become a second one.
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
