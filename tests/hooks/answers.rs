//! What senders are told, and in which order things are looked at.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use jobgate::engine::Ingested;
use jobgate::hooks::{HookRequest, Hooks as _, Route};
use jobgate_webhooks::NAMES;

use crate::rig::{Answer, BODY, Does, Gate, NOW, Signed, TOKEN, request, route, secret_text, signed, signed_as};

/// J1: every refusal has the same status, the same headers and the same bytes, whatever is wrong and whoever asks.
#[tokio::test]
async fn refusals_cannot_be_told_apart() {
    let gate = Gate::new();
    let mut refused: Vec<(String, Answer)> = Vec::new();
    for path in
        ["/hooks/nobody", "/hooks/nobody/x", "/hooks/tokened", &format!("/hooks/tokened/x{TOKEN}"), "/hooks/called-back/x"]
    {
        refused.push((path.to_owned(), gate.post(path, &[], BODY).await));
    }
    for name in NAMES {
        let path = signed(name).path;
        refused.push((format!("{name}: nothing"), gate.post(&path, &[], BODY).await));
        let mut changed = signed(name);
        match changed.headers.last_mut() {
            Some((_, value)) if name != "aws_sns" => *value = format!("x{value}"),
            _ => changed.body = String::from_utf8(changed.body).unwrap().replace("job-1", "job-2").into_bytes(),
        }
        refused.push((format!("{name}: changed"), gate.send(changed.request()).await));
        // Twice, where order could make one of them count.
        let mut twice = signed(name);
        if let Some(last) = twice.headers.last().cloned().filter(|_| name != "aws_sns") {
            twice.headers.push(last);
            refused.push((format!("{name}: twice"), gate.send(twice.request()).await));
        }
    }
    refused.push(("old".to_owned(), gate.send(signed_as("stripe", "stripe", "1", BODY, NOW - 9999).request()).await));
    let (_, first) = refused[0].clone();
    assert_eq!((first.status, first.text()), (401, "this delivery is not accepted\n"));
    assert_eq!(first.header("www-authenticate"), "Webhook");
    for (what, answer) in refused {
        assert_eq!(answer, first, "{what}");
    }
    assert_eq!(gate.taken(), []);
    assert_eq!(gate.counted("stripe", "too_old"), 1, "the counters know");
    assert_eq!(gate.counted("", "no_route"), 2);
}

/// J3, J5, hostile 65, 105: what became of a verified delivery, and what its sender is told.
#[tokio::test]
async fn what_became_of_it_is_told_by_status_alone() {
    let mut strict = route("github");
    strict.provider = jobgate::domain::ProviderName::new("strict");
    strict.unknown_refused = true;
    let gate = Gate::with(vec![strict]);
    for (does, status, label) in [
        (Does::Gives(Ingested::Hinted), 200, "hinted"),
        (Does::Gives(Ingested::Parked), 200, "parked"),
        (Does::Gives(Ingested::Late), 200, "late"),
        (Does::Gives(Ingested::Stale), 200, "stale"),
        (Does::Gives(Ingested::Nothing), 200, "nothing"),
        (Does::Gives(Ingested::Repeat { conflict: true }), 200, "conflict"),
        (Does::Gives(Ingested::Unknown), 200, "unknown"),
        (Does::CannotRead, 400, "unreadable"),
        (Does::CannotWrite, 503, "unavailable"),
        (Does::Panics, 500, "panicked"),
    ] {
        gate.does(does);
        let answer = gate.send(signed("github").request()).await;
        assert_eq!(answer.status, status, "{does:?}: {answer:?}");
        assert_eq!(answer.header("retry-after").is_empty(), status != 503, "{does:?}");
        assert_eq!(gate.counted("github", label), 1, "{does:?}");
        assert!(!answer.text().contains("disk") && !answer.text().contains("$.data"), "{answer:?}");
    }
    gate.does(Does::Gives(Ingested::Unknown));
    assert_eq!(gate.send(signed_as("github", "strict", "1", BODY, NOW).request()).await.status, 404);
    // One that panicked harms nobody.
    gate.does(Does::Takes);
    assert_eq!(gate.send(signed("github").request()).await.status, 200);
}

/// Method, then size and time, then route and address, then signature, then charset, then effect.
#[tokio::test]
async fn things_are_looked_at_in_one_order() {
    let gate = Gate::new();
    let large = vec![b'x'; 64 * 1024 + 1];
    let charset = [("content-type", "application/json; charset=utf-16")];
    let coding = [("content-encoding", "gzip")];
    for method in ["PUT", "DELETE", "PATCH", "HEAD", "PROPFIND", "TRACE"] {
        for path in ["/hooks/github", "/hooks/nobody", "/hooks/tokened/x"] {
            let answer = gate.send(request(method, path, &[], large.clone())).await;
            assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "{method} {path}");
        }
    }
    assert_eq!(gate.post("/hooks/github", &charset, large.clone()).await.status, 413, "size before signature");
    assert_eq!(gate.post("/hooks/nobody", &charset, large.clone()).await.status, 401, "nobody's body is not read");
    assert_eq!(gate.post("/hooks/github", &charset, BODY).await.status, 401, "signature before charset");
    gate.does(Does::Panics);
    for (headers, label) in [(charset, "charset"), (coding, "coding")] {
        let mut sent = signed("github");
        sent.headers.extend(headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(gate.send(sent.request()).await.status, 415, "charset before effect");
        assert_eq!(gate.counted("github", label), 1);
    }
}

