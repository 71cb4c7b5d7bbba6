//! `jobgate webhook send`: one delivery, signed as the provider would, over the network.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use jobgate_adapter_api::{Operation, SecretRef, Transport, TransportLimits};
use jobgate_webhooks::{Outgoing, Scheme, Secret, Signed};
use serde_json::json;

use super::super::args::{Output, SourceArgs, WebhookSendArgs};
use super::super::gateway::{Chosen, choose, world};
use super::super::out::{Ended, Failure, code, note, result};
use super::{read, scheme, secret};
use crate::config::{Checked, CheckedWebhook, WebhookSecret};
use crate::domain::Timestamp;

/// The most bytes of an answer that are read: the gateway's own are short.
const MAX_ANSWER: usize = 64 * 1024;
/// How long an answer may take; the gateway's comes within three seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// The scheme of a provider that signs nothing.
const UNSIGNED: &str = "none";

/// What a delivery is made of beside its body.
struct Sender {
    scheme: Option<Scheme>,
    secret: Option<Secret>,
    /// Where it is delivered.
    to: String,
    /// What is signed of the address.
    url: String,
}

/// Signs, delivers, and prints the answer.
pub(in crate::cli) async fn send(args: &WebhookSendArgs) -> Ended {
    let world = world();
    let now = world.clock.now();
    let sender = match &args.provider {
        Some(provider) => configured(provider, args, now)?,
        None => said(args)?,
    };
    let body = read(&args.body)?;
    let id = args.id.clone().unwrap_or_else(|| {
        let mut bytes = [0; 12];
        world.random.fill(&mut bytes);
        format!("msg_{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    });
    let seconds = args.at.unwrap_or_else(|| now.as_millis().div_euclid(1000));
    let signed = match (&sender.scheme, &sender.secret) {
        (None, _) => Signed { headers: Vec::new(), url: sender.url.clone(), body },
        (Some(scheme), Some(secret)) => {
            jobgate_webhooks::sign(scheme, secret, &Outgoing { url: &sender.url, id: &id, body: &body }, seconds)
                .map_err(|problem| Failure::usage(format!("nothing was signed: {problem}")).hint(hint(scheme)))?
        }
        (Some(scheme), None) => {
            return Err(Failure::usage("there is no secret to sign with").hint(hint(scheme)));
        }
    };
    // Where the scheme adds to the address (Twilio), what it added is delivered, too.
    let added = signed.url.strip_prefix(sender.url.as_str()).unwrap_or_default();
    let mut request = Request::post(format!("{}{added}", sender.to)).header(header::CONTENT_TYPE, &args.content_type);
    for (name, value) in &signed.headers {
        request = request.header(name, value);
    }
    // The address may end in a token: it is not repeated.
    let request = request
        .body(Bytes::from(signed.body))
        .map_err(|error| Failure::usage(format!("the delivery cannot be made: {error}")).hint("is `--to` a whole address?"))?;
    let limits = TransportLimits { max_body_bytes: MAX_ANSWER, ..TransportLimits::default() };
    let transport = Transport::new(limits).map_err(Failure::new)?;
    let answer = transport.send(Operation::Read, request, PATIENCE).await.map_err(|error| {
        Failure::new(format!("no answer came: {}", error.message()))
            .hint("does the gateway run, and is this its address? `--to URL` names another")
    })?;
    let (status, text) = (answer.status(), String::from_utf8_lossy(answer.body()).into_owned());
    match args.output {
        Output::Text => {
            result(format!("HTTP {}", status.as_u16()));
            if !text.trim().is_empty() {
                result(text.trim().escape_debug().to_string());
            }
        }
        Output::Json | Output::Lines => result(json!({ "status": status.as_u16(), "body": text }).to_string()),
    }
    if status.is_success() {
        return Ok(0);
    }
    match status.as_u16() {
        401 => note(
            "  hint: address, scheme or secret do not fit; the gateway counts the reason in jobgate_webhook_deliveries_total",
        ),
        404 => note("  hint: the address is no webhook, or no task has this job and the provider says `unknown_jobs: refuse`"),
        _ => {}
    }
    Ok(code::ERROR)
}

fn hint(scheme: &Scheme) -> String {
    format!(
        "`{}` signs with a secret, a public-key scheme with the private key: for example `--secret-env WEBHOOK_SECRET`",
        scheme.name()
    )
}

/// All is on the command line.
fn said(args: &WebhookSendArgs) -> Result<Sender, Failure> {
    let name = args.scheme.as_deref().unwrap_or(UNSIGNED);
    let scheme = if name == UNSIGNED { None } else { Some(scheme(name, &args.with)?) };
    let to = args
        .to
        .clone()
        .ok_or_else(|| Failure::usage("--to is missing").hint("for example `--to http://127.0.0.1:8080/hooks/render`"))?;
    let url = args.url.clone().unwrap_or_else(|| to.clone());
    Ok(Sender { scheme, secret: given(args)?, to, url })
}

/// The secret that the command line names.
fn given(args: &WebhookSendArgs) -> Result<Option<Secret>, Failure> {
    let env = args.secret_env.clone().map(SecretRef::Env);
    env.or_else(|| args.secret_file.clone().map(SecretRef::File)).as_ref().map(secret).transpose()
}

/// The configuration says scheme, secret and address.
fn configured(provider: &str, args: &WebhookSendArgs, now: Timestamp) -> Result<Sender, Failure> {
    let Chosen { source, .. } = choose(&SourceArgs { config: args.config.clone(), data: None })?;
    let Checked { server, providers, .. } = &source.checked;
    let Some(found) = providers.iter().find(|it| it.name.as_str() == provider) else {
        let names: Vec<&str> = providers.iter().map(|it| it.name.as_str()).collect();
        return Err(Failure::usage(format!("there is no provider `{provider}`")).hint(format!("providers: {}", names.join(", "))));
    };
    let Some(webhook) = &found.webhook else {
        return Err(Failure::usage(format!("`{provider}` has no webhook")).hint("add one to its section: docs/webhooks.md"));
    };
    let secret = match given(args)? {
        Some(secret) => Some(secret),
        None => valid(&webhook.secrets, now).map(|valid| secret(&valid.named.reference)).transpose()?,
    };
    let path = path(provider, webhook)?;
    let address = |base: &str, path: &str| format!("{base}{path}");
    let to = match (&args.to, &path) {
        (Some(to), _) => to.clone(),
        (None, Some(path)) => {
            let local = format!("http://{}", server.listen);
            address(server.public_url.as_deref().unwrap_or(&local), path)
        }
        (None, None) => {
            return Err(Failure::usage(format!("`{provider}` takes deliveries at the address of a task alone"))
                .hint("name it with `--to URL`; the provider was given it by the submit"));
        }
    };
    let public = server.public_url.as_deref().zip(path.as_deref()).map(|(base, path)| address(base, path));
    let url = args.url.clone().or(public).unwrap_or_else(|| to.clone());
    Ok(Sender { scheme: webhook.scheme.clone(), secret, to, url })
}

/// The path of the whole provider's address, where it has one.
fn path(provider: &str, webhook: &CheckedWebhook) -> Result<Option<String>, Failure> {
    let token = match &webhook.token {
        Some(token) => {
            let value = jobgate_adapter_api::SecretSource::read(&jobgate_adapter_api::EnvAndFiles, &token.reference);
            Some(value.map_err(|error| Failure::usage(error.to_string()))?)
        }
        None if webhook.scheme.is_none() => return Ok(None),
        None => None,
    };
    let last = token.map(|token| format!("/{}", token.expose())).unwrap_or_default();
    Ok(Some(format!("/hooks/{provider}{last}")))
}

/// The first secret that is valid now.
fn valid(secrets: &[WebhookSecret], now: Timestamp) -> Option<&WebhookSecret> {
    secrets.iter().find(|secret| secret.from.is_none_or(|from| from <= now) && secret.until.is_none_or(|until| now <= until))
}
