//! For every scheme: words, secrets, and deliveries that the provider really signed.

use std::sync::Arc;

use data_encoding::BASE64;
use jobgate_webhooks::{CertificateUrl, Certificates, Credential, KeySet, Outgoing, Scheme, SchemeConfig, Secret, Secrets, sign};
use memchr::memmem::Finder;

use crate::same::window;
use crate::sent::Sent;

/// When the deliveries are sent; inside the validity of the test certificate.
pub(crate) const NOW: i64 = 1_800_000_000;
/// How long after [`NOW`] the secret of before is still taken, in seconds.
pub(crate) const OVERLAP: i64 = 50;
/// Where they are sent to. Some schemes sign it.
const URLS: [&str; 3] = [
    "https://gateway.example/hooks/route",
    "https://gateway.example/hooks/route?a=1&b=it's",
    "https://gateway.example:443/hooks/route?hub.mode=x",
];
/// The word of Meta's handshake.
pub(crate) const VERIFY_TOKEN: &str = "meaty-hamhock-of-the-route";
/// The origin that CloudEvents may deliver from, and how often.
pub(crate) const ORIGIN: &str = "events.example";
pub(crate) const RATE: u32 = 100;
/// Ed25519 seeds and their public keys.
const SEED: &str = "9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5";
const PUBLIC_X: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
const PUBLIC_HEX: &str = "26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb";
pub(crate) const RSA_PRIVATE: &str = include_str!("../../../webhooks/tests/fixtures/rsa_private.pem");
pub(crate) const RSA_KEYS: &str = include_str!("../../../webhooks/tests/fixtures/rsa_keys.json");
pub(crate) const CERTIFICATE: &str = include_str!("../../../webhooks/tests/fixtures/rsa_certificate.pem");
/// Where the certificate is that the signing side names.
pub(crate) const CERTIFICATE_URL: &str = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-signed-by-hand.pem";

/// A scheme with what signs and what verifies.
pub(crate) struct Rig {
    pub(crate) scheme: Scheme,
    pub(crate) secrets: Secrets,
    /// The secret, and the one of before where there can be two.
    signing: Vec<Secret>,
    /// What must be printed nowhere.
    pub(crate) hidden: Vec<Finder<'static>>,
    /// Deliveries that were signed beforehand.
    pub(crate) pool: Vec<Good>,
    /// Whether signing costs little.
    pub(crate) cheap: bool,
    /// How long ago, and how far ahead, a delivery may be signed, in seconds.
    pub(crate) window: (i64, i64),
}

/// A delivery that the provider signed.
#[derive(Clone, Debug)]
pub(crate) struct Good {
    pub(crate) sent: Sent,
    pub(crate) moment: i64,
    /// Until when its secret is valid.
    pub(crate) until: i64,
    /// How long ago, and how far ahead, it may be signed, in seconds.
    pub(crate) window: (i64, i64),
}

/// The provider's own address has the certificate, and nobody asks at another host.
struct OneCertificate;

