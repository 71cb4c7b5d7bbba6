//! Every vector of the shared list of signature schemes gives what the list expects. A vector that nothing here runs is a failure.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its vectors has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use data_encoding::{BASE64, HEXLOWER};
use jobgate_test_support::engine;
use jobgate_webhooks::{
    Answer, CertificateUrl, Certificates, Credential, KeyAlgorithm, KeySet, Outgoing, Purpose, Received, Refusal, Request,
    Scheme, SchemeConfig, Secret, SecretProblem, Secrets, Verified, catalog, receive, sign, verify,
};
use serde_json::{Value, json};

/// What was decided where the list leaves it open; `docs/webhooks.md` says why.
const DECIDED: [(&str, bool); 4] = [
    ("github-upper-case-hex", false),
    ("fal-signature-upper-hex", false),
    ("pubsub-aud-array", false),
    ("cloudinary-sha256", true),
];

/// Vectors of a receiver, about routes and not about signatures: here their scheme has no verifier.
const OF_THE_RECEIVER: [&str; 2] = ["capability-url", "capability-url-unknown-token"];

/// The moment of the vectors that sign one and do not say when they are received.
const SNS_NOW: i64 = 1_700_000_000;
const MESSAGES_NOW: i64 = 1_618_884_473;

/// A certificate for every address, and how often one was asked for.
#[derive(Default)]
struct Counted {
    pem: Vec<u8>,
    asked: AtomicUsize,
}

impl Certificates for Counted {
    fn pem(&self, _: &CertificateUrl) -> Option<Vec<u8>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Some(self.pem.clone())
    }
}

/// One vector beside its scheme.
struct Case<'v> {
    id: &'v str,
    name: &'v str,
    vector: &'v Value,
    scheme: &'v Value,
}

/// Owned parts of a request.
#[derive(Clone, Debug, Default)]
struct Sent {
    method: String,
    url: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Sent {
    /// Hands the request to `look`.
    fn with<T>(&self, look: impl FnOnce(&Request<'_>) -> T) -> T {
        let headers: Vec<(&str, &[u8])> = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        look(&Request { method: &self.method, url: &self.url, headers: &headers, body: &self.body })
    }

    fn verdict(&self, scheme: &Scheme, secrets: &Secrets, now: i64) -> Result<(), Refusal> {
        self.with(|request| verify(scheme, secrets, request, now).map(|delivery| assert_bound(scheme, request, &delivery)))
    }

    fn answer(&self, scheme: &Scheme, secrets: &Secrets, now: i64) -> Result<Answer, Refusal> {
        self.with(|request| match receive(scheme, secrets, request, now)? {
            Received::Answer(answer) => Ok(answer),
            Received::Delivery(_) => panic!("a delivery, not a handshake"),
        })
    }
}

/// What a verified delivery promises is what its scheme promises.
fn assert_bound(scheme: &Scheme, request: &Request<'_>, delivery: &Verified<'_>) {
    assert_eq!(delivery.body(), request.body);
    assert_eq!(delivery.binds().time, delivery.sent_at().is_some());
    assert!(!delivery.binds().time || scheme.binds().time, "{}", scheme.name());
}

/// The list; nothing, and a word about it, where this machine has none.
fn list() -> Option<Value> {
    let path = engine::shared().join("webhooks/schemes.yaml");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_saphyr::from_str(&text).unwrap()),
        Err(error) => {
            engine::skip(&format!("{}: {error}", path.display()));
            None
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}"))
}

impl<'v> Case<'v> {
    fn expect(&self) -> &'v str {
        text(&self.vector["expect"])
    }

    /// The clock of the receiver.
    fn now(&self) -> i64 {
        let fallback = match self.id {
            "aws-sns" => SNS_NOW,
            "rfc9421" => MESSAGES_NOW,
            _ => 1_700_000_000,
        };
        self.vector["now"].as_i64().unwrap_or(fallback)
    }

