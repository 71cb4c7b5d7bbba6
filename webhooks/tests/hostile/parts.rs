//! 25 to 98: signatures, moments, ids, bodies, handshakes and configurations.

use jobgate_webhooks::{Credential, Outgoing, Part, Refusal, Scheme, SchemeConfig, Secret, SecretProblem, Secrets, lint, sign};

use crate::rig::{NOW, Rig, Sent, all, config, rig};

/// The Standard Webhooks delivery with another signature value.
fn standard(value: impl Fn(&str) -> String) -> (Rig, Sent) {
    let rig = rig("standard_webhooks");
    let digest = rig.sent().get("webhook-signature").strip_prefix("v1,").unwrap().to_owned();
    let sent = rig.sent().set("webhook-signature", value(&digest));
    (rig, sent)
}

fn github(value: impl Fn(&str) -> String) -> Result<(), Refusal> {
    let rig = rig("github");
    let digest = rig.sent().get("X-Hub-Signature-256").strip_prefix("sha256=").unwrap().to_owned();
    rig.verdict(&rig.sent().set("X-Hub-Signature-256", value(&digest))).map(|_| ())
}

const BAD: Result<(), Refusal> = Err(Refusal::Malformed(Part::Signature));

#[test]
fn n025_truncated_n026_empty_n028_not_hex_n029_junk_n030_odd() {
    assert_eq!(github(|it| format!("sha256={it}")), Ok(()));
    assert_eq!(github(|it| format!("sha256={}", it.get(..32).unwrap())), BAD);
    assert_eq!(github(|_| "sha256=".to_owned()), BAD);
    assert_eq!(github(|_| "foo".to_owned()), BAD);
    assert_eq!(github(|_| format!("sha256={}", "zz".repeat(32))), BAD);
    assert_eq!(github(|it| format!("sha256={it}zz")), BAD);
    assert_eq!(github(|it| format!("sha256={}zz{}", it.get(..30).unwrap(), it.get(32..).unwrap())), BAD);
    assert_eq!(github(|it| format!("sha256={}", it.get(..63).unwrap())), BAD);
    assert_eq!(github(|it| format!("sha256={it} ")), BAD);
    assert_eq!(github(|it| format!(" sha256={it}")), BAD);
    for value in ["v1,", "v1", "v1,,"] {
        let (rig, sent) = standard(|_| value.to_owned());
        assert!(rig.verdict(&sent).is_err(), "{value}");
    }
}

#[test]
fn n032_hex_for_base64_and_back() {
    let shopify = rig("shopify");
    let bytes = data_encoding::BASE64.decode(shopify.sent().get("X-Shopify-Hmac-Sha256").as_bytes()).unwrap();
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    assert_eq!(shopify.verdict(&shopify.sent().set("X-Shopify-Hmac-Sha256", hex)).map(|_| ()), BAD);
    let base64 = |it: &str| data_encoding::BASE64.encode(&data_encoding::HEXLOWER.decode(it.as_bytes()).unwrap());
    assert_eq!(github(|it| format!("sha256={}", base64(it))), BAD);
}

#[test]
fn n033_other_spellings_of_the_same_bytes() {
    let last = |it: &str, to: char| format!("v1,{}{to}=", it.get(..42).unwrap());
    for other in [
        standard(|it| format!("v1,{}", it.trim_end_matches('='))),
        standard(|it| format!("v1,{it}=")),
        standard(|it| format!("v1, {it}")),
        standard(|it| format!("v1,{} {}", it.get(..20).unwrap(), it.get(20..).unwrap())),
        // A last letter whose two lowest bits say nothing: three other letters decode to the same bytes in a lax reader.
        standard(|it| last(it, char::from(it.as_bytes()[42] + 1))),
    ] {
        assert!(other.0.verdict(&other.1).is_err(), "{:?}", other.1);
    }
    assert_eq!(github(|it| format!("sha256={}", it.to_uppercase())), BAD);
}

