//! The parts that read what others wrote without being a scheme: key sets, certificates, kept deliveries, addresses, configurations.

use std::sync::Arc;

use data_encoding::BASE64;
use jobgate_webhooks::{
    AddressToken, CallbackKey, CertificateUrl, Certificates, Credential, Kept, KeySet, MAX_KEYS, Outgoing, Refusal, Request,
    Scheme, SchemeConfig, Secret, Secrets, lint, sign, verify,
};

use crate::choices::Choices;
use crate::deliveries::Deliveries;
use crate::rig::{CERTIFICATE, NOW, RSA_KEYS, RSA_PRIVATE, Rig, configs};
use crate::words::JSON;

/// Makes something of an input, and looks at what becomes of it.
pub(crate) type Feed = fn(&mut Choices<'_>);

/// Each with its name.
pub(crate) const PARTS: [(&str, Feed); 6] = [
    ("key_set", key_set),
    ("certificate", certificate),
    ("kept", kept),
    ("callback", callback),
    ("address_token", address_token),
    ("config", config),
];

/// A text with pieces put in, and pieces taken out.
fn bent(text: &mut Vec<u8>, pieces: &[&[u8]], choices: &mut Choices<'_>) {
    for _ in 0..choices.below(6) {
        let range = choices.range(text.len());
        match choices.below(4) {
            0 => drop(text.drain(range)),
            1 => drop(text.splice(range.start..range.start, choices.word(pieces).iter().copied())),
            2 => drop(text.splice(range, choices.bytes(40).iter().copied())),
            _ => {
                if let Some(byte) = text.get_mut(range.start) {
                    *byte ^= 1 << choices.below(8);
                }
            }
        }
    }
}

/// A key set that somebody else wrote holds at most so many keys, and verifies nothing that its keys did not sign.
fn key_set(choices: &mut Choices<'_>) {
    let pieces = [
        &b"\"kty\":\"RSA\","[..],
        b"\"kty\":\"OKP\",\"crv\":\"Ed25519\",",
        b"\"kty\":\"EC\",\"crv\":\"P-256\",",
        b"\"kty\":\"EC\",\"crv\":\"P-384\",",
        b"\"kid\":\"key-1\",",
        b"\"alg\":\"PS512\",",
        b"\"use\":\"enc\",",
        b"\"n\":\"AQAB\",\"e\":\"AQAB\",",
        b"\"x\":\"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\",",
        b"\"y\":\"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs\",",
        b"{},",
        b"null,",
        b"[",
        b"]",
        b"\\u0000",
    ];
    let mut text = if choices.rarely(6) { choices.rest().to_vec() } else { RSA_KEYS.as_bytes().to_vec() };
    bent(&mut text, &pieces, choices);
    let Ok(set) = KeySet::from_jwks(&text) else { return };
    let shown = format!("{set:?}");
    let kinds = ["RsaPkcs1Sha256", "RsaPssSha512", "EcdsaP256Sha256", "EcdsaP384Sha384", "Ed25519"];
    let keys: usize = kinds.iter().map(|kind| shown.matches(&format!(": {kind}")).count()).sum();
    // A name may look like a kind, so this counts too many at worst where there are names at all.
    assert!(keys >= 1 && (keys <= MAX_KEYS || shown.len() > 400), "{shown}");
    // A message that names a key is verified with it, whatever its material is; nobody holds a key of the fuzzer's.
    let scheme = Scheme::named("rfc9421").expect("a scheme");
    let secrets = Secrets::new(&scheme, []).expect("no secrets").with_key_set(set);
    let signature = [choices.bytes(64), &[7; 256]].concat();
    let input = format!("s=(\"@method\" \"@target-uri\" \"content-digest\");created={NOW};keyid=\"key-1\"");
    let signature = format!("s=:{}:", BASE64.encode(signature.get(..256).unwrap_or(&signature)));
    let headers: [(&str, &[u8]); 3] =
        [("Signature-Input", input.as_bytes()), ("Signature", signature.as_bytes()), ("Content-Digest", b"sha-256=:AAAA:")];
    let request = Request { method: "POST", url: "https://gateway.example/", headers: &headers, body: b"{}" };
    assert!(verify(&scheme, &secrets, &request, NOW).is_err(), "nobody signed this: {}", String::from_utf8_lossy(&text));
}

struct Given(Vec<u8>);

impl Certificates for Given {
    fn pem(&self, _: &CertificateUrl) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

thread_local! {
    static SNS: (Scheme, Rig) = {
        let scheme = Scheme::from_config(&configs("aws_sns")[0]).expect("a scheme");
        (scheme, Rig::of("aws_sns").remove(0))
    };
}

/// A certificate that was bent on its way either has the provider's key still, or verifies nothing.
fn certificate(choices: &mut Choices<'_>) {
    let inner: String = CERTIFICATE.lines().filter(|line| !line.starts_with('-')).collect();
    let der = BASE64.decode(inner.as_bytes()).expect("a certificate");
    // The modulus is somewhere in the middle; a part of it stands for it.
    let key = RSA_PRIVATE.lines().filter(|line| !line.starts_with('-')).collect::<String>();
    let key = BASE64.decode(key.as_bytes()).expect("a key");
    let modulus = &key[60..200];
    let pieces =
        [&b"-----BEGIN CERTIFICATE-----\n"[..], b"-----END CERTIFICATE-----\n", b"\n", b"\0", b"=", b"\x30\x82", b"\x80"];
    let mut bytes = der.clone();
    let pem = if choices.rarely(3) {
        let mut pem = CERTIFICATE.as_bytes().to_vec();
        bent(&mut pem, &pieces, choices);
        pem
    } else {
        bent(&mut bytes, &pieces, choices);
        let text = BASE64.encode(&bytes);
        let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n")).into_bytes()
    };
    SNS.with(|(scheme, rig)| {
        let secrets = Secrets::new(scheme, []).expect("no secrets").with_certificates(Arc::new(Given(pem.clone())));
        let now = if choices.rarely(8) { choices.number() } else { NOW };
        rig.pool[0].sent.with(|request| match verify(scheme, &secrets, request, now) {
            Ok(_) => {
                let text = String::from_utf8_lossy(&pem).into_owned();
                let lines =
                    text.lines().skip_while(|line| !line.starts_with('-')).skip(1).take_while(|line| !line.starts_with('-'));
                // The reader of PEM passes over some letters that are none of base64, where nobody looks at what they stand for.
                let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
                let mut first: Vec<u8> = lines.flat_map(str::bytes).map(|byte| if known(byte) { byte } else { b'A' }).collect();
                first.truncate(first.len() / 4 * 4);
                let read = BASE64.decode(&first).unwrap_or_default();
                assert!(read.windows(modulus.len()).any(|part| part == modulus), "the key is another: {text}");
            }
            Err(refusal) => assert!(
                matches!(refusal, Refusal::Certificate | Refusal::Signature | Refusal::TooOld | Refusal::TooNew | Refusal::Clock),
                "{refusal:?}"
            ),
        });
    });
}

/// What a store gives back is read as it was written, or not at all.
fn kept(choices: &mut Choices<'_>) {
    let mut bytes = if choices.rarely(2) {
        choices.rest().to_vec()
    } else {
        let mut bytes = vec![1, u8::try_from(choices.below(8)).unwrap_or_default()];
        bytes.extend(choices.number().to_be_bytes());
        bytes.extend([9; 32]);
        bytes.extend(choices.bytes(40));
        bytes
    };
    bent(&mut bytes, &JSON, choices);
    if let Some(kept) = Kept::from_bytes(&bytes) {
        assert_eq!(kept.to_bytes(), bytes, "one spelling");
        assert_eq!(Kept::from_bytes(&kept.to_bytes()).as_ref(), Some(&kept));
        assert_eq!(kept.verified().keep(), kept);
        let body = kept.verified().body().len();
        assert!(format!("{kept:?}").contains(&format!("body: {body},")), "{kept:?}");
    }
}

/// An address opens to what it was made for, in its one spelling.
fn callback(choices: &mut Choices<'_>) {
    let seed = [u8::try_from(choices.below(4)).unwrap_or_default() + 0xa0; 32];
    let key = CallbackKey::new(&seed);
    let mut subject = [0; 16];
    let given = choices.bytes(16);
    subject[..given.len()].copy_from_slice(given);
    let token = key.token(subject);
    assert_eq!(key.open(&token).and_then(|at| at.subject()), Some(subject));
    let mut other = if choices.rarely(4) { choices.bytes(80).to_vec() } else { token.clone().into_bytes() };
    bent(&mut other, &[b"A", b"_", b"-", b"=", b"%41", b"/", b"\0"], choices);
    let other = String::from_utf8_lossy(&other);
    let opened = key.open(&other);
    match opened.and_then(|at| at.subject()) {
        Some(found) => assert_eq!(key.token(found), *other, "one spelling"),
        None => assert!(opened.is_none() && other != token),
    }
    assert_eq!(CallbackKey::new(&[7; 32]).open(&other), None, "another gateway's");
    assert_eq!(format!("{key:?}"), "CallbackKey");
}

/// The token of a route opens it, and no other does.
fn address_token(choices: &mut Choices<'_>) {
    let text = if choices.rarely(4) { choices.bytes(40).to_vec() } else { choices.letters(b"abcdefABCDEF0123456789-_.~", 40) };
    let secret = Secret::new(text.clone());
    let Ok(token) = AddressToken::new(&secret) else {
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
        assert!(text.len() < 16 || !text.iter().all(fits), "{}", String::from_utf8_lossy(&text));
        return;
    };
    assert!(text.len() >= 16);
    let mut other = text.clone();
    bent(&mut other, &[b"A", b"%41", b"/", b"\0", b" "], choices);
    assert_eq!(token.open(&String::from_utf8_lossy(&other)).is_some(), other == text);
    assert_eq!(format!("{token:?}"), "AddressToken");
}

fn word(choices: &mut Choices<'_>, known: &[&str]) -> Option<String> {
    match choices.below(4) {
        0 | 1 => None,
        2 => Some(choices.word(known).to_owned()),
        _ => Some(String::from_utf8_lossy(choices.bytes(12)).into_owned()),
    }
}

/// The words of an operator: refused with a reason, or a scheme that takes what it signs and nothing else.
fn config(choices: &mut Choices<'_>) {
    let headers = ["X-Signature", "X-Timestamp", "X-Id", "x-signature", "Authorization", ""];
    let signed = [
        "{body}",
        "{timestamp}.{body}",
        "{id}.{timestamp}.{body}",
        "{id}|{timestamp}|{body_sha256}",
        "{timestamp}{body}",
        "{body}{timestamp}",
        "{body}.{id}",
        "{timestamp}:{id}:{body}",
        "v0:{timestamp}:{body}",
        "{id}{body_sha256}{timestamp}",
        "{{body}",
        "{key_id}.{body}",
    ];
    let scheme = if choices.rarely(4) { choices.word(&jobgate_webhooks::NAMES) } else { "hmac" };
    let config = SchemeConfig {
        scheme: if choices.rarely(20) { String::from_utf8_lossy(choices.bytes(20)).into_owned() } else { scheme.to_owned() },
        tolerance: choices.rarely(4).then(|| u32::try_from(choices.below(8000)).unwrap_or_default()),
        allow_sha1: choices.rarely(3),
        header: choices.rarely(6).then(|| choices.word(&headers).to_owned()),
        prefix: choices.rarely(8).then(|| "Bearer ".to_owned()),
        user_id: choices.rarely(8).then(|| "user-123".to_owned()),
        topic_arn: choices.rarely(8).then(|| "arn:aws:sns:x:1:y".to_owned()),
        key_id: choices.rarely(8).then(|| String::from_utf8_lossy(choices.bytes(6)).into_owned()),
        label: choices.rarely(8).then(|| String::from_utf8_lossy(choices.bytes(6)).into_owned()),
        algorithm: word(choices, &["sha256", "sha512", "sha1"]),
        encoding: word(choices, &["hex", "base64", "base64url"]),
        signature_header: if choices.rarely(6) { word(choices, &headers) } else { Some("X-Signature".to_owned()) },
        signature_prefix: word(choices, &["sha256=", "v0=", ""]),
        signature_pair: word(choices, &["v1", "t", ""]),
        timestamp_pair: word(choices, &["t", "v1", ""]),
        timestamp_header: word(choices, &headers),
        timestamp_unit: word(choices, &["s", "ms"]),
        id_header: word(choices, &headers),
        signed: word(choices, &signed),
        secret_encoding: word(choices, &["text", "base64", "hex"]),
        secret_prefix: word(choices, &["whsec_", ""]),
        ..SchemeConfig::default()
    };
    let text = choices.word(&[
        "a-secret-of-some-length",
        "whsec_cWVydHl1aW9wYXNkZmdoamtsenhjdmJubQ==",
        "00112233445566778899aabbccddeeff",
        "",
        "x",
    ]);
    let problems = lint(&config, &[Credential::new(Secret::new(text))]);
    let printed = problems.iter().map(|problem| format!("{problem} {problem:?}")).collect::<String>();
    assert!(text.len() < 2 || !printed.contains(text), "a secret is printed: {printed}");
    assert!(problems.iter().all(|problem| !problem.example.is_empty() && !problem.message.is_empty()));
    let Ok(scheme) = Scheme::from_config(&config) else { return assert!(!problems.is_empty()) };
    if problems.is_empty() && config.scheme == "hmac" {
        let out = Outgoing { url: "https://gateway.example/", id: "m", body: b"{}" };
        assert!(sign(&scheme, &Secret::new(text), &out, NOW).is_ok(), "a route that nobody could sign for: {config:?}");
        Deliveries::with(vec![Rig::with_secrets(&config, 0, vec![text.to_owned()])]).feed(choices);
    }
}
