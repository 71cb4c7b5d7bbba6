//! Clients that take their time, or that never take what they asked for.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jobgate::domain::{CallerLimits, SystemClock};
use jobgate::engine::Supervisor;
use jobgate::http::{ConnectionLimits, Health, HttpParts, HttpSettings, NoAuth, router, serve};
use jobgate::mcp::{Frontend, Limits, Reply, RequestContext};
use jobgate_test_support::raw::{Raw, post};
use jobgate_test_support::wait::Watch;

use crate::gate::{Gate, ping};

/// A body that does not arrive in time is a 408, and the connection ends: nobody can say where the next request would begin.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_trickles_is_cut_off() {
    let gate = Gate::start().await;
    let mut trickles: Vec<Raw> = (0..50)
        .map(|_| {
            let mut raw = gate.open();
            let whole = post(&[], &ping(1));
            raw.send(&whole[..whole.len() - 3]);
            raw
        })
        .collect();
    gate.honest().await;
    for raw in &mut trickles {
        let answer = raw.answer().unwrap();
        assert_eq!((answer.status, answer.error().contains("in time")), (408, true), "{answer:?}");
        assert!(raw.closes(), "nothing more can be read from it");
    }
    gate.honest().await;
}

/// A client that sends and never reads stops being read; it holds one connection and what fits in its buffers.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_reads_do_not_pile_up() {
    let gate = Gate::start().await;
    let before = gate.resident();
    let request = post(&[], &ping(1).replace("ping", "tools/list"));
    let many: Vec<u8> = request.iter().copied().cycle().take(request.len() * 2000).collect();
    let mut deaf: Vec<Raw> = (0..20).map(|_| gate.open()).collect();
    let senders: Vec<_> = deaf
        .drain(..)
        .map(|mut raw| {
            let many = many.clone();
            std::thread::spawn(move || {
                raw.send_for(&many, Duration::from_secs(3));
                raw
            })
        })
        .collect();
    let kept: Vec<Raw> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
    gate.honest().await;
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 40 * 1024, "{grown} KiB for {} clients that do not read", kept.len());
}

#[derive(Debug)]
struct Quick;

#[async_trait]
impl Frontend for Quick {
    async fn handle(&self, _context: RequestContext, _message: Bytes) -> Reply {
        Reply::ok(Bytes::from_static(b"{}"))
    }
}

#[async_trait]
impl Health for Quick {
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    async fn figures(&self) -> Result<String, String> {
        Ok("# EOF\n".to_owned())
    }
}

/// Heads have a time limit, so that all places for connections cannot be held by clients that never say what they want.
#[tokio::test(flavor = "multi_thread")]
async fn heads_that_trickle_give_their_place_back() {
    let clock = Arc::new(SystemClock);
    let supervisor = Supervisor::new(clock.clone());
    let parts = HttpParts {
        frontend: Arc::new(Quick),
        settings: HttpSettings::default(),
        auth: Arc::new(NoAuth),
        limits: Arc::new(Limits::new(&CallerLimits::UNLIMITED, clock.clone())),
        health: Arc::new(Quick),
        hooks: None,
        artifacts: None,
        clock: clock.clone(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let limits = ConnectionLimits { connections: 3, head_timeout: Duration::from_millis(700), ..ConnectionLimits::default() };
    supervisor.spawn("http", serve(listener, router(parts), limits, clock, supervisor.clone()));
    tokio::task::spawn_blocking(move || {
        let mut slow: Vec<Raw> = (0..3).map(|_| Raw::open(port)).collect();
        for raw in &mut slow {
            raw.send("POST /mcp HTTP/1.1\r\nHost: loc");
        }
        let watch = Watch::start();
        let mut honest = Raw::open(port);
        honest.send(post(&[], "{}"));
        assert_eq!(honest.answer().unwrap().status, 200);
        assert!(watch.elapsed() < Duration::from_secs(10), "served once the others were cut off");
        for raw in &mut slow {
            let statuses: Vec<u16> = raw.answers().iter().map(|answer| answer.status).collect();
            assert!(matches!(statuses[..], [] | [408]), "{statuses:?}");
        }
    })
    .await
    .unwrap();
    supervisor.kill().await;
}
