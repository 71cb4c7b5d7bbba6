//! AWS Signature Version 4: the signature is over what is really sent (B4).
//!
//! The canonical request is put together here once more, from what arrived and from AWS's description ("Create a signed AWS API
//! request"), with nothing of the library that signs.

use jobgate_adapter_testkit::Request;
use ring::{digest, hmac};
use serde_json::{Value, json};

use super::{Desk, echo, header, job};
use crate::support::with;

const SECRETS: [(&str, &str); 3] =
    [("ID", "AKIDEXAMPLE"), ("KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), ("TOKEN", "session+token/1")];

fn words(session: bool) -> Value {
    let mut aws = json!({
        "service": "states", "region": "{{ settings.region }}", "access_key_id": "env:ID", "secret_access_key": "env:KEY",
    });
    if session {
        aws["session_token"] = json!("env:TOKEN");
    }
    json!({ "settings": { "region": "eu-west-1" }, "auth": { "aws_sigv4": aws } })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

/// Everything but unreserved characters, and slashes where they stay.
fn escaped(text: &str, keep: &str) -> String {
    let byte = |byte: u8| match char::from(byte) {
        c if c.is_ascii_alphanumeric() || "-._~".contains(c) || keep.contains(c) => c.to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// The signature that a request should have, for the headers that it says are signed.
fn wanted(request: &Request, signed: &str) -> String {
    let host = header(request, "host");
    let value = |name: &str| if name == "host" { host.clone() } else { header(request, name) };
    let headers: String = signed.split(';').map(|name| format!("{name}:{}\n", value(name).trim())).collect();
    let mut query: Vec<String> =
        request.url.query_pairs().map(|(name, value)| format!("{}={}", escaped(&name, ""), escaped(&value, ""))).collect();
    query.sort();
    // Every service but S3 wants the path escaped once more.
    let path = escaped(request.url.path(), "/");
    let canonical = format!("{}\n{path}\n{}\n{headers}\n{signed}\n{}", request.method, query.join("&"), sha256(&request.body));
    let date = header(request, "x-amz-date");
    let (day, _) = date.split_once('T').unwrap();
    let scope = format!("{day}/eu-west-1/states/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", sha256(canonical.as_bytes()));
    let key = mac(b"AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", day);
    let key = mac(&mac(&mac(&key, "eu-west-1"), "states"), "aws4_request");
    hex(&mac(&key, &text))
}

/// The parts of `Authorization`: the headers that are signed, and the signature.
fn parts(request: &Request) -> (String, String) {
    let sent = header(request, "authorization");
    let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260728/eu-west-1/states/aws4_request, SignedHeaders=";
    let (signed, signature) = sent.strip_prefix(start).unwrap_or_else(|| panic!("{sent}")).split_once(", Signature=").unwrap();
    (signed.to_owned(), signature.to_owned())
}

#[tokio::test]
async fn body_headers_query_and_path_are_signed_as_they_are_sent() {
    let section = with(|job| {
        job["submit"]["request"] = json!({
            "path": "/",
            "headers": { "X-Amz-Target": "AWSStepFunctions.StartExecution" },
            "content_type": "application/x-amz-json-1.0",
            "body": { "name": "{{ key }}", "input": "{{ args | to_json }}" },
        });
        job["status"]["request"] = json!({ "path": "/jobs/{{ 'a b:c' }}", "query": { "z": "1 2", "a": ["ü", "x+y"] } });
    });
    for session in [false, true] {
        let desk = Desk::with_job(|_| words(session), &SECRETS, section.clone(), job).await;
        desk.submit().await.unwrap();
        desk.poll().await.unwrap();
        for request in desk.requests().await {
            let (signed, signature) = parts(&request);
            assert_eq!(signature, wanted(&request, &signed), "{request:?}");
            for name in ["host", "x-amz-date"] {
                assert!(signed.split(';').any(|known| known == name), "{signed}");
            }
            assert_eq!(header(&request, "x-amz-date"), "20260728T120000Z");
            assert_eq!(header(&request, "x-amz-security-token"), if session { "session+token/1" } else { "" });
            assert_eq!(signed.contains("x-amz-security-token"), session);
            let submit = request.method.as_str() == "POST";
            assert_eq!(signed.contains("content-type") && signed.contains("x-amz-target"), submit, "{signed}");
        }
    }
}

/// S3 alone has the hash of the body in a header.
#[tokio::test]
async fn s3_is_signed_its_own_way() {
    let words = |_: &str| {
        let mut words = words(false);
        words["auth"]["aws_sigv4"]["service"] = json!("s3");
        words
    };
    let desk = Desk::new(words, &SECRETS, job).await;
    desk.submit().await.unwrap();
    let sent = &desk.requests().await[0];
    assert_eq!(header(sent, "x-amz-content-sha256"), sha256(&sent.body));
}

/// Neither keys nor the signature show anywhere (C10): the signature is good for minutes.
#[tokio::test]
async fn keys_and_signatures_show_nowhere() {
    let desk = Desk::new(|_| words(true), &SECRETS, echo).await;
    desk.poll().await.unwrap();
    let (_, signature) = parts(&desk.requests().await[0]);
    desk.keeps(&["session+token/1", "AKIDEXAMPLE", &signature]).await;
    assert!(!format!("{:?}", desk.adapter).contains("wJalrXUtnFEMI"));
}
