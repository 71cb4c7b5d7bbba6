//! The table of entries, one line each, sorted.

use std::sync::LazyLock;

use crate::Entry;

/// An entry as it lies in the binary; it is read when somebody first asks for it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: &'static str,
    entry: LazyLock<Entry>,
}

impl Source {
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// `NAME/adapter.yaml` under its name, for each of them.
macro_rules! entries {
    ($($name:literal,)+) => {
        pub(crate) static ENTRIES: [Source; [$($name),+].len()] = [$(
            Source {
                name: $name,
                entry: LazyLock::new(|| {
                    let text = include_str!(concat!("../", $name, "/adapter.yaml"));
                    // A test reads every one of them.
                    Entry::read($name, text).expect("an entry of the catalog is right")
                }),
            },
        )+];
    };
}

entries! {
    "airflow",
    "anthropic",
    "apify",
    "argo_workflows",
    "assemblyai",
    "aws_step_functions",
    "azure_async_operation",
    "bfl",
    "buildbot",
    "celery_flower",
    "cog",
    "dagster",
    "databricks_jobs",
    "deepgram",
    "elevenlabs",
    "fal",
    "google_lro",
    "google_veo",
    "heygen",
    "kestra",
    "luma",
    "mux",
    "n8n",
    "ogc_api_processes",
    "openai",
    "prefect",
    "ray_jobs",
    "replicate",
    "restate",
    "runpod",
    "runway",
    "slurm",
    "stability",
    "temporal",
}
