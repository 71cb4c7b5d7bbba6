//! Deliveries from a checked configuration to whoever holds the store: the routes, and how they are handed on.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use jobgate_adapter_api::{Issues, SecretSource, Transport};
use jobgate_webhooks::{KeySet, MAX_CERTIFICATE, Secrets};
use tokio_util::sync::CancellationToken;

use super::link::{Next, Piece};
use super::switch::{Current, Switch};
use crate::config::{CheckedWebhook, KeySetSource, WebhookTrust};
use crate::domain::ProviderName;
use crate::engine::{ProviderWebhook, Trust};
use crate::hooks::{HookAnswer, HookRequest, Hooks, KeySource, OneCertificate, Route, Unread};

/// How long a sender waits for its answer, all told.
const BOUND: Duration = Duration::from_secs(3);

/// What the engine has to know of a webhook.
pub(super) const fn meaning(webhook: &CheckedWebhook) -> ProviderWebhook {
    ProviderWebhook {
        trust: match webhook.trust {
            WebhookTrust::Hint => Trust::Hint,
            // The engine takes what is not bound as data at a callback address alone.
            WebhookTrust::Payload | WebhookTrust::PayloadAtCallback => Trust::Payload,
        },
        safety_poll: webhook.safety_poll,
        keep_for: webhook.keep_for,
        park_for: webhook.park_for,
        refuse_unknown: webhook.unknown_refused,
    }
}

/// The route of a provider, with its secrets read. Whatever is missing is in `issues`.
pub(super) fn route(
    provider: &ProviderName,
    webhook: &CheckedWebhook,
    source: &dyn SecretSource,
    transport: &Transport,
    issues: &mut Issues,
) -> Route {
    let secrets = webhook.secrets(source, issues).map(|secrets| with_files(secrets, webhook, issues));
    let keys = match &webhook.key_set {
        Some(KeySetSource::Url(url)) => Some(KeySource { url: url.as_str().to_owned(), refresh: webhook.key_set_refresh }),
        Some(KeySetSource::File(_)) | None => None,
    };
    Route {
        provider: provider.clone(),
        scheme: webhook.scheme.clone().zip(secrets),
        address: webhook.address_token(source, issues),
        callbacks: webhook.callbacks,
        keys,
        fetch_certificates: webhook.certificate.is_none(),
        unknown_refused: webhook.unknown_refused,
        max_body_bytes: webhook.max_body_bytes,
        transport: transport.clone(),
    }
}

/// The secrets with the public keys and certificates that are in files.
fn with_files(secrets: Secrets, webhook: &CheckedWebhook, issues: &mut Issues) -> Secrets {
    let mut secrets = secrets;
    let mut read = |word: &str, file: &Path| {
        let read = std::fs::read(file);
        read.map_err(|error| issues.add(webhook.place.key(word), format!("{} cannot be read: {error}", file.display()))).ok()
    };
    let key_set = match &webhook.key_set {
        Some(KeySetSource::File(file)) => read("key_set", file),
        Some(KeySetSource::Url(_)) | None => None,
    };
    let certificate = webhook.certificate.as_deref().and_then(|file| read("certificate", file));
    if let Some(text) = key_set {
        match KeySet::from_jwks(&text) {
            Ok(keys) => secrets = secrets.with_key_set(keys),
            Err(problem) => issues.add(webhook.place.key("key_set"), problem.to_string()),
        }
    }
    if let Some(pem) = certificate {
        if pem.len() > MAX_CERTIFICATE || !pem.starts_with(b"-----BEGIN CERTIFICATE-----") {
            let right = "it starts with -----BEGIN CERTIFICATE-----";
            issues.add_with_hint(webhook.place.key("certificate"), "the file is no certificate in PEM", right);
        }
        secrets = secrets.with_certificates(OneCertificate::new(pem));
    }
    secrets
}

#[async_trait]
impl Hooks for Switch {
    fn look(&self, head: &HookRequest) -> Result<usize, HookAnswer> {
        self.plan.routes.look(head)
    }

    fn unread(&self, head: &HookRequest, why: Unread) -> HookAnswer {
        self.plan.routes.unread(head, why)
    }

    async fn receive(&self, request: HookRequest) -> HookAnswer {
        tokio::select! {
            answer = self.hand_on(&request) => answer,
            () = self.plan.world.clock.sleep(BOUND) => self.plan.routes.unread(&request, Unread::Nobody),
        }
    }
}

impl Switch {
    /// Hands a delivery to whoever holds the store, and to the next one when that one goes: taking it twice is taking it once.
    async fn hand_on(&self, request: &HookRequest) -> HookAnswer {
        let never = CancellationToken::new();
        loop {
            match self.somebody(&never).await {
                None => return self.plan.routes.unread(request, Unread::Nobody),
                Some(Current::Here(holder)) => return holder.receiver.receive(request.clone()).await,
                Some(Current::Nobody) => {}
                Some(Current::There(link)) => {
                    let Some(mut answer) = link.deliver(request).await else { continue };
                    match answer.next().await {
                        Next::Piece(Piece::Hook(answer)) => return answer,
                        Next::Lost => {}
                        Next::Piece(Piece::Accepted | Piece::One { .. } | Piece::Artifact(_) | Piece::Part(_) | Piece::End)
                        | Next::Cut => {
                            return self.plan.routes.unread(request, Unread::Nobody);
                        }
                    }
                }
            }
        }
    }
}
