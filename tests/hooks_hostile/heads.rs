//! Heads that are broken, doubled, too long or of another scheme; codings and charsets.

use std::time::Duration;

use crate::gate::{Delivery, Gate, now, says, signed, signed_at};

/// Statuses by which a server says that what came is no HTTP, or too much of it.
const NO_HTTP: [u16; 3] = [400, 413, 431];

/// The same delivery, with one line of its head written otherwise.
fn lined(delivery: &Delivery, name: &str, line: impl AsRef<[u8]>) -> Vec<u8> {
    let length = format!("\r\nContent-Length: {}\r\n\r\n", delivery.body.len());
    [delivery.clone().without(name).head().as_slice(), line.as_ref(), length.as_bytes(), &delivery.body].concat()
}

/// J1: names have no case, and are otherwise as they are written; a line that is none is refused by whoever reads HTTP.
#[tokio::test(flavor = "multi_thread")]
async fn n012_case_n013_other_names_n014_folds_n016_controls_n017_no_text() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let good = signed("signed", "msg_1", says(&job, "done"));
    let value = good.get("webhook-signature");
    let name = "webhook-signature";
    assert_eq!(gate.throw(lined(&good, name, format!("webhook_signature: {value}"))).status, 401, "another name");
    assert_eq!(gate.throw(lined(&good, name, format!("webhook-signature : {value}"))).status, 400, "a space before the colon");
    let (start, end) = value.split_at(10);
    assert_eq!(gate.throw(lined(&good, name, format!("webhook-signature: {start}\r\n {end}"))).status, 400, "a fold");
    for control in [&b"\0"[..], b"\r", b"\n", b"\x01", b"\x7f"] {
        let line = [b"webhook-signature: ", value.as_bytes(), control, b"x"].concat();
        let status = gate.throw(lined(&good, name, &line)).status;
        assert!([400, 401].contains(&status), "{control:?}: {status}");
    }
    for strange in ["ä".as_bytes(), b"\xff\xfe", "１８".as_bytes()] {
        let line = [b"webhook-signature: ", value.as_bytes(), strange].concat();
        assert_eq!(gate.throw(lined(&good, name, &line)).status, 401, "{strange:?}");
    }
    assert_eq!(gate.status(&task).await, "working", "none of them had an effect");
    assert_eq!(gate.throw(lined(&good, name, format!("WeBhOoK-SiGnAtUrE: {value}"))).status, 200, "odd case is fine");
    assert_eq!(gate.ended(&task).await, "completed");
    gate.honest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn n018_values_without_an_end() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let good = signed("signed", "msg_1", says(&job, "done"));
    let value = good.get("webhook-signature");
    for long in ["a".repeat(64 * 1024), "v1, ".repeat(10_000) + &value, "a".repeat(4 * 1024 * 1024)] {
        let status = gate.send(&good.clone().set("webhook-signature", &long));
        assert!(status == 401 || NO_HTTP.contains(&status), "{status} for {} bytes", long.len());
    }
    let seventeen = "v1, ".repeat(16) + &value;
    assert_eq!(gate.send(&good.clone().set("webhook-signature", seventeen)), 401, "not all are looked at");
    let many: Delivery = (0..2000).fold(good.clone(), |delivery, at| delivery.with(&format!("X-{at}"), "1"));
    assert!(NO_HTTP.contains(&gate.send(&many)), "too many headers");
    assert_eq!(gate.status(&task).await, "working");
    gate.honest().await;
}

/// J1: the route alone says which scheme and which secret count.
#[tokio::test(flavor = "multi_thread")]
async fn n020_another_schemes_header_n024_a_header_that_a_proxy_drops() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("pay").await;
    let body = says(&job, "done");
    let good = signed("pay", "", &body);
    let hub = Delivery { path: good.path.clone(), ..signed("hub", "", &body) };
    assert_eq!(gate.send(&hub), 401, "validly signed for another route");
    assert_eq!(gate.send(&good.clone().without("stripe-signature").with("X-Hub-Signature-256", "sha256=00")), 401);
    assert_eq!(gate.send(&Delivery { path: "/hooks/nobody".to_owned(), ..good.clone() }), 401, "an unknown route looks the same");
    assert_eq!(gate.send(&Delivery { path: format!("{}/token", good.path), ..good.clone() }), 401);
    for connection in ["stripe-signature", "close, Stripe-Signature"] {
        assert_eq!(gate.send(&good.clone().with("Connection", connection)), 401, "a proxy that obeys would drop it");
    }
    assert_eq!(gate.status(&task).await, "working");
    assert_eq!(gate.send(&good), 200);
    assert_eq!(gate.ended(&task).await, "completed");
}

/// J1: the signed address is the configured one.
#[tokio::test(flavor = "multi_thread")]
async fn n022_forwarding_headers_change_no_address() {
    let gate = Gate::start().await;
    let (_, job) = gate.job("phone").await;
    let before = gate.farm.looks(&job);
    let form = format!("CallSid={job}&Status=done");
    let evil = |delivery: Delivery| {
        delivery
            .with("X-Forwarded-Host", "evil.example")
            .with("X-Forwarded-Proto", "http")
            .with("Forwarded", "host=evil.example;proto=http")
            .with("X-Original-URL", "/hooks/other")
    };
    let theirs = signed_at("phone", "", &form, "http://evil.example/hooks/phone", now());
    assert_eq!((gate.send(&theirs), gate.send(&evil(theirs.clone()))), (401, 401), "signed for another address");
    assert_eq!(gate.farm.looks(&job), before);
    assert_eq!(gate.send(&evil(signed("phone", "", &form))), 200, "signed for ours, whatever a proxy says");
}

