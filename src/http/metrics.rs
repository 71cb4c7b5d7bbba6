//! `GET /metrics`: what the gateway has counted, for who looks after it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::header::{ALLOW, CONTENT_TYPE, FORWARDED, HeaderName, RETRY_AFTER, VIA};
use axum::http::request::Parts;
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};

use super::origin::{self, Stranger};
use super::{HttpParts, address};
use crate::metrics;

/// What a proxy adds. A request that came through one is not from this machine, whoever hands it over.
const OF_PROXIES: [HeaderName; 3] = [HeaderName::from_static("x-forwarded-for"), FORWARDED, VIA];

/// Answers programs on this machine, and admins wherever they are.
pub(super) async fn get(State(here): State<Arc<HttpParts>>, request: Request<Body>) -> Response {
    let (parts, _) = request.into_parts();
    // A page in a browser on this machine must not read it either.
    if let Err(stranger) = origin::check(&parts, &here.settings.allowed_hosts, &here.settings.allowed_origins) {
        let status = match stranger {
            Stranger::Host => StatusCode::MISDIRECTED_REQUEST,
            Stranger::Origin => StatusCode::FORBIDDEN,
        };
        return refused(status, stranger.message());
    }
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0);
    if !is_local(peer, &parts)
        && let Err(response) = admit(&here, peer, &parts).await
    {
        return *response;
    }
    match here.health.figures().await {
        Ok(figures) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], figures).into_response(),
        Err(why) => refused(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

pub(super) async fn no_such_method() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET,HEAD")]).into_response()
}

fn is_local(peer: Option<SocketAddr>, parts: &Parts) -> bool {
    let proxied = OF_PROXIES.iter().any(|name| parts.headers.contains_key(name));
    peer.is_some_and(|peer| peer.ip().to_canonical().is_loopback()) && !proxied
}

/// Lets admins in.
async fn admit(here: &HttpParts, peer: Option<SocketAddr>, parts: &Parts) -> Result<(), Box<Response>> {
    match here.auth.authenticate(&parts.headers).await {
        Ok(admitted) if admitted.caller.admin => Ok(()),
        Ok(_) => {
            let message = "figures are for programs on this machine, and for tokens with `admin: true`";
            Err(Box::new(refused(StatusCode::FORBIDDEN, message)))
        }
        Err(refusal) => {
            let address = address::of(peer.map(|peer| peer.ip()), &parts.headers, &here.settings.trusted_proxies);
            if let Err(limited) = here.limits.bad_token(address) {
                let mut response = refused(StatusCode::TOO_MANY_REQUESTS, "too many requests without a valid token");
                if let Some(seconds) = limited.retry_after() {
                    response.headers_mut().insert(RETRY_AFTER, seconds.into());
                }
                return Err(Box::new(response));
            }
            let mut response = refused(refusal.status(), refusal.message());
            refusal.challenge(&mut response);
            Err(Box::new(response))
        }
    }
}

fn refused(status: StatusCode, message: &str) -> Response {
    (status, format!("{message}\n")).into_response()
}
