//! Much of everything: sessions, streams, notifications, answers to nothing.

use std::time::Duration;

use jobgate_test_support::raw::{Raw, post};
use jobgate_test_support::wait;
use serde_json::json;

use crate::gate::{Gate, initialize};

const SECOND: Duration = Duration::from_secs(1);

/// Sends each of `requests` on one kept connection, in pieces of fifty, and gives the statuses of the answers.
fn exchange(raw: &mut Raw, request: &[u8], count: usize, mut look: impl FnMut(u16, &str)) {
    const PIECE: usize = 50;
    let piece: Vec<u8> = request.iter().copied().cycle().take(request.len() * PIECE).collect();
    for _ in 0..count / PIECE {
        raw.send(&piece);
        for _ in 0..PIECE {
            let answer = raw.answer().unwrap();
            look(answer.status, &answer.head);
        }
    }
}

/// A session costs nothing that lasts: thousands are begun and ended, and the memory stays what it was.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_cost_nothing() {
    let gate = Gate::start().await;
    let mut raw = gate.open();
    let begin = post(&[], &initialize());
    let mut sessions = Vec::new();
    exchange(&mut raw, &begin, 500, |_, _| {});
    let before = gate.resident();
    exchange(&mut raw, &begin, 5000, |status, head| {
        assert_eq!(status, 200, "{head}");
        sessions.extend(head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).map(str::to_owned));
    });
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 8 * 1024, "{grown} KiB for 5000 sessions");
    for session in &sessions {
        raw.send(format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {session}\r\n\r\n"));
        let status = raw.answer().unwrap().status;
        assert!((200..=204).contains(&status), "{status}");
    }
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 12 * 1024, "{grown} KiB for 5000 ended sessions");
    gate.honest().await;
}

/// Thousands of streams are opened and left without a word: each is noticed, and gives back its connection and its memory.
#[tokio::test(flavor = "multi_thread")]
async fn abandoned_streams_are_noticed() {
    const AT_ONCE: usize = 500;
    let gate = Gate::start().await;
    let request = gate.listen();
    let files = gate.open_files();
    let mut before = 0;
    for round in 0..6 {
        let mut streams: Vec<Raw> = (0..AT_ONCE).map(|_| gate.open()).collect();
        for raw in &mut streams {
            raw.send(&request);
        }
        for raw in &mut streams {
            raw.stream_until("notifications/subscriptions/acknowledged");
        }
        drop(streams);
        wait::until("the streams to be given up", 20 * SECOND, || (gate.open_files() <= files + 5).then_some(()));
        if round == 1 {
            before = gate.resident();
        }
    }
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 8 * 1024, "{grown} KiB after 2000 more abandoned streams");
    gate.honest().await;
}

/// What wants no answer costs nothing, and what answers nothing that was asked changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn floods_of_notifications_and_of_answers_to_nothing_are_swallowed() {
    let gate = Gate::start().await;
    let mut raw = gate.open();
    raw.send(post(&[], &initialize()));
    let begun = raw.answer().unwrap();
    let session = begun.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
    let in_session = [("Mcp-Session-Id", &*session)];
    let notifications = [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77, "reason": "x".repeat(1000) } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1, "progress": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/nobody/knows" }),
        json!({ "jsonrpc": "2.0", "id": "q-1", "result": { "action": "accept", "content": { "ok": true } } }),
        json!({ "jsonrpc": "2.0", "id": 5, "error": { "code": -1, "message": "no" } }),
    ];
    let mut before = 0;
    for round in 0..2 {
        for message in &notifications {
            for headers in [&in_session[..], &[]] {
                exchange(&mut raw, &post(headers, &message.to_string()), 1000, |status, head| {
                    assert!(matches!(status, 202 | 400 | 404), "{message}: {head}");
                });
            }
        }
        if round == 0 {
            before = gate.resident();
        }
    }
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 8 * 1024, "{grown} KiB for 14 000 messages");
    gate.honest().await;
}
