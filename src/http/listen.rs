//! Connections: accepted, bounded in the time a request's head may take, and ended gracefully.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::domain::Clock;
use crate::engine::Supervisor;

/// How connections are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections at the same time; more wait to be accepted. A stream is one, and costs about 20 KiB.
    pub connections: usize,
    /// How long the head of a request may take to arrive.
    pub head_timeout: Duration,
    /// Bytes of the head of a request, and of what a connection holds in its buffers each way.
    pub buffer_bytes: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self { connections: 16_000, head_timeout: Duration::from_secs(15), buffer_bytes: 64 * 1024 }
    }
}

/// The pause after an accept that failed, for example because there are too many open files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Serves connections until the supervisor stops; then each ends after the request it is in.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    clock: Arc<dyn Clock>,
    supervisor: Supervisor,
) {
    let slots = Arc::new(Semaphore::new(limits.connections));
    let stopping = supervisor.stopping().clone();
    loop {
        if slots.available_permits() == 0 {
            tracing::warn!(
                connections = limits.connections,
                "all connections are taken; the next one waits for one of them to end"
            );
        }
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            slot = slots.clone().acquire_owned() => slot.map(|slot| (slot, listener.accept())),
        };
        let Ok((slot, accept)) = accepted else { return };
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = accept => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if !is_the_peers(&error) {
                    tracing::warn!(%error, "a connection could not be accepted");
                    clock.sleep(AFTER_FAILURE).await;
                }
                continue;
            }
        };
        // Answers are small and waited for; a delay to fill packets would only make them late.
        stream.set_nodelay(true).ok();
        let (router, stopping) = (router.clone(), stopping.clone());
        supervisor.spawn("connection", async move {
            let routes = TowerToHyperService::new(router);
            // Not by a layer, which would wrap every route once more for every connection and every request.
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(ConnectInfo(peer));
                routes.call(request)
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(limits.head_timeout)
                .max_buf_size(limits.buffer_bytes)
                .serve_connection(TokioIo::new(stream), service);
            tokio::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = stopping.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(slot);
        });
    }
}

/// A connection that its peer gave up before it was accepted is no trouble of ours.
fn is_the_peers(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused)
}
