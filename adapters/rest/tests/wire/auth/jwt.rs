//! JWTs that are made and signed here: exchanged for a token (RFC 7523), or sent as they are (B2).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::{Desk, built, echo, header, job};
use crate::support::least;

const RSA: &str = include_str!("../../keys/rsa.pem");
const RSA_PKCS1: &str = include_str!("../../keys/rsa-pkcs1.pem");
/// 2026-07-28T12:00:00Z, where the rig's clock stands.
const NOW: i64 = 1_785_240_000;

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}

fn part(text: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

/// Every algorithm signs what its public key verifies, from keys in every form in which they come.
#[tokio::test]
async fn a_jwt_is_signed_so_that_its_public_key_verifies_it() {
    let random = ring::rand::SystemRandom::new();
    let ec = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    let ec_pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, ec.as_ref(), &random).unwrap();
    let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let ed_pair = Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap();
    let rsa = PrivateKeyDer::from_pem_slice(RSA.as_bytes()).unwrap();
    let rsa_pair = RsaKeyPair::from_pkcs8(rsa.secret_der()).unwrap();
    let (rsa_key, ec_key, ed_key) =
        (rsa_pair.public_key().as_ref(), ec_pair.public_key().as_ref(), ed_pair.public_key().as_ref());
    let google = json!({ "type": "service_account", "private_key": RSA }).to_string();
    let rsa_of =
        |signed: &[u8], signature: &[u8]| UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, rsa_key).verify(signed, signature);
    type Verify<'a> = Box<dyn Fn(&[u8], &[u8]) -> Result<(), ring::error::Unspecified> + 'a>;
    let cases: Vec<(&str, String, Verify<'_>)> = vec![
        ("RS256", RSA.to_owned(), Box::new(rsa_of)),
        ("RS256", RSA_PKCS1.to_owned(), Box::new(rsa_of)),
        ("RS256", google, Box::new(rsa_of)),
        (
            "ES256",
            pem(ec.as_ref()),
            Box::new(|signed, signature| UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, ec_key).verify(signed, signature)),
        ),
        (
            "EdDSA",
            pem(ed.as_ref()),
            Box::new(|signed, signature| UnparsedPublicKey::new(&ED25519, ed_key).verify(signed, signature)),
        ),
        (
            "HS256",
            "shared-secret-1".to_owned(),
            Box::new(|signed, signature| {
                ring::hmac::verify(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"shared-secret-1"), signed, signature)
            }),
        ),
    ];
    for (algorithm, key, verify) in cases {
        let words = |_: &str| json!({ "auth": { "jwt": { "issuer": "me", "key": "env:K", "algorithm": algorithm, "key_id": "k1", "audience": "api" } } });
        let desk = Desk::new(words, &[("K", &key)], job).await;
        desk.poll().await.unwrap();
        let sent = header(&desk.requests().await[0], "authorization");
        let jwt = sent.strip_prefix("Bearer ").unwrap();
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        let (head, claims) = signed.split_once('.').unwrap();
        verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        assert_eq!(part(head), json!({ "alg": algorithm, "typ": "JWT", "kid": "k1" }));
        assert_eq!(part(claims), json!({ "iss": "me", "aud": "api", "iat": NOW - 60, "nbf": NOW - 60, "exp": NOW + 300 }));
    }
}