    fn sent(&self) -> Sent {
        let headers = self.vector["headers"].as_object().into_iter().flatten();
        let headers = headers.map(|(name, value)| (name.clone(), text(value).as_bytes().to_vec())).collect();
        let body = match (&self.vector["body"], &self.vector["body_base64"], &self.vector["form_params"]) {
            (Value::String(body), ..) => body.clone().into_bytes(),
            (_, Value::String(body), _) => BASE64.decode(body.as_bytes()).unwrap(),
            (.., Value::Array(fields)) => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                for field in fields {
                    form.append_pair(text(&field[0]), text(&field[1]));
                }
                form.finish().into_bytes()
            }
            _ => Vec::new(),
        };
        let url = self.vector["request_url"].as_str().unwrap_or("https://gateway.example/hooks/route").to_owned();
        Sent { method: "POST".to_owned(), url, headers, body }
    }

    /// The scheme that the catalogue names, with the words that the vector needs.
    fn config(&self) -> SchemeConfig {
        let entry = catalog().iter().find(|entry| entry.id == self.id).unwrap();
        let mut config = SchemeConfig::named(entry.name.unwrap());
        let some = |text: &str| Some(text.to_owned());
        match self.id {
            "static-token-header" => config.header = some("X-Gitlab-Token"),
            "fal" => config.user_id = some("user-123"),
            "cloudinary" => config.allow_sha1 = self.name == "cloudinary-sha1",
            "aws-sns" => config.topic_arn = some("arn:aws:sns:us-west-2:123456789012:MyTopic"),
            "google-pubsub-oidc" => {
                config.audience = some(text(&self.vector["expected"]["aud"]));
                config.email = some(text(&self.vector["expected"]["email"]));
            }
            "cloudevents-abuse-protection" => {
                let origins = self.vector["configured_origins"].as_array().cloned().unwrap_or_default();
                config.origins = origins.iter().map(|it| text(it).to_owned()).collect();
                config.rate = self.vector["configured_rate"].as_u64().map(|rate| rate.try_into().unwrap());
            }
            "rfc9421" => {
                let components: &[&str] = match self.name {
                    "rfc9421-selective-covered-components-using-rsa-pss-sha512" => &["@authority", "content-digest"],
                    "rfc9421-signing-a-request-using-ed25519" => &["@method", "@path", "@authority", "content-type", "date"],
                    _ => &["@method", "@path", "@query", "@authority", "content-digest"],
                };
                config.components = components.iter().map(|it| (*it).to_owned()).collect();
            }
            "turnkey-like" => {
                config.signature_header = some("X-Turnkey-Signature");
                config.timestamp_header = some("X-Turnkey-Timestamp");
                config.timestamp_unit = some("ms");
                config.id_header = some("X-Turnkey-Event-Id");
                config.key_id_header = some("X-Turnkey-Signature-Key-Id");
                config.signed = some("v1.ed25519.{key_id}.{timestamp}.{id}.{body}");
            }
            _ => {}
        }
        config
    }

    fn secrets(&self, scheme: &Scheme) -> Result<Secrets, SecretProblem> {
        let secret = ["secret", "public_key", "public_key_hex"].iter().find_map(|word| self.vector[*word].as_str());
        let secret = match self.id {
            "cloudevents-abuse-protection" => Some("a-token-of-some-length"),
            _ => secret,
        };
        let secrets = Secrets::of_any_length(scheme, secret.map(|it| Credential::new(Secret::new(it))))?;
        if self.id == "rfc9421" {
            return Ok(secrets.with_key_set(self.message_keys()));
        }
        let jwks = match &self.vector["jwks"] {
            Value::String(other) => {
                let name = other.strip_prefix("see ").unwrap();
                &self.scheme["vectors"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap()["jwks"]
            }
            jwks => jwks,
        };
        if jwks.is_null() {
            return Ok(secrets);
        }
        let text = jwks.to_string();
        match KeySet::from_jwks(text.as_bytes()) {
            Ok(keys) => Ok(secrets.with_key_set(keys)),
            Err(problem) => {
                assert_eq!(self.name, "fal-x25519-key-in-jwks", "{problem}");
                Ok(secrets)
            }
        }
    }

    fn message_keys(&self) -> KeySet {
        let keys = &self.scheme["keys"];
        let jwks = json!({ "keys": [
            { "kty": "OKP", "crv": "Ed25519", "kid": "test-key-ed25519", "x": keys["test-key-ed25519_public_x"] },
            {
                "kty": "EC",
                "crv": "P-256",
                "kid": "test-key-ecc-p256",
                "x": keys["test-key-ecc-p256_public_jwk"]["x"],
                "y": keys["test-key-ecc-p256_public_jwk"]["y"],
            },
        ] });
        let pem = text(&keys["test-key-rsa-pss_public_pem"]);
        let set = KeySet::from_jwks(jwks.to_string().as_bytes()).unwrap();
        set.with_rsa_pem("test-key-rsa-pss", KeyAlgorithm::RsaPssSha512, pem.as_bytes()).unwrap()
    }

    /// Runs the vector.
    fn run(&self) {
        let expect = self.expect();
        if expect == "primitive check" {
            return self.primitive();
        }
        if OF_THE_RECEIVER.contains(&self.name) {
            let entry = catalog().iter().find(|entry| entry.id == self.id).unwrap();
            assert!(entry.name.is_none() && !entry.note.is_empty(), "{}", self.name);
            return;
        }
        match (self.id, self.name) {
            ("static-token-header", "gitlab-token-trailing-space") => self.trailing_space(),
            ("github", "github-empty-secret") => {
                let scheme = Scheme::from_config(&self.config()).unwrap();
                assert_eq!(self.secrets(&scheme).unwrap_err(), SecretProblem::Empty);
            }
            ("zoom", "zoom-challenge" | "zoom-challenge-oracle-attack") => self.zoom_challenge(),
            ("meta", "meta-challenge") => self.meta_challenge(),
            ("cloudevents-abuse-protection", _) => self.handshake(),
            ("aws-sns", _) => self.sns(),
            ("rfc9421", _) => self.message(),
            ("turnkey-like", _) => self.turnkey(),
            _ => self.plain(),
        }
    }

    fn plain(&self) {
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let verdict = self.sent().verdict(&scheme, &self.secrets(&scheme).unwrap(), self.now());
        self.judge(verdict);
    }

    /// The first word of `expect` decides, or what was decided here.
    fn judge(&self, verdict: Result<(), Refusal>) {
        let decided = DECIDED.iter().find(|(name, _)| *name == self.name).map(|(_, accept)| *accept);
        let accept = decided.unwrap_or_else(|| match self.expect().split([' ', ',', ';', '(']).next().unwrap() {
            "accept" => true,
            "reject" => false,
            other => panic!("{}: nobody knows what `{other}` expects", self.name),
        });
        assert_eq!(verdict.is_ok(), accept, "{}: {:?}", self.name, verdict);
    }

    fn primitive(&self) {
        let config = SchemeConfig { signature_header: Some("X-Signature".to_owned()), ..SchemeConfig::named("hmac") };
        let scheme = Scheme::from_config(&config).unwrap();
        let out = Outgoing { url: "https://gateway.example/", id: "1", body: text(&self.vector["raw_message"]).as_bytes() };
        let signed = sign(&scheme, &Secret::new(text(&self.vector["secret"])), &out, 0).unwrap();
        assert_eq!(signed.headers[0].1, text(&self.vector["expected_hex"]), "{}", self.name);
    }

    /// The parser of HTTP trims; the verifier trims nothing more.
    fn trailing_space(&self) {
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let secrets = self.secrets(&scheme).unwrap();
        let mut sent = self.sent();
        assert_eq!(sent.verdict(&scheme, &secrets, 0), Err(Refusal::Credentials));
        sent.headers[0].1 = sent.headers[0].1.trim_ascii().to_vec();
        assert_eq!(sent.verdict(&scheme, &secrets, 0), Ok(()));
    }

    fn zoom_challenge(&self) {
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let answer = self.sent().answer(&scheme, &self.secrets(&scheme).unwrap(), self.now());
        if self.expect() == "answer" {
            let body: Value = serde_json::from_str(&answer.unwrap().body).unwrap();
            assert_eq!(body, self.vector["response"]);
        } else {
            assert_eq!(answer, Err(Refusal::Handshake));
        }
    }

    fn meta_challenge(&self) {
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let app = Credential::new(Secret::new("app-secret"));
        let token = Secret::new(text(&self.vector["secret"]));
        let secrets = Secrets::of_any_length(&scheme, [app]).unwrap().with_verify_token(&token).unwrap();
        let (method, path) = text(&self.vector["request"]).split_once(' ').unwrap();
        let sent = Sent { method: method.to_owned(), url: format!("https://gateway.example{path}"), ..Sent::default() };
        let answer = sent.answer(&scheme, &secrets, self.now()).unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (200, text(&self.vector["response_body"])));
        assert!(answer.headers.iter().any(|(name, value)| *name == "Content-Type" && value.starts_with("text/plain")));
        let wrong = Sent { url: sent.url.replace("meatyhamhock", "meatyhamhocks"), ..sent };
        assert_eq!(wrong.answer(&scheme, &secrets, self.now()), Err(Refusal::Handshake));
    }

    /// CloudEvents: nothing here can make an outgoing request; the answer is all there is.
    fn handshake(&self) {
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let mut lines = text(&self.vector["request"]).lines();
        let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())).collect();
        let url = format!("https://gateway.example{path}");
        let sent = Sent { method: method.to_owned(), url, headers, body: Vec::new() };
        let answer = sent.answer(&scheme, &self.secrets(&scheme).unwrap(), self.now());
        match self.vector["response_headers"].as_object() {
            Some(expected) => {
                let answer = answer.unwrap();
                let said: BTreeMap<&str, &str> = answer.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let expected: BTreeMap<&str, &str> = expected.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
                assert_eq!((answer.status, said), (200, expected));
            }
            None => assert_eq!(answer.map_err(Refusal::status), Err(405)),
        }
    }

    fn sns(&self) {
        let vectors = self.scheme["vectors"].as_array().unwrap();
        let pem = text(&vectors.iter().find(|it| it["name"] == "sns-v2-notification").unwrap()["certificate_pem"]);
        let certificates = Arc::new(Counted { pem: pem.as_bytes().to_vec(), asked: AtomicUsize::new(0) });
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let secrets = Secrets::new(&scheme, []).unwrap().with_certificates(certificates.clone());
        let sent = self.sent();
        let verdict = sent.verdict(&scheme, &secrets, SNS_NOW);
        match self.name {
            "sns-v1-notification" => {
                assert_eq!(verdict, Err(Refusal::Algorithm), "SHA-1 is not allowed");
                let allowed = Scheme::from_config(&SchemeConfig { allow_sha1: true, ..self.config() }).unwrap();
                assert_eq!(sent.verdict(&allowed, &secrets, SNS_NOW), Ok(()), "SHA-1 is allowed");
            }
            "sns-version-downgrade" => {
                self.judge(verdict);
                let allowed = Scheme::from_config(&SchemeConfig { allow_sha1: true, ..self.config() }).unwrap();
                assert_eq!(sent.verdict(&allowed, &secrets, SNS_NOW), Err(Refusal::Signature));
            }
            "sns-v2-subscription" => {
                self.judge(verdict);
                let purpose = sent.with(|request| verify(&scheme, &secrets, request, SNS_NOW).unwrap().purpose().clone());
                let Purpose::Confirm { url } = purpose else { panic!("a subscription wants its answer") };
                assert!(url.starts_with("https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription"), "{url}");
            }
            _ => self.judge(verdict),
        }
        if self.expect().contains("without any fetch") {
            assert_eq!(certificates.asked.load(Ordering::SeqCst), 0, "{}", self.name);
        }
    }

    fn message(&self) {
        let request = self.scheme["vectors"].as_array().unwrap().iter().find_map(|it| it["test_request"].as_str()).unwrap();
        let (head, body) = request.split_once("\n\n").unwrap();
        let mut lines = head.lines();
        let path = lines.next().unwrap().split(' ').nth(1).unwrap();
        let mut sent = self.sent();
        sent.url = format!("https://example.com{path}");
        sent.body = body.as_bytes().to_vec();
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        sent.headers.extend(headers.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec())));
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let secrets = self.secrets(&scheme).unwrap();
        let verdict = sent.verdict(&scheme, &secrets, MESSAGES_NOW);
        if self.expect().starts_with("cryptographically valid") {
            assert_eq!(verdict, Err(Refusal::Coverage), "{}", self.name);
        } else {
            self.judge(verdict);
        }
        let names = |needle: &str| text(&self.vector["signature_base"]).contains(needle);
        if names("\"content-digest\"") {
            sent.body[0] = b'[';
            assert_eq!(sent.verdict(&scheme, &secrets, MESSAGES_NOW), Err(Refusal::Digest), "{}", self.name);
        }
    }

    /// The parts are given; which headers carry them is not published.
    fn turnkey(&self) {
        let scheme = Scheme::from_config(&self.config()).unwrap();
        let mut sent = self.sent();
        let signature = HEXLOWER.decode(text(&self.vector["signature_hex"]).as_bytes()).unwrap();
        for (name, value) in [
            ("X-Turnkey-Signature", HEXLOWER.encode(&signature)),
            ("X-Turnkey-Timestamp", "1700000000000".to_owned()),
            ("X-Turnkey-Event-Id", "evt_1".to_owned()),
            ("X-Turnkey-Signature-Key-Id", "test-key-ed25519".to_owned()),
        ] {
            sent.headers.push((name.to_owned(), value.into_bytes()));
        }
        let secrets = self.secrets(&scheme).unwrap();
        self.judge(sent.verdict(&scheme, &secrets, self.now()));
        sent.headers.last_mut().unwrap().1 = b"another".to_vec();
        assert_eq!(sent.verdict(&scheme, &secrets, self.now()), Err(Refusal::UnknownKey));
    }
}

