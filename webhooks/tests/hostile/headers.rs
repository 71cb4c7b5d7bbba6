//! 1 to 24: headers that are missing, doubled, of another family, too long, or not text.

use jobgate_webhooks::{Part, Refusal};

use crate::rig::{NOW, Rig, all, rig};

/// The schemes that verify something in a header.
fn in_headers() -> impl Iterator<Item = Rig> {
    all().filter(|rig| rig.scheme.name() != "aws_sns")
}

/// J1: what the other tests bend is accepted as it is.
#[test]
fn every_scheme_accepts_its_own_delivery() {
    for rig in all() {
        assert!(rig.verdict(&rig.sent()).is_ok(), "{}: {:?}", rig.scheme.name(), rig.verdict(&rig.sent()));
    }
}

#[test]
fn n001_no_signature_header() {
    for rig in in_headers() {
        let sent = rig.sent();
        let header = rig.main_header(&sent);
        let refusal = rig.verdict(&sent.without(&header)).unwrap_err();
        assert!(matches!(refusal, Refusal::Missing(_)), "{}: {refusal:?}", rig.scheme.name());
        assert_eq!(refusal.status(), 401);
    }
}

#[test]
fn n002_no_timestamp_header() {
    for (name, header) in
        [("standard_webhooks", "webhook-timestamp"), ("slack", "X-Slack-Request-Timestamp"), ("hmac", "X-Timestamp")]
    {
        let rig = rig(name);
        assert_eq!(rig.verdict(&rig.sent().without(header)), Err(Refusal::Missing(Part::Timestamp)));
    }
    let stripe = rig("stripe");
    let signature = stripe.sent().get("Stripe-Signature").split_once(',').unwrap().1.to_owned();
    assert_eq!(stripe.verdict(&stripe.sent().set("Stripe-Signature", signature)), Err(Refusal::Missing(Part::Timestamp)));
}

#[test]
fn n004_signature_header_empty() {
    for rig in in_headers() {
        let sent = rig.sent();
        let header = rig.main_header(&sent);
        assert!(matches!(rig.verdict(&sent.set(&header, "")), Err(Refusal::Missing(_))), "{}", rig.scheme.name());
    }
}

#[test]
fn n005_id_empty() {
    let rig = rig("standard_webhooks");
    assert_eq!(rig.verdict(&rig.sent().set("webhook-id", "")), Err(Refusal::Missing(Part::Id)));
}

/// In either order, and also when both are the same.
#[test]
fn n006_signature_header_twice() {
    for rig in in_headers() {
        let sent = rig.sent();
        let header = rig.main_header(&sent);
        let good = sent.get(&header);
        let doubled = sent.clone().add(&header, &good);
        let after = sent.clone().add(&header, "bad");
        let before = sent.clone().set(&header, "bad").add(&header, &good);
        for sent in [doubled, after, before] {
            assert!(matches!(rig.verdict(&sent), Err(Refusal::Repeated(_))), "{}", rig.scheme.name());
        }
    }
}

#[test]
fn n008_timestamp_header_twice() {
    let rig = rig("standard_webhooks");
    assert_eq!(rig.verdict(&rig.sent().add("Webhook-Timestamp", NOW.to_string())), Err(Refusal::Repeated(Part::Timestamp)));
}

#[test]
fn n009_id_header_twice() {
    let rig = rig("standard_webhooks");
    assert_eq!(rig.verdict(&rig.sent().add("WEBHOOK-ID", "msg_1")), Err(Refusal::Repeated(Part::Id)));
}

#[test]
fn n010_two_families_mixed() {
    let rig = rig("svix");
    let sent = rig.sent();
    let id = sent.get("svix-id");
    assert_eq!(rig.verdict(&sent.without("svix-id").add("webhook-id", id)), Err(Refusal::Missing(Part::Id)));
}

#[test]
fn n012_odd_case_of_a_name_is_fine() {
    let rig = rig("standard_webhooks");
    let sent = rig.sent();
    let signature = sent.get("webhook-signature");
    assert!(rig.verdict(&sent.without("webhook-signature").add("WeBhOoK-SiGnAtUrE", signature)).is_ok());
}