/// J2: repeats have one identity, whatever an attacker may change without breaking the signature.
#[test]
fn n034_n056_repeats_have_one_identity() {
    let standard = rig("standard_webhooks");
    let good = standard.sent().get("webhook-signature");
    let again = standard.sent().set("webhook-signature", format!("v2,x {good}"));
    assert_eq!(standard.verdict(&standard.sent()), standard.verdict(&again));
    let later = standard.signed(&standard.sent().body, "msg_1", NOW + 60);
    assert_eq!(standard.verdict(&standard.sent()), standard.verdict(&later), "a retry has the same id and another moment");
    let github = rig("github");
    let other = github.sent().add("X-GitHub-Delivery", "another");
    assert_eq!(github.verdict(&github.sent()), github.verdict(&other));
    assert_ne!(github.verdict(&github.sent()), github.verdict(&github.signed(b"{}", "msg_1", NOW)));
}

/// J2: the same id with another body keeps its identity, so that the first one wins in the store.
#[test]
fn n060_one_id_two_bodies() {
    let rig = rig("standard_webhooks");
    let (first, second) = (rig.signed(b"{}", "msg_1", NOW), rig.signed(b"[]", "msg_1", NOW));
    assert_eq!(rig.verdict(&first), rig.verdict(&second));
}

#[test]
fn n036_right_code_under_an_asymmetric_tag() {
    let (rig, sent) = standard(|it| format!("v1a,{it}"));
    assert!(rig.verdict(&sent).is_err());
}

#[test]
fn n037_one_good_among_bad_n038_undecodable_before_good() {
    let bad = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
    for (value, fine) in
        [("{bad} {good}", true), ("v1,??? {good}", true), ("{good} {bad}", true), ("{bad} {bad}", false), ("v1,???", false)]
    {
        let (rig, sent) = standard(|it| value.replace("{bad}", bad).replace("{good}", &format!("v1,{it}")));
        assert_eq!(rig.verdict(&sent).is_ok(), fine, "{value}");
    }
}

#[test]
fn n040_lists_that_are_no_lists() {
    let rig = rig("stripe");
    let (moment, code) = (NOW.to_string(), rig.sent().get("Stripe-Signature").split_once("v1=").unwrap().1.to_owned());
    let verdict = |value: &str| {
        let value = value.replace("{t}", &moment).replace("{c}", &code);
        rig.verdict(&rig.sent().set("Stripe-Signature", value)).map(|_| ())
    };
    assert_eq!(verdict("t={t},v1={c}"), Ok(()));
    assert_eq!(verdict("v1={c},t={t}"), Ok(()));
    assert_eq!(verdict("t={t},unknown=x,v1={c}"), Ok(()), "unknown names are skipped");
    for wrong in [
        "t={t},v1={c}=junk",
        "t={t},v1",
        "t={t},=x,v1={c}",
        "t=1,t={t},v1={c}",
        "t={t},v1={c},t={t}",
        "t={t}, v1={c}",
        "t={t},v1={c},",
        "",
    ] {
        assert!(verdict(wrong).is_err(), "{wrong}");
    }
}

/// J1: an old secret counts until its last second, a new one from its first.
#[test]
fn n042_n044_rotation() {
    let scheme = Scheme::named("github").unwrap();
    let (old, new) = (Secret::new("the old secret, long enough"), Secret::new("the new secret, long enough"));
    let until = NOW + 100;
    let credentials = [Credential::between(old.clone(), i64::MIN, until), Credential::new(new.clone())];
    let rig =
        |secret: Secret| Rig { scheme: scheme.clone(), secret, secrets: Secrets::new(&scheme, credentials.clone()).unwrap() };
    let (by_old, by_new) = (rig(old), rig(new));
    assert!(by_old.verdict_at(&by_old.sent(), until).is_ok());
    assert_eq!(by_old.verdict_at(&by_old.sent(), until + 1), Err(Refusal::Signature));
    assert!(by_new.verdict_at(&by_new.sent(), until + 1).is_ok());
    let stranger = rig(Secret::new("another tenant's secret, long"));
    assert_eq!(stranger.verdict(&stranger.sent()), Err(Refusal::Signature));
}

