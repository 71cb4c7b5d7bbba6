//! The stored form of a job: what the provider remembers of one submit key.

use std::collections::BTreeMap;

use jobgate_adapter_api::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::asl::{Execution, Happening, Outside};

/// All that belongs to one key. Version 1; a reader refuses what it does not know.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// The submit key.
    pub(crate) key: String,
    /// How often each call was made, for faults that depend on it.
    #[serde(default)]
    pub(crate) calls: BTreeMap<String, u64>,
    /// The runs it started: one, or one per submit where the provider knows no idempotency.
    #[serde(default)]
    pub(crate) runs: Vec<Run>,
}

/// One run of a machine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// The tool's name at the time.
    pub(crate) tool: String,
    /// The machine's stored name: a run keeps the machine that it was started with.
    pub(crate) machine: String,
    pub(crate) input: Value,
    /// Milliseconds since the epoch.
    pub(crate) started_at: i64,
    #[serde(default)]
    pub(crate) happenings: Vec<StoredHappening>,
}

/// Something that happened from outside.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredHappening {
    /// Milliseconds since the epoch.
    pub(crate) at: i64,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    Cancelled,
    Answered { key: String, answer: Value },
}

impl Run {
    /// The run as the simulation knows it.
    pub(crate) fn execution(&self, id: &str) -> Execution {
        Execution {
            id: id.to_owned(),
            machine: self.tool.clone(),
            input: self.input.clone(),
            started_at: Timestamp::from_millis(self.started_at),
        }
    }

    /// What happened to it, as the simulation knows it.
    pub(crate) fn journal(&self) -> Vec<Happening> {
        let happening = |stored: &StoredHappening| Happening {
            at: Timestamp::from_millis(stored.at),
            what: match &stored.what {
                What::Cancelled => Outside::Cancelled,
                What::Answered { key, answer } => Outside::Answered { key: key.clone(), answer: answer.clone() },
            },
        };
        self.happenings.iter().map(happening).collect()
    }

    pub(crate) fn note(&mut self, at: Timestamp, what: What) {
        self.happenings.push(StoredHappening { at: at.as_millis(), what });
    }

    /// Whether the question was answered already.
    pub(crate) fn has_answer(&self, question: &str) -> bool {
        self.answers().any(|key| key == question)
    }

    /// The keys of the questions that were answered.
    pub(crate) fn answers(&self) -> impl Iterator<Item = &str> {
        self.happenings.iter().filter_map(|happening| match &happening.what {
            What::Answered { key, .. } => Some(key.as_str()),
            What::Cancelled => None,
        })
    }
}
