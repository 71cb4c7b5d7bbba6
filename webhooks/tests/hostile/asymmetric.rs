//! 41 to 93, where public keys are: Ed25519, SNS, tokens of Pub/Sub, HTTP message signatures.

use std::sync::Arc;

use data_encoding::{BASE64, BASE64URL_NOPAD, HEXLOWER};
use jobgate_webhooks::{
    CertificateUrl, Certificates, KeySet, KeySetProblem, Part, Refusal, Scheme, SchemeConfig, Secret, Secrets,
};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

use crate::rig::{NOW, Rig, Sent, config, rig};

/// The order of the group of Ed25519, little-endian (RFC 8032, section 5.1).
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0x10,
];

#[test]
fn n041_ed25519_is_strict() {
    let fal = rig("fal");
    let signature = HEXLOWER.decode(fal.sent().get("X-Fal-Webhook-Signature").as_bytes()).unwrap();
    let with = |bytes: &[u8]| fal.verdict(&fal.sent().set("X-Fal-Webhook-Signature", HEXLOWER.encode(bytes))).map(|_| ());
    assert_eq!(with(&signature), Ok(()));
    let mut carry = 0;
    let added: Vec<u8> = signature[32..]
        .iter()
        .zip(ORDER)
        .map(|(left, right)| {
            let sum = u16::from(*left) + u16::from(right) + carry;
            carry = sum >> 8;
            sum.to_le_bytes()[0]
        })
        .collect();
    assert_eq!(with(&[&signature[..32], &added].concat()), Err(Refusal::Signature), "S + L");
    assert_eq!(with(&signature[..63]), Err(Refusal::Malformed(Part::Signature)));
    assert_eq!(with(&[signature.as_slice(), &[0]].concat()), Err(Refusal::Malformed(Part::Signature)));
    assert_eq!(with(&[0; 64]), Err(Refusal::Signature));
    let jwks = |x: &[u8]| {
        KeySet::from_jwks(
            json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": BASE64URL_NOPAD.encode(x) }] }).to_string().as_bytes(),
        )
    };
    assert!(matches!(jwks(&[0; 32]), Err(KeySetProblem::Empty)), "a small-order key is no key");
    assert!(matches!(jwks(&[1; 31]), Err(KeySetProblem::Empty)));
}

/// Every user of fal has validly signed deliveries of their own.
#[test]
fn n042_another_users_delivery() {
    let other = Scheme::from_config(&SchemeConfig { user_id: Some("user-999".to_owned()), ..config("fal") }).unwrap();
    let theirs = Rig { scheme: other, ..rig("fal") }.sent();
    assert_eq!(rig("fal").verdict(&theirs), Err(Refusal::Recipient));
    let scheme = Scheme::from_config(&config("fal")).unwrap();
    let without_keys = Rig { secrets: Secrets::new(&scheme, []).unwrap(), ..rig("fal") };
    assert_eq!(without_keys.verdict(&rig("fal").sent()), Err(Refusal::KeysUnavailable));
}

fn sns(change: impl FnOnce(&mut Value)) -> Result<(), Refusal> {
    let rig = rig("aws_sns");
    let mut body: Value = serde_json::from_slice(&rig.sent().body).unwrap();
    change(&mut body);
    rig.verdict(&rig.sent().body(body.to_string())).map(|_| ())
}

