//! What tells the series of one measure apart: names of the configuration, and words of fixed sets.

use prometheus_client::encoding::EncodeLabelSet;

/// A provider, and nothing more.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfProvider {
    pub(super) provider: String,
}

/// A delivery to the webhook receiver.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Delivery {
    /// Empty where it came to none of ours.
    pub(super) provider: String,
    pub(super) verdict: &'static str,
}

/// A call to a provider that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Call {
    pub(super) provider: String,
    pub(super) operation: &'static str,
    pub(super) outcome: &'static str,
}

/// What a provider is called for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Operation {
    pub(super) provider: String,
    pub(super) operation: &'static str,
}

/// A tool of a provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Tool {
    pub(super) provider: String,
    pub(super) tool: String,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct End {
    pub(super) provider: String,
    pub(super) tool: String,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
}

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Event {
    pub(super) provider: String,
    pub(super) event: &'static str,
    pub(super) cause: &'static str,
}

/// A status of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfStatus {
    pub(super) status: &'static str,
}

/// What is limited.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct OfLimit {
    pub(super) limit: &'static str,
}
