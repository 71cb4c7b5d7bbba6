//! A delivery of every scheme, signed the way the provider signs, to be bent by the tests.

use std::sync::Arc;

use data_encoding::BASE64;
use jobgate_webhooks::{
    CertificateUrl, Certificates, Credential, KeySet, NAMES, Outgoing, Received, Refusal, ReplayId, Request, Scheme,
    SchemeConfig, Secret, Secrets, receive, sign, verify,
};

/// When every delivery is sent; inside the validity of the test certificate.
pub(crate) const NOW: i64 = 1_800_000_000;
/// Where every delivery is sent to.
pub(crate) const URL: &str = "https://gateway.example/hooks/route?a=1";
/// An Ed25519 seed (RFC 9421, B.1.4) and its public key.
const SEED: &str = "9f8362f87a484a954e6e740c5b4c0e84229139a20aa8ab56ff66586f6a7d29c5";
const PUBLIC_X: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
const PUBLIC_HEX: &str = "26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb";
const RSA_PRIVATE: &str = include_str!("../fixtures/rsa_private.pem");
const RSA_KEYS: &str = include_str!("../fixtures/rsa_keys.json");
const CERTIFICATE: &str = include_str!("../fixtures/rsa_certificate.pem");
const CERTIFICATE_URL: &str = "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-signed-by-hand.pem";

/// The provider's own address has the certificate; others have none.
struct OneCertificate;

impl Certificates for OneCertificate {
    fn pem(&self, url: &CertificateUrl) -> Option<Vec<u8>> {
        (url.as_str() == CERTIFICATE_URL).then(|| CERTIFICATE.as_bytes().to_vec())
    }
}

/// A scheme with what signs and what verifies.
pub(crate) struct Rig {
    pub(crate) scheme: Scheme,
    pub(crate) secret: Secret,
    pub(crate) secrets: Secrets,
}