#[test]
fn n045_n089_sns_is_fetched_and_checked_strictly() {
    assert_eq!(sns(|_| {}), Ok(()));
    assert_eq!(sns(|body| body["SignatureVersion"] = json!("1")), Err(Refusal::Algorithm));
    assert_eq!(sns(|body| body["SignatureVersion"] = json!("3")), Err(Refusal::Algorithm));
    assert_eq!(sns(|body| body["Subject"] = json!("put in")), Err(Refusal::Signature));
    assert_eq!(sns(|body| body["Message"] = json!("another")), Err(Refusal::Signature));
    assert_eq!(sns(|body| body["Type"] = json!("Whatever")), Err(Refusal::Kind));
    assert_eq!(sns(|body| body["Type"] = json!("SubscriptionConfirmation")), Err(Refusal::Missing(Part::Body)));
    let trailing = |body: &mut Value| {
        let mut bytes = BASE64.decode(body["Signature"].as_str().unwrap().as_bytes()).unwrap();
        bytes.push(0);
        body["Signature"] = json!(BASE64.encode(&bytes));
    };
    assert_eq!(sns(trailing), Err(Refusal::Signature));
    for url in [
        "https://evil.example/x.pem",
        "https://sns.eu-central-1.amazonaws.com@evil.example/x.pem",
        "https://sns.eu-central-1.amazonaws.com:444/x.pem",
        "http://sns.eu-central-1.amazonaws.com/x.pem",
        "",
    ] {
        assert_eq!(sns(|body| body["SigningCertURL"] = json!(url)), Err(Refusal::CertificateUrl), "{url}");
    }
    let unreachable = "https://sns.eu-central-1.amazonaws.com/another.pem";
    assert_eq!(sns(|body| body["SigningCertURL"] = json!(unreachable)), Err(Refusal::KeysUnavailable));
    assert_eq!(sns(|body| body["SigningCertUrl"] = body["SigningCertURL"].clone()), Err(Refusal::Repeated(Part::Url)));
    let raw = rig("aws_sns");
    assert_eq!(raw.verdict(&raw.sent().add("x-amz-sns-rawdelivery", "true")), Err(Refusal::Missing(Part::Signature)));
}

/// The signed content is lines without escapes, so only the message, which comes first, may have lines of its own: else the end of a message could be sent as its id, and the copy would be another delivery.
#[test]
fn n061_n084_lines_that_move_between_the_fields_of_sns() {
    let rig = rig("aws_sns");
    let sent = rig.signed(b"first\nMessageId\nsecond", "msg_1", NOW);
    assert!(rig.verdict(&sent).is_ok(), "a message may have lines");
    let mut body: Value = serde_json::from_slice(&sent.body).unwrap();
    body["Message"] = json!("first");
    body["MessageId"] = json!("second\nMessageId\nmsg_1");
    assert_eq!(rig.verdict(&sent.clone().body(body.to_string())), Err(Refusal::Malformed(Part::Body)));
    body["MessageId"] = json!("a".repeat(257));
    assert_eq!(rig.verdict(&sent.body(body.to_string())), Err(Refusal::TooLong(Part::Id)));
    for field in ["Subject", "Token", "SubscribeURL"] {
        assert_eq!(sns(|body| body[field] = json!("a\nb")), Err(Refusal::Malformed(Part::Body)), "{field}");
    }
}

/// A certificate that is not valid yet or any more, too big, of another kind, or none at all.
#[test]
fn n089_certificates_that_are_not_used() {
    struct Given(Vec<u8>);
    impl Certificates for Given {
        fn pem(&self, _: &CertificateUrl) -> Option<Vec<u8>> {
            Some(self.0.clone())
        }
    }
    let scheme = Scheme::from_config(&config("aws_sns")).unwrap();
    let right = include_bytes!("../fixtures/rsa_certificate.pem").to_vec();
    let with = |pem: Vec<u8>, now: i64| {
        let secrets = Secrets::new(&scheme, []).unwrap().with_certificates(Arc::new(Given(pem)));
        let rig = Rig { secrets, ..rig("aws_sns") };
        rig.verdict_at(&rig.signed(b"{}", "msg_1", now), now).map(|_| ())
    };
    assert_eq!(with(right.clone(), NOW), Ok(()));
    assert_eq!(with(right.clone(), 1_700_000_000), Err(Refusal::Certificate), "before its time");
    assert_eq!(with(right.clone(), 2_500_000_000), Err(Refusal::Certificate), "after its time");
    let big = [right.as_slice(), &vec![b'\n'; jobgate_webhooks::MAX_CERTIFICATE]].concat();
    let key = include_bytes!("../fixtures/rsa_private.pem").to_vec();
    for wrong in [big, key, Vec::new(), b"<html>".to_vec(), right[..200].to_vec()] {
        assert_eq!(with(wrong, NOW), Err(Refusal::Certificate));
    }
}

