//! The stored forms of artifacts: those that are kept with a result, and those still to be kept.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::parts::{JobV1, ResultV1};
use super::task::Held;
use super::words::hex32;
use crate::domain::{Artifact, ContentHash, Keeping, KeptArtifact, Settled, Timestamp, ToolResult};

type Text<'a> = Option<Cow<'a, str>>;

fn owned(text: Text<'_>) -> Option<String> {
    text.map(Cow::into_owned)
}

/// A file that is kept.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptV1<'a> {
    #[serde(rename = "n", borrow)]
    name: Cow<'a, str>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    mime_type: Text<'a>,
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    description: Text<'a>,
    #[serde(rename = "s")]
    size: u64,
    #[serde(rename = "h", with = "hex32")]
    hash: [u8; 32],
}

impl<'a> From<&'a KeptArtifact> for KeptV1<'a> {
    fn from(kept: &'a KeptArtifact) -> Self {
        Self {
            name: (&kept.name).into(),
            mime_type: kept.mime_type.as_ref().map(Cow::from),
            description: kept.description.as_ref().map(Cow::from),
            size: kept.size,
            hash: *kept.hash.as_bytes(),
        }
    }
}

impl From<KeptV1<'_>> for KeptArtifact {
    fn from(kept: KeptV1<'_>) -> Self {
        Self {
            name: kept.name.into_owned(),
            mime_type: owned(kept.mime_type),
            description: owned(kept.description),
            size: kept.size,
            hash: ContentHash::new(kept.hash),
        }
    }
}

/// A file that is to be kept.
#[derive(Serialize, Deserialize)]
struct ArtifactV1<'a> {
    #[serde(rename = "u", borrow)]
    uri: Cow<'a, str>,
    #[serde(rename = "n", borrow)]
    name: Cow<'a, str>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    mime_type: Text<'a>,
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    description: Text<'a>,
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    #[serde(rename = "t", default, skip_serializing_if = "no_types")]
    types: Cow<'a, [String]>,
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    note: Text<'a>,
}

fn no_types(types: &[String]) -> bool {
    types.is_empty()
}

impl<'a> From<&'a Artifact> for ArtifactV1<'a> {
    fn from(artifact: &'a Artifact) -> Self {
        Self {
            uri: (&artifact.uri).into(),
            name: (&artifact.name).into(),
            mime_type: artifact.mime_type.as_ref().map(Cow::from),
            description: artifact.description.as_ref().map(Cow::from),
            max_bytes: artifact.max_bytes,
            types: Cow::Borrowed(&artifact.types),
            note: artifact.note.as_ref().map(Cow::from),
        }
    }
}

impl From<ArtifactV1<'_>> for Artifact {
    fn from(artifact: ArtifactV1<'_>) -> Self {
        Self {
            uri: artifact.uri.into_owned(),
            name: artifact.name.into_owned(),
            mime_type: owned(artifact.mime_type),
            description: owned(artifact.description),
            max_bytes: artifact.max_bytes,
            types: artifact.types.into_owned(),
            note: owned(artifact.note),
        }
    }
}

#[derive(Serialize, Deserialize)]
enum SettledV1<'a> {
    #[serde(rename = "k", borrow)]
    Kept(KeptV1<'a>),
    #[serde(rename = "l", borrow)]
    Left(Cow<'a, str>),
}

/// The job and what is to be kept of it.
#[derive(Serialize, Deserialize)]
pub(super) struct KeepV1<'a> {
    #[serde(rename = "j", borrow)]
    pub(super) job: JobV1<'a>,
    #[serde(rename = "k", borrow)]
    pub(super) keeping: Held<KeepingV1<'a>>,
}

/// A job that ended well and whose artifacts are not all settled.
#[derive(Serialize, Deserialize)]
pub(super) struct KeepingV1<'a> {
    #[serde(rename = "r", borrow)]
    output: ResultV1<'a>,
    #[serde(rename = "a", borrow)]
    artifacts: Vec<ArtifactV1<'a>>,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    message: Text<'a>,
    #[serde(rename = "t")]
    since: i64,
    #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty", borrow)]
    settled: Vec<SettledV1<'a>>,
}

impl<'a> From<&'a Keeping> for KeepingV1<'a> {
    fn from(keeping: &'a Keeping) -> Self {
        let settled = |settled: &'a Settled| match settled {
            Settled::Kept(kept) => SettledV1::Kept(kept.into()),
            Settled::Left(why) => SettledV1::Left(why.into()),
        };
        Self {
            output: ResultV1::of_output(&keeping.output),
            artifacts: keeping.output.artifacts.iter().map(Into::into).collect(),
            message: keeping.message.as_ref().map(Cow::from),
            since: keeping.since.as_millis(),
            settled: keeping.settled.iter().map(settled).collect(),
        }
    }
}

impl From<KeepingV1<'_>> for Keeping {
    fn from(keeping: KeepingV1<'_>) -> Self {
        let settled = |settled: SettledV1<'_>| match settled {
            SettledV1::Kept(kept) => Settled::Kept(kept.into()),
            SettledV1::Left(why) => Settled::Left(why.into_owned()),
        };
        let mut output = ToolResult::from(keeping.output).output;
        output.artifacts = keeping.artifacts.into_iter().map(Into::into).collect();
        Self {
            output,
            message: owned(keeping.message),
            since: Timestamp::from_millis(keeping.since),
            settled: keeping.settled.into_iter().map(settled).collect(),
        }
    }
}
