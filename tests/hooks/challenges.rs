//! Handshakes by GET, OPTIONS and POST (hostile 85, 86, 88).

use crate::rig::{Gate, NOW, request, signed, signed_as};

fn meta(mode: &str, token: &str, challenge: &str) -> String {
    format!("/hooks/meta?hub.mode={mode}&hub.verify_token={token}&hub.challenge={challenge}")
}

/// Hostile 86: the challenge comes back as plain text to who knows the token, and nothing that could be anything else does.
#[tokio::test]
async fn metas_subscription_is_answered_by_get() {
    let gate = Gate::new();
    let get = async |path: &str| gate.send(request("GET", path, &[], "")).await;
    let answer = get(&meta("subscribe", "a-verify-token", "1158201444")).await;
    assert_eq!((answer.status, answer.text()), (200, "1158201444"));
    assert_eq!(
        (answer.header("content-type"), answer.header("x-content-type-options")),
        ("text/plain; charset=utf-8", "nosniff")
    );
    assert_eq!(gate.counted("meta", "handshake"), 1);
    for wrong in [
        meta("subscribe", "another-token", "1"),
        meta("unsubscribe", "a-verify-token", "1"),
        meta("subscribe", "a-verify-token", ""),
        meta("subscribe", "a-verify-token", "%3Cscript%3E"),
        meta("subscribe", "a-verify-token", "x%0D%0ASet-Cookie:y"),
        meta("subscribe", "a-verify-token", &"1".repeat(1000)),
        format!("{}&hub.challenge=2", meta("subscribe", "a-verify-token", "1")),
        "/hooks/meta".to_owned(),
    ] {
        let answer = get(&wrong).await;
        assert_eq!((answer.status, answer.text()), (403, "this handshake is not accepted\n"), "{wrong}");
    }
    assert_eq!(gate.taken(), []);
}

/// Hostile 88: an origin that is configured may deliver, at most as often as configured; its callback is not called.
#[tokio::test]
async fn cloud_events_ask_by_options() {
    let gate = Gate::new();
    let options = async |headers: &[(&str, &str)]| gate.send(request("OPTIONS", "/hooks/cloudevents", headers, "")).await;
    let origin = ("WebHook-Request-Origin", "events.example");
    let answer = options(&[origin, ("WebHook-Request-Rate", "1000"), ("WebHook-Request-Callback", "http://127.0.0.1:1/")]).await;
    assert_eq!(answer.status, 200);
    let headers = ["webhook-allowed-origin", "webhook-allowed-rate", "allow"].map(|name| answer.header(name));
    assert_eq!(headers, ["events.example", "100", "POST"]);
    for wrong in [
        &[][..],
        &[("WebHook-Request-Origin", "evil.example")],
        &[origin, origin],
        &[origin, ("WebHook-Request-Rate", "0")],
        &[origin, ("WebHook-Request-Rate", "-1")],
        &[origin, ("WebHook-Request-Rate", "1e9")],
        &[origin, ("WebHook-Request-Rate", "99999999999999999999")],
    ] {
        let answer = options(wrong).await;
        assert_eq!((answer.status, answer.header("webhook-allowed-origin")), (405, ""), "{wrong:?}");
    }
}

/// Hostile 85: Zoom's validation is answered for a word, and never for what one of its deliveries signs.
#[tokio::test]
async fn zooms_validation_is_no_signing_service() {
    let gate = Gate::new();
    let ask = async |token: &str| {
        let body = format!("{{\"event\":\"endpoint.url_validation\",\"payload\":{{\"plainToken\":\"{token}\"}}}}");
        gate.post("/hooks/zoom", &[("content-type", "application/json")], body).await
    };
    let answer = ask("qgg8vlvZRS6UYooatFL8Aw").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert!(answer.text().starts_with("{\"plainToken\":\"qgg8vlvZRS6UYooatFL8Aw\",\"encryptedToken\":\""), "{answer:?}");
    for oracle in ["v0:1800000000:{}", "", &"a".repeat(129), "a b"] {
        let answer = ask(oracle).await;
        assert_eq!(answer.status, 403, "{oracle}");
    }
    assert_eq!(gate.taken(), []);
}

/// Slack's and Discord's challenges are signed like any delivery.
#[tokio::test]
async fn signed_challenges_are_answered() {
    let gate = Gate::new();
    let slack = br#"{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}"#;
    let answer = gate.send(signed_as("slack", "slack", "1", slack, NOW).request()).await;
    assert_eq!((answer.status, answer.text()), (200, "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"));
    assert_eq!(gate.post("/hooks/slack", &[], slack.as_slice()).await.status, 401);
    let answer = gate.send(signed_as("discord", "discord", "1", b"{\"type\":1}", NOW).request()).await;
    assert_eq!((answer.status, answer.text()), (200, "{\"type\":1}"));
    assert_eq!(gate.post("/hooks/discord", &[], "{\"type\":1}").await.status, 401);
    assert_eq!(gate.taken(), []);
}

/// A method that is no delivery and no handshake is one answer on every route, whether there is one or not.
#[tokio::test]
async fn other_methods_are_answered_alike_everywhere() {
    let gate = Gate::new();
    let mut first = None;
    for method in ["GET", "OPTIONS"] {
        for path in ["/hooks/github", "/hooks/nobody", "/hooks/tokened", "/hooks/tokened/x", "/hooks/called-back/x"] {
            let answer = gate.send(request(method, path, &[], "")).await;
            assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "{method} {path}");
            assert_eq!(*first.get_or_insert_with(|| answer.clone()), answer, "{method} {path}");
        }
    }
    let mut delivery = signed("github");
    delivery.body.clear();
    let headers: Vec<(&str, &str)> = delivery.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(gate.send(request("GET", "/hooks/github", &headers, "")).await.status, 405);
    assert_eq!(gate.taken(), []);
}