#[test]
fn n069_doubled_fields_n072_depth_n073_wrong_types() {
    let rig = rig("aws_sns");
    let body = String::from_utf8(rig.sent().body).unwrap();
    let doubled = body.replacen('{', "{\"Message\":\"another\",", 1);
    for wrong in [
        doubled.as_str(),
        &"[".repeat(100_000),
        "null",
        "[]",
        "\"\"",
        "0",
        "",
        "{",
        &body.replacen("\"2\"", "2", 1),
        &body.replacen("\"msg_1\"", "{}", 1),
    ] {
        assert_eq!(
            rig.verdict(&rig.sent().body(wrong)),
            Err(Refusal::Malformed(Part::Body)),
            "{}",
            wrong.chars().take(80).collect::<String>()
        );
    }
    // The fields' values without their names: a parser that fills a struct would take them.
    let fields: Value = serde_json::from_str(&body).unwrap();
    let values = ["Type", "MessageId", "Token", "TopicArn", "Subject", "Message", "Timestamp", "SignatureVersion", "Signature"];
    let mut values: Vec<Value> = values.iter().map(|name| fields[*name].clone()).collect();
    values.extend([fields["SigningCertURL"].clone(), Value::Null, Value::Null]);
    let array = Value::Array(values).to_string();
    assert_eq!(rig.verdict(&rig.sent().body(array)), Err(Refusal::Malformed(Part::Body)));
    // What is not signed has to be JSON as well, or the copy would be taken for the delivery and then could not be read.
    for strange in [&b"{\"x\":\"\xff\","[..], b"{\"x\":1e999999,", b"{\"x\":\"\\ud800\","] {
        let mut spoilt = strange.to_vec();
        spoilt.extend_from_slice(body.strip_prefix('{').unwrap().as_bytes());
        assert_eq!(rig.verdict(&rig.sent().body(&spoilt)), Err(Refusal::Malformed(Part::Body)), "{}", strange.escape_ascii());
    }
    let deep = body.replacen('{', &format!("{{\"x\":{},", "[".repeat(100_000)), 1);
    assert_eq!(rig.verdict(&rig.sent().body(deep)), Err(Refusal::Malformed(Part::Body)));
    let huge = " ".repeat(2 * 1024 * 1024);
    assert_eq!(rig.verdict(&rig.sent().body(huge)), Err(Refusal::TooLong(Part::Body)));
}

/// Anybody can have a topic of their own.
#[test]
fn n090_a_message_of_another_topic() {
    let arn = "arn:aws:sns:eu-central-1:999999999999:jobs".to_owned();
    let scheme = Scheme::from_config(&SchemeConfig { topic_arn: Some(arn), ..config("aws_sns") }).unwrap();
    let theirs = Rig { scheme, ..rig("aws_sns") }.sent();
    assert_eq!(rig("aws_sns").verdict(&theirs), Err(Refusal::Recipient));
}

fn claims() -> Value {
    json!({
        "aud": "https://gateway.example/hooks", "email": "push@project.example", "email_verified": true,
        "iss": "https://accounts.google.com", "iat": NOW, "exp": NOW + 3600,
    })
}

/// A token that is really signed.
fn token(head: &Value, claims: &str) -> String {
    let part = |text: &str| BASE64URL_NOPAD.encode(text.as_bytes());
    let content = format!("{}.{}", part(&head.to_string()), part(claims));
    let pem = include_str!("../fixtures/rsa_private.pem");
    let lines: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let pair = RsaKeyPair::from_pkcs8(&BASE64.decode(lines.as_bytes()).unwrap()).unwrap();
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), content.as_bytes(), &mut signature).unwrap();
    format!("{content}.{}", BASE64URL_NOPAD.encode(&signature))
}