/// RFC 7523 section 2.1; the audience is the token endpoint where the words name no other.
#[tokio::test]
async fn a_jwt_is_exchanged_for_a_token() {
    let api = |request: &Request| match request.url.path() {
        "/token" => ResponseTemplate::new(200).set_body_json(json!({ "access_token": "granted-token-1", "expires_in": 3599 })),
        _ => job(request),
    };
    let words = |url: &str| {
        let jwt = json!({ "token_url": format!("{url}/token"), "issuer": "{{ settings.who }}", "subject": "boss", "scopes": ["x", "y"], "key": "env:K" });
        json!({ "settings": { "who": "robot" }, "auth": { "jwt": jwt } })
    };
    let desk = Desk::new(words, &[("K", RSA)], api).await;
    desk.poll().await.unwrap();
    let sent = desk.requests().await;
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&sent[0].body).into_owned().collect();
    let of = |name: &str| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()).unwrap();
    assert_eq!((of("grant_type"), of("scope")), ("urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned(), "x y".to_owned()));
    let assertion = of("assertion");
    let claims = part(assertion.split('.').nth(1).unwrap());
    let url = format!("http://{}/token", header(&sent[0], "host"));
    let wanted =
        json!({ "iss": "robot", "sub": "boss", "aud": url, "scope": "x y", "iat": NOW - 60, "nbf": NOW - 60, "exp": NOW + 300 });
    assert_eq!(claims, wanted);
    assert_eq!(header(&sent[1], "authorization"), "Bearer granted-token-1");
}

/// A JWT of our own is made anew before it ends, and nothing is asked of anybody.
#[tokio::test]
async fn a_jwt_is_made_anew_before_it_ends() {
    let words =
        |_: &str| json!({ "auth": { "jwt": { "issuer": "me", "key": "env:K", "algorithm": "HS256", "lifetime": "10m" } } });
    let desk = Desk::new(words, &[("K", "shared-secret-1")], job).await;
    for seconds in [0, 539, 2] {
        desk.pass(seconds).await;
        desk.poll().await.unwrap();
    }
    let sent: Vec<String> = desk.requests().await.iter().map(|request| header(request, "authorization")).collect();
    assert!(sent[0] == sent[1] && sent[1] != sent[2], "{sent:?}");
}

/// As a GitHub App signs in: a JWT for the request that gives the installation's token.
#[tokio::test]
async fn a_sign_in_may_prove_itself_by_a_jwt() {
    let api = |request: &Request| match request.url.path() {
        "/v1/app/installations/7/access_tokens" => ResponseTemplate::new(201)
            .set_body_json(json!({ "token": "installation-token-1", "expires_at": "2026-07-28T13:00:00Z" })),
        _ => echo(request),
    };
    let words = |_: &str| {
        json!({ "auth": { "login": {
            "auth": { "jwt": { "issuer": "12345", "key": "env:K" } },
            "request": { "method": "POST", "path": "/app/installations/7/access_tokens" },
            "token": "{{ body.token }}",
            "expires_at": "{{ body.expires_at }}",
        } } })
    };
    let desk = Desk::new(words, &[("K", RSA_PKCS1)], api).await;
    desk.poll().await.unwrap();
    let sent = desk.requests().await;
    let jwt = header(&sent[0], "authorization").strip_prefix("Bearer ").unwrap().to_owned();
    assert_eq!(part(jwt.split('.').nth(1).unwrap())["iss"], "12345");
    assert_eq!(header(&sent[1], "authorization"), "Bearer installation-token-1");
    desk.keeps(&["installation-token-1"]).await;
}

/// The JWT itself, and the one that is exchanged, show nowhere (C10).
#[tokio::test]
async fn a_jwt_shows_nowhere() {
    let words = |_: &str| json!({ "auth": { "jwt": { "issuer": "me", "key": "env:K", "algorithm": "HS256" } } });
    let desk = Desk::new(words, &[("K", "shared-secret-1")], echo).await;
    desk.poll().await.unwrap();
    let jwt = header(&desk.requests().await[0], "authorization").strip_prefix("Bearer ").unwrap().to_owned();
    desk.keeps(&[&jwt]).await;
    let shown = format!("{:?}", desk.adapter);
    assert!(!shown.contains("shared-secret-1"), "{shown}");
}

/// A key that is none is found when the adapter is built, and is not repeated.
#[tokio::test]
async fn a_key_that_does_not_fit_is_named_and_not_shown() {
    for (algorithm, key, wanted) in [
        ("RS256", "hunter2-hunter2", "the key is no PEM with a private key"),
        ("ES256", RSA, "the key is not a P-256 key in PKCS #8"),
        ("EdDSA", RSA, "the key is not an Ed25519 key"),
    ] {
        let desk = Desk::new(|_| json!({}), &[], job).await;
        let deps = desk.deps(&[("K", key)]);
        let words = json!({ "base_url": "https://api.example.com", "auth": { "jwt": { "issuer": "me", "key": "env:K", "algorithm": algorithm } } });
        let refused = built(words, least(), &deps).unwrap_err();
        assert!(refused.starts_with(&format!("providers.kit.auth.jwt.key: {wanted}")), "{refused}");
        assert!(!refused.contains("hunter2"));
    }
}