/// Hostile 80: a sender that waits for `100 Continue` is refused by its head alone, whatever it would send.
#[tokio::test]
async fn a_head_that_is_wrong_is_refused_without_its_body() {
    let gate = Gate::new();
    let never = || Body::from_stream(stream::pending::<Result<Bytes, io::Error>>());
    let expects = |mut sent: Signed, more: &[(&str, &str)]| {
        sent.headers
            .extend([("Expect", "100-continue")].iter().chain(more).map(|(name, value)| ((*name).into(), (*value).into())));
        let headers: Vec<(&str, &str)> = sent.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        request("POST", &sent.path, &headers, never())
    };
    for name in NAMES {
        if ["zoom", "aws_sns"].contains(&name) {
            // Their bodies tell what they are.
            continue;
        }
        let answer = gate.send(expects(Signed { headers: Vec::new(), ..signed(name) }, &[])).await;
        assert_eq!(answer.status, 401, "{name}");
    }
    let old = signed_as("stripe", "stripe", "1", BODY, NOW - 301);
    assert_eq!(gate.send(expects(old, &[])).await.status, 401);
    let announced = expects(signed("stripe"), &[("Content-Length", "65537")]);
    assert_eq!(gate.send(announced).await.status, 413);
    assert_eq!(gate.send(request("POST", "/hooks/tokened/x", &[], never())).await.status, 401);
    // A good head is no refusal, and its body counts.
    let mut good = signed("stripe");
    good.headers.push(("Expect".to_owned(), "100-continue".to_owned()));
    assert_eq!(gate.send(good.request()).await.status, 200);
}

/// Hostile 76, 104, J5: a body that does not come, breaks off or grows; and a delivery that takes too long.
#[tokio::test]
async fn slow_ones_are_let_go() {
    let gate = Gate::new();
    let advance = async |sent: &mut (dyn Future<Output = Answer> + Unpin), by: u64| {
        tokio::select! {
            biased;
            answer = sent => panic!("too early: {answer:?}"),
            () = async { for _ in 0..50 { tokio::task::yield_now().await } } => {}
        }
        gate.clock.advance(Duration::from_secs(by));
    };
    let endless = Body::from_stream(stream::pending::<Result<Bytes, io::Error>>());
    let mut sent = Box::pin(gate.post("/hooks/github", &[], endless));
    advance(&mut sent, 10).await;
    assert_eq!(sent.await.status, 408);

    let broken = stream::iter([Ok(Bytes::from_static(b"{")), Err(io::Error::other("cut"))]);
    assert_eq!(gate.post("/hooks/github", &[], Body::from_stream(broken)).await.status, 400);
    let growing = stream::repeat_with(|| Ok::<_, io::Error>(Bytes::from(vec![b'x'; 4096])));
    assert_eq!(gate.post("/hooks/github", &[], Body::from_stream(growing)).await.status, 413);
    assert_eq!(
        [gate.counted("github", "too_slow"), gate.counted("github", "cut_off"), gate.counted("github", "too_large")],
        [1; 3]
    );

    gate.does(Does::Hangs);
    let mut sent = Box::pin(gate.send(signed("github").request()));
    advance(&mut sent, 3).await;
    let answer = sent.await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
    assert_eq!(gate.counted("github", "too_late"), 1);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// J1: the debug log says why, and never with what.
#[tokio::test]
async fn no_secret_is_in_the_log_or_in_debug() {
    let log = Log::default();
    let written = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || written.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let gate = Gate::new();
    for name in NAMES {
        gate.send(signed(name).request()).await;
        for path in ["/hooks/shopify/hunter2-hunter2-hunter2", "/hooks/github?token=hunter2-hunter2-hunter2"] {
            let mut stray = signed(name);
            path.clone_into(&mut stray.path);
            gate.send(stray.request()).await;
        }
    }
    gate.post(&format!("/hooks/tokened/{TOKEN}"), &[], BODY).await;
    gate.post(&format!("/hooks/tokened/x{TOKEN}"), &[], BODY).await;
    drop(guard);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("a delivery was refused") && log.contains("the signature is missing"), "{log}");
    let routes: Vec<Route> = NAMES.iter().map(|name| route(name)).collect();
    let printed = format!("{log} {routes:?} {:?}", gate.receiver);
    for name in NAMES {
        assert!(!printed.contains(&secret_text(name)), "{name}");
    }
    for secret in [TOKEN, "hunter2", "a-verify-token", "job-1"] {
        assert!(!printed.contains(secret), "{secret}: {printed}");
    }
}

/// The receiver judges by itself what the head alone could not: a process that hands deliveries on only saves it the work.
#[tokio::test]
async fn the_receiver_does_not_rely_on_a_look_before() {
    let gate = Gate::new();
    let post = |provider: &str, token: Option<&str>| HookRequest {
        method: "POST".to_owned(),
        provider: provider.to_owned(),
        token: token.map(ToOwned::to_owned),
        query: None,
        headers: Vec::new(),
        body: Bytes::from_static(BODY),
    };
    for (request, status) in [
        (post("nobody", None), 401),
        (post("tokened", None), 401),
        (post("tokened", Some("x")), 401),
        (post("github", Some("x")), 401),
        (post("tokened", Some(TOKEN)), 200),
        (HookRequest { method: "PUT".to_owned(), ..post("tokened", Some(TOKEN)) }, 405),
        (HookRequest { method: "PUT".to_owned(), ..post("github", None) }, 405),
    ] {
        let answer = gate.receiver.receive(request.clone()).await;
        assert_eq!(answer.status, status, "{request:?}");
    }
}