/// J2: both ways, for every scheme that signs a moment.
#[test]
fn n046_the_window_both_ways() {
    let mut looked = 0;
    for rig in all().filter(|rig| rig.scheme.binds().time && rig.scheme.name() != "google_pubsub") {
        let (past, future) = match rig.scheme.name() {
            "elevenlabs" => (1800, 1800),
            "cloudinary" => (7200, 300),
            "aws_sns" => (3600, 300),
            _ => (300, 300),
        };
        let sent = rig.sent();
        let name = rig.scheme.name();
        assert!(rig.verdict_at(&sent, NOW + past).is_ok(), "{name}");
        assert_eq!(rig.verdict_at(&sent, NOW + past + 1), Err(Refusal::TooOld), "{name}");
        assert!(rig.verdict_at(&sent, NOW - future).is_ok(), "{name}");
        assert_eq!(rig.verdict_at(&sent, NOW - future - 1), Err(Refusal::TooNew), "{name}");
        looked += 1;
    }
    assert!(looked > 15, "{looked}");
}

#[test]
fn n048_n049_moments_in_other_spellings() {
    let rig = rig("standard_webhooks");
    let digits = "9".repeat(10_000);
    for moment in [
        "0",
        "-1",
        "-0",
        "+1800000000",
        "01800000000",
        "1800000000.0",
        "1.8e9",
        "0x6b49d200",
        " 1800000000",
        "1800000000 ",
        "1800000000abc",
        "NaN",
        "Infinity",
        "9223372036854775808",
        "18446744073709551616",
        "1_800_000_000",
        "1800000000\u{a0}",
        "１８０００００００",
    ]
    .into_iter()
    .chain([digits.as_str()])
    {
        let refusal = rig.verdict(&rig.sent().set("webhook-timestamp", moment)).unwrap_err();
        assert!(matches!(refusal, Refusal::Malformed(Part::Timestamp) | Refusal::TooLong(_)), "{moment}: {refusal:?}");
    }
    assert_eq!(rig.verdict(&rig.sent().set("webhook-timestamp", "9223372036854775807")), Err(Refusal::TooNew));
}

#[test]
fn n050_milliseconds_for_seconds_and_back() {
    let seconds = rig("standard_webhooks");
    assert_eq!(seconds.verdict(&seconds.sent().set("webhook-timestamp", format!("{NOW}000"))), Err(Refusal::TooNew));
    let millis = rig("hmac");
    assert_eq!(millis.verdict(&millis.sent().set("X-Timestamp", NOW.to_string())), Err(Refusal::TooOld));
}

#[test]
fn n052_a_clock_before_1970_or_far_off() {
    for rig in all().filter(|rig| rig.scheme.binds().time) {
        assert_eq!(rig.verdict_at(&rig.sent(), -1), Err(Refusal::Clock), "{}", rig.scheme.name());
        assert!(rig.verdict_at(&rig.sent(), i64::MIN).is_err() && rig.verdict_at(&rig.sent(), i64::MAX).is_err());
    }
}

/// A moment that is not signed is not looked at, so it can extend nothing.
#[test]
fn n053_unsigned_moments_do_not_count() {
    let rig = rig("heygen");
    let fresh = rig.sent().add("Heygen-Timestamp", NOW.to_string());
    let stale = rig.sent().add("Heygen-Timestamp", "1");
    assert_eq!(rig.verdict(&fresh), rig.verdict(&stale));
    assert!(!rig.scheme.binds().time);
}

#[test]
fn n057_reordered_fields_are_the_same_delivery() {
    let rig = rig("twilio");
    let first = rig.signed(b"CallSid=CA1&Digits=1&Digits=2", "", NOW);
    let second = first.clone().body("Digits=2&Digits=1&Digits=1&CallSid=CA1");
    assert_eq!(rig.verdict(&first).unwrap(), rig.verdict(&second).unwrap());
    for wrong in ["CallSid=CA1&Digits=1&Digits=%32%zz", "CallSid=CA1&Digits=%2b", "CallSid=CA1&Digits=%", "Digits=\u{fffd}"] {
        assert!(rig.verdict(&first.clone().body(wrong)).is_err(), "{wrong}");
    }
}

