//! Heads of requests that try to be two requests, or none, or somebody else's.

use crate::gate::{Gate, initialize, ping};
use jobgate_test_support::raw::post;

/// A request that would be answered if it were taken for one.
const HIDDEN: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// RFC 9112, section 6.3: a message whose end is in doubt is refused, or the connection ends with it; what is hidden behind it is never
/// taken for a request.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_end_is_in_doubt_hides_no_second_one() {
    let gate = Gate::start().await;
    let body = ping(1);
    let length = body.len().to_string();
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n{HIDDEN}", body.len());
    let plain = format!("{body}{HIDDEN}");
    let longer = (body.len() + HIDDEN.len()).to_string();
    for (headers, body) in [
        (vec![("Content-Length", "4"), ("Transfer-Encoding", "chunked")], &chunked),
        (vec![("Transfer-Encoding", "chunked"), ("Content-Length", &*longer)], &chunked),
        (vec![("Content-Length", &*length), ("Content-Length", &*longer)], &plain),
        (vec![("Content-Length", "4, 9")], &plain),
        (vec![("Content-Length", "+35")], &plain),
        (vec![("Content-Length", "-1")], &plain),
        (vec![("Content-Length", "0x10")], &plain),
        (vec![("Content-Length", "99999999999999999999999")], &plain),
        (vec![("Content-Length", "")], &plain),
        (vec![("Transfer-Encoding", "xchunked")], &chunked),
        (vec![("Transfer-Encoding", "chunked, identity")], &chunked),
        (vec![("Transfer-Encoding", "identity"), ("Content-Length", &*length)], &plain),
        (vec![("Transfer-Encoding ", "chunked"), ("Content-Length", &*length)], &chunked),
        (vec![("Transfer-Encoding", "\u{b}chunked")], &chunked),
    ] {
        let answers = gate.throw(post(&headers, body));
        let healthy = answers.iter().any(|answer| answer.body == b"ok\n");
        assert!(answers.len() <= 1 && !healthy, "{headers:?}: {answers:?}");
        assert!(answers.iter().all(|answer| answer.status == 200 || answer.status >= 400), "{headers:?}: {answers:?}");
    }
    gate.honest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_are_none_are_refused() {
    let gate = Gate::start().await;
    for chunks in
        ["zz\r\nabc\r\n0\r\n\r\n", "ffffffffffffffffff\r\nabc", "-1\r\nabc\r\n", "5\r\nabcdefgh\r\n0\r\n\r\n", "3\r\nab"]
    {
        let answers = gate.throw(post(&[("Transfer-Encoding", "chunked"), ("Content-Length", "9")], chunks).as_slice());
        let answers = answers.iter().map(|answer| answer.status).collect::<Vec<_>>();
        assert!(matches!(answers[..], [] | [400 | 408 | 413]), "{chunks:?}: {answers:?}");
        let mut only = String::from_utf8(post(&[("Transfer-Encoding", "chunked")], chunks)).unwrap();
        only = only.lines().filter(|line| !line.starts_with("Content-Length")).collect::<Vec<_>>().join("\r\n");
        let answers: Vec<u16> = gate.throw(only).iter().map(|answer| answer.status).collect();
        assert!(matches!(answers[..], [] | [400 | 408 | 413]), "{chunks:?}: {answers:?}");
    }
    gate.honest().await;
}

/// What HTTP forbids in a head ends the connection with a 4xx, and never reaches a log or another header.
#[tokio::test(flavor = "multi_thread")]
async fn heads_that_are_none_are_refused() {
    let gate = Gate::start().await;
    let (many, long) = (post(&[("X", "1"); 300], "{}"), post(&[("X-Long", &"x".repeat(1 << 20))], "{}"));
    let target = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(200_000));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("folded", post(&[("Mcp-Session-Id", "a\r\n b")], "{}")),
        ("space before the colon", post(&[("Mcp-Name ", "x")], "{}")),
        ("no name", post(&[("", "x")], "{}")),
        ("NUL", post(&[("Mcp-Session-Id", "a\0b")], "{}")),
        ("lone CR", post(&[("Last-Event-ID", "a\rX-Other: b")], "{}")),
        ("many headers", many),
        ("a long header", long),
        ("a long target", target.into_bytes()),
        ("HTTP/0.9", b"GET /mcp\r\n\r\n".to_vec()),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec()),
        ("noise", vec![0xff; 4096]),
        ("no target", b"POST HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("a method with a space", b"PO ST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
    ];
    for (what, bytes) in cases {
        let statuses: Vec<u16> = gate.throw(bytes).iter().map(|answer| answer.status).collect();
        assert!(matches!(statuses[..], [] | [400..=499]), "{what}: {statuses:?}");
    }
    gate.honest().await;
}