impl Certificates for OneCertificate {
    fn pem(&self, url: &CertificateUrl) -> Option<Vec<u8>> {
        let host = url.as_str().strip_prefix("https://sns.").and_then(|rest| rest.split_once('/')).map(|(host, _)| host);
        let fine = host.is_some_and(|host| {
            let region = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"));
            region.is_some_and(|region| region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        });
        assert!(fine, "a certificate is fetched from {url:?}");
        (url.as_str() == CERTIFICATE_URL).then(|| CERTIFICATE.as_bytes().to_vec())
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The words of a scheme, in every way that is worth a look.
pub(crate) fn configs(name: &str) -> Vec<SchemeConfig> {
    let named = || SchemeConfig::named(name);
    match name {
        "static_token" => vec![
            SchemeConfig { header: some("X-Webhook-Secret"), ..named() },
            SchemeConfig { header: some("Authorization"), prefix: some("Bearer "), ..named() },
        ],
        "fal" => vec![SchemeConfig { user_id: some("user-123"), ..named() }],
        "aws_sns" => {
            let arn = || some("arn:aws:sns:eu-central-1:123456789012:jobs");
            vec![SchemeConfig { topic_arn: arn(), ..named() }, SchemeConfig { topic_arn: arn(), allow_sha1: true, ..named() }]
        }
        "google_pubsub" => {
            vec![SchemeConfig { audience: some("https://gateway.example/hooks"), email: some("push@project.example"), ..named() }]
        }
        "cloudevents" => vec![SchemeConfig { origins: vec![ORIGIN.to_owned()], rate: Some(RATE), ..named() }],
        "rfc9421" => {
            let parts = ["@method", "@authority", "@path", "@query", "content-digest"];
            let parts = parts.iter().map(|it| (*it).to_owned()).collect();
            vec![
                SchemeConfig { key_id: some("shared"), ..named() },
                SchemeConfig { key_id: some("key-1"), label: some("sig9"), components: parts, ..named() },
            ]
        }
        "cloudinary" => vec![named(), SchemeConfig { allow_sha1: true, ..named() }],
        "hmac" => vec![
            SchemeConfig { signature_header: some("X-Signature"), signature_prefix: some("sha256="), ..named() },
            SchemeConfig { signed: some("{id}|{timestamp}|{body}"), ..stamped(named()) },
            SchemeConfig {
                signature_header: some("X-Signature"),
                signature_pair: some("v1"),
                timestamp_pair: some("t"),
                algorithm: some("sha512"),
                encoding: some("base64"),
                signed: some("{timestamp}.{body_sha256}"),
                ..named()
            },
            SchemeConfig { signed: some("{id}.{timestamp}.{body}"), encoding: some("base64url"), ..stamped(named()) },
        ],
        "ed25519" => vec![
            SchemeConfig { signature_header: some("X-Signature"), ..named() },
            SchemeConfig { signed: some("{id}|{timestamp}|{body}"), ..stamped(named()) },
            SchemeConfig {
                key_id_header: some("X-Key-Id"),
                signed: some("{key_id}.{timestamp}.{id}.{body}"),
                ..stamped(named())
            },
        ],
        "standard_webhooks" => vec![named(), named()],
        _ => vec![named()],
    }
}

/// With moment and id in headers of their own.
fn stamped(config: SchemeConfig) -> SchemeConfig {
    SchemeConfig {
        signature_header: some("X-Signature"),
        timestamp_header: some("X-Timestamp"),
        timestamp_unit: some("ms"),
        id_header: some("X-Id"),
        ..config
    }
}

/// What signs: the secret of now, and of before.
fn secrets(config: &SchemeConfig, at: usize) -> Vec<String> {
    let standard = |byte: u8| format!("whsec_{}", BASE64.encode(&[byte; 32]));
    let name = config.scheme.as_str();
    match (name, at) {
        ("standard_webhooks", 1) => vec![format!("whsk_{}", BASE64.encode(&decoded(SEED)))],
        ("standard_webhooks" | "svix" | "openai" | "replicate" | "anthropic" | "gemini" | "gitlab", _) => {
            vec![standard(0xa7), standard(0xb9)]
        }
        ("stripe" | "heygen", _) => vec!["whsec_0123456789abcdef".to_owned(), "whsec_fedcba9876543210".to_owned()],
        ("fal" | "discord" | "ed25519", _) => vec![SEED.to_owned()],
        ("rfc9421", 1) => vec![format!("ed25519:{SEED}")],
        ("aws_sns" | "google_pubsub", _) => vec![RSA_PRIVATE.to_owned()],
        ("basic", _) => vec!["jobgate:a password: of some length".to_owned(), "jobgate:the password of before".to_owned()],
        ("rfc9421", _) => vec![BASE64.encode(&[0xa9; 32]), BASE64.encode(&[0xb8; 32])],
        _ => vec!["a-secret-of-some-length".to_owned(), "the-secret-that-was-before".to_owned()],
    }
}

fn decoded(hex: &str) -> Vec<u8> {
    let mut pair = data_encoding::HEXLOWER.decode(hex.as_bytes()).expect("a seed in hexadecimal");
    pair.extend(data_encoding::HEXLOWER.decode(PUBLIC_HEX.as_bytes()).expect("a key in hexadecimal"));
    pair
}

/// Whatever of a secret would give it away: its text, and its beginning as `Debug` writes bytes.
fn hidden(secret: &str) -> [Finder<'static>; 2] {
    // The lines of a key in PEM have 64 characters; the second is the key's own.
    let text = secret.lines().nth(1).unwrap_or(secret);
    let text = text.split_once(':').map_or(text, |(_, password)| password);
    let text = text.trim_start_matches("whsec_").trim_start_matches("whsk_");
    let bytes = BASE64.decode(text.as_bytes()).unwrap_or_else(|_| text.as_bytes().to_vec());
    let shown = format!("{:?}", bytes.get(..8).unwrap_or(&bytes));
    [text, shown.trim_matches(['[', ']'])].map(|text| Finder::new(text.as_bytes()).into_owned())
}

impl Rig {
    pub(crate) fn of(name: &str) -> Vec<Self> {
        let new = |(at, config)| Self::with_secrets(config, at, secrets(config, at));
        configs(name).iter().enumerate().map(new).collect()
    }

    /// A rig of the words with these secrets: the one of now, and one of before.
    pub(crate) fn with_secrets(config: &SchemeConfig, at: usize, signing: Vec<String>) -> Self {
        let scheme = Scheme::from_config(config).unwrap_or_else(|problems| panic!("{}: {problems:?}", config.scheme));
        let hidden = signing.iter().chain([&VERIFY_TOKEN.to_owned()]).flat_map(|secret| hidden(secret)).collect();
        let signing: Vec<Secret> = signing.into_iter().map(Secret::new).collect();
        let jwks = format!("{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"key-1\",\"x\":\"{PUBLIC_X}\"}}]}}");
        let own = || KeySet::from_jwks(jwks.as_bytes()).expect("a key set");
        let holds = |credentials: Vec<Credential>| {
            Secrets::new(&scheme, credentials).unwrap_or_else(|problem| panic!("{}: {problem}", config.scheme))
        };
        let secrets = match (config.scheme.as_str(), at) {
            ("standard_webhooks", 1) => {
                let public = BASE64.encode(&decoded(SEED)[32..]);
                holds(vec![Credential::new(Secret::new(format!("whpk_{public}")))])
            }
            ("ed25519", 2) | ("fal", _) | ("rfc9421", 1) => holds(Vec::new()).with_key_set(own()),
            ("google_pubsub", _) => holds(Vec::new()).with_key_set(KeySet::from_jwks(RSA_KEYS.as_bytes()).expect("a key set")),
            ("aws_sns", _) => holds(Vec::new()).with_certificates(Arc::new(OneCertificate)),
            ("discord" | "ed25519", _) => holds(vec![Credential::new(Secret::new(PUBLIC_HEX))]),
            _ => {
                let mut credentials = vec![Credential::new(signing[0].clone())];
                let before = signing.get(1).cloned();
                credentials.extend(before.map(|secret| Credential::between(secret, 0, NOW + OVERLAP)));
                holds(credentials)
            }
        };
        let secrets = secrets.with_verify_token(&Secret::new(VERIFY_TOKEN)).expect("a fine token");
        let cheap = signing.len() > 1;
        let said = config.tolerance.map(|seconds| (i64::from(seconds), i64::from(seconds)));
        let window = said.unwrap_or_else(|| window(&config.scheme));
        let mut rig = Self { scheme, secrets, signing, hidden, pool: Vec::new(), cheap, window };
        let bodies: [&[u8]; 4] =
            [br#"{"id":"job-1","status":"completed"}"#, b"[1]", br#"{"type":1,"challenge":"abc"}"#, b"{\"a\":\"\xc3\xa4\"}"];
        for (at, ahead) in (0..12).zip([0, -60, 55].into_iter().cycle()) {
            let body = bodies[at % bodies.len()];
            let made = rig.sign(body, &format!("msg_{at}"), NOW + ahead, at, at / 4);
            rig.pool.push(made.expect("every scheme carries this"));
        }
        rig
    }

    /// Signs with the secret of now or of before; nothing where the scheme cannot carry the content.
    pub(crate) fn sign(&self, body: &[u8], id: &str, moment: i64, secret: usize, url: usize) -> Option<Good> {
        let before = secret % self.signing.len();
        let out = Outgoing { url: URLS[url % URLS.len()], id, body };
        let signed = sign(&self.scheme, &self.signing[before], &out, moment).ok()?;
        let headers = signed.headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
        let sent = Sent { method: "POST".to_owned(), url: signed.url, headers, body: signed.body };
        Some(Good { sent, moment, until: if before == 0 { i64::MAX } else { NOW + OVERLAP }, window: self.window })
    }
}