/// Twilio signs `'` in a query escaped or not, so both spellings verify, and both are one delivery.
#[test]
fn n057_another_spelling_of_the_address_is_the_same_delivery() {
    let rig = rig("twilio");
    let url = "https://gateway.example/hooks/route?name=it%27s";
    let out = Outgoing { url, id: "", body: b"CallSid=CA1" };
    let signed = sign(&rig.scheme, &rig.secret, &out, NOW).unwrap();
    let headers = signed.headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
    let sent = Sent { method: "POST".to_owned(), url: signed.url, headers, body: signed.body };
    let other = sent.clone().url("https://gateway.example/hooks/route?name=it's");
    let ported = sent.clone().url("https://gateway.example:443/hooks/route?name=it%27s");
    let one = rig.verdict(&sent).unwrap();
    assert_eq!((rig.verdict(&other), rig.verdict(&ported)), (Ok(one), Ok(one)));
    assert!(rig.verdict(&sent.url("https://gateway.example/hooks/route?name=its")).is_err());
}

#[test]
fn n061_ids_of_every_kind() {
    let rig = rig("standard_webhooks");
    let long = "a".repeat(1024 * 1024);
    for id in [long.as_str(), "a b", "msg'; DROP TABLE tasks", "msg_\u{430}", "{\"x\":\"y", "a\"b", "[", "a,b", "a\\b"] {
        let refusal = rig.verdict(&rig.signed(b"{}", id, NOW)).unwrap_err();
        assert!(matches!(refusal, Refusal::Malformed(Part::Id) | Refusal::TooLong(Part::Id)), "{refusal:?}");
    }
    for id in ["../../etc/passwd", "..", "/", "a.b", &"a".repeat(256)] {
        assert!(rig.verdict(&rig.signed(b"{}", id, NOW)).is_ok(), "an opaque key: {id}");
    }
}

#[test]
fn n068_bodies_count_byte_for_byte_n070_also_without_text_n074_and_empty() {
    let rig = rig("standard_webhooks");
    for (body, other) in [(&b"{}"[..], &b"\xef\xbb\xbf{}"[..]), (b"{\n}", b"{\r\n}"), (b"{}", b"{}\n")] {
        let sent = rig.signed(body, "msg_1", NOW);
        assert_eq!(rig.verdict(&sent.body(other)), Err(Refusal::Signature));
    }
    for body in [&b"\xff\x00>"[..], b"", b"null", b"[]", b"0"] {
        assert!(rig.verdict(&rig.signed(body, "msg_1", NOW)).is_ok(), "{body:?}");
    }
}