fn pushed(value: &str) -> Result<(), Refusal> {
    let rig = rig("google_pubsub");
    rig.verdict(&rig.sent().set("Authorization", value)).map(|_| ())
}

#[test]
fn n036_n092_tokens() {
    let head = json!({ "alg": "RS256", "kid": "key-1" });
    let with = |change: &dyn Fn(&mut Value)| {
        let mut claims = claims();
        change(&mut claims);
        pushed(&format!("Bearer {}", token(&head, &claims.to_string())))
    };
    let bad = Err(Refusal::Malformed(Part::Credentials));
    assert_eq!(with(&|_| {}), Ok(()));
    assert_eq!(with(&|it| it["aud"] = json!(["https://gateway.example/hooks"])), bad);
    assert_eq!(with(&|it| it["aud"] = json!("https://gateway.example/hook")), Err(Refusal::Recipient));
    assert_eq!(with(&|it| it["email"] = json!("push@project.exampl")), Err(Refusal::Recipient));
    assert_eq!(with(&|it| it["email_verified"] = json!(false)), Err(Refusal::Recipient));
    assert_eq!(with(&|it| it["email_verified"] = json!("true")), bad);
    assert_eq!(with(&|it| it["iss"] = json!("https://accounts.google.com.evil.example")), Err(Refusal::Recipient));
    assert_eq!(with(&|it| it["exp"] = json!(null)), bad);
    assert_eq!(with(&|it| it["exp"] = json!(NOW - 61)), Err(Refusal::TooOld));
    assert_eq!(with(&|it| it["exp"] = json!(1e300)), bad);
    assert_eq!(with(&|it| it["iat"] = json!(NOW + 61)), Err(Refusal::TooNew));
    assert_eq!(with(&|it| it["iat"] = json!(i64::MAX)), Err(Refusal::TooNew));
    let doubled = claims().to_string().replacen('{', "{\"email\":\"evil@example.com\",", 1);
    assert_eq!(pushed(&format!("Bearer {}", token(&head, &doubled))), bad);

    let headed = |head: Value| pushed(&format!("Bearer {}", token(&head, &claims().to_string())));
    for alg in ["none", "None", "HS256", "RS512", "rs256", ""] {
        assert_eq!(headed(json!({ "alg": alg, "kid": "key-1" })), Err(Refusal::Algorithm), "{alg}");
    }
    assert_eq!(headed(json!({ "alg": "RS256", "kid": "key-1", "crit": ["exp"] })), Err(Refusal::Algorithm));
    assert_eq!(headed(json!({ "alg": "RS256", "kid": "key-2" })), Err(Refusal::UnknownKey));
    assert_eq!(headed(json!({ "alg": "RS256" })), bad);
    assert_eq!(
        headed(json!({ "alg": "RS256", "kid": "key-1", "jku": "https://evil.example", "x5u": "https://evil.example" })),
        Ok(())
    );

    let good = token(&head, &claims().to_string());
    assert_eq!(pushed(&format!("bearer {good}")), Ok(()), "the name of the scheme has no case");
    let (content, signature) = good.rsplit_once('.').unwrap();
    for wrong in [
        good.clone(),
        format!("Bearer {content}."),
        format!("Bearer {content}"),
        format!("Bearer {good}="),
        format!("Bearer  {good}"),
        format!("Bearer {good}.{signature}"),
        "Bearer ..".to_owned(),
        "Bearer".to_owned(),
    ] {
        assert!(pushed(&wrong).is_err(), "{wrong}");
    }
}

const INPUT: &str =
    "sig1=(\"@method\" \"@target-uri\" \"content-digest\");created=1800000000;keyid=\"shared\";alg=\"hmac-sha256\"";

/// The delivery with another `Signature-Input`.
fn message(change: impl Fn(&str) -> String) -> Result<(), Refusal> {
    let rig = rig("rfc9421");
    assert_eq!(rig.sent().get("Signature-Input"), INPUT);
    rig.verdict(&rig.sent().set("Signature-Input", change(INPUT))).map(|_| ())
}