/// A request that a test owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Sent {
    pub(crate) fn with<T>(&self, look: impl FnOnce(&Request<'_>) -> T) -> T {
        let headers: Vec<(&str, &[u8])> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        look(&Request { method: &self.method, url: &self.url, headers: &headers, body: &self.body })
    }

    fn at(&self, name: &str) -> usize {
        self.headers.iter().position(|(it, _)| it.eq_ignore_ascii_case(name)).unwrap_or_else(|| panic!("no {name}: {self:?}"))
    }

    pub(crate) fn get(&self, name: &str) -> String {
        String::from_utf8(self.headers[self.at(name)].1.clone()).unwrap()
    }

    pub(crate) fn set(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let at = self.at(name);
        self.headers[at].1 = value.as_ref().to_vec();
        self
    }

    pub(crate) fn add(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        let at = self.at(name);
        self.headers.remove(at);
        self
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub(crate) fn url(mut self, url: &str) -> Self {
        url.clone_into(&mut self.url);
        self
    }
}

/// The words of a scheme that needs more than its name.
pub(crate) fn config(name: &str) -> SchemeConfig {
    let some = |text: &str| Some(text.to_owned());
    let named = SchemeConfig::named(name);
    match name {
        "static_token" => SchemeConfig { header: some("X-Webhook-Secret"), ..named },
        "fal" => SchemeConfig { user_id: some("user-123"), ..named },
        "aws_sns" => SchemeConfig { topic_arn: some("arn:aws:sns:eu-central-1:123456789012:jobs"), ..named },
        "google_pubsub" => {
            SchemeConfig { audience: some("https://gateway.example/hooks"), email: some("push@project.example"), ..named }
        }
        "cloudevents" => SchemeConfig { origins: vec!["events.example".to_owned()], rate: Some(100), ..named },
        "rfc9421" => SchemeConfig { key_id: some("shared"), ..named },
        "hmac" | "ed25519" => SchemeConfig {
            signature_header: some("X-Signature"),
            timestamp_header: some("X-Timestamp"),
            timestamp_unit: some("ms"),
            id_header: some("X-Id"),
            signed: some("{id}|{timestamp}|{body}"),
            ..named
        },
        _ => named,
    }
}

/// What signs in a scheme.
fn secret(name: &str) -> Secret {
    let standard = || format!("whsec_{}", BASE64.encode(&[7; 32]));
    Secret::new(match name {
        "standard_webhooks" | "svix" | "openai" | "replicate" | "anthropic" | "gemini" | "gitlab" => standard(),
        "stripe" | "heygen" => "whsec_0123456789abcdef".to_owned(),
        "fal" | "discord" | "ed25519" => SEED.to_owned(),
        "aws_sns" | "google_pubsub" => RSA_PRIVATE.to_owned(),
        "basic" => "jobgate:a password: of some length".to_owned(),
        "rfc9421" => BASE64.encode(&[9; 32]),
        _ => "a secret of some length".to_owned(),
    })
}

pub(crate) fn rig(name: &str) -> Rig {
    let scheme = Scheme::from_config(&config(name)).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
    let secret = secret(name);
    let jwks = format!("{{\"keys\":[{{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"key-1\",\"x\":\"{PUBLIC_X}\"}}]}}");
    let secrets = match name {
        "fal" => Secrets::new(&scheme, []).unwrap().with_key_set(KeySet::from_jwks(jwks.as_bytes()).unwrap()),
        "google_pubsub" => Secrets::new(&scheme, []).unwrap().with_key_set(KeySet::from_jwks(RSA_KEYS.as_bytes()).unwrap()),
        "discord" | "ed25519" => Secrets::new(&scheme, [Credential::new(Secret::new(PUBLIC_HEX))]).unwrap(),
        "aws_sns" => Secrets::new(&scheme, []).unwrap().with_certificates(Arc::new(OneCertificate)),
        _ => Secrets::new(&scheme, [Credential::new(secret.clone())]).unwrap_or_else(|problem| panic!("{name}: {problem}")),
    };
    Rig { scheme, secret, secrets }
}

/// Every scheme.
pub(crate) fn all() -> impl Iterator<Item = Rig> {
    NAMES.iter().map(|name| rig(name))
}

impl Rig {
    pub(crate) fn signed(&self, body: &[u8], id: &str, now: i64) -> Sent {
        let signed = sign(&self.scheme, &self.secret, &Outgoing { url: URL, id, body }, now)
            .unwrap_or_else(|problem| panic!("{}: {problem}", self.scheme.name()));
        let headers = signed.headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
        Sent { method: "POST".to_owned(), url: signed.url, headers, body: signed.body }
    }

    /// A good delivery.
    pub(crate) fn sent(&self) -> Sent {
        self.signed(br#"{"id":"job-1","status":"completed"}"#, "msg_1", NOW)
    }

    pub(crate) fn verdict(&self, sent: &Sent) -> Result<ReplayId, Refusal> {
        self.verdict_at(sent, NOW)
    }

    pub(crate) fn verdict_at(&self, sent: &Sent, now: i64) -> Result<ReplayId, Refusal> {
        sent.with(|request| {
            let verified = verify(&self.scheme, &self.secrets, request, now)?;
            assert_eq!(verified.body(), sent.body);
            Ok(verified.replay_id())
        })
    }

    pub(crate) fn receive(&self, sent: &Sent) -> Result<Option<jobgate_webhooks::Answer>, Refusal> {
        sent.with(|request| match receive(&self.scheme, &self.secrets, request, NOW)? {
            Received::Answer(answer) => Ok(Some(answer)),
            Received::Delivery(_) => Ok(None),
        })
    }

    /// The header that carries the signature or the credentials.
    pub(crate) fn main_header(&self, sent: &Sent) -> String {
        sent.headers.last().unwrap_or_else(|| panic!("{} signs in headers", self.scheme.name())).0.clone()
    }
}