#[test]
fn n084_digits_that_move_between_the_parts() {
    let rig = rig("standard_webhooks");
    // The end of the moment moves into the body: "1800000000." + "{}" against "180000000" + "0.{}".
    let sent = rig.sent();
    assert!(
        rig.verdict(&sent.clone().set("webhook-timestamp", "180000000").body([b"0.", sent.body.as_slice()].concat())).is_err()
    );
    // An id that would swallow the beginning of the body.
    let body = format!(r#"{{"x":"y.{NOW}.z"}}"#);
    let sent = rig.signed(body.as_bytes(), "msg_1", NOW);
    let swallowed = sent.clone().set("webhook-id", format!("msg_1.{NOW}.{{\"x\":\"y")).body("z\"}");
    assert_eq!(rig.verdict(&swallowed), Err(Refusal::Malformed(Part::Id)));
    // An id beside the body, with nothing between them that an id could not have.
    for signed in ["{id}.{body}", "{body}.{id}", "{timestamp}:{id}:{body}"] {
        let some = |text: &str| Some(text.to_owned());
        let time = signed.contains("timestamp").then(|| "X-Timestamp".to_owned());
        let config = SchemeConfig { signature_header: some("X-Signature"), ..SchemeConfig::named("hmac") };
        let config = SchemeConfig { id_header: some("X-Id"), timestamp_header: time, signed: some(signed), ..config };
        let rig = Rig { scheme: Scheme::from_config(&config).unwrap(), ..crate::rig::rig("hmac") };
        assert!(rig.verdict(&rig.signed(b"{}", "a.b", NOW)).is_ok());
        for body in [&b"b.{}"[..], b"{}.a", b"x=1", b""] {
            assert_eq!(rig.verdict(&rig.signed(body, "a", NOW)), Err(Refusal::Malformed(Part::Body)), "{signed}");
        }
    }
    for name in ["cloudinary", "discord"] {
        let rig = crate::rig::rig(name);
        for body in [&b"1{}"[..], b"{}1", b"", b"1"] {
            assert_eq!(rig.verdict(&rig.signed(body, "", NOW)), Err(Refusal::Malformed(Part::Body)), "{name}");
        }
    }
}

#[test]
fn n085_zoom_signs_no_deliveries() {
    let zoom = rig("zoom");
    let ask = |token: &str| {
        let body = serde_json::json!({ "event": "endpoint.url_validation", "payload": { "plainToken": token } });
        Sent {
            method: "POST".to_owned(),
            url: crate::rig::URL.to_owned(),
            headers: Vec::new(),
            body: body.to_string().into_bytes(),
        }
    };
    assert!(zoom.receive(&ask("qgg8vlvZRS6UYooatFL8Aw")).unwrap().is_some());
    let long = "a".repeat(129);
    for token in ["v0:1800000000:{}", "a:b", "", "a b", "<script>", "a\r\nb", "ä", &long] {
        assert_eq!(zoom.receive(&ask(token)), Err(Refusal::Handshake), "{token}");
    }
    let array = Sent { body: br#"["endpoint.url_validation",["abc"]]"#.to_vec(), ..ask("abc") };
    assert!(zoom.receive(&array).is_err(), "no handshake, and no delivery");
    let forged = ask("qgg8vlvZRS6UYooatFL8Aw")
        .add("x-zm-signature", format!("v0={}", "0".repeat(64)))
        .add("x-zm-request-timestamp", NOW.to_string());
    assert_eq!(zoom.receive(&forged), Err(Refusal::Signature));
    assert!(zoom.receive(&zoom.sent()).unwrap().is_none(), "a delivery is a delivery");
}

#[test]
fn n086_challenges_are_plain_and_short() {
    let mut meta = rig("meta");
    meta.secrets = meta.secrets.with_verify_token(&Secret::new("meatyhamhock")).unwrap();
    let ask = |query: &str| Sent {
        method: "GET".to_owned(),
        url: format!("https://gateway.example/hooks/meta?{query}"),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let fine = "hub.mode=subscribe&hub.verify_token=meatyhamhock&hub.challenge=";
    assert_eq!(meta.receive(&ask(&format!("{fine}1158201444"))).unwrap().unwrap().body, "1158201444");
    let long = "1".repeat(1024 * 1024);
    for challenge in ["%3Cscript%3E", "a%0D%0Ab", "", "1&hub.challenge=2", &long] {
        assert!(meta.receive(&ask(&format!("{fine}{challenge}"))).is_err());
    }
    for query in ["", "hub.mode=subscribe&hub.challenge=1", "hub.mode=unsubscribe&hub.verify_token=meatyhamhock&hub.challenge=1"]
    {
        assert_eq!(meta.receive(&ask(query)), Err(Refusal::Handshake), "{query}");
    }
    let slack = rig("slack");
    let challenge =
        |word: &str| slack.signed(format!(r#"{{"type":"url_verification","challenge":"{word}"}}"#).as_bytes(), "", NOW);
    assert_eq!(slack.receive(&challenge("abc")).unwrap().unwrap().body, "abc");
    assert_eq!(slack.receive(&challenge("<b>")), Err(Refusal::Handshake));
    assert_eq!(
        slack.receive(&challenge("abc").set("X-Slack-Signature", format!("v0={}", "0".repeat(64)))),
        Err(Refusal::Signature)
    );
    let discord = rig("discord");
    assert_eq!(discord.receive(&discord.signed(br#"{"type":1}"#, "", NOW)).unwrap().unwrap().body, r#"{"type":1}"#);
}

#[test]
fn n088_the_handshake_of_cloudevents() {
    let rig = rig("cloudevents");
    let ask = |headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let sent = Sent { method: "OPTIONS".to_owned(), url: crate::rig::URL.to_owned(), headers, body: Vec::new() };
        rig.receive(&sent).map(|answer| answer.unwrap().headers)
    };
    let origin = ("WebHook-Request-Origin", "events.example");
    let allowed = ask(&[origin, ("WebHook-Request-Callback", "http://169.254.169.254/latest/meta-data/")]).unwrap();
    assert!(!format!("{allowed:?}").contains("169.254"));
    for rate in ["0", "-1", "1e9", "1000000000", "*", ""] {
        assert_eq!(ask(&[origin, ("WebHook-Request-Rate", rate)]), Err(Refusal::Origin), "{rate}");
    }
    assert!(ask(&[origin, ("WebHook-Request-Rate", "5")]).unwrap().contains(&("WebHook-Allowed-Rate", "5".to_owned())));
    assert_eq!(ask(&[("WebHook-Request-Origin", "evil.example")]), Err(Refusal::Origin));
    assert_eq!(ask(&[origin, origin]), Err(Refusal::Origin));
    assert_eq!(ask(&[]), Err(Refusal::Origin));
}

#[test]
fn n094_n096_secrets_that_are_refused_at_load() {
    let load = |name: &str, secret: &str| {
        let scheme = Scheme::from_config(&config(name)).unwrap();
        Secrets::new(&scheme, [Credential::new(Secret::new(secret))]).map(|_| ())
    };
    for name in jobgate_webhooks::NAMES.iter().filter(|name| !["aws_sns", "google_pubsub", "fal"].contains(name)) {
        for secret in ["", " ", "\n", "whsec_", "short", "a secret of some length\n"] {
            let problem = load(name, secret).expect_err(name);
            assert!(!problem.to_string().contains("short") || secret != "short", "no secret in {problem}");
        }
    }
    assert_eq!(load("stripe", "whsec_"), Err(SecretProblem::Empty));
    assert_eq!(load("standard_webhooks", "whsec_"), Err(SecretProblem::Empty));
    assert_eq!(load("standard_webhooks", "whsec_AA=="), Err(SecretProblem::TooShort { found: 1, least: 24 }));
    assert_eq!(load("standard_webhooks", "whsec_this is stripe's kind"), Err(SecretProblem::Encoding("base64")));
    assert_eq!(load("github", "fifteen letters"), Err(SecretProblem::TooShort { found: 15, least: 16 }));
    assert_eq!(load("github", "a secret of some length\n"), Err(SecretProblem::Whitespace));
    assert_eq!(
        load("gitlab", &format!("whsec_{}", data_encoding::BASE64.encode(&[1; 24]))),
        Err(SecretProblem::Length { found: 24, wanted: 32 })
    );
    assert!(matches!(load("gitlab_token", "a token with \u{fc} in it"), Err(SecretProblem::Encoding(_))), "no header carries it");
    assert_eq!(load("discord", &"0".repeat(64)), Err(SecretProblem::PublicKey), "a small-order point");
    let scheme = Scheme::named("github").unwrap();
    assert_eq!(Secrets::new(&scheme, []).map(|_| ()), Err(SecretProblem::None));
}

/// L4: every unsafe combination is refused with the word, the reason and a right example.
#[test]
fn n098_unsafe_configurations_are_refused() {
    let some = |text: &str| Some(text.to_owned());
    let hmac = || SchemeConfig { signature_header: some("X-Signature"), ..SchemeConfig::named("hmac") };
    let stamped = || SchemeConfig { timestamp_header: some("X-Timestamp"), ..hmac() };
    let secret = [Credential::new(Secret::new("a secret of some length"))];
    let cases: Vec<(SchemeConfig, &str, &str)> = vec![
        (SchemeConfig::default(), "scheme", "anybody's word"),
        (SchemeConfig::named("none"), "scheme", "no scheme `none`"),
        (SchemeConfig::named("aws_sns"), "topic_arn", "anybody"),
        (SchemeConfig::named("fal"), "user_id", "anybody"),
        (SchemeConfig::named("hmac"), "signature_header", "which header"),
        (stamped(), "signed", "writes a fresh one"),
        (SchemeConfig { signed: some("{timestamp}"), ..stamped() }, "signed", "another body"),
        (SchemeConfig { signed: some("{timestamp}.{body}"), ..hmac() }, "timestamp_header", "where it is"),
        (SchemeConfig { signed: some("{id}{timestamp}.{body}"), id_header: some("X-Id"), ..stamped() }, "signed", "side by side"),
        (SchemeConfig { id_header: some("X-Id"), ..hmac() }, "id_header", "counts only if it is signed"),
        (SchemeConfig { algorithm: some("sha1"), ..hmac() }, "algorithm", "allow_sha1"),
        (SchemeConfig { algorithm: some("md5"), ..hmac() }, "algorithm", "none of"),
        (SchemeConfig { encoding: some("base32"), ..hmac() }, "encoding", "none of"),
        (SchemeConfig { signed: some("{bdy}"), ..hmac() }, "signed", "`bdy`"),
        (SchemeConfig { tolerance: Some(86_400), ..SchemeConfig::named("stripe") }, "tolerance", "sent again"),
        (SchemeConfig { tolerance: Some(60), ..SchemeConfig::named("github") }, "tolerance", "does not take"),
        (SchemeConfig { secret_prefix: some("x_"), ..hmac() }, "secret_prefix", "encoded secret"),
        (SchemeConfig { signature_header: some("X Signature"), ..hmac() }, "signature_header", "no name of a header"),
        (SchemeConfig { signature_prefix: some("\u{fc}="), ..hmac() }, "signature_prefix", "printable ASCII"),
        (SchemeConfig { signature_prefix: some(" v1="), ..hmac() }, "signature_prefix", "begin with a space"),
        (SchemeConfig { signature_pair: some("v=1"), ..hmac() }, "signature_pair", "no `=`"),
        (SchemeConfig { signature_pair: some(""), ..hmac() }, "signature_pair", "not empty"),
        (SchemeConfig { signature_pair: some("t"), timestamp_pair: some("t"), ..hmac() }, "timestamp_pair", "same name"),
        (SchemeConfig { timestamp_header: some("x-signature"), ..hmac() }, "timestamp_header", "may be there once"),
        (SchemeConfig { header: some("X Secret"), ..SchemeConfig::named("static_token") }, "header", "no name of a header"),
        (
            SchemeConfig { header: some("X-Secret"), prefix: some("\n"), ..SchemeConfig::named("static_token") },
            "prefix",
            "printable ASCII",
        ),
        (SchemeConfig { user_id: some("\u{fc}"), ..SchemeConfig::named("fal") }, "user_id", "printable ASCII"),
        (SchemeConfig { label: some("Sig"), ..SchemeConfig::named("rfc9421") }, "label", "lower-case"),
        (SchemeConfig { key_id: some("\u{fc}"), ..SchemeConfig::named("rfc9421") }, "key_id", "printable ASCII"),
        (SchemeConfig { components: vec!["@methud".to_owned()], ..SchemeConfig::named("rfc9421") }, "components", "@methud"),
    ];
    for (config, word, reason) in cases {
        let problems = lint(&config, &secret);
        let found = problems.iter().find(|it| it.word == word && it.message.contains(reason));
        let found = found.unwrap_or_else(|| panic!("{word}: {reason}: {problems:?}"));
        assert!(!found.example.is_empty());
    }
    assert_eq!(lint(&SchemeConfig::named("github"), &secret), []);
    assert_eq!(lint(&SchemeConfig::named("github"), &[])[0].word, "secret");
    assert!(lint(&SchemeConfig { algorithm: some("sha1"), allow_sha1: true, ..hmac() }, &secret).is_empty());
}
