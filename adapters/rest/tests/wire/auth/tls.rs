//! Certificates of one's own: an authority that the machine does not know, and a client that shows who it is (B5).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use jobgate_adapter_api::{Adapter, AdapterError, ErrorKind, JobRef, Observation};
use jobgate_adapter_testkit::{Request, ResponseTemplate};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::{Desk, built, job};
use crate::support::{call, least, with};

/// Heads of requests, each with the number of certificates that its client showed.
type Seen = Arc<Mutex<Vec<(String, usize)>>>;

/// A certificate and its key, each a PEM.
struct Pair {
    certificate: String,
    key: String,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn issued(by: &CertifiedIssuer<'static, KeyPair>, name: &str, usage: ExtendedKeyUsagePurpose) -> Pair {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.extended_key_usages = vec![usage];
    let certificate = params.signed_by(&key, by).unwrap().pem();
    Pair { certificate, key: key.serialize_pem() }
}

/// A job API behind TLS, where every job is done; what it was sent, and how many certificates its clients showed. It takes a client without
/// a certificate unless it is `strict`.
#[expect(clippy::disallowed_methods, reason = "the server ends with the test's runtime")]
async fn serve(ca: &CertifiedIssuer<'static, KeyPair>, server: &Pair, strict: bool) -> (SocketAddr, Seen) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let verifier = if strict { verifier } else { verifier.allow_unauthenticated() }.build().unwrap();
    let chain = vec![CertificateDer::from_pem_slice(server.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_client_cert_verifier(verifier).with_single_cert(chain, key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen_by_all = Seen::default();
    let log = Arc::clone(&seen_by_all);
    tokio::task::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut seen = Vec::new();
            while !seen.ends_with(b"\r\n\r\n") && stream.read_buf(&mut seen).await.is_ok_and(|read| read > 0) {}
            let shown = stream.get_ref().1.peer_certificates().map_or(0, <[_]>::len);
            log.lock().unwrap().push((String::from_utf8(seen).unwrap().to_ascii_lowercase(), shown));
            let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\nConnection: close\r\n\r\n{\"status\":\"done\"}";
            stream.write_all(answer.as_bytes()).await.ok();
            stream.shutdown().await.ok();
        }
    });
    (address, seen_by_all)
}

async fn look(adapter: &dyn Adapter) -> Result<Observation, AdapterError> {
    adapter.poll(&call(), &JobRef::new("1")).await
}

fn provider(address: SocketAddr, tls: &Value) -> Value {
    json!({ "base_url": format!("https://localhost:{}", address.port()), "tls": tls })
}

#[tokio::test]
async fn an_authority_and_a_client_of_ones_own_are_used() {
    let (ca, other) = (authority("ours.example"), authority("others.example"));
    let server = issued(&ca, "localhost", ExtendedKeyUsagePurpose::ServerAuth);
    let client = issued(&ca, "gateway.example", ExtendedKeyUsagePurpose::ClientAuth);
    let stranger = issued(&other, "gateway.example", ExtendedKeyUsagePurpose::ClientAuth);
    let (address, seen) = serve(&ca, &server, true).await;
    let (ours, others) = (ca.pem(), other.pem());
    let secrets = [
        ("CA", ours.as_str()),
        ("OTHER", others.as_str()),
        ("CERT", client.certificate.as_str()),
        ("KEY", client.key.as_str()),
        ("STRANGER", stranger.certificate.as_str()),
        ("STRANGER_KEY", stranger.key.as_str()),
    ];
    let deps = Desk::new(|_| json!({}), &[], job).await.deps(&secrets);
    let adapter = |tls: Value| built(provider(address, &tls), least(), &deps).unwrap();

    let good = adapter(json!({ "ca": "env:CA", "client_certificate": "env:CERT", "client_key": "env:KEY" }));
    look(good.as_ref()).await.unwrap();
    assert_eq!(seen.lock().unwrap().first().map(|(_, shown)| *shown), Some(1));
    let shown = format!("{good:?}");
    assert!(!shown.contains("PRIVATE") && !shown.contains(client.key.lines().nth(1).unwrap()), "{shown}");

    for (tls, why) in [
        (
            json!({ "client_certificate": "env:CERT", "client_key": "env:KEY" }),
            "the machine does not know the server's authority",
        ),
        (json!({ "ca": "env:OTHER", "client_certificate": "env:CERT", "client_key": "env:KEY" }), "another authority"),
        (json!({ "ca": "env:CA" }), "no client's certificate"),
        (
            json!({ "ca": "env:CA", "client_certificate": "env:STRANGER", "client_key": "env:STRANGER_KEY" }),
            "a stranger's certificate",
        ),
    ] {
        let error = look(adapter(tls).as_ref()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{why}: {error}");
    }
}

/// B6, F4: a redirect to another origin is followed without credentials, headers and certificate of ours, whatever `auth` is.
#[tokio::test]
async fn nothing_of_us_is_shown_elsewhere() {
    let ca = authority("ours.example");
    let server = issued(&ca, "localhost", ExtendedKeyUsagePurpose::ServerAuth);
    let client = issued(&ca, "gateway.example", ExtendedKeyUsagePurpose::ClientAuth);
    let (address, seen) = serve(&ca, &server, false).await;
    let authority = ca.pem();
    let secrets = [
        ("CA", authority.as_str()),
        ("CERT", client.certificate.as_str()),
        ("KEY", client.key.as_str()),
        ("S", "secret-in-a-place"),
    ];
    for auth in [
        json!({ "bearer": "env:S" }),
        json!({ "headers": { "X-A": "env:S" } }),
        json!({ "query": { "name": "code", "value": "env:S" } }),
        json!({ "jwt": { "issuer": "me", "key": "env:S", "algorithm": "HS256" } }),
        json!({ "aws_sigv4": { "service": "s3", "region": "r", "access_key_id": "env:S", "secret_access_key": "env:S", "session_token": "env:S" } }),
    ] {
        let words = |_: &str| {
            let tls = json!({ "ca": "env:CA", "client_certificate": "env:CERT", "client_key": "env:KEY" });
            json!({ "auth": auth, "tls": tls, "headers": { "X-Own": "own-header" } })
        };
        let to = format!("https://localhost:{}/file?signature=1", address.port());
        let origin = format!("https://localhost:{}", address.port());
        let section = with(|job| job["status"]["request"] = json!({ "path": "/jobs/1", "follow": { "origins": [origin] } }));
        let api = move |_: &Request| ResponseTemplate::new(302).insert_header("Location", to.as_str());
        let desk = Desk::with_job(words, &secrets, section, api).await;
        desk.poll().await.unwrap();
        let (head, shown) = seen.lock().unwrap().pop().unwrap();
        assert!(head.starts_with("get /file?signature=1 http/1.1\r\n") && shown == 0, "{shown} {head}");
        for ours in ["authorization", "secret-in-a-place", "x-a:", "x-own", "x-amz", "code="] {
            assert!(!head.contains(ours), "{ours} in {head}");
        }
        assert!(desk.requests().await.iter().any(|request| super::everything(request).contains("own-header")));
    }
}

/// F4: a redirect leads to the public internet, to the provider's own addresses, or to an origin that is written out; never to what stands
/// beside the gateway.
#[tokio::test]
async fn a_redirect_does_not_lead_inside() {
    let ca = authority("ours.example");
    let server = issued(&ca, "localhost", ExtendedKeyUsagePurpose::ServerAuth);
    let (address, seen) = serve(&ca, &server, false).await;
    let authority = ca.pem();
    let port = address.port();
    for (follow, to, wanted) in [
        (json!(true), format!("https://localhost:{port}/x"), "not one of the public internet"),
        (json!(true), format!("https://127.0.0.1:{port}/x"), "not one of the public internet"),
        (json!(true), "https://169.254.169.254/latest/meta-data".to_owned(), "not one of the public internet"),
        (json!(true), "https://[::ffff:10.0.0.1]/x".to_owned(), "not one of the public internet"),
        (json!(true), format!("http://localhost:{port}/x"), "not https"),
        (json!({ "origins": ["https://files.example.com"] }), format!("https://localhost:{port}/x"), "does not follow to"),
        (json!({ "origins": [format!("http://localhost:{port}")] }), format!("https://localhost:{port}/x"), "does not follow to"),
        (json!({ "origins": ["https://*.localhost"] }), format!("https://a.localhost:{port}/x"), "does not follow to"),
    ] {
        let section = with(|job| job["status"]["request"] = json!({ "path": "/jobs/1", "follow": follow }));
        let shown = to.clone();
        let api = move |_: &Request| ResponseTemplate::new(302).insert_header("Location", to.as_str());
        let words = |_: &str| json!({ "tls": { "ca": "env:CA" } });
        let desk = Desk::with_job(words, &[("CA", authority.as_str())], section, api).await;
        let error = desk.poll().await.unwrap_err();
        assert!(error.to_string().contains(wanted), "{shown}: {error}");
    }
    assert!(seen.lock().unwrap().is_empty(), "nothing came");
}

/// What cannot be used is said when the adapter is built, and is not repeated.
#[tokio::test]
async fn certificates_that_cannot_be_used_are_named_and_not_shown() {
    let ca = authority("ours.example");
    let one = issued(&ca, "a.example", ExtendedKeyUsagePurpose::ClientAuth);
    let two = issued(&ca, "b.example", ExtendedKeyUsagePurpose::ClientAuth);
    let secrets = [("CERT", one.certificate.as_str()), ("KEY", two.key.as_str()), ("NONE", "hunter2-hunter2")];
    let deps = Desk::new(|_| json!({}), &[], job).await.deps(&secrets);
    for (tls, wanted) in [
        (json!({ "ca": "env:NONE" }), "the authorities are no PEM with certificates"),
        (json!({ "client_certificate": "env:CERT", "client_key": "env:NONE" }), "no PEM with a certificate and a private key"),
        (json!({ "client_certificate": "env:CERT", "client_key": "env:KEY" }), "does not belong to its certificate"),
    ] {
        let refused = built(provider(SocketAddr::from(([127, 0, 0, 1], 9)), &tls), least(), &deps).unwrap_err();
        assert!(refused.starts_with("providers.kit.tls: ") && refused.contains(wanted), "{refused}");
        assert!(!refused.contains("hunter2") && !refused.contains(two.key.lines().nth(1).unwrap()));
    }
}
