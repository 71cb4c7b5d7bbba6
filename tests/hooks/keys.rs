//! Key sets that are fetched: when, how often, and what is not taken for one (hostile 89).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jobgate_adapter_api::Clock as _;

use crate::rig::{Gate, KeyServer, RSA_KEYS, fetching, signed_as};

const REFRESH: Duration = Duration::from_secs(300);
/// A key set of somebody else.
const OTHER: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"other","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}"#;

async fn gate(status: u16, body: &[u8]) -> (Gate, Arc<KeyServer>) {
    let (server, url) = KeyServer::start(status, body).await;
    (Gate::with(vec![fetching(url, REFRESH)]), server)
}

/// The status of a delivery that was signed now.
async fn deliver(gate: &Gate, id: usize) -> u16 {
    let now = gate.clock.now().as_millis() / 1000;
    let body = format!("{{\"number\":{id}}}");
    gate.send(signed_as("google_pubsub", "fetching", "1", body.as_bytes(), now).request()).await.status
}

/// Keys are fetched when they are needed, not before the rest of a request is right, once for all that wait, and kept.
#[tokio::test]
async fn keys_are_fetched_once_and_kept() {
    let (gate, server) = gate(200, RSA_KEYS.as_bytes()).await;
    assert_eq!(gate.post("/hooks/fetching", &[("authorization", "Bearer a.b.c")], "").await.status, 401);
    assert_eq!(server.asked(), 0, "nothing is fetched for nonsense");
    let answers = futures_util::future::join_all((0..20).map(|id| deliver(&gate, id))).await;
    assert_eq!(answers, [200; 20]);
    assert_eq!(server.asked(), 1);
    gate.clock.advance(REFRESH);
    assert_eq!(deliver(&gate, 21).await, 200, "the old set is good while the new one is fetched");
    while server.asked() < 2 {
        tokio::task::yield_now().await;
    }
}

/// A key that is not in the set has it fetched again, at most once an interval, however many ask; a new key is found so.
#[tokio::test]
async fn an_unknown_key_has_the_set_fetched_once_an_interval() {
    let (gate, server) = gate(200, OTHER.as_bytes()).await;
    for id in 0..50 {
        assert_eq!(deliver(&gate, id).await, 401, "the key is in no set");
    }
    assert_eq!(server.asked(), 1);
    *server.body.lock().unwrap() = (200, RSA_KEYS.as_bytes().to_vec());
    gate.clock.advance(REFRESH - Duration::from_secs(1));
    assert_eq!(deliver(&gate, 51).await, 401);
    assert_eq!(server.asked(), 1);
    gate.clock.advance(Duration::from_secs(1));
    assert_eq!(deliver(&gate, 52).await, 200);
    assert_eq!(server.asked(), 2);
}

/// What is no key set is none: the sender is asked to come again, and the set is fetched again after half a minute.
#[tokio::test]
async fn what_is_no_key_set_is_not_taken_for_one() {
    let large = format!("{}{}", " ".repeat(jobgate_webhooks::MAX_KEY_SET), RSA_KEYS);
    for (status, body) in [
        (302, ""),
        (200, ""),
        (200, "[]"),
        (200, "{\"keys\":[]}"),
        (200, large.as_str()),
        (404, RSA_KEYS),
        (500, RSA_KEYS),
        (204, ""),
    ] {
        let (gate, server) = gate(status, body.as_bytes()).await;
        for id in 0..5 {
            assert_eq!(deliver(&gate, id).await, 503, "{status}");
        }
        assert_eq!(server.asked(), 1, "{status}");
        assert!(!server.elsewhere.load(Ordering::SeqCst), "a redirect is not followed");
        assert_eq!(gate.counted("fetching", "keys_unavailable"), 5);
        *server.body.lock().unwrap() = (200, RSA_KEYS.as_bytes().to_vec());
        gate.clock.advance(Duration::from_secs(30));
        assert_eq!(deliver(&gate, 6).await, 200, "{status}");
    }
}

/// A set that cannot be fetched again is used on, and not for ever: a key that was withdrawn must not be good for more than a day.
#[tokio::test]
async fn an_old_set_is_good_for_a_day() {
    let (gate, server) = gate(200, RSA_KEYS.as_bytes()).await;
    assert_eq!(deliver(&gate, 1).await, 200);
    *server.body.lock().unwrap() = (500, Vec::new());
    gate.clock.advance(Duration::from_secs(23 * 60 * 60));
    assert_eq!(deliver(&gate, 2).await, 200);
    gate.clock.advance(Duration::from_secs(60 * 60));
    assert_eq!(deliver(&gate, 3).await, 503);
}