#[test]
fn n093_message_signatures() {
    let signature = |it: Result<(), Refusal>| assert!(matches!(it, Err(Refusal::Malformed(Part::Signature))), "{it:?}");
    let components = "\"@method\" \"@target-uri\" \"content-digest\"";
    assert_eq!(message(str::to_owned), Ok(()));
    assert_eq!(message(|it| it.replace(components, "")), Err(Refusal::Coverage));
    assert_eq!(message(|it| it.replace(" \"content-digest\"", "")), Err(Refusal::Coverage));
    assert_eq!(message(|it| it.replace("\"@method\"", "\"@method\" \"@method\"")), Err(Refusal::Repeated(Part::Signature)));
    signature(message(|it| it.replace("\"@method\"", "\"@method\" \"@unknown\"")));
    signature(message(|it| it.replace("\"@method\"", "\"@method\";req")));
    signature(message(|it| it.replace("\"content-digest\"", "\"content-digest\";sf")));
    signature(message(|it| format!("{it};unknown=1")));
    signature(message(|it| it.replace(";created=1800000000", ";created=\"1800000000\"")));
    signature(message(|it| it.replace(";created", " ;created")));
    signature(message(|it| format!("{it}, {it}")));
    assert_eq!(message(|it| it.replace(";created=1800000000", "")), Err(Refusal::Missing(Part::Timestamp)));
    assert_eq!(message(|it| it.replace("1800000000", "1800000301")), Err(Refusal::TooNew));
    assert_eq!(message(|it| it.replace("1800000000", "1799999699")), Err(Refusal::TooOld));
    assert_eq!(message(|it| format!("{it};expires=1799999999")), Err(Refusal::TooOld));
    assert_eq!(message(|it| format!("{it};expires=1800000100")), Err(Refusal::Signature));
    assert_eq!(message(|it| it.replace("hmac-sha256", "ed25519")), Err(Refusal::Algorithm));
    assert_eq!(message(|it| it.replace("keyid=\"shared\"", "keyid=\"another\"")), Err(Refusal::UnknownKey));
    assert_eq!(message(|it| format!("{it}, sig2=(\"@method\");created=1800000000")), Err(Refusal::Repeated(Part::Signature)));
    assert_eq!(message(|it| it.replace("sig1", "sig2")), Err(Refusal::Missing(Part::Signature)));

    let rig = rig("rfc9421");
    assert_eq!(rig.verdict(&rig.sent().body("{}")), Err(Refusal::Digest), "a digest of another body");
    assert_eq!(rig.verdict(&rig.sent().without("Content-Digest")), Err(Refusal::Missing(Part::Field)));
    let ed25519 = Rig { secret: Secret::new(format!("ed25519:{}", "9f".repeat(32))), ..crate::rig::rig("rfc9421") };
    assert_eq!(ed25519.verdict(&ed25519.sent()), Err(Refusal::Algorithm), "a key of another kind under the same name");
    let other: Sent = rig.sent().url("https://gateway.example/hooks/route?a=2");
    assert_eq!(rig.verdict(&other), Err(Refusal::Signature));
}

#[test]
fn key_sets_are_capped() {
    let many: Vec<Value> =
        (0..100).map(|kid| json!({ "kty": "RSA", "kid": kid.to_string(), "n": "AQAB", "e": "AQAB" })).collect();
    let set = KeySet::from_jwks(json!({ "keys": many }).to_string().as_bytes()).unwrap();
    assert_eq!(format!("{set:?}").matches("RsaPkcs1Sha256").count(), jobgate_webhooks::MAX_KEYS);
    assert!(matches!(KeySet::from_jwks(&vec![b' '; jobgate_webhooks::MAX_KEY_SET + 1]), Err(KeySetProblem::TooBig)));
    for wrong in ["", "null", "[]", "{\"keys\":1}", "{\"keys\":[]}", "{\"keys\":[1,null,{}]}"] {
        assert!(KeySet::from_jwks(wrong.as_bytes()).is_err(), "{wrong}");
    }
}
