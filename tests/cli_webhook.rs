//! `jobgate webhook`, with the real program: deliveries are made and checked without any network.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Command, Output};

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