/// J1, J2: all 127 of them.
#[test]
fn every_vector_gives_what_it_expects() {
    let Some(list) = list() else { return };
    let mut run = BTreeSet::new();
    let mut named = 0;
    for scheme in list.as_array().unwrap() {
        for vector in scheme["vectors"].as_array().unwrap() {
            named += 1;
            let case = Case { id: text(&scheme["id"]), name: text(&vector["name"]), vector, scheme };
            case.run();
            run.insert(case.name);
        }
    }
    assert_eq!((run.len(), named), (127, 127), "every vector was run, each under a name of its own");
}

/// Every scheme of the list is in the catalogue, with a name that exists or a reason.
#[test]
fn every_scheme_is_in_the_catalogue() {
    let Some(list) = list() else { return };
    let ids: BTreeSet<&str> = list.as_array().unwrap().iter().map(|scheme| text(&scheme["id"])).collect();
    let ours: BTreeSet<&str> = catalog().iter().map(|entry| entry.id).collect();
    assert_eq!(ids, ours);
    assert_eq!(ids.len(), 37);
    for entry in catalog() {
        match entry.name {
            Some(name) => assert!(jobgate_webhooks::NAMES.contains(&name), "{name}"),
            None => assert!(entry.note.len() > 20, "{}: says why not", entry.id),
        }
    }
}

/// J1: a signature on the published body with any other secret is refused, for every vector that is accepted.
#[test]
fn no_vector_is_accepted_with_another_secret() {
    let Some(list) = list() else { return };
    let mut looked = 0;
    for scheme in list.as_array().unwrap() {
        for vector in scheme["vectors"].as_array().unwrap() {
            let case = Case { id: text(&scheme["id"]), name: text(&vector["name"]), vector, scheme };
            let symmetric = vector["secret"].is_string() && !vector["headers"].is_null();
            if !symmetric || !case.expect().starts_with("accept") {
                continue;
            }
            let secret = text(&vector["secret"]);
            let other = match secret.strip_prefix("whsec_").filter(|it| BASE64.decode(it.as_bytes()).is_ok()) {
                Some(_) => format!("whsec_{}", BASE64.encode(&[7; 32])),
                None => format!("{secret}x"),
            };
            let scheme = Scheme::from_config(&case.config()).unwrap();
            let secrets = Secrets::of_any_length(&scheme, [Credential::new(Secret::new(other))]).unwrap();
            assert!(case.sent().verdict(&scheme, &secrets, case.now()).is_err(), "{}", case.name);
            looked += 1;
        }
    }
    assert!(looked > 40, "{looked}");
}
