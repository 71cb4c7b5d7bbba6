//! The addresses at which providers deliver: one for each task, which nobody can guess and which outlives every restart.

use jobgate_webhooks::{AtAddress, CallbackKey};

use crate::domain::{ProviderName, TaskId};

/// The seed in the store that the key is made from.
pub(super) const SEED: &str = "callback";

/// Makes and opens callback addresses.
#[derive(Debug)]
pub(super) struct Callbacks {
    key: CallbackKey,
    public_url: Option<String>,
}

impl Callbacks {
    pub(super) fn new(seed: &[u8; 32], public_url: Option<String>) -> Self {
        Self { key: CallbackKey::new(seed), public_url }
    }

    /// Where `provider` delivers what happens to the job of a task; `None` where the gateway has no public address.
    pub(super) fn url(&self, provider: &ProviderName, task: TaskId) -> Option<String> {
        let public_url = self.public_url.as_deref()?;
        Some(format!("{public_url}/hooks/{provider}/{}", self.key.token(*task.as_bytes())))
    }

    pub(super) fn open(&self, token: &str) -> Option<AtAddress> {
        self.key.open(token)
    }
}