#[test]
fn n013_underscore_in_a_name_is_another_name() {
    let rig = rig("standard_webhooks");
    let sent = rig.sent();
    let signature = sent.get("webhook-signature");
    assert_eq!(
        rig.verdict(&sent.without("webhook-signature").add("webhook_signature", signature)),
        Err(Refusal::Missing(Part::Signature))
    );
}

#[test]
fn n016_control_characters_and_n017_bytes_that_are_no_text() {
    for rig in in_headers() {
        let sent = rig.sent();
        let headers: Vec<String> = sent.headers.iter().map(|(name, _)| name.clone()).collect();
        for name in headers {
            for bad in [&b"\0"[..], b"\r", b"\n", b"\x7f", b"\t", b"\xff", "ä".as_bytes(), "١٢٣".as_bytes()] {
                let value = [sent.get(&name).as_bytes(), bad].concat();
                let refusal = rig.verdict(&sent.clone().set(&name, value)).unwrap_err();
                assert!(matches!(refusal, Refusal::Malformed(_)), "{} {name} {bad:?}: {refusal:?}", rig.scheme.name());
            }
        }
    }
}

#[test]
fn n018_long_values_and_many_signatures() {
    for rig in in_headers() {
        let sent = rig.sent();
        let header = rig.main_header(&sent);
        let long = "a".repeat(64 * 1024);
        assert!(matches!(rig.verdict(&sent.set(&header, long)), Err(Refusal::TooLong(_))), "{}", rig.scheme.name());
    }
    let rig = rig("standard_webhooks");
    let good = rig.sent().get("webhook-signature");
    let fifteen = "v1, ".repeat(15);
    assert!(rig.verdict(&rig.sent().set("webhook-signature", format!("{fifteen}{good}"))).is_ok(), "16 entries are looked at");
    let sixteen = "v1, ".repeat(16);
    assert_eq!(
        rig.verdict(&rig.sent().set("webhook-signature", format!("{sixteen}{good}"))),
        Err(Refusal::TooLong(Part::Signature))
    );
}

#[test]
fn n020_another_providers_header() {
    let github = rig("github");
    let sent = github.sent();
    for name in ["stripe", "bitbucket", "shopify", "standard_webhooks"] {
        assert!(matches!(rig(name).verdict(&sent), Err(Refusal::Missing(_))), "{name}");
    }
}

#[test]
fn n021_only_another_version() {
    let rig = rig("standard_webhooks");
    let digest = rig.sent().get("webhook-signature").split_once(',').unwrap().1.to_owned();
    for tag in ["v2", "v0", "V1", "v1 ", "", "v11"] {
        let refusal = rig.verdict(&rig.sent().set("webhook-signature", format!("{tag},{digest}"))).unwrap_err();
        assert_eq!(refusal, Refusal::NoVersion, "{tag}");
    }
}

/// The address is the caller's word; no header of a proxy changes it.
#[test]
fn n022_forwarding_headers_change_nothing() {
    for name in ["twilio", "rfc9421"] {
        let rig = rig(name);
        let sent =
            rig.sent().add("X-Forwarded-Host", "evil.example").add("X-Forwarded-Proto", "http").add("Host", "evil.example");
        assert!(rig.verdict(&sent).is_ok(), "{name}");
        let elsewhere = rig.sent().url("https://evil.example/hooks/route?a=1").add("X-Forwarded-Host", "gateway.example");
        assert!(rig.verdict(&elsewhere).is_err(), "{name}");
    }
}

/// A proxy that was told to drop the header leaves a request without one.
#[test]
fn n024_a_dropped_header_is_missing() {
    let rig = rig("standard_webhooks");
    let sent = rig.sent().add("Connection", "webhook-signature").without("webhook-signature");
    assert_eq!(rig.verdict(&sent), Err(Refusal::Missing(Part::Signature)));
}
