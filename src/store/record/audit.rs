//! The stored form of the audit trail.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::words::StatusV1;
use super::{RecordError, json};
use crate::domain::{Revision, Timestamp};
use crate::store::{AuditEntry, shortened};

/// Bytes of a text that always fits: that of four-byte characters which has not been cut short.
const FITS: usize = 2004;

/// Every form that an entry has had.
#[derive(Serialize, Deserialize)]
enum Entry<'a> {
    #[serde(rename = "1", borrow)]
    V1(EntryV1<'a>),
}

#[derive(Serialize, Deserialize)]
struct EntryV1<'a> {
    #[serde(rename = "t")]
    at: i64,
    #[serde(rename = "r")]
    revision: u64,
    #[serde(rename = "e", borrow)]
    event: Cow<'a, str>,
    #[serde(rename = "c", borrow)]
    cause: Cow<'a, str>,
    #[serde(rename = "s")]
    status: StatusV1,
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none", borrow)]
    message: Option<Cow<'a, str>>,
}

impl<'a> From<&'a AuditEntry> for Entry<'a> {
    fn from(entry: &'a AuditEntry) -> Self {
        Self::V1(EntryV1 {
            at: entry.at.as_millis(),
            revision: entry.revision.0,
            event: (&entry.event).into(),
            cause: fitting(&entry.cause),
            status: entry.status.into(),
            message: entry.message.as_deref().map(fitting),
        })
    }
}

/// The text, cut short where whoever made the entry has not done so.
fn fitting(text: &str) -> Cow<'_, str> {
    if text.len() <= FITS { text.into() } else { shortened(text).into() }
}

impl From<Entry<'_>> for AuditEntry {
    fn from(entry: Entry<'_>) -> Self {
        let Entry::V1(entry) = entry;
        Self {
            at: Timestamp::from_millis(entry.at),
            revision: Revision(entry.revision),
            event: entry.event.into_owned(),
            cause: entry.cause.into_owned(),
            status: entry.status.into(),
            message: entry.message.map(Cow::into_owned),
        }
    }
}

/// One entry.
pub(in crate::store) fn encode_audit(entry: &AuditEntry) -> Vec<u8> {
    json(&Entry::from(entry))
}

/// Reads an entry of any version.
pub(in crate::store) fn decode_audit(bytes: &[u8]) -> Result<AuditEntry, RecordError> {
    Ok(serde_json::from_slice::<Entry<'_>>(bytes)?.into())
}
