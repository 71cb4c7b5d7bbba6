//! The words of `store`.

use jobgate_adapter_api::{HumanBytes, HumanDuration};
use schemars::JsonSchema;
use serde::Deserialize;

/// Where tasks are kept.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Store")]
pub(super) struct StoreWords {
    /// The data folder; a relative path starts at the configuration file's folder. Default: jobgate-data.
    #[schemars(extend("examples" = ["./jobgate-data"]))]
    pub(super) path: Option<String>,
    /// Memory for the store's page cache, in bytes. Default: 67108864.
    #[schemars(range(min = 1_048_576))]
    pub(super) cache_bytes: Option<u64>,
    /// How often the store is exported to a file in the data folder. Default: 6h.
    pub(super) export_every: Option<HumanDuration>,
    /// How many exports are kept. Default: 2.
    #[schemars(range(min = 1, max = 1000))]
    pub(super) keep_exports: Option<usize>,
    /// Files of jobs that are kept in the data folder for as long as their tasks; they are in no export.
    pub(super) artifacts: Option<ArtifactWords>,
}

/// Files of jobs that are kept.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Artifacts")]
pub(super) struct ArtifactWords {
    /// Largest file. A larger one is not kept: its result has its address instead, and says so. Default: 1GiB.
    pub(super) max_bytes: Option<HumanBytes>,
    /// Largest sum of all files. Once it is reached, tasks wait for room as long as their `silence_limit` allows. Default: 10GiB.
    pub(super) total_bytes: Option<HumanBytes>,
    /// How long the address of a file works. Each look at a result gives a new one; there is none without `server.public_url`.
    /// Default: 1h.
    pub(super) url_ttl: Option<HumanDuration>,
}