/// J2: a length is said once, in one way; else two readers would see two requests.
#[tokio::test(flavor = "multi_thread")]
async fn n077_two_lengths() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let good = signed("signed", "msg_1", says(&job, "done"));
    let length = good.body.len();
    for lengths in [
        format!("Content-Length: {length}\r\nContent-Length: {}\r\n", length - 1),
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        format!("Content-Length: {length}, {}\r\n", length + 1),
        "Content-Length: -1\r\n".to_owned(),
        "Transfer-Encoding: gzip\r\n".to_owned(),
    ] {
        let bytes = [good.head().as_slice(), lengths.as_bytes(), b"\r\n", &good.body].concat();
        let mut raw = gate.open();
        raw.send(&bytes);
        raw.finish();
        let answers = raw.answers();
        assert!(answers.len() <= 1, "{lengths}: one request, one answer");
        assert!(answers.iter().all(|answer| (400..=501).contains(&answer.status)), "{lengths}: {answers:?}");
    }
    assert_eq!(gate.status(&task).await, "working");
    gate.honest().await;
}

/// J1: the bytes are verified as they came; then nothing is unpacked.
#[tokio::test(flavor = "multi_thread")]
async fn n078_packed_bodies_n082_other_charsets() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let good = signed("signed", "msg_1", says(&job, "done"));
    for coding in ["gzip", "br", "zstd", "identity, gzip", "x-unknown"] {
        let packed = signed("signed", &format!("msg_{}", coding.len()), b"\x1f\x8b\x08\x00bytes that could be a bomb".as_slice());
        assert_eq!(gate.send(&packed.clone().with("Content-Encoding", coding)), 415, "{coding}");
        assert_eq!(gate.send(&packed.set("webhook-signature", "v1,AAAA").with("Content-Encoding", coding)), 401, "{coding}");
        assert_eq!(gate.send(&good.clone().with("Content-Encoding", coding)), 415, "signed before it was packed: {coding}");
    }
    for kind in ["application/json; charset=utf-16", "application/json;charset=\"latin1\""] {
        assert_eq!(gate.send(&good.clone().with("Content-Type", kind)), 415, "{kind}");
        assert_eq!(gate.send(&good.clone().set("webhook-id", "msg_2").with("Content-Type", kind)), 401, "verified first");
    }
    assert_eq!(gate.status(&task).await, "working");
    assert_eq!(
        gate.send(&good.with("Content-Encoding", "identity").with("Content-Type", "application/json; charset=UTF-8")),
        200
    );
    assert_eq!(gate.ended(&task).await, "completed");
}

/// J2: a sender that asks first is told before it sends a body.
#[tokio::test(flavor = "multi_thread")]
async fn n080_whoever_asks_first_is_answered_first() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let good = signed("signed", "msg_1", says(&job, "done")).with("Expect", "100-continue");
    let ask = |delivery: &Delivery| {
        let mut raw = gate.open();
        raw.send([delivery.head().as_slice(), format!("Content-Length: {}\r\n\r\n", delivery.body.len()).as_bytes()].concat());
        let first = raw.answer_within(Duration::from_secs(5)).unwrap();
        (raw, first.status)
    };
    assert_eq!(ask(&good.clone().without("webhook-signature")).1, 401);
    assert_eq!(ask(&good.clone().set("webhook-timestamp", (now() - 301).to_string())).1, 401);
    assert_eq!(ask(&Delivery { path: "/hooks/nobody".to_owned(), ..good.clone() }).1, 401);
    let huge = [good.head().as_slice(), b"Content-Length: 99999999\r\n\r\n"].concat();
    assert_eq!(gate.throw(huge).status, 413);
    let (mut raw, status) = ask(&good);
    assert_eq!(status, 100);
    raw.send(&good.body);
    assert_eq!(raw.answer().unwrap().status, 200);
    assert_eq!(gate.ended(&task).await, "completed");
}

/// J1: each part has its strict grammar, so nothing moves from one to the other.
#[tokio::test(flavor = "multi_thread")]
async fn n084_digits_that_move() {
    let gate = Gate::start().await;
    let (task, job) = gate.job("signed").await;
    let good = signed("signed", "msg_1", says(&job, "done"));
    let moment = good.get("webhook-timestamp");
    let (shorter, last) = moment.split_at(moment.len() - 1);
    let body = [last.as_bytes(), b".", &good.body].concat();
    assert_eq!(gate.send(&Delivery { body, ..good.clone().set("webhook-timestamp", shorter) }), 401);
    assert_eq!(gate.send(&good.clone().set("webhook-id", format!("msg_1.{moment}")).set("webhook-timestamp", "")), 401);
    let pay = signed("pay", "", says(&job, "done"));
    let shifted = Delivery { body: [b"1.", pay.body.as_slice()].concat(), ..pay };
    assert_eq!(gate.send(&shifted), 401);
    assert_eq!(gate.status(&task).await, "working");
    gate.honest().await;
}
