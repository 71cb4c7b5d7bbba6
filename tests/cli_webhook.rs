//! `jobgate webhook`, with the real program: deliveries are made, checked and sent, and those that could not be used are looked after.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use jobgate::domain::{ProviderName, SystemClock, Timestamp};
use jobgate::store::sled::{SledOptions, SledStore};
use jobgate::store::{DeadLetter, DeliveryId, Intake, Taken, TaskStore as _};
use jobgate_test_support::gateway::Setup;
use jobgate_webhooks::{AddressToken, Credential, Request, Scheme, Secret, Secrets, verify};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const BODY: &str = r#"{"id":"evt_1","status":"completed"}"#;
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const NOW: &str = "1800000000";

fn jobgate(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jobgate"));
    command.arg("webhook").args(words).current_dir(folder).env_clear().env("WEBHOOK_SECRET", SECRET);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("body.json"), BODY).unwrap();
    folder
}

/// Signs, and gives what was printed.
fn signed(folder: &Path, scheme: &str, more: &[&str]) -> String {
    let words = ["sign", "--scheme", scheme, "--at", NOW, "--id", "msg_1", "body.json"];
    let output = jobgate(folder, &[&words[..], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Verifies at `at`, and gives exit code and what was printed.
fn verified(folder: &Path, scheme: &str, at: &str, more: &[&str]) -> (i32, String) {
    let words = ["verify", "--scheme", scheme, "--at", at, "--headers", "headers.txt", "body.json"];
    let output = jobgate(folder, &[&words[..], more].concat());
    (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
}

/// J1, J2: what is signed is accepted; later, changed or with another secret it is refused, with the rule.
#[test]
fn a_delivery_is_made_and_checked() {
    let folder = folder();
    let secret = ["--secret-env", "WEBHOOK_SECRET"];
    let headers = signed(folder.path(), "standard_webhooks", &secret);
    assert!(headers.starts_with("webhook-id: msg_1\nwebhook-timestamp: 1800000000\nwebhook-signature: v1,"), "{headers}");
    std::fs::write(folder.path().join("headers.txt"), format!("POST /hooks HTTP/1.1\r\nHost: x\r\n{headers}")).unwrap();

    let (code, said) = verified(folder.path(), "standard_webhooks", "1800000300", &secret);
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("accepted\nbody and moment are signed") && said.contains("sent at 1800000000"), "{said}");
    let (code, said) = verified(folder.path(), "standard_webhooks", "1800000301", &secret);
    assert_eq!((code, said.starts_with("refused (too_old): ")), (1, true), "{said}");
    let (code, said) = verified(folder.path(), "svix", NOW, &secret);
    assert_eq!((code, said.starts_with("refused (missing): ")), (1, true), "{said}");
    std::fs::write(folder.path().join("body.json"), BODY.replace("completed", "failed")).unwrap();
    let (code, said) = verified(folder.path(), "standard_webhooks", NOW, &secret);
    assert_eq!((code, said.starts_with("refused (signature): ")), (1, true), "{said}");
    assert!(!said.contains("AAECAwQF"), "no secret in {said}");
}

/// J1: two secrets make a rotation; hints say that they are hints.
#[test]
fn a_rotation_and_a_hint() {
    let folder = folder();
    std::fs::write(folder.path().join("old.txt"), "the old secret, long enough\n").unwrap();
    std::fs::write(folder.path().join("new.txt"), "the new secret, long enough\n").unwrap();
    let headers = signed(folder.path(), "github", &["--secret-file", "old.txt"]);
    std::fs::write(folder.path().join("headers.txt"), headers).unwrap();
    let both = ["--secret-file", "new.txt", "--secret-file", "old.txt"];
    let (code, said) = verified(folder.path(), "github", NOW, &both);
    assert!(code == 0 && said.contains("take it as a hint"), "{said}");
    let (code, _) = verified(folder.path(), "github", NOW, &["--secret-file", "new.txt"]);
    assert_eq!(code, 1);
}

/// SNS signs in the body, and is checked with the certificate that the message names.
#[test]
fn a_message_that_carries_its_signature() {
    let folder = folder();
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/webhooks/tests/fixtures");
    let key = format!("{fixtures}/rsa_private.pem");
    let topic = ["--with", "topic_arn=arn:aws:sns:eu-central-1:123456789012:jobs", "--secret-file", &key];
    let words = ["sign", "--scheme", "aws_sns", "--at", NOW, "body.json"];
    let output = jobgate(folder.path(), &[&words[..], &topic].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--body-out"), "{}", text(&output.stderr));
    let headers = signed(folder.path(), "aws_sns", &[&topic[..], &["--body-out", "signed.json"]].concat());
    std::fs::write(folder.path().join("headers.txt"), headers).unwrap();
    std::fs::copy(folder.path().join("signed.json"), folder.path().join("body.json")).unwrap();
    let certificate = format!("{fixtures}/rsa_certificate.pem");
    let (code, said) = verified(folder.path(), "aws_sns", NOW, &[&topic[..2], &["--certificate", &certificate]].concat());
    assert!(code == 0 && said.contains("accepted"), "{said}");
    let (code, said) = verified(folder.path(), "aws_sns", NOW, &topic[..2]);
    assert_eq!((code, said.starts_with("refused (keys_unavailable): ")), (1, true), "{said}");
}

/// L4: what is wrong is said with a right example, and exit code 2.
#[test]
fn wrong_words_are_told() {
    let folder = folder();
    std::fs::write(folder.path().join("short.txt"), "hunter2").unwrap();
    std::fs::write(folder.path().join("headers.txt"), "").unwrap();
    let secret = ["--secret-env", "WEBHOOK_SECRET"];
    let cases: [(&[&str], &str); 6] = [
        (&["sign", "--scheme", "strype", "body.json"], "there is no scheme `strype`"),
        (&["sign", "--scheme", "github", "body.json"], "--secret-env"),
        (
            &["verify", "--scheme", "github", "--headers", "headers.txt", "--secret-file", "short.txt", "body.json"],
            "needs at least 16",
        ),
        (&["verify", "--scheme", "aws_sns", "--headers", "headers.txt", "body.json"], "topic_arn: arn:aws:sns:"),
        (
            &["sign", "--scheme", "hmac", "--with", "signature_header=X-S", "--with", "timestamp_header=X-T", "body.json"],
            "writes a fresh one",
        ),
        (&["sign", "--scheme", "github", "--with", "tolerence=5", "body.json"], "tolerence"),
    ];
    for (words, reason) in cases {
        let more: &[&str] = if reason.starts_with("--secret") || words.contains(&"--secret-file") { &[] } else { &secret };
        let output = jobgate(folder.path(), &[words, more].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(reason) && !said.contains("hunter2"), "{words:?}: {said}");
    }
}

const PROVIDERS: &str = "
server: { public_url: 'http://127.0.0.1:PORT/gate' }
providers:
  signed:
    adapter: rest
    base_url: https://jobs.example.com
    webhook: { scheme: standard_webhooks, secret: [{ secret: env:OLD_SECRET, until: 2026-01-01T00:00:00Z }, env:WEBHOOK_SECRET] }
    delivery: { job: '{{ body.id }}' }
  unsigned:
    adapter: rest
    base_url: https://jobs.example.com
    webhook: { scheme: none, token: env:WEBHOOK_TOKEN }
    delivery: { job: '{{ body.id }}' }
tools:
  render:
    provider: signed
    description: Renders.
    job:
      submit: { request: { method: POST, path: /jobs }, job: { id: '{{ body.id }}' } }
      status:
        request: { path: '/jobs/{{ job.id }}' }
        rules: [{ when: \"body.state == 'done'\", state: succeeded }, { when: \"body.state == 'failed'\", state: failed }]
";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Runs the program where it does not hold up the server beside it.
async fn running(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let (folder, words) = (folder.to_owned(), words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    let work = move || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobgate"));
        command.args(words).current_dir(folder).env_clear();
        command.env("WEBHOOK_SECRET", SECRET).env("WEBHOOK_TOKEN", TOKEN).output().unwrap()
    };
    let output = tokio::task::spawn_blocking(work).await.unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A provider's delivery is sent with what the configuration says: its address, its scheme, the secret that is valid now; and the answer
/// decides how the command ends. Neither secret nor token is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_sent_as_the_configuration_says() {
    let folder = folder();
    let server = MockServer::start().await;
    let answers = [("/gate/hooks/signed", 200), ("/refused", 401), (&format!("/gate/hooks/unsigned/{TOKEN}"), 200)];
    for (address, status) in answers {
        let answer = ResponseTemplate::new(status).set_body_string(if status == 401 { "no\u{1b}[2J" } else { "" });
        Mock::given(method("POST")).and(path(address)).respond_with(answer).mount(&server).await;
    }
    let config = PROVIDERS.replace("PORT", &server.address().port().to_string());
    std::fs::write(folder.path().join("jobgate.yaml"), config).unwrap();

    let send = ["webhook", "send", "body.json", "--provider"];
    let (code, said, told) = running(folder.path(), &[&send[..], &["signed"]].concat()).await;
    assert_eq!((code, said.as_str()), (Some(0), "HTTP 200\n"), "{told}");
    let requests = server.received_requests().await.unwrap();
    let headers: Vec<(&str, &[u8])> = requests[0].headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let scheme = Scheme::named("standard_webhooks").unwrap();
    let secrets = Secrets::new(&scheme, [Credential::new(Secret::new(SECRET))]).unwrap();
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap();
    let seen = Request { method: "POST", url: "https://gateway.example.com/", headers: &headers, body: &requests[0].body };
    let first = verify(&scheme, &secrets, &seen, now).unwrap().replay_id();
    assert_eq!(
        (&*requests[0].body, requests[0].headers["content-type"].to_str().unwrap()),
        (BODY.as_bytes(), "application/json")
    );

    let other = format!("{}/refused", server.uri());
    let (code, said, told) = running(folder.path(), &[&send[..], &["signed", "--to", &other]].concat()).await;
    assert_eq!((code, said.as_str()), (Some(1), "HTTP 401\nno\\u{1b}[2J\n"), "{told}");
    assert!(told.contains("address, scheme or secret do not fit"), "{told}");
    let requests = server.received_requests().await.unwrap();
    let headers: Vec<(&str, &[u8])> = requests[1].headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    let seen = Request { headers: &headers, body: &requests[1].body, ..seen };
    assert_ne!(verify(&scheme, &secrets, &seen, now).unwrap().replay_id(), first, "each is a delivery of its own");

    let (code, said, told) = running(folder.path(), &[&send[..], &["unsigned", "--output", "json"]].concat()).await;
    assert_eq!((code, said.as_str()), (Some(0), "{\"status\":200,\"body\":\"\"}\n"), "{told}");
    assert!(!format!("{said}{told}").contains(TOKEN), "{said}{told}");

    // Without a configuration, all of it is said.
    let said = ["webhook", "send", "body.json", "--scheme", "svix", "--secret-env", "WEBHOOK_SECRET", "--to"];
    assert_eq!(running(folder.path(), &[&said[..], &[&other]].concat()).await.0, Some(1));
    let (code, said, told) = running(folder.path(), &[&said[..], &["http://127.0.0.1:1/hooks/x"]].concat()).await;
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert!(told.contains("no answer came"), "{told}");
    for (words, reason) in [
        (&["--provider", "sined"][..], "providers: signed, unsigned"),
        (&["--scheme", "github", "--to", "http://127.0.0.1:1/"], "there is no secret to sign with"),
        (&["--scheme", "none"], "--to"),
        (&["--to", "http://127.0.0.1:1/"], "--scheme"),
    ] {
        let (code, _, told) = running(folder.path(), &[&["webhook", "send", "body.json"], words].concat()).await;
        assert!(code == Some(2) && told.contains(reason), "{words:?}: {told}");
    }
}

/// L4: `check` says what to give to a provider, and shows no token.
#[tokio::test(flavor = "multi_thread")]
async fn check_says_where_providers_deliver() {
    let folder = folder();
    std::fs::write(folder.path().join("jobgate.yaml"), PROVIDERS.replace("127.0.0.1:PORT", "gateway.example.com")).unwrap();
    let (code, said, told) = running(folder.path(), &["check"]).await;
    assert_eq!(code, Some(0), "{told}");
    let expected = "jobgate.yaml: fine: 2 providers and 1 tool
signed delivers to http://gateway.example.com/gate/hooks/signed
unsigned delivers to http://gateway.example.com/gate/hooks/unsigned/TOKEN, where TOKEN is the value of env:WEBHOOK_TOKEN
";
    assert_eq!(said, expected);
}

/// A store with `count` dead letters; gives their ids, newest first.
async fn with_dead_letters(folder: &Path, count: u8) -> Vec<String> {
    let store = SledStore::open(SledOptions::new(folder.join("jobgate-data")), Arc::new(SystemClock)).unwrap().store;
    let mut ids = Vec::new();
    for number in 1..=count {
        let secret = Secret::new("0123456789abcdef");
        let token = AddressToken::new(&secret).unwrap().open("0123456789abcdef").unwrap();
        let body = format!("{{\"job\":{number}}}\u{1b}[2J");
        let seen = Request { method: "POST", url: "https://gateway.example.com/", headers: &[], body: body.as_bytes() };
        let kept = token.unsigned(&seen).unwrap().keep();
        let (id, at) = (DeliveryId::new([number; 32]), Timestamp::from_millis(i64::from(number) * 1000));
        let reason = "no field `state`".to_owned();
        let dead = DeadLetter { id, provider: ProviderName::new("signed"), task: None, at, reason, kept };
        let (commits, parked) = (Vec::new(), Vec::new());
        let keep_until = Timestamp::from_millis(i64::MAX / 2);
        let intake = Intake { id, body_hash: [0; 32], at, keep_until, redriven: false, commits, parked, dead: Some(dead) };
        assert!(matches!(store.take(intake).await.unwrap(), Taken::First(_)));
        ids.insert(0, id.to_string());
    }
    store.close().await.unwrap();
    ids
}

/// Dead letters are listed, shown and dropped: on the store itself, and through a gateway that runs on it.
#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_looked_after() {
    let folder = folder();
    let ids = with_dead_letters(folder.path(), 4).await;
    let dead = async |words: &[&str]| running(folder.path(), &[&["webhook", "dead"], words].concat()).await;
    let (code, said, told) = dead(&["list", "--limit", "2"]).await;
    assert_eq!((code, said.lines().count()), (Some(0), 2), "{told}");
    assert_eq!(said.lines().next().unwrap(), format!("{}  1970-01-01T00:00:04.000Z  signed  no field `state`", ids[0]));
    let (_, said, told) = dead(&["redrive", &ids[0]]).await;
    assert!(said.is_empty() && told.contains("no gateway runs on this data folder"), "{said}{told}");
    assert_eq!(dead(&["drop", &ids[3]]).await, (Some(0), "dropped 1\n".to_owned(), String::new()));

    let setup = Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path());
    let gateway = setup.start().await;
    let (code, said, told) = dead(&["list", "--output", "json"]).await;
    let listed: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, listed.as_array().unwrap().len()), (Some(0), 3), "{told}");
    assert_eq!((&listed[2]["id"], &listed[2]["size"]), (&json!(ids[2]), &json!(13)));
    assert!(listed[0]["body"].is_null(), "bodies are shown one by one: {said}");
    let (code, said, told) = dead(&["show", &ids[1]]).await;
    assert!(code == Some(0) && said.contains("reason    no field `state`\n"), "{said}{told}");
    assert!(said.ends_with("{\"job\":3}\u{fffd}[2J\n"), "what a stranger wrote is shown as text: {said:?}");
    assert_eq!(dead(&["drop", &ids[1], &ids[2]]).await.1, "dropped 2\n");
    let (code, said, _) = dead(&["drop", &ids[1]]).await;
    assert_eq!((code, said.as_str()), (Some(1), "dropped 0\n"));
    let (code, _, told) = dead(&["show", "12ab"]).await;
    assert!(code == Some(1) && told.contains("64 hexadecimal digits"), "{told}");
    let (_, _, told) = dead(&["redrive", &ids[1]]).await;
    assert!(told.contains("there is no dead letter"), "{told}");
    gateway.kill();
}

/// What is sent arrives at a gateway that runs; what it cannot read is laid aside, can be tried again, and stays while it is no better.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_is_taken_by_a_gateway() {
    let folder = folder();
    let setup =
        Setup::new(env!("CARGO_BIN_EXE_jobgate"), folder.path()).env("WEBHOOK_SECRET", SECRET).env("WEBHOOK_TOKEN", TOKEN);
    let config = PROVIDERS.replace("PORT/gate", &setup.port().to_string());
    std::fs::write(folder.path().join("jobgate.yaml"), config.replace("env:OLD_SECRET", "env:WEBHOOK_SECRET")).unwrap();
    std::fs::write(folder.path().join("broken.json"), r#"{"id":"#).unwrap();
    std::fs::write(folder.path().join("other.txt"), "whsec_BBECAwQFBgcICQoLDA0ODxAREhMUFRYX").unwrap();
    let gateway = setup.start().await;
    let send = async |words: &[&str]| {
        let (code, said, told) = running(folder.path(), &[&["webhook", "send"], words].concat()).await;
        (code, said.lines().next().map(str::to_owned), told)
    };
    for (words, status, code) in [
        (&["--provider", "signed", "body.json", "--id", "msg_1"][..], 200, 0),
        (&["--provider", "signed", "body.json", "--id", "msg_1"], 200, 0),
        (&["--provider", "unsigned", "body.json"], 200, 0),
        (&["--provider", "signed", "body.json", "--secret-file", "other.txt"], 401, 1),
        (&["--provider", "signed", "broken.json"], 400, 1),
    ] {
        let (ended, said, told) = send(words).await;
        assert_eq!((ended, said), (Some(code), Some(format!("HTTP {status}"))), "{words:?}: {told}");
    }
    let (_, said, told) = running(folder.path(), &["webhook", "dead", "list"]).await;
    let [line] = said.lines().collect::<Vec<_>>()[..] else { panic!("one could not be read: {said}{told}") };
    assert!(line.contains("  signed  "), "{line}");
    let id = line.split_once(' ').unwrap().0;
    let (code, _, told) = running(folder.path(), &["webhook", "dead", "redrive", id]).await;
    assert!(code == Some(1) && told.contains("still cannot be used, and stays"), "{told}");
    let (_, said, _) = running(folder.path(), &["webhook", "dead", "show", id]).await;
    assert!(said.ends_with("{\"id\":\n"), "{said}");
    gateway.kill();
}