/// What decides something and is there twice decides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_headers_are_refused_with_their_name() {
    let gate = Gate::start().await;
    for (headers, status, named) in [
        ([("Host", "localhost"), ("Host", "localhost")], 421, "Host"),
        ([("Content-Type", "application/json"), ("Content-Type", "application/json")], 415, "Content-Type"),
        ([("Mcp-Session-Id", "a"), ("Mcp-Session-Id", "b")], 400, "Mcp-Session-Id"),
        ([("MCP-Protocol-Version", "2025-11-25"), ("MCP-Protocol-Version", "2025-06-18")], 400, "MCP-Protocol-Version"),
        ([("Origin", "http://localhost"), ("Origin", "https://evil.example")], 403, "Origin"),
    ] {
        let answers = gate.throw(post(&headers, &ping(1)));
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0].status, status, "{answers:?}");
        assert!(answers[0].error().contains(named), "{}", answers[0].error());
    }
    let modern = ping(1).replace("\"ping\"", "\"server/discover\"");
    let answers = gate.throw(post(
        &[("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "server/discover"), ("Mcp-Method", "tools/call")],
        &modern,
    ));
    assert_eq!((answers[0].status, answers[0].json()["error"]["code"].as_i64()), (400, Some(-32020)), "{answers:?}");
    gate.honest().await;
}

/// Sessions and events that are not ours to use are as unknown as any text, and are not sent back.
#[tokio::test(flavor = "multi_thread")]
async fn forged_sessions_and_events_are_unknown() {
    let gate = Gate::start().await;
    let mut raw = gate.open();
    raw.send(post(&[], &initialize()));
    let begun = raw.answer().unwrap();
    let session = begun.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
    let cut = session.split_at(session.len() - 1).0.to_owned();
    let (payload, tag) = session.split_once('.').unwrap();
    let forged = [
        "x".to_owned(),
        "..".to_owned(),
        "../../etc/passwd".to_owned(),
        "%0d%0aSet-Cookie:a".to_owned(),
        cut,
        format!("{session}A"),
        format!("{payload}."),
        format!(".{tag}"),
        format!("{payload}{payload}.{tag}"),
        "A".repeat(60_000),
    ];
    for id in &forged {
        for head in [
            String::from_utf8(post(&[("Mcp-Session-Id", id)], &ping(1))).unwrap(),
            format!("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {id}\r\n\r\n"),
            format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {id}\r\n\r\n"),
            format!(
                "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\nLast-Event-ID: {id}\r\n\r\n"
            ),
        ] {
            let verb = head.split(' ').next().unwrap().to_owned();
            let resumes = head.contains("Last-Event-ID");
            let mut raw = gate.open();
            raw.send(&head);
            let answer = raw.answer().unwrap();
            // A stream that cannot go on is one that begins anew, or is refused; nothing else happens.
            let fine = if resumes { matches!(answer.status, 200 | 400..=499) } else { matches!(answer.status, 404 | 431) };
            assert!(fine, "{verb} {id:.40}: {answer:?}");
            assert!(!answer.head.contains("Set-Cookie"), "{answer:?}");
            assert!(id.len() < 20 || !String::from_utf8_lossy(&answer.body).contains(id.as_str()), "{answer:?}");
        }
    }
    raw.send(post(&[("Mcp-Session-Id", &session)], &ping(2)));
    assert_eq!(raw.answer().unwrap().status, 200, "the session itself is as good as before");
    gate.honest().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn targets_of_every_form_reach_what_they_name_and_nothing_else() {
    let gate = Gate::start().await;
    let body = ping(1);
    let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for (first, host, statuses) in [
        ("POST http://localhost/mcp HTTP/1.1", "localhost", 200..=200),
        ("POST http://evil.example/mcp HTTP/1.1", "localhost", 421..=421),
        ("POST http://localhost@evil.example/mcp HTTP/1.1", "localhost", 400..=421),
        ("POST /mcp HTTP/1.1", "evil.example", 421..=421),
        ("POST /mcp HTTP/1.1", "", 400..=421),
        ("POST /mcp/ HTTP/1.1", "localhost", 404..=404),
        ("POST //mcp HTTP/1.1", "localhost", 404..=404),
        ("POST /MCP HTTP/1.1", "localhost", 404..=404),
        ("POST /mcp%00 HTTP/1.1", "localhost", 404..=404),
        ("POST /x/../mcp HTTP/1.1", "localhost", 404..=404),
        ("POST /mcp?x=/../.. HTTP/1.1", "localhost", 200..=200),
        ("CONNECT evil.example:443 HTTP/1.1", "localhost", 400..=499),
        ("OPTIONS * HTTP/1.1", "localhost", 400..=499),
        ("TRACE /mcp HTTP/1.1", "localhost", 405..=405),
        ("BREW /mcp HTTP/1.1", "localhost", 405..=405),
    ] {
        let answers = gate.throw(format!("{first}\r\nHost: {host}\r\nX-Mark: mark\r\n{rest}"));
        let status = answers.first().unwrap_or_else(|| panic!("{first}: no answer")).status;
        assert!(statuses.contains(&status), "{first}, {host}: {answers:?}");
        let said = String::from_utf8_lossy(&answers[0].body).into_owned();
        assert!(!said.contains("mark"), "{first}: {said}");
    }
    // HTTP/1.0 has no other way to end a body than a length or the connection.
    let old = gate.throw(format!("POST /mcp HTTP/1.0\r\nHost: localhost\r\n{rest}"));
    assert_eq!(old.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200], "{old:?}");
    gate.honest().await;
}

/// RFC 9112, section 9.3.2: answers come in the order of their requests.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_order() {
    let gate = Gate::start().await;
    let mut bytes = Vec::new();
    for id in 0..500 {
        bytes.extend(post(&[], &ping(id)));
    }
    let mut raw = gate.open();
    raw.send(&bytes);
    for id in 0..500 {
        assert_eq!(raw.answer().unwrap().json()["id"], id);
    }
    gate.honest().await;
}
