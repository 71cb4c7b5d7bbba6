//! Senders that take their time, stop in the middle, send without an end, or never read what they are told.

use std::time::Duration;

use jobgate_test_support::raw::Raw;
use jobgate_test_support::wait::Watch;

use crate::gate::{Gate, says, signed};

/// J2: a body that does not arrive is cut off, and what came of it is no delivery: not even where it could be verified by itself.
#[tokio::test(flavor = "multi_thread")]
async fn n076_less_than_was_said_n104_bodies_that_trickle() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let good = signed("signed", "msg_1", says(&job, "done"));
    let more = format!("Content-Length: {}\r\n\r\n", good.body.len() + 1);
    let short = [good.head().as_slice(), more.as_bytes(), &good.body].concat();
    let mut left = gate.open();
    left.send(&short);
    left.finish();
    assert!(left.answers().iter().all(|answer| answer.status == 400), "cut off");
    let mut waiting: Vec<Raw> = (0..60)
        .map(|_| {
            let mut raw = gate.open();
            raw.send(&short);
            raw
        })
        .collect();
    gate.honest().await;
    let watch = Watch::start();
    for raw in &mut waiting {
        assert_eq!(raw.answer().unwrap().status, 408);
        assert!(raw.closes(), "nobody can say where the next request would begin");
    }
    assert!(watch.elapsed() < Duration::from_secs(20), "{:?}", watch.elapsed());
    assert_eq!(gate.status(&task).await, "working");
    gate.honest().await;
}

/// J2: heads that do not end hold nobody up.
#[tokio::test(flavor = "multi_thread")]
async fn n104_heads_that_trickle() {
    let gate = Gate::start().await;
    let mut slow: Vec<Raw> = (0..200).map(|_| gate.open()).collect();
    for raw in &mut slow {
        raw.send("POST /hooks/signed HTTP/1.1\r\nHost: localhost\r\nwebhook-id: m");
    }
    let watch = Watch::start();
    gate.honest().await;
    assert!(watch.elapsed() < Duration::from_secs(10), "{:?}", watch.elapsed());
}

/// J2: a body has a cap while it arrives, whether its length is said or not.
#[tokio::test(flavor = "multi_thread")]
async fn n072_bodies_without_an_end() {
    let gate = Gate::start().await;
    gate.honest().await;
    let before = gate.resident();
    let head = signed("signed", "msg_1", "{}").head();
    let said = [head.as_slice(), b"Content-Length: 4294967296\r\n\r\n"].concat();
    assert_eq!(gate.throw(said).status, 413, "refused before it comes");
    let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
    let senders: Vec<_> = (0..40)
        .map(|_| {
            let (mut raw, head, chunk) = (gate.open(), head.clone(), chunk.clone());
            std::thread::spawn(move || {
                raw.send([head.as_slice(), b"Transfer-Encoding: chunked\r\n\r\n"].concat());
                for _ in 0..32 {
                    raw.send_for(&chunk, Duration::from_secs(1));
                }
                raw.answers().iter().map(|answer| answer.status).collect::<Vec<_>>()
            })
        })
        .collect();
    for sender in senders {
        let statuses = sender.join().unwrap();
        // Who writes on when it was refused may lose the answer with the connection.
        assert!(matches!(statuses[..], [] | [413]), "{statuses:?}");
    }
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 40 * 1024, "{grown} KiB");
    gate.honest().await;
}

/// J2: whoever never reads is not read any more.
#[tokio::test(flavor = "multi_thread")]
async fn n104_answers_that_nobody_reads() {
    let gate = Gate::start().await;
    gate.honest().await;
    let before = gate.resident();
    let forged = signed("hub", "", says("job-9", "done")).set("X-Hub-Signature-256", "sha256=00").bytes();
    let many: Vec<u8> = forged.iter().copied().cycle().take(forged.len() * 3000).collect();
    let senders: Vec<_> = (0..20)
        .map(|_| {
            let (mut raw, many) = (gate.open(), many.clone());
            std::thread::spawn(move || {
                raw.send_for(&many, Duration::from_secs(2));
                raw
            })
        })
        .collect();
    let kept: Vec<Raw> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
    gate.honest().await;
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 40 * 1024, "{grown} KiB for {} senders that do not read", kept.len());
}
