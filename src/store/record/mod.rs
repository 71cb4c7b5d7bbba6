//! The stored form of a task: versioned JSON with short names. What an older version wrote stays readable.
//!
//! A record holds at most [`INLINE`] bytes. What would make it larger (the arguments, the result, what is to be kept, the questions) is a body of its
//! own, which the record names by hash and length. The form in an export is the same with nothing moved out.

mod audit;
mod delivery;
mod keep;
mod names;
mod parts;
mod task;
mod troubles;
mod words;

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(super) use audit::{decode_audit, encode_audit};
pub(super) use delivery::{
    FetchBody, Slip, SlipHead, decode_dead, decode_head, decode_parked, encode_dead, encode_dead_whole, encode_parked,
    encode_parked_whole,
};
pub(super) use words::{hex, hex32, unhex};

use self::task::TaskV1;
use crate::domain::{Task, TaskId};

/// The most bytes that a record has: larger values make sled write files that it never syncs.
pub(super) const INLINE: usize = 8 * 1024;

/// Names a body: the SHA-256 of its bytes, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BodyRef {
    /// SHA-256.
    pub(super) hash: [u8; 32],
    /// Bytes.
    pub(super) len: u64,
}

impl BodyRef {
    /// The name of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { hash: Sha256::digest(bytes).into(), len: bytes.len() as u64 }
    }
}

/// The hash's hexadecimal digits, which are also the name of the body's file.
impl fmt::Display for BodyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for BodyRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.to_string(), self.len).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BodyRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (digits, len) = <(String, u64)>::deserialize(deserializer)?;
        let hash = words::unhex(&digits).ok_or_else(|| serde::de::Error::custom("a hash has 64 hexadecimal digits"))?;
        Ok(Self { hash, len })
    }
}

/// A record could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    /// It is not what this version or an older one writes.
    #[error("not a record that this version knows: {0}")]
    Form(#[from] serde_json::Error),
    /// A body it names is missing or not what it was.
    #[error("{0}")]
    Body(String),
}

/// What a body is to its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// All of the record: without it nothing can be read.
    Whole,
    /// The arguments, the result, what is to be kept or the questions.
    Part,
}

/// Where bodies come from while a record is read: `None` leaves a part empty, for whoever needs no bodies.
pub(super) type Fetch<'a> = &'a mut dyn FnMut(&BodyRef, Role) -> Result<Option<Vec<u8>>, String>;

/// Every form that a record has had. A new version is a new variant; the old ones stay.
#[derive(Serialize, Deserialize)]
enum Record<'a> {
    /// The first form.
    #[serde(rename = "1", borrow)]
    V1(Box<TaskV1<'a>>),
    /// A record that was too large even without its parts: all of it is a body.
    #[serde(rename = "@")]
    Body(BodyRef),
}

/// A task in its stored form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Encoded {
    /// At most [`INLINE`] bytes.
    pub(super) record: Vec<u8>,
    /// What was moved out, with its name.
    pub(super) bodies: Vec<(BodyRef, Vec<u8>)>,
}

/// A task from a record, and the bodies that the record names.
#[derive(Debug)]
pub(super) struct Decoded {
    /// The task.
    pub(super) task: Task,
    /// The bodies, those left out included.
    pub(super) bodies: Vec<BodyRef>,
}

/// The stored form of `task`.
pub(super) fn encode(task: &Task) -> Encoded {
    let mut form = TaskV1::of(task);
    let mut record = to_json(&form);
    let mut bodies = Vec::new();
    while record.len() > INLINE {
        let Some(body) = form.move_out_largest() else { break };
        bodies.push(body);
        record = to_json(&form);
    }
    if record.len() > INLINE {
        let body = BodyRef::of(&record);
        bodies.push((body, record));
        record = json(&Record::Body(body));
    }
    Encoded { record, bodies }
}

/// The form of `task` with everything in it, for an export.
pub(super) fn encode_whole(task: &Task) -> Vec<u8> {
    to_json(&TaskV1::of(task))
}

/// Reads a record of any version.
pub(super) fn decode(id: TaskId, record: &[u8], fetch: Fetch<'_>) -> Result<Decoded, RecordError> {
    let mut bodies = Vec::new();
    let outer;
    let form = match serde_json::from_slice(record)? {
        Record::V1(form) => form,
        Record::Body(body) => {
            bodies.push(body);
            outer = fetch(&body, Role::Whole)
                .map_err(RecordError::Body)?
                .ok_or_else(|| RecordError::Body(format!("no body {body}")))?;
            match serde_json::from_slice(&outer)? {
                Record::V1(form) => form,
                Record::Body(_) => return Err(RecordError::Body(format!("body {body} is not a task"))),
            }
        }
    };
    let task = form.into_task(id, &mut bodies, fetch)?;
    Ok(Decoded { task, bodies })
}

fn to_json(form: &TaskV1<'_>) -> Vec<u8> {
    /// [`Record::V1`] without taking the form.
    #[derive(Serialize)]
    struct Tagged<'a, 'b> {
        #[serde(rename = "1")]
        form: &'a TaskV1<'b>,
    }
    json(&Tagged { form })
}

/// Our forms have string keys alone and write to memory, the two ways in which writing JSON could fail.
fn json<T: Serialize>(form: &T) -> Vec<u8> {
    serde_json::to_vec(form).expect("maps have string keys and memory takes every write")
}

#[cfg(test)]
mod tests;
