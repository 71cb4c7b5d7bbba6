//! `jobgate webhook sign` and `jobgate webhook verify`: a delivery made or checked without any network, with a route's own words; `send`
//! delivers one.

mod send;

use std::path::Path;
use std::sync::Arc;

use jobgate_adapter_api::{Clock, EnvAndFiles, SecretRef, SecretSource as _};
use jobgate_webhooks::{
    CertificateUrl, Certificates, Credential, KeySet, Outgoing, Problem, Purpose, Request, Scheme, SchemeConfig, Secret, Secrets,
    Verified,
};
use serde_json::{Map, Value};

pub(super) use self::send::send;
use super::args::{WebhookRouteArgs, WebhookSignArgs, WebhookVerifyArgs};
use super::out::{Ended, Failure, code, note, result};

/// Prints the headers of a delivery to stdout, and to stderr what else changes.
pub(super) fn sign(args: &WebhookSignArgs, clock: &dyn Clock) -> Ended {
    let route = &args.route;
    let scheme = scheme(&route.scheme, &route.with)?;
    let secrets = secrets_of(route)?;
    let [secret] = secrets.as_slice() else {
        return Err(Failure::usage("a delivery is signed with one secret").hint("for example `--secret-env WEBHOOK_SECRET`"));
    };
    let body = read(&route.body)?;
    let out = Outgoing { url: &route.url, id: &args.id, body: &body };
    let signed = jobgate_webhooks::sign(&scheme, secret, &out, at(route, clock))
        .map_err(|problem| Failure::usage(format!("nothing was signed: {problem}")))?;
    match &args.body_out {
        Some(file) => std::fs::write(file, &signed.body)
            .map_err(|error| Failure::new(format!("{} cannot be written: {error}", file.display())))?,
        None if signed.body != body => {
            let why = format!("`{}` puts the signature into the body", route.scheme);
            return Err(Failure::usage(why).hint("say where to write it, for example `--body-out signed.json`"));
        }
        None => {}
    }
    for (name, value) in &signed.headers {
        result(format!("{name}: {value}"));
    }
    if signed.url != route.url {
        note(format!("send it to {}", signed.url));
    }
    Ok(0)
}

/// Says on stdout whether a captured delivery is accepted; exit code 1 when it is not.
pub(super) fn verify(args: &WebhookVerifyArgs, clock: &dyn Clock) -> Ended {
    let route = &args.route;
    let scheme = scheme(&route.scheme, &route.with)?;
    let credentials = secrets_of(route)?.into_iter().map(Credential::new);
    let mut secrets = Secrets::new(&scheme, credentials)
        .map_err(|problem| Failure::usage(format!("the secret: {problem}")).hint("for example `--secret-env WEBHOOK_SECRET`"))?;
    if let Some(file) = &args.key_set {
        let keys = KeySet::from_jwks(&read(file)?).map_err(|problem| Failure::usage(format!("{}: {problem}", file.display())))?;
        secrets = secrets.with_key_set(keys);
    }
    if let Some(file) = &args.certificate {
        secrets = secrets.with_certificates(Arc::new(OneFile(read(file)?)));
    }
    let headers = headers(&args.headers)?;
    let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    let body = read(&route.body)?;
    let request = Request { method: "POST", url: &route.url, headers: &headers, body: &body };
    match jobgate_webhooks::verify(&scheme, &secrets, &request, at(route, clock)) {
        Ok(verified) => {
            accepted(&verified);
            Ok(0)
        }
        Err(refusal) => {
            result(format!("refused ({}): {refusal}", refusal.label()));
            Ok(code::ERROR)
        }
    }
}

fn accepted(verified: &Verified<'_>) {
    result("accepted");
    let binds = verified.binds();
    let trust = match (binds.body, binds.time) {
        (true, true) => "body and moment are signed: it may be taken as data",
        (true, false) => "the body is signed, the moment is not: take it as a hint",
        (false, _) => "the body is not signed: take it as a hint",
    };
    result(trust);
    if let Some(moment) = verified.sent_at() {
        result(format!("sent at {moment}"));
    }
    if let Purpose::Confirm { url } = verified.purpose() {
        result(format!("asks for a confirmation: GET {url}"));
    }
    result(format!("replay id {}", verified.replay_id()));
}

/// The certificate that a person fetched, whatever the message calls it; its address was checked before.
struct OneFile(Vec<u8>);

impl Certificates for OneFile {
    fn pem(&self, _: &CertificateUrl) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

fn at(route: &WebhookRouteArgs, clock: &dyn Clock) -> i64 {
    route.at.unwrap_or_else(|| clock.now().as_millis().div_euclid(1000))
}

/// The scheme that the words make, or all that is wrong with them.
fn scheme(name: &str, with: &[String]) -> Result<Scheme, Failure> {
    let mut words = Map::new();
    words.insert("scheme".to_owned(), Value::from(name));
    for word in with {
        let Some((name, value)) = word.split_once('=') else {
            return Err(Failure::usage(format!("--with {word}: is not WORD=VALUE")).hint("for example `--with tolerance=60`"));
        };
        words.insert(name.to_owned(), typed(name, value));
    }
    let config: SchemeConfig =
        serde_json::from_value(Value::Object(words)).map_err(|error| Failure::usage(format!("--with: {error}")))?;
    Scheme::from_config(&config).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
        Failure::usage(lines.join("\n"))
    })
}

/// The value of a word in the type that the word has.
fn typed(name: &str, value: &str) -> Value {
    match name {
        "tolerance" | "rate" | "allow_sha1" => serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)),
        "origins" | "components" => value.split(',').map(Value::from).collect(),
        _ => Value::from(value),
    }
}

fn secrets_of(route: &WebhookRouteArgs) -> Result<Vec<Secret>, Failure> {
    let named = route.secret_env.iter().cloned().map(SecretRef::Env);
    let filed = route.secret_file.iter().cloned().map(SecretRef::File);
    named.chain(filed).map(|reference| secret(&reference)).collect()
}

fn secret(reference: &SecretRef) -> Result<Secret, Failure> {
    let secret = EnvAndFiles.read(reference).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Secret::new(secret.expose()))
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::usage(format!("{} cannot be read: {error}", file.display())))
}

/// `Name: value` lines, as `curl -D` or a log writes them; a first line of HTTP is skipped, and space around a value is dropped as HTTP does.
fn headers(file: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut found = Vec::new();
    for (number, line) in read(file)?.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let first = number == 0 && line.windows(5).any(|it| it == b"HTTP/");
        if line.is_empty() || first {
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').filter(|at| *at > 0).ok_or_else(|| {
            Failure::usage(format!("{}:{}: is no header", file.display(), number + 1)).hint("one looks like `webhook-id: msg_1`")
        })?;
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        found.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
    }
    Ok(found)
}
